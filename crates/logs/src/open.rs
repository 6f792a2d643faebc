//! What is known of a connection while its records come.

use std::collections::BTreeMap;

/// Requests of a connection that may wait for their answers in the log. Of more than that only the number is logged.
const PENDING_MAX: usize = 1 << 16;

/// A request whose answer has not come.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Number of the operation within the connection, from 1 on.
    pub(crate) number: u64,
    pub(crate) wall_ms: u64,
    pub(crate) began_ns: u64,
    pub(crate) op: u8,
    pub(crate) target: Vec<u8>,
    pub(crate) detail: Vec<u8>,
    pub(crate) controls: Vec<u8>,
    pub(crate) acting: Vec<u8>,
    /// Who a bind makes the session, if it succeeds.
    pub(crate) becomes: Option<Vec<u8>>,
}

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Open {
    pub(crate) peer: String,
    pub(crate) listener: String,
    pub(crate) strength: u16,
    /// Who its session is; empty for anonymous.
    pub(crate) dn: String,
    /// By which mechanism, if by SASL.
    pub(crate) mechanism: String,
    /// Operations so far.
    pub(crate) operations: u64,
    /// How many of each operation have no line of their own.
    pub(crate) counted: BTreeMap<&'static str, u64>,
    pending: BTreeMap<i32, Pending>,
    /// Identities that came before their request: a bind is applied before it is logged of.
    early: BTreeMap<i32, Vec<u8>>,
}

impl Open {
    /// One that begins.
    pub(crate) fn new(peer: String, listener: String) -> Open {
        Open { peer, listener, ..Open::default() }
    }

    /// A request came; `true` if it is kept until it is answered.
    pub(crate) fn keep(&mut self, id: i32, mut pending: Pending) -> bool {
        pending.becomes = self.early.remove(&id);
        if self.pending.len() >= PENDING_MAX {
            return false;
        }
        self.pending.insert(id, pending);
        true
    }

    /// A bind has made the session somebody.
    pub(crate) fn bound(&mut self, id: i32, dn: &[u8]) {
        match self.pending.get_mut(&id) {
            Some(pending) => pending.becomes = Some(dn.to_vec()),
            // One at a time waits for its request.
            None => self.early = BTreeMap::from([(id, dn.to_vec())]),
        }
    }

    /// The request with this messageID, which is answered or given up.
    pub(crate) fn take(&mut self, id: i32) -> Option<Pending> {
        self.pending.remove(&id)
    }

    /// Any request that was not answered.
    pub(crate) fn take_any(&mut self) -> Option<Pending> {
        self.pending.pop_first().map(|(_, pending)| pending)
    }
}
