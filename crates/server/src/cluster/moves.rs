//! Nodes that are reached elsewhere than the log says: they have said so when they started.

use super::facts::Facts;
use consensus::{Members, ReplicaId};
use peers::Address;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Moves {
    moved: Mutex<BTreeMap<ReplicaId, Move>>,
    /// Is there one that links have not heard of?
    is_new: AtomicBool,
}

#[derive(Debug, PartialEq, Eq)]
struct Move {
    to: Vec<Address>,
    /// What the log said then.
    logged: Vec<Address>,
}

impl Moves {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ReplicaId, Move>> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where such members are reached. What the log has said meanwhile is later.
    pub(super) fn of(&self, members: &Members) -> BTreeMap<ReplicaId, Vec<Address>> {
        let mut moved = self.lock();
        moved.retain(|id, one| Facts::of(members, *id).peer == one.logged);
        moved.iter().map(|(id, one)| (*id, one.to.clone())).collect()
    }

    /// Where a member is reached, and what the log says.
    pub(super) fn note(&self, id: ReplicaId, to: Vec<Address>, logged: Vec<Address>) {
        let mut moved = self.lock();
        let is_known = moved.get(&id).map_or(&logged, |one| &one.to) == &to;
        if to.is_empty() || is_known {
            return;
        }
        let at = to.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        tracing::info!(node = id.0, at, "a node is reached at another address");
        moved.insert(id, Move { to, logged });
        self.is_new.store(true, Ordering::Release);
    }

    /// Was one noted since this was asked last?
    pub(super) fn take_new(&self) -> bool {
        self.is_new.swap(false, Ordering::AcqRel)
    }
}
