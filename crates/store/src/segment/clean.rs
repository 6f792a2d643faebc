//! The cleaner: moves what is alive out of segments that are mostly dead, so that they can be written again.
//!
//! It runs with the writer's role, at the end of a batch and where room is lacking, so it never meets another writer.
//! It does meet readers: a copy gets its slot before its segment is retired, and a reader that loaded the slot earlier
//! still finds the old bytes, since a retired segment waits until all such readers are gone. A segment is emptied only
//! if no object in it died after the oldest reader began (`last_death`); else that reader could need an old version
//! of it, to which only a link in the newer version leads, and such a link cannot be moved with it.
//!
//! The copies count as writes in the account of the segment that they go to, so what the cleaner costs shows in
//! `moved` beside `appended`.

use super::{Account, FIRST, Heap, HeapWriter, LONG, Object, SEGMENT, VERSIONED};
use crate::readers::Readers;
use crate::sync::{Ordering, prefetch};

/// Objects whose slots are asked for together when a segment is emptied.
pub(super) const CLEANED_TOGETHER: usize = 32;

impl Heap {
    /// Gives back to use what no reader can see any more. A segment that a checkpoint still has to copy waits in
    /// `held`, however long that takes: it is free once the last checkpoint released it.
    pub(crate) fn reuse(&self, writer: &mut HeapWriter, readers: &Readers) {
        // Before the segments are looked at: what is released later is looked at the next time.
        let release = self.release.load(Ordering::Acquire);
        if writer.release != release {
            writer.release = release;
            let free = &mut writer.free;
            writer.held.retain(|number| {
                let is_held = self.is_held(*number);
                if !is_held {
                    free.push(*number);
                }
                is_held
            });
        }
        if writer.retired.is_empty() {
            return;
        }
        let oldest = readers.oldest();
        // They were retired in the order of their sequences, so the first that must wait ends the search.
        while writer.retired.front().is_some_and(|(sequence, _)| *sequence <= oldest) {
            let Some((_, number)) = writer.retired.pop_front() else { break };
            if self.is_held(number) { &mut writer.held } else { &mut writer.free }.push(number);
        }
    }

    /// Moves live objects out of the emptiest segments until `budget` bytes were moved or little is to be gained; a
    /// segment that is not empty by then is gone on with the next time. Returns the bytes moved.
    pub(crate) fn clean(
        &self,
        writer: &mut HeapWriter,
        readers: &Readers,
        slack_percent: u64,
        budget: usize,
    ) -> usize {
        let is_enough = |w: &HeapWriter| w.dead() * 100 <= w.used * slack_percent + 400 * SEGMENT as u64;
        self.clean_until(writer, readers, is_enough, budget)
    }

    /// As [`Heap::clean`], as long as there is anything to gain.
    pub(crate) fn clean_well(&self, writer: &mut HeapWriter, readers: &Readers, budget: usize) -> usize {
        self.clean_until(writer, readers, |_| false, budget)
    }

    /// Cleans until `is_enough` says so, the budget is spent, or no segment is worth it. A segment that was begun is finished first,
    /// in a later call if need be: half emptied it gains nothing.
    fn clean_until(
        &self,
        writer: &mut HeapWriter,
        readers: &Readers,
        is_enough: impl Fn(&HeapWriter) -> bool,
        budget: usize,
    ) -> usize {
        self.reuse(writer, readers);
        // Looked up once: readers that come later are younger, so what may be moved now may be moved to the end.
        let (mut moved, oldest) = (0, readers.oldest());
        while moved < budget {
            let (victim, from) = match writer.cleaning.take() {
                Some(begun) => begun,
                None if is_enough(writer) => break,
                None => match writer.emptiest(oldest) {
                    Some(victim) => (victim, victim * SEGMENT + FIRST),
                    None => break,
                },
            };
            let (bytes, reached) = self.evacuate(writer, victim, from, oldest, budget - moved);
            assert!(reached >= from, "the cleaner goes forward");
            moved += bytes;
            if reached < victim * SEGMENT + writer.accounts[victim].used as usize {
                writer.cleaning = Some((victim, reached));
            } else {
                // A reader at the published sequence may have loaded a slot before its object was moved. Only readers
                // that begin after the next publication cannot.
                writer.retire(victim, readers.published() + 1);
            }
        }
        writer.moved += moved as u64;
        writer.segment_invariants();
        moved
    }

    /// Moves what is alive from an address on. Returns the bytes moved and where it stopped. It stops between two
    /// objects, and may go beyond the budget by what [`CLEANED_TOGETHER`] objects have.
    fn evacuate(
        &self,
        writer: &mut HeapWriter,
        victim: usize,
        from: usize,
        oldest: u64,
        budget: usize,
    ) -> (usize, usize) {
        let end = victim * SEGMENT + writer.accounts[victim].used as usize;
        let (mut address, mut moved) = (from, 0);
        while address < end && moved < budget {
            // The slots of a handful of objects are asked for before the first is looked at.
            let (first, mut objects) = (address, 0);
            while address < end && objects < CLEANED_TOGETHER {
                let header = self.header(address);
                let id = self.id_at(address, header.flags) as usize;
                prefetch(&self.slots(header.flags)[id]);
                address += header.object_len;
                objects += 1;
            }
            moved += self.move_live(writer, first, address, oldest);
        }
        assert!(address <= end, "objects lie one behind the other, up to what was written");
        (moved, address)
    }

    /// Copies those objects between two addresses that their slots still lead to; the others are dead.
    fn move_live(&self, writer: &mut HeapWriter, mut address: usize, end: usize, oldest: u64) -> usize {
        let mut moved = 0;
        let keeps_links = self.checkpoints.load(Ordering::Acquire) > 0;
        while address < end {
            let header = self.header(address);
            let id = self.id_at(address, header.flags);
            let slot = &self.slots(header.flags)[id as usize];
            if slot.load(Ordering::Relaxed) as usize == address {
                let Object { flags, payload } = self.object(address, &header);
                // A checkpoint finds where the object was by a link from the copy to the original. Otherwise a copy
                // that every reader may see needs neither link nor sequence, which saves eleven bytes.
                let link = if keeps_links {
                    Some((header.sequence, address))
                } else {
                    (header.sequence > oldest).then_some((header.sequence, header.older))
                };
                let copy = self.append(writer, id, flags & !(VERSIONED | LONG), link, payload);
                slot.store(copy as u64, Ordering::Release);
                writer.mark_dead(address, header.object_len as u32, 0);
                moved += header.object_len;
            }
            address += header.object_len;
        }
        moved
    }
}

/// Free segments that are kept, so that writes find pages: one that was given back costs a page fault for each page.
const FREE_KEPT: usize = 16;
/// Segments that are given back at a time: others wait for the writer meanwhile.
const RELEASED_MAX: usize = 32;

impl Heap {
    /// Gives pages of free segments back to the kernel that were not used since the last call, but for some that are kept.
    /// Returns how many segments it were.
    pub(crate) fn release_free(&self, writer: &mut HeapWriter, readers: &Readers) -> usize {
        // Segments are taken from the end of the list, so those before the lowest mark were not used since the last
        // call. A search for a run sorts the list and sets the mark to 0: then nothing is given back this time.
        let idle = std::mem::take(&mut writer.free_low).saturating_sub(FREE_KEPT);
        self.reuse(writer, readers);
        writer.free_low = writer.free.len();
        let mut released = 0;
        for number in &writer.free[..idle.min(writer.free.len())] {
            let account = &mut writer.accounts[*number as usize];
            assert!(account.is_empty(), "a segment whose pages are given back holds nothing");
            if std::mem::replace(&mut account.is_released, true) {
                continue;
            }
            let begin = *number as usize * SEGMENT;
            // SAFETY: the segment is free: no reader reaches into it, nothing leads to it, and there is one writer.
            unsafe { self.region.release(begin..begin + SEGMENT) };
            released += 1;
            if released == RELEASED_MAX {
                break;
            }
        }
        released
    }
}

impl HeapWriter {
    /// Bytes that are written and of no use: what the slack is a share of.
    fn dead(&self) -> u64 {
        self.used - self.live
    }

    /// An emptied segment: free for new objects when no reader is older than `sequence`.
    fn retire(&mut self, victim: usize, sequence: u64) {
        let account = &mut self.accounts[victim];
        assert_eq!(account.live, 0, "everything alive was moved");
        assert_ne!(victim, self.current, "the segment that is filled is not retired");
        assert!(account.run > 0, "a segment is retired once");
        let written = u64::from(account.used) - FIRST as u64;
        assert!(written <= self.used, "what was written was counted");
        self.used -= written;
        let run = std::mem::take(&mut account.run);
        account.used = 0;
        let is_later = self.retired.back().is_none_or(|(last, _)| *last <= sequence);
        assert!(is_later, "segments are retired in the order of sequences");
        self.retired.extend((0..run).map(|number| (sequence, victim as u32 + number)));
    }

    /// The segment that is worth emptying most: with the smallest share of live bytes, and less than seven eighths of
    /// them, since moving nearly all of a segment gains nearly nothing. Looks at every account: at 10 million entries
    /// these are some hundred, and it is done once per segment that is emptied.
    fn emptiest(&self, oldest: u64) -> Option<usize> {
        let candidate = |(number, a): &(usize, &Account)| {
            *number != self.current
                && a.run > 0
                && a.used > 0
                && a.last_death <= oldest
                && u64::from(a.live) * 8 < u64::from(a.used) * 7
        };
        let emptiness = |(_, a): &(usize, &Account)| u64::from(a.live) * 1024 / u64::from(a.used.max(1));
        self.accounts.iter().enumerate().filter(candidate).min_by_key(emptiness).map(|(number, _)| number)
    }
}
