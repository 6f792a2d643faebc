//! JSON objects of one line. Whatever a client sends, it makes neither a line of its own nor a code for a terminal.

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
        // Keys are words of the server's own.
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
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
        put_number(self.out, value);
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
    out.push(b'"');
    let mut rest = text;
    // Mostly all of it are letters that stand for themselves, which are copied at once.
    while let Some(at) = rest.bytes().position(|octet| !is_itself(octet)) {
        let (letters, other) = rest.split_at(at);
        out.extend_from_slice(letters.as_bytes());
        let mut others = other.chars();
        if let Some(c) = others.next() {
            put_escaped(out, c);
        }
        rest = others.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    out.push(b'"');
}

/// Is it an ASCII character that a string has as it is?
fn is_itself(octet: u8) -> bool {
    matches!(octet, b' '..=b'~') && octet != b'"' && octet != b'\\'
}

fn put_escaped(out: &mut Vec<u8>, c: char) {
    match c {
        '"' | '\\' => out.extend_from_slice(&[b'\\', c as u8]),
        c if !is_plain(c) => out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes()),
        c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// Appends a number, without the machinery of formats: a line has half a dozen of them.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// G4: any text is one line of plain characters, and comes back.
        #[test]
        fn test_g4_no_text_forges_a_line(texts in proptest::collection::vec(any::<String>(), 1..4), bytes in proptest::collection::vec(any::<u8>(), 0..60), number: u64) {
            let mut out = Vec::new();
            let lossy = String::from_utf8_lossy(&bytes).into_owned();
            Object::begin(&mut out).text("a", &lossy).list("b", texts.iter().map(String::as_str)).number("n", number).end();
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(text.matches('\n').count(), 1);
            prop_assert!(!text.trim_end().chars().any(char::is_control));
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read["a"].as_str(), Some(&lossy[..]));
            prop_assert_eq!(read["n"].as_u64(), Some(number));
            prop_assert_eq!(read["b"].as_array().unwrap().len(), texts.len());
        }
    }
}
