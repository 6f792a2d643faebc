//! Fourth stage: updates that were admitted go to the log, those of a bundle together; without a log they are applied at once.
//!
//! A session collects updates in its batch until the bundle ends, a parcel is full, or something must not go with them. Then all of them are
//! one submission: one place in the queue, one ticket, one wake-up.

use super::super::group::{Group, Pending, gather};
use super::{apply, prepare::prepare};
use crate::bundle::transaction::{self, Ending, WriteSet};
use crate::effective::Effective;
use crate::engine::Dsa;
use crate::extension::Change;
use crate::identity::Identity;
use crate::journal::{Journal, Submission, Updates};
use crate::op;
use crate::session::{ActingIdentity, Session};
use crate::settings::SettingsChange;
use crate::tree_delete::Part;
use crate::worker::Parts;
use model::limits::READ_ENTRIES_MAX;
use std::sync::Arc;

/// Takes updates of one identity that follow each other and were admitted: they are collected for the log, or applied at once without
/// one.
/// Everything in `updates` has passed the stages before; nothing is judged here.
pub(super) fn accepted(
    session: &mut Session,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) {
    if updates.is_empty() {
        return;
    }
    if parts.dsa.journal.get().is_none() {
        let identity = session.batch.acting.as_ref().map_or(&session.identity, |acting| &acting.identity);
        return apply::apply(Effective::authorized(identity), parts, updates, out);
    }
    collect(session, parts, updates);
    let conditions = std::mem::take(&mut session.batch.conditions);
    under(session, conditions);
    if let Some(reader) = session.batch.reader.take()
        && let Some(submission) = &mut session.batch.submission
    {
        submission.reader = Some(reader);
    }
}

/// Must none go with what was collected? It has conditions, which are about all of its updates.
/// A condition that is false refuses the whole command, so an update that came behind would be refused for the
/// condition of another.
pub(super) fn is_closed(session: &Session) -> bool {
    session.batch.submission.as_ref().is_some_and(|submission| !submission.conditions.is_empty())
}

/// Puts conditions on what was collected.
/// Conditions are put on when the messages are collected, and never on a submission that has some.
pub(super) fn under(session: &mut Session, conditions: Vec<u8>) {
    if let Some(submission) = &mut session.batch.submission
        && !conditions.is_empty()
    {
        assert!(submission.conditions.is_empty(), "an update with conditions goes alone");
        submission.conditions = conditions;
    }
}

/// Do the entries that one more update brings back fit with those of the updates collected before? The first always does.
/// All answers of a submission are kept until it is applied as a whole, so the entries in them have a bound.
pub(super) fn has_room_for_reads(session: &mut Session, reads: usize, is_first: bool) -> bool {
    let all = if is_first { reads } else { session.batch.reads + reads };
    let has_room = is_first || all <= READ_ENTRIES_MAX;
    if has_room {
        session.batch.reads = all;
    }
    has_room
}

/// Puts updates with those that will be logged together.
/// The messages are copied as they came: the log has what the client sent.
pub(super) fn collect(session: &mut Session, parts: &mut Parts<'_>, updates: &[Pending<'_>]) {
    // Memory of the thread: a session that waits for nothing keeps none. It comes back with the answers.
    let submission = session.batch.submission.get_or_insert_with(|| parts.scratch.buffers.take());
    submission.messages.extend_from_slice(Pending::frames(updates));
    // Counted now, for each add is given an id before the command is made: a replay must come to the same one.
    submission.adds += updates.iter().filter(|update| update.is_add()).count();
    // Marks of reads and answers find an update by its position, so an update without a prepared write has a place, too.
    let expected = submission.prepared_writes.len() + updates.len();
    prepare(parts, updates, &mut submission.prepared_writes);
    assert!(
        submission.prepared_writes.len() == expected,
        "each update has a place among the prepared writes"
    );
}

/// Submits a change of settings, whose message is `frame`, to the log by itself.
pub(super) fn settings(session: &mut Session, parts: &mut Parts<'_>, frame: &[u8], change: SettingsChange) {
    // The applier puts settings in force, and applies no modify.
    alone(session, parts, frame, |submission| submission.settings = Some(Box::new(change)));
}

/// Submits a change of the schema, whose message is `frame`, to the log by itself. Without a log it is applied at once.
pub(super) fn schema(session: &mut Session, parts: &mut Parts<'_>, frame: &[u8], out: &mut Vec<u8>) {
    match parts.dsa.journal.get() {
        None => op::extend_schema::run(parts.dsa, frame, parts.now, out),
        Some(_) => alone(session, parts, frame, |submission| submission.is_schema = true),
    }
}

/// The same of a change that is answered in another form.
pub(super) fn schema_change(
    session: &mut Session,
    parts: &mut Parts<'_>,
    mut change: Change,
    out: &mut Vec<u8>,
) {
    let message = std::mem::take(&mut change.message);
    if parts.dsa.journal.get().is_none() {
        let mut modified = Vec::new();
        op::extend_schema::run(parts.dsa, &message, parts.now, &mut modified);
        session.answer_change(&change, &modified, out);
        return;
    }
    session.batch.acting = Some(acting_of(change));
    alone(session, parts, &message, |submission| submission.is_schema = true);
}

/// As whom a change is applied. It goes to the log alone, so no other update is compared with it.
pub(super) fn acting_of(change: Change) -> Box<ActingIdentity> {
    let identity = change.actor.clone();
    Box::new(ActingIdentity { identity, authorization_id: Vec::new(), change: Some(change) })
}

/// Submits a message to the log by itself, marked as what it is.
fn alone(session: &mut Session, parts: &mut Parts<'_>, frame: &[u8], mark: impl FnOnce(&mut Submission)) {
    assert!(session.batch.is_empty(), "it goes to the log by itself");
    let mut group = Group::new();
    gather(frame, 0, &mut group);
    assert!(group.len() == 1, "it is one message");
    collect(session, parts, &group);
    mark(session.batch.submission.as_mut().expect("the message was collected"));
    submit_collected(session, parts.dsa);
}

/// A part of a tree delete that was submitted.
pub(super) struct Submitted {
    pub(super) is_last: bool,
    /// The answer to it, where there is no log.
    answer: Option<Vec<u8>>,
}

/// Submits a part of a tree delete by itself, as a transaction. Without a log it is made at once.
/// The session takes no other request before the last part is answered, so the deletes stand where the request stood.
pub(super) fn part(
    session: &mut Session,
    parts: &mut Parts<'_>,
    identity: &Identity,
    (id, part): (i32, Part),
) -> Submitted {
    assert!(session.batch.is_empty(), "it goes to the log by itself");
    let mut submission = parts.scratch.buffers.take();
    submission.messages = part.messages;
    submission.conditions = part.conditions;
    // Only replacements can be prepared.
    submission.prepared_writes.push_nones(part.count);
    // Other sessions have their turn before the next part.
    session.pauses = true;
    let is_last = part.is_last;
    if let Some(journal) = parts.dsa.journal.get() {
        let reply = Arc::clone(session.reply.get_or_insert_default());
        let updates = Updates::of_transaction(submission, session.sender(identity), reply, id);
        submit(session, parts.dsa, &**journal, updates, 0, None);
        return Submitted { is_last, answer: None };
    }
    let mut answer = Vec::new();
    let effective = Effective::authorized(identity);
    let Submission { messages, prepared_writes, .. } = &mut *submission;
    let write_set = WriteSet { effective, messages, ids: &[] };
    transaction::commit(parts, write_set, Some(prepared_writes), Some(Ending { id, out: &mut answer }));
    parts.scratch.buffers.put(submission);
    Submitted { is_last, answer: Some(answer) }
}

/// Notes with the request that the session keeps which part of it was submitted.
pub(super) fn keep_part(session: &mut Session, submitted: Submitted, out: &mut Vec<u8>) {
    let Some(suspended) = &mut session.suspended else { unreachable!("it was just suspended") };
    suspended.tree.get_or_insert_default().is_last = submitted.is_last;
    if let Some(answer) = submitted.answer {
        session.answer_part(&answer, out);
    }
}

/// Submits the session's updates to be logged, if it has any; it waits for what becomes of them.
#[inline]
pub(in crate::bundle) fn submit_collected(session: &mut Session, dsa: &Dsa) {
    if let Some(submission) = session.batch.submission.take() {
        submit_all(session, dsa, submission);
    }
}

/// Hands what was collected to the log. The session waits for the answers.
#[inline(never)]
fn submit_all(session: &mut Session, dsa: &Dsa, submission: Box<Submission>) {
    let Some(journal) = dsa.journal.get() else { return };
    let reply = Arc::clone(session.reply.get_or_insert_default());
    let count = submission.prepared_writes.len();
    assert!(submission.adds <= count, "adds are some of the updates");
    assert!(count > 0, "what is submitted is one update at least");
    // Reads that wait are memory of the same submission, and count with it until it is answered.
    let waiting = session.mixed.bytes();
    let marks = session.mixed.take_marks();
    let first = marks.due();
    assert!(
        first == usize::MAX || first <= count,
        "reads that wait stand behind updates of the batch, or in front of the first"
    );
    // A name is all that the log has of an identity: its rights were decided here, and a replay asks for none.
    let acting = session.batch.acting.take();
    let actor = acting.as_ref().map_or(&session.identity, |acting| &acting.identity);
    let updates = Updates::new(submission, marks, session.sender(actor), reply);
    let change = acting.and_then(|acting| acting.change);
    submit(session, dsa, &**journal, updates, waiting, change);
}

/// Hands updates to the journal, counted among those that are on their way, with the bytes of reads that wait for them.
#[inline(always)]
pub(in crate::bundle) fn submit(
    session: &mut Session,
    dsa: &Dsa,
    journal: &dyn Journal,
    mut updates: Updates,
    waiting: usize,
    change: Option<Change>,
) {
    // Counted before `submit` is called: the journal may answer, and give the bytes back, before `submit` returns.
    updates.admit(&dsa.throttle, waiting);
    // Only now, for it ends the turn, which kept room for them.
    session.submitted(change.map(Box::new));
    // Last, for the session may be answered while this still runs.
    journal.submit(updates);
}
