//! Readers of a shard, and what they see for a moment or for longer. A thread registers a reader once, under a lock, and
//! pins it for each group of requests, without one; what outlives a bundle takes a slot of its own.

use super::{ReadPoint, Shard};
use std::sync::Arc;

/// A registered reader. It pins nothing at first.
pub struct Reader {
    pub(super) shard: Arc<Shard>,
    pub(super) slot: u16,
}

impl Reader {
    /// Registers a reader; `None` when there are too many ([`crate::READERS_MAX`]).
    pub fn register(shard: &Arc<Shard>) -> Option<Reader> {
        let slot = shard.readers.register()?;
        Some(Reader { shard: Arc::clone(shard), slot })
    }

    /// The shard it reads.
    pub fn shard(&self) -> &Arc<Shard> {
        &self.shard
    }

    /// Looks at what is published now, for as long as need be.
    pub fn stay(self) -> LongReadPoint {
        let sequence = self.shard.readers.pin(self.slot);
        LongReadPoint { sequence, dead_bytes: self.shard.memory.dead_bytes(), reader: self }
    }

    /// Looks at what is published now. The reader pins nothing when the pin is dropped.
    #[inline]
    pub fn pin(&mut self) -> Pin<'_> {
        let sequence = self.shard.readers.pin(self.slot);
        Pin { reader: self, sequence }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shard.readers.unregister(self.slot);
    }
}

/// A short look at the shard.
pub struct Pin<'r> {
    pub(super) reader: &'r mut Reader,
    pub(super) sequence: u64,
}

impl Pin<'_> {
    /// What there is to see.
    #[inline]
    pub fn read_point(&self) -> ReadPoint<'_> {
        ReadPoint { shard: &self.reader.shard, sequence: self.sequence }
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.reader.shard.readers.rest(self.reader.slot);
    }
}

/// A look at the shard that may last; it holds back the cleaner, so its age must be bounded by the caller.
pub struct LongReadPoint {
    pub(super) reader: Reader,
    pub(super) sequence: u64,
    /// What [`crate::memory_use::MemoryGauges::dead_bytes`] was when it began.
    pub(super) dead_bytes: u64,
}

impl LongReadPoint {
    /// What there is to see.
    pub fn read_point(&self) -> ReadPoint<'_> {
        ReadPoint { shard: &self.reader.shard, sequence: self.sequence }
    }
}
