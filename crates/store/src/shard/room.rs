//! Room for what a writer writes: under the memory limit, and in segments.

use super::Writer;
use std::sync::atomic::Ordering;

/// What changes that do not grow an entry may take above the memory limit: this share of it, and so many bytes. A new
/// version is written before the old one is cleaned away.
pub(super) const RESERVE_SHARE: u64 = 8;
const RESERVE_BYTES: u64 = 16 << 20;

impl Writer<'_> {
    /// Is there room for `bytes` more, in segments and under the memory limit?
    pub(crate) fn claim(&mut self, bytes: usize) -> Result<(), crate::Refused> {
        self.claim_within(bytes, self.shard.settings.memory_bytes_max)
    }

    /// Grants a batch of which all or nothing must happen the memory that it takes: there must be room for `bytes` now, above
    /// the limit too, and then nothing in it is refused for the limit's sake.
    ///
    /// # Errors
    /// When there is no such room.
    pub fn grant(&mut self, bytes: usize) -> Result<(), crate::Refused> {
        self.claim_change(bytes, false)?;
        self.is_granted = true;
        Ok(())
    }

    /// As [`Writer::claim`], for a change: one that does not grow an entry has a reserve above the limit.
    pub(crate) fn claim_change(&mut self, bytes: usize, grows: bool) -> Result<(), crate::Refused> {
        let limit = self.shard.settings.memory_bytes_max;
        self.claim_within(bytes, if grows { limit } else { limit + limit / RESERVE_SHARE + RESERVE_BYTES })
    }

    fn claim_within(&mut self, bytes: usize, limit: u64) -> Result<(), crate::Refused> {
        let (shard, bytes) = (self.shard, bytes + self.reserved);
        let full = crate::Refused::MemoryLimit { bytes_max: shard.settings.memory_bytes_max };
        if !self.is_granted && self.bytes_used() + bytes as u64 > limit {
            // Segments that this empties are free when no reader looks at them any more: for a later command, if not
            // for this one.
            self.clean(0);
            if self.bytes_used() + bytes as u64 > limit {
                return Err(full);
            }
        }
        shard.heap.claim(&mut self.state.heap, &shard.readers, bytes).map_err(|_| full)
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
