//! Puts entries in order by their keys, in slices: a merge sort that can be put down after any step.
//!
//! Keys are gathered with the ids of their entries, in runs that are sorted as they become full. Runs are then merged, pass by pass, an entry
//! at a step. A million entries take some tenths of a second, and no slice of it is longer than any other of a search.

use model::EntryId;
use std::cmp::Ordering;

/// Entries of a run that is sorted at once.
/// That takes about as long as a slice may be longer than it should.
const RUN: usize = 128;
/// Units of work of an entry in a run, and of one that is merged.
const RUN_ENTRY: u64 = 6;
const MERGED: u64 = 2;
/// Bytes of keys that are kept together. A longer key has a place of its own.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes of the first ones: those of a page.
/// They count against the bound of a search as others do.
const FIRST_BYTES: usize = 2 << 10;
/// Bytes of a key that stand in the item.
/// Most comparisons end there, without a look elsewhere.
const HEAD: usize = 8;
/// Of a key that is no longer.
const NOWHERE: u32 = u32::MAX;

/// An entry and its key.
/// It is small and copied: merging moves items and leaves keys where they are.
#[derive(Clone, Copy)]
struct Item {
    /// The first bytes of the key, as a number in the same order. A shorter key counts as if zeros followed it.
    head: u64,
    /// Chunk and place of the rest, 16 bits each.
    rest: u32,
    /// The entry's id, which decides between equal keys.
    id: u32,
}

/// The keys behind their heads: each with its length before it.
#[derive(Default)]
struct Tails {
    /// None of them grows beyond the room that it was made with, so nothing is ever copied to make room.
    chunks: Vec<Vec<u8>>,
    /// Room of all chunks.
    bytes: usize,
}

impl Tails {
    /// Keeps a rest. `None` if there are too many.
    /// The length comes first, in four bytes.
    fn put(&mut self, rest: &[u8]) -> Option<u32> {
        // One that does not fit begins the next chunk; what is left of the last one stays empty.
        let needed = rest.len() + 4;
        if self.chunks.last().is_none_or(|last| last.len() + needed > last.capacity()) {
            let number = self.chunks.len();
            if number >= usize::from(u16::MAX) {
                return None;
            }
            let bytes = if number == 0 { FIRST_BYTES } else { CHUNK_BYTES }.max(needed);
            self.chunks.push(Vec::with_capacity(bytes));
            self.bytes += bytes;
        }
        let (number, chunk) = (self.chunks.len() as u32 - 1, self.chunks.last_mut()?);
        let place = number << 16 | chunk.len() as u32;
        chunk.extend_from_slice(&(rest.len() as u32).to_be_bytes());
        chunk.extend_from_slice(rest);
        Some(place)
    }

    /// What is kept at a place.
    fn get(&self, place: u32) -> &[u8] {
        if place == NOWHERE {
            return &[];
        }
        let (chunk, at) = (&self.chunks[(place >> 16) as usize], (place & 0xffff) as usize);
        let len = chunk[at..].first_chunk().map_or(0, |len| u32::from_be_bytes(*len)) as usize;
        &chunk[at + 4..at + 4 + len]
    }

    /// No key is the beginning of another, so equal heads decide where one of the keys is no longer. Entries with equal keys come in the order of
    /// their ids: the order of a list is the same each time.
    fn compare(&self, left: &Item, right: &Item) -> Ordering {
        let of_tails = || self.get(left.rest).cmp(self.get(right.rest));
        left.head.cmp(&right.head).then_with(of_tails).then(left.id.cmp(&right.id))
    }
}

/// Entries that are gathered, or merged.
/// First `put` for each of them, then `merge` until it is done, then `take_ids`.
#[derive(Default)]
pub(super) struct Order {
    tails: Tails,
    items: Vec<Item>,
    /// What the pass has merged so far.
    merged: Vec<Item>,
    /// Of the pass: how long its sorted runs are. 0 before the first.
    width: usize,
    /// Of the two runs that are merged: what is left of each.
    left: (usize, usize),
    right: (usize, usize),
}

impl Order {
    /// Bytes that it takes, or will when it is merged.
    pub(super) fn bytes(&self) -> usize {
        self.items.len().max(self.merged.len()) * 2 * size_of::<Item>() + self.tails.bytes
    }

    /// Gathers an entry. `false` if there are too many keys.
    pub(super) fn put(&mut self, key: &[u8], id: EntryId, work: &mut u64) -> bool {
        assert!(self.width == 0, "entries are gathered before they are merged");
        let mut head = [0; HEAD];
        let len = key.len().min(HEAD);
        head[..len].copy_from_slice(&key[..len]);
        let rest = if key.len() > HEAD { self.tails.put(&key[HEAD..]) } else { Some(NOWHERE) };
        let Some(rest) = rest else { return false };
        self.items.push(Item { head: u64::from_be_bytes(head), rest, id: id.0 });
        *work = work.saturating_sub(RUN_ENTRY);
        if self.items.len().is_multiple_of(RUN) {
            self.sort_last_run();
        }
        true
    }

    /// Sorts what came since the last full run, or that run.
    fn sort_last_run(&mut self) {
        let from = self.items.len().saturating_sub(1) / RUN * RUN;
        let tails = &self.tails;
        self.items[from..].sort_unstable_by(|left, right| tails.compare(left, right));
    }

    /// Merges. `true` when all is in order.
    /// Each pass doubles the length of runs that are sorted: thirteen passes for a million entries.
    pub(super) fn merge(&mut self, work: &mut u64) -> bool {
        let count = self.items.len();
        if self.width == 0 {
            self.sort_last_run();
            self.width = RUN;
        }
        while self.width < count {
            // Before the step: each call that has work left comes further.
            if *work == 0 {
                return false;
            }
            *work = work.saturating_sub(MERGED);
            if self.left.0 == self.left.1 && self.right.0 == self.right.1 {
                let at = self.merged.len();
                if at == count {
                    std::mem::swap(&mut self.items, &mut self.merged);
                    self.merged.clear();
                    self.width *= 2;
                    continue;
                }
                // Taken at once: one that grows is copied in one go.
                self.merged.reserve_exact(count - at);
                let middle = count.min(at + self.width);
                (self.left, self.right) = ((at, middle), (middle, count.min(middle + self.width)));
            }
            // When one of the runs is used up the other is taken as it is.
            let takes_left = match (self.left.0 < self.left.1, self.right.0 < self.right.1) {
                (true, true) => {
                    let order = self.tails.compare(&self.items[self.left.0], &self.items[self.right.0]);
                    order == Ordering::Less
                }
                (takes_left, _) => takes_left,
            };
            let run = if takes_left { &mut self.left } else { &mut self.right };
            self.merged.push(self.items[run.0]);
            run.0 += 1;
        }
        true
    }

    /// Takes ids in order; all else can be dropped when they are taken.
    /// They come in order out of it, as far as the work goes. `true` when all are taken.
    pub(super) fn take_ids(&self, ids: &mut Vec<u32>, work: &mut u64) -> bool {
        ids.reserve_exact(self.items.len() - ids.len());
        let count = usize::try_from(*work).unwrap_or(usize::MAX).max(1);
        ids.extend(self.items[ids.len()..].iter().take(count).map(|item| item.id));
        *work = work.saturating_sub(count as u64);
        ids.len() == self.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However little is done at a time, entries come in the order of keys and ids.
        #[test]
        fn entries_are_in_order(
            keys in proptest::collection::vec(0u32..400, 0..2000),
            slice in 1u64..5000,
            long in 0usize..40,
        ) {
            let mut order = Order::default();
            // A terminator makes them free of prefixes, as keys of entries are.
            let key = |n: u32| format!("{}{}\0", "x".repeat(long), n % 400).into_bytes();
            let mut expected: Vec<(Vec<u8>, u32)> = Vec::new();
            let mut work = u64::MAX;
            for (id, n) in (1u32..).zip(&keys) {
                assert!(order.put(&key(*n), EntryId(id), &mut work));
                expected.push((key(*n), id));
            }
            expected.sort();
            let mut ids = Vec::new();
            while !order.merge(&mut slice.clone()) {}
            while !order.take_ids(&mut ids, &mut slice.clone()) {}
            prop_assert_eq!(ids, expected.iter().map(|(_, id)| *id).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_long_key_has_a_place_of_its_own() {
        let mut order = Order::default();
        for (id, len) in [(1, 3 * CHUNK_BYTES), (2, 20), (3, CHUNK_BYTES), (4, 1)] {
            let key = [vec![b'a'; len], vec![0]].concat();
            assert!(order.put(&key, EntryId(id), &mut 1));
        }
        assert!(order.bytes() > 4 * CHUNK_BYTES);
        assert!(order.merge(&mut 100));
        let mut ids = Vec::new();
        assert!(order.take_ids(&mut ids, &mut 100));
        assert_eq!(ids, [4, 2, 3, 1]);
    }
}
