//! An update of a transaction as it comes in.
//!
//! The short way takes modifies that replace values, as long as nothing but such came before: [`prepare_some`] lays out the new record and
//! keeps message and prepared write. Every other update is judged in the overlay of the transaction ([`judge`]), which is made then,
//! with all updates before it. From then on the overlay judges all of them.
//!
//! Either way the message is kept without the controls that have done their part, so that the command of the log is short.

use super::super::group::{self, Hint, Pending};
use super::super::update::authorize::of_name;
use super::super::update::{self, Classified, Kind, Refused};
use super::change;
use crate::admission::{self, Present};
use crate::context::Reading;
use crate::control::update::{names, response_to};
use crate::control::{self, ControlError, Requested};
use crate::effective::Effective;
use crate::engine::Dsa;
use crate::extension::Writes;
use crate::faults;
use crate::identity::Identity;
use crate::journal::{self, Submission};
use crate::monitor::{MODIFIES, count};
use crate::op::extended;
use crate::op::modify::Replacing;
use crate::outcome::{self, FixedRefusal};
use crate::password::policies::may_be_of_policy;
use crate::session::Session;
use crate::session::security::Security;
use crate::transaction::{ELSEWHERE, Evaluation, Transaction};
use crate::worker::{Parts, Scratch};
use env::planted;
use model::ResultCode;
use model::limits::READ_ENTRIES_MAX;
use proto::control::{Controls, proxied_authorization, transaction_specification};
use proto::message::{Message, Request};
use proto::tag;
use std::borrow::Cow;
use store::overlay::{OVERLAY_BYTES_MAX, Overlay};
use store::{DnCache, Known, ReadPoint, Reader};

/// The refusal of an update by a right that hangs on what the entry holds.
pub(super) const CONTENT: FixedRefusal = (
    ResultCode::InsufficientAccessRights,
    "in a transaction no right counts that depends on the content of the entry",
);

/// Accepts updates as long as each can be prepared. Returns how many.
/// What stops it is not refused here: the stages find out why, and answer.
pub(super) fn prepare_some(
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    // Without hints nothing is known of where the entries are, and to look for them one by one is what the stages do.
    let Parts { dsa, reader, scratch, counters, hinted_at: Some(sequence), .. } = parts else { return 0 };
    // The identity of the transaction counts, which a proxied begin made another than the session's. With an overlay each update is
    // judged there, on top of those before it.
    let class = transaction.identity.requester().class;
    // A class that it does not have any more may have rights that were taken away since: the stages classify it anew.
    if !scratch.views.holds(transaction.identity.class) {
        return 0;
    }
    if !scratch.views.writes_all(class) || !scratch.views.uses_all(class) || transaction.overlay.is_some() {
        return 0;
    }
    // Where the root DN binds by the password of an entry, nobody else may change that entry.
    let is_plain = transaction.identity.is_root || !dsa.root_binds_by_entry();
    // The guard of the root DN's name looks at each DN; that is left to the stages.
    if !is_plain || of_name(dsa, &transaction.identity).is_err() {
        return 0;
    }
    let Scratch { evaluator, keys, .. } = &mut **scratch;
    let pin = reader.pin();
    let read_point = pin.read_point();
    // What is below a referral object is another server's, which the overlay tells.
    // The commit asks again, for one may be added until then.
    if read_point.shard().has_referrals() {
        return 0;
    }
    evaluator.cache.refresh(read_point);
    let mut preparing = Preparing {
        dsa,
        transaction,
        read_point,
        cache: &mut evaluator.cache,
        keys,
        sequence: *sequence,
        replacing: Replacing::new(dsa, read_point.shard().schema()),
        limits: (dsa.transactions.updates_max(), dsa.transactions.bytes_max()),
        naming: &[],
    };
    let mut accepted = 0;
    for (at, update) in updates.iter().enumerate() {
        group::prefetch_next(read_point, updates, at);
        // The order is kept: nothing behind an update that must be judged may be accepted before it.
        let Some(id) = preparing.accept(update) else { break };
        // Answered now: the client learns what the update came to so far, not that it is durable.
        outcome::succeed(out, id, tag::MODIFY_RESPONSE);
        accepted += 1;
    }
    count(&counters.operations[MODIFIES], accepted as u64);
    accepted
}

/// What it takes to prepare updates of a transaction at a read point.
/// Limits and rules are read once for all of them, though an administrator may change them at any time: the next run has the new ones.
struct Preparing<'d, 'u> {
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

impl<'u> Preparing<'_, 'u> {
    /// Accepts an update if it can be prepared. Returns the id of its message.
    /// `None`, and nothing changed but names that are held, if it must be judged in the overlay.
    #[inline]
    fn accept(&mut self, update: &'u Pending<'u>) -> Option<i32> {
        let (Hint::Target(target), Some(outline)) = (&update.hint, &update.outline) else { return None };
        // Any other control may change what the update does, or asks for an answer of its own.
        if !outline.after.is_empty() && outline.after != self.naming {
            only_named(update)?;
            self.naming = outline.after;
        }
        // The same bounds as in `refuse_beyond_limits`, which refuses what this leaves to the stages.
        let (updates_max, bytes_max) = self.limits;
        let Transaction { submission, updates, .. } = &*self.transaction;
        if *updates >= updates_max || (submission.messages.len() + update.frame().len()) as u64 > bytes_max {
            return None;
        }
        // If one later update needs the overlay, all entries must fit into it. So this limit counts as if there were one.
        if self.transaction.submission.prepared_writes.entry_bytes() > OVERLAY_BYTES_MAX {
            return None;
        }
        // Held even if the update cannot be prepared below: the stages hold the same name for it, and a name is taken once.
        if self.dsa.transactions.ranks() {
            self.transaction.hold(self.dsa, outline.dn).ok()?;
        }
        let Transaction { submission, updates, .. } = &mut *self.transaction;
        let Submission { messages, prepared_writes, .. } = &mut **submission;
        // Anything but a replacement by single values is left to the overlay.
        let replacements = self.replacing.of_operation(outline)?;
        // A password is hashed first, and what a policy says is looked at.
        let schema = self.dsa.shard.schema();
        let is_special = |id| {
            id == schema.well_known().user_password
                || may_be_of_policy(schema.attribute_type(id).name().as_bytes())
        };
        if replacements.iter().any(|replacement| is_special(replacement.description.attribute_type)) {
            return None;
        }
        let known = Known { target: *target, keys: self.keys, sequence: self.sequence };
        let at = *updates as usize;
        assert!(at == prepared_writes.len(), "each update has a place among the prepared writes");
        prepared_writes.prepare_member(self.read_point, &known, replacements, self.cache, at)?;
        // The last step: until here a `None` leaves the transaction without this update.
        outline.put_without_controls(update.frame(), messages);
        *updates += 1;
        Some(outline.id)
    }
}

/// The transaction that an update belongs to, if its one control is a regular one that says so.
/// Critical, for a server that did not know the control would else apply the update at once.
#[inline]
pub(super) fn only_named<'a>(update: &Pending<'a>) -> Option<&'a [u8]> {
    let mut controls = Controls::of(update.frame()).iter();
    let first = controls.next().filter(|control| control.oid == transaction_specification::OID)?;
    first.value.filter(|_| first.critical && controls.next().is_none())
}

/// Judges one update, whatever it is.
/// A refusal is remembered by the transaction: it can only be aborted from then on (RFC 5805), and its end says which
/// update it was.
#[cold]
pub(super) fn judge(
    session: &mut Session,
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    classified: &Classified<'_>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    let request = match &classified.request {
        Ok(request) => request,
        Err(error) => {
            match outcome::answer_malformed(error, out) {
                // It belongs to the transaction if its message id could be read; a stream that cannot be followed ends the session.
                true => transaction.abort_reason(error.message_id.unwrap_or_default(), &out[begin..]),
                false => session.refuse_malformed(error, out),
            }
            return;
        }
    };
    // Here, for the short way counts those that it accepts.
    if !parts.scratch.passwords.is_again() {
        parts.counters.count_operation(&request.message.request);
    }
    // Rights are those of now, whatever they were when it began.
    let security = parts.security;
    update::authorize::reading(parts, |reading| reading.classify(&mut transaction.identity, security));
    // A copy: what is decided of rights borrows it while the transaction is changed.
    let identity = transaction.identity.clone();
    let is_accepted = match authorize(transaction, parts, &identity, request) {
        Err(refused) => {
            refused.answer(request, out);
            false
        }
        Ok(Authorized::Extended(writes, value)) => {
            change::accept(transaction, parts, &request.message, (writes, value), out)
        }
        Ok(Authorized::Entry(effective, requested)) => {
            match change::hashed(transaction, parts, &request.message) {
                Ok(None) => {
                    let update = (&request.message, request.frame, requested);
                    evaluate(transaction, effective, parts, update, out)
                }
                Ok(Some(frame)) => {
                    let message = Message::decode(&frame).expect("it was just encoded");
                    evaluate(transaction, effective, parts, (&message, &frame, requested), out)
                }
                Err((code, text)) => {
                    outcome::say(out, request.message.id, response_to(&request.message.request), code, &text);
                    false
                }
            }
        }
    };
    if parts.scratch.passwords.lacks() {
        // It is judged again, and answered then.
        return out.truncate(begin);
    }
    if let Some((code, text)) = parts.scratch.passwords.refusal().filter(|_| !is_accepted) {
        out.truncate(begin);
        outcome::say(out, request.message.id, response_to(&request.message.request), code, text);
    }
    if !is_accepted {
        transaction.abort_reason(request.message.id, &out[begin..]);
    }
}

/// An update that its transaction takes, if it succeeds in the overlay.
/// The borrow shows that rights were decided: only [`authorize`] makes one.
enum Authorized<'r, 'a> {
    /// An extended operation, with its value.
    Extended(&'static Writes, Option<&'a [u8]>),
    /// Any other, with its controls.
    Entry(Effective<'r>, &'r Requested<'a>),
}

/// Takes an update of a transaction through the stages before the overlay.
/// The same stages as those of plain updates, with the transaction's identity. Nothing is changed but names that are held.
fn authorize<'r, 'a>(
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    identity: &'r Identity,
    request: &'r update::Request<'a>,
) -> Result<Authorized<'r, 'a>, Refused<'a>> {
    let dsa = parts.dsa;
    let writes_all = parts.scratch.views.writes_all(identity.requester().class);
    // Controls, limits, rights, schema, names: what depends on the request alone comes first, what changes something comes last.
    update::authorize::of_use(parts, identity, request)?;
    let requested = request.requested()?;
    if requested.proxied().is_some() {
        // RFC 5805 section 2.2: who acts is said at the begin.
        return Err(Refused::Control(ControlError::NotHere(proxied_authorization::OID)));
    }
    if let Some(oid) = requested.flags().outside_transactions() {
        return Err(Refused::Control(ControlError::NotHere(oid)));
    }
    update::authorize::of_connection(dsa, parts.security, request)?;
    refuse_beyond_limits(transaction, dsa, request.frame.len())?;
    match request.kind {
        Kind::Bound(_) => unreachable!("it is no member"),
        // A change of settings is a submission of its own, and is in force when that is applied.
        Kind::Config => {
            let text = "entries below cn=config cannot be changed in a transaction";
            return Err((ResultCode::UnwillingToPerform, text).into());
        }
        Kind::Schema | Kind::SchemaConfig => {
            let text = "the schema cannot be changed in a transaction";
            return Err((ResultCode::UnwillingToPerform, text).into());
        }
        // Its rights are decided by the operation itself, which knows whose entry it changes.
        Kind::Extended(writes, value) => {
            refuse_stranger(&request.message)?;
            of_name(dsa, identity)?;
            return Ok(Authorized::Extended(writes, value));
        }
        Kind::OwnPassword if identity.entry.is_some() && !writes_all => {
            let text = "in a transaction a user changes its own password by the password modify operation";
            return Err((ResultCode::InsufficientAccessRights, text).into());
        }
        Kind::OwnPassword | Kind::Entry => {}
    }
    of_name(dsa, identity)?;
    let decided = match writes_all {
        true => update::authorize::reading(parts, |reading| {
            update::authorize::authorize(reading, identity, request, requested).map(drop)
        }),
        false => authorize_inside(transaction, parts, identity, request, requested),
    };
    match decided {
        Err(Refused::Elsewhere(_)) => return Err((ResultCode::AffectsMultipleDsas, ELSEWHERE).into()),
        decided => decided?,
    }
    let effective = Effective::of_transaction(identity);
    // What the schema refuses whatever the entry is. The rest of the schema is asked in the overlay.
    let (schema, present) = (dsa.shard.schema(), Present::of(dsa));
    if let Some((code, text)) = admission::refusal(schema, present, &request.message, requested) {
        return Err(Refused::Refusal((code, text.into())));
    }
    // Last, so that an update that is refused anyway preempts nobody.
    match names(&request.message.request).all(|dn| transaction.hold(dsa, &dn).is_ok()) {
        true => Ok(Authorized::Entry(effective, requested)),
        false => Err((ResultCode::Busy, super::CONFLICT).into()),
    }
}

/// Decides whether an identity may make an update of entries as the transaction has made them so far.
/// The overlay has what the transaction has made so far, so a rule on content sees that: one must not take an entry out
/// of what it may change, or into it, by an update before. What the decision hung on cannot be a condition of the command, which
/// has many updates; so a right that hangs on content is none in a transaction.
fn authorize_inside<'a>(
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    identity: &Identity,
    request: &update::Request<'a>,
    requested: &Requested<'a>,
) -> Result<(), Refused<'a>> {
    let Parts { dsa, reader, scratch, now, security, .. } = parts;
    let pin = reader.pin();
    let base = pin.read_point();
    scratch.evaluator.cache.refresh(base);
    let mut reading = Reading { dsa, read_point: base, scratch, now: *now, security: *security };
    ensure_overlay(transaction, &mut reading)?;
    let overlay = transaction.overlay.as_mut().expect("there is one now");
    // The requester's own entry, too: without it no rule could tell whether an entry names the requester.
    let own = identity.own_entry(base).map(|own| base.dn(&own, &mut reading.scratch.evaluator.cache));
    for dn in names(&request.message.request).chain(own.map(Cow::Owned)) {
        let brought = overlay.bring(base, &dn, &[]);
        brought.map_err(|refused| Refused::Refusal((refused.result_code(), refused.to_string().into())))?;
    }
    let shard = std::sync::Arc::clone(overlay.shard());
    let Some(mut reader) = Reader::register(&shard) else { return Err(outcome::NO_READER.into()) };
    let pin = reader.pin();
    // What the thread remembers are numbers of the directory, but for rights.
    let mut inside = Scratch::default();
    std::mem::swap(&mut inside.views, &mut reading.scratch.views);
    let read_point = pin.read_point();
    let mut looking = Reading { dsa, read_point, scratch: &mut inside, now: *now, security: *security };
    let decided = update::authorize::authorize(&mut looking, identity, request, requested);
    std::mem::swap(&mut inside.views, &mut reading.scratch.views);
    match decided?.is_empty() {
        true => Ok(()),
        // The command of a transaction has no conditions on what its own updates make of an entry.
        false => Err(CONTENT.into()),
    }
}

/// Refuses an extended operation that is no member of transactions, where it would be one without naming it.
fn refuse_stranger(message: &Message<'_>) -> Result<(), FixedRefusal> {
    let Request::Extended(request) = &message.request else { return Ok(()) };
    match extended::find(request.oid).is_some_and(|known| known.knows(transaction_specification::OID)) {
        true => Ok(()),
        false => Err((ResultCode::UnwillingToPerform, "this operation cannot be in a transaction")),
    }
}

/// May the transaction have one more update of so many bytes?
/// The bounds keep a commit short: other writers wait for all of it.
fn refuse_beyond_limits(
    transaction: &Transaction,
    dsa: &Dsa,
    frame_bytes: usize,
) -> Result<(), FixedRefusal> {
    let settings = &dsa.transactions;
    if transaction.updates >= settings.updates_max() {
        return Err((ResultCode::AdminLimitExceeded, "the transaction has reached txn-updates-max"));
    }
    if (transaction.submission.messages.len() + frame_bytes) as u64 > settings.bytes_max() {
        return Err((ResultCode::AdminLimitExceeded, "the transaction has reached txn-bytes-max"));
    }
    Ok(())
}

/// Applies an update in the transaction's overlay and accepts it if it succeeds there.
/// `false` if it failed there; the answer in `out` says why.
pub(super) fn evaluate(
    transaction: &mut Transaction,
    effective: Effective<'_>,
    parts: &mut Parts<'_>,
    (message, frame, requested): (&Message<'_>, &[u8], &Requested<'_>),
    out: &mut Vec<u8>,
) -> bool {
    // A pre-read and a post-read count one each.
    let reads = requested.rare.as_deref().map_or(0, control::Rare::reads);
    // All of them come back in the one answer to the end, which must not be longer than a message may be.
    if transaction.reads + reads > READ_ENTRIES_MAX {
        let text = "the limit of pre-reads and post-reads in a transaction is reached";
        outcome::say(out, message.id, response_to(&message.request), ResultCode::AdminLimitExceeded, text);
        return false;
    }
    let Parts { dsa, reader, scratch, now, .. } = parts;
    // A newer read point than that of the update before is no harm: what was copied into the overlay stays as it was, and the commit
    // judges all of them anew at one state.
    let pin = reader.pin();
    let base = pin.read_point();
    let mut reading = Reading { dsa, read_point: base, scratch, now: *now, security: Security::INTERNAL };
    if let Err((code, text)) = ensure_overlay(transaction, &mut reading) {
        outcome::say(out, message.id, response_to(&message.request), code, text);
        return false;
    }
    let Transaction { submission, overlay, .. } = &mut *transaction;
    let overlay = overlay.as_mut().expect("there is one now");
    let mut evaluation = Evaluation::new(&mut reading, overlay, effective, false);
    let begin = out.len();
    // A new entry gets an id for the overlay alone: it is given its own when the transaction is applied.
    if !evaluation.run(message, frame.len(), requested, base.late_id(submission.adds as u32), out) {
        return false;
    }
    if planted::is(faults::OVERLAY_LEAKED) {
        super::commit::leak(&mut reading, effective, message);
    }
    let rare = requested.rare.as_deref();
    transaction.reads += reads;
    if reads > 0 {
        // What is read is reported at the end (RFC 5805 section 2.3).
        out.truncate(begin);
        outcome::succeed(out, message.id, response_to(&message.request));
    }
    // These controls have a say in what applying it comes to, so the log needs them.
    let has_say = |rare: &control::Rare<'_>| rare.assertion.is_some() || rare.flags.have_say();
    let keeps = reads > 0 || requested.manage_dsa_it || rare.is_some_and(has_say);
    transaction.accept(frame, keeps, matches!(message.request, Request::Add(_)));
    true
}

/// Makes the overlay of a transaction if there is none yet.
///
/// # Errors
/// Code and text of the refusal when there is no address space.
/// A transaction has none as long as all of its updates are prepared writes: an overlay costs a copy of each entry.
pub(super) fn ensure_overlay(
    transaction: &mut Transaction,
    base: &mut Reading<'_>,
) -> Result<(), FixedRefusal> {
    let Transaction { submission, identity, overlay, .. } = transaction;
    if overlay.is_none() {
        *overlay = overlay_of(&submission.messages, Effective::of_transaction(identity), base);
    }
    let text = "there is no memory for this update in a transaction; try it outside of one, or later";
    if overlay.is_some() { Ok(()) } else { Err((ResultCode::Busy, text)) }
}

/// A new overlay, with everything in it that was only prepared so far. `None` when there is no address space.
/// The same updates at a newer read point: what was prepared may fail here by now, which the commit will find out, too.
fn overlay_of(messages: &[u8], effective: Effective<'_>, base: &mut Reading<'_>) -> Option<Box<Overlay>> {
    let mut overlay = Box::new(Overlay::new(&base.dsa.shard, OVERLAY_BYTES_MAX).ok()?);
    let mut evaluation = Evaluation::new(base, &mut overlay, effective, false);
    let mut answers = Vec::new();
    for frame in journal::messages(messages) {
        let message = Message::decode(frame).ok()?;
        // What another client has changed since is found out at the end.
        // Only modifies without other controls are prepared, so there are no controls to look at and no id is needed.
        evaluation.run(&message, frame.len(), &Requested::default(), 0, &mut answers);
        answers.clear();
    }
    Some(overlay)
}
