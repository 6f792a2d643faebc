//! Answers that are short, put together on the stack piece by piece: most are a head, a message id, a name and an end.

use crate::tag;
use model::ResultCode;
use model::short::Short;

/// Longest DN of an entry that [`put_bare_entry`] takes: all lengths of its message have one byte.
pub const BARE_DN_MAX: usize = 100;
/// Most bytes that [`put_bare_entry`] and [`put_done`] append to a [`Short`]; so much room must be left.
pub const PIECE_MAX: usize = BARE_DN_MAX + 32;

/// A messageID as the INTEGER that every response begins with.
#[derive(Clone, Copy, Debug)]
pub struct MessageId {
    /// The element, its first byte lowest; above it zero.
    element: u64,
    len: usize,
}

impl MessageId {
    /// Of a number, 0 for unsolicited notifications.
    #[inline(always)]
    pub fn new(id: i32) -> MessageId {
        assert!(id >= 0, "a messageID is not negative (RFC 4511 section 4.1.1.1)");
        let len = crate::ber::integer_len(i64::from(id));
        let number = (id as u32).swap_bytes() >> (8 * (4 - len));
        let element = u64::from(tag::INTEGER) | (len as u64) << 8 | u64::from(number) << 16;
        MessageId { element, len: 2 + len }
    }

    /// What a message begins with, whose contents take less than 128 bytes, `len` without the id: its first byte
    /// lowest, above it zero. Then how many bytes that are, 8 at most.
    #[inline(always)]
    fn begin(&self, len: usize) -> (u64, usize) {
        assert!(self.len + len < 0x80, "a short answer has a length of one byte");
        let begin = u64::from(tag::SEQUENCE) | ((self.len + len) as u64) << 8 | self.element << 16;
        (begin, 2 + self.len)
    }
}

/// Appends the head of the message of an entry: all that comes before its DN. Its contents take less than 128 bytes.
#[inline(always)]
pub(crate) fn put_short_head<const N: usize>(
    out: &mut Short<N>,
    id: &MessageId,
    dn_len: usize,
    attributes_len: usize,
) {
    let op_len = 2 + dn_len + 2 + attributes_len;
    let (begin, begin_len) = id.begin(2 + op_len);
    let op = u32::from_le_bytes([tag::SEARCH_ENTRY, op_len as u8, tag::OCTET_STRING, dn_len as u8]);
    let head = u128::from(begin) | u128::from(op) << (8 * begin_len);
    out.push_some_of(&head.to_le_bytes(), begin_len + 4);
}

/// Appends the message of an entry without attributes. Its DN comes in pieces of [`BARE_DN_MAX`] bytes in all at most.
///
/// # Panics
/// If there is no room for [`PIECE_MAX`] bytes.
#[inline(always)]
pub fn put_bare_entry<const N: usize>(out: &mut Short<N>, id: &MessageId, dn: [&[u8]; 3]) {
    let dn_len = dn[0].len() + dn[1].len() + dn[2].len();
    assert!(dn_len <= BARE_DN_MAX, "the DN of a short answer has a length of one byte");
    put_short_head(out, id, dn_len, 0);
    for piece in dn {
        out.push(piece);
    }
    out.push_some_of(&[tag::SEQUENCE, 0], 2);
}

/// Appends a response that is a code and nothing else.
///
/// # Panics
/// If there is no room for [`PIECE_MAX`] bytes.
#[inline(always)]
pub fn put_done<const N: usize>(out: &mut Short<N>, id: &MessageId, op_tag: u8, code: ResultCode) {
    let done = [op_tag, 7, tag::ENUMERATED, 1, code as u8, tag::OCTET_STRING, 0, tag::OCTET_STRING, 0];
    assert!((code as u32) < 0x80, "the code of a result has one byte");
    let (begin, begin_len) = id.begin(done.len());
    out.push_some_of(&begin.to_le_bytes(), begin_len);
    out.push_some_of(&done, done.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Attributes;
    use crate::op::SearchEntry;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bare_entry_is_what_an_entry_without_attributes_is(
            id in prop_oneof![0..300i32, 0..i32::MAX],
            dn in "[a-z=,]{0,100}",
            cuts in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        ) {
            let (a, b) = (cuts.0.index(dn.len() + 1), cuts.1.index(dn.len() + 1));
            let (first, second) = (a.min(b), a.max(b));
            let dn = dn.as_bytes();
            let mut short = Short::<PIECE_MAX>::default();
            put_bare_entry(&mut short, &MessageId::new(id), [&dn[..first], &dn[first..second], &dn[second..]]);
            let mut wanted = Vec::new();
            SearchEntry { dn, attributes: Attributes::default() }.encode(&mut wanted, id, &[]);
            prop_assert_eq!(short.bytes(), &wanted[..]);
        }
    }
}
