//! Hash tables from a 32-bit tag to a 31-bit value: DN hash, equality indexes, children. Eight bytes per slot, one
//! writer, readers without locks. A table is a superset of the truth: a reader verifies what it finds.
//!
//! ```text
//! word      63 ............ 32 31 ............ 0
//!           tag               value             0 = empty; value 0 with tag 1 = removed
//! bucket    8 words, one cache line; probing goes bucket by bucket, round the segment
//! unit      256 buckets, 16 KiB
//! segment   2 or 3 units, which need not be neighbours; the tag times an odd number chooses the bucket
//! directory 2^depth segments, each a word of up to three unit numbers of 21 bits, the first in the low bits; the
//!           tag's high bits choose; the array of depth d lies at [2^d, 2^(d+1))
//! ```
//! A full segment of two units is written anew in three, a full one of three is split in two of two units
//! (extendible hashing): there is no moment at which the whole table moves. Because the hash spreads evenly, all
//! segments are about equally full; the step in between keeps them at 57 % at least, where splitting alone falls to
//! 42 %. Units are all alike, so what one segment leaves fits any other.

use crate::readers::Readers;
use crate::sync::{AtomicU64, Ordering, Prefault, Words, prefetch};
use std::collections::VecDeque;
use std::io;

mod grow;
mod keyed;

pub(crate) use keyed::{mix, mix_word, tag};

const BUCKET_WORDS: usize = if cfg!(pando_loom) { 2 } else { 8 };
const UNIT_BUCKETS: usize = if cfg!(pando_loom) { 1 } else { 256 };
const UNIT_WORDS: usize = BUCKET_WORDS * UNIT_BUCKETS;
/// Bits of a unit's number in a directory word.
const UNIT_BITS: u32 = 21;
const UNITS_MAX: usize = if cfg!(pando_loom) { 16 } else { 1 << UNIT_BITS };
/// Units of a segment that was just split, and of one that grew since.
const SMALL: usize = 2;
const LARGE: usize = 3;
/// Per cent of a segment's words in use (removed ones count) from which on it is written anew or split.
const FULL_PERCENT: usize = 85;
/// A segment that is written anew is this full at most, so that it is not soon full again.
const REFILL_PERCENT: usize = 70;
const DEPTH_MAX: u32 = 20;
const REMOVED: u64 = 1 << 32;

const _: () = assert!(LARGE as u32 * UNIT_BITS <= 64);

/// A table. The methods that change it are for the shard's one writer, which holds the [`TableWriter`].
pub(crate) struct Table {
    words: Words,
    directory: Words,
    depth: AtomicU64,
}

/// The writer's side of a table.
pub(crate) struct TableWriter {
    /// By number of a segment's first unit: what is known of the segment.
    accounts: Vec<Account>,
    free: Vec<u32>,
    /// Units of segments split or written anew that old readers may still look at.
    retired: VecDeque<(u64, u32)>,
    units_max: usize,
}

#[derive(Clone, Copy, Default)]
struct Account {
    /// How many bits of the tag its words share.
    depth: u8,
    /// Words that are not empty.
    used: u32,
}

/// A segment as the directory names it: its units. A unit's number is never 0; as the third it means that there is
/// none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Segment(u64);

impl Segment {
    fn of(units: impl Iterator<Item = usize>) -> Segment {
        Segment(units.enumerate().fold(0, |word, (at, unit)| word | (unit as u64) << (at as u32 * UNIT_BITS)))
    }

    #[inline]
    fn unit(self, at: usize) -> usize {
        (self.0 >> (at as u32 * UNIT_BITS)) as usize & ((1 << UNIT_BITS) - 1)
    }

    #[inline]
    fn units(self) -> usize {
        if self.unit(LARGE - 1) == 0 { SMALL } else { LARGE }
    }

    #[inline]
    fn buckets(self) -> usize {
        self.units() * UNIT_BUCKETS
    }

    /// Where probing for a tag begins. The tag's high bits are those that all of the segment share, so all of it is
    /// mixed into the product's high bits.
    #[inline]
    fn first_bucket(self, tag: u32) -> usize {
        ((u64::from(tag.wrapping_mul(0x9e37_79b9)) * self.buckets() as u64) >> 32) as usize
    }

    #[inline]
    fn bucket_after(self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets() { 0 } else { bucket + 1 }
    }

    /// Words in use from which on it is full.
    fn full(self) -> u32 {
        (self.units() * UNIT_WORDS * FULL_PERCENT / 100) as u32
    }
}

impl Table {
    /// A table with room for `entries_max` slots in use.
    pub(crate) fn create(entries_max: usize, huge_pages: bool) -> io::Result<(Table, TableWriter)> {
        // Segments are 57 % full at least while they grow, and some units wait for their readers.
        let wanted = (entries_max * 5 / 2 / UNIT_WORDS).next_power_of_two().max(8) + 128;
        let units_max = wanted.min(UNITS_MAX);
        let directory_words = (2 << DEPTH_MAX).min((units_max * 32).next_power_of_two());
        let directory_words = if cfg!(pando_loom) { 8 } else { directory_words };
        let table = Table {
            words: Words::reserve(units_max * UNIT_WORDS, huge_pages)?,
            directory: Words::reserve(directory_words, false)?,
            depth: AtomicU64::new(0),
        };
        let mut writer = TableWriter {
            accounts: vec![Account::default()],
            free: vec![],
            retired: VecDeque::new(),
            units_max,
        };
        let only = table.allocate(&mut writer, 0, SMALL);
        table.directory[1].store(only.0, Ordering::Release);
        Ok((table, writer))
    }

    #[inline]
    fn segment(&self, tag: u32) -> Segment {
        let depth = self.depth.load(Ordering::Acquire) as u32;
        Segment(self.directory[directory_index(tag, depth)].load(Ordering::Acquire))
    }

    #[inline]
    fn bucket(&self, segment: Segment, bucket: usize) -> &[AtomicU64] {
        let unit = segment.unit(bucket / UNIT_BUCKETS);
        &self.words[(unit * UNIT_BUCKETS + bucket % UNIT_BUCKETS) * BUCKET_WORDS..][..BUCKET_WORDS]
    }

    /// Asks for the cache line where a lookup of `tag` will begin.
    #[inline]
    pub(crate) fn prefetch(&self, tag: u32) {
        let segment = self.segment(tag);
        prefetch(self.bucket(segment, segment.first_bucket(tag)).as_ptr());
    }

    /// Asks for the second cache line, if a lookup of all values of `tag` goes on there.
    #[inline]
    pub(crate) fn prefetch_second(&self, tag: u32) {
        let segment = self.segment(tag);
        let first = segment.first_bucket(tag);
        let is_full =
            self.bucket(segment, first).last().is_some_and(|word| word.load(Ordering::Relaxed) != 0);
        if is_full {
            prefetch(self.bucket(segment, segment.bucket_after(first)).as_ptr());
        }
    }

    /// A value under `tag` of those that are `wanted`; 0 if there is none. It looks at whole buckets and guesses nothing: a
    /// wrong guess would end what the core does ahead.
    #[inline]
    pub(crate) fn peek(&self, tag: u32, wanted: impl Fn(u32) -> bool) -> u32 {
        let segment = self.segment(tag);
        let mut bucket = segment.first_bucket(tag);
        for _ in 0..segment.buckets() {
            let (mut found, mut last) = (0, 0);
            for word in self.bucket(segment, bucket) {
                last = word.load(Ordering::Acquire);
                let is_it = ((last >> 32) as u32 == tag) & wanted(last as u32);
                found = if is_it { last as u32 } else { found };
            }
            if found != 0 || last == 0 {
                return found;
            }
            bucket = segment.bucket_after(bucket);
        }
        0
    }

    /// The first value under `tag` that `verify` accepts.
    #[inline]
    pub(crate) fn find(&self, tag: u32, mut verify: impl FnMut(u32) -> bool) -> Option<u32> {
        let segment = self.segment(tag);
        let mut bucket = segment.first_bucket(tag);
        for _ in 0..segment.buckets() {
            for word in self.bucket(segment, bucket) {
                let word = word.load(Ordering::Acquire);
                // Words are filled from the front and never emptied: nothing lies behind an empty one.
                if word == 0 {
                    return None;
                }
                if (word >> 32) as u32 == tag && word as u32 != 0 && verify(word as u32) {
                    return Some(word as u32);
                }
            }
            bucket = segment.bucket_after(bucket);
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
            at.store(slot(tag, value), Ordering::Release);
            return Ok(());
        }
        if self.position(tag, value).is_some() {
            return Ok(()); // its removal was put off, and now it has come back
        }
        self.put_new(writer, readers, tag, value)
    }

    /// As [`Table::put`], of a value that cannot be there.
    #[inline]
    pub(crate) fn put_new(
        &self,
        writer: &mut TableWriter,
        readers: &Readers,
        tag: u32,
        value: u32,
    ) -> Result<(), Full> {
        assert!(value != 0, "0 is an empty slot");
        loop {
            let segment = self.segment(tag);
            let account = &mut writer.accounts[segment.unit(0)];
            if account.used < segment.full() {
                self.insert_into(segment, &mut account.used, tag, value);
                return Ok(());
            }
            self.make_room(writer, readers, tag)?;
        }
    }

    /// Puts `value` under `tag` unless a value is there; says whether it did.
    #[inline]
    pub(crate) fn put_only(
        &self,
        writer: &mut TableWriter,
        readers: &Readers,
        tag: u32,
        value: u32,
    ) -> Result<bool, Full> {
        assert!(value != 0, "0 is an empty slot");
        loop {
            let segment = self.segment(tag);
            let account = &mut writer.accounts[segment.unit(0)];
            if account.used < segment.full() {
                let is_new = self.insert_only(segment, tag, value);
                account.used += u32::from(is_new);
                return Ok(is_new);
            }
            self.make_room(writer, readers, tag)?;
        }
    }

    /// Puts a word into a segment that is not full, unless there is one with its tag. As [`Table::peek`] it looks at whole
    /// buckets; removed words stay where they are.
    #[inline]
    fn insert_only(&self, segment: Segment, tag: u32, value: u32) -> bool {
        let mut bucket = segment.first_bucket(tag);
        loop {
            let places = self.bucket(segment, bucket);
            let (mut used, mut is_there) = (0, false);
            for place in places {
                let word = place.load(Ordering::Relaxed);
                used += usize::from(word != 0);
                is_there |= ((word >> 32) as u32 == tag) & (word as u32 != 0);
            }
            if is_there {
                return false;
            }
            if let Some(place) = places.get(used) {
                place.store(slot(tag, value), Ordering::Release);
                return true;
            }
            bucket = segment.bucket_after(bucket);
        }
    }

    /// Takes `value` under `tag` away, if it is there.
    pub(crate) fn remove(&self, tag: u32, value: u32) {
        if let Some(at) = self.position(tag, value) {
            at.store(REMOVED, Ordering::Release);
        }
    }

    /// Hands out every value. Writer only.
    pub(crate) fn each(&self, mut each: impl FnMut(u32)) {
        let depth = self.depth.load(Ordering::Acquire) as u32;
        let mut last = None;
        for at in 0..1usize << depth {
            let segment = Segment(self.directory[(1 << depth) + at].load(Ordering::Acquire));
            // The places of the directory that name a segment follow each other.
            if last.replace(segment) == Some(segment) {
                continue;
            }
            for bucket in 0..segment.buckets() {
                let words = self.bucket(segment, bucket).iter().map(|word| word.load(Ordering::Acquire));
                words.filter(|word| *word as u32 != 0).for_each(|word| each(word as u32));
            }
        }
    }

    /// Appends tags and values of the part of the table that has the tag `from`, from that tag on. Returns the tag that the
    /// next part begins with, if there is one. Parts are a few thousand values long.
    pub(crate) fn part(&self, from: u32, out: &mut Vec<(u32, u32)>) -> Option<u32> {
        let depth = self.depth.load(Ordering::Acquire) as u32;
        let place = |at: usize| self.directory[at].load(Ordering::Acquire);
        let (first, end) = (directory_index(from, depth), 2usize << depth);
        let segment = Segment(place(first));
        for bucket in 0..segment.buckets() {
            let words = self.bucket(segment, bucket).iter().map(|word| word.load(Ordering::Acquire));
            let pairs = words.map(|word| ((word >> 32) as u32, word as u32));
            out.extend(pairs.filter(|(tag, value)| *value != 0 && *tag >= from));
        }
        // When it is split meanwhile it has all that was there before; so the places that name it follow each other.
        let next = (first + 1..end).find(|at| place(*at) != segment.0)?;
        let behind = ((next - (1 << depth)) as u64) << (32 - depth);
        u32::try_from(behind).ok()
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self, writer: &TableWriter) -> usize {
        (writer.accounts.len() - 1) * UNIT_WORDS * 8 + (2 << self.depth.load(Ordering::Relaxed)) * 8
    }

    /// Where it grows, and how far it has.
    pub(crate) fn growing(&self, writer: &TableWriter) -> Prefault<'_> {
        self.words.growing(writer.accounts.len() * UNIT_WORDS)
    }

    fn position(&self, tag: u32, value: u32) -> Option<&AtomicU64> {
        let (segment, wanted) = (self.segment(tag), slot(tag, value));
        let mut bucket = segment.first_bucket(tag);
        for _ in 0..segment.buckets() {
            for place in self.bucket(segment, bucket) {
                let found = place.load(Ordering::Relaxed);
                if found == wanted {
                    return Some(place);
                }
                if found == 0 {
                    return None;
                }
            }
            bucket = segment.bucket_after(bucket);
        }
        None
    }

    /// Puts a word into a segment that is not full.
    fn insert_into(&self, segment: Segment, used: &mut u32, tag: u32, value: u32) {
        let mut bucket = segment.first_bucket(tag);
        loop {
            for place in self.bucket(segment, bucket) {
                let found = place.load(Ordering::Relaxed);
                if found == 0 || found == REMOVED {
                    *used += u32::from(found == 0);
                    place.store(slot(tag, value), Ordering::Release);
                    return;
                }
            }
            bucket = segment.bucket_after(bucket);
        }
    }
}

/// The table's reserved room is used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

#[inline]
fn slot(tag: u32, value: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(value)
}

#[inline]
fn directory_index(tag: u32, depth: u32) -> usize {
    (1usize << depth) + (u64::from(tag) << depth >> 32) as usize
}

#[cfg(all(test, not(pando_loom)))]
mod tests;
