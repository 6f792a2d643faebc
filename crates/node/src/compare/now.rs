//! What the comparison looks at in a step.

use crate::health;
use consensus::ReplicaId;
use dsa::chain::Chain;
use std::sync::Arc;
use store::Shard;

/// What a step looks at.
pub(crate) struct Now<'a> {
    /// The term, if this replica leads.
    pub(crate) leads: Option<u64>,
    pub(crate) leader: Option<(ReplicaId, u64)>,
    pub(crate) chain: &'a Chain,
    pub(crate) shard: &'a Arc<Shard>,
    pub(crate) now_ms: u64,
    /// The wall clock, and when it was read: of this step, or there is nothing to be said or asked.
    pub(crate) wall: health::Now,
}

impl Now<'_> {
    /// Both clocks.
    pub(crate) fn clocks(&self) -> health::Now {
        self.wall
    }
}
