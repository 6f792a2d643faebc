//! A look at the shard at a sequence that a slot protects: at the one it was pinned at, or at a later one.

use super::reader::{LongReadPoint, Pin, Reader};
use super::{ReadPoint, Shard};
use std::sync::Arc;

/// A look at the shard at one commit sequence. Somebody's slot is active meanwhile, so nothing that can be seen is freed.
#[derive(Clone, Copy)]
pub struct Look<'r> {
    shard: &'r Arc<Shard>,
    sequence: u64,
}

impl<'r> Look<'r> {
    /// What there is to see.
    #[inline]
    pub fn read_point(self) -> ReadPoint<'r> {
        ReadPoint { shard: self.shard, sequence: self.sequence }
    }

    pub(super) fn shard(self) -> &'r Arc<Shard> {
        self.shard
    }

    /// A look at the very same state that may outlive this one. `None` when there are too many readers.
    pub fn extend(self) -> Option<LongReadPoint> {
        let reader = Reader::register(self.shard)?;
        // While another slot protects this sequence nothing that it needs is freed, so a second one at the same is safe.
        self.shard.readers.pin_at(reader.slot, self.sequence);
        Some(LongReadPoint { reader, sequence: self.sequence, dead_bytes: self.shard.memory.dead_bytes() })
    }
}

impl Pin<'_> {
    /// The same look, to be handed about.
    #[inline]
    pub fn look(&self) -> Look<'_> {
        Look { shard: &self.reader.shard, sequence: self.sequence }
    }
}

impl Reader {
    /// As [`Reader::register`], but `None` already when less than half of all slots are free: for one who can do without.
    pub fn register_spare(shard: &Arc<Shard>) -> Option<Reader> {
        let slot = shard.readers.register_spare()?;
        Some(Reader { shard: Arc::clone(shard), slot })
    }
}

impl LongReadPoint {
    /// A look at what was published as `sequence`, which is not older than this point. It is protected too: what a later
    /// sequence needs is not freed while an earlier one is looked at.
    ///
    /// # Panics
    /// If it is older, or not published yet.
    pub fn look_at(&self, sequence: u64) -> Look<'_> {
        self.reader.shard.look_between(self.sequence, sequence)
    }
}

impl Shard {
    /// A look at what was published as `sequence`, not before `oldest`, at which a slot is active as long as the look lasts.
    pub(super) fn look_between(self: &Arc<Self>, oldest: u64, sequence: u64) -> Look<'_> {
        assert!((oldest..=self.sequence()).contains(&sequence), "only what was published since");
        Look { shard: self, sequence }
    }
}
