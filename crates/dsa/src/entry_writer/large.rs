//! The message around the attributes of an entry, also of one that is not written in one go: it is longer than what one write takes, or comes with
//! controls.

use proto::ber;
use proto::op::search::{put_entry_head, put_entry_head_before};
use proto::tag;
use std::collections::VecDeque;
use store::record::ValueSet;
use store::values::SetPosition;
use store::{DnCache, EntryRef, ReadPoint};

/// Big value sets up to this many bytes are put into the buffer at once.
/// About what one write to a socket takes.
pub(super) const SET_BYTES_AT_ONCE: u64 = 32 << 10;

/// The rest of an entry that is too long to be written at once.
/// An entry may be larger than any buffer: a group of a million members has tens of megabytes. Its lengths are known before its first byte
/// is written, for the record has the length of each set.
#[derive(Default)]
pub(crate) struct Large {
    /// Where its message begins in the out buffer that it was begun in.
    pub(crate) begin: usize,
    parts: VecDeque<Part>,
}

/// A set keeps the place of its next leaf, not its values.
pub(super) enum Part {
    Bytes(Vec<u8>),
    Set(ValueSet, SetPosition),
}

impl Large {
    /// Whole messages, which are more than is to be written at once. They begin in the out buffer there.
    pub(crate) fn of_messages(begin: usize, messages: &[u8]) -> Large {
        // In pieces, so that the output buffer does not grow by all of it at once.
        let pieces = messages.chunks(SET_BYTES_AT_ONCE as usize);
        Large { begin, parts: pieces.map(|piece| Part::Bytes(piece.to_vec())).collect() }
    }

    /// Goes on writing until `out` has `enough` bytes. True when the entry is complete.
    /// The read point must be the one that the entry was begun at: a set is found by its tree's root, and is as long as the header says there.
    pub(crate) fn go_on(&mut self, read_point: ReadPoint<'_>, out: &mut Vec<u8>, enough: usize) -> bool {
        while out.len() < enough {
            match self.parts.front_mut() {
                None => return true,
                Some(Part::Bytes(bytes)) => {
                    out.extend_from_slice(bytes);
                    self.parts.pop_front();
                }
                Some(Part::Set(set, position)) => {
                    if !read_point.set_values(set, position, |value| ber::put_octets(out, value)) {
                        self.parts.pop_front();
                    }
                }
            }
        }
        self.parts.is_empty()
    }
}

/// Appends the message of an entry whose attributes are put together: those that follow in parts, too. `dn` is a buffer.
#[inline(always)]
pub(super) fn put_message(
    out: &mut Vec<u8>,
    message_id: i32,
    (read_point, entry): (ReadPoint<'_>, &EntryRef<'_>),
    (dn, attributes, controls): (&mut Vec<u8>, &[u8], &mut Vec<u8>),
    large: Option<VecDeque<Part>>,
    cache: &mut DnCache,
    is_root_dse: bool,
) -> Option<Large> {
    if large.is_none()
        && !is_root_dse
        && controls.is_empty()
        && let Some(parts) = read_point.dn_parts(entry, cache)
    {
        put_entry_head(out, message_id, parts.len(), attributes.len());
        parts.pieces().iter().for_each(|piece| out.extend_from_slice(piece));
        ber::put_tlv(out, tag::SEQUENCE, attributes);
        return None;
    }
    dn.clear();
    if !is_root_dse {
        read_point.write_dn(entry, cache, dn);
    }
    if !controls.is_empty() {
        let parts = large.unwrap_or_default();
        return with_controls(out, message_id, (dn, attributes), parts, controls);
    }
    let Some(parts) = large else {
        put_entry_head(out, message_id, dn.len(), attributes.len());
        out.extend_from_slice(dn);
        ber::put_tlv(out, tag::SEQUENCE, attributes);
        return None;
    };
    Some(begin_large(out, message_id, dn, attributes, parts))
}

/// Appends the message of an entry that comes with controls; if its attributes follow in parts, so do the controls.
#[cold]
fn with_controls(
    out: &mut Vec<u8>,
    message_id: i32,
    (dn, attributes): (&[u8], &[u8]),
    parts: VecDeque<Part>,
    brought: &mut Vec<u8>,
) -> Option<Large> {
    let mut controls = Vec::new();
    ber::put_tlv(&mut controls, tag::context_constructed(0), brought);
    brought.clear();
    let mut large = Large { begin: out.len(), parts };
    let attributes_len = attributes.len() + large.parts.iter().map(Part::len).sum::<usize>();
    put_entry_head_before(out, message_id, dn.len(), attributes_len, controls.len());
    out.extend_from_slice(dn);
    ber::put_header(out, tag::SEQUENCE, attributes_len);
    out.extend_from_slice(attributes);
    if large.parts.is_empty() {
        out.extend_from_slice(&controls);
        return None;
    }
    large.parts.push_back(Part::Bytes(controls));
    Some(large)
}

/// Appends the head of an entry whose attributes follow in parts.
/// Small attributes are one part; they may come after a big set, for the order of attributes means nothing (RFC 4511 section 4.1.7).
#[cold]
fn begin_large(
    out: &mut Vec<u8>,
    message_id: i32,
    dn: &[u8],
    attributes: &[u8],
    parts: VecDeque<Part>,
) -> Large {
    let mut large = Large { begin: out.len(), parts };
    if !attributes.is_empty() {
        large.parts.push_back(Part::Bytes(attributes.to_vec()));
    }
    assert!(!large.parts.is_empty(), "an entry is written in parts for one of them");
    let attributes_len = large.parts.iter().map(Part::len).sum();
    put_entry_head(out, message_id, dn.len(), attributes_len);
    out.extend_from_slice(dn);
    ber::put_header(out, tag::SEQUENCE, attributes_len);
    large
}

impl Part {
    /// Bytes that it will take in the message.
    fn len(&self) -> usize {
        match self {
            Part::Bytes(bytes) => bytes.len(),
            Part::Set(set, _) => set.ber_bytes as usize,
        }
    }
}
