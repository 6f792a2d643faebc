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
    /// Both clocks when they were last needed: of this step, or there is nothing to be said or asked.
    pub(crate) clocks: health::Now,
}
