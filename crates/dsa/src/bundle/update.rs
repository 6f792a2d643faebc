//! The updates of a bundle. Each passes five stages, in this order:
//!
//! ```text
//! classify    what it is: decoded here, with its controls, and not again before the log
//! authorize   as whom it is applied, and whether that identity may
//! prepare     what it needs of the directory as it is now; its prepared write
//! submit      to the log with its neighbours, or straight to the next stage without a log
//! apply       in the writer's role: installed, or decoded and applied
//! ```
//! An update that must not go with those before it (another identity's, a change of a password or of the configuration, one that is
//! refused) waits until these are applied. The session keeps it decoded ([`Suspended`]) and goes on with it, at the second stage, before
//! it takes more input.
//!
//! Most updates need no decoding to pass the first two: [`Door`] tells which, and may only say yes. What can be done before the
//! writer's role is taken is done before, for other threads wait for it.

pub(super) mod apply;
pub(super) mod authorize;
mod change;
mod classify;
mod door;
mod no_op;
pub(super) mod prepare;
pub(super) mod submit;

pub(super) use self::authorize::authorize_proxied;
pub(super) use self::change::write_state;
pub(crate) use self::classify::Suspended;
pub(super) use self::classify::{Classified, Kind, Request, classify};
use self::door::Door;
use super::deferred;
use super::group::{Group, Pending, gather};
use super::{noted, transaction};
use crate::client_memory::Kept;
use crate::control::update::response_to;
use crate::control::{self, ControlError, Rare, Requested};
use crate::journal::{UPDATES_BYTES_SOFT_MAX, messages};
use crate::op;
use crate::op::chained::{self, Step};
use crate::op::password_values::Needs;
use crate::outcome;
use crate::password::policies::Verdict;
use crate::referral;
use crate::session::{ActingIdentity, Session, SuspendedUpdate};
use crate::tree_delete::{self, Tree};
use crate::worker::Parts;
use model::ResultCode;
use proto::Outline;
use proto::control::no_op as no_op_control;
use proto::control::password_policy::PolicyResponse;
use proto::control::read_entry;
use proto::message;
use std::borrow::Cow;

/// Code and text of a refusal.
type Refusal = (ResultCode, Cow<'static, str>);

/// What became of an update on its way to the log.
/// The stages before the log answer with this. It says who acts next on the update, so that answers keep the order of requests.
enum Admission {
    /// It goes with those before it.
    Joins,
    /// As [`Admission::Joins`], and none goes with it that comes after.
    JoinsLast,
    /// It was answered, or submitted by itself.
    Done,
    /// What is collected must be applied before anything is done about it.
    Barrier,
    /// It goes with those before it, in another form than it was sent: a whole message.
    Rewritten(Vec<u8>),
    /// It waits for passwords to be verified or stored.
    Later,
    /// A part of it was submitted by itself.
    InParts(submit::Submitted),
    /// Reads in front of it cannot wait with it ([`super::leading`]). Nothing is collected, and nothing done about it.
    Unfit,
}

/// How far a run of updates came.
/// Both numbers are needed: an update may be taken without being collected (it was answered), and what is collected may have to
/// go though nothing was taken (the next update must not go with it).
pub(super) struct Progress {
    /// How many are answered, collected or kept by the session.
    pub(super) taken: usize,
    /// What the session has collected must be submitted before the next request is looked at.
    pub(super) must_submit: bool,
}

impl Progress {
    fn of(taken: usize) -> Progress {
        Progress { taken, must_submit: false }
    }

    fn submit(taken: usize) -> Progress {
        Progress { taken, must_submit: true }
    }
}

/// Runs updates that follow each other, as one batch, or collects them for the log.
/// Returns when the run is done, when enough is collected for one parcel of the log, or at an update that must not go with those before it.
pub(super) fn run(
    session: &mut Session,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> Progress {
    let is_logged = parts.dsa.journal.get().is_some();
    // Without a log there is no parcel to fill: the group alone bounds the batch.
    let bytes_max = if is_logged { UPDATES_BYTES_SOFT_MAX } else { usize::MAX };
    // A batch outlives this call: the updates of several runs go together if only reads stand between them.
    session.batch.begin();
    let mut bytes = session.batch.bytes();
    // What is the same for all of them is looked at once. It is made anew when an update joins that changed the identity they are applied as.
    let mut door = Door::of(session, parts.dsa, &parts.scratch.views);
    // `updates[..count]` passed the stages before the log and are not submitted yet. Whatever ends the run submits them first.
    let mut count = 0;
    while count < updates.len() {
        if bytes >= bytes_max {
            submit::accepted(session, parts, &updates[..count], out);
            return Progress::submit(count);
        }
        let update = &updates[count];
        if !door.admits(update) {
            // Mostly a transaction's updates come one after the other, without others between: they have a short way of their own.
            if transaction::is_prepared(session, parts, update) {
                // Plain updates that came before are answered before the transaction's.
                if count > 0 || !session.batch.is_empty() {
                    submit::accepted(session, parts, &updates[..count], out);
                    return Progress { taken: count, must_submit: is_logged };
                }
                let taken = transaction::take_prepared(session, parts, updates, out);
                // None: the stages find out why it cannot be prepared, and judge it.
                if taken > 0 {
                    return Progress::of(taken);
                }
            }
            match look(session, parts, &updates[..count], update, out) {
                Admission::Joins => door = Door::of(session, parts.dsa, &parts.scratch.views),
                Admission::JoinsLast => {
                    submit::accepted(session, parts, &updates[..=count], out);
                    return Progress { taken: count + 1, must_submit: submit::is_closed(session) };
                }
                Admission::Done | Admission::Rewritten(_) | Admission::Later => {
                    return Progress { taken: count + 1, must_submit: submit::is_closed(session) };
                }
                // Taken, though nothing is decided of it, or not all of it: the session keeps it.
                Admission::Barrier | Admission::InParts(_) => return Progress::submit(count + 1),
                Admission::Unfit => {
                    session.behind.asks = true;
                    return Progress::submit(count);
                }
            }
        }
        bytes += update.frame().len();
        count += 1;
    }
    submit::accepted(session, parts, updates, out);
    Progress::of(count)
}

/// Takes an update through the stages before the log. `before`: those that were admitted and are not yet collected or applied; they are
/// unless this one joins them. If it must wait for what is collected the session keeps it, decoded.
/// An update is decoded here once. Where it may have to wait it is decoded from a copy that outlives the input; else in place, for the
/// copy would cost more than the decoding.
#[cold]
fn look(
    session: &mut Session,
    parts: &mut Parts<'_>,
    before: &[Pending<'_>],
    update: &Pending<'_>,
    out: &mut Vec<u8>,
) -> Admission {
    let is_next = before.is_empty() && session.batch.is_empty();
    // Nothing is on its way before the first, so it is never a barrier. Reads that lead want to be answered before it, so it is not the first then.
    let is_first = is_next && session.mixed.marks.is_empty();
    if is_first || parts.dsa.journal.get().is_none() {
        let classified = classify(parts.dsa, update.frame());
        let mut before = before;
        let mut admission = admit(session, parts, &classified, is_first, out);
        if matches!(admission, Admission::Barrier) {
            // Without a log nothing is to be waited for.
            submit::accepted(session, parts, std::mem::take(&mut before), out);
            session.batch.begin();
            admission = admit(session, parts, &classified, true, out);
            if matches!(admission, Admission::Joins | Admission::JoinsLast) {
                submit::accepted(session, parts, std::slice::from_ref(update), out);
                return Admission::Done;
            }
        }
        match admission {
            Admission::Rewritten(ref message) => {
                submit::accepted(session, parts, before, out);
                accept_rewritten(session, parts, message, out);
            }
            Admission::InParts(submitted) => {
                assert!(before.is_empty(), "a tree delete is the first of its batch");
                parts.counters.count_operation(&message::Request::Delete(b""));
                suspend(session, parts, Suspended::classify(parts.dsa, update.frame()));
                submit::keep_part(session, submitted, out);
                return Admission::Barrier;
            }
            Admission::Later => {
                assert!(before.is_empty(), "only the first of a batch waits for passwords");
                suspend(session, parts, Suspended::classify(parts.dsa, update.frame()));
                wait_for_passwords(session, parts);
            }
            _ => {}
        }
        return admission;
    }
    // With a log and something before it the update may have to wait, and the input is gone by then.
    let suspended = Suspended::classify(parts.dsa, update.frame());
    let admission = admit(session, parts, suspended.borrow_dependent(), is_first, out);
    if matches!(admission, Admission::Barrier) {
        if is_next {
            return Admission::Unfit;
        }
        submit::accepted(session, parts, before, out);
        suspend(session, parts, suspended);
    } else if let Admission::Rewritten(message) = &admission {
        submit::accepted(session, parts, before, out);
        accept_rewritten(session, parts, message, out);
    }
    admission
}

/// Keeps an update until it can go on.
fn suspend(session: &mut Session, parts: &Parts<'_>, update: Suspended) {
    // Counted as memory of the client, like input that it has not completed.
    let mut kept = Kept::new(&parts.dsa.client_memory);
    kept.set(update.borrow_owner().len(), session.is_bound());
    assert!(session.suspended.is_none(), "a session keeps one update, and takes no other before it is done");
    session.suspended = Some(Box::new(SuspendedUpdate { update, tree: None, _kept: kept }));
}

/// Makes a session wait for what its suspended update lacks.
fn wait_for_passwords(session: &mut Session, parts: &mut Parts<'_>) {
    let account = parts.dsa.account(&session.identity.dn);
    deferred::wait(session, &mut parts.scratch.passwords, account, parts.now);
}

/// Takes an update in another form than it was sent.
fn accept_rewritten(session: &mut Session, parts: &mut Parts<'_>, message: &[u8], out: &mut Vec<u8>) {
    let mut group = Group::new();
    gather(message, 0, &mut group);
    assert!(group.len() == 1, "an update is rewritten as one message");
    submit::accepted(session, parts, &group, out);
}

/// Goes on with an update that waited until what was collected before it was applied.
/// Its message was counted with the client's memory since it was kept; that ends with this.
#[cold]
pub(super) fn resume(session: &mut Session, parts: &mut Parts<'_>, out: &mut Vec<u8>) {
    assert!(session.batch.is_empty(), "a suspended update is the first of its batch");
    // It is kept on, and comes here again when there is room on the way to the log.
    if !session.is_admitted(&parts.dsa.throttle) {
        return;
    }
    let Some(mut suspended) = session.suspended.take() else { return };
    if let Some(deferred) = session.deferred.take() {
        parts.scratch.passwords.begin_again(deferred.outcomes);
    }
    session.batch.begin();
    match admit(session, parts, suspended.update.borrow_dependent(), true, out) {
        Admission::Joins | Admission::JoinsLast => {
            accept_rewritten(session, parts, suspended.update.borrow_owner(), out);
        }
        Admission::Rewritten(message) => accept_rewritten(session, parts, &message, out),
        Admission::Later => {
            session.suspended = Some(suspended);
            wait_for_passwords(session, parts);
        }
        Admission::InParts(submitted) => {
            if suspended.tree.is_none() {
                suspended.tree = Some(Tree::default());
                parts.counters.count_operation(&message::Request::Delete(b""));
            }
            session.suspended = Some(suspended);
            submit::keep_part(session, submitted, out);
        }
        Admission::Done => {}
        Admission::Barrier | Admission::Unfit => unreachable!("nothing is collected before it"),
    }
    if submit::is_closed(session) {
        submit::submit_collected(session, parts.dsa);
    }
    // Nothing of it may be found by another request of this thread.
    parts.scratch.passwords.end();
}

/// Takes a decoded update through the stages before the log. `is_first`: nothing is collected that comes before it.
fn admit(
    session: &mut Session,
    parts: &mut Parts<'_>,
    classified: &Classified<'_>,
    is_first: bool,
    out: &mut Vec<u8>,
) -> Admission {
    assert!(!is_first || session.batch.is_empty(), "nothing is collected before the first of a batch");
    // Another server was asked for it and may have made it, so nothing of it is judged any more.
    if let (true, Ok(request)) = (is_first, &classified.request)
        && chained::is_answered(&parts.scratch.passwords, &request.message, out)
    {
        parts.counters.count_operation(&request.message.request);
        return Admission::Done;
    }
    // First of all: what a malformed or forbidden update of a transaction comes to is decided by the transaction.
    if transaction::concerns(session, parts.dsa, classified) {
        return match is_first {
            true => {
                transaction::run(session, parts, classified, out);
                if parts.scratch.passwords.lacks() { Admission::Later } else { Admission::Done }
            }
            false => Admission::Barrier,
        };
    }
    let request = match &classified.request {
        // What is answered at once comes after the answers to what was collected before.
        Err(_) if !is_first => return Admission::Barrier,
        Err(error) => {
            session.refuse_malformed(error, out);
            return Admission::Done;
        }
        Ok(request) => request,
    };
    match pass(session, parts, request, is_first, out) {
        Ok(admission) => admission,
        // It may go through when those before it are applied, so it is judged again then, and only then counted and answered.
        Err(_) if !is_first => {
            // It asks again when it is the first.
            parts.scratch.passwords.end();
            Admission::Barrier
        }
        Err(_) if parts.scratch.passwords.lacks() => Admission::Later,
        Err(refused) => {
            let busy = parts.scratch.passwords.refusal();
            let refused = busy.map_or(refused, Refused::from);
            parts.counters.count_operation(&request.message.request);
            let said = std::mem::take(&mut parts.scratch.passwords.verdict).response;
            refused.answer_with(request, &said, out);
            Admission::Done
        }
    }
}

/// Why an update goes no further.
/// It is answered by its caller, in the order of requests, and not where it is found.
pub(super) enum Refused<'a> {
    Control(ControlError<'a>),
    Refusal(Refusal),
    /// The whole answer.
    Answer(Vec<u8>),
    /// The whole answer, which refers to another server. A transaction cannot go there.
    Elsewhere(Vec<u8>),
}

impl From<(ResultCode, &'static str)> for Refused<'_> {
    fn from((code, text): (ResultCode, &'static str)) -> Self {
        Refused::Refusal((code, text.into()))
    }
}

impl Refused<'_> {
    /// Answers a request.
    pub(super) fn answer(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.answer_with(request, &PolicyResponse::default(), out);
    }

    /// As [`Refused::answer`]. `said`: what a password policy says, which goes to a client that wants to know.
    fn answer_with(&self, request: &Request<'_>, said: &PolicyResponse, out: &mut Vec<u8>) {
        let message = &request.message;
        match self {
            Refused::Control(error) => control::refuse(message, *error, out),
            Refused::Answer(answer) | Refused::Elsewhere(answer) => out.extend_from_slice(answer),
            Refused::Refusal((code, text)) => {
                let response = response_to(&message.request);
                let asks = request.requested().is_ok_and(|requested| requested.asks_policy());
                outcome::say_with_policy(out, message.id, response, (*code, text), asks.then_some(said));
            }
        }
    }
}

/// Takes an update that belongs to no transaction through *authorize* and *prepare*. It changes nothing but the batch's identity, so an
/// update that turns out to be a barrier can be judged again later.
fn pass<'a>(
    session: &mut Session,
    parts: &mut Parts<'_>,
    request: &Request<'a>,
    is_first: bool,
    out: &mut Vec<u8>,
) -> Result<Admission, Refused<'a>> {
    // Nothing that a policy said of another request.
    parts.scratch.passwords.verdict = Verdict::default();
    authorize::of_use(parts, &session.identity, request)?;
    let requested = request.requested()?;
    authorize::of_connection(parts.dsa, parts.security, request)?;
    let authorization_id = requested.proxied();
    // One submission to the log is of one identity: the command carries it, and the applier applies as that identity.
    if is_first {
        session.batch.acting = match authorization_id {
            None => None,
            Some(authorization_id) => {
                let identity = authorize_proxied(session, parts, authorization_id)?;
                let authorization_id = authorization_id.to_vec();
                Some(Box::new(ActingIdentity { identity, authorization_id, change: None }))
            }
        };
    } else if session.batch.acting.as_ref().map(|acting| &acting.authorization_id[..]) != authorization_id {
        // Those that are collected are another identity's.
        return Ok(Admission::Barrier);
    }
    let identity = session.batch.acting.as_ref().map_or(&session.identity, |acting| &acting.identity);
    // A copy, for what submits a change needs the session.
    let identity = identity.clone();
    // An administrator changes any password as any other attribute; for a user the change of its own is a right of its own.
    let may_be_own = || !identity.is_root && identity.entry.is_some();
    if parts.dsa.chains() && matches!(request.kind, Kind::Entry | Kind::OwnPassword) {
        // What is asked cannot be taken back, and a client has its answers in the order of its requests.
        if !is_first {
            return Ok(Admission::Barrier);
        }
        match authorize::reading(parts, |reading| {
            chained::run(reading, &identity, &request.message, requested, out)
        }) {
            Step::Here => {}
            Step::Waits => return Ok(Admission::Later),
            Step::Refused(code, text) => return Err(Refused::Refusal((code, text.into()))),
            Step::Answered => {
                parts.counters.count_operation(&request.message.request);
                return Ok(Admission::Done);
            }
        }
    }
    match &request.kind {
        Kind::Bound(_) => unreachable!("it concerns transactions"),
        // These read the directory to decide what to log, so all before them must be applied.
        Kind::Extended(..) | Kind::Config | Kind::Schema | Kind::SchemaConfig if !is_first => {
            return Ok(Admission::Barrier);
        }
        Kind::OwnPassword if may_be_own() && !is_first => return Ok(Admission::Barrier),
        Kind::Extended(writes, value) => {
            let change = change::of_extended(parts, &identity, request.message.id, (writes, *value))?;
            // A password that was made for it is in the change now, and nowhere else.
            parts.scratch.passwords.end();
            parts.counters.count_operation(&request.message.request);
            change::submit(session, parts, change, out);
            return Ok(Admission::Done);
        }
        Kind::OwnPassword if may_be_own() => {
            if let Some(change) = change::of_modify(parts, &identity, request, requested)? {
                parts.counters.count_operation(&request.message.request);
                change::submit(session, parts, change, out);
                return Ok(Admission::Done);
            }
        }
        _ => {}
    }
    let needs = match request.kind {
        Kind::Config | Kind::Schema | Kind::SchemaConfig => Needs::Nothing,
        _ => op::password_values::needs(parts.dsa, &identity, &request.message.request),
    };
    if needs == Needs::Entry && !is_first {
        return Ok(Admission::Barrier);
    }
    if matches!(request.kind, Kind::Config) {
        refuse_unknown(requested.rare.as_deref().and_then(Rare::critical_for_settings))?;
        parts.counters.count_operation(&request.message.request);
        // Without a change it was answered there: refused, in force already, or only checked.
        let before = out.len();
        let is_checked_only = requested.flags().is_no_op();
        let change =
            op::configure::run(parts.dsa, &identity, (&request.message, is_checked_only), parts.now, out);
        noted::configuration(parts.dsa, session, &request.message.request, &out[before..]);
        if let Some(change) = change {
            submit::settings(session, parts, request.frame, change);
        }
        return Ok(Admission::Done);
    }
    authorize::of_name(parts.dsa, &identity)?;
    if matches!(request.kind, Kind::Schema | Kind::SchemaConfig) {
        refuse_critical(requested)?;
        change::of_schema(session, parts, &identity, request, out)?;
        return Ok(Admission::Done);
    }
    if let Some(answer) = referral::answer_outside(parts.dsa, &request.message) {
        return Err(Refused::Answer(answer));
    }
    let mut conditions = authorize::Conditions::new();
    // Most updates come of those who may change everything, and nothing has to be looked up for these.
    authorize::reading(parts, |reading| {
        conditions = authorize::authorize(reading, &identity, request, requested)?;
        Ok::<_, Refused<'_>>(())
    })?;
    // A command has conditions for all of its updates, so this one goes alone. So does one that is settled by what all before it made.
    if (!conditions.is_empty() || requested.flags().is_settled_before_log()) && !is_first {
        return Ok(Admission::Barrier);
    }
    prepare::check(parts, &identity, request, requested)?;
    if requested.flags().is_tree_delete() {
        if requested.flags().is_no_op() {
            return Err(Refused::Control(ControlError::NotHere(no_op_control::OID)));
        }
        // An entry is read with the answer to its own delete; this one has the answers of many.
        let rare = requested.rare.as_deref();
        if rare.and_then(|rare| rare.pre_read).is_some_and(|read| read.critical) {
            return Err(Refused::Control(ControlError::Unavailable(read_entry::PRE_OID)));
        }
        let planned = authorize::reading(parts, |reading| {
            tree_delete::plan(reading, &identity, &request.message, requested.manage_dsa_it)
        });
        if let Some(part) = planned? {
            for outline in messages(&part.messages).filter_map(Outline::of) {
                transaction::preempt_holders_of(parts.dsa, &identity, outline.dn)?;
            }
            let submitted = submit::part(session, parts, &identity, (request.message.id, part));
            return Ok(Admission::InParts(submitted));
        }
    }
    // Answers with entries are long, and a session's answers have a bound: so many fit into one submission.
    let reads = requested.rare.as_ref().map_or(0, |rare| rare.reads());
    if !submit::has_room_for_reads(session, reads, is_first) {
        return Ok(Admission::Barrier);
    }
    let rewritten = match needs {
        Needs::Nothing => None,
        _ => Some(change::rewrite(parts, &identity, request)?),
    };
    if requested.flags().is_no_op() {
        parts.counters.count_operation(&request.message.request);
        let frame = rewritten.as_deref().unwrap_or(request.frame);
        no_op::run(parts, &identity, frame, requested, out);
        return Ok(Admission::Done);
    }
    session.batch.conditions = conditions;
    if reads > 0 {
        session.batch.reader = parts.scratch.views.reader(identity.requester());
    }
    if let Some(rewritten) = rewritten {
        return Ok(Admission::Rewritten(rewritten));
    }
    if !session.batch.conditions.is_empty() {
        return Ok(Admission::JoinsLast);
    }
    // Without a log the answer is written at once, behind those of the updates before it.
    let is_last = reads > 0 && parts.dsa.journal.get().is_none();
    Ok(if is_last { Admission::JoinsLast } else { Admission::Joins })
}

/// Refuses the critical controls that only an update of an entry knows.
/// Below `cn=config` an assertion or a pre-read has no meaning: it is refused if it is critical, else ignored (RFC 4511 section
/// 4.1.11).
fn refuse_critical<'a>(requested: &Requested<'a>) -> Result<(), Refused<'a>> {
    refuse_unknown(requested.rare.as_deref().and_then(Rare::critical))
}

/// Refuses a control that cannot be honoured with the update, nor ignored.
fn refuse_unknown<'a>(oid: Option<&'static [u8]>) -> Result<(), Refused<'a>> {
    oid.map_or(Ok(()), |oid| Err(Refused::Control(ControlError::Unavailable(oid))))
}
