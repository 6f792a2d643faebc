//! The updates of transactions (RFC 5805), and their begins and ends. An update is answered with what became of it in the
//! overlay of its transaction; most need none, for a prepared write tells as much.
//!
//! ```text
//! begin     nothing but a place among the open transactions
//! update    judged at once, kept as the message that came: prepared, or in the overlay from the first one on that cannot be
//! end       all messages as one command of the log, then [`commit`]
//! ```
//! The answer to an update is a promise of nothing: another client may change its entry before the end. What counts is what the command
//! comes to when it is applied, with all updates judged again where a prepared write no longer holds.
//!
//! A session may have several transactions open, distinguished by their identifiers, and updates of different ones may alternate. None of
//! them holds a lock. Where clients have different precedence, names of entries are held ([`crate::transaction`]).

mod change;
mod commit;
mod member;

pub(super) use self::commit::run as commit;
pub(crate) use self::commit::{Ending, WriteSet, apply};

use super::group::Pending;
use super::update::{self, Classified, Kind, Refused, Request};
use crate::control::update::names;
use crate::control::{self, ControlError, Rare, Requested};
use crate::effective::Effective;
use crate::engine::Dsa;
use crate::extension::{Bound, Role};
use crate::identity::Identity;
use crate::journal::{Submission, Updates};
use crate::op::extended::start_transaction::Begin;
use crate::op::extended::{self, end_transaction};
use crate::outcome::{self, FixedRefusal};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::worker::Parts;
use env::fast;
use model::ResultCode;
use model::limits::READ_ENTRIES_MAX;
use proto::control::{Controls, non_transaction, proxied_authorization, transaction_specification};
use proto::ext::aborted_transaction;
use proto::message::{self, Message};
use proto::op::Extended;
use proto::{Outline, tag};
use std::sync::Arc;

/// Bytes of memory that an update may take beyond its own and those of the entries that it is about.
/// Memory is reserved before a commit is logged or half applied, since neither can be taken back for want of it.
const UPDATE_BYTES: u64 = 8 << 10;

/// What an update has to do with transactions.
/// Named wins over implied: a client that names a transaction means that one, whatever is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership<'a> {
    /// It names one.
    Named(&'a [u8]),
    /// It names none and belongs to the one that is open.
    Implied,
    /// It says that it belongs to none.
    Outside,
    /// Nothing.
    None,
}

/// Do updates that name no transaction belong to one?
#[inline]
pub(super) fn implies(session: &Session, dsa: &Dsa) -> bool {
    session.transactions.implies() && dsa.transactions.implicit_membership()
}

/// Does an update belong to a transaction, or is it a begin or an end?
/// Such an update must not join a batch of plain ones: it is answered now, and they when they are durable.
pub(super) fn concerns(session: &Session, dsa: &Dsa, classified: &Classified<'_>) -> bool {
    match membership(session, dsa, classified) {
        Membership::Named(_) | Membership::Implied => true,
        // Where nothing is implied there is no such control.
        Membership::Outside => !dsa.transactions.implicit_membership(),
        Membership::None => {
            classified.request.as_ref().is_ok_and(|request| matches!(request.kind, Kind::Bound(_)))
        }
    }
}

/// Which transaction a request belongs to, if it belongs to one.
fn membership<'a>(session: &Session, dsa: &Dsa, classified: &Classified<'a>) -> Membership<'a> {
    let named = match &classified.request {
        Ok(request) if matches!(request.kind, Kind::Bound(_)) => return Membership::None,
        Ok(request) => match request.requested() {
            Ok(requested) => of_controls(requested),
            Err(_) => of_frame(classified.frame),
        },
        Err(_) if is_begin_or_end(classified.frame) => return Membership::None,
        Err(_) => of_frame(classified.frame),
    };
    match named {
        Membership::None if implies(session, dsa) => Membership::Implied,
        named => named,
    }
}

/// The transaction that the controls of a request name.
fn of_controls<'a>(requested: &Requested<'a>) -> Membership<'a> {
    match requested.rare.as_deref() {
        Some(Rare { transaction: Some(identifier), .. }) => Membership::Named(identifier),
        Some(Rare { non_transaction: true, .. }) => Membership::Outside,
        _ => Membership::None,
    }
}

/// What an update says that cannot be honoured: it is refused, but its transaction must know of it.
#[cold]
fn of_frame(frame: &[u8]) -> Membership<'_> {
    for control in Controls::of(frame).iter() {
        match control.oid {
            transaction_specification::OID => return Membership::Named(control.value.unwrap_or_default()),
            non_transaction::OID => return Membership::Outside,
            _ => {}
        }
    }
    Membership::None
}

/// Looked at in the outline, so that a malformed begin or end is known for what it is.
#[cold]
fn is_begin_or_end(frame: &[u8]) -> bool {
    let extended = Outline::of(frame).filter(|outline| outline.op_tag == tag::EXTENDED);
    let oid = extended.and_then(|outline| Extended::oid_of(outline.rest));
    oid.and_then(extended::find).is_some_and(|known| matches!(known.role, Role::Bounds(_)))
}

/// The identifier of the transaction that a modify belongs to, if its outline tells that. It may only say yes.
///
/// Only modifies are looked at: no other update can be a prepared write, so the short way would not help it.
fn plain_membership<'a>(session: &'a Session, dsa: &Dsa, update: &Pending<'a>) -> Option<&'a [u8]> {
    // Where an update may begin a transaction, a session without any is looked at too.
    let is_any = !session.transactions.is_empty() || dsa.transactions.implicit_begin();
    if !fast::IS_ON || !is_any || update.op_tag() != Some(tag::MODIFY) {
        return None;
    }
    match update.has_controls() {
        true => member::only_named(update),
        false if implies(session, dsa) => session.transactions.implied(),
        false => None,
    }
}

/// Is an update one of a transaction that may need no decoding?
#[inline]
pub(super) fn is_prepared(session: &Session, parts: &Parts<'_>, update: &Pending<'_>) -> bool {
    // What may be a secret is looked at by the stages.
    parts.security.admits_password() && plain_membership(session, parts.dsa, update).is_some()
}

/// Accepts the first of these updates, and those after it that belong to the same transaction, as long as each can be prepared. Returns
/// how many.
/// 0 means that nothing was done, and that the stages must take the first update.
#[cold]
pub(super) fn take_prepared(
    session: &mut Session,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    // Notices of transactions that the server gave up come before the answers of those updates that would have been theirs.
    abort_some(session, parts.dsa, parts.now.monotonic_ns, out);
    let Some(identifier) = plain_membership(session, parts.dsa, &updates[0]).map(<[u8]>::to_vec) else {
        return 0;
    };
    // Its first update may begin it. What stands against that is found out, and answered, by the stages themselves.
    let is_open = session.transactions.find(&identifier).is_some();
    // A begin forgets which implied transaction was aborted, so this is restored if the begin is taken back.
    let implied_aborted = session.transactions.implied_aborted().map(<[u8]>::to_vec);
    if !is_open
        && (!may_begin(session, parts.dsa, &identifier) || begin(session, parts).named(&identifier).is_err())
    {
        return 0;
    }
    let is_member = |update: &&Pending<'_>| {
        // Mostly their controls are the same to the byte.
        update.op_tag() == Some(tag::MODIFY)
            && (update.after() == updates[0].after()
                || plain_membership(session, parts.dsa, update) == Some(&identifier))
    };
    // The first is one of them, by the same question that made the identifier.
    let count = updates.iter().take_while(is_member).count();
    let taken = lend(session, parts, &identifier, out, |_, transaction, parts, out| {
        member::prepare_some(transaction, parts, &updates[..count], out)
    });
    let taken = taken.unwrap_or(0);
    if taken == 0 && !is_open {
        session.transactions.undo_begin(&identifier, implied_aborted);
    }
    taken
}

/// May an update that names no open transaction begin one?
/// One whose name was aborted a short while ago may not: its remaining updates are on their way, and must not happen as another one.
fn may_begin(session: &Session, dsa: &Dsa, identifier: &[u8]) -> bool {
    dsa.transactions.implicit_begin() && !session.transactions.was_aborted(identifier)
}

/// What a begin of the session works on. One by a first update, where that is configured, is applied as the identity that the session
/// is bound as.
fn begin<'b>(session: &'b mut Session, parts: &Parts<'b>) -> Begin<'b> {
    let Session { transactions, identity: client, .. } = session;
    Begin { transactions, client, dsa: parts.dsa, now: parts.now }
}

/// Runs a begin, an end or an update of a transaction.
/// Its outcome is in `out` when this returns, but that of an end in a logged directory, which the session waits for.
#[cold]
pub(super) fn run(
    session: &mut Session,
    parts: &mut Parts<'_>,
    classified: &Classified<'_>,
    out: &mut Vec<u8>,
) {
    abort_some(session, parts.dsa, parts.now.monotonic_ns, out);
    // Behind that: a transaction that was just aborted has no members any more.
    let found = match membership(session, parts.dsa, classified) {
        Membership::None => {
            let request = classified.request.as_ref().expect("a malformed update is no begin and no end");
            return begin_or_end(session, parts, request, out);
        }
        // Where no membership is implied the server does not have this control.
        Membership::Outside => Err(Refused::Control(ControlError::UnavailableCritical(non_transaction::OID))),
        Membership::Named(identifier) => {
            find_or_begin(session, parts, classified, identifier).map(|()| identifier.to_vec())
        }
        Membership::Implied => implied(session).map_err(Refused::from),
    };
    match found {
        Err(refused) => refuse(session, parts, classified, &refused, out),
        Ok(identifier) => {
            _ = lend(session, parts, &identifier, out, |session, transaction, parts, out| {
                member::judge(session, transaction, parts, classified, out);
            })
        }
    }
}

/// Does something with an open transaction, which is aborted if it takes more memory afterwards than there is. `None` if no such
/// transaction is open.
/// It is out of the session while it is worked with, so the session can be borrowed beside it, and comes back to its place in the order of
/// begins: which one is implied depends on that.
fn lend<T>(
    session: &mut Session,
    parts: &mut Parts<'_>,
    identifier: &[u8],
    out: &mut Vec<u8>,
    work: impl FnOnce(&mut Session, &mut Transaction, &mut Parts<'_>, &mut Vec<u8>) -> T,
) -> Option<T> {
    // While it is lent no other may begin or end, or its place would be that of another one. What works with it does neither.
    let mut lent = session.transactions.lend(identifier)?;
    // A client often makes one transaction after the other, so its buffers are those of the last one. They stay if its first updates
    // are refused.
    if lent.1.submission.messages.capacity() == 0 {
        assert!(lent.1.updates == 0, "a transaction with updates has their messages");
        lent.1.submission = parts.scratch.buffers.take();
    }
    let done = work(session, &mut lent.1, parts, out);
    assert!(
        lent.1.submission.prepared_writes.len() as u64 == lent.1.updates,
        "each update that was accepted has a place among the prepared writes"
    );
    let is_affordable = lent.1.is_affordable();
    session.transactions.take_back(lent);
    // Aborted by its own growth. The other transactions of the session stay open.
    if !is_affordable {
        for identifier in session.transactions.abort_those(|other| other.identifier == identifier) {
            let text = "the memory limit of open transactions is reached";
            aborted_transaction::encode(out, &identifier, ResultCode::Busy, text);
        }
    }
    Some(done)
}

/// The identifier of the transaction that an update belongs to which names none.
///
/// # Errors
/// The refusal if that was aborted: the update, which may have been on its way by then, must not happen by itself.
fn implied(session: &Session) -> Result<Vec<u8>, FixedRefusal> {
    // Nothing implied, though updates that name none belong to one: that one was aborted.
    let text = "the transaction of this update was aborted by the server; end it or start another";
    session.transactions.implied().map(<[u8]>::to_vec).ok_or((ResultCode::Canceled, text))
}

/// Begins the transaction that an update names, if it is not open.
///
/// # Errors
/// The refusal if it cannot be begun.
/// The controls are looked at before it is begun: an update that is refused must not leave an open transaction behind.
fn find_or_begin<'a>(
    session: &mut Session,
    parts: &Parts<'_>,
    classified: &Classified<'a>,
    identifier: &[u8],
) -> Result<(), Refused<'a>> {
    if session.transactions.find(identifier).is_some() {
        return Ok(());
    }
    match classified.request.as_ref().map(Request::requested) {
        Ok(Err(refused)) => Err(refused),
        Ok(Ok(_)) if may_begin(session, parts.dsa, identifier) => {
            begin(session, parts).named(identifier).map_err(Refused::from)
        }
        // One that is malformed is refused for that.
        Ok(Ok(_)) | Err(_) => Err(end_transaction::unknown(&session.transactions, identifier).into()),
    }
}

/// Gives those up that are open for too long, or hold an entry that a transaction with higher precedence needs, and tells the client.
/// Runs before each update of a transaction and once a second or so for idle sessions, so neither limit needs a timer of its own.
pub(crate) fn abort_some(session: &mut Session, dsa: &Dsa, now_ns: u64, out: &mut Vec<u8>) {
    if session.transactions.is_empty() {
        return;
    }
    // One that was preempted hinders nobody any more, for its state says so. What is left to do is to free its memory and to tell
    // its client, which only its own session may.
    for identifier in session.transactions.abort_those(Transaction::is_preempted) {
        let (code, text) = end_transaction::PREEMPTED;
        aborted_transaction::encode(out, &identifier, code, text);
    }
    let age_max_ns = dsa.transactions.age_max_ms().saturating_mul(1_000_000);
    // Saturating, for the clock of this thread may be read before that of the thread which began it.
    let is_old = |transaction: &Transaction| now_ns.saturating_sub(transaction.began_ns) > age_max_ns;
    for identifier in session.transactions.abort_those(is_old) {
        let text = "the transaction was open for longer than txn-age-max";
        aborted_transaction::encode(out, &identifier, ResultCode::TimeLimitExceeded, text);
    }
}

/// Preempts the open transactions of lower precedence that hold an entry which an update is about, if it belongs to none.
///
/// # Errors
/// Code and text of the refusal if one of higher precedence holds such an entry.
/// Nobody waits: an update of lower precedence is refused with busy at once, and its client tries again.
pub(super) fn preempt_holders(
    dsa: &Dsa,
    identity: &Identity,
    request: &message::Request<'_>,
) -> Result<(), FixedRefusal> {
    match nothing_is_held(dsa) {
        true => Ok(()),
        false => names(request).try_for_each(|dn| preempt_holders_of(dsa, identity, &dn)),
    }
}

/// As [`preempt_holders`], of those that hold this entry.
///
/// # Errors
/// See [`preempt_holders`].
pub(super) fn preempt_holders_of(dsa: &Dsa, identity: &Identity, dn: &[u8]) -> Result<(), FixedRefusal> {
    let schema = dsa.shard.schema();
    let mut name = Vec::new();
    // A name that the schema does not take is held by nobody; what becomes of the update is for the stages after this.
    if nothing_is_held(dsa) || schema.normalise_dn(dn, &mut name).is_err() {
        return Ok(());
    }
    let precedence = dsa.transactions.precedence(schema, &identity.dn);
    dsa.intents.clear(&name, precedence).map_err(|_| (ResultCode::Busy, CONFLICT))
}

/// Holds no open transaction any entry, or nobody has precedence over another?
/// One load where nobody has precedence configured, which is nearly everywhere.
#[inline]
pub(super) fn nothing_is_held(dsa: &Dsa) -> bool {
    dsa.intents.is_empty() || !dsa.transactions.ranks()
}

/// Answers an update that goes no further.
/// It counts as an operation, as every request that was decoded.
#[cold]
fn refuse(
    session: &mut Session,
    parts: &Parts<'_>,
    classified: &Classified<'_>,
    refused: &Refused<'_>,
    out: &mut Vec<u8>,
) {
    match &classified.request {
        Ok(request) => {
            parts.counters.count_operation(&request.message.request);
            refused.answer(request, out);
        }
        Err(error) => session.refuse_malformed(error, out),
    }
}

const CONFLICT: &str = "the entry is held by a transaction with higher precedence; try again";

/// Runs a request that begins or ends a transaction.
fn begin_or_end(session: &mut Session, parts: &mut Parts<'_>, update: &Request<'_>, out: &mut Vec<u8>) {
    let message = &update.message;
    parts.counters.count_operation(&message.request);
    let message::Request::Extended(request) = &message.request else { unreachable!("its kind says so") };
    if let Err(refused) = update::authorize::of_use(parts, &session.identity, update) {
        return refused.answer(update, out);
    }
    let requested = match update.requested() {
        Ok(requested) => requested,
        Err(refused) => return refused.answer(update, out),
    };
    // A proxied begin (RFC 4370) makes a transaction whose updates are all applied as that identity.
    if matches!(update.kind, Kind::Bound(Bound::Start)) {
        // A client that may not act as the other identity begins nothing: an update under the name that it bound with would not be
        // what it asked for.
        let identity = match requested.proxied() {
            None => Some(session.identity.clone()),
            Some(authorization_id) => update::authorize_proxied(session, parts, authorization_id).ok(),
        };
        return begin(session, parts).run(message, identity, out);
    }
    if requested.proxied().is_some() {
        // RFC 5805 section 2.3: the identity that began it ends it.
        return control::refuse(message, ControlError::NotHere(proxied_authorization::OID), out);
    }
    let Some(transaction) =
        end_transaction::run(&mut session.transactions, message, request, &mut parts.scratch.buffers, out)
    else {
        return;
    };
    settle(session, parts, message, transaction, out);
}

/// Commits a transaction: now, or when it is in the log.
/// The transaction is closed when this is called, whatever becomes of it: an identifier is not used again by a retried end.
fn settle(
    session: &mut Session,
    parts: &mut Parts<'_>,
    message: &Message<'_>,
    transaction: Transaction,
    out: &mut Vec<u8>,
) {
    let bytes = || transaction.bytes() + transaction.updates * UPDATE_BYTES;
    // Prepared writes alone need no more memory than they have reserved; an overlay's updates are applied once more for good.
    let may_grow = transaction.overlay.is_some() || parts.dsa.journal.get().is_none();
    if may_grow && parts.dsa.shard.memory().total() + bytes() > parts.dsa.memory_bytes_max() {
        // Once it is in the log, or half done, there must be room for it.
        let text = "memory-max is reached: there is no memory for this transaction; delete entries or raise memory-max";
        outcome::say(out, message.id, tag::EXTENDED_RESPONSE, ResultCode::AdminLimitExceeded, text);
        return;
    }
    assert!(
        transaction.submission.prepared_writes.len() as u64 == transaction.updates,
        "each update has a place among the prepared writes"
    );
    assert!(transaction.submission.adds as u64 <= transaction.updates, "adds are some of the updates");
    assert!(transaction.reads <= READ_ENTRIES_MAX, "the answer to the end has room for the entries read");
    let bytes_together = if may_grow { bytes() } else { 0 };
    let Transaction { mut submission, mut identity, overlay, reads, .. } = transaction;
    submission.bytes_together = bytes_together;
    if reads > 0 {
        // What the answer brings is read by the rights of now, not by those of the last update.
        let security = parts.security;
        update::authorize::reading(parts, |reading| reading.keep_up(&mut identity, security));
    }
    // Its memory is given back before the updates are applied, which take as much.
    drop(overlay);
    match parts.dsa.journal.get() {
        None => {
            let effective = Effective::of_transaction(&identity);
            let Submission { messages, prepared_writes, .. } = &mut *submission;
            let together = WriteSet { effective, messages, ids: &[] };
            commit::run(parts, together, Some(prepared_writes), Some(Ending { id: message.id, out }));
            parts.scratch.buffers.put(submission);
        }
        Some(journal) => {
            if reads > 0 {
                submission.reader = parts.scratch.views.reader(identity.requester());
            }
            let reply = Arc::clone(session.reply.get_or_insert_default());
            let updates = Updates::of_transaction(submission, session.sender(&identity), reply, message.id);
            update::submit::submit(session, parts.dsa, &**journal, updates, 0, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Session;
    use crate::system::tests::Fixture;
    use crate::transaction::Choices;
    use env::fast;
    use model::ResultCode;
    use proto::control::{Control, transaction_specification};
    use proto::message::Request;
    use proto::op::Modify;
    use proto::op::modify::{Changes, ModifyKind, change_list};

    #[test]
    fn an_update_that_begins_its_transaction_needs_no_overlay() {
        let mut fixture = Fixture::new();
        let choices = Choices { implicit_begin: true, ..Choices::default() };
        let dsa = &fixture.dsa;
        dsa.transactions.put(&choices, dsa.shard.schema()).expect("they are sound");
        let mut session = Session::new(&mut fixture.worker);
        session.identity = fixture.identity.clone();
        let named =
            Control { oid: transaction_specification::OID, critical: true, value: Some(b"one".as_slice()) };
        let changes = change_list([(ModifyKind::Replace, &b"employeeNumber"[..], [&b"8"[..]])]);
        let changes = Changes::parse(&changes).expect("just encoded");
        let (mut input, mut out) = (Vec::new(), Vec::new());
        for id in 1..=2 {
            Request::Modify(Modify { dn: b"uid=ann,dc=com", changes }).encode(&mut input, id, &[named]);
        }
        session.feed(&mut fixture.worker, &input, &mut out);
        let transaction = session.transactions.find(b"one").expect("it was begun");
        assert_eq!((transaction.updates, transaction.overlay.is_none()), (2, fast::IS_ON));
    }

    #[test]
    fn a_malformed_update_begins_nothing_and_leaves_what_was_aborted() {
        let mut fixture = Fixture::new();
        let choices = Choices { implicit_begin: true, implicit_membership: true, ..Choices::default() };
        let dsa = &fixture.dsa;
        dsa.transactions.put(&choices, dsa.shard.schema()).expect("they are sound");
        let mut session = Session::new(&mut fixture.worker);
        session.identity = fixture.identity.clone();
        let named = |value: &'static [u8]| Control {
            oid: transaction_specification::OID,
            critical: true,
            value: Some(value),
        };
        let changes = change_list([(ModifyKind::Replace, &b"employeeNumber"[..], [&b"8"[..]])]);
        let changes = Changes::parse(&changes).expect("just encoded");
        let modify = || Request::Modify(Modify { dn: b"uid=ann,dc=com", changes });
        let (mut input, mut out) = (Vec::new(), Vec::new());
        modify().encode(&mut input, 1, &[named(b"one")]);
        session.feed(&mut fixture.worker, &input, &mut out);
        assert_eq!(session.transactions.abort_those(|_| true), [b"one"]);
        input.clear();
        modify().encode(&mut input, 2, &[named(b"two")]);
        // No such kind of change.
        let kind = input.windows(3).position(|bytes| bytes == [0x0a, 1, 2]).expect("it is there");
        input[kind + 2] = 9;
        modify().encode(&mut input, 3, &[]);
        out.clear();
        session.feed(&mut fixture.worker, &input, &mut out);
        assert!(session.transactions.is_empty());
        assert_eq!(session.transactions.implied_aborted(), Some(&b"one"[..]));
        let (code, rest) = proto::result::result_code(&out).expect("the first was answered");
        assert_eq!(code, ResultCode::ProtocolError as u32);
        let (code, _) = proto::result::result_code(rest).expect("the second was answered");
        assert_eq!(code, ResultCode::Canceled as u32, "its transaction was aborted");
    }
}
