//! Hash tables from a 32-bit tag to a 31-bit value: DN hash, equality indexes, children. Eight bytes per slot, one
//! writer, readers without locks. A table is a superset of the truth: a reader verifies what it finds.
//!
//! ```text
//! word      63 ............ 32 31 ............ 0
//!           tag               value             0 = empty; value 0 with tag 1 = removed
//! bucket    8 words, one cache line; probing goes bucket by bucket, round the segment
//! segment   512 buckets; the tag's low bits choose the bucket
//! directory 2^depth segment numbers; the tag's high bits choose; the array of depth d lies at [2^d, 2^(d+1))
//! ```
//! A full segment is split in two (extendible hashing): there is no moment at which the whole table moves.

use crate::readers::Readers;
use crate::sync::{AtomicU64, Ordering, Words, prefetch};
use std::collections::VecDeque;
use std::io;

const BUCKET_WORDS: usize = if cfg!(pando_loom) { 2 } else { 8 };
const SEGMENT_BUCKETS: usize = if cfg!(pando_loom) { 2 } else { 512 };
const SEGMENT_WORDS: usize = BUCKET_WORDS * SEGMENT_BUCKETS;
/// Words in use (removed ones count) from which on a segment is split or rebuilt: 85 %.
const SEGMENT_FULL: u32 = (SEGMENT_WORDS * 85 / 100) as u32;
const DEPTH_MAX: u32 = 20;
const REMOVED: u64 = 1 << 32;

/// A table. The methods that change it are for the shard's one writer, which holds the [`TableWriter`].
pub(crate) struct Table {
    words: Words,
    directory: Words,
    depth: AtomicU64,
}

/// The writer's side of a table.
pub(crate) struct TableWriter {
    /// By segment number: how many bits of the tag its words share.
    depths: Vec<u8>,
    /// By segment number: words that are not empty.
    used: Vec<u32>,
    free: Vec<u32>,
    /// Split or rebuilt segments that old readers may still look at.
    retired: VecDeque<(u64, u32)>,
    segments_max: usize,
}

impl Table {
    /// A table with room for `entries_max` slots in use.
    pub(crate) fn create(entries_max: usize) -> io::Result<(Table, TableWriter)> {
        // After a split two segments are 42 % full, and some wait for their readers.
        let segments_max = (entries_max * 5 / 2 / SEGMENT_WORDS).next_power_of_two().max(4) + 64;
        let directory_words = (2 << DEPTH_MAX).min((segments_max * 64).next_power_of_two());
        let (segments_max, directory_words) =
            if cfg!(pando_loom) { (4, 8) } else { (segments_max, directory_words) };
        let table = Table {
            words: Words::reserve(segments_max * SEGMENT_WORDS, true)?,
            directory: Words::reserve(directory_words, false)?,
            depth: AtomicU64::new(0),
        };
        let writer = TableWriter {
            depths: vec![0],
            used: vec![0],
            free: vec![],
            retired: VecDeque::new(),
            segments_max,
        };
        Ok((table, writer))
    }

    #[inline]
    fn segment(&self, tag: u32) -> &[AtomicU64] {
        let depth = self.depth.load(Ordering::Acquire) as u32;
        let number = self.directory[directory_index(tag, depth)].load(Ordering::Acquire) as usize;
        &self.words[number * SEGMENT_WORDS..(number + 1) * SEGMENT_WORDS]
    }

    /// Asks for the cache line where a lookup of `tag` will begin.
    #[inline]
    pub(crate) fn prefetch(&self, tag: u32) {
        prefetch(&self.segment(tag)[first_bucket(tag) * BUCKET_WORDS]);
    }

    /// The first value under `tag` that `verify` accepts.
    #[inline]
    pub(crate) fn find(&self, tag: u32, mut verify: impl FnMut(u32) -> bool) -> Option<u32> {
        let segment = self.segment(tag);
        let mut bucket = first_bucket(tag);
        for _ in 0..SEGMENT_BUCKETS {
            let words = &segment[bucket * BUCKET_WORDS..][..BUCKET_WORDS];
            let mut has_empty = false;
            for word in words {
                let word = word.load(Ordering::Acquire);
                if (word >> 32) as u32 == tag && word as u32 != 0 && verify(word as u32) {
                    return Some(word as u32);
                }
                has_empty |= word == 0;
            }
            if has_empty {
                return None;
            }
            bucket = (bucket + 1) % SEGMENT_BUCKETS;
        }
        None
    }

    /// Puts `value` under `tag`, or where `replace` is stored under it now. Fails when the table's room is used up.
    pub(crate) fn put(
        &self,
        writer: &mut TableWriter,
        readers: &Readers,
        tag: u32,
        replace: Option<u32>,
        value: u32,
    ) -> Result<(), Full> {
        assert!(value != 0, "0 is an empty slot");
        if let Some(old) = replace {
            let at = self.position(tag, old).expect("what is replaced is there");
            self.segment(tag)[at].store(word(tag, value), Ordering::Release);
            return Ok(());
        }
        if self.position(tag, value).is_some() {
            return Ok(()); // its removal was put off, and now it has come back
        }
        loop {
            let number = self.number(tag);
            if writer.used[number] < SEGMENT_FULL {
                self.insert_into(number, &mut writer.used[number], tag, value);
                return Ok(());
            }
            self.make_room(writer, readers, tag)?;
        }
    }

    /// Takes `value` under `tag` away, if it is there.
    pub(crate) fn remove(&self, tag: u32, value: u32) {
        if let Some(at) = self.position(tag, value) {
            self.segment(tag)[at].store(REMOVED, Ordering::Release);
        }
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self, writer: &TableWriter) -> usize {
        writer.depths.len() * SEGMENT_WORDS * 8 + (2 << self.depth.load(Ordering::Relaxed)) * 8
    }

    fn number(&self, tag: u32) -> usize {
        let depth = self.depth.load(Ordering::Acquire) as u32;
        self.directory[directory_index(tag, depth)].load(Ordering::Acquire) as usize
    }

    fn position(&self, tag: u32, value: u32) -> Option<usize> {
        let (segment, wanted) = (self.segment(tag), word(tag, value));
        let mut bucket = first_bucket(tag);
        for _ in 0..SEGMENT_BUCKETS {
            let mut has_empty = false;
            let start = bucket * BUCKET_WORDS;
            for (at, slot) in segment[start..start + BUCKET_WORDS].iter().enumerate() {
                let found = slot.load(Ordering::Relaxed);
                if found == wanted {
                    return Some(start + at);
                }
                has_empty |= found == 0;
            }
            if has_empty {
                return None;
            }
            bucket = (bucket + 1) % SEGMENT_BUCKETS;
        }
        None
    }

    fn insert_into(&self, number: usize, used: &mut u32, tag: u32, value: u32) {
        let segment = &self.words[number * SEGMENT_WORDS..(number + 1) * SEGMENT_WORDS];
        let mut bucket = first_bucket(tag);
        loop {
            for slot in &segment[bucket * BUCKET_WORDS..][..BUCKET_WORDS] {
                let found = slot.load(Ordering::Relaxed);
                if found == 0 || found == REMOVED {
                    *used += u32::from(found == 0);
                    slot.store(word(tag, value), Ordering::Release);
                    return;
                }
            }
            bucket = (bucket + 1) % SEGMENT_BUCKETS;
        }
    }

    /// Rebuilds the segment of `tag` without its removed words, or splits it.
    fn make_room(&self, writer: &mut TableWriter, readers: &Readers, tag: u32) -> Result<(), Full> {
        let number = self.number(tag);
        let live = self.live(number);
        if live.len() * 4 < SEGMENT_FULL as usize * 3 {
            let fresh = self.allocate(writer, readers, writer.depths[number])?;
            self.fill(writer, fresh, live.iter().copied());
            self.point(tag, writer.depths[number] as u32, fresh);
            self.retire(writer, readers, number);
            return Ok(());
        }
        let local = writer.depths[number] as u32;
        if local == DEPTH_MAX {
            return Err(Full);
        }
        if local == self.depth.load(Ordering::Relaxed) as u32 {
            self.deepen()?;
        }
        let halves = [
            self.allocate(writer, readers, local as u8 + 1)?,
            self.allocate(writer, readers, local as u8 + 1)?,
        ];
        for (side, half) in halves.into_iter().enumerate() {
            let belongs = |w: &u64| (w >> (63 - local) & 1) as usize == side;
            self.fill(writer, half, live.iter().copied().filter(belongs));
        }
        let upper = 1 << (31 - local);
        self.point(tag & !upper, local + 1, halves[0]);
        self.point(tag | upper, local + 1, halves[1]);
        self.retire(writer, readers, number);
        Ok(())
    }

    fn live(&self, number: usize) -> Vec<u64> {
        let words = &self.words[number * SEGMENT_WORDS..(number + 1) * SEGMENT_WORDS];
        words.iter().map(|w| w.load(Ordering::Relaxed)).filter(|w| *w as u32 != 0).collect()
    }

    fn fill(&self, writer: &mut TableWriter, number: usize, words: impl Iterator<Item = u64>) {
        for w in words {
            self.insert_into(number, &mut writer.used[number], (w >> 32) as u32, w as u32);
        }
    }

    /// Points every directory entry that shares the first `depth` bits of `tag` to segment `number`.
    fn point(&self, tag: u32, depth: u32, number: usize) {
        let whole = self.depth.load(Ordering::Relaxed) as u32;
        let first = directory_index(tag & !(u32::MAX.checked_shr(depth).unwrap_or(0)), whole);
        for at in first..first + (1 << (whole - depth)) {
            self.directory[at].store(number as u64, Ordering::Release);
        }
    }

    /// Doubles the directory.
    fn deepen(&self) -> Result<(), Full> {
        let depth = self.depth.load(Ordering::Relaxed);
        if 4 << depth > self.directory.len() {
            return Err(Full);
        }
        for at in 0..1usize << depth {
            let number = self.directory[(1 << depth) + at].load(Ordering::Relaxed);
            for side in 0..2 {
                self.directory[(2 << depth) + 2 * at + side].store(number, Ordering::Relaxed);
            }
        }
        self.depth.store(depth + 1, Ordering::Release);
        Ok(())
    }

    fn allocate(&self, writer: &mut TableWriter, readers: &Readers, depth: u8) -> Result<usize, Full> {
        if writer.free.is_empty() && !writer.retired.is_empty() {
            let oldest = readers.oldest();
            while writer.retired.front().is_some_and(|(sequence, _)| *sequence <= oldest) {
                writer.free.extend(writer.retired.pop_front().map(|(_, number)| number));
            }
        }
        if let Some(number) = writer.free.pop() {
            let number = number as usize;
            for w in &self.words[number * SEGMENT_WORDS..(number + 1) * SEGMENT_WORDS] {
                w.store(0, Ordering::Relaxed);
            }
            writer.depths[number] = depth;
            writer.used[number] = 0;
            return Ok(number);
        }
        if writer.depths.len() == writer.segments_max {
            return Err(Full);
        }
        writer.depths.push(depth);
        writer.used.push(0);
        Ok(writer.depths.len() - 1)
    }

    fn retire(&self, writer: &mut TableWriter, readers: &Readers, number: usize) {
        // Readers that come after the next publication cannot find it any more.
        writer.retired.push_back((readers.published() + 1, number as u32));
    }
}

impl TableWriter {
    /// Segments that were split or rebuilt are room again: there are no readers yet.
    pub(crate) fn nobody_reads(&mut self) {
        self.free.extend(self.retired.drain(..).map(|(_, number)| number));
    }
}

/// The table's reserved room is used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

#[inline]
fn word(tag: u32, value: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(value)
}

#[inline]
fn first_bucket(tag: u32) -> usize {
    tag as usize % SEGMENT_BUCKETS
}

#[inline]
fn directory_index(tag: u32, depth: u32) -> usize {
    (1usize << depth) + (u64::from(tag) << depth >> 32) as usize
}

/// A keyed hash of bytes: not cryptographic, but an outsider who does not know the key cannot aim at a bucket.
#[inline]
pub(crate) fn mix(key: u64, bytes: &[u8]) -> u64 {
    const A: u64 = 0xa076_1d64_78bd_642f;
    const B: u64 = 0xe703_7ed1_a0b4_28db;
    let mut state = key ^ A;
    let mut chunks = bytes.chunks_exact(16);
    for chunk in &mut chunks {
        state = fold(load(&chunk[..8]) ^ B, load(&chunk[8..]) ^ state);
    }
    let rest = chunks.remainder();
    let (low, high) = if rest.len() > 8 { (load(&rest[..8]), tail(&rest[8..])) } else { (tail(rest), 0) };
    let state = fold(low ^ B, high ^ state);
    fold(state ^ A, bytes.len() as u64 ^ B)
}

#[inline]
fn load(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

#[inline]
fn tail(bytes: &[u8]) -> u64 {
    // Two loads that overlap take every byte in; the length, which the caller mixes in, tells how.
    match bytes.len() {
        0 => 0,
        1..4 => {
            u64::from(bytes[0])
                | u64::from(bytes[bytes.len() / 2]) << 8
                | u64::from(bytes[bytes.len() - 1]) << 16
        }
        len => u64::from(half(&bytes[..4])) | u64::from(half(&bytes[len - 4..])) << 32,
    }
}

#[inline]
fn half(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(all(test, not(pando_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn agrees_with_a_set(steps in proptest::collection::vec((any::<bool>(), 0u32..3000), 0..20_000)) {
            let readers = Readers::new();
            let (table, mut writer) = Table::create(100_000).unwrap();
            let mut model = BTreeSet::new();
            for (at, (add, n)) in steps.into_iter().enumerate() {
                let (tag, value) = (mix(1, &n.to_le_bytes()) as u32, n + 1);
                if add && model.insert(value) {
                    table.put(&mut writer, &readers, tag, None, value).unwrap();
                } else if !add && model.remove(&value) {
                    table.remove(tag, value);
                }
                readers.publish(at as u64);
            }
            for n in 0..3000u32 {
                let found = table.find(mix(1, &n.to_le_bytes()) as u32, |v| v == n + 1);
                prop_assert_eq!(found.is_some(), model.contains(&(n + 1)));
            }
        }
    }

    #[test]
    fn a_million_splits_well() {
        let readers = Readers::new();
        let (table, mut writer) = Table::create(2_000_000).unwrap();
        for n in 1..=1_000_000u32 {
            table.put(&mut writer, &readers, mix(7, &n.to_le_bytes()) as u32, None, n).unwrap();
            readers.publish(u64::from(n));
        }
        for n in 1..=1_000_000u32 {
            assert_eq!(table.find(mix(7, &n.to_le_bytes()) as u32, |v| v == n), Some(n));
        }
        let bytes_per_entry = table.bytes(&writer) / 1_000_000;
        assert!(bytes_per_entry < 20, "{bytes_per_entry}");
    }

    #[test]
    fn a_full_table_says_so() {
        let readers = Readers::new();
        let (table, mut writer) = Table::create(1).unwrap();
        let outcome = (1..10_000_000u32)
            .try_for_each(|n| table.put(&mut writer, &readers, mix(7, &n.to_le_bytes()) as u32, None, n));
        assert_eq!(outcome, Err(Full));
    }
}
