//! Fifth stage: updates are applied in the writer's role, in their order, and become visible together. What was prepared is installed if
//! it still holds; every other update is decoded and applied to the directory as it is then.
//!
//! The writer's role is one lock of the shard; who has it is the only one that changes entries. It is taken once for a group. Nothing
//! that can be done without it is done under it: decoding, hashing, looking entries up and laying out new records happen before, in
//! [`super::prepare`], and the room for all prepared writes is reserved in one step.
//!
//! A prepared write holds if its entry is still the version that it was made from. Then installing it copies bytes and swaps one slot. Else
//! the update takes the main road: it is decoded and applied like one that was never prepared, with the same outcome.

use super::super::group::{Group, Hint, Pending};
use super::authorize;
use super::prepare::prepare;
use crate::access::ClassId;
use crate::constraints::Judging;
use crate::context::Writing;
use crate::control;
use crate::dispatch;
use crate::effective::Effective;
use crate::monitor::{Counters, MODIFIES, count};
use crate::outcome;
use crate::prepared_writes::PreparedWrites;
use crate::referral::refer_update;
use crate::worker::Parts;
use proto::message::Message;
use proto::tag;
use std::ops::Range;
use store::{Known, PreparedWrite, Stamp};

/// Applies updates of one identity that follow each other, as one batch.
/// For directories without a log, and for what the server itself changes: with a log the applier has the updates.
pub(in crate::bundle) fn apply(
    effective: Effective<'_>,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) {
    // Taken out of the scratch, which is borrowed while they are made; put back for its memory. In a box, for it moves with each batch.
    let mut prepared_writes = parts.scratch.prepared_writes.take().unwrap_or_default();
    prepared_writes.clear();
    prepare(parts, updates, &mut prepared_writes);
    apply_prepared(effective, parts, updates, &mut prepared_writes, 0, out);
    parts.scratch.prepared_writes = Some(prepared_writes);
}

/// As [`apply`], of updates that were prepared when they came in; theirs are the prepared writes from position `first` on.
/// Only those that could not be prepared are looked for again; for the others the addresses are known, and asked for at once.
pub(in crate::bundle) fn apply_prepared_before(
    effective: Effective<'_>,
    parts: &mut Parts<'_>,
    updates: &mut Group<'_>,
    prepared_writes: &mut PreparedWrites,
    first: usize,
    out: &mut Vec<u8>,
) {
    assert!(first + updates.len() <= prepared_writes.len(), "each logged update has a place among them");
    let ready = &prepared_writes.ready()[first..first + updates.len()];
    ready.iter().flatten().for_each(|ready| parts.dsa.shard.prefetch_prepared(ready));
    // Hints of the thread's last bundle are of other requests.
    // The prepared ones need none: they know their place.
    parts.hinted_at = None;
    if ready.iter().any(Option::is_none) {
        parts.prefetch(ClassId::NONE, updates);
    }
    apply_prepared(effective, parts, updates, prepared_writes, first, out);
}

/// Takes the writer's role, runs the updates in order, publishes. Their prepared writes are those from position `first` on.
fn apply_prepared(
    effective: Effective<'_>,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    prepared_writes: &mut PreparedWrites,
    first: usize,
    out: &mut Vec<u8>,
) {
    let Parts { dsa, scratch, counters, now, hinted_at, marks, .. } = parts;
    // Hints lie in the keys, and the scratch is lent to each update that is not installed.
    let keys = std::mem::take(&mut scratch.keys);
    // From here to `publish` other writers of the shard wait. Readers do not: they see the state before.
    let mut writer = dsa.shard.writer();
    // In the role: by the constraints that hold while these updates are applied.
    let constraints = dsa.constraints.now(dsa.behaviour());
    let judging = constraints.as_ref().map(|in_force| Judging::new(in_force, dsa.shard.schema()));
    // Entries record a number instead of the DN. A name that is new takes the next one.
    let Some(actor) = writer.name(effective.dn()) else {
        scratch.keys = keys;
        if let Some(notes) = &mut scratch.notes {
            notes.refused(updates.len());
        }
        return refuse_unnamed(counters, updates, out);
    };
    // Without room for all of them each is looked at alone.
    let (ready, bytes) = prepared_writes.parts();
    let ready = &ready[first..first + updates.len()];
    let mut prepared_write = ready.iter().flatten().map(PreparedWrite::range);
    let range = prepared_write
        .next()
        .map(|first| first.start..prepared_write.next_back().map_or(first.end, |last| last.end));
    assert!(
        range.as_ref().is_none_or(|range| range.start <= range.end && range.end <= bytes.len()),
        "prepared writes lie in their buffer in the order of the updates, so one range is room for all"
    );
    let length = |update: &Pending<'_>| update.frame().len();
    // Near the memory limit old versions are cleaned away first. That may move records, and so must come before anything is reserved.
    let is_tight = writer.is_tight(updates.len(), updates.iter().map(length).sum());
    if is_tight {
        writer.make_way(range.as_ref().map_or(0, Range::len));
    }
    // One reservation for all of them: then none of the installs can fail for want of room.
    let has_room = range.is_some_and(|range| writer.reserve(range.len()).is_ok());
    // Nothing was changed by a reservation that failed. The main road then looks for room update by update, and refuses what has none.
    let ready = if has_room { ready } else { &[] };
    let (mut done, mut answered) = (0, 0);
    // Reads of the same bundle stand between its updates. Where one stands, the updates before it are published and its state is pinned.
    let mut due = marks.as_ref().map_or(usize::MAX, |marks| marks.due());
    while done < updates.len() {
        if first + done == due
            && let Some(marks) = marks
        {
            // Reads stand here, which see what is before them.
            succeed(counters, &updates[answered..done], out);
            answered = done;
            marks.publish(&mut writer, out.len());
            due = marks.due();
        }
        if is_tight {
            writer.make_way(length(&updates[done]));
        }
        // There may be referral objects since the prepared writes were made: what is below them is not what it was.
        assert!(due >= first + done, "reads stand behind updates in their order");
        if let Some(notes) = &mut scratch.notes {
            notes.before(writer.view(), updates[done].frame());
        }
        let ready = ready.get(done).and_then(Option::as_ref).filter(|_| !dsa.shard.has_referrals());
        let mut spare = None;
        let is_installed = ready.is_some_and(|ready| {
            let stamp = Stamp { csn: writer.stamp(now.wall_ms), actor };
            // The time stamp is taken once for an update, whichever way it goes: a replay counts stamps as the first run did.
            spare = Some(stamp);
            // `false` if the entry or a name has changed since, and then nothing was done.
            writer.install(ready, bytes, stamp)
        });
        if !is_installed {
            // Answers of installed modifies are written in runs, before the answer of one that is not.
            succeed(counters, &updates[answered..done], out);
            answered = done + 1;
            // The place may be known though nothing was prepared: then the entry need not be looked up under the lock.
            let known = known(&updates[done], &keys, *hinted_at);
            let mut writing = Writing {
                dsa,
                writer: &mut writer,
                scratch,
                now: *now,
                effective,
                actor,
                spare,
                known,
                judging: judging.as_ref(),
            };
            match updates[done].decode() {
                Ok(message) => {
                    counters.count_operation(&message.request);
                    run_update(&mut writing, &message, updates[done].frame().len(), out);
                }
                // It has an outline, so it can be answered.
                Err(error) => _ = outcome::answer_malformed(&error, out),
            }
        }
        if let Some(notes) = &mut scratch.notes {
            notes.after(writer.view(), writer.last_csn(), updates[done].frame());
        }
        done += 1;
    }
    assert!(answered <= done && done == updates.len(), "each update is answered once");
    // Reads behind the last update have no publication of their own: they see what the batch ends with.
    let sequence = writer.view().sequence();
    writer.publish();
    scratch.keys = keys;
    succeed(counters, &updates[answered..done], out);
    // `due` counts from the first update of the submission, as `first` does, and not from the first of this group.
    if first + done == due
        && let Some(marks) = marks
    {
        marks.note(sequence, out.len());
    }
}

/// Refuses updates of one who cannot be recorded as their author. It takes more new names at the same time than are spared
/// for them to come here; a replay does, too.
/// Nothing of them is applied, for an entry must not show another modifier than the true one.
#[cold]
fn refuse_unnamed(counters: &Counters, updates: &[Pending<'_>], out: &mut Vec<u8>) {
    for update in updates {
        match update.decode() {
            Ok(message) => {
                counters.count_operation(&message.request);
                if let Some(response) = tag::response_to(message.request.tag()) {
                    let (code, text) = authorize::NO_NAME;
                    outcome::say(out, message.id, response, code, text);
                }
            }
            Err(error) => _ = outcome::answer_malformed(&error, out),
        }
    }
}

/// Where an update's entry was found before the writer's role was taken, so that it need not be found again if nothing moved since.
fn known<'k>(update: &Pending<'_>, keys: &'k [u8], hinted_at: Option<u64>) -> Option<Known<'k>> {
    match (&update.hint, hinted_at) {
        (Hint::Target(target), Some(sequence)) => Some(Known { target: *target, keys, sequence }),
        _ => None,
    }
}

/// Answers modifies that were installed. Nothing is sent before this bundle, and so this batch, is done with.
fn succeed(counters: &Counters, installed: &[Pending<'_>], out: &mut Vec<u8>) {
    for outline in installed.iter().filter_map(|update| update.outline.as_ref()) {
        outcome::succeed(out, outline.id, tag::MODIFY_RESPONSE);
    }
    count(&counters.operations[MODIFIES], installed.len() as u64);
}

/// The main road of an update in the writer's role. It looks at controls again, for the command of the log is the message alone; what they
/// come to was admitted before the log, so a refusal here depends on the directory only.
fn run_update(writing: &mut Writing<'_, '_>, message: &Message<'_>, message_len: usize, out: &mut Vec<u8>) {
    let requested = match control::requested(&message.request, message.controls, writing.dsa.behaviour()) {
        Ok(requested) => requested,
        Err(error) => return control::refuse(message, error, out),
    };
    // RFC 3296: below a referral object the answer is a referral. Only here it is certain whether there is one.
    if refer_update(writing, message, &requested, out) {
        return;
    }
    match &requested.rare {
        None => _ = dispatch::update(writing, message, None, out),
        Some(rare) => _ = control::update::run(writing, message, message_len, rare, out),
    }
}
