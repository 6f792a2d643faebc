//! How a table gets room: segments that are written anew or split, the directory that doubles, units that are used again.
//!
//! All of it runs under the writer's role, beside readers. The order is always the same: a fresh segment is filled while no
//! directory word names it, then the directory is pointed to it, word by word, then the old one is retired. A reader that
//! looks in between finds the old segment or the new one, and either has all that was published.

use super::{
    Account, DEPTH_MAX, Full, LARGE, REFILL_PERCENT, SMALL, Segment, Table, TableWriter, UNIT_WORDS,
    directory_index,
};
use crate::readers::Readers;
use crate::sync::Ordering;

/// Units for so many words, if a segment may have so many. `None` asks for a split.
fn units_for(words: usize) -> Option<usize> {
    [SMALL, LARGE].into_iter().find(|units| words * 100 < units * UNIT_WORDS * REFILL_PERCENT)
}

impl Table {
    /// Writes the segment of `tag` anew without its removed words, in more units if they are many; or splits it.
    ///
    /// Before anything is changed the units are made sure of, so `Full` leaves the table as it was. The caller looks for room
    /// again afterwards: if nearly all words fall into one half, that half may be full at once, and is split next.
    pub(super) fn make_room(
        &self,
        writer: &mut TableWriter,
        readers: &Readers,
        tag: u32,
    ) -> Result<(), Full> {
        let segment = self.segment(tag);
        let local = u32::from(writer.accounts[segment.unit(0)].depth);
        let live = self.live(segment);
        assert!(local <= self.depth.load(Ordering::Relaxed) as u32, "the directory tells all segments apart");
        let used = writer.accounts[segment.unit(0)].used as usize;
        assert!(live.len() <= used, "each word of a segment was counted");
        // Removed words alone may fill a segment: it is written anew in as many units or fewer then.
        if let Some(units) = units_for(live.len()) {
            // The old segment's own units are not available yet: readers may be in them.
            writer.make_available(readers, units)?;
            let fresh = self.allocate(writer, local, units);
            self.fill(writer, fresh, &live);
            self.point(tag, local, fresh);
            writer.retire(readers, segment);
            return Ok(());
        }
        if local == DEPTH_MAX {
            return Err(Full);
        }
        // Both halves may need the most: how many words fall into each is known only later.
        writer.make_available(readers, 2 * LARGE)?;
        if local == self.depth.load(Ordering::Relaxed) as u32 {
            self.deepen()?;
        }
        // The first bit of the tag that the segment's words do not share decides.
        let upper = 1 << (31 - local);
        let halves: (Vec<u64>, Vec<u64>) = live.iter().partition(|w| (*w >> 32) as u32 & upper == 0);
        for (half, tag) in [(halves.0, tag & !upper), (halves.1, tag | upper)] {
            let fresh = self.allocate(writer, local + 1, units_for(half.len()).unwrap_or(LARGE));
            self.fill(writer, fresh, &half);
            self.point(tag, local + 1, fresh);
        }
        writer.retire(readers, segment);
        Ok(())
    }

    /// The words of a segment that are neither empty nor removed.
    fn live(&self, segment: Segment) -> Vec<u64> {
        let words = (0..segment.buckets()).flat_map(|bucket| self.bucket(segment, bucket));
        words.map(|w| w.load(Ordering::Relaxed)).filter(|w| *w as u32 != 0).collect()
    }

    /// Puts words into a segment that was just allocated, which no directory word names yet.
    fn fill(&self, writer: &mut TableWriter, segment: Segment, words: &[u64]) {
        assert!(words.len() <= segment.full() as usize, "an empty word is left, which ends a probe");
        let used = &mut writer.accounts[segment.unit(0)].used;
        assert!(*used == 0, "a fresh segment is filled");
        words.iter().for_each(|w| self.insert_into(segment, used, (w >> 32) as u32, *w as u32));
        assert!(*used as usize == words.len(), "each word has taken an empty one");
    }

    /// Points every directory entry that shares the first `depth` bits of `tag` to a segment. They follow each other. Of a split the
    /// lower half is pointed to before the upper one: in between, tags of the upper half still lead to the whole segment.
    fn point(&self, tag: u32, depth: u32, segment: Segment) {
        let whole = self.depth.load(Ordering::Relaxed) as u32;
        let first = directory_index(tag & !(u32::MAX.checked_shr(depth).unwrap_or(0)), whole);
        assert!(depth <= whole, "a segment tells no more bits apart than the directory");
        let places = 1 << (whole - depth);
        assert!(
            first.is_multiple_of(places) && first + places <= 2 << whole,
            "the places are those of one prefix"
        );
        // Release: the segment's words are there for a reader that finds it.
        for at in first..first + places {
            self.directory[at].store(segment.0, Ordering::Release);
        }
        assert!(self.segment(tag) == segment, "the directory leads from the tag to the segment");
    }

    /// Doubles the directory: the array of the next depth is written whole before the depth is stored, and the array of this one
    /// is not written to again. A reader that loaded the depth before is pinned at a sequence that was published then, and
    /// what it finds through the old array is kept for it.
    fn deepen(&self) -> Result<(), Full> {
        let depth = self.depth.load(Ordering::Relaxed);
        assert!(depth < u64::from(DEPTH_MAX), "a segment of the greatest depth is not split");
        if 4 << depth > self.directory.len() {
            return Err(Full);
        }
        // Each place becomes two neighbours, so places that name one segment still follow each other.
        for at in 0..1usize << depth {
            let segment = self.directory[(1 << depth) + at].load(Ordering::Relaxed);
            for side in 0..2 {
                self.directory[(2 << depth) + 2 * at + side].store(segment, Ordering::Relaxed);
            }
        }
        self.depth.store(depth + 1, Ordering::Release);
        Ok(())
    }

    /// An empty segment of so many units, which are known to be available. Its account replaces what an earlier segment left under
    /// the number of its first unit.
    pub(super) fn allocate(&self, writer: &mut TableWriter, depth: u32, units: usize) -> Segment {
        assert!((SMALL..=LARGE).contains(&units), "a directory word names two or three units");
        assert!(depth <= DEPTH_MAX, "no segment tells more bits apart than the directory can");
        let segment = Segment::of((0..units).map(|_| self.allocate_unit(writer)));
        writer.accounts[segment.unit(0)] = Account { depth: depth as u8, used: 0 };
        segment
    }

    /// A unit whose words are all empty. The kernel hands out zeroed pages, so only one that is used again is cleared: with
    /// relaxed stores, since no reader can reach it.
    fn allocate_unit(&self, writer: &mut TableWriter) -> usize {
        let Some(unit) = writer.free.pop() else {
            assert!(writer.accounts.len() < writer.units_max, "room was made available");
            writer.accounts.push(Account::default());
            return writer.accounts.len() - 1;
        };
        let unit = unit as usize;
        assert!(unit != 0 && unit < writer.accounts.len(), "a free unit was used before");
        self.words[unit * UNIT_WORDS..(unit + 1) * UNIT_WORDS]
            .iter()
            .for_each(|w| w.store(0, Ordering::Relaxed));
        unit
    }
}

impl TableWriter {
    /// Makes sure that so many units can be allocated. Looks at the readers only if the free units are too few: that reads a
    /// cache line of each.
    fn make_available(&mut self, readers: &Readers, units: usize) -> Result<(), Full> {
        if self.free.len() < units && !self.retired.is_empty() {
            let oldest = readers.oldest();
            while self.retired.front().is_some_and(|(sequence, _)| *sequence <= oldest) {
                self.free.extend(self.retired.pop_front().map(|(_, unit)| unit));
            }
        }
        assert!(self.accounts.len() <= self.units_max, "no more units are used than are reserved");
        if self.free.len() + self.units_max - self.accounts.len() < units { Err(Full) } else { Ok(()) }
    }

    /// Units of a segment that the directory no longer names wait for the readers that may have found it.
    fn retire(&mut self, readers: &Readers, segment: Segment) {
        // Readers that come after the next publication cannot find it any more.
        let sequence = readers.published() + 1;
        let last = self.retired.back().map_or(0, |(last, _)| *last);
        assert!(last <= sequence, "units are retired in the order in which they become free");
        self.retired.extend((0..segment.units()).map(|at| (sequence, segment.unit(at) as u32)));
        let idle = self.free.len() + self.retired.len();
        assert!(idle + SMALL < self.accounts.len(), "a segment is left, and no unit is idle twice");
    }

    /// Units of segments split or written anew are room again: there are no readers yet. A restore publishes nothing while it
    /// fills a table, so by their sequence they would wait for its end.
    pub(crate) fn no_reader_pins(&mut self) {
        self.free.extend(self.retired.drain(..).map(|(_, unit)| unit));
    }
}
