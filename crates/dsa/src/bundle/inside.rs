//! A search or compare that names a transaction (RFC 5805's control, where `txn-search` allows it): it sees the directory as it
//! would be if the transaction were committed now.
//!
//! The updates of the transaction are applied to an overlay that is kept for the one search. The cost is that of the transaction, for each
//! search anew: it buys that nothing is shared with the commit, which decides by itself what the updates come to. Both the directory and
//! the overlay are searched; an entry that is in both is taken from the overlay.

use super::{Pending, ReadBatch, Reading, SearchContext, transaction};
use crate::control::{self, ControlError, Requested};
use crate::op::extended::end_transaction;
use crate::op::{compare, search};
use crate::outcome;
use crate::session::Session;
use crate::session::security::Security;
use crate::transaction::View;
use model::{DerefAliases, ResultCode};
use proto::control::proxied_authorization;
use proto::message::{Message, Request};
use proto::tag;
use store::Shard;

impl ReadBatch<'_> {
    /// Runs a search or compare that names a transaction of the session.
    #[cold]
    pub(super) fn run_inside(
        &mut self,
        session: &mut Session,
        identifier: &[u8],
        message: &Message<'_>,
        requested: &Requested<'_>,
        pending: &Pending<'_>,
        out: &mut Vec<u8>,
    ) {
        // One that is too old, or was preempted, is seen by nobody any more, and its notice comes before the answer.
        transaction::abort_some(session, self.dsa, self.now.monotonic_ns, out);
        let response = tag::response_to(message.request.tag()).expect("they have answers");
        if requested.proxied().is_some() {
            // As of updates: who acts is said at the begin.
            return control::refuse(message, ControlError::NotHere(proxied_authorization::OID), out);
        }
        // Only a session's own transactions have names here: identifiers of others are unknown, not forbidden.
        let Some(named) = session.transactions.find(identifier) else {
            let (code, text) = end_transaction::unknown(&session.transactions, identifier);
            return outcome::say(out, message.id, response, code, text);
        };
        let dn = match &message.request {
            Request::Search(search) => search.base,
            Request::Compare(compare) => compare.dn,
            _ => unreachable!("no other request that looks names a transaction"),
        };
        if !self.dsa.shard.holds(dn) {
            // The server's own entries are as they are.
            return self.dispatch(session, None, message, requested, pending, out);
        }
        // Before the view is made, which costs; and once more below, for the updates may add an alias or a referral object.
        if let Some(text) = refusal(&self.dsa.shard, message, requested) {
            return outcome::say(out, message.id, response, ResultCode::UnwillingToPerform, text);
        }
        // Making the view may take as long as the transaction has updates, so others have their turn after it.
        session.pauses = true;
        // Made for this request and dropped after it. To keep it would cost memory for a client that may not search again, and each
        // update of the transaction would have to bring it up to date.
        let view = View::of(named, self.dsa, self.look.read_point(), self.now, dn);
        let view = view.and_then(|view| match refusal(view.shard(), message, requested) {
            Some(text) => Err(outcome::unwilling(text)),
            None => Ok(view),
        });
        let view = match view {
            Ok(view) => view,
            Err((code, text)) => return outcome::say(out, message.id, response, code, &text),
        };
        // The same read point that the view was made of: an entry that is not different is looked at as it is there.
        let read_point = self.look.read_point();
        let mut reading = Reading {
            dsa: self.dsa,
            read_point,
            scratch: self.scratch,
            now: self.now,
            security: Security::INTERNAL,
        };
        // As whom the session is bound, not as whom the updates are applied: a begin with proxied authorization gives no right to
        // read.
        let (id, identity) = (message.id, &session.identity);
        match &message.request {
            Request::Search(search) => {
                let mut context = SearchContext {
                    peer: &session.peer,
                    look: self.look,
                    system_look: self.system_look,
                    identity,
                    searches: &mut session.searches,
                    counters: self.counters,
                    // Hints and cached templates know the directory alone.
                    hint: None,
                    outline: None,
                };
                search::inside::run(&mut reading, &mut context, view, id, search, requested, out);
            }
            Request::Compare(request) => {
                compare::run_inside(&mut reading, identity, view, id, request, requested, out);
                if self.scratch.passwords.lacks() {
                    self.defer(session, pending.frame(), request.dn);
                }
            }
            _ => unreachable!("the name was taken from one of them"),
        }
    }
}

/// What there is not inside a transaction, judged by what the shard has, or what the transaction has made.
/// Each of these needs a walk or a cookie that would have to know both the directory and the overlay. Refusing is safe: a client that is
/// answered gets exactly what a commit now would make.
fn refusal(shard: &Shard, message: &Message<'_>, requested: &Requested<'_>) -> Option<&'static str> {
    if requested.paged.is_some() {
        return Some("a search in a transaction cannot have paged results");
    }
    if requested.follows().is_some() {
        return Some("a search in a transaction does not follow changes");
    }
    if requested.effective_rights().is_some() {
        return Some("a search in a transaction does not show effective rights");
    }
    if requested.asks_usability() {
        return Some("a search in a transaction does not say whether accounts are usable");
    }
    if requested.asks_for_contents() {
        return Some("a search in a transaction neither matches values nor dereferences them");
    }
    if requested.visible().is_some() {
        return Some("a search in a transaction sees subentries by its base alone");
    }
    if requested.is_sorted() {
        return Some("a search in a transaction is not sorted");
    }
    if shard.has_referrals() && !requested.manage_dsa_it {
        return Some("there are referral objects: a search in a transaction needs the control ManageDsaIT");
    }
    // A compare follows no alias (RFC 4511 section 4.10), so only searches are asked.
    let follows =
        matches!(&message.request, Request::Search(search) if search.deref_aliases != DerefAliases::Never);
    if follows && shard.has_aliases() {
        return Some("a search in a transaction follows no aliases: use neverDerefAliases");
    }
    None
}
