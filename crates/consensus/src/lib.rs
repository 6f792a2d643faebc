//! A log that several replicas agree on. Elections, agreement and reads are those of the crate `raft`, unchanged; what is here
//! gives it a log on the disk, a clock and links to the other replicas.
//!
//! [`RaftLog`] is one replica's end, a [`wal::ShardLog`]. It has one owner, starts no thread, opens no socket and reads no
//! clock, so that a simulator takes every step and carries every message. The entries stand in the write-ahead log of the
//! server, with no second log and no second sync ([`record`]).

mod entries;
pub mod faults;
pub mod links;
mod mark;
pub mod message;
mod persist;
mod raft_log;
mod reads;
pub mod record;
pub mod recovery;
mod ticks;
mod trace;

pub use raft::eraftpb::MessageType;
pub use raft_log::{RaftLog, Status};
pub use recovery::{Recovered, Recovery};

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
