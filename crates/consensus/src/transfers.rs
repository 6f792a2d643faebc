//! Followers that a leader cannot bring up to date with the entries in its memory: they fetch a snapshot, and the entries after it are
//! kept until they have caught up.

use crate::member::ReplicaId;
use raft::{Progress, ProgressState, ProgressTracker};
use std::collections::BTreeMap;
use wal::Position;

/// After so long without a sign of it a fetch counts as given up, and the follower hears of the snapshot again.
const SILENT_MS: u64 = 5_000;

/// Which entries that a snapshot has stay in memory for followers that are behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Bytes of them that stay in any case.
    pub bytes: u64,
    /// Bytes of all entries in memory at most, while a follower that fetched a snapshot, or still does, has not caught up. A leader that
    /// has as many proposes less meanwhile, so that the follower can.
    pub bytes_for_followers: u64,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { bytes: 64 << 20, bytes_for_followers: 1 << 30 }
    }
}

/// A snapshot that another replica has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedSnapshot {
    /// The replica.
    pub from: ReplicaId,
    /// It holds everything up to here.
    pub at: Position,
}

/// How the fetch of a snapshot fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// Something came.
    Goes,
    /// It was given up.
    Failed,
}

/// What a leader knows of its followers that fetch a snapshot, or have fetched one.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    /// When such a follower last said that something came.
    heard_ms: BTreeMap<u64, u64>,
    term: u64,
}

impl Transfers {
    /// Looks at all followers of the leader of `term`; returns those that must hear of the snapshot again. `last` is the last entry.
    pub(crate) fn look(&mut self, term: u64, now_ms: u64, prs: &ProgressTracker, last: u64) -> Vec<u64> {
        if self.term != term {
            (self.heard_ms, self.term) = (BTreeMap::new(), term);
        }
        for (id, _) in prs.iter().filter(|(_, progress)| progress.state == ProgressState::Snapshot) {
            self.heard_ms.entry(*id).or_insert(now_ms);
        }
        let mut silent = Vec::new();
        self.heard_ms.retain(|id, heard_ms| {
            let Some(progress) = prs.get(*id) else { return false };
            if progress.state != ProgressState::Snapshot {
                return progress.recent_active && progress.matched < last;
            }
            let is_silent = now_ms >= *heard_ms + SILENT_MS;
            silent.extend(is_silent.then_some(*id));
            !is_silent
        });
        silent
    }

    /// A follower says that something of the snapshot came.
    pub(crate) fn on_heard(&mut self, id: u64, now_ms: u64) {
        if let Some(heard_ms) = self.heard_ms.get_mut(&id) {
            *heard_ms = now_ms;
        }
    }

    /// Does a follower fetch a snapshot, or has it not caught up after it?
    pub(crate) fn is_active(&self) -> bool {
        !self.heard_ms.is_empty()
    }

    /// The last entry that no follower needs which is heard of.
    pub(crate) fn needed_by_none(&self, own: u64, prs: &ProgressTracker) -> u64 {
        let has = |(id, progress): (&u64, &Progress)| match progress.state {
            ProgressState::Snapshot => {
                self.heard_ms.contains_key(id).then_some(progress.pending_snapshot.max(progress.matched))
            }
            _ => progress.recent_active.then_some(progress.matched),
        };
        prs.iter().filter(|(id, _)| **id != own).filter_map(has).min().unwrap_or(u64::MAX)
    }
}
