//! The end of a transaction: its updates are applied in the writer's role, all of them or none. What comes out depends on
//! nothing but the directory and the updates.
//!
//! If every update is a prepared write that still holds, or can be prepared anew, all of them are installed. Otherwise they are judged
//! in an overlay first, and applied for good if every one of them goes well there.
//!
//! Readers and other writers see the directory before it or after it: the writer's role is held from the first update to the one publish at
//! the end. Whatever can refuse an update is therefore found out before the first is applied. There is no undo.
//!
//! ```text
//! install_all   room reserved -> stale ones prepared anew -> install each -> publish
//! apply_all     judge each in an overlay -> memory granted -> apply each for good -> publish
//! ```
//! Both come to the same entries, stamps and ids. A replay may take the other way than the first run did, for prepared writes are not logged.

use super::super::group::{self, Group, Hint};
use super::super::update::authorize;
use crate::access::ClassId;
use crate::constraints::{Given, Judging};
use crate::context::{Reading, Writing};
use crate::control;
use crate::dispatch;
use crate::effective::Effective;
use crate::faults;
use crate::journal;
use crate::op::extended::end_transaction;
use crate::op::modify::Replacing;
use crate::outcome;
use crate::prepared_writes::PreparedWrites;
use crate::session::security::Security;
use crate::transaction::{AbortReason, Evaluation};
use crate::worker::{Parts, Scratch, Worker};
use env::fast;
use env::planted;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::result::result_code;
use proto::{Outline, tag};
use smallvec::SmallVec;
use std::collections::VecDeque;
use store::overlay::Overlay;
use store::{Known, PreparedWrite, Stamp, Writer};

/// Prepared writes that another client or the cleaner made stale are few: a share of the room is kept for them.
/// Where there is no such room the commit is tried without a spare, and fails over to [`WriteSet::apply_all`] if one was stale.
const SPARE_SHARE: usize = 8;

/// Where the answer to the end goes.
pub(crate) struct Ending<'o> {
    /// Message id of the request.
    pub(crate) id: i32,
    pub(crate) out: &'o mut Vec<u8>,
}

/// Updates that happen together, and who asks for them.
/// The command of the log has exactly this, so live and replayed commits start from the same.
#[derive(Clone, Copy)]
pub(crate) struct WriteSet<'t> {
    pub(crate) effective: Effective<'t>,
    /// Whole messages.
    pub(crate) messages: &'t [u8],
    /// For the entries that they add, if the shard shall not choose them.
    pub(crate) ids: &'t [u32],
}

/// Applies a transaction that was logged. Returns the result code that it came to.
/// The queue has admitted it and the log has it: it may come to a refusal, but not for want of rights, of limits or of memory.
pub(crate) fn apply(
    worker: &mut Worker,
    write_set: WriteSet<'_>,
    prepared_writes: Option<&mut PreparedWrites>,
    ending: Option<Ending<'_>>,
) -> u32 {
    planted::tell(faults::TRANSACTION_BEGINS);
    let mut write_set = write_set;
    if planted::is_at_replay(faults::HALF_REPLAYED) {
        let half = journal::messages(write_set.messages).count().div_ceil(2);
        let first = journal::messages(write_set.messages).take(half).map(<[u8]>::len).sum();
        write_set.messages = &write_set.messages[..first];
    }
    run(&mut worker.parts(), write_set, prepared_writes, ending)
}

/// Commits updates. Without prepared writes they are made. Returns the result code that it came to: of a failure that of the update
/// which stood against it.
/// The prepared writes are one for each update, or end with `None` at the first that has none.
pub(in crate::bundle) fn run(
    parts: &mut Parts<'_>,
    write_set: WriteSet<'_>,
    prepared_writes: Option<&mut PreparedWrites>,
    ending: Option<Ending<'_>>,
) -> u32 {
    let mut made = PreparedWrites::default();
    let prepared_writes = match prepared_writes {
        Some(prepared_writes) => prepared_writes,
        None => {
            // Up to the first that cannot be prepared: in its place there is none.
            if write_set.prepare_all(parts, &mut made).is_none() {
                made.push_nones(1);
            }
            &mut made
        }
    };
    let mut answers = Vec::new();
    // The short way says no without having changed anything, so the other one begins from the same state.
    let outcome = match write_set.install_all(parts, prepared_writes) {
        true => Ok(()),
        false => write_set.apply_all(parts, &mut answers),
    };
    // The code goes into the outcome chain: a replay must come to the same one, whichever way it takes.
    let code = match &outcome {
        Ok(()) => ResultCode::Success as u32,
        Err(abort_reason) => result_code(&abort_reason.answer).expect("the agent's own answer").0,
    };
    if let Some(Ending { id, out }) = ending {
        match outcome {
            Ok(()) => end_transaction::succeed(id, &answers, out),
            Err(abort_reason) => end_transaction::fail(id, &abort_reason, out),
        }
    }
    code
}

impl WriteSet<'_> {
    /// Prepares the updates; `None` at the first that cannot be prepared.
    /// For a transaction of the log that comes without prepared writes: a replay, or a begin and an end in one bundle.
    fn prepare_all(self, parts: &mut Parts<'_>, prepared_writes: &mut PreparedWrites) -> Option<()> {
        let (mut group, mut at) = (Group::new(), 0);
        while at < self.messages.len() {
            group.clear();
            (at, _) = group::gather(self.messages, at, &mut group);
            // Cut off within a message, which nothing that was accepted is. The other way finds it and says so.
            if group.is_empty() {
                return None;
            }
            // No rights are needed to find an entry by its name; what the hints find is not shown to anybody.
            parts.prefetch(ClassId::NONE, &mut group);
            // Each group has a pin of its own. What another writer publishes between two of them makes prepared writes stale, which is found
            // out in the writer's role.
            let Parts { dsa, reader, scratch, hinted_at: Some(sequence), .. } = parts else { return None };
            let Scratch { evaluator, keys, .. } = &mut **scratch;
            let pin = reader.pin();
            let read_point = pin.read_point();
            let mut replacing = Replacing::new(dsa, read_point.shard().schema());
            for (in_group, update) in group.iter().enumerate() {
                group::prefetch_next(read_point, &group, in_group);
                let (Hint::Target(target), Some(outline)) = (&update.hint, &update.outline) else {
                    return None;
                };
                let replacements = replacing.of(outline)?;
                let known = Known { target: *target, keys, sequence: *sequence };
                // Its number among the updates of all groups: a later one of the same entry is prepared on top of it.
                let at = prepared_writes.ready().len();
                prepared_writes.prepare_member(read_point, &known, replacements, &mut evaluator.cache, at)?;
            }
        }
        Some(())
    }

    /// Installs all prepared writes; those that another client's update or the cleaner made stale are made anew. `false`, and nothing done, if
    /// that cannot be.
    /// All of them or none: until the first install nothing is changed that a reader or a later update could notice.
    fn install_all(self, parts: &mut Parts<'_>, prepared_writes: &mut PreparedWrites) -> bool {
        let shard = &parts.dsa.shard;
        // Below a referral object an update belongs to another server. The overlay finds out which do, so it judges all of them.
        if !fast::IS_ON || shard.has_referrals() || prepared_writes.ready().iter().any(Option::is_none) {
            return false;
        }
        // Before the role is taken: other threads wait for it, and cache misses would be waited for under it.
        prepared_writes.ready().iter().flatten().for_each(|ready| shard.prefetch_prepared(ready));
        let mut writer = shard.writer();
        // Making room may move entries, so that comes first, also for the few that are made anew.
        assert!(!prepared_writes.ready().is_empty() || self.messages.is_empty(), "each update was prepared");
        let made = prepared_writes.bytes();
        make_way(&mut writer, made);
        let spares = [made / SPARE_SHARE, 0];
        let Some(spare) = spares.into_iter().find(|spare| writer.reserve(made + spare).is_ok()) else {
            return false;
        };
        let stale = stale(&writer, prepared_writes);
        if !stale.is_empty() {
            if !self.prepare_anew(parts, &writer, prepared_writes, &stale) {
                return false;
            }
            // Those made anew are longer than the spare. Reserving may move entries, which could make others stale: then the long way is taken.
            assert!(prepared_writes.bytes() >= made, "what is made anew is appended to the others");
            let lacking = (prepared_writes.bytes() - made).saturating_sub(spare);
            if lacking > 0
                && (writer.reserve(lacking).is_err() || !self::stale(&writer, prepared_writes).is_empty())
            {
                return false;
            }
            // A walk over all of them, so not in a release: `install` below asserts the same of each.
            debug_assert!(
                self::stale(&writer, prepared_writes).is_empty(),
                "nothing moved since they were looked at"
            );
        }
        let (ready, bytes) = prepared_writes.parts();
        // Without a name it is refused where all others are judged.
        let Some(actor) = writer.name(self.effective.dn()) else { return false };
        let mut messages = journal::messages(self.messages);
        for ready in ready.iter().flatten() {
            let message = messages.next().unwrap_or_default();
            if let Some(notes) = &mut parts.scratch.notes {
                notes.before(writer.view(), message);
            }
            let stamp = Stamp { csn: writer.stamp(parts.now.wall_ms), actor };
            // Of several prepared writes of one entry only the last is installed, for it has the changes of all before it.
            if !ready.is_followed() {
                let is_installed = writer.install(ready, bytes, stamp);
                let is_planted = planted::is(faults::STALE_PREPARED_WRITES_DROPPED);
                assert!(is_installed || is_planted, "nothing came in between, and there is room");
            }
            if let Some(notes) = &mut parts.scratch.notes {
                notes.after(writer.view(), stamp.csn, message);
            }
            // It counts as an update in any case: sequence numbers and stamps are those of applying each by itself.
            writer.update_done();
        }
        writer.publish();
        true
    }

    /// Makes the prepared writes at these positions anew. `false` if one of the updates is more than a prepared write.
    /// The writer's own view is the newest state there is, and nothing can come in between while it has the role.
    #[cold]
    fn prepare_anew(
        self,
        parts: &mut Parts<'_>,
        writer: &Writer<'_>,
        prepared_writes: &mut PreparedWrites,
        stale: &[usize],
    ) -> bool {
        let view = writer.view();
        let cache = &mut parts.scratch.updating.cache;
        // It may remember names of a view before. The writer's view has names that no reader has seen.
        cache.forget();
        let mut keys = Vec::new();
        // Which update prepared an entry last is learned anew, for the old answers may be stale ones.
        prepared_writes.forget();
        let mut again = |at: usize, message: &[u8]| {
            keys.clear();
            let outline = Outline::of(message)?;
            let target = view.target(outline.dn, cache, &mut keys).ok()?;
            let known = Known { target, keys: &keys, sequence: view.sequence() };
            let mut replacing = Replacing::new(parts.dsa, view.shard().schema());
            prepared_writes.prepare_member(view, &known, replacing.of(&outline)?, cache, at)
        };
        // Positions ascend, so the messages are gone through once.
        let (mut messages, mut next) = (journal::messages(self.messages), 0);
        stale.iter().all(|at| {
            assert!(*at >= next, "positions of stale prepared writes ascend");
            let message = messages.nth(at - next);
            next = at + 1;
            message.and_then(|message| again(*at, message)).is_some()
        })
    }

    /// Judges all updates, then carries all of them out. Appends their answers.
    ///
    /// # Errors
    /// The first that does not go well: nothing was done.
    /// The second pass runs the same code on the directory that the first ran on copies, so each update succeeds again: only memory can
    /// make a difference, and that was granted before.
    fn apply_all(self, parts: &mut Parts<'_>, answers: &mut Vec<u8>) -> Result<(), AbortReason> {
        let dsa = parts.dsa;
        // From here to `publish` no other writer of the shard runs, so the bounds of a transaction bound how long others wait.
        let mut writer = dsa.shard.writer();
        // Judged in the role: what is judged is what is changed below, for nobody else writes in between.
        let (bytes, given) = match planted::is(faults::COMMIT_NOT_JUDGED) {
            false => self.judge_all(parts, &writer)?,
            true => (0, VecDeque::new()),
        };
        // For what adds got alone.
        let constraints = dsa.constraints.now(dsa.behaviour());
        let schema = dsa.shard.schema();
        let judging = constraints.as_ref().map(|in_force| Judging::of_judged(in_force, schema, given));
        let updates = journal::messages(self.messages).count();
        make_way(&mut writer, bytes);
        // What the overlay took is what the entries will take, and a bit for each update.
        if writer.grant(bytes + updates * super::UPDATE_BYTES as usize).is_err() {
            return Err(out_of_memory(parts, self.messages));
        }
        let Some(actor) = writer.name(self.effective.dn()) else {
            return Err(abort_reason(self.messages, authorize::NO_NAME.1));
        };
        for frame in journal::messages(self.messages) {
            let message = Message::decode(frame).expect("it was judged");
            let requested = control::requested(&message.request, message.controls, dsa.behaviour());
            let requested = requested.expect("it was judged, by the same behaviour");
            if let Some(notes) = &mut parts.scratch.notes {
                notes.before(writer.view(), frame);
            }
            let mut writing = Writing {
                dsa,
                writer: &mut writer,
                scratch: parts.scratch,
                now: parts.now,
                effective: self.effective,
                actor,
                spare: None,
                known: None,
                judging: judging.as_ref(),
            };
            let done = match requested.rare {
                None => dispatch::update(&mut writing, &message, None, answers),
                Some(rare) => {
                    // An assertion was true in the overlay and is not asked again; what a pre-read or a post-read shows is read now.
                    let rare = rare.of_judged();
                    control::update::run(&mut writing, &message, frame.len(), &rare, answers)
                }
            };
            if done.is_none() && parts.scratch.lacked_memory {
                return Err(out_of_memory(parts, frame));
            }
            if let Some(notes) = &mut parts.scratch.notes {
                notes.after(writer.view(), writer.last_csn(), frame);
            }
            // Half of a transaction must never be seen.
            let is_planted = planted::is(faults::COMMIT_NOT_JUDGED);
            assert!(done.is_some() || is_planted, "what goes well in the overlay goes well for good");
            writer.update_done();
        }
        writer.publish();
        Ok(())
    }

    /// Carries the updates out in an overlay. Returns the bytes that they took there.
    /// It changes the overlay alone. Returns its bytes, as a measure of what applying the updates will take, and what adds got.
    fn judge_all(
        self,
        parts: &mut Parts<'_>,
        writer: &Writer<'_>,
    ) -> Result<(usize, VecDeque<Given>), AbortReason> {
        let base = writer.view();
        // What was taken and logged is not refused for its size.
        let overlay = match planted::is_at_replay(faults::LIMIT_AT_APPLY) {
            true => Overlay::new(&parts.dsa.shard, 16),
            false => Overlay::unlimited(&parts.dsa.shard),
        };
        let Ok(mut overlay) = overlay else {
            return Err(out_of_memory(parts, self.messages));
        };
        // Stamps in the overlay follow those of the directory: an assertion on modifyTimestamp sees what it will be.
        // The overlay is empty so far, and takes entries from the writer's view when updates name them.
        overlay.stamp_like(writer.last_csn());
        let (mut answers, mut adds) = (Vec::new(), 0);
        let mut reading = Reading {
            dsa: parts.dsa,
            read_point: base,
            scratch: parts.scratch,
            now: parts.now,
            security: Security::INTERNAL,
        };
        let effective = self.effective;
        let mut evaluation = Evaluation::new(&mut reading, &mut overlay, effective, false);
        for frame in journal::messages(self.messages) {
            answers.clear();
            let message = match Message::decode(frame) {
                Ok(message) => message,
                // What was accepted could be decoded. A command of the log is still input, so this is a refusal.
                Err(error) => {
                    outcome::answer_malformed(&error, &mut answers);
                    return Err(AbortReason { culprit: 0, answer: answers });
                }
            };
            // The end names the update that stood against it (RFC 5805 section 2.3).
            let culprit = message.id;
            let requested =
                match control::requested(&message.request, message.controls, parts.dsa.behaviour()) {
                    Ok(requested) => requested,
                    Err(error) => {
                        control::refuse(&message, error, &mut answers);
                        return Err(AbortReason { culprit, answer: answers });
                    }
                };
            // A command has the ids for its adds from the queue: replicas and replays give the same ones. A transaction without a log takes ids
            // behind all others.
            let new_id = self.ids.get(adds).copied().unwrap_or_else(|| base.late_id(adds as u32));
            adds += usize::from(matches!(message.request, Request::Add(_)));
            if !evaluation.run(&message, frame.len(), &requested, new_id, &mut answers) {
                return Err(AbortReason { culprit, answer: answers });
            }
        }
        let ids = self.ids.len();
        assert!(ids == 0 || adds <= ids, "a command of the log has an id for each of its adds");
        let given = std::mem::take(&mut evaluation.given);
        Ok((overlay.bytes() as usize, given))
    }
}

/// Makes room for so many bytes under the memory limit: before the first update is applied, since others must not see
/// some of them.
/// The cleaner's part is done by the commit itself if memory is short, since it cannot wait for a cleaner while it has the role.
fn make_way(writer: &mut Writer<'_>, bytes: usize) {
    if writer.is_tight(1, bytes) {
        writer.make_way(bytes);
    }
}

/// Positions of the prepared writes that cannot be installed any more. Of several of one entry it is all or none.
/// A prepared write is stale if its entry has another version than it was made from, or was moved.
fn stale(writer: &Writer<'_>, prepared_writes: &PreparedWrites) -> SmallVec<[usize; 32]> {
    if planted::is(faults::STALE_PREPARED_WRITES_DROPPED) {
        return SmallVec::new();
    }
    let is_stale =
        |ready: &Option<PreparedWrite>| !ready.as_ref().is_some_and(|ready| writer.can_install(ready));
    prepared_writes
        .ready()
        .iter()
        .enumerate()
        .filter(|(_, ready)| is_stale(ready))
        .map(|(at, _)| at)
        .collect()
}

/// For tests: others see an update of a transaction.
pub(super) fn leak(reading: &mut Reading<'_>, effective: Effective<'_>, message: &Message<'_>) {
    let Reading { dsa, scratch, now, .. } = reading;
    let mut writer = dsa.shard.writer();
    let actor = writer.name(effective.dn()).expect("tests have few names");
    let (spare, known) = (None, None);
    let mut writing = Writing {
        dsa,
        writer: &mut writer,
        scratch,
        now: *now,
        effective,
        actor,
        spare,
        known,
        judging: None,
    };
    dispatch::update(&mut writing, message, None, &mut Vec::new());
    writer.publish();
}

/// There is no memory to apply an update, the first of these messages. In a directory that is logged nothing must go on
/// then.
/// The committer stops on that ([`Scratch::lacked_memory`]): an update of the log that is not applied would be lost.
#[cold]
fn out_of_memory(parts: &mut Parts<'_>, messages: &[u8]) -> AbortReason {
    parts.scratch.lacked_memory = true;
    abort_reason(messages, "memory-max is reached: there is no memory for the transaction")
}

/// The first of these messages cannot be applied for want of something.
fn abort_reason(messages: &[u8], text: &str) -> AbortReason {
    let outline = Outline::of(messages);
    let (culprit, op_tag) = outline.map_or((0, 0), |outline| (outline.id, outline.op_tag));
    let response = tag::response_to(op_tag).unwrap_or(tag::EXTENDED_RESPONSE);
    let mut answer = Vec::new();
    outcome::say(&mut answer, culprit, response, ResultCode::AdminLimitExceeded, text);
    AbortReason { culprit, answer }
}
