//! Substring assertions on normal forms (RFC 4511 section 4.5.1.7.2).

use memchr::memmem;
use std::ops::Deref;

/// Are the parts there, in order, without overlap, the first at the beginning and the last at the end? The time it takes
/// grows with the bytes of value and parts, not with their product.
pub(super) fn has_parts<A: Deref<Target = [u8]>>(
    value: &[u8],
    initial: Option<&[u8]>,
    any: &[A],
    last: Option<&[u8]>,
) -> bool {
    let Some(mut rest) = value.strip_prefix(initial.unwrap_or(b"")) else { return false };
    for part in any {
        match find(rest, part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    last.is_none_or(|last| rest.ends_with(last))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    // Preparing a search takes time by the length of the part.
    if part.len() > text.len() { None } else { memmem::find(text, part) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        let any = |parts: &[&str]| parts.iter().map(|p| p.as_bytes().to_vec()).collect::<Vec<_>>();
        assert!(has_parts(b"abcabc", Some(b"ab"), &any(&["c", "b"]), Some(b"c")));
        assert!(!has_parts(b"aba", Some(b"ab"), &any(&[]), Some(b"ba")));
        assert!(!has_parts(b"abc", None, &any(&["c", "b"]), None));
        assert!(has_parts(b"abc", None, &any(&[]), None));
        assert!(has_parts(b"abc", Some(b"abc"), &any(&["", ""]), None));
        assert!(!has_parts(b"abc", Some(b"abc"), &any(&["", "a"]), None));
    }
}
