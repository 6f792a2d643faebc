//! Who a session is.
//! It is fixed when the session binds: a rename or a delete of the entry does not change who is bound, only what is found by its id.
//!
//! The class is remembered with it, and is a number of the thread that has the session. It is true in one epoch of that thread; what
//! uses an identity that may be older than the bundle asks [`crate::access::Views::holds`] first.

use crate::access::{ClassId, Proof, Requester};
use crate::own_entry::OwnEntry;
use ::access::AuthMethod;
use store::{EntryRef, ReadPoint};

/// The identity that a session bound as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// DN in canonical spelling; empty for anonymous.
    pub dn: Vec<u8>,
    /// Is it the root DN, which may do everything?
    pub is_root: bool,
    /// How it proved who it is.
    pub(crate) auth: AuthMethod,
    /// The entry that it is; none for anonymous, nor for the root DN by the password of the configuration.
    pub(crate) entry: Option<OwnEntry>,
    /// Who asked to act as it (RFC 4370), if another one did: DN and entry.
    pub(crate) real: Option<Box<(Vec<u8>, Option<OwnEntry>)>>,
    /// Did it bind with a password that it must change before anything else? Whether it must still, its entry says.
    pub(crate) must_change: bool,
    /// Until when it is that, in milliseconds since 1970: a token that it was proved by has an end.
    pub(crate) until_ms: u64,
    /// Its class, and the epoch of the thread in which it is that ([`crate::access::Views`]).
    pub(crate) class: (ClassId, u64),
}

impl Identity {
    /// Nobody in particular.
    pub fn anonymous() -> Identity {
        Identity::named(Vec::new(), AuthMethod::None)
    }

    /// Somebody with a name and no entry.
    pub(crate) fn named(dn: Vec<u8>, auth: AuthMethod) -> Identity {
        Identity {
            dn,
            is_root: false,
            auth,
            entry: None,
            real: None,
            must_change: false,
            until_ms: u64::MAX,
            class: (ClassId::NONE, 0),
        }
    }

    /// Its entry, if it has one that is still there.
    pub(crate) fn own_entry<'r>(&self, read_point: ReadPoint<'r>) -> Option<EntryRef<'r>> {
        self.entry?.find(read_point)
    }

    /// What it has proved. None of the root DN, which needs no rule.
    /// All that rules can ask of somebody. Nothing of it comes from the request that is decided.
    pub(crate) fn proof(&self) -> Option<Proof<'_>> {
        let real = self.real.as_deref().map_or((&self.dn[..], self.entry), |(dn, entry)| (&dn[..], *entry));
        (!self.is_root).then_some(Proof { dn: &self.dn, own: self.entry, auth: &self.auth, real })
    }

    /// As whom it asks for rights. It has none until it was classified, unless it is the root DN.
    #[inline]
    pub(crate) fn requester(&self) -> Requester {
        match self.is_root {
            true => Requester::ROOT,
            false => {
                let real = self.real.as_deref().map_or(self.entry, |(_, entry)| *entry);
                Requester { class: self.class.0, own: self.entry, real }
            }
        }
    }

    /// Whether somebody bound, be it the root DN.
    #[inline]
    pub fn is_somebody(&self) -> bool {
        !self.dn.is_empty() || self.is_root
    }

    /// Authorization identity as RFC 4513 section 5.2.1.8 writes it: empty or `dn:...`.
    pub fn authorization_id(&self) -> Vec<u8> {
        match self.dn.is_empty() {
            true => Vec::new(),
            false => [b"dn:", &self.dn[..]].concat(),
        }
    }
}
