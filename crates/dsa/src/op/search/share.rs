//! What a suspended search takes of what clients may have: one of the searches of its peer, and memory for its filter.

use super::running::{Rest, Running, TooMuch};
use crate::client_memory::{ClientMemory, Kept, UNCOUNTED_BYTES};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::monitor::Counters;
use crate::outcome::TOO_MUCH_KEPT;
use crate::peers::{Asker, Peer, SearchPermit};
use crate::refusals::Limit;
use crate::user_searches::UserPermit;
use model::ResultCode;
use std::sync::Arc;

/// Said of a search that cannot be suspended.
pub(super) const TOO_MANY: &str = "the limit of active searches is reached";

/// The share of one search. It is free again when this is dropped.
pub(super) struct Share {
    _permit: SearchPermit,
    /// If a rule says how many its requester may have.
    _of_user: Option<UserPermit>,
    /// What it keeps, if that is much.
    kept: Option<Kept>,
    memory: Arc<ClientMemory>,
    /// Has its client bound?
    is_bound: bool,
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
        let (memory, is_bound) = (Arc::clone(&dsa.client_memory), asker != Asker::Unbound);
        let mut share = Share { _permit: permit, _of_user: of_user, kept: None, memory, is_bound };
        match share.set(bytes) {
            true => Ok(share),
            false => Err(refused(peer, Limit::ClientMemory, TOO_MUCH_KEPT)),
        }
    }

    /// A search waits for its next slice, with selectors of so many bytes. One that is sorted keeps more than before; if there is no room for
    /// that, it does without its order. So does one that follows changes; it is ended then. The code that it ends with, if it does.
    #[inline]
    pub(super) fn keep(&mut self, running: &mut Running, selectors: usize) -> Option<ResultCode> {
        if let Some(following) = &running.following {
            let bytes = running.bytes() + following.heap_bytes() + selectors;
            return (!self.set(bytes)).then_some(ResultCode::Busy);
        }
        let mut list = running.list.take()?;
        let bytes = running.bytes() + list.bytes() + selectors;
        let rest = if self.set(bytes) { None } else { list.give_up(running, TooMuch::Memory) };
        running.list = Some(list);
        match rest {
            Some(Rest::End(code)) => Some(code),
            _ => None,
        }
    }

    /// The search keeps so many bytes from now on. `false` if there is no room for them.
    fn set(&mut self, bytes: usize) -> bool {
        if bytes < UNCOUNTED_BYTES && self.kept.is_none() {
            return true;
        }
        let kept = self.kept.get_or_insert_with(|| Kept::new(&self.memory));
        // What there was room for stays, whatever others have taken meanwhile.
        if bytes as u64 <= kept.bytes() {
            kept.set(bytes, self.is_bound);
            return true;
        }
        kept.try_set(bytes, self.is_bound)
    }
}

/// A limit was reached, which is counted.
#[cold]
fn refused(peer: &Peer, limit: Limit, text: &'static str) -> &'static str {
    peer.note(limit);
    text
}
