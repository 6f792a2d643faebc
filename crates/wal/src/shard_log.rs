//! A shard's log as the ones see it who propose changes and apply them: it may be replicated or not. Design: one replica's
//! end of the log has one owner, starts no thread and reads no clock, so that a simulator can take every step.

use crate::error::{Poisoned, Refused};
use crate::format::Kind;
use crate::lease::Lease;
use crate::log::Log;
use crate::place::Index;
use crate::writer::{SyncDone, Write};
use std::sync::Arc;

/// Where a record stands. What was proposed at a position is committed with this very term, or never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Of the record.
    pub index: Index,
    /// Of the leader that proposed it; 0 in a log that has one replica.
    pub term: u64,
}

/// What a replica is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It proposes.
    Leader {
        /// Since this term began.
        term: u64,
    },
    /// Another replica leads, or none does.
    Follower,
}

/// A record that is committed: every replica has it at this position, now or later, and none has another there.
#[derive(Clone, Copy, Debug)]
pub struct Committed<'a> {
    /// Where.
    pub at: Position,
    /// Its kind.
    pub kind: Kind,
    /// Its payload.
    pub payload: &'a [u8],
}

/// What a snapshot says of the log that goes on after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The log's own business; empty in a log that has one replica.
    pub bytes: Vec<u8>,
    /// The last record of the files that is not needed beside the snapshot. In the log of several replicas records of the files and
    /// those that are handed out have different numbers.
    pub record: Index,
}

/// A barrier that was asked for; later ones are larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Appends the payload of the record that gets a position to a buffer.
pub type Encode<'e> = &'e mut dyn FnMut(Position, &mut Vec<u8>);

/// How reads are to be answered where there are several replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadMode {
    /// The replica that leads answers them for some time without a question.
    pub by_lease: bool,
    /// A replica asks now and then, though nobody waits, to know how old at most is what it has.
    pub knows_age: bool,
}

/// One replica's end of a shard's log.
pub trait ShardLog: Send {
    /// What this replica is now. May change with each step.
    fn role(&self) -> Role;

    /// The number of the replica that leads, as far as this one knows, and its term. None in a log that has one replica.
    fn leader(&self) -> Option<(u64, u64)> {
        None
    }

    /// Appends a record, its payload written by `encode`. It is committed at the
    /// position returned, or never: it is lost for certain once a record of a later term is committed at its index or
    /// before.
    ///
    /// # Errors
    /// See [`Refused`]; nothing was proposed then.
    fn propose(&mut self, kind: Kind, encode: Encode<'_>) -> Result<Position, Refused>;

    /// The first half of a step: takes what came from other replicas, and writes. A sync that is due then is handed out; it
    /// may take any time, and other steps may come before its end is reported.
    ///
    /// # Errors
    /// The files failed: of nothing that is not committed by now is it known what becomes of it.
    fn write(&mut self, now_ms: u64) -> Result<Write, Poisoned>;

    /// The second half: the sync that was handed out has ended.
    ///
    /// # Errors
    /// As [`ShardLog::write`].
    fn sync_done(&mut self, done: SyncDone) -> Result<(), Poisoned>;

    /// Hands out the records that were committed since the last call, in order and without a gap. The first one follows the
    /// last that the recovery handed out. One that is not taken (`false`) comes again with the next call, before those behind it; of a log that
    /// is not replicated all are taken.
    fn committed(&mut self, each: &mut dyn FnMut(Committed<'_>) -> bool);

    /// Asks where the log's end is: [`ShardLog::passed`] tells, maybe some steps later.
    fn barrier(&mut self) -> Ticket;

    /// The last barrier that was passed, and an index: whatever was committed anywhere before that barrier was asked for
    /// stands at it or before.
    fn passed(&self) -> (Ticket, Index);

    /// How reads are to be answered from now on. Nothing changes in a log that has one replica.
    fn set_read_mode(&mut self, _mode: ReadMode) {}

    /// Until when reads need no question here, for all who read. None in a log that has one replica.
    fn lease(&self) -> Option<Arc<Lease>> {
        None
    }

    /// The last time, of the clock that steps are given, of which it is known that all is applied here that was committed anywhere
    /// before it. None before the first answer to a question.
    fn current_ms(&self) -> Option<u64> {
        None
    }

    /// The last record that the disk of this replica has for good.
    fn durable(&self) -> Index;

    /// What a snapshot that holds everything up to `at`, the last record that was handed out as committed, says of the log.
    fn mark(&self, at: Index) -> Mark;

    /// There is a snapshot that holds everything up to `at`, and it is durable.
    fn snapshot_done(&mut self, at: Index);

    /// Makes all that was handed out as committed durable in the files of this replica, whatever the mode. False when that
    /// cannot be now, for want of room or because a sync is in progress: come again.
    ///
    /// # Errors
    /// As [`ShardLog::write`].
    fn flush(&mut self) -> Result<bool, Poisoned>;

    /// Makes everything durable and ends it.
    ///
    /// # Errors
    /// As [`ShardLog::write`].
    fn close(self: Box<Self>) -> Result<(), Poisoned>;

    /// The files of this replica.
    fn files(&self) -> &Arc<Log>;
}
