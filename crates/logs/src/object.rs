//! JSON objects of one line. Whatever a client sends, it makes neither a line of its own nor a code for a terminal.

use std::fmt::Write as _;

/// An object that is being written.
#[derive(Debug)]
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl Object<'_> {
    /// Begins one behind what is in `out`.
    pub fn begin(out: &mut Vec<u8>) -> Object<'_> {
        out.push(b'{');
        Object { out, is_empty: true }
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        put_string(self.out, key);
        self.out.push(b':');
    }

    /// A text.
    pub fn text(&mut self, key: &str, value: &str) -> &mut Self {
        self.key(key);
        put_string(self.out, value);
        self
    }

    /// A text, if it is not empty.
    pub fn text_if(&mut self, key: &str, value: &str) -> &mut Self {
        if value.is_empty() { self } else { self.text(key, value) }
    }

    /// A number.
    pub fn number(&mut self, key: &str, value: u64) -> &mut Self {
        self.key(key);
        self.out.extend_from_slice(value.to_string().as_bytes());
        self
    }

    /// A list of texts, if there are any.
    pub fn list<'t>(&mut self, key: &str, values: impl IntoIterator<Item = &'t str>) -> &mut Self {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return self;
        }
        self.key(key);
        self.out.push(b'[');
        for (at, value) in values.enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            put_string(self.out, value);
        }
        self.out.push(b']');
        self
    }

    /// Something that is true.
    pub fn flag(&mut self, key: &str) -> &mut Self {
        self.key(key);
        self.out.extend_from_slice(b"true");
        self
    }

    /// A list of objects, if there are any: `put` fills one of each item.
    pub fn objects<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut put: impl FnMut(&mut Object<'_>, T),
    ) -> &mut Self {
        let mut mark = b'[';
        for item in items {
            if mark == b'[' {
                self.key(key);
            }
            self.out.push(mark);
            mark = b',';
            put(&mut Object::begin(self.out), item);
            self.out.push(b'}');
        }
        if mark == b',' {
            self.out.push(b']');
        }
        self
    }

    /// Ends it and its line.
    pub fn end(&mut self) {
        self.out.extend_from_slice(b"}\n");
    }
}

/// Is a character what it looks like? Control characters, of the second range too, and what reverses or hides text are not.
pub(crate) fn is_plain(c: char) -> bool {
    let is_hidden =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    !c.is_control() && !is_hidden
}

/// Appends a string. Everything that is not plain to see is escaped: control characters, of the second range too, and what reverses text.
fn put_string(out: &mut Vec<u8>, text: &str) {
    let mut escaped = String::with_capacity(text.len() + 2);
    escaped.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            c if !is_plain(c) => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped.push('"');
    out.extend_from_slice(escaped.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// G4: any text is one line of plain characters, and comes back.
        #[test]
        fn test_g4_no_text_forges_a_line(texts in proptest::collection::vec(any::<String>(), 1..4), bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut out = Vec::new();
            let lossy = String::from_utf8_lossy(&bytes).into_owned();
            Object::begin(&mut out).text("a", &lossy).list("b", texts.iter().map(String::as_str)).number("n", 7).end();
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(text.matches('\n').count(), 1);
            prop_assert!(!text.trim_end().chars().any(char::is_control));
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read["a"].as_str(), Some(&lossy[..]));
            prop_assert_eq!(read["b"].as_array().unwrap().len(), texts.len());
        }
    }
}
