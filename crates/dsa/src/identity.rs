//! Who a session is.
//! It is fixed when the session binds: a rename or a delete of the entry does not change who is bound, only what is found by its id.

use crate::access::Rights;
use model::{Csn, EntryId};
use store::{EntryRef, ReadPoint};

/// The identity that a session bound as, and its rights for the whole session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// DN in canonical spelling; empty for anonymous.
    pub dn: Vec<u8>,
    /// What it may do.
    pub rights: Rights,
    /// The entry that it is; none for anonymous, nor for the root DN by the password of the configuration.
    pub(crate) entry: Option<OwnEntry>,
}

/// One entry, whatever its name is: an id is given again, but not with the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnEntry {
    id: EntryId,
    created: Csn,
}

impl OwnEntry {
    pub(crate) fn of(entry: &EntryRef<'_>) -> OwnEntry {
        OwnEntry { id: entry.id, created: entry.stamps().created }
    }
}

impl Identity {
    /// Nobody in particular.
    pub fn anonymous(rights: Rights) -> Identity {
        Identity { dn: Vec::new(), rights, entry: None }
    }

    /// Its entry, under whatever name it is there now. `None` if it has none, or it is gone: one that was added under its
    /// name since is another.
    pub(crate) fn own_entry<'r>(&self, read_point: ReadPoint<'r>) -> Option<EntryRef<'r>> {
        let own = self.entry?;
        read_point.entry(own.id).filter(|entry| entry.stamps().created == own.created)
    }

    /// Whether somebody bound, be it the root DN.
    #[inline]
    pub fn is_somebody(&self) -> bool {
        !self.dn.is_empty() || self.rights == Rights::Root
    }

    /// Authorization identity as RFC 4513 section 5.2.1.8 writes it: empty or `dn:...`.
    pub fn authorization_id(&self) -> Vec<u8> {
        match self.dn.is_empty() {
            true => Vec::new(),
            false => [b"dn:", &self.dn[..]].concat(),
        }
    }
}
