//! As whom an update is applied.
//!
//! Who changes and who reads are two: the name is recorded with the entry and is part of the command, the reader is of the answer only.
//! A replay has the first and lacks the second, and must come to the same entries.

use crate::access::Requester;
use crate::identity::Identity;

/// Whose update is applied: somebody whose access was decided before. Applying decides nothing about access, so a command of the log
/// has the same outcome whatever the rules are by then. Values are made in this module only, by a function for each reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effective<'a> {
    /// DN that the changed entries record; empty for anonymous.
    dn: &'a [u8],
    /// As whom entries are read that come back with the answer. A replay answers nobody, and reads nothing.
    reader: Requester,
}

impl<'a> Effective<'a> {
    /// An identity whose update the stages before have authorized.
    pub(crate) fn authorized(identity: &'a Identity) -> Effective<'a> {
        Effective { dn: &identity.dn, reader: identity.requester() }
    }

    /// An identity whose [`crate::extension::Change`] an operation worked out, which it does only of one that may make it.
    pub(crate) fn of_change(identity: &'a Identity) -> Effective<'a> {
        Effective { dn: &identity.dn, reader: identity.requester() }
    }

    /// The identity of a transaction: each of its updates was authorized when it was accepted.
    pub(crate) fn of_transaction(identity: &'a Identity) -> Effective<'a> {
        Effective { dn: &identity.dn, reader: identity.requester() }
    }

    /// The actor of a command of the log: its updates were authorized before they were logged.
    pub(crate) fn of_log(actor: &'a [u8], reader: Requester) -> Effective<'a> {
        Effective { dn: actor, reader }
    }

    /// As whom entries are read that come back with the answer.
    pub(crate) fn reader(&self) -> Requester {
        self.reader
    }

    /// DN that the changed entries record; empty for anonymous.
    #[inline]
    pub(crate) fn dn(&self) -> &'a [u8] {
        self.dn
    }
}
