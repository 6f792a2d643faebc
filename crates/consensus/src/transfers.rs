//! Followers that a leader cannot bring up to date with the entries in its memory: they fetch a snapshot, and the entries after it are
//! kept until they have caught up.

use crate::member::ReplicaId;
use raft::{Progress, ProgressState, ProgressTracker};
use std::collections::BTreeMap;
use wal::Position;

/// After so long without a sign of it a fetch counts as given up, and the follower hears of the snapshot again.
const SILENT_MS: u64 = 5_000;
/// A replica is there that was heard of within this time.
const SEEN_MS: u64 = 5_000;
/// A replica runs that was heard of within this time.
const HEARD_MS: u64 = 1_500;
/// For so long the entries are kept for a follower that has fetched a snapshot and starts with it: it reads all of that before it is heard of.
const STARTS_WITHIN_MS: u64 = 600_000;

/// A follower that lacks no more entries than this has caught up.
const ON_THEIR_WAY: u64 = 256;

/// Which entries that a snapshot has stay in memory for followers that are behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Bytes of them that stay in any case.
    pub bytes: u64,
    /// Bytes of all entries in memory at most, while a follower that fetched a snapshot, or still does, has not caught up. A leader that
    /// has as many, and hears of the follower, proposes less meanwhile, so that the follower can.
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
    followers: BTreeMap<u64, Follower>,
    /// When a message of each other replica last came. What the core knows of that begins anew with each election timeout.
    seen_ms: BTreeMap<u64, u64>,
    term: u64,
}

/// A follower that fetches a snapshot, or has not caught up after it.
#[derive(Debug)]
struct Follower {
    /// When it last reported that something came.
    heard_ms: u64,
    /// The last entry that the snapshot has.
    snapshot: u64,
}

impl Transfers {
    /// Looks at all followers of the leader of `term`; returns those that must hear of the snapshot again. `last` is the last entry.
    pub(crate) fn look(&mut self, term: u64, now_ms: u64, prs: &ProgressTracker, last: u64) -> Vec<u64> {
        if self.term != term {
            (self.followers, self.term) = (BTreeMap::new(), term);
        }
        self.seen_ms.retain(|id, _| prs.get(*id).is_some());
        for (id, progress) in prs.iter().filter(|(_, progress)| progress.state == ProgressState::Snapshot) {
            let new = Follower { heard_ms: now_ms, snapshot: progress.pending_snapshot };
            let follower = self.followers.entry(*id).or_insert(new);
            follower.snapshot = follower.snapshot.max(progress.pending_snapshot);
        }
        let (mut silent, seen_ms) = (Vec::new(), &self.seen_ms);
        self.followers.retain(|id, follower| {
            let Some(progress) = prs.get(*id) else { return false };
            if progress.state == ProgressState::Snapshot {
                if now_ms >= follower.heard_ms + SILENT_MS {
                    silent.push(*id);
                    follower.heard_ms = now_ms;
                }
                return true;
            }
            let seen_ms = seen_ms.get(id).copied().unwrap_or_default().max(follower.heard_ms);
            // Under load it always lacks what is on its way.
            progress.matched + ON_THEIR_WAY < last && now_ms < seen_ms + STARTS_WITHIN_MS
        });
        silent
    }

    /// A message of another replica came.
    pub(crate) fn on_message(&mut self, id: u64, now_ms: u64) {
        self.seen_ms.insert(id, now_ms);
    }

    /// A follower reports that something of the snapshot came.
    pub(crate) fn on_heard(&mut self, id: u64, now_ms: u64) {
        if let Some(follower) = self.followers.get_mut(&id) {
            follower.heard_ms = now_ms;
        }
    }

    /// Does the leader propose less until a follower has caught up that fetches a snapshot, or has fetched one?
    pub(crate) fn is_waited_for(&self, now_ms: u64) -> bool {
        self.followers.keys().any(|id| self.is_seen(*id, now_ms))
    }

    /// Was a replica heard of lately? Heartbeats are answered ten times in a second.
    pub(crate) fn is_heard(&self, id: u64, now_ms: u64) -> bool {
        self.seen_ms.get(&id).is_some_and(|seen_ms| now_ms < seen_ms + HEARD_MS)
    }

    fn is_seen(&self, id: u64, now_ms: u64) -> bool {
        self.seen_ms.get(&id).is_some_and(|seen_ms| now_ms < seen_ms + SEEN_MS)
    }

    /// The last entry that no follower needs.
    pub(crate) fn needed_by_none(&self, own: u64, now_ms: u64, prs: &ProgressTracker) -> u64 {
        let has = |(id, progress): (&u64, &Progress)| match self.followers.get(id) {
            Some(follower) => Some(follower.snapshot.max(progress.matched)),
            None => (progress.recent_active || self.is_seen(*id, now_ms)).then_some(progress.matched),
        };
        prs.iter().filter(|(id, _)| **id != own).filter_map(has).min().unwrap_or(u64::MAX)
    }
}
