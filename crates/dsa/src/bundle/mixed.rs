//! Bundles in which reads stand between updates, in a directory that is logged. All updates go to the log together, and the
//! reads wait with them: so the bundle costs one sync. When the updates are applied they are published in runs, and the
//! reads behind a run look at what was published with it: they see the updates before them and none after them.
//! So they need no barrier where the log is replicated: all that was acknowledged before they came stands before these updates in the log, and the
//! replica that took them from their client applies them there, whichever leads. Only if the updates are refused, their reads wait for one.
//!
//! ```text
//! bundle       update 1   update 2   read A   update 3   read B
//! to the log   update 1   update 2            update 3            one submission, one sync
//! applied      [update 1  update 2]  publish  [update 3]  publish
//! read at                            A sees 1 and 2       B sees all
//! ```
//! The applier pins what a read is to see before it goes on ([`crate::marks`]). A pin keeps old versions alive, so it has an end: reads that
//! their client does not take in time are refused, and updates never are.

use super::behind::{self, NO_MAJORITY};
use super::group::{self, Group, Pending};
use super::needs::{may_follow, may_wait};
use super::{ReadBatch, prefetch};
use crate::barrier::Answer;
use crate::change_log::awaited::Awaited;
use crate::engine::Dsa;
use crate::faults;
use crate::marks::{Sight, Slot};
use crate::op::search::{SUSPENDED_MAX_NS, again};
use crate::outcome;
use crate::session::{Batch, Mixed, Session};
use crate::worker::{Parts, Worker};
use env::fast;
use env::planted;
use model::ResultCode;
use model::limits::OUT_BYTES_SOFT_MAX;
use proto::outline::Outline;
use proto::tag;
use std::borrow::Cow;

/// The first of some requests from which on reads will wait for updates, if they may.
/// Their hints need not be made now: the names may change before they run.
#[inline]
pub(super) fn kept_from(session: &Session, group: &[Pending<'_>]) -> usize {
    match session.batch.is_empty() {
        true => group.iter().position(Pending::is_update).unwrap_or(usize::MAX),
        false => 0,
    }
}

/// Keeps a read that stands behind updates of its session, to be run when they are applied. `false` if it is not one of
/// those that may wait with them.
/// The mark behind it says how many updates of the batch it comes after, and where its bytes end among the reads.
#[inline]
pub(super) fn keep(session: &mut Session, dsa: &Dsa, read: &Pending<'_>) -> bool {
    if session.batch.is_empty() || !may_wait(session, dsa, read) {
        return false;
    }
    let Session { mixed, batch: Batch { submission: Some(submission), .. }, .. } = session else {
        return false;
    };
    mixed.reads.extend_from_slice(read.frame());
    mixed.marks.put(submission.prepared_writes.len(), mixed.reads.len());
    true
}

/// Does a request follow updates directly, so that it goes with them?
/// It is what ends a run of updates: the reads between them do not, if they wait.
#[inline]
pub(super) fn is_neighbour(session: &mut Session, dsa: &Dsa, request: &Pending<'_>) -> bool {
    request.is_update() && may_follow(session, dsa, request)
}

/// Sends answers and runs the reads between them, in their order, until all is done, an answer is half written or there is
/// enough to be sent.
/// It is called as long as [`Mixed::is_due`], each time for one slice of work.
pub(crate) fn go_on(session: &mut Session, worker: &mut Worker, out: &mut Vec<u8>) {
    if worker.dsa.awaits_barriers()
        && session.mixed.marks.take_refused()
        && behind::wait(session, &worker.dsa)
    {
        return;
    }
    // Taken out of the session while it runs: a read may end searches of the session, or the session.
    let mut mixed = std::mem::take(&mut session.mixed);
    let now_ns = worker.now.monotonic_ns;
    // The age counts from the first turn. A client that takes nothing cannot keep old versions alive by having turns.
    let since_ns = *mixed.since_ns.get_or_insert(now_ns);
    let mut parts = worker.parts();
    // One slice for each call, as for the searches of a bundle: the others of the thread are served in between.
    parts.scratch.work = parts.scratch.slice_work;
    let reads = std::mem::take(&mut mixed.reads);
    let mut slot = mixed.marks.take_slot();
    let age_ns = now_ns.saturating_sub(since_ns);
    // From here to the end of `sight` nobody may revoke what the reads look at.
    let sight = slot.enter().filter(|_| age_ns <= SUSPENDED_MAX_NS);
    // The answer of the barrier for which reads behind refused updates wait. Updates that went to the log have set it to *passed*: what is
    // applied here is what the reads are to see, and nothing newer need be known.
    let is_known = session.behind.answer == Answer::Passed;
    let ran = sight
        .as_ref()
        .filter(|_| is_known)
        .map(|sight| run_groups(session, &mut mixed, sight, &mut parts, &reads, out));
    drop(sight);
    let is_done = ran.unwrap_or_else(|| {
        match is_known {
            true => {
                refuse_rest(
                    &mut mixed,
                    &reads,
                    ResultCode::AdminLimitExceeded,
                    &text_of_end(&slot, age_ns),
                    out,
                );
            }
            false => refuse_rest(&mut mixed, &reads, NO_MAJORITY.0, NO_MAJORITY.1, out),
        }
        slot = Slot::None;
        true
    });
    mixed.marks.put_slot(slot);
    mixed.reads = reads;
    assert!(!is_done || mixed.read == mixed.reads.len(), "each read was run, or refused");
    if is_done {
        // Answers to the updates behind the last read.
        out.extend_from_slice(&mixed.answers[mixed.sent..]);
        mixed.rest();
        // One that was to be run again was refused.
        session.awaited = Awaited::Nothing;
    }
    session.mixed = mixed;
}

/// Runs reads. `false` if others are to have their turn before the next one.
fn run_groups(
    session: &mut Session,
    mixed: &mut Mixed,
    sight: &Sight<'_>,
    parts: &mut Parts<'_>,
    reads: &[u8],
    out: &mut Vec<u8>,
) -> bool {
    let mut group = Group::new();
    loop {
        group.clear();
        group::gather(reads, mixed.read, &mut group);
        if group.is_empty() {
            return true;
        }
        if !run_group(session, mixed, sight, parts, &mut group, out) {
            return false;
        }
    }
}

/// Runs some reads. `false` if others are to have their turn before the next one.
/// A run is the reads behind one mark: they share one look, which the applier pinned when it had published the updates before the mark.
fn run_group(
    session: &mut Session,
    mixed: &mut Mixed,
    sight: &Sight<'_>,
    parts: &mut Parts<'_>,
    group: &mut Group<'_>,
    out: &mut Vec<u8>,
) -> bool {
    let Parts { dsa, reader, system_reader, scratch, counters, now, .. } = parts;
    let (mut next, mut hinted_at) = (0, None);
    while next < group.len() {
        let end = mixed.begin_run(out);
        assert!(group[next].end <= end, "a run ends where a read ends, behind the reads that were run");
        // Declared out here, so that it exists as long as the look that may borrow it.
        let pin;
        let sequence = mixed.marks.sequence(mixed.run);
        // Without a pinned look the reads are behind the last update of the batch, so the newest state is what they are to see.
        let look = match sight.look(sequence).filter(|_| !planted::is(faults::LATER_UPDATE_SEEN)) {
            Some(look) => look,
            None => {
                pin = reader.pin();
                pin.look()
            }
        };
        let read_point = look.read_point();
        let hinted_at = match hinted_at {
            None => *hinted_at.insert(prefetch(
                read_point,
                scratch,
                session.identity.requester().class,
                group,
                usize::MAX,
            )),
            Some(sequence) => {
                scratch.evaluator.cache.refresh(read_point);
                sequence
            }
        };
        // Hints were made for the first run of the group. A later run is later in the log, so names may have changed in between.
        let hints_hold = fast::IS_ON && read_point.names_hold_since(hinted_at);
        let system_pin = system_reader.pin();
        scratch.system_evaluator.cache.refresh(system_pin.read_point());
        let system_look = system_pin.look();
        let repeats = hints_hold && again::is_possible(read_point);
        let mut reads =
            ReadBatch { dsa, look, system_look, scratch, counters, now: *now, hints_hold, repeats };
        while next < group.len() && group[next].end <= end {
            group::prefetch_next(read_point, group, next);
            if !reads.run(session, &group[next], out) {
                return false;
            }
            // Noted before anything can end the turn: a read that is half answered goes on as a search of the session, not here.
            mixed.read = group[next].end;
            next += 1;
            if session.has_had_turn() || session.is_closing() || out.len() >= OUT_BYTES_SOFT_MAX {
                return false;
            }
        }
    }
    true
}

/// Why reads are not run any more: what they look at was revoked, or is too old.
#[cold]
fn text_of_end(slot: &Slot, age_ns: u64) -> Cow<'static, str> {
    match slot.revoked_bytes() {
        Some(bytes) => outcome::revoked_text(bytes, age_ns).into(),
        None => outcome::limit_text(ResultCode::AdminLimitExceeded).into(),
    }
}

/// What the reads are to look at was kept for as long as it may be, or was revoked.
/// The updates were applied all the same. Their answers go out between the refusals, so that all keep the order of requests.
#[cold]
fn refuse_rest(mixed: &mut Mixed, reads: &[u8], code: ResultCode, text: &str, out: &mut Vec<u8>) {
    while mixed.read < reads.len() {
        mixed.begin_run(out);
        let mut group = Group::new();
        group::gather(reads, mixed.read, &mut group);
        // Whole messages were kept, so there is one.
        let Some(read) = group.first() else { return };
        if let Some(Outline { id, op_tag, .. }) = read.outline
            && let Some(response) = tag::response_to(op_tag)
        {
            outcome::say(out, id, response, code, text);
        }
        mixed.read = read.end;
    }
}
