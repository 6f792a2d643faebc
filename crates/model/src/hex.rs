//! Hexadecimal digits, as the string forms of DNs and filters have them.

/// The octet that the first two digits of a text stand for.
pub fn octet(text: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let &[high, low] = text.first_chunk()?;
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

/// The escape of an octet: `\2c` (RFC 4514 section 2.4, RFC 4515 section 3).
pub fn escape(octet: u8) -> [u8; 3] {
    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
    [b'\\', digit(octet >> 4), digit(octet)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_octet_comes_back() {
        for byte in 0..=u8::MAX {
            let escaped = escape(byte);
            assert_eq!((escaped[0], octet(&escaped[1..])), (b'\\', Some(byte)));
            assert_eq!(octet(&escaped[1..].to_ascii_uppercase()), Some(byte));
        }
        assert_eq!((octet(b"2"), octet(b"2g"), octet(b"+1"), octet(b"2cx")), (None, None, None, Some(0x2c)));
    }
}
