//! An update of a transaction as it comes in.

use super::super::group::{self, Hint, Pending};
use super::super::{MODIFIES, Parts, answer_malformed, count_operation, refuse_malformed, update};
use super::super::{controlled, permission};
use super::password;
use crate::access::{Effective, Rights};
use crate::admission;
use crate::control::{self, ControlError, Requested};
use crate::engine::Dsa;
use crate::faults;
use crate::journal;
use crate::monitor::count;
use crate::op::modify::Replacing;
use crate::op::own_password;
use crate::outcome;
use crate::session::Session;
use crate::transaction::{Evaluation, Transaction};
use crate::worker::Scratch;
use env::clock::Now;
use env::planted;
use model::ResultCode;
use model::limits::READ_ENTRIES_MAX;
use proto::control::{Controls, proxied_authorization, transaction_specification};
use proto::message::{Message, Request};
use proto::tag;
use store::overlay::{OVERLAY_BYTES_MAX, Overlay};
use store::{DnCache, Known, ReadPoint};

/// Judges updates of one transaction and answers them.
pub(super) fn run(
    session: &mut Session,
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) {
    let mut done = 0;
    while done < updates.len() && !session.closing {
        done += draft_some(transaction, parts, &updates[done..], out);
        if let Some(update) = updates.get(done) {
            judge(session, transaction, parts, update, out);
            done += 1;
        }
    }
}

/// Accepts updates as long as each can be drafted. Returns how many.
fn draft_some(
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    let Parts { dsa, reader, scratch, counters, hinted_at: Some(sequence), .. } = parts else { return 0 };
    if !dsa.rules.may_write(transaction.identity.rights) || transaction.overlay.is_some() {
        return 0;
    }
    let is_plain = transaction.identity.rights == Rights::Root || !dsa.root_binds_by_entry();
    if !is_plain || permission::of_name(dsa, &transaction.identity).is_err() {
        return 0;
    }
    let Scratch { evaluator, keys, .. } = &mut **scratch;
    let pin = reader.pin();
    let read_point = pin.read_point();
    if read_point.shard().has_referrals() {
        return 0;
    }
    evaluator.cache.refresh(read_point);
    let mut drafting = Drafting {
        dsa,
        transaction,
        read_point,
        cache: &mut evaluator.cache,
        keys,
        sequence: *sequence,
        replacing: Replacing::new(read_point.shard().schema()),
        limits: (dsa.transactions.updates_max(), dsa.transactions.bytes_max()),
        naming: &[],
    };
    let mut accepted = 0;
    for (at, update) in updates.iter().enumerate() {
        group::bring_near(read_point, updates, at);
        let Some(id) = drafting.accept(update) else { break };
        outcome::succeed(out, id, tag::MODIFY_RESPONSE);
        accepted += 1;
    }
    count(&counters.operations[MODIFIES], accepted as u64);
    accepted
}

/// What it takes to draft updates of a transaction at a read point.
struct Drafting<'d, 'u> {
    dsa: &'d Dsa,
    transaction: &'d mut Transaction,
    read_point: ReadPoint<'d>,
    cache: &'d mut DnCache,
    keys: &'d [u8],
    /// Commit sequence at which the group's hints hold.
    sequence: u64,
    replacing: Replacing<'u>,
    /// Updates and bytes of a transaction.
    limits: (u64, u64),
    /// Controls that were seen to name the transaction and nothing else: those of its other updates are the same.
    naming: &'u [u8],
}

impl<'u> Drafting<'_, 'u> {
    /// Accepts an update if it can be drafted. Returns the id of its message.
    #[inline]
    fn accept(&mut self, update: &'u Pending<'u>) -> Option<i32> {
        let (Hint::Target(target), Some(outline)) = (&update.hint, &update.outline) else { return None };
        if !outline.after.is_empty() && outline.after != self.naming {
            if !names_only(update) {
                return None;
            }
            self.naming = outline.after;
        }
        let (updates_max, bytes_max) = self.limits;
        let Transaction { messages, updates, .. } = &*self.transaction;
        if *updates >= updates_max || (messages.len() + update.frame().len()) as u64 > bytes_max {
            return None;
        }
        if self.transaction.drafts.entry_bytes() > OVERLAY_BYTES_MAX {
            return None;
        }
        if self.dsa.transactions.ranks() {
            self.transaction.hold(self.dsa, outline.dn).ok()?;
        }
        let Transaction { messages, updates, drafts, .. } = &mut *self.transaction;
        let replacements = self.replacing.of_operation(outline)?;
        let known = Known { target: *target, keys: self.keys, sequence: self.sequence };
        let at = *updates as usize;
        drafts.draft_member(self.read_point, &known, replacements, self.cache, at)?;
        outline.put_without_controls(update.frame(), messages);
        *updates += 1;
        Some(outline.id)
    }
}

/// Has an update one control, a regular one that says which transaction it belongs to?
#[inline]
fn names_only(update: &Pending<'_>) -> bool {
    let mut controls = Controls::of(update.frame()).iter();
    let first = controls.next();
    controls.next().is_none()
        && first.is_some_and(|control| {
            control.oid == transaction_specification::OID && control.critical && control.value.is_some()
        })
}

/// Judges one update, whatever it is.
#[cold]
fn judge(
    session: &mut Session,
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    update: &Pending<'_>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    let message = match update.decode() {
        Ok(message) => message,
        Err(error) => {
            let culprit = update.outline.as_ref().map_or(0, |outline| outline.id);
            match answer_malformed(&error, out) {
                true => transaction.doom(culprit, &out[begin..]),
                false => refuse_malformed(session, &error, out),
            }
            return;
        }
    };
    count_operation(parts.counters, &message.request);
    if !is_accepted(transaction, parts, &message, update, out) {
        transaction.doom(message.id, &out[begin..]);
    }
}

/// Judges an update and answers it.
fn is_accepted(
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    message: &Message<'_>,
    update: &Pending<'_>,
    out: &mut Vec<u8>,
) -> bool {
    let requested = match control::requested(&message.request, message.controls) {
        // RFC 5805 section 2.2: who acts is said at the begin.
        Ok(requested) if requested.proxied().is_some() => {
            Err(ControlError::NotHere(proxied_authorization::OID))
        }
        requested => requested,
    };
    let requested = match requested {
        Ok(requested) => requested,
        Err(error) => {
            control::refuse(message, error, out);
            return false;
        }
    };
    let asks_for_hidden = controlled::asks_for_hidden(parts.dsa, transaction.identity.rights, &requested);
    let refusal = match asks_for_hidden {
        true => Some(controlled::HIDDEN),
        false => refusal(transaction, parts, update)
            .or_else(|| permission::of_name(parts.dsa, &transaction.identity).err())
            .or_else(|| refusal_of_own_password(transaction, parts, message))
            .or_else(|| permission::refusal(parts.dsa, &transaction.identity, update)),
    };
    if let Some((code, text)) = refusal {
        outcome::say(out, message.id, response_tag(message), code, text);
        return false;
    }
    if let Some((code, text)) = admission::refusal(parts.dsa.shard.schema(), message, &requested) {
        outcome::say(out, message.id, response_tag(message), code, &text);
        return false;
    }
    match &message.request {
        Request::Extended(request) => password::change(transaction, parts, message, request.value, out),
        _ => {
            let identity = transaction.identity.clone();
            match Effective::to_write(&parts.dsa.rules, &identity) {
                Ok(effective) => {
                    let update = (message, update.frame(), &requested);
                    evaluate(transaction, effective, parts, update, out)
                }
                Err((code, text)) => {
                    outcome::say(out, message.id, response_tag(message), code, text);
                    false
                }
            }
        }
    }
}

/// A user changes its own password by a modify only by itself.
fn refusal_of_own_password(
    transaction: &Transaction,
    parts: &Parts<'_>,
    message: &Message<'_>,
) -> Option<(ResultCode, &'static str)> {
    let dsa = parts.dsa;
    if dsa.rules.may_write(transaction.identity.rights) || transaction.identity.entry.is_none() {
        return None;
    }
    let text = "in a transaction a user changes its own password by the password modify operation";
    own_password::asked(dsa.shard.schema(), message).map(|_| (ResultCode::InsufficientAccessRights, text))
}

/// Why an update cannot be one of this transaction, whatever it does.
fn refusal(
    transaction: &mut Transaction,
    parts: &Parts<'_>,
    update: &Pending<'_>,
) -> Option<(ResultCode, &'static str)> {
    let settings = &parts.dsa.transactions;
    let bytes = (transaction.messages.len() + update.frame().len()) as u64;
    if transaction.updates >= settings.updates_max() {
        return Some((ResultCode::AdminLimitExceeded, "the transaction has reached txn-updates-max"));
    }
    if bytes > settings.bytes_max() {
        return Some((ResultCode::AdminLimitExceeded, "the transaction has reached txn-bytes-max"));
    }
    if update.is_about_config() && update::is_config(parts.dsa, update) {
        return Some((
            ResultCode::UnwillingToPerform,
            "entries below cn=config cannot be changed in a transaction",
        ));
    }
    // Who may change nothing takes nothing from anybody: what it asks for is refused below.
    if parts.dsa.transactions.ranks()
        && parts.dsa.rules.may_write(transaction.identity.rights)
        && super::names(update).iter().any(|dn| transaction.hold(parts.dsa, dn).is_err())
    {
        return Some((ResultCode::Busy, super::IN_THE_WAY));
    }
    None
}

/// Applies an update in the transaction's overlay and accepts it if it succeeds there.
pub(super) fn evaluate(
    transaction: &mut Transaction,
    effective: Effective<'_>,
    parts: &mut Parts<'_>,
    (message, frame, requested): (&Message<'_>, &[u8], &Requested<'_>),
    out: &mut Vec<u8>,
) -> bool {
    let reads = requested.rare.as_deref().map_or(0, control::Rare::reads);
    if transaction.reads + reads > READ_ENTRIES_MAX {
        let text = "the limit of pre-reads and post-reads in a transaction is reached";
        outcome::say(out, message.id, response_tag(message), ResultCode::AdminLimitExceeded, text);
        return false;
    }
    let Parts { dsa, reader, scratch, now, .. } = parts;
    let pin = reader.pin();
    let base = pin.read_point();
    if let Err((code, text)) = lay_over(transaction, (dsa, base, scratch, *now)) {
        outcome::say(out, message.id, response_tag(message), code, text);
        return false;
    }
    let Transaction { adds, overlay, .. } = &mut *transaction;
    let overlay = overlay.as_mut().expect("there is one now");
    let mut evaluation = Evaluation { dsa, overlay, base, scratch, now: *now, effective };
    let begin = out.len();
    if !evaluation.run(message, frame.len(), requested, base.late_id(*adds as u32), out) {
        return false;
    }
    if planted::is(faults::OVERLAY_LEAKED) {
        super::commit::leak(dsa, scratch, *now, effective, message);
    }
    let rare = requested.rare.as_deref();
    transaction.reads += reads;
    if reads > 0 {
        // What is read is told at the end (RFC 5805 section 2.3).
        out.truncate(begin);
        outcome::succeed(out, message.id, response_tag(message));
    }
    let keeps = reads > 0 || requested.manage_dsa_it || rare.is_some_and(|rare| rare.assertion.is_some());
    transaction.accept(frame, keeps, matches!(message.request, Request::Add(_)));
    true
}

fn response_tag(message: &Message<'_>) -> u8 {
    tag::response_to(message.request.tag()).expect("updates have answers")
}

/// Makes the overlay of a transaction if there is none yet.
///
/// # Errors
/// Code and text of the refusal when there is no address space.
pub(super) fn lay_over(
    transaction: &mut Transaction,
    with: (&Dsa, ReadPoint<'_>, &mut Scratch, Now),
) -> Result<(), (ResultCode, &'static str)> {
    let Transaction { messages, identity, overlay, .. } = transaction;
    if overlay.is_none() {
        *overlay = overlay_of(messages, Effective::of_transaction(identity), with);
    }
    let text = "there is no memory for this update in a transaction; try it outside of one, or later";
    if overlay.is_some() { Ok(()) } else { Err((ResultCode::Busy, text)) }
}

/// A new overlay, with everything in it that was only drafted so far. `None` when there is no address space.
fn overlay_of(
    messages: &[u8],
    effective: Effective<'_>,
    (dsa, base, scratch, now): (&Dsa, ReadPoint<'_>, &mut Scratch, Now),
) -> Option<Box<Overlay>> {
    let mut overlay = Box::new(Overlay::new(&dsa.shard, OVERLAY_BYTES_MAX).ok()?);
    let mut answers = Vec::new();
    for frame in journal::messages(messages) {
        let message = Message::decode(frame).ok()?;
        let overlay = &mut *overlay;
        let mut evaluation = Evaluation { dsa, overlay, base, scratch, now, effective };
        // What another client has changed since is found out at the end.
        evaluation.run(&message, frame.len(), &Requested::default(), 0, &mut answers);
        answers.clear();
    }
    Some(overlay)
}
