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
//! 42 %. All units have one size, so what one segment leaves fits any other.
//!
//! Why a reader needs no lock:
//!
//! - A word is stored whole, tag and value in one. Whether the value still belongs to its tag the reader verifies anyway.
//! - A bucket is filled from its front, and a word that was in use never becomes empty again: a removed one keeps a mark.
//!   So an empty word ends a probe, and a writer in the middle of its work cannot cut one short.
//! - A segment that was replaced keeps its words until no reader pins a sequence at which it could be found
//!   ([`TableWriter::retire`]). What is put into its successor meanwhile belongs to batches that such a reader does not see.

use crate::readers::Readers;
use crate::sync::{AtomicU64, Ordering, Prefault, Words, prefetch};
use std::collections::VecDeque;
use std::io;

mod grow;
mod keyed;

pub(crate) use keyed::{mix, mix_word, tag};

// Under loom the sizes are the smallest with which segments grow, split and are used again, since each word multiplies the
// interleavings to be explored.
const BUCKET_WORDS: usize = if cfg!(pando_loom) { 2 } else { 8 };
const UNIT_BUCKETS: usize = if cfg!(pando_loom) { 1 } else { 256 };
const UNIT_WORDS: usize = BUCKET_WORDS * UNIT_BUCKETS;
/// Bits of a unit's number in a directory word.
const UNIT_BITS: u32 = 21;
const UNITS_MAX: usize = if cfg!(pando_loom) { 16 } else { 1 << UNIT_BITS };
/// Units of a segment that was just split, and of one that grew since.
const SMALL: usize = 2;
const LARGE: usize = 3;
/// Per cent of a segment's words in use (removed ones count) from which on it is written anew or split. Below 100, so every
/// segment has an empty word, which ends the probe of a tag that is not there.
const FULL_PERCENT: usize = 85;
/// A segment that is written anew is this full at most, so that it is not soon full again.
const REFILL_PERCENT: usize = 70;
/// Bits of the tag that the directory uses at most: it has 2^20 places then. Tags that share more of them than chance allows
/// fill their segment and report [`Full`], where the directory would else double for them without end.
const DEPTH_MAX: u32 = 20;
/// What a removed word is replaced with: no lookup takes it for a value, for that is 0, nor for the end of a probe.
const REMOVED: u64 = 1 << 32;

const _: () = assert!(LARGE as u32 * UNIT_BITS <= 64);
const _: () = assert!(UNITS_MAX <= 1 << UNIT_BITS, "a directory word has room for every unit's number");
const _: () = assert!(REFILL_PERCENT < FULL_PERCENT && FULL_PERCENT < 100);

/// A table. The methods that change it are for the shard's one writer, which holds the [`TableWriter`].
pub(crate) struct Table {
    /// The units, by number. Unit 0 is never used, since 0 in a directory word means that there is no third unit.
    words: Words,
    /// The directories of all depths, one behind the other. When it doubles, the array of the depth before stays as it was: a
    /// reader that has loaded that depth still finds segments with all that it may see.
    directory: Words,
    /// Bits of a tag that choose among the directory's places. It only grows.
    depth: AtomicU64,
}

/// The writer's side of a table.
pub(crate) struct TableWriter {
    /// By number of a segment's first unit: what is known of the segment. One for each unit that was ever used, and one for
    /// unit 0; those of second and third units mean nothing.
    accounts: Vec<Account>,
    /// Units that no segment has and no reader can find. Their words are cleared when they are used again.
    free: Vec<u32>,
    /// Units of segments split or written anew that old readers may still look at, with the sequence from which on no reader
    /// can find them, in ascending order.
    retired: VecDeque<(u64, u32)>,
    /// Units that the reserved words have room for, unit 0 included.
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
        let units = units.inspect(|&unit| assert!(unit != 0 && unit < UNITS_MAX, "a unit has a number"));
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
        // Segments are 57 % full at least while they grow, and some units wait for their readers. All of this is address
        // space: memory is taken as units are used.
        let wanted = (entries_max * 5 / 2 / UNIT_WORDS).next_power_of_two().max(8) + 128;
        let units_max = wanted.min(UNITS_MAX);
        // Evenly filled segments need a directory with a place for each. This has room for five bits more of the tag, so an
        // uneven spread does not run out of places before it runs out of units.
        let directory_words = (2 << DEPTH_MAX).min((units_max * 32).next_power_of_two());
        let directory_words = if cfg!(pando_loom) { 8 } else { directory_words };
        let table = Table {
            words: Words::reserve(units_max * UNIT_WORDS, huge_pages)?,
            directory: Words::reserve(directory_words, false)?,
            depth: AtomicU64::new(0),
        };
        assert!(table.words.len() >= units_max * UNIT_WORDS, "each unit has its words");
        assert!(table.directory.len() >= 4, "the directory has places for depths 0 and 1");
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

    /// The segment of a tag. The depth is loaded first: its array was complete when it was stored.
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

    /// Asks for the second cache line, if a lookup of all values of `tag` goes on there: if the first bucket is full. A guess, so
    /// the relaxed load does no harm.
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

    /// The first value under `tag` that `verify` accepts. It is asked of every value under the tag up to that one, so a caller that
    /// accepts none is shown them all.
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
    ///
    /// A replacement is one store into the same word: a reader finds the old value or the new one, never neither, and no segment
    /// fills up by it.
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

    /// As [`Table::put`], of a value that cannot be there, so that the probe for it is saved. The value must not be under the tag
    /// by a removal that was put off, either: it would be there twice, and one removal would leave it.
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

    /// Puts `value` under `tag` unless a value is there, whichever; says whether it did. Values with other meanings of the same
    /// tag are for the caller to tell apart: it goes on with [`Table::put`].
    #[inline]
    pub(crate) fn put_only(
        &self,
        writer: &mut TableWriter,
        readers: &Readers,
        tag: u32,
        value: u32,
    ) -> Result<bool, Full> {
        assert!(value != 0, "0 is an empty slot");
        // Room is made before it is known whether it is needed: whether the tag is there is found out on the way to the
        // place for it.
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
    /// buckets; removed words stay where they are. Writer only, so the words that are not empty stand at the front of a
    /// bucket, and their number is the place of the first empty one.
    #[inline]
    fn insert_only(&self, segment: Segment, tag: u32, value: u32) -> bool {
        let (mut bucket, mut passed) = (segment.first_bucket(tag), 0);
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
            passed += 1;
            assert!(passed < segment.buckets(), "a segment that is not full has an empty word");
            bucket = segment.bucket_after(bucket);
        }
    }

    /// Takes `value` under `tag` away, if it is there. The caller has made sure that no reader can need it. The word still counts
    /// as used: a put may use it again, or the segment loses it when it is written anew. A table does not shrink.
    pub(crate) fn remove(&self, tag: u32, value: u32) {
        if let Some(at) = self.position(tag, value) {
            at.store(REMOVED, Ordering::Release);
        }
    }

    /// Appends tags and values of the part of the table that has the tag `from`, from that tag on. Returns the tag that the
    /// next part begins with, if there is one. Parts are a few thousand values long.
    ///
    /// For readers: between two parts, and during one, the writer may split what was not reached yet. The tag is what the walk
    /// goes on by, since it means the same in a directory of any depth.
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
        assert!(behind > u64::from(from), "the walk gets on");
        u32::try_from(behind).ok()
    }

    /// Bytes of memory in use: of units that were ever used, free ones included, since their pages are not given back.
    pub(crate) fn bytes(&self, writer: &TableWriter) -> usize {
        (writer.accounts.len() - 1) * UNIT_WORDS * 8 + (2 << self.depth.load(Ordering::Relaxed)) * 8
    }

    /// Where it grows, and how far it has. Units are used in the order of their numbers before any is used again.
    pub(crate) fn growing(&self, writer: &TableWriter) -> Prefault<'_> {
        self.words.growing(writer.accounts.len() * UNIT_WORDS)
    }

    /// Where `value` is stored under `tag`. Writer only: its relaxed loads see its own stores.
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

    /// Puts a word into a segment that is not full, so the probe ends. The word of a removed value is used again: no reader needs
    /// that value, and behind it probing goes on as before.
    fn insert_into(&self, segment: Segment, used: &mut u32, tag: u32, value: u32) {
        let (mut bucket, mut passed) = (segment.first_bucket(tag), 0);
        loop {
            for place in self.bucket(segment, bucket) {
                let found = place.load(Ordering::Relaxed);
                if found == 0 || found == REMOVED {
                    *used += u32::from(found == 0);
                    place.store(slot(tag, value), Ordering::Release);
                    return;
                }
            }
            passed += 1;
            assert!(passed < segment.buckets(), "a segment that is not full has an empty word");
            bucket = segment.bucket_after(bucket);
        }
    }
}

/// The table's reserved room is used up: units, or places of the directory. What was to be put is not there; all else is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

#[inline]
fn slot(tag: u32, value: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(value)
}

/// The place of a tag in the directory's array of a depth, which begins at 2^depth.
#[inline]
fn directory_index(tag: u32, depth: u32) -> usize {
    (1usize << depth) + (u64::from(tag) << depth >> 32) as usize
}

#[cfg(all(test, not(pando_loom)))]
mod tests;
