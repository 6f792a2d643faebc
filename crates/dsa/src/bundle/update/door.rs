//! The way past the first stages for updates that need no closer look, which are most: it looks at their outlines only. It may only
//! say yes; whatever it does not admit is decoded, and refused or admitted by the stages themselves.
//!
//! Each question here has its counterpart in a later stage; the test suite runs without this door too (`--cfg pando_main_road`), so an answer
//! that differs is found.

use super::super::group::{Hint, Pending};
use super::super::transaction;
use super::authorize::{is_secret, of_name};
use crate::access::Views;
use crate::admission;
use crate::engine::Dsa;
use crate::op::own_password::may_be_asked;
use crate::op::password_values::{is_password, may_concern, takes_hashes};
use crate::session::Session;
use env::fast;
use model::short;
use proto::Outline;
use proto::op::modify::{Replacements, only_replacement};
use proto::tag;

/// What is the same for the updates of a session that follow each other.
pub(super) struct Door<'d, 'a> {
    dsa: &'d Dsa,
    /// May any update be admitted?
    is_open: bool,
    is_root: bool,
    /// Must the name of the root DN be guarded against this identity?
    guards_root: bool,
    /// May a modify be a change of the identity's own password, which is stored in another form than it is sent?
    has_entry: bool,
    /// May nothing secret come on the connection?
    guards_secrets: bool,
    /// Are the hashes that it adds stored as they come?
    takes_hashes: bool,
    /// Are names outside of the naming contexts another server's?
    refers: bool,
    /// May an update be one that another server makes?
    chains: bool,
    /// The attribute admitted last: in a bundle they are often the same.
    admitted: &'a [u8],
}

impl<'d, 'a> Door<'d, 'a> {
    /// For updates that a session makes as who it bound.
    ///
    /// A client that may not write, for whom no name can be recorded, or whose updates may belong to a transaction, finds it closed: the stages
    /// then say why.
    #[inline]
    pub(super) fn of(session: &Session, dsa: &'d Dsa, views: &Views) -> Door<'d, 'a> {
        let identity = &session.identity;
        let is_root = identity.is_root;
        let is_open = fast::IS_ON
            && session.batch.acting.is_none()
            && views.writes_all(identity.requester().class)
            && of_name(dsa, identity).is_ok()
            // Who may not read a referral object must not be referred, which the log does without asking for rights.
            && (!dsa.shard.has_referrals() || views.reads_changes(identity.requester().class))
            // Where open transactions hold entries, the names of each update must be compared with theirs.
            && transaction::nothing_is_held(dsa)
            && !transaction::implies(session, dsa);
        let guards_root = !is_root && dsa.root_binds_by_entry();
        let guards_secrets = !session.security.admits_password();
        let has_entry = identity.entry.is_some();
        let takes_hashes = takes_hashes(dsa, identity);
        let refers = dsa.default_referral.is_set();
        let chains = dsa.chains();
        Door {
            dsa,
            is_open,
            is_root,
            guards_root,
            has_entry,
            guards_secrets,
            takes_hashes,
            refers,
            chains,
            admitted: &[],
        }
    }

    /// Needs an update no closer look?
    #[inline]
    pub(super) fn admits(&mut self, update: &Pending<'a>) -> bool {
        let Some(outline) = update.outline.as_ref().filter(|_| self.is_open && !self.chains) else {
            return false;
        };
        if !outline.after.is_empty() || update.may_be_about_own() {
            return false;
        }
        // A name that was found below an entry of the directory is in a naming context, which then costs no comparison.
        if self.refers && !matches!(update.hint, Hint::Target(_)) && !self.dsa.shard.may_hold(outline.dn) {
            return false;
        }
        match outline.op_tag {
            tag::MODIFY => self.admits_modify(outline),
            tag::ADD | tag::DELETE => self.admits_other(outline),
            _ => false,
        }
    }

    /// Nearly all modifies replace one attribute by one value. Whether that attribute may be replaced is remembered from the last one.
    #[inline]
    fn admits_modify(&mut self, outline: &Outline<'a>) -> bool {
        let schema = self.dsa.shard.schema();
        if !self.is_root && self.has_entry && may_be_asked(schema, outline.rest) {
            return false;
        }
        if self.guards_root && self.dsa.names_root(outline.dn) {
            return false;
        }
        match only_replacement(outline.rest) {
            Some(only) if short::equal(only.description, self.admitted) => true,
            Some(only) if self.guards_secrets && is_secret(schema, only.description) => false,
            Some(only) if is_password(schema, only.description) => false,
            Some(only) if admission::is_admitted(schema, only.description) => {
                self.admitted = only.description;
                true
            }
            _ => {
                !self.guards_secrets
                    && (self.is_root || replaces_only(outline))
                    && admission::is_plain(schema, outline)
                    && !may_concern(schema, self.takes_hashes, outline)
            }
        }
    }

    fn admits_other(&self, outline: &Outline<'_>) -> bool {
        !(self.guards_secrets && outline.op_tag == tag::ADD)
            && (self.is_root || !self.dsa.names_root(outline.dn))
            && admission::is_plain(self.dsa.shard.schema(), outline)
            && !may_concern(self.dsa.shard.schema(), self.takes_hashes, outline)
    }
}

/// Adding or deleting single values would tell whether a secret value is there; replacing tells nothing.
fn replaces_only(outline: &Outline<'_>) -> bool {
    Replacements::of(outline.rest).is_some_and(|mut changes| changes.all(|change| change.is_some()))
}
