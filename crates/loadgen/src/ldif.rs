//! Entries as LDIF content records (RFC 2849). The value's text goes out as it is when RFC 2849 calls it a
//! SAFE-STRING, otherwise in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What stands at the top of a stream of records.
pub(crate) const HEADER: &[u8] = b"version: 1\n\n";

/// Appends `name: value` or `name:: base64` and the line's end; lines longer than `wrap` columns are folded
/// unless it is 0.
pub(crate) fn attribute(name: &[u8], value: &[u8], wrap: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(name);
    if is_safe(value) {
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
    } else {
        out.extend_from_slice(b":: ");
        base64_of(value, out);
    }
    if wrap > 1 && out.len() - start > wrap {
        fold(start, wrap, out);
    }
    out.push(b'\n');
}

/// Appends the base64 form of `value`.
pub(crate) fn base64_of(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + value.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(value, &mut out[start..]).expect("four bytes for each three begun");
    assert_eq!(start + written, out.len(), "base64 with padding has four bytes for each three begun");
}

/// SAFE-STRING of RFC 2849, and no space at the end, where it would get lost.
fn is_safe(value: &[u8]) -> bool {
    let first = value.first().is_none_or(|byte| !matches!(byte, b' ' | b':' | b'<'));
    // One pass without a branch per byte, so that the compiler can use vectors.
    let inside =
        value.iter().fold(false, |bad, &b| bad | (b >= 0x80) | (b == 0) | (b == b'\n') | (b == b'\r'));
    first && !inside && value.last() != Some(&b' ')
}

/// Folds the line that begins at `start`: continuation lines begin with one space.
fn fold(start: usize, wrap: usize, out: &mut Vec<u8>) {
    let line = out.split_off(start);
    let (first, rest) = line.split_at(wrap);
    out.extend_from_slice(first);
    for chunk in rest.chunks(wrap - 1) {
        out.extend_from_slice(b"\n ");
        out.extend_from_slice(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(value: &[u8], wrap: usize) -> String {
        let mut out = Vec::new();
        attribute(b"cn", value, wrap, &mut out);
        String::from_utf8(out).expect("LDIF is text")
    }

    #[test]
    fn unsafe_strings_become_base64() {
        assert_eq!(line(b"plain", 0), "cn: plain\n");
        assert_eq!(line(b" lead", 0), "cn:: IGxlYWQ=\n");
        assert_eq!(line(b"trail ", 0), "cn:: dHJhaWwg\n");
        assert_eq!(line(b":", 0), "cn:: Og==\n");
        assert_eq!(line("ü".as_bytes(), 0), "cn:: w7w=\n");
        assert_eq!(line(b"a\nb", 0), "cn:: YQpi\n");
    }

    #[test]
    fn long_lines_fold() {
        assert_eq!(line(b"0123456789", 8), "cn: 0123\n 456789\n");
        assert_eq!(line(b"0123", 8), "cn: 0123\n");
    }
}
