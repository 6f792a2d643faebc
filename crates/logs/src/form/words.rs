//! Lines of words, and texts of clients within them.

use crate::object::is_plain;
use std::io::Write as _;

/// Appends formatted text.
macro_rules! append {
    ($out:expr, $($what:tt)*) => { write!($out, $($what)*).expect("memory takes it") };
}
pub(super) use append;

/// Nanoseconds as seconds with so many digits of their fraction, nine at most.
pub(super) fn seconds(ns: u64, digits: usize) -> String {
    let fraction = format!("{:09}", ns % 1_000_000_000);
    format!("{}.{}", ns / 1_000_000_000, &fraction[..digits.min(9)])
}

/// Appends a text as it may stand between quotes: a quote, and each octet that is not plain text, is `\` with two hexadecimal digits, as in DNs and
/// filters. What has a `\` already keeps it.
pub(super) fn put(out: &mut Vec<u8>, text: &[u8]) {
    let escape = |out: &mut Vec<u8>, octets: &[u8]| {
        octets.iter().for_each(|octet| write!(out, "\\{octet:02X}").expect("memory takes it"));
    };
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut octets = [0; 4];
            let octets = c.encode_utf8(&mut octets).as_bytes();
            match is_plain(c) && c != '"' {
                true => out.extend_from_slice(octets),
                false => escape(out, octets),
            }
        }
        escape(out, chunk.invalid());
    }
}

/// Appends ` key="text"`.
pub(super) fn put_quoted(out: &mut Vec<u8>, key: &str, text: &[u8]) {
    out.push(b' ');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"=\"");
    put(out, text);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// G4: no octets end a text or a line, or are a code for a terminal.
        #[test]
        fn test_g4_no_text_ends_its_quotes(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut out = Vec::new();
            put(&mut out, &text);
            let escaped = String::from_utf8(out).expect("it is text");
            prop_assert!(escaped.chars().all(|c| is_plain(c) && c != '"'));
        }
    }

    #[test]
    fn texts() {
        for (sent, logged) in [
            (&b"uid=a\\2Cb,dc=x"[..], "uid=a\\2Cb,dc=x"),
            (b"(cn=\" err=0\n)", "(cn=\\22 err=0\\0A)"),
            ("\u{e4}\u{85}\u{202e}".as_bytes(), "\u{e4}\\C2\\85\\E2\\80\\AE"),
            (b"\xff", "\\FF"),
        ] {
            let mut out = Vec::new();
            put(&mut out, sent);
            assert_eq!(String::from_utf8(out).unwrap(), logged);
        }
    }
}
