//! Controls of updates that have no value: that they are there says all. Behaviour 2 did not know them ([`crate::behaviour`]).
//!
//! Permissive modify and relax rules go to the log with their update, since what it comes to depends on the entry at its turn. The other two are
//! settled before the log: an update with no-op is never logged, and a tree delete is logged as the deletes that it comes to.

use crate::behaviour::FIRST_WITH_FLAGS;
use proto::control::{no_op, permissive_modify, relax_rules, tree_delete};
use proto::message::Request;

/// One of these controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Adding what is there and deleting what is not is no error.
    /// Of a modify alone: an add has nothing before it.
    Permissive,
    /// All is checked and nothing changed.
    /// Honoured also if it is not critical: to ignore it would change what its client wants to keep.
    NoOp,
    /// The entry goes with all that is below it.
    /// The command in the log has each entry, so this control is never applied.
    TreeDelete,
    /// Some rules of the schema do not hold.
    /// Which ones, the operation says; who may ask for it was decided before the log.
    Relaxed,
}

/// In the order of [`Flag`].
const OIDS: [&[u8]; 4] = [permissive_modify::OID, no_op::OID, tree_delete::OID, relax_rules::OID];

impl Flag {
    /// The control with this OID, if the operation knows it.
    pub(crate) fn of(request: &Request<'_>, oid: &[u8]) -> Option<Flag> {
        use Request::{Add, Delete, Modify, ModifyDn};
        match (oid, request) {
            (permissive_modify::OID, Modify(_)) => Some(Flag::Permissive),
            (no_op::OID | no_op::OPENLDAP_OID, Add(_) | Delete(_) | Modify(_) | ModifyDn(_)) => {
                Some(Flag::NoOp)
            }
            (tree_delete::OID, Delete(_)) => Some(Flag::TreeDelete),
            (relax_rules::OID, Add(_) | Delete(_) | Modify(_) | ModifyDn(_)) => Some(Flag::Relaxed),
            _ => None,
        }
    }
}

/// Those that an update has: for each whether it is critical.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags([Option<bool>; OIDS.len()]);

impl Flags {
    /// Does this behaviour know them?
    /// Sessions and the applier ask the same. A session may ask while an earlier one is in force than the applier will find: then the update was taken as
    /// one without the control, and is applied as one with it, on all replicas.
    pub(crate) fn are_known(behaviour: u32) -> bool {
        behaviour >= FIRST_WITH_FLAGS
    }

    /// Notes one. Returns what was noted of it before.
    pub(crate) fn put(&mut self, flag: Flag, critical: bool) -> Option<bool> {
        self.0[flag as usize].replace(critical)
    }

    /// Was it asked for, critical or not?
    fn has(self, flag: Flag) -> bool {
        self.0[flag as usize].is_some()
    }

    /// Has one of them a say in what the update comes to when it is applied?
    /// A transaction keeps the controls of such an update with its message.
    pub(crate) fn have_say(self) -> bool {
        self.is_permissive() || self.is_relaxed()
    }

    /// To add a value that is there, or delete one that is not, is no fault.
    pub(crate) fn is_permissive(self) -> bool {
        self.has(Flag::Permissive)
    }

    /// The outcome is answered, and nothing is changed.
    pub(crate) fn is_no_op(self) -> bool {
        self.has(Flag::NoOp)
    }

    /// What is below the entry goes with it.
    pub(crate) fn is_tree_delete(self) -> bool {
        self.has(Flag::TreeDelete)
    }

    /// Some rules of the schema do not hold, for those who may say so.
    pub(crate) fn is_relaxed(self) -> bool {
        self.has(Flag::Relaxed)
    }

    /// Must the update be looked at when all before it are applied?
    /// What these two come to is decided at a read point, which has to have the updates of the same session.
    pub(crate) fn is_settled_before_log(self) -> bool {
        self.is_no_op() || self.is_tree_delete()
    }

    /// OID of one with which an update has no place in a transaction: it has no outcome that the transaction could have.
    pub(crate) fn outside_transactions(self) -> Option<&'static [u8]> {
        [Flag::NoOp, Flag::TreeDelete]
            .into_iter()
            .find(|flag| self.has(*flag))
            .map(|flag| OIDS[flag as usize])
    }

    /// OID of one that an update cannot ignore if it does not know it: a critical one. No-op in any case, for its client wants nothing
    /// to happen.
    /// One that is `known` is none of these.
    pub(crate) fn not_to_be_ignored(self, known: Option<Flag>) -> Option<&'static [u8]> {
        let is_meant = |at: usize| match self.0[at] {
            Some(_) if known.is_some_and(|known| known as usize == at) => false,
            Some(critical) => critical || at == Flag::NoOp as usize,
            None => false,
        };
        (0..OIDS.len()).find(|at| is_meant(*at)).map(|at| OIDS[at])
    }
}
