//! Updates that another server of the cluster took from its client: what is forwarded to the one that leads, and where what became
//! of them goes.

use crate::audit::Origin;
use crate::settings::Record;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A server that took an update of a client, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front {
    /// Node and incarnation.
    pub node: u64,
    /// Number of the update there.
    pub number: u64,
}

/// What updates are that are forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Each happens or not.
    Updates,
    /// They happen all or not at all.
    Transaction {
        /// Message id of the request that ends it.
        end: i32,
        /// Bytes of memory that it takes when it is applied, besides those of its messages.
        bytes: u64,
    },
    /// They are one change of settings.
    Settings(Box<Replacement>),
    /// They are one change of the schema: a modify of the subschema.
    Schema,
}

/// Settings that take the place of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Those of which they were made: they are proposed only while these hold.
    pub base: Record,
    /// Those that are to hold.
    pub record: Record,
}

/// What a server forwards to the one that leads of updates whose rights it has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded<'a> {
    /// What they are.
    pub what: What,
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
