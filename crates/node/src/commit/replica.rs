//! The half of a committer that applies what is committed: updates that were proposed here with their prepared writes, and
//! then they are answered; all others as they stand in the log.

use super::{Failed, Status};
use dsa::Applier;
use dsa::journal::{Command, OUTCOME_UNKNOWN, Updates};
use env::planted::{self, Fault};
use model::ResultCode;
use std::collections::VecDeque;
use std::sync::Arc;
use store::Shard;
use wal::{Committed, Index, Kind, Position};

/// Milliseconds that updates wait to learn what became of them when this replica leads no more.
const LIMBO_MS: u64 = 10_000;

/// What is said of updates that another replica may still commit.
const LEADER_LOST: &str = "another server took over while this was being written: the outcome is unknown";
/// What is said of updates that are known to be lost.
const LOST: &str = "another server took over before this was written: nothing was changed; try again";

/// A record that was proposed here and is not applied.
struct Proposed {
    at: Position,
    wall_ms: u64,
    /// `None` when they were answered that their outcome is unknown.
    updates: Option<Updates>,
    /// Ids of those, which are free again if it is lost.
    ids: Vec<u32>,
}

/// See the module.
pub(super) struct Replica {
    applier: Applier,
    shard: Arc<Shard>,
    /// In the order of their positions.
    proposed: VecDeque<Proposed>,
    /// Index of the last record that was applied.
    applied: Index,
    /// Payload bytes of the records that were applied since the last checkpoint.
    pub(super) bytes_since_checkpoint: u64,
    /// When this replica was first seen to lead no more, while something that it proposed is open.
    limbo_since_ms: Option<u64>,
    answers: Vec<u8>,
}

impl Replica {
    /// Of a directory that holds everything up to `applied`.
    pub(super) fn new(applier: Applier, shard: Arc<Shard>, applied: Index, log_bytes: u64) -> Replica {
        Replica {
            applier,
            shard,
            proposed: VecDeque::new(),
            applied,
            bytes_since_checkpoint: log_bytes,
            limbo_since_ms: None,
            answers: Vec::new(),
        }
    }

    /// Index of the last record that was applied.
    pub(super) fn applied(&self) -> Index {
        self.applied
    }

    /// Is nothing open that was proposed here?
    pub(super) fn is_settled(&self) -> bool {
        self.proposed.is_empty()
    }

    /// Bytes by which the directory grows at most when what was proposed here is applied.
    pub(super) fn bytes_needed(&self) -> u64 {
        self.proposed.iter().flat_map(|proposed| &proposed.updates).map(Updates::bytes_needed).sum()
    }

    /// These updates stand in the log at a position that is not committed yet.
    pub(super) fn on_proposed(&mut self, at: Position, wall_ms: u64, updates: Updates) {
        assert!(self.proposed.back().is_none_or(|last| last.at < at), "positions go up");
        self.proposed.push_back(Proposed { at, wall_ms, updates: Some(updates), ids: Vec::new() });
    }

    /// Applies a record that is committed, and answers it if it was proposed here.
    ///
    /// # Errors
    /// It cannot be applied: nothing may be applied after it.
    pub(super) fn apply(&mut self, committed: Committed<'_>, status: &Status) -> Result<(), Failed> {
        let Committed { at, kind, payload } = committed;
        if at.index <= self.applied && is_planted() {
            return Ok(());
        }
        assert!(at.index == self.applied.plus(1), "record {} follows record {}", at.index, self.applied);
        self.lose_before(at);
        let own = match self.proposed.front() {
            Some(front) if front.at == at => self.proposed.pop_front(),
            _ => None,
        };
        let (own, ids) = own
            .map_or((None, Vec::new()), |own| (own.updates.map(|updates| (updates, own.wall_ms)), own.ids));
        if !ids.is_empty() {
            // They were kept for this very record, which brings them itself.
            self.return_ids(&ids);
        }
        match own {
            Some((updates, wall_ms)) => self.apply_own(at.index, wall_ms, updates, status)?,
            None => self.apply_other(at.index, kind, payload, status)?,
        }
        self.bytes_since_checkpoint += payload.len() as u64;
        Ok(())
    }

    fn apply_own(
        &mut self,
        index: Index,
        wall_ms: u64,
        mut updates: Updates,
        status: &Status,
    ) -> Result<(), Failed> {
        let mut answers = updates.answers_buffer();
        let applied = self.applier.apply_updates(&mut updates, wall_ms, &mut answers);
        // Without an answer it is told that the outcome is unknown.
        applied.map_err(|error| Failed::Apply(index, error))?;
        self.on_applied(index, status);
        updates.answer(answers);
        Ok(())
    }

    fn apply_other(
        &mut self,
        index: Index,
        kind: Kind,
        payload: &[u8],
        status: &Status,
    ) -> Result<(), Failed> {
        // Notes decide nothing here: see `Committer::note`.
        if kind == Kind::Commands {
            let command = Command::decode(payload).map_err(|reason| Failed::Record(index, reason))?;
            self.answers.clear();
            let applied = self.applier.apply(&command, &mut self.answers);
            applied.map_err(|error| Failed::Apply(index, error))?;
        }
        self.on_applied(index, status);
        Ok(())
    }

    fn on_applied(&mut self, index: Index, status: &Status) {
        self.applied = index;
        status.on_applied(index);
    }

    /// A record of a later term is committed at `at`: what was proposed there or behind it in an earlier term is lost.
    fn lose_before(&mut self, at: Position) {
        let is_lost = |proposed: &Proposed| proposed.at.index >= at.index && proposed.at.term < at.term;
        while self.proposed.front().is_some_and(is_lost)
            && let Some(lost) = self.proposed.pop_front()
        {
            let mut ids = lost.ids;
            if let Some(mut updates) = lost.updates {
                ids.append(updates.ids());
                updates.refuse(ResultCode::Busy, LOST);
            }
            self.return_ids(&ids);
        }
    }

    fn return_ids(&self, ids: &[u32]) {
        self.shard.writer().return_ids(ids);
    }

    /// This replica does not lead: what it proposed and is not committed within some time is answered.
    pub(super) fn on_follower(&mut self, now_ms: u64) {
        if self.proposed.iter().all(|proposed| proposed.updates.is_none()) {
            self.limbo_since_ms = None;
            return;
        }
        let since_ms = *self.limbo_since_ms.get_or_insert(now_ms);
        if now_ms.saturating_sub(since_ms) < LIMBO_MS {
            return;
        }
        for proposed in &mut self.proposed {
            if let Some(mut updates) = proposed.updates.take() {
                proposed.ids.append(updates.ids());
                updates.refuse(ResultCode::Unavailable, LEADER_LOST);
            }
        }
    }

    /// This replica leads.
    pub(super) fn on_leader(&mut self) {
        self.limbo_since_ms = None;
    }

    /// Nothing is applied any more: of what was proposed here nobody knows what becomes.
    pub(super) fn fail(&mut self) {
        for proposed in self.proposed.drain(..) {
            if let Some(updates) = proposed.updates {
                updates.refuse(ResultCode::Unavailable, OUTCOME_UNKNOWN);
            }
        }
    }

    /// For a planted fault: applies and answers what was proposed here up to `last`, committed or not.
    pub(super) fn apply_early(&mut self, last: Index, status: &Status) -> Result<(), Failed> {
        debug_assert!(is_planted());
        while self.proposed.front().is_some_and(|front| front.at.index <= last)
            && let Some(Proposed { at, wall_ms, updates: Some(updates), .. }) = self.proposed.pop_front()
        {
            self.apply_own(at.index, wall_ms, updates, status)?;
        }
        Ok(())
    }
}

/// Is a fault planted by which records are applied before they are committed?
fn is_planted() -> bool {
    planted::is(Fault::PublishedBeforeSync) || planted::is(Fault::AnsweredBeforeCommit)
}
