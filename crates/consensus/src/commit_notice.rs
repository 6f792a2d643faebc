//! When followers are notified how much is committed. Every message with entries says it. Under load the next one leaves soon, so a message that
//! says nothing else waits for it for a moment: it would cost each replica a turn and an answer for each commit.

use raft::{RawNode, StateRole, Storage};

/// Milliseconds after which followers are notified by a message of its own.
const WAIT_MS: u64 = 10;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct CommitNotice {
    /// The term in which this replica leads, and how much was committed when all were last notified.
    notified: (u64, u64),
    /// Since when something is committed of which they were not notified.
    since_ms: Option<u64>,
}

impl CommitNotice {
    /// Entries were proposed, and go to all, at once or some milliseconds later ([`crate::delayed`]): each hears at least that this much is committed.
    pub(crate) fn on_proposed<T: Storage>(&mut self, core: &RawNode<T>) {
        (self.notified, self.since_ms) = ((core.raft.term, core.raft.raft_log.committed), None);
    }

    /// Notifies followers if it is time.
    pub(crate) fn step<T: Storage>(&mut self, core: &mut RawNode<T>, now_ms: u64) {
        let raft = &mut core.raft;
        let now = (raft.term, raft.raft_log.committed);
        if raft.state != StateRole::Leader || self.notified == now {
            self.since_ms = None;
            return;
        }
        if now_ms >= *self.since_ms.get_or_insert(now_ms) + WAIT_MS {
            raft.bcast_append();
            (self.notified, self.since_ms) = (now, None);
        }
    }

    /// When they are to be notified.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        self.since_ms.map(|since| since + WAIT_MS)
    }
}
