//! The updates of transactions (RFC 5805), and their begins and ends. An update is answered with what became of it in the
//! overlay of its transaction; most need none, for a draft tells as much.

mod commit;
mod member;
mod password;

pub(crate) use self::commit::{Ending, Together, apply};

use super::group::Pending;
use super::update;
use super::{Parts, count_operation, refuse_malformed};
use crate::access::Effective;
use crate::control::{self, ControlError};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::journal::Updates;
use crate::op::modify_dn::new_dn;
use crate::op::{end_transaction, start_transaction};
use crate::outcome;
use crate::session::Session;
use crate::transaction::Transaction;
use model::ResultCode;
use proto::control::{Controls, non_transaction, transaction_specification};
use proto::ext::aborted_transaction;
use proto::message::{Message, Request};
use proto::tag;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Bytes of memory that an update may take beyond its own and those of the entries that it is about.
const UPDATE_BYTES: u64 = 8 << 10;

/// What an update has to do with transactions.
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

/// Does an update belong to a transaction, or is it a begin or an end?
#[inline]
pub(super) fn concerns(session: &Session, parts: &Parts<'_>, update: &Pending<'_>) -> bool {
    let implies = implies(session, parts.dsa);
    (implies || update.has_controls() || update.is_extension()) && concerns_closely(implies, parts, update)
}

/// Do updates that name no transaction belong to one?
#[inline]
pub(super) fn implies(session: &Session, dsa: &Dsa) -> bool {
    session.transactions.implies() && dsa.transactions.implicit_membership()
}

fn concerns_closely(implies: bool, parts: &Parts<'_>, update: &Pending<'_>) -> bool {
    match membership(update, implies) {
        Membership::Named(_) | Membership::Implied => true,
        // Where nothing is implied there is no such control.
        Membership::Outside => !parts.dsa.transactions.implicit_membership(),
        Membership::None => update.is_extension() && !update.is_password(),
    }
}

fn membership<'a>(update: &Pending<'a>, implies: bool) -> Membership<'a> {
    if update.is_extension() && !update.is_password() {
        return Membership::None;
    }
    for control in Controls::of_some(update.frame(), update.has_controls()).iter() {
        match control.oid {
            transaction_specification::OID => return Membership::Named(control.value.unwrap_or_default()),
            non_transaction::OID => return Membership::Outside,
            _ => {}
        }
    }
    if implies { Membership::Implied } else { Membership::None }
}

/// Runs the first of these updates, and those after it that belong to the same transaction. Returns how many: none if what the
/// session has collected must be carried out before.
#[cold]
pub(super) fn run(
    session: &mut Session,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    if !session.batch.is_empty() {
        return 0;
    }
    abort_some(session, parts.dsa, parts.now.monotonic_ns, out);
    let update = &updates[0];
    if update.is_extension() && !update.is_password() {
        begin_or_end(session, parts, update, out);
        return 1;
    }
    let implies = parts.dsa.transactions.implicit_membership();
    let of = membership(update, implies);
    if of == Membership::Outside {
        refuse_outside(session, parts, update, out);
        return 1;
    }
    let alike = |other: &&Pending<'_>| {
        let is_member = other.is_update() && (!other.is_extension() || other.is_password());
        // Mostly their controls are the same to the byte.
        is_member && (other.after() == update.after() || membership(other, implies) == of)
    };
    let count = updates.iter().take_while(alike).count().max(1);
    let found = match of {
        Membership::Named(identifier) => find_or_begin(session, parts, update, identifier, out),
        _ => implied_or_refuse(session, parts, update, out),
    };
    match found {
        None => 1,
        Some(identifier) => {
            let mut lent = session.transactions.lend(&identifier).expect("it was just found");
            if lent.1.updates == 0 {
                (lent.1.messages, lent.1.drafts) = parts.scratch.buffers.take();
            }
            member::run(session, &mut lent.1, parts, &updates[..count], out);
            let is_affordable = lent.1.is_affordable();
            session.transactions.take_back(lent);
            if !is_affordable {
                for identifier in session.transactions.abort_those(|other| other.identifier == identifier) {
                    let text = "the memory limit of open transactions is reached";
                    aborted_transaction::encode(out, &identifier, ResultCode::Busy, text);
                }
            }
            count
        }
    }
}

/// The identifier of the transaction that an update belongs to which names none. If that was aborted, the update, which may have been
/// on its way by then, must not happen by itself: it is refused.
fn implied_or_refuse(
    session: &mut Session,
    parts: &Parts<'_>,
    update: &Pending<'_>,
    out: &mut Vec<u8>,
) -> Option<Vec<u8>> {
    let implied = session.transactions.implied();
    if implied.is_none() {
        let text = "the transaction of this update was aborted by the server; end it or start another";
        refuse(session, parts, update, (ResultCode::Canceled, text), out);
    }
    implied
}

fn refuse_outside(session: &mut Session, parts: &Parts<'_>, update: &Pending<'_>, out: &mut Vec<u8>) {
    match update.decode() {
        Ok(message) => {
            count_operation(parts.counters, &message.request);
            control::refuse(&message, ControlError::UnavailableCritical(non_transaction::OID), out);
        }
        Err(error) => refuse_malformed(session, &error, out),
    }
}

/// The identifier of the transaction that an update names, if it is open or can be begun. Else the update is refused.
fn find_or_begin(
    session: &mut Session,
    parts: &mut Parts<'_>,
    update: &Pending<'_>,
    identifier: &[u8],
    out: &mut Vec<u8>,
) -> Option<Vec<u8>> {
    if session.transactions.find(identifier).is_some() {
        return Some(identifier.to_vec());
    }
    let message = match update.decode() {
        Ok(message) => message,
        Err(error) => {
            refuse_malformed(session, &error, out);
            return None;
        }
    };
    if let Err(error) = control::requested(&message.request, message.controls) {
        count_operation(parts.counters, &message.request);
        control::refuse(&message, error, out);
        return None;
    }
    let begun = match parts.dsa.transactions.implicit_begin() && !session.transactions.was_aborted(identifier)
    {
        true => start_transaction::begin_named(session, parts.dsa, parts.now, identifier),
        false => Err(end_transaction::unknown(session, identifier)),
    };
    match begun {
        Ok(()) => Some(identifier.to_vec()),
        Err(refusal) => {
            refuse(session, parts, update, refusal, out);
            None
        }
    }
}

/// Gives those up that are open for too long, or stand in the way of one who goes before, and tells the client.
pub(crate) fn abort_some(session: &mut Session, dsa: &Dsa, now_ns: u64, out: &mut Vec<u8>) {
    if session.transactions.is_empty() {
        return;
    }
    for identifier in session.transactions.abort_those(Transaction::is_preempted) {
        let text =
            "the transaction was preempted: a client with higher precedence updates one of its entries";
        aborted_transaction::encode(out, &identifier, ResultCode::Busy, text);
    }
    let age_max_ns = dsa.transactions.age_max_ms().saturating_mul(1_000_000);
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
pub(super) fn preempt_holders(
    dsa: &Dsa,
    identity: &Identity,
    request: &Request<'_>,
) -> Result<(), (ResultCode, &'static str)> {
    match nothing_is_held(dsa) {
        true => Ok(()),
        false => names(request).iter().try_for_each(|dn| preempt_holders_of(dsa, identity, dn)),
    }
}

/// As [`preempt_holders`], of those that hold this entry.
///
/// # Errors
/// See [`preempt_holders`].
pub(super) fn preempt_holders_of(
    dsa: &Dsa,
    identity: &Identity,
    dn: &[u8],
) -> Result<(), (ResultCode, &'static str)> {
    let schema = dsa.shard.schema();
    let mut name = Vec::new();
    if nothing_is_held(dsa) || schema.normalise_dn(dn, &mut name).is_err() {
        return Ok(());
    }
    let precedence = dsa.transactions.precedence(schema, &identity.dn);
    dsa.intents.clear(&name, precedence).map_err(|_| (ResultCode::Busy, IN_THE_WAY))
}

/// Holds no open transaction any entry, or nobody goes before another?
#[inline]
pub(super) fn nothing_is_held(dsa: &Dsa) -> bool {
    dsa.intents.is_empty() || !dsa.transactions.ranks()
}

/// Names of the entries that an update is about. A change of a password says it in its own way.
fn names(request: &Request<'_>) -> SmallVec<[Vec<u8>; 2]> {
    match request {
        Request::Modify(modify) => smallvec![modify.dn.to_vec()],
        Request::Add(add) => smallvec![add.dn.to_vec()],
        Request::Delete(dn) => smallvec![dn.to_vec()],
        Request::ModifyDn(modify_dn) => smallvec![modify_dn.dn.to_vec(), new_dn(modify_dn)],
        _ => SmallVec::new(),
    }
}

/// Answers an update that is not looked at.
#[cold]
fn refuse(
    session: &mut Session,
    parts: &Parts<'_>,
    update: &Pending<'_>,
    (code, text): (ResultCode, &str),
    out: &mut Vec<u8>,
) {
    match update.decode() {
        Ok(message) => {
            count_operation(parts.counters, &message.request);
            let response = tag::response_to(message.request.tag()).expect("updates have answers");
            outcome::say(out, message.id, response, code, text);
        }
        Err(error) => refuse_malformed(session, &error, out),
    }
}

const IN_THE_WAY: &str = "the entry is held by a transaction with higher precedence; try again";

/// Runs a request that begins or ends a transaction.
fn begin_or_end(session: &mut Session, parts: &mut Parts<'_>, update: &Pending<'_>, out: &mut Vec<u8>) {
    let message = match update.decode() {
        Ok(message) => message,
        Err(error) => return refuse_malformed(session, &error, out),
    };
    count_operation(parts.counters, &message.request);
    let Request::Extended(request) = &message.request else { unreachable!("the caller looked") };
    let requested = match control::requested(&message.request, message.controls) {
        Ok(requested) => requested,
        Err(error) => return control::refuse(&message, error, out),
    };
    if request.oid == proto::ext::start_transaction::OID {
        let identity = match requested.proxied() {
            None => Some(session.identity.clone()),
            Some(authorization_id) => update::authorize_proxied(session, parts, authorization_id).ok(),
        };
        return start_transaction::run(session, parts.dsa, parts.now, &message, request, identity, out);
    }
    if requested.proxied().is_some() {
        // RFC 5805 section 2.3: whoever began it ends it.
        return control::refuse(
            &message,
            ControlError::NotHere(proto::control::proxied_authorization::OID),
            out,
        );
    }
    let Some(transaction) = end_transaction::run(session, &message, request, &mut parts.scratch.buffers, out)
    else {
        return;
    };
    settle(session, parts, &message, transaction, out);
}

/// Commits a transaction: now, or when it is in the log.
fn settle(
    session: &mut Session,
    parts: &mut Parts<'_>,
    message: &Message<'_>,
    transaction: Transaction,
    out: &mut Vec<u8>,
) {
    let bytes = || transaction.bytes() + transaction.updates * UPDATE_BYTES;
    let may_grow = transaction.overlay.is_some() || parts.dsa.journal.get().is_none();
    if may_grow && parts.dsa.shard.memory().total() + bytes() > parts.dsa.memory_bytes_max() {
        // Once it is in the log, or half done, there must be room for it.
        let text = "memory-max is reached: there is no memory for this transaction; delete entries or raise memory-max";
        outcome::say(out, message.id, tag::EXTENDED_RESPONSE, ResultCode::AdminLimitExceeded, text);
        return;
    }
    let Transaction { messages, mut drafts, identity, adds, overlay, .. } = transaction;
    drop(overlay);
    match parts.dsa.journal.get() {
        None => {
            let effective = Effective::of_transaction(&identity);
            let together = Together { effective, messages: &messages, ids: &[] };
            commit::run(parts, together, Some(&mut drafts), Some(Ending { id: message.id, out }));
            parts.scratch.buffers.put(messages, drafts);
        }
        Some(journal) => {
            let reply = Arc::clone(session.reply.get_or_insert_default());
            let updates = Updates::of_transaction(messages, adds, drafts, identity.dn, reply, message.id);
            update::submit::submit(session, parts.dsa, &**journal, updates, 0, None);
        }
    }
}
