//! What mechanisms of the GS2 family (RFC 5801) have in common: a header with a flag and a name, and names with escapes.

/// The text before the first comma, and that behind it.
pub(super) fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == b',')?;
    Some((&text[..at], &text[at + 1..]))
}

/// The value of an attribute with this letter.
pub(super) fn attribute(text: &[u8], letter: u8) -> Option<&[u8]> {
    text.strip_prefix(&[letter, b'='])
}

/// The authorization identity of a header, unescaped; empty if there is none. `None` if it is malformed.
pub(super) fn authorization_id(text: &[u8]) -> Option<Vec<u8>> {
    match text {
        b"" => Some(Vec::new()),
        text => unescape(attribute(text, b'a')?),
    }
}

/// A name without its escapes: `=2C` is a comma and `=3D` the sign itself. `None` of another escape, of NUL, and of what is no UTF-8.
pub(super) fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        rest = match byte {
            b'=' => {
                let (code, behind) = behind.split_at_checked(2)?;
                out.push(match code {
                    b"2C" => b',',
                    b"3D" => b'=',
                    _ => return None,
                });
                behind
            }
            0 => return None,
            byte => {
                out.push(*byte);
                behind
            }
        };
    }
    str::from_utf8(&out).is_ok().then_some(out)
}
