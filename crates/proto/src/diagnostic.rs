//! diagnosticMessage (RFC 4511 section 4.1.9) as it travels. Texts repeat names, OIDs and values of clients, so none is sent
//! as it comes: libldap takes an answer whose text has a NUL for one that cannot be decoded, and its client never sees the code.

use model::hex::escape;
use model::limits::DIAGNOSTIC_BYTES_MAX;
use std::borrow::Cow;

/// Ends a text that was cut.
const CUT: &[u8] = b"...";

/// A text as UTF-8 of at most [`DIAGNOSTIC_BYTES_MAX`] bytes that can be shown on one line: octets of control characters, of
/// characters that change lines or the direction of writing, and of what is no UTF-8 become `\xx`, as in DNs (RFC 4514
/// section 2.4). What is printable already is not copied.
pub fn printable(text: &[u8]) -> Cow<'_, [u8]> {
    let is_fit = |text: &str| text.chars().all(is_shown);
    if text.len() <= DIAGNOSTIC_BYTES_MAX && std::str::from_utf8(text).is_ok_and(is_fit) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(DIAGNOSTIC_BYTES_MAX);
    if !put_shown(text, &mut out) {
        out.extend_from_slice(CUT);
    }
    Cow::Owned(out)
}

/// Appends a text, escaped where it must be; `false` if there is no room for all of it.
fn put_shown(text: &[u8], out: &mut Vec<u8>) -> bool {
    text.utf8_chunks().all(|chunk| {
        let mut bytes = [0; 4];
        let fits = chunk.valid().chars().all(|character| {
            let encoded = character.encode_utf8(&mut bytes).as_bytes();
            match is_shown(character) {
                true => push(out, encoded),
                false => encoded.iter().all(|byte| push(out, &escape(*byte))),
            }
        });
        fits && chunk.invalid().iter().all(|byte| push(out, &escape(*byte)))
    })
}

/// Appends a piece if there is room for it and for the mark of a cut.
fn push(out: &mut Vec<u8>, piece: &[u8]) -> bool {
    let fits = out.len() + piece.len() + CUT.len() <= DIAGNOSTIC_BYTES_MAX;
    if fits {
        out.extend_from_slice(piece);
    }
    fits
}

/// Control characters, and separators and directions of Unicode that forge lines, are not.
fn is_shown(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_can_be_shown_stays_as_it_is() {
        for text in ["", "no such object", "\u{e4}\u{20ac} \\ \"x\"", &"a".repeat(DIAGNOSTIC_BYTES_MAX)] {
            assert!(matches!(printable(text.as_bytes()), Cow::Borrowed(same) if same == text.as_bytes()));
        }
    }

    #[test]
    fn what_cannot_be_shown_is_escaped() {
        assert_eq!(&*printable(b"a\0b\x1b[0m\r\n\x7f"), br"a\00b\1b[0m\0d\0a\7f");
        assert_eq!(&*printable("\u{85}\u{2028}\u{202e}".as_bytes()), br"\c2\85\e2\80\a8\e2\80\ae");
        assert_eq!(&*printable(b"x\xff\xc3"), br"x\ff\c3");
    }

    #[test]
    fn what_is_long_is_cut() {
        let shown = printable(&[b'7'; 1 << 20]).into_owned();
        assert_eq!((shown.len(), &shown[DIAGNOSTIC_BYTES_MAX - 4..]), (DIAGNOSTIC_BYTES_MAX, &b"7..."[..]));
        assert_eq!(printable(&[0; 4096]).len(), (DIAGNOSTIC_BYTES_MAX - 3) / 3 * 3 + 3);
    }

    proptest! {
        #[test]
        fn any_text_is_bounded_utf_8_and_stays_so(text in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let shown = printable(&text);
            prop_assert!(shown.len() <= DIAGNOSTIC_BYTES_MAX);
            let text = std::str::from_utf8(&shown).expect("UTF-8");
            prop_assert!(text.chars().all(is_shown));
            prop_assert_eq!(&*printable(&shown), &*shown);
        }
    }
}
