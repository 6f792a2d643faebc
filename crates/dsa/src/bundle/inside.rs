//! A search or compare that names a transaction (RFC 5805's control, where `txn-search` allows it): it sees the directory as it
//! would be if the transaction were committed now.

use super::{Pending, ReadBatch, Reading, SearchContext, transaction};
use crate::control::{self, ControlError, Requested};
use crate::op::extended::end_transaction;
use crate::op::{compare, search};
use crate::outcome;
use crate::session::Session;
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
        transaction::abort_some(session, self.dsa, self.now.monotonic_ns, out);
        let response = tag::response_to(message.request.tag()).expect("they have answers");
        if requested.proxied().is_some() {
            // As of updates: who acts is said at the begin.
            return control::refuse(message, ControlError::NotHere(proxied_authorization::OID), out);
        }
        let Some(named) = session.transactions.find(identifier) else {
            let (code, text) = end_transaction::unknown(&session.transactions, identifier);
            return outcome::say(out, message.id, response, code, text);
        };
        let dn = match &message.request {
            Request::Search(search) => search.base,
            Request::Compare(compare) => compare.dn,
            _ => unreachable!("no other request that looks names a transaction"),
        };
        let may_search = self.dsa.rules.may_search(session.identity.rights);
        if !may_search || !self.dsa.shard.holds(dn) {
            // The server's own entries are as they are, and who may see nothing sees nothing.
            return self.dispatch(session, None, message, requested, pending, out);
        }
        if let Some(text) = refusal(&self.dsa.shard, message, requested) {
            return outcome::say(out, message.id, response, ResultCode::UnwillingToPerform, text);
        }
        session.pauses = true;
        let view = View::of(named, self.dsa, self.look.read_point(), self.now, dn);
        let view = view.and_then(|view| match refusal(view.shard(), message, requested) {
            Some(text) => Err((ResultCode::UnwillingToPerform, text.to_owned())),
            None => Ok(view),
        });
        let view = match view {
            Ok(view) => view,
            Err((code, text)) => return outcome::say(out, message.id, response, code, &text),
        };
        let read_point = self.look.read_point();
        let mut reading = Reading { dsa: self.dsa, read_point, scratch: self.scratch, now: self.now };
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
                    hint: None,
                    outline: None,
                };
                search::inside::run(&mut reading, &mut context, view, id, search, requested, out);
            }
            Request::Compare(request) => {
                compare::run_inside(&mut reading, identity, view, id, request, requested, out);
            }
            _ => unreachable!("the name was taken from one of them"),
        }
    }
}

/// What there is not inside a transaction, judged by what the shard has, or what the transaction has made.
fn refusal(shard: &Shard, message: &Message<'_>, requested: &Requested<'_>) -> Option<&'static str> {
    if requested.paged.is_some() {
        return Some("a search in a transaction cannot have paged results");
    }
    if shard.has_referrals() && !requested.manage_dsa_it {
        return Some("there are referral objects: a search in a transaction needs the control ManageDsaIT");
    }
    let follows =
        matches!(&message.request, Request::Search(search) if search.deref_aliases != DerefAliases::Never);
    if follows && shard.has_aliases() {
        return Some("a search in a transaction follows no aliases: use neverDerefAliases");
    }
    None
}
