//! What searching costs, in units of work, and where an evaluation stands that was paused. A search that has used up its
//! units lets others have their turn, also in the middle of an entry: one with a million values, or a filter of thousands
//! of items, is dear.
//!
//! A unit is about ten nanoseconds, measured where values and records lie in no cache.
//!
//! The units are estimates, and need not be better: they bound how long one search keeps a thread, whatever it looks at.

use super::evaluate::Truth;
use super::substrings::PartPosition;

/// Units of looking at a candidate: finding its record and its place in the tree.
pub(crate) const CANDIDATE: u64 = 16;
/// Units of an item of a filter, beside its values.
pub(super) const ITEM: u64 = 2;
/// Units of a look into a set, or of making up a value or a DN.
pub(crate) const LOOKUP: u64 = 32;
/// Units of comparing a value, beside its bytes.
const VALUE: u64 = 3;
/// Bytes of ASCII that are brought into normal form and compared for a unit.
const BYTES: u64 = 4;
/// Bytes that are searched for a unit.
const SCANNED_BYTES: u64 = 32;
/// Bytes of a value from which on its normal form is kept, in case that the next item, or the next slice, looks at it
/// again.
/// One value for each thread at most, so the memory is bounded.
pub(super) const LONG_VALUE: usize = 64 << 10;
/// Units of a byte of other text: it goes through the tables of Unicode.
const OTHER_BYTE: u64 = 8;

/// Units of making an item of a filter ready and finding what index helps it.
pub const COMPILED_ITEM: u64 = 16;

/// Units of comparing a value.
/// Whether it is ASCII is looked at eight bytes at a time, which is little beside normalising it.
#[inline]
pub fn of_value(value: &[u8]) -> u64 {
    let len = value.len() as u64;
    VALUE + if value.is_ascii() { len / BYTES } else { len * OTHER_BYTE }
}

/// Units of reading so many bytes.
#[inline]
pub(super) fn of_bytes(len: usize) -> u64 {
    len as u64 / BYTES
}

/// Units of searching so many bytes, or comparing them with others.
#[inline]
pub(super) fn of_scan(len: usize) -> u64 {
    len as u64 / SCANNED_BYTES
}

/// Where the evaluation of a filter on an entry was paused. It holds no borrow: it goes on at the same read point.
#[derive(Clone, Debug, Default)]
pub struct Paused {
    /// Of each `&` and `|` that is not decided yet, the innermost first: the part that is next, and what those before it
    /// come to.
    pub(super) parts: Vec<(u32, Truth)>,
    /// Within an item.
    pub(super) item: Option<ItemPosition>,
}

impl Paused {
    /// Is there something to go on with?
    #[inline]
    pub(super) fn is_begun(&self) -> bool {
        self.item.is_some() || !self.parts.is_empty()
    }
}

/// The value that an item looks at next.
#[derive(Clone, Copy, Debug)]
pub(super) struct ItemPosition {
    /// 0: the object classes; n: slot n - 1 of the shape; behind all: what is derived.
    pub(super) slot: usize,
    pub(super) value: ValuePosition,
}

/// Values of a slot that were looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ValuePosition {
    /// Of a set: the key of the last one.
    pub(super) key: u64,
    /// How many; of a set, how many with this key.
    pub(super) done: u32,
    /// How far the next one was looked at.
    pub(super) within: PartPosition,
}
