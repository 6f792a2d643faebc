//! Percent-encoding (RFC 3986 section 2.1), as URLs have it.

use crate::hex;

/// A text without percent-encoding. `None` if two hexadecimal digits are missing behind a `%`.
pub fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((byte, behind)) = rest.split_first() {
        let (byte, behind) = match byte {
            b'%' => (hex::octet(behind)?, &behind[2..]),
            byte => (*byte, behind),
        };
        out.push(byte);
        rest = behind;
    }
    Some(out)
}

/// Puts a text in which only unreserved characters and those of `besides` stand as they are.
pub fn encode(text: &[u8], besides: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || besides.contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_comes_back() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        for besides in [&b""[..], b",="] {
            let mut text = Vec::new();
            encode(&all, besides, &mut text);
            assert_eq!(decoded(&text), Some(all.clone()));
            assert_eq!(text.contains(&b','), !besides.is_empty());
        }
        assert_eq!(decoded(b"a%c3%A4+b").unwrap(), "a\u{e4}+b".as_bytes());
    }

    #[test]
    fn two_digits_follow() {
        for text in ["%", "%4", "a%zz", "%+1", "%4g"] {
            assert_eq!(decoded(text.as_bytes()), None, "{text}");
        }
    }
}
