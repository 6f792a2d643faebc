//! JSON objects of one line. Whatever a client sends, it makes neither a line of its own nor a code for a terminal.

use model::{decimal, put_timestamp};

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

    /// A text. What of it is no UTF-8 is shown as U+FFFD.
    pub fn text(&mut self, key: &str, value: impl AsRef<[u8]>) -> &mut Self {
        self.key(key);
        put_string(self.out, value.as_ref());
        self
    }

    /// A text, if it is not empty.
    pub fn text_if(&mut self, key: &str, value: impl AsRef<[u8]>) -> &mut Self {
        if value.as_ref().is_empty() { self } else { self.text(key, value) }
    }

    /// A point in time, in Unix milliseconds.
    pub fn time(&mut self, key: &str, unix_ms: u64) -> &mut Self {
        self.key(key);
        self.out.push(b'"');
        put_timestamp(unix_ms, self.out);
        self.out.push(b'"');
        self
    }

    /// A word of the server's own, and numbers behind it, with a `-` before each.
    pub(crate) fn id(&mut self, key: &str, word: &str, numbers: &[u64]) -> &mut Self {
        self.key(key);
        self.out.push(b'"');
        self.out.extend_from_slice(word.as_bytes());
        for number in numbers {
            self.out.push(b'-');
            decimal(*number, 1, self.out);
        }
        self.out.push(b'"');
        self
    }

    /// A number.
    pub fn number(&mut self, key: &str, value: u64) -> &mut Self {
        self.key(key);
        decimal(value, 1, self.out);
        self
    }

    /// A list of texts, if there are any.
    pub fn list<T: AsRef<[u8]>>(&mut self, key: &str, values: impl IntoIterator<Item = T>) -> &mut Self {
        self.items(key, values, |out, value| put_string(out, value.as_ref()))
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
        self.items(key, items, |out, item| {
            put(&mut Object::begin(out), item);
            out.push(b'}');
        })
    }

    /// A list, if there are items: `put` appends each.
    fn items<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut put: impl FnMut(&mut Vec<u8>, T),
    ) -> &mut Self {
        let mut mark = b'[';
        for item in items {
            if mark == b'[' {
                self.key(key);
            }
            self.out.push(mark);
            mark = b',';
            put(self.out, item);
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
fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    // Mostly all of it are letters that stand for themselves, which are copied at once.
    let (letters, rest) = text.split_at(letters(text));
    out.extend_from_slice(letters);
    for chunk in rest.utf8_chunks() {
        chunk.valid().chars().for_each(|c| put_escaped(out, c));
        if !chunk.invalid().is_empty() {
            put_escaped(out, char::REPLACEMENT_CHARACTER);
        }
    }
    out.push(b'"');
}

/// How many octets at the front stand for themselves. Sixteen are looked at together, which takes as long as one.
fn letters(text: &[u8]) -> usize {
    let (chunks, _) = text.as_chunks::<16>();
    let are_letters = |chunk: &&[u8; 16]| chunk.iter().fold(true, |all, octet| all & is_itself(*octet));
    let begin = 16 * chunks.iter().take_while(are_letters).count();
    begin + text[begin..].iter().take_while(|octet| is_itself(**octet)).count()
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
            Object::begin(&mut out).text("a", &bytes).list("b", &texts).number("n", number).end();
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
