//! Substring assertions on normal forms (RFC 4511 section 4.5.1.7.2).
//!
//! Taking each part at its first place is right: an earlier place never leaves less room for the parts behind it.

use super::work;
use memchr::memmem;
use std::ops::Deref;

/// Bytes of a value that are searched at a time, beside the length of the part.
/// Searching it takes about thirty microseconds, after which others may have their turn.
pub(super) const WINDOW: usize = 1 << 20;

/// How far the parts were looked for in a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartPosition {
    /// Parts between the first and the last one that were found.
    found: u32,
    /// The byte at which the next one may begin.
    at: u32,
}

/// Are the parts there, in order, without overlap, the first at the beginning and the last at the end? The time it takes
/// grows with the bytes of value and parts, not with their product. `None` if it was paused, as in a value of more than
/// a megabyte it may be: it goes on from `position`.
pub(super) fn has_parts<A: Deref<Target = [u8]>>(
    window_bytes: usize,
    value: &[u8],
    (initial, any, last): (Option<&[u8]>, &[A], Option<&[u8]>),
    position: &mut PartPosition,
    work: &mut u64,
) -> Option<bool> {
    let initial = initial.unwrap_or(b"");
    // Also after a pause: it costs less than to remember that it was so.
    if !value.starts_with(initial) {
        return Some(false);
    }
    let mut at = initial.len().max(position.at as usize);
    while let Some(part) = any.get(position.found as usize) {
        let rest = &value[at..];
        // Preparing a search takes time by the length of the part.
        if part.len() > rest.len() {
            return Some(false);
        }
        // The window overlaps the next one by the part but a byte, so no place between two windows is missed.
        let window = &rest[..rest.len().min(window_bytes.saturating_add(part.len()))];
        let looked_at = match memmem::find(window, part) {
            Some(begin) => {
                position.found += 1;
                begin + part.len()
            }
            None if window.len() == rest.len() => return Some(false),
            None => window.len() - (part.len() - 1),
        };
        at += looked_at;
        assert!(at <= value.len(), "what was looked at lies in the value");
        *work = work.saturating_sub(1 + work::of_scan(looked_at));
        if *work == 0 && value.len() > window_bytes {
            position.at = at as u32;
            return None;
        }
    }
    Some(last.is_none_or(|last| value[at..].ends_with(last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By windows of so many bytes, paused wherever it can be.
    fn by(window: usize, value: &[u8], initial: Option<&[u8]>, any: &[Vec<u8>], last: Option<&[u8]>) -> bool {
        let mut position = PartPosition::default();
        loop {
            if let Some(has) = has_parts(window, value, (initial, any, last), &mut position, &mut 1) {
                return has;
            }
        }
    }

    fn naive(value: &[u8], initial: Option<&[u8]>, any: &[Vec<u8>], last: Option<&[u8]>) -> bool {
        let Some(mut rest) = value.strip_prefix(initial.unwrap_or(b"")) else { return false };
        for part in any.iter().filter(|part| !part.is_empty()) {
            match rest.windows(part.len()).position(|window| window == &part[..]) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        last.is_none_or(|last| rest.ends_with(last))
    }

    #[test]
    fn parts_do_not_overlap() {
        let any = |parts: &[&str]| parts.iter().map(|p| p.as_bytes().to_vec()).collect::<Vec<_>>();
        assert!(by(WINDOW, b"abcabc", Some(b"ab"), &any(&["c", "b"]), Some(b"c")));
        assert!(!by(WINDOW, b"aba", Some(b"ab"), &any(&[]), Some(b"ba")));
        assert!(!by(WINDOW, b"abc", None, &any(&["c", "b"]), None));
        assert!(by(WINDOW, b"abc", None, &any(&[]), None));
        assert!(by(WINDOW, b"abc", Some(b"abc"), &any(&["", ""]), None));
        assert!(!by(WINDOW, b"abc", Some(b"abc"), &any(&["", "a"]), None));
    }

    proptest! {
        #[test]
        fn windows_make_no_difference(
            window in 1usize..20,
            value in "[ab]{0,60}",
            initial in proptest::option::of("[ab]{0,3}"),
            any in proptest::collection::vec("[ab]{0,6}", 0..5),
            last in proptest::option::of("[ab]{0,3}"),
        ) {
            let any: Vec<Vec<u8>> = any.into_iter().map(String::into_bytes).collect();
            let (initial, last) = (initial.as_ref().map(|p| p.as_bytes()), last.as_ref().map(|p| p.as_bytes()));
            let value = value.as_bytes();
            prop_assert_eq!(by(window, value, initial, &any, last), naive(value, initial, &any, last));
        }
    }
}
