//! Replicas, and the point of a log from which they go on.

use std::fmt;

/// Names a replica for ever: no number is given twice. Not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaId(pub u64);

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which replicas vote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Replicas that vote, in ascending order.
    pub voters: Vec<ReplicaId>,
}

/// A point of a replicated log up to which a snapshot has everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Index of the last entry that the snapshot has.
    pub index: u64,
    /// Term of that entry.
    pub term: u64,
    /// The members at that entry.
    pub members: Members,
}
