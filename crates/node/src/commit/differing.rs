//! What a committer does about replicas that differ: it compares its own with others, and serves nobody if that is wrong.

use super::Committer;
use crate::compare::{self, Compare};
use crate::data::DiffersFile;
use crate::forward::Forward;
use crate::health;
use consensus::{Control, ReplicaId};
use std::collections::VecDeque;
use wal::Role;

/// Milliseconds between two snapshots that are made for another replica.
const NEEDED_APART_MS: u64 = 1_000;

/// What is said where the directory is wrong.
const WRONG: &str =
    "the directory of this server is not what the others have, and is made anew: use another server";

impl Committer {
    /// The same for replica `id` of several, which is compared with the others. If `file` says that its directory is wrong, it serves nobody.
    #[must_use]
    pub(crate) fn comparing(mut self, id: ReplicaId, control: Control, file: DiffersFile) -> Committer {
        self.compare = Some(Compare::new(id, control, file));
        if self.is_wrong() {
            self.refuse_all();
        }
        self
    }

    /// Is the directory known to be another than a majority of the replicas has? Then this one serves nobody, and goes on with what it has
    /// promised of its log.
    pub fn is_wrong(&self) -> bool {
        self.compare.as_ref().is_some_and(Compare::is_wrong)
    }

    /// Must no snapshot be made of it?
    pub(super) fn withholds(&self) -> bool {
        self.compare.as_ref().is_some_and(Compare::withholds)
    }

    /// Is the copy of the settings older than what is in force, and cannot be written? A replica that starts goes by the copy, and by what the log has
    /// behind the snapshot.
    pub(super) fn has_old_copy(&mut self) -> bool {
        self.compare.is_some() && !self.replica.copy_settings()
    }

    /// Leaves service: the directory is wrong.
    pub(super) fn leave(&mut self) {
        let applied = self.applied().0;
        self.compare.iter_mut().for_each(|compare| compare.leave(applied));
        self.refuse_all();
    }

    /// Everything in progress has an unknown outcome, everything else is refused.
    pub(super) fn refuse_all(&mut self) {
        self.queue.end_lease();
        self.replica.fail();
        self.proposer.refuse_rest(WRONG);
        self.end_waiting(WRONG);
    }

    /// Hears what others say, and takes nothing.
    pub(super) fn listen(&mut self) {
        let Committer { log, forward, dsa, now_ms, .. } = self;
        let leader = log.leader().map(|(id, term)| (ReplicaId(id), term));
        if let Some(forward) = forward {
            // What is for the leader goes back: this replica is to lead no more.
            forward.receive(None, leader, &mut VecDeque::new(), dsa.account_times(), *now_ms);
        }
        self.proposer.refuse_rest(WRONG);
        self.readers.end(&mut self.proposer.asked);
    }

    /// Reads both clocks, if something is to be said or asked of them in this step: the wall clock is read for nothing else.
    pub(super) fn read_clocks(&mut self, wall_ms: &impl Fn() -> u64) {
        let Some(compare) = &self.compare else { return };
        let leads = matches!(self.log.role(), Role::Leader { .. });
        let has_heard = self.forward.as_ref().is_some_and(Forward::has_compared);
        if has_heard || (leads && compare.is_due(self.now_ms)) {
            self.clocks = health::Now { monotonic_ms: self.now_ms, wall_ms: wall_ms() };
        }
    }

    /// Compares this replica with others. True if its directory is found to be wrong now.
    pub(super) fn compare(&mut self) -> bool {
        let Committer { log, replica, forward, compare, now_ms, clocks, .. } = self;
        let (Some(forward), Some(compare)) = (forward, compare) else { return false };
        let leads = match log.role() {
            Role::Leader { term } => Some(term),
            Role::Follower => None,
        };
        let leader = log.leader().map(|(id, term)| (ReplicaId(id), term));
        let (heard, chain) = (forward.take_compared(), replica.outcomes());
        let now =
            compare::Now { leads, leader, chain, shard: replica.shard(), now_ms: *now_ms, clocks: *clocks };
        compare.step(heard, &now, &mut |to, message| forward.compare(to, message))
    }

    /// Does another replica, whose directory is wrong, need a later snapshot of this one?
    pub fn is_snapshot_needed(&self) -> bool {
        let needed = self.compare.as_ref().map_or(0, Compare::needed);
        let is_early = self.checkpoint_ms.is_some_and(|last| self.now_ms < last + NEEDED_APART_MS);
        needed > self.queue.status().snapshot().0 && !is_early && !self.withholds()
    }
}
