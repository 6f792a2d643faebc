//! Room for what a writer writes: under the memory limit, and in segments.

use super::{Shard, Writer};
use crate::refused::Refused;
use crate::segment::SEGMENT;
use std::sync::atomic::Ordering;

/// What changes that do not grow an entry may take above the memory limit: this share of it, and so many bytes. A new
/// version is written before the old one is cleaned away.
const RESERVE_SHARE: u64 = 8;
const RESERVE_BYTES: u64 = 16 << 20;
/// Bytes that are moved at a time while room is made: more than an eighth of them is gained, or nothing is to be.
const ROUND_BYTES: usize = 32 << 20;

/// Bytes of memory beyond which only deletes are taken, if adds are up to `memory_bytes_max`.
pub fn memory_bytes_end(memory_bytes_max: u64) -> u64 {
    memory_bytes_max.saturating_add(memory_bytes_max / RESERVE_SHARE + RESERVE_BYTES)
}

impl Shard {
    /// Why a command is refused for which there is no memory, no address space or no id.
    pub(crate) fn limit_reached(&self) -> Refused {
        Refused::MemoryLimit { bytes_max: self.memory_bytes_max() }
    }
}

impl Writer<'_> {
    /// Is there room for `bytes` more, in segments and under the memory limit?
    pub(crate) fn claim(&mut self, bytes: usize) -> Result<(), Refused> {
        self.claim_within(bytes, self.shard.memory_bytes_max())
    }

    /// Grants a batch of which all or nothing must happen the memory that it takes: there must be room for `bytes` now, above
    /// the limit too, and then nothing in it is refused for the limit's sake.
    ///
    /// # Errors
    /// When there is no such room.
    pub fn grant(&mut self, bytes: usize) -> Result<(), Refused> {
        self.claim_change(bytes, false)?;
        self.is_granted = true;
        Ok(())
    }

    /// As [`Writer::claim`], for a change: one that does not grow an entry has a reserve above the limit.
    pub(crate) fn claim_change(&mut self, bytes: usize, grows: bool) -> Result<(), Refused> {
        let limit = self.shard.memory_bytes_max();
        self.claim_within(bytes, if grows { limit } else { memory_bytes_end(limit) })
    }

    fn claim_within(&mut self, bytes: usize, limit: u64) -> Result<(), Refused> {
        let (shard, bytes) = (self.shard, bytes + self.reserved);
        if !self.is_granted && self.bytes_used() + bytes as u64 > limit {
            // Segments that this empties are free when no reader looks at them any more: for a later command, if not
            // for this one.
            self.clean(0);
            if self.bytes_used() + bytes as u64 > limit {
                shard.note_refused_for_memory();
                return Err(shard.limit_reached());
            }
        }
        shard.heap.claim(&mut self.state.heap, &shard.readers, bytes).map_err(|_| shard.limit_reached())
    }

    /// Could so many updates, of so many bytes in all, come to the memory limit? Then [`Writer::make_way`] is to be called before
    /// each of them.
    pub fn is_tight(&self, updates: usize, bytes: usize) -> bool {
        let each = self.state.heap.bytes_of_longest();
        let all = each.saturating_mul(updates as u64).saturating_add(2 * bytes as u64);
        self.bytes_used().saturating_add(all) > self.shard.memory_bytes_max()
    }

    /// Between two updates that others may see apart: makes room under the memory limit for an update of so many bytes, as far
    /// as cleaning does. What the batch has replaced so far can be cleaned away once it is published, so that is done.
    pub fn make_way(&mut self, bytes: usize) {
        let limit = self.shard.memory_bytes_max();
        // Its entry is written anew before the version that it replaces is cleaned away.
        let needed = 2 * (bytes as u64 + self.state.heap.bytes_of_longest());
        let wanted = self.bytes_used().saturating_add(needed);
        assert!(self.state.way_made_at <= self.state.heap.appended, "room was made before now");
        let since = self.state.heap.appended - self.state.way_made_at;
        // Less would not make a segment free.
        let is_worth_it = since >= SEGMENT as u64 || wanted > memory_bytes_end(limit);
        if wanted > limit && is_worth_it {
            self.clean_down_to(limit.saturating_sub(needed));
        }
    }

    /// Cleans until the directory takes no more than `target` bytes ([`crate::MemoryUse::total`]), or nothing is to be gained;
    /// publishes, and brings the memory report up to date. Says whether it came to that.
    pub fn make_room(mut self, target: u64) -> bool {
        let is_made = self.clean_down_to(target.saturating_sub(self.shard.memory().shapes));
        self.measure();
        is_made
    }

    /// Cleans until no more than `target` bytes are in use. Publishes what the batch has done so far, and goes on with the next.
    fn clean_down_to(&mut self, target: u64) -> bool {
        loop {
            let before = self.bytes_used();
            // What is dead for the batch is so for all once that is published, and what was emptied is free one later.
            self.publish_and_go_on();
            let (heap, readers) = (&self.shard.heap, &self.shard.readers);
            if before > target {
                heap.clean_well(&mut self.state.heap, readers, ROUND_BYTES);
                self.publish_and_go_on();
                heap.reuse(&mut self.state.heap, readers);
            }
            let after = self.bytes_used();
            // Before anything is refused, readers go that hold back the cleaner.
            if after <= target || (after >= before && !self.revoke_for_room()) {
                self.state.way_made_at = self.state.heap.appended;
                return after <= target;
            }
        }
    }

    fn revoke_for_room(&self) -> bool {
        self.note_dead();
        self.shard.revoke_for_room()
    }

    fn publish_and_go_on(&mut self) {
        self.publish_batch();
        self.sequence = self.shard.readers.published() + 1;
    }

    /// Is little room left under the memory limit?
    pub(super) fn is_short(&self) -> bool {
        let limit = self.shard.memory_bytes_max();
        self.bytes_used() > limit - limit / RESERVE_SHARE
    }

    /// Bytes that count under the memory limit.
    pub(super) fn bytes_used(&self) -> u64 {
        let state = &*self.state;
        state.heap.bytes_used()
            + state.heap.bytes_slots()
            + self.shard.dn_table.bytes(&state.dn) as u64
            + self.shard.children.bytes(&state.children) as u64
            + self.shard.memory.indexes.load(Ordering::Relaxed)
    }
}
