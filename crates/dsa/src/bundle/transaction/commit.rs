//! The end of a transaction: its updates are carried out in the writer's role, all of them or none. What comes out depends on
//! nothing but the directory and the updates.
//!
//! If every update is a draft that still holds, or can be drafted anew, all of them are installed. Otherwise they are judged
//! in an overlay first, and carried out for good if every one of them goes well there.

use super::super::group::{self, Group, Hint};
use super::super::update::authorize;
use crate::access::{Effective, Rights};
use crate::context::Writing;
use crate::control;
use crate::dispatch;
use crate::drafts::Drafts;
use crate::engine::Dsa;
use crate::faults;
use crate::journal;
use crate::op::extended::end_transaction;
use crate::op::modify::Replacing;
use crate::outcome;
use crate::transaction::{Doom, Evaluation};
use crate::worker::Parts;
use crate::worker::{Scratch, Worker};
use env::clock::Now;
use env::fast;
use env::planted;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::result::result_code;
use proto::{Outline, tag};
use smallvec::SmallVec;
use store::overlay::Overlay;
use store::{Known, Ready, Stamp, Writer};

/// Drafts that another client or the cleaner made stale are few: a share of the room is kept for them.
const SPARE_SHARE: usize = 8;

/// Where the answer to the end goes.
pub(crate) struct Ending<'o> {
    /// Message id of the request.
    pub(crate) id: i32,
    pub(crate) out: &'o mut Vec<u8>,
}

/// Updates that happen together, and who asks for them.
#[derive(Clone, Copy)]
pub(crate) struct Together<'t> {
    pub(crate) effective: Effective<'t>,
    /// Whole messages.
    pub(crate) messages: &'t [u8],
    /// For the entries that they add, if the shard shall not choose them.
    pub(crate) ids: &'t [u32],
}

/// Carries out a transaction that was logged. Returns the result code that it came to.
pub(crate) fn apply(
    worker: &mut Worker,
    together: Together<'_>,
    drafts: Option<&mut Drafts>,
    ending: Option<Ending<'_>>,
) -> u32 {
    planted::tell(faults::TRANSACTION_BEGINS);
    let mut together = together;
    if planted::is_at_replay(faults::HALF_REPLAYED) {
        let half = journal::messages(together.messages).count().div_ceil(2);
        let first = journal::messages(together.messages).take(half).map(<[u8]>::len).sum();
        together.messages = &together.messages[..first];
    }
    run(&mut worker.parts(), together, drafts, ending)
}

/// Commits updates. Without drafts they are made. Returns the result code that it came to: of a failure that of the update
/// which stood against it.
pub(super) fn run(
    parts: &mut Parts<'_>,
    together: Together<'_>,
    drafts: Option<&mut Drafts>,
    ending: Option<Ending<'_>>,
) -> u32 {
    let mut made = Drafts::default();
    let drafts = match drafts {
        Some(drafts) => drafts,
        None => {
            draft_all(parts, together, &mut made);
            &mut made
        }
    };
    let mut answers = Vec::new();
    let outcome = match install_all(parts, together, drafts) {
        true => Ok(()),
        false => carry_out(parts, together, &mut answers),
    };
    let code = match &outcome {
        Ok(()) => ResultCode::Success as u32,
        Err(doom) => result_code(&doom.answer).expect("the agent's own answer").0,
    };
    if let Some(Ending { id, out }) = ending {
        match outcome {
            Ok(()) => end_transaction::succeed(id, &answers, out),
            Err(doom) => end_transaction::fail(id, &doom, out),
        }
    }
    code
}

/// Drafts the updates, up to the first that cannot be drafted: in its place there is none.
fn draft_all(parts: &mut Parts<'_>, together: Together<'_>, drafts: &mut Drafts) {
    if draft_some(parts, together, drafts).is_none() {
        drafts.push_none();
    }
}

fn draft_some(parts: &mut Parts<'_>, together: Together<'_>, drafts: &mut Drafts) -> Option<()> {
    let (mut group, mut at) = (Group::new(), 0);
    while at < together.messages.len() {
        group.clear();
        (at, _) = group::gather(together.messages, at, &mut group);
        if group.is_empty() {
            return None;
        }
        parts.look_ahead(Rights::Public, &mut group);
        let Parts { reader, scratch, hinted_at: Some(sequence), .. } = parts else { return None };
        let Scratch { evaluator, keys, .. } = &mut **scratch;
        let pin = reader.pin();
        let read_point = pin.read_point();
        let mut replacing = Replacing::new(read_point.shard().schema());
        for (in_group, update) in group.iter().enumerate() {
            group::bring_near(read_point, &group, in_group);
            let (Hint::Target(target), Some(outline)) = (&update.hint, &update.outline) else { return None };
            let replacements = replacing.of(outline)?;
            let known = Known { target: *target, keys, sequence: *sequence };
            let at = drafts.ready().len();
            drafts.draft_member(read_point, &known, replacements, &mut evaluator.cache, at)?;
        }
    }
    Some(())
}

/// Installs all drafts; those that another client's update or the cleaner made stale are made anew. `false`, and nothing done, if
/// that cannot be.
fn install_all(parts: &mut Parts<'_>, together: Together<'_>, drafts: &mut Drafts) -> bool {
    let shard = &parts.dsa.shard;
    if !fast::IS_ON || shard.has_referrals() || drafts.ready().iter().any(Option::is_none) {
        return false;
    }
    drafts.ready().iter().flatten().for_each(|ready| shard.prefetch_ready(ready));
    let mut writer = shard.writer();
    // Making room may move entries, so that comes first, also for the few that are made anew.
    let made = drafts.bytes();
    make_way(&mut writer, made);
    let spares = [made / SPARE_SHARE, 0];
    let Some(spare) = spares.into_iter().find(|spare| writer.reserve(made + spare).is_ok()) else {
        return false;
    };
    let stale = stale(&writer, drafts);
    if !stale.is_empty() {
        if !draft_anew(parts, &writer, together, drafts, &stale) {
            return false;
        }
        let lacking = (drafts.bytes() - made).saturating_sub(spare);
        if lacking > 0 && (writer.reserve(lacking).is_err() || !self::stale(&writer, drafts).is_empty()) {
            return false;
        }
        debug_assert!(self::stale(&writer, drafts).is_empty(), "nothing moved since they were looked at");
    }
    let (ready, bytes) = drafts.parts();
    // Without a name it is refused where all others are judged.
    let Some(actor) = writer.name(together.effective.dn()) else { return false };
    for ready in ready.iter().flatten() {
        let stamp = Stamp { csn: writer.stamp(parts.now.wall_ms), actor };
        if !ready.is_followed() {
            let is_installed = writer.install(ready, bytes, stamp);
            let is_planted = planted::is(faults::STALE_DRAFTS_DROPPED);
            assert!(is_installed || is_planted, "nothing came in between, and there is room");
        }
        writer.update_done();
    }
    writer.publish();
    true
}

/// Makes room for so many bytes under the memory limit: before the first update is carried out, since others must not see
/// some of them.
fn make_way(writer: &mut Writer<'_>, bytes: usize) {
    if writer.is_tight(1, bytes) {
        writer.make_way(bytes);
    }
}

/// Positions of the drafts that cannot be installed any more. Of several of one entry it is all or none.
fn stale(writer: &Writer<'_>, drafts: &Drafts) -> SmallVec<[usize; 32]> {
    if planted::is(faults::STALE_DRAFTS_DROPPED) {
        return SmallVec::new();
    }
    let is_stale = |ready: &Option<Ready>| !ready.as_ref().is_some_and(|ready| writer.can_install(ready));
    drafts.ready().iter().enumerate().filter(|(_, ready)| is_stale(ready)).map(|(at, _)| at).collect()
}

/// Makes the drafts at these positions anew. `false` if one of the updates is more than a draft.
#[cold]
fn draft_anew(
    parts: &mut Parts<'_>,
    writer: &Writer<'_>,
    together: Together<'_>,
    drafts: &mut Drafts,
    stale: &[usize],
) -> bool {
    let view = writer.view();
    let cache = &mut parts.scratch.updating.cache;
    cache.forget();
    let mut keys = Vec::new();
    drafts.forget();
    let mut again = |at: usize, message: &[u8]| {
        keys.clear();
        let outline = Outline::of(message)?;
        let target = view.target(outline.dn, cache, &mut keys).ok()?;
        let known = Known { target, keys: &keys, sequence: view.sequence() };
        let mut replacing = Replacing::new(view.shard().schema());
        drafts.draft_member(view, &known, replacing.of(&outline)?, cache, at)
    };
    let (mut messages, mut next) = (journal::messages(together.messages), 0);
    stale.iter().all(|at| {
        let message = messages.nth(at - next);
        next = at + 1;
        message.and_then(|message| again(*at, message)).is_some()
    })
}

/// Judges all updates, then carries all of them out. Appends their answers.
///
/// # Errors
/// The first that does not go well: nothing was done.
fn carry_out(parts: &mut Parts<'_>, together: Together<'_>, answers: &mut Vec<u8>) -> Result<(), Doom> {
    let dsa = parts.dsa;
    let mut writer = dsa.shard.writer();
    let bytes = match planted::is(faults::COMMIT_NOT_JUDGED) {
        false => judge_all(parts, &writer, together)?,
        true => 0,
    };
    let updates = journal::messages(together.messages).count();
    make_way(&mut writer, bytes);
    if writer.grant(bytes + updates * super::UPDATE_BYTES as usize).is_err() {
        return Err(out_of_memory(parts, together.messages));
    }
    let Some(actor) = writer.name(together.effective.dn()) else {
        return Err(doom(together.messages, authorize::NO_NAME.1));
    };
    for frame in journal::messages(together.messages) {
        let message = Message::decode(frame).expect("it was judged");
        let requested = control::requested(&message.request, message.controls).expect("it was judged");
        let mut writing = Writing {
            dsa,
            writer: &mut writer,
            scratch: parts.scratch,
            now: parts.now,
            effective: together.effective,
            actor,
            spare: None,
            known: None,
        };
        let done = match requested.rare {
            None => dispatch::update(&mut writing, &message, None, answers),
            Some(rare) => {
                let rare = rare.of_judged();
                control::update::run(&mut writing, &message, frame.len(), &rare, answers)
            }
        };
        if done.is_none() && parts.scratch.lacked_memory {
            return Err(out_of_memory(parts, frame));
        }
        // Half of a transaction must never be seen.
        let is_planted = planted::is(faults::COMMIT_NOT_JUDGED);
        assert!(done.is_some() || is_planted, "what goes well in the overlay goes well for good");
        writer.update_done();
    }
    writer.publish();
    Ok(())
}

/// For tests: others see an update of a transaction.
pub(super) fn leak(
    dsa: &Dsa,
    scratch: &mut Scratch,
    now: Now,
    effective: Effective<'_>,
    message: &Message<'_>,
) {
    let mut writer = dsa.shard.writer();
    let actor = writer.name(effective.dn()).expect("tests have few names");
    let (spare, known) = (None, None);
    let mut writing = Writing { dsa, writer: &mut writer, scratch, now, effective, actor, spare, known };
    dispatch::update(&mut writing, message, None, &mut Vec::new());
    writer.publish();
}

/// Carries the updates out in an overlay. Returns the bytes that they took there.
fn judge_all(parts: &mut Parts<'_>, writer: &Writer<'_>, together: Together<'_>) -> Result<usize, Doom> {
    let base = writer.view();
    // What was taken and logged is not refused for its size.
    let overlay = match planted::is_at_replay(faults::LIMIT_AT_APPLY) {
        true => Overlay::new(&parts.dsa.shard, 16),
        false => Overlay::unlimited(&parts.dsa.shard),
    };
    let Ok(mut overlay) = overlay else {
        return Err(out_of_memory(parts, together.messages));
    };
    overlay.stamp_like(writer.last_csn());
    let (mut answers, mut adds) = (Vec::new(), 0);
    for frame in journal::messages(together.messages) {
        answers.clear();
        let message = match Message::decode(frame) {
            Ok(message) => message,
            Err(error) => {
                outcome::answer_malformed(&error, &mut answers);
                return Err(Doom { culprit: 0, answer: answers });
            }
        };
        let culprit = message.id;
        let requested = match control::requested(&message.request, message.controls) {
            Ok(requested) => requested,
            Err(error) => {
                control::refuse(&message, error, &mut answers);
                return Err(Doom { culprit, answer: answers });
            }
        };
        let new_id = together.ids.get(adds).copied().unwrap_or_else(|| base.late_id(adds as u32));
        adds += usize::from(matches!(message.request, Request::Add(_)));
        let (dsa, scratch, now) = (parts.dsa, &mut *parts.scratch, parts.now);
        let effective = together.effective;
        let mut evaluation = Evaluation { dsa, overlay: &mut overlay, base, scratch, now, effective };
        if !evaluation.run(&message, frame.len(), &requested, new_id, &mut answers) {
            return Err(Doom { culprit, answer: answers });
        }
    }
    Ok(overlay.bytes() as usize)
}

/// There is no memory to carry out an update, the first of these messages. In a directory that is logged nothing must go on
/// then.
#[cold]
fn out_of_memory(parts: &mut Parts<'_>, messages: &[u8]) -> Doom {
    parts.scratch.lacked_memory = true;
    doom(messages, "memory-max is reached: there is no memory for the transaction")
}

/// The first of these messages cannot be carried out for want of something.
fn doom(messages: &[u8], text: &str) -> Doom {
    let outline = Outline::of(messages);
    let (culprit, op_tag) = outline.map_or((0, 0), |outline| (outline.id, outline.op_tag));
    let response = tag::response_to(op_tag).unwrap_or(tag::EXTENDED_RESPONSE);
    let mut answer = Vec::new();
    outcome::say(&mut answer, culprit, response, ResultCode::AdminLimitExceeded, text);
    Doom { culprit, answer }
}
