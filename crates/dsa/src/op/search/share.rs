//! What a suspended search takes of what clients may have: one of the searches of its peer, and memory for its filter.

use crate::client_memory::{Kept, UNCOUNTED_BYTES};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::peers::{Asker, Peer, SearchPermit};

/// Said of a search that cannot be suspended.
pub(super) const TOO_MANY: &str = "the limit of active searches is reached";
const TOO_MUCH: &str = "the memory limit of active searches is reached; try again or use a shorter filter";

/// The share of one search. It is free again when this is dropped.
pub(super) struct Share {
    _permit: SearchPermit,
    /// What it keeps, if that is much.
    _kept: Option<Kept>,
}

impl Share {
    /// The share of a search that keeps so many bytes.
    ///
    /// # Errors
    /// A text for the client if there is no room.
    pub(super) fn take(
        dsa: &Dsa,
        identity: &Identity,
        peer: &Peer,
        bytes: usize,
    ) -> Result<Share, &'static str> {
        let asker = match identity.is_root {
            true => Asker::Root,
            _ if identity.is_somebody() => Asker::User,
            _ => Asker::Unbound,
        };
        let permit = peer.search(asker).ok_or(TOO_MANY)?;
        let mut kept = None;
        if bytes >= UNCOUNTED_BYTES {
            let kept = kept.insert(Kept::new(&dsa.client_memory));
            if !kept.try_set(bytes, asker != Asker::Unbound) {
                return Err(TOO_MUCH);
            }
        }
        Ok(Share { _permit: permit, _kept: kept })
    }
}
