//! How a table gets room: segments that are written anew or split, the directory that doubles, units that are used again.

use super::{
    Account, DEPTH_MAX, Full, LARGE, REFILL_PERCENT, SMALL, Segment, Table, TableWriter, UNIT_WORDS,
    directory_index,
};
use crate::readers::Readers;
use crate::sync::Ordering;

/// Units for so many words, if a segment may have so many.
fn units_for(words: usize) -> Option<usize> {
    [SMALL, LARGE].into_iter().find(|units| words * 100 < units * UNIT_WORDS * REFILL_PERCENT)
}

impl Table {
    /// Writes the segment of `tag` anew without its removed words, in more units if they are many; or splits it.
    pub(super) fn make_room(
        &self,
        writer: &mut TableWriter,
        readers: &Readers,
        tag: u32,
    ) -> Result<(), Full> {
        let segment = self.segment(tag);
        let local = u32::from(writer.accounts[segment.unit(0)].depth);
        let live = self.live(segment);
        if let Some(units) = units_for(live.len()) {
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
        writer.make_available(readers, 2 * LARGE)?;
        if local == self.depth.load(Ordering::Relaxed) as u32 {
            self.deepen()?;
        }
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

    fn live(&self, segment: Segment) -> Vec<u64> {
        let words = (0..segment.buckets()).flat_map(|bucket| self.bucket(segment, bucket));
        words.map(|w| w.load(Ordering::Relaxed)).filter(|w| *w as u32 != 0).collect()
    }

    fn fill(&self, writer: &mut TableWriter, segment: Segment, words: &[u64]) {
        let used = &mut writer.accounts[segment.unit(0)].used;
        words.iter().for_each(|w| self.insert_into(segment, used, (w >> 32) as u32, *w as u32));
    }

    /// Points every directory entry that shares the first `depth` bits of `tag` to a segment.
    fn point(&self, tag: u32, depth: u32, segment: Segment) {
        let whole = self.depth.load(Ordering::Relaxed) as u32;
        let first = directory_index(tag & !(u32::MAX.checked_shr(depth).unwrap_or(0)), whole);
        for at in first..first + (1 << (whole - depth)) {
            self.directory[at].store(segment.0, Ordering::Release);
        }
    }

    /// Doubles the directory.
    fn deepen(&self) -> Result<(), Full> {
        let depth = self.depth.load(Ordering::Relaxed);
        if 4 << depth > self.directory.len() {
            return Err(Full);
        }
        for at in 0..1usize << depth {
            let segment = self.directory[(1 << depth) + at].load(Ordering::Relaxed);
            for side in 0..2 {
                self.directory[(2 << depth) + 2 * at + side].store(segment, Ordering::Relaxed);
            }
        }
        self.depth.store(depth + 1, Ordering::Release);
        Ok(())
    }

    /// An empty segment of so many units, which are known to be available.
    pub(super) fn allocate(&self, writer: &mut TableWriter, depth: u32, units: usize) -> Segment {
        let segment = Segment::of((0..units).map(|_| self.allocate_unit(writer)));
        writer.accounts[segment.unit(0)] = Account { depth: depth as u8, used: 0 };
        segment
    }

    fn allocate_unit(&self, writer: &mut TableWriter) -> usize {
        let Some(unit) = writer.free.pop() else {
            assert!(writer.accounts.len() < writer.units_max, "room was made available");
            writer.accounts.push(Account::default());
            return writer.accounts.len() - 1;
        };
        let unit = unit as usize;
        self.words[unit * UNIT_WORDS..(unit + 1) * UNIT_WORDS]
            .iter()
            .for_each(|w| w.store(0, Ordering::Relaxed));
        unit
    }
}

impl TableWriter {
    /// Makes sure that so many units can be allocated.
    fn make_available(&mut self, readers: &Readers, units: usize) -> Result<(), Full> {
        if self.free.len() < units && !self.retired.is_empty() {
            let oldest = readers.oldest();
            while self.retired.front().is_some_and(|(sequence, _)| *sequence <= oldest) {
                self.free.extend(self.retired.pop_front().map(|(_, unit)| unit));
            }
        }
        if self.free.len() + self.units_max - self.accounts.len() < units { Err(Full) } else { Ok(()) }
    }

    fn retire(&mut self, readers: &Readers, segment: Segment) {
        // Readers that come after the next publication cannot find it any more.
        let sequence = readers.published() + 1;
        self.retired.extend((0..segment.units()).map(|at| (sequence, segment.unit(at) as u32)));
    }

    /// Units of segments split or written anew are room again: there are no readers yet.
    pub(crate) fn no_reader_pins(&mut self) {
        self.free.extend(self.retired.drain(..).map(|(_, unit)| unit));
    }
}
