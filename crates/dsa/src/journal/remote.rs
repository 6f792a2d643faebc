//! Updates that another server of the cluster took from its client: what is forwarded to the one that leads, and where what became
//! of them goes.

use crate::audit::Origin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A server that took an update of a client, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front {
    /// Node and incarnation.
    pub node: u64,
    /// Number of the update there.
    pub number: u64,
}

/// What a server forwards to the one that leads of updates whose rights it has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded<'a> {
    /// DN of who is recorded for them.
    pub actor: &'a [u8],
    /// Whole LDAPMessages with updates.
    pub messages: &'a [u8],
    /// What must be true when they are applied ([`crate::parcel::Condition`]), encoded.
    pub conditions: &'a [u8],
    /// Where they came from.
    pub origin: Origin,
}

/// What became of updates that were forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They are applied: the answers.
    Applied(Vec<u8>),
    /// They were refused, or nobody knows: the answers. They are not proposed again here.
    Refused(Vec<u8>),
    /// They are not in the log, and will not be.
    NotProposed,
}

/// Where outcomes of updates of other servers are put, in the order in which they become known. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Returns(Arc<Mutex<Vec<(Front, Outcome)>>>);

impl Returns {
    fn lock(&self) -> MutexGuard<'_, Vec<(Front, Outcome)>> {
        // It is pushed to, or taken as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was put here since the last call.
    pub fn take(&self) -> Vec<(Front, Outcome)> {
        std::mem::take(&mut self.lock())
    }
}

/// Of a submission that came from another server.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) front: Front,
    pub(super) returns: Returns,
}

impl Remote {
    pub(super) fn put(self, outcome: Outcome) {
        self.returns.lock().push((self.front, outcome));
    }
}
