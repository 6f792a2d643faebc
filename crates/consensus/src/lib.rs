//! A log that several replicas agree on. Elections, agreement and reads are those of the crate `raft`, unchanged; what is here
//! gives it a log on the disk, a clock and links to the other replicas.
//!
//! [`RaftLog`] is one replica's end, a [`wal::ShardLog`]. It has one owner, starts no thread, opens no socket and reads no
//! clock, so that a simulator takes every step and carries every message. The entries stand in the write-ahead log of the
//! server, with no second log and no second sync ([`record`]).

mod change;
mod commit_notice;
pub mod committed;
mod control;
mod delayed;
mod entries;
pub mod faults;
mod lease;
pub mod links;
mod mark;
pub mod member;
mod membership;
pub mod message;
mod persist;
mod promise;
mod raft_log;
mod reads;
pub mod record;
pub mod recovery;
mod ticks;
mod trace;
mod transfers;
pub mod upkeep;

pub use change::Change;
pub use committed::CommittedEntries;
pub use control::{
    Compared, Condition, Conditions, Control, Extent, Other, Refusal, Request, Standing, View,
};
pub use mark::SnapshotMark;
pub use member::{Base, Members, ReplicaId};
pub use raft::eraftpb::MessageType;
pub use raft_log::{RaftLog, Status};
pub use recovery::{Recovered, Recovery, WholeLog};
pub use transfers::{Fetch, Retention, WantedSnapshot};
