//! Binds, among the requests that look: what a session loses by one, how many an address may fail, and binds and compares that wait for
//! a password to be verified.

use super::group::{self, Group};
use super::{ReadBatch, deferred, execute, noted, update};
use crate::change_log::awaited::Awaited;
use crate::context::Reading;
use crate::control::Requested;
use crate::faults;
use crate::identity::Identity;
use crate::op;
use crate::op::bind::Exchange;
use crate::outcome;
use crate::password::policies::Purpose;
use crate::session::Session;
use crate::worker::Parts;
use env::planted;
use model::ResultCode;
use proto::op::bind::{Authentication, Bind};
use proto::tag;

impl ReadBatch<'_> {
    /// A bind that fails leaves the session anonymous and nothing in progress (RFC 4511 section 4.2.1), also one that
    /// does not come as far as its operation.
    #[cold]
    pub(super) fn forget_bind(&mut self, session: &mut Session, op_tag: Option<u8>) {
        if op_tag == Some(tag::BIND) {
            session.searches.clear();
            session.transactions.clear();
            session.exchange = None;
            session.identity = Identity::anonymous();
            self.classify(session);
        }
    }

    /// Runs a bind, whose whole message is `frame`.
    #[cold]
    pub(super) fn bind(
        &mut self,
        session: &mut Session,
        id: i32,
        (bind, requested): (&Bind<'_>, &Requested<'_>),
        frame: &[u8],
        out: &mut Vec<u8>,
    ) {
        // Requests behind it run as the new identity, though their hints were made with the rights of the old one. So a cached form
        // is asked for its rights again when it is used (`Recent::form`).
        // RFC 4511 section 4.2.1: what is in progress is abandoned.
        session.searches.clear();
        // RFC 5805 section 2.5: so are its transactions, silently.
        session.transactions.clear();
        let is_again = self.scratch.passwords.is_again();
        let tries = !matches!(bind.authentication, Authentication::Simple(b""));
        // It was admitted when it ran first.
        if tries && !is_again && !session.peer.admits_bind(self.now.monotonic_ns) {
            self.forget_bind(session, Some(tag::BIND));
            let (code, text) = deferred::TOO_MANY_FAILED;
            noted::bind(self.dsa, session, (id, bind.name), code);
            return outcome::say(out, id, tag::BIND_RESPONSE, code, text);
        }
        let read_point = self.look.read_point();
        let security = session.security;
        let mut reading =
            Reading { dsa: self.dsa, read_point, scratch: self.scratch, now: self.now, security };
        let is_end_of_failed = session.exchange.as_ref().is_some_and(|former| former.is_ended_by(bind));
        let (identity, exchange) = (&mut session.identity, &mut session.exchange);
        let certificate = session.certificate.as_deref();
        let bindings = session.bindings.as_deref();
        let known = op::bind::Known { address: session.peer.client(), certificate, bindings };
        let binding = op::bind::Binding { identity, exchange, known, asks_policy: requested.asks_policy() };
        let before = out.len();
        match op::bind::run(&mut reading, binding, id, bind, out) {
            // It has failed, and was counted, a step before.
            Some(ResultCode::InvalidCredentials) if is_end_of_failed => {}
            Some(code) => {
                let has_failed = session.exchange.as_ref().is_some_and(Exchange::has_failed);
                let code = if has_failed { ResultCode::InvalidCredentials } else { code };
                if code == ResultCode::InvalidCredentials {
                    deferred::note_failed_bind(session, self.dsa, bind.name, self.now);
                }
                noted::bind(self.dsa, session, (id, bind.name), code);
            }
            None => self.defer(session, frame, bind.name),
        }
        if let Some(write) = self.scratch.passwords.verdict.write.take() {
            if matches!(write.purpose, Purpose::Lock(_)) {
                if planted::is(faults::LOCK_NOT_WRITTEN) {
                    return;
                }
                noted::locked(self.dsa, session, &write.dn);
            }
            // Whatever it is: it is answered when the state of the account is durable.
            deferred::keep_write(session, self.dsa, id, write, out.split_off(before));
        }
        // What is behind it in the input is not looked at as a request of any session: between two steps, and of one that must change its password.
        session.pauses |= session.exchange.is_some() || session.identity.must_change;
    }
}

impl ReadBatch<'_> {
    /// Has a request wait that lacks the verification of a password. The message outlives the input, for it is run again. `name`: of the entry
    /// whose password it is.
    pub(super) fn defer(&mut self, session: &mut Session, frame: &[u8], name: &[u8]) {
        deferred::keep_read(session, self.dsa, frame);
        let account = self.dsa.account(name);
        deferred::wait(session, &mut self.scratch.passwords, account, self.now);
    }

    /// Has a compare or a search wait if it lacks something: the verification of a password, or the answer of another server.
    #[inline]
    pub(super) fn defer_if_lacking(&mut self, session: &mut Session, frame: &[u8], name: &[u8]) {
        if self.scratch.passwords.lacks() {
            self.defer(session, frame, name);
        }
    }
}

/// Runs a bind or a compare again that waited for a password.
#[cold]
pub(super) fn run_deferred(session: &mut Session, parts: &mut Parts<'_>, out: &mut Vec<u8>) {
    if session.deferred.as_ref().is_some_and(|deferred| deferred.write.is_some()) {
        return update::write_state(session, parts, out);
    }
    let Some(deferred) = session.deferred.take() else { return };
    let Some(read) = deferred.read else { return };
    parts.scratch.passwords.begin_again(deferred.outcomes);
    let mut group = Group::new();
    group::gather(&read.message, 0, &mut group);
    assert!(group.len() == 1 && !group[0].is_update(), "it is one message that looks");
    // As any other request: at a read point of its own, with everything that came since.
    // It had its barrier when it was taken from the input.
    let is_without = std::mem::take(&mut session.behind.is_without);
    // So had it what it looks for in the change log.
    session.awaited = Awaited::Stored;
    execute(session, parts, &mut group, out);
    session.behind.is_without = is_without;
    // Nothing of it may be found by another request of this thread.
    parts.scratch.passwords.end();
    if session.has_deferred() && !session.waits() {
        run_deferred(session, parts, out);
    }
}
