//! What a suspended search takes of what clients may have: one of the searches of its peer, and memory for its filter.

use crate::client_memory::{Kept, UNCOUNTED_BYTES};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::monitor::Counters;
use crate::peers::{Asker, Peer, SearchPermit};
use crate::refusals::Limit;
use crate::user_searches::UserPermit;

/// Said of a search that cannot be suspended.
pub(super) const TOO_MANY: &str = "the limit of active searches is reached";
const TOO_MUCH: &str = "the memory limit of active searches is reached; try again or use a shorter filter";

/// The share of one search. It is free again when this is dropped.
pub(super) struct Share {
    _permit: SearchPermit,
    /// If a rule says how many its requester may have.
    _of_user: Option<UserPermit>,
    /// What it keeps, if that is much.
    _kept: Option<Kept>,
}

/// How many searches a requester may have.
pub(super) struct Allowance<'a> {
    /// 0: any number.
    pub(super) max: u32,
    /// What its session has.
    pub(super) now: usize,
    /// Where refusals are counted.
    pub(super) counters: &'a Counters,
}

impl Allowance<'_> {
    /// Counts a search of a name. Of those that have not bound it is not known who is the same, so each connection counts by itself.
    /// Without a rule nothing is counted, and no lock is taken.
    fn take(&self, dsa: &Dsa, name: &[u8]) -> Result<Option<UserPermit>, &'static str> {
        let permit = match self.max {
            0 => return Ok(None),
            max if name.is_empty() => (self.now < max as usize).then_some(None),
            max => dsa.user_searches.begin(name, max).map(Some),
        };
        permit.ok_or_else(|| {
            self.counters.limited(Limit::Searches);
            TOO_MANY
        })
    }
}

impl Share {
    /// The share of a search that keeps so many bytes, of a requester that may have so many searches; 0: any number.
    ///
    /// # Errors
    /// A text for the client if there is no room.
    pub(super) fn take(
        dsa: &Dsa,
        (identity, peer): (&Identity, &Peer),
        allowance: Allowance<'_>,
        bytes: usize,
    ) -> Result<Share, &'static str> {
        let of_user = allowance.take(dsa, &identity.dn)?;
        let asker = match identity.is_root {
            true => Asker::Root,
            _ if identity.is_somebody() => Asker::User,
            _ => Asker::Unbound,
        };
        let permit = peer.search(asker).ok_or_else(|| refused(peer, Limit::ActiveSearches, TOO_MANY))?;
        let mut kept = None;
        if bytes >= UNCOUNTED_BYTES {
            let kept = kept.insert(Kept::new(&dsa.client_memory));
            if !kept.try_set(bytes, asker != Asker::Unbound) {
                return Err(refused(peer, Limit::ClientMemory, TOO_MUCH));
            }
        }
        Ok(Share { _permit: permit, _of_user: of_user, _kept: kept })
    }
}

/// A limit was reached, which is counted.
#[cold]
fn refused(peer: &Peer, limit: Limit, text: &'static str) -> &'static str {
    peer.note(limit);
    text
}
