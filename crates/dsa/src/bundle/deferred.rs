//! A request that needs a password verified or stored, which takes long: it is given up, its session waits, and it is run again
//! with the outcomes at hand ([`crate::password`]).

use crate::client_memory::Kept;
use crate::engine::Dsa;
use crate::outcome::FixedRefusal;
use crate::password::policies::Write;
use crate::password::{Owner, Passwords};
use crate::policy;
use crate::session::{DeferredRead, Phase, Session};
use env::clock::Now;
use model::ResultCode;
use schema::Schema;

/// Queues what the request lacks that just ran for a session, and makes the session wait.
/// If the queue takes no more, the request is run again at once, and answers that.
pub(super) fn wait(session: &mut Session, passwords: &mut Passwords, account: u64, now: Now) {
    let account = passwords.account.take().unwrap_or(account);
    let owner = Owner { account, address: session.peer.number() };
    let (ticket, outcomes) = passwords.submit(owner, now.monotonic_ns);
    passwords.end();
    session.deferred.get_or_insert_default().outcomes = outcomes;
    // Nothing behind the request is looked at before it is answered.
    session.pauses = true;
    if let Some(ticket) = ticket {
        session.enter(Phase::Hashing(ticket));
    }
}

/// Keeps a bind or a compare, to be run again.
/// Updates are kept by the stage that takes them; these are reads, whose message would be gone with the input. It counts as memory of the
/// client, which is bounded.
pub(super) fn keep_read(session: &mut Session, dsa: &Dsa, message: &[u8]) {
    let mut kept = Kept::new(&dsa.client_memory);
    kept.set(message.len(), session.is_bound());
    let read = DeferredRead { message: message.to_vec().into(), _kept: kept };
    session.deferred.get_or_insert_default().read = Some(read);
}

/// Keeps the answer to a bind until the state of its account is written. Nothing behind the bind is looked at before.
pub(super) fn keep_write(session: &mut Session, dsa: &Dsa, id: i32, write: Write, answer: Vec<u8>) {
    session.deferred.get_or_insert_default().write = Some(policy::change_of(dsa, write, id, answer));
    session.pauses = true;
}

/// Busy, and nothing was looked at: the client may try again.
pub(super) const TOO_MANY_FAILED: FixedRefusal =
    (ResultCode::Busy, "too many binds from this address have failed; try again in a second");

/// Counts a bind that failed against the client's address, and notes it for the log.
#[cold]
pub(super) fn note_failed_bind(session: &Session, dsa: &Dsa, name: &[u8], now: Now) {
    session.peer.bind_failed(now.monotonic_ns);
    let schema = dsa.shard.schema();
    let unshown = match schema.normalise_dn(name, &mut Vec::new()) {
        Ok(()) => names_secret(schema, name).then_some("a DN of a secret"),
        Err(_) => Some("no DN"),
    };
    dsa.failed_binds.note(name, unshown, session.peer.client().and_then(|client| client.ip()));
}

/// Has a DN a value of an attribute in it whose values are secrets? A client that builds DNs of what was typed may so send a password.
fn names_secret(schema: &Schema, dn: &[u8]) -> bool {
    let is_secret = |attribute: &[u8]| schema.find_type(attribute).is_some_and(|id| schema.is_secret(id));
    model::dn::parse(dn).is_ok_and(|rdns| rdns.iter().flatten().any(|ava| is_secret(ava.attribute_type)))
}
