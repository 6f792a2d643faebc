//! Sets of entry ids that grow without bound: the long lists of an index. Readers iterate while the writer adds;
//! like every index, a set may hold ids that no longer belong: what is found is verified on the entry.
//!
//! A set is a sorted list of chunks, one per 65,536 ids. A chunk is a sorted array of up to 4,096 low halves, to
//! which an ascending id is appended in place, or a bitmap of 8 KiB: the two containers of a roaring bitmap, which take the same
//! memory at 4,096 members.
//!
//! What may change in place is what a reader in the middle of it can do with: a bit of a bitmap, and the cell behind the end
//! of an array. Everything else is copied, changed and swapped in ([`Published`]), and the old one is dropped when its last
//! reader has gone. Ids come in ascending order in an import, and mostly later too, so copies are rare.
//!
//! Nothing shrinks but an array from which an id is removed: a bitmap stays one, and a chunk without members stays in the list.

use crate::cell::{Garbage, Held, Published};
use crate::sync::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

/// Members of an array: with one more, two bytes each would be more than a bitmap.
const ARRAY_MAX: usize = 4096;
/// Words of a bitmap: a bit for each low half.
const BITMAP_WORDS: usize = 1024;

const _: () = assert!(ARRAY_MAX * 2 == BITMAP_WORDS * 8 && BITMAP_WORDS * 64 == 1 << 16);

/// A set of ids, and how many of its members are alive.
pub(crate) struct IdSet {
    /// By high half, ascending. The list is swapped when a chunk is added; both lists share the chunks then.
    chunks: Published<Vec<(u16, Arc<Published<Chunk>>)>>,
    /// Members. Only the writer changes it, and a reader takes it for an estimate.
    len: AtomicU32,
}

/// The low halves of ids with one high half.
enum Chunk {
    /// The first `len` cells are in use, ascending. A cell is stored before `len` counts it, with release order, and never
    /// changes from then on.
    Array { len: AtomicU32, lows: Box<[AtomicU16]> },
    /// A bit for each low half, of [`BITMAP_WORDS`] words.
    Bitmap(Box<[AtomicU64]>),
}

impl Chunk {
    /// An array with some cells to append to.
    fn array(lows: &[u16], capacity: usize) -> Chunk {
        assert!(lows.len() <= capacity && capacity <= ARRAY_MAX, "an array has a cell for each member");
        let cells = (0..capacity).map(|at| AtomicU16::new(lows.get(at).copied().unwrap_or(0)));
        Chunk::Array { len: AtomicU32::new(lows.len() as u32), lows: cells.collect() }
    }

    /// A bitmap, with relaxed stores: no reader knows of it before it is swapped in.
    fn bitmap(lows: impl Iterator<Item = u16>) -> Chunk {
        let words: Box<[AtomicU64]> = (0..BITMAP_WORDS).map(|_| AtomicU64::new(0)).collect();
        for low in lows {
            words[low as usize / 64].fetch_or(1 << (low % 64), Ordering::Relaxed);
        }
        Chunk::Bitmap(words)
    }

    /// All members, ascending.
    fn lows(&self) -> Vec<u16> {
        let mut out = Vec::new();
        self.push_from(0, usize::MAX, &mut out);
        out
    }

    /// Appends up to `max` members that are at least `from`.
    fn push_from(&self, from: u16, max: usize, out: &mut Vec<u16>) {
        match self {
            Chunk::Array { len, lows } => {
                let lows = &lows[..len.load(Ordering::Acquire) as usize];
                let start = lows.partition_point(|low| low.load(Ordering::Relaxed) < from);
                out.extend(lows[start..].iter().take(max).map(|low| low.load(Ordering::Relaxed)));
            }
            // Each word is loaded once, so of one word a reader sees one moment; of two words it may see two.
            Chunk::Bitmap(words) => {
                let end = out.len().saturating_add(max);
                for (at, word) in words.iter().enumerate().skip(from as usize / 64) {
                    let mut bits = word.load(Ordering::Acquire);
                    if at == from as usize / 64 {
                        bits &= u64::MAX << (from % 64);
                    }
                    while bits != 0 && out.len() < end {
                        out.push((at * 64 + bits.trailing_zeros() as usize) as u16);
                        bits &= bits - 1;
                    }
                }
            }
        }
    }

    /// Bytes that the chunk takes, its cells for members to come included.
    fn bytes(&self) -> usize {
        match self {
            Chunk::Array { lows, .. } => 24 + lows.len() * 2,
            Chunk::Bitmap(_) => 24 + BITMAP_WORDS * 8,
        }
    }
}

impl IdSet {
    /// An empty set. It takes some memory even so.
    pub(crate) fn new() -> IdSet {
        IdSet { chunks: Published::new(Vec::new()), len: AtomicU32::new(0) }
    }

    /// Members added less members removed: what the writer counts, not what a reader at an older point would. Members that no
    /// longer belong count until their removal, which waits for readers.
    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Relaxed)
    }

    /// Adds an id; false if it is there already. Writer only.
    pub(crate) fn insert<'a>(&self, id: u32, writer: impl Into<Held<'a>>, garbage: &mut Garbage) -> bool {
        let writer = writer.into();
        let (high, low) = ((id >> 16) as u16, id as u16);
        let chunks = self.chunks.load(writer);
        let added = match chunks.binary_search_by_key(&high, |(h, _)| *h) {
            Ok(at) => insert_low(&chunks[at].1, low, writer, garbage),
            Err(at) => {
                let mut more = chunks.clone();
                more.insert(at, (high, Arc::new(Published::new(Chunk::array(&[low], 4)))));
                assert!(more.is_sorted_by(|a, b| a.0 < b.0), "one chunk has all ids with its high half");
                self.chunks.swap(more, garbage);
                true
            }
        };
        self.len.fetch_add(u32::from(added), Ordering::Relaxed);
        added
    }

    /// Adds ids, neighbours at once; returns how many of them were not there. Writer only.
    ///
    /// Ids that follow each other and fall into one word of a bitmap take one store: what an import of many subordinates of one
    /// entry needs. Any order is right, but only an ascending one is quick.
    pub(crate) fn insert_all<'a>(
        &self,
        ids: &[u32],
        writer: impl Into<Held<'a>>,
        garbage: &mut Garbage,
    ) -> u32 {
        let (writer, mut added) = (writer.into(), 0);
        for near in ids.chunk_by(|a, b| a / 64 == b / 64) {
            let (high, low) = ((near[0] >> 16) as u16, near[0] as u16);
            let chunks = self.chunks.load(writer);
            let at = chunks.binary_search_by_key(&high, |(h, _)| *h);
            match at.map(|at| chunks[at].1.load(writer)) {
                Ok(Chunk::Bitmap(words)) => {
                    let bits = near.iter().fold(0, |bits, id| bits | 1u64 << (id % 64));
                    let before = words[low as usize / 64].fetch_or(bits, Ordering::AcqRel);
                    let new = (bits & !before).count_ones();
                    self.len.fetch_add(new, Ordering::Relaxed);
                    added += new;
                }
                _ => added += near.iter().map(|id| u32::from(self.insert(*id, writer, garbage))).sum::<u32>(),
            }
        }
        added
    }

    /// Takes an id away; false if it was not there. Writer only, and only when no reader can need it: of a bitmap it goes at once,
    /// for readers of any sequence.
    pub(crate) fn remove<'a>(&self, id: u32, writer: impl Into<Held<'a>>, garbage: &mut Garbage) -> bool {
        let writer = writer.into();
        let (high, low) = ((id >> 16) as u16, id as u16);
        let chunks = self.chunks.load(writer);
        // A chunk that loses its last member stays: ids near it will likely come again.
        let Ok(at) = chunks.binary_search_by_key(&high, |(h, _)| *h) else { return false };
        let removed = match chunks[at].1.load(writer) {
            Chunk::Bitmap(words) => {
                let bit = 1 << (low % 64);
                words[low as usize / 64].fetch_and(!bit, Ordering::AcqRel) & bit != 0
            }
            chunk @ Chunk::Array { .. } => {
                // Readers are in the middle of the array: a copy without the id takes its place.
                let mut lows = chunk.lows();
                match lows.binary_search(&low) {
                    Ok(position) => {
                        lows.remove(position);
                        chunks[at].1.swap(Chunk::array(&lows, lows.len().next_power_of_two()), garbage);
                        true
                    }
                    Err(_) => false,
                }
            }
        };
        let before = self.len.fetch_sub(u32::from(removed), Ordering::Relaxed);
        assert!(before >= u32::from(removed), "each member was counted when it was added");
        removed
    }

    /// Appends up to `max` ids that are at least `from`, ascending. Fewer means that there are no more.
    ///
    /// An id that is added meanwhile may come or not: its entry is not visible at the read point. None of the others is missed,
    /// since what a chunk has a reader finds in it and in all its successors.
    pub(crate) fn push_from<'a>(
        &self,
        from: u32,
        max: usize,
        read_point: impl Into<Held<'a>>,
        out: &mut Vec<u32>,
    ) {
        let read_point = read_point.into();
        let end = out.len().saturating_add(max);
        let mut lows = Vec::new();
        for (high, chunk) in self.chunks.load(read_point) {
            let first = u32::from(*high) << 16;
            if first + 0xffff < from || out.len() == end {
                continue;
            }
            // Only of the chunk that `from` lies in some members are passed over; `from` is below all others.
            lows.clear();
            chunk.load(read_point).push_from(from.saturating_sub(first) as u16, end - out.len(), &mut lows);
            out.extend(lows.iter().map(|&low| first | u32::from(low)));
        }
        assert!(out.len() <= end, "a slice has no more ids than were asked for");
    }

    /// Is it a member? Allocates, so it is for checks and not for searches, which verify candidates on their entries.
    pub(crate) fn contains<'a>(&self, id: u32, read_point: impl Into<Held<'a>>) -> bool {
        let read_point = read_point.into();
        let mut out = Vec::new();
        self.push_from(id, 1, read_point, &mut out);
        out == [id]
    }

    /// Bytes of memory in use, without what the allocator adds and what waits for readers. Looks at each chunk.
    pub(crate) fn bytes<'a>(&self, read_point: impl Into<Held<'a>>) -> usize {
        let read_point = read_point.into();
        let chunks = self.chunks.load(read_point);
        48 + chunks.capacity() * 16 + chunks.iter().map(|(_, c)| c.load(read_point).bytes()).sum::<usize>()
    }
}

/// Adds a low half to a chunk; false if it is there already. Writer only.
fn insert_low(chunk: &Published<Chunk>, low: u16, writer: Held<'_>, garbage: &mut Garbage) -> bool {
    match chunk.load(writer) {
        Chunk::Bitmap(words) => {
            let bit = 1 << (low % 64);
            words[low as usize / 64].fetch_or(bit, Ordering::AcqRel) & bit == 0
        }
        Chunk::Array { len, lows } => {
            let count = len.load(Ordering::Relaxed) as usize;
            // The cell first, then the length with release order: a reader that counts the cell finds its value.
            let ascending = count == 0 || lows[count - 1].load(Ordering::Relaxed) < low;
            if ascending && count < lows.len() {
                lows[count].store(low, Ordering::Relaxed);
                len.store(count as u32 + 1, Ordering::Release);
                return true;
            }
            let mut all: Vec<u16> = lows[..count].iter().map(|l| l.load(Ordering::Relaxed)).collect();
            let Err(at) = all.binary_search(&low) else { return false };
            all.insert(at, low);
            // Half as many cells again, so that ids in ascending order are copied a few times each and not once per id.
            let next = if all.len() > ARRAY_MAX {
                Chunk::bitmap(all.into_iter())
            } else {
                Chunk::array(&all, (all.len() * 3 / 2).next_multiple_of(4).min(ARRAY_MAX))
            };
            chunk.swap(next, garbage);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::tests::small_shard;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn agrees_with_a_set(steps in proptest::collection::vec((0u8..4, 0u32..200_000), 0..6000)) {
            let shard = small_shard();
            let point = shard.unpinned();
            let (set, mut model, mut garbage) = (IdSet::new(), BTreeSet::new(), Garbage::default());
            for (kind, id) in steps {
                if kind == 3 {
                    let ids: Vec<u32> = (id..id + id % 100).step_by(1 + id as usize % 3).collect();
                    let new = ids.iter().filter(|id| model.insert(**id)).count();
                    prop_assert_eq!(set.insert_all(&ids, point, &mut garbage) as usize, new);
                } else if kind > 0 {
                    prop_assert_eq!(set.insert(id, point, &mut garbage), model.insert(id));
                } else {
                    prop_assert_eq!(set.remove(id, point, &mut garbage), model.remove(&id));
                }
            }
            let mut all = Vec::new();
            set.push_from(0, usize::MAX - 1, point, &mut all);
            prop_assert_eq!(&all, &model.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.len() as usize, model.len());
            let mut some = Vec::new();
            set.push_from(70_000, 10, point, &mut some);
            prop_assert_eq!(some, model.range(70_000..).take(10).copied().collect::<Vec<_>>());
        }
    }

    #[test]
    fn members_are_appended_to_what_is_there() {
        let shard = small_shard();
        let point = shard.unpinned();
        let (set, mut garbage) = (IdSet::new(), Garbage::default());
        [3, 70_000].into_iter().for_each(|id| assert!(set.insert(id, point, &mut garbage)));
        let mut out = vec![9];
        set.push_from(0, usize::MAX, point, &mut out);
        assert_eq!(out, [9, 3, 70_000]);
    }

    #[test]
    fn a_dense_range_costs_little() {
        let shard = small_shard();
        let point = shard.unpinned();
        let (set, mut garbage) = (IdSet::new(), Garbage::default());
        for id in 1..1_000_000 {
            set.insert(id, point, &mut garbage);
        }
        assert!(set.bytes(point) < 150_000, "{}", set.bytes(point));
        assert!(set.contains(999_999, point) && !set.contains(1_000_000, point));
    }
}
