//! What the comparison looks at in a step.

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
}
