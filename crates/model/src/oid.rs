//! Object identifiers in their dotted form, and the ones that more than one layer names.

/// Is this a numericoid (RFC 4512 section 1.4): at least two arcs, no leading zeros?
pub fn is_numeric(text: &[u8]) -> bool {
    let mut arcs = 0;
    for arc in text.split(|&b| b == b'.') {
        if arc.is_empty() || !arc.iter().all(u8::is_ascii_digit) || (arc.len() > 1 && arc[0] == b'0') {
            return false;
        }
        arcs += 1;
    }
    arcs >= 2
}

/// Is this a keystring or descr (RFC 4512 section 1.4): a letter, then letters, digits and hyphens?
pub fn is_descriptor(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_oid() {
        assert!(is_numeric(b"2.5.4.3") && is_numeric(b"1.0"));
        for bad in [&b"2"[..], b"2.", b".2", b"2..5", b"2.05", b"cn", b""] {
            assert!(!is_numeric(bad), "{bad:?}");
        }
        assert!(
            is_descriptor(b"x-my-attr")
                && !is_descriptor(b"1a")
                && !is_descriptor(b"a_b")
                && !is_descriptor(b"")
        );
    }
}
