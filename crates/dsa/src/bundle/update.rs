//! The updates of a bundle: neighbours share one batch of the writer. What can be done before the writer's role is
//! taken is done before, for other threads wait for it.

use super::controlled::{fails_now, together, until_read};
use super::group::{self, Group, Hint, Pending};
use super::last_of::LastOf;
use super::transaction;
use super::{MODIFIES, Parts, answer_malformed, count_operation, refuse_malformed};
use super::{acting, own_password, permission};
use crate::access::{Effective, Rights};
use crate::control::{self, ControlError, assertion};
use crate::dispatch::{self, Writing};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::journal::{Journal, UPDATES_BYTES_SOFT_MAX, Updates};
use crate::monitor::{Counters, count};
use crate::op;
use crate::outcome;
use crate::referral::refer_update;
use crate::session::Session;
use crate::worker::Scratch;
use model::ResultCode;
use proto::message::Message;
use proto::tag;
use std::ops::Range;
use std::sync::Arc;
use store::{DnCache, Known, ReadPoint, Ready, Replacement, Stamp};

/// Updates that are ready to be installed, with what they are made of.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    /// One for each update; `None` for one that the writer must look at.
    ready: Vec<Option<Ready>>,
    bytes: Vec<u8>,
    /// Which update of a transaction drafted an entry last.
    last_of: LastOf,
    /// Bytes of the entries that a transaction's updates looked at and made, as an overlay counts them: an entry that is looked
    /// at is about as long as its next version.
    entry_bytes: u64,
}

impl Drafts {
    pub(crate) fn clear(&mut self) {
        self.ready.clear();
        self.bytes.clear();
        self.entry_bytes = 0;
        self.forget();
    }

    /// Bytes of entries that the updates of a transaction looked at and made.
    pub(crate) fn entry_bytes(&self) -> u64 {
        self.entry_bytes
    }

    /// Bytes of the drafts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Updates that there is a draft of, or that have none.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn ready(&self) -> &[Option<Ready>] {
        &self.ready
    }

    /// The updates, and the bytes that theirs are made of.
    pub(crate) fn parts(&mut self) -> (&[Option<Ready>], &mut [u8]) {
        (&self.ready, &mut self.bytes)
    }

    /// Drafts a modify of a transaction, which is its update number `at`: on top of the draft of an earlier one if there is one of
    /// the same entry. `None`, and nothing done, if it cannot be drafted.
    #[inline]
    pub(crate) fn draft_member(
        &mut self,
        read_point: ReadPoint<'_>,
        known: &Known<'_>,
        replacements: &[Replacement<'_>],
        cache: &mut DnCache,
        at: usize,
    ) -> Option<()> {
        let mut ready = read_point
            .ready(known, replacements, cache, &mut self.bytes)
            .or_else(|| read_point.ready_as_seen(known, replacements, cache, &mut self.bytes))?;
        let id = ready.id().0;
        let (place, last) = self.last_of.find(id);
        if let Some(last) = last {
            self.bytes.truncate(ready.range().start);
            ready = read_point.ready_after(self.ready[last].as_mut()?, replacements, &mut self.bytes)?;
        }
        self.entry_bytes += ready.range().len() as u64 * if last.is_none() { 2 } else { 1 };
        self.last_of.set(place, id, at);
        match self.ready.get_mut(at) {
            None => self.ready.push(Some(ready)),
            Some(former) => *former = Some(ready),
        }
        Some(())
    }

    /// Forgets which entries were drafted: what is drafted next is made of what is in the directory.
    pub(crate) fn forget(&mut self) {
        self.last_of.clear();
    }

    /// Says that the next update has no draft.
    #[inline]
    pub(crate) fn push_none(&mut self) {
        self.ready.push(None);
    }

    /// Bytes of memory that it keeps.
    pub(crate) fn capacity(&self) -> usize {
        let ready = self.ready.capacity() * size_of::<Option<Ready>>();
        self.bytes.capacity() + ready + self.last_of.capacity()
    }
}

/// Runs updates that follow each other, as one batch, or collects them for the journal. Returns how many were run or
/// collected: all, unless the session ended or has collected enough.
pub(super) fn run(
    session: &mut Session,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    let updates = match updates.iter().position(|update| is_special(session, parts, update)) {
        Some(0) if transaction::concerns(session, parts, &updates[0]) => {
            return transaction::run(session, parts, updates, out);
        }
        Some(0) => return acting::run(session, parts, &updates[0], out),
        Some(first) => &updates[..first],
        None => updates,
    };
    if session.acting.is_some() {
        if !session.updates.is_empty() {
            // Those are another's.
            return 0;
        }
        session.acting = None;
    }
    run_as(session, None, parts, updates, out)
}

/// Must an update be looked at more closely: is it to be carried out as somebody else, of another shape than others, or
/// one of a transaction?
#[inline]
fn is_special(session: &Session, parts: &Parts<'_>, update: &Pending<'_>) -> bool {
    update.is_special() || transaction::concerns(session, parts, update)
}

/// As [`run`], of updates that are carried out as the session's own identity, or as another one.
pub(super) fn run_as(
    session: &mut Session,
    acting: Option<&Identity>,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    let identity = acting.unwrap_or(&session.identity);
    let rights = identity.rights;
    let updates = match own_password::first_likely(parts, identity, updates) {
        Some(0) if !session.updates.is_empty() => return 0,
        Some(0) => {
            let identity = identity.clone();
            if own_password::run(session, &identity, parts, &updates[0], out) {
                return 1;
            }
            &updates[..1]
        }
        Some(first) => &updates[..first],
        None => updates,
    };
    if !parts.dsa.rules.may_write(rights) {
        return refuse_all(session, acting, parts.counters, updates, out);
    }
    let configures = |update: &Pending<'_>| update.is_about_config() && is_config(parts.dsa, update);
    let updates = match updates.iter().position(configures) {
        // What is answered at once comes after the answers to what was collected before.
        Some(0) if !session.updates.is_empty() => return 0,
        Some(0) => return configure(session, rights, parts, &updates[0], out),
        Some(first) => &updates[..first],
        None => updates,
    };
    let identity = acting.unwrap_or(&session.identity);
    let updates = match permission::first_refused(parts.dsa, identity, updates) {
        Some((0, _)) if !session.updates.is_empty() => return 0,
        Some((0, (code, text))) => {
            transaction::refuse(session, parts, &updates[0], (code, &text), out);
            return 1;
        }
        Some((first, _)) => &updates[..first],
        None => updates,
    };
    let updates = match transaction::nothing_is_held(parts.dsa) {
        true => updates,
        false => match transaction::clear_way(parts.dsa, identity, updates) {
            0 if !session.updates.is_empty() => return 0,
            0 => {
                transaction::refuse_for_now(session, parts, &updates[0], out);
                return 1;
            }
            clear => &updates[..clear],
        },
    };
    if parts.dsa.journal.get().is_some() {
        return collect(session, rights, parts, updates, out);
    }
    let updates = &updates[..until_read(updates)];
    let identity = acting.unwrap_or(&session.identity);
    match Effective::to_write(&parts.dsa.rules, identity) {
        Ok(effective) => apply(effective, parts, updates, out),
        Err(_) => unreachable!("an identity that may not write was refused above"),
    }
    updates.len()
}

/// Does an update change the configuration, and no entry of the directory that happens to be called so?
#[cold]
pub(super) fn is_config(dsa: &Dsa, update: &Pending<'_>) -> bool {
    let dn = update.outline.as_ref().map_or(&[][..], |outline| outline.dn);
    !dsa.shard.holds(dn) && dsa.system.is_below_config(dn)
}

/// Runs an update of the configuration, which is done with.
#[cold]
fn configure(
    session: &mut Session,
    rights: Rights,
    parts: &mut Parts<'_>,
    update: &Pending<'_>,
    out: &mut Vec<u8>,
) -> usize {
    match update.decode() {
        Ok(message) => {
            count_operation(parts.counters, &message.request);
            match control::requested(&message.request, message.controls) {
                Ok(requested) => match requested.rare.as_ref().and_then(|rare| rare.critical()) {
                    None => op::configure::run(parts.dsa, rights, &message, parts.now, out),
                    Some(oid) => control::refuse(&message, ControlError::UnavailableCritical(oid), out),
                },
                Err(error) => control::refuse(&message, error, out),
            }
        }
        Err(error) => refuse_malformed(session, &error, out),
    }
    1
}

/// Applies updates of one identity that follow each other, as one batch.
pub(super) fn apply(
    effective: Effective<'_>,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) {
    let mut drafts = std::mem::take(&mut parts.scratch.drafts);
    drafts.clear();
    prepare(parts, updates, &mut drafts);
    carry_out(effective, parts, updates, &mut drafts, 0, out);
    parts.scratch.drafts = drafts;
}

/// As [`apply`], of updates that were drafted when they came in; theirs are the drafts from position `first` on.
pub(super) fn apply_drafted(
    effective: Effective<'_>,
    parts: &mut Parts<'_>,
    updates: &mut Group<'_>,
    drafts: &mut Drafts,
    first: usize,
    out: &mut Vec<u8>,
) {
    let ready = &drafts.ready[first..first + updates.len()];
    ready.iter().flatten().for_each(|ready| parts.dsa.shard.prefetch_ready(ready));
    parts.hinted_at = None;
    if ready.iter().any(Option::is_none) {
        parts.look_ahead(Rights::Public, updates);
    }
    carry_out(effective, parts, updates, drafts, first, out);
}

/// Puts updates with those that will be logged together, with drafts of what becomes of them: most can be installed when
/// they come back from the log.
fn collect(
    session: &mut Session,
    rights: Rights,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    if session.updates.is_empty() {
        session.reads = 0;
    }
    let updates = &updates[..together(updates, &mut session.reads)];
    let mut count = 0;
    let mut bytes = session.updates.len();
    while count < updates.len() && bytes < UPDATES_BYTES_SOFT_MAX {
        if updates[count].has_controls() && fails_now(parts, rights, &updates[count]) {
            if bytes == 0 {
                refuse_asserted(parts, &updates[count], out);
                return count + 1;
            }
            // What is collected may make it true: it is asked again when that is carried out.
            break;
        }
        bytes += updates[count].frame().len();
        count += 1;
    }
    take(session, parts, &updates[..count]);
    count
}

/// Puts updates with those that will be logged together.
pub(super) fn take(session: &mut Session, parts: &mut Parts<'_>, updates: &[Pending<'_>]) {
    if session.updates.is_empty() {
        (session.updates, session.drafts) = parts.scratch.buffers.take();
    }
    session.updates.extend_from_slice(Pending::frames(updates));
    session.adds += updates.iter().filter(|update| update.is_add()).count();
    prepare(parts, updates, &mut session.drafts);
}

/// Answers an update whose assertion is not true.
#[cold]
fn refuse_asserted(parts: &Parts<'_>, update: &Pending<'_>, out: &mut Vec<u8>) {
    let message = update.decode().expect("it was decoded to know its assertion");
    count_operation(parts.counters, &message.request);
    if let Some(response) = tag::response_to(message.request.tag()) {
        assertion::refuse(out, message.id, response);
    }
}

/// Hands the session's updates over to be logged, if it has any; it waits for what becomes of them.
#[inline]
pub(super) fn hand_over(session: &mut Session, dsa: &Dsa) {
    if !session.updates.is_empty() {
        hand_over_all(session, dsa);
    }
}

#[inline(never)]
fn hand_over_all(session: &mut Session, dsa: &Dsa) {
    let Some(journal) = dsa.journal.get() else { return };
    let reply = Arc::clone(session.reply.get_or_insert_default());
    let (messages, drafts) = (std::mem::take(&mut session.updates), std::mem::take(&mut session.drafts));
    let adds = std::mem::take(&mut session.adds);
    let actor = match session.acting.take() {
        None => session.identity.dn.clone(),
        Some(acting) => {
            session.password = acting.password;
            acting.identity.dn
        }
    };
    let waiting = session.mixed.bytes();
    let marks = session.mixed.hand_over();
    let updates = Updates::new(messages, adds, drafts, actor, reply).marked(marks);
    submit(session, dsa, &**journal, updates, waiting);
}

/// Hands updates to the journal, counted among those that are on their way, with the bytes of reads that wait for them.
pub(super) fn submit(
    session: &mut Session,
    dsa: &Dsa,
    journal: &dyn Journal,
    mut updates: Updates,
    waiting: usize,
) {
    updates.admit(&dsa.throttle, waiting);
    // Only now: the turn kept room for them.
    session.ticket = None;
    session.waits = true;
    journal.submit(updates);
}

/// Drafts what can be drafted at a read point; appends to `drafts`.
pub(super) fn prepare(parts: &mut Parts<'_>, updates: &[Pending<'_>], drafts: &mut Drafts) {
    let end = drafts.ready.len() + updates.len();
    prepare_some(parts, updates, drafts);
    drafts.ready.resize(end, None);
}

fn prepare_some(parts: &mut Parts<'_>, updates: &[Pending<'_>], drafts: &mut Drafts) {
    let Parts { reader, scratch, hinted_at: Some(sequence), .. } = parts else { return };
    let Scratch { evaluator, keys, .. } = &mut **scratch;
    let pin = reader.pin();
    let read_point = pin.read_point();
    if read_point.shard().has_referrals() {
        // Whether an update is to be referred is looked at by the writer.
        return;
    }
    evaluator.cache.refresh(read_point);
    let mut replacing = op::modify::Replacing::new(read_point.shard().schema());
    drafts.ready.extend(updates.iter().enumerate().map(|(at, update)| {
        group::bring_near(read_point, updates, at);
        let (Hint::Target(target), Some(outline)) = (&update.hint, &update.outline) else { return None };
        let replacements = replacing.of(outline)?;
        let known = Known { target: *target, keys, sequence: *sequence };
        read_point.ready(&known, replacements, &mut evaluator.cache, &mut drafts.bytes)
    }));
}

/// Takes the writer's role, runs the updates in order, publishes. Their drafts are those from position `first` on.
fn carry_out(
    effective: Effective<'_>,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    drafts: &mut Drafts,
    first: usize,
    out: &mut Vec<u8>,
) {
    let Parts { dsa, scratch, counters, now, hinted_at, marks, .. } = parts;
    let keys = std::mem::take(&mut scratch.keys);
    let mut writer = dsa.shard.writer();
    let Some(actor) = writer.name(effective.dn()) else {
        scratch.keys = keys;
        return refuse_unnamed(counters, updates, out);
    };
    // Without room for all of them each is looked at alone.
    let Drafts { ready, bytes, .. } = drafts;
    let ready = &ready[first..first + updates.len()];
    let mut drafted = ready.iter().flatten().map(Ready::range);
    let range =
        drafted.next().map(|first| first.start..drafted.next_back().map_or(first.end, |last| last.end));
    let length = |update: &Pending<'_>| update.frame().len();
    let is_tight = writer.is_tight(updates.len(), updates.iter().map(length).sum());
    if is_tight {
        writer.make_way(range.as_ref().map_or(0, Range::len));
    }
    let has_room = range.is_some_and(|range| writer.reserve(range.len()).is_ok());
    let ready = if has_room { ready } else { &[] };
    let (mut done, mut answered) = (0, 0);
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
        // There may be referral objects since the drafts were made: what is below them is not what it was.
        let ready = ready.get(done).and_then(Option::as_ref).filter(|_| !dsa.shard.has_referrals());
        let mut spare = None;
        let is_installed = ready.is_some_and(|ready| {
            let stamp = Stamp { csn: writer.stamp(now.wall_ms), actor };
            spare = Some(stamp);
            writer.install(ready, bytes, stamp)
        });
        if !is_installed {
            succeed(counters, &updates[answered..done], out);
            answered = done + 1;
            let known = known(&updates[done], &keys, *hinted_at);
            let mut writing =
                Writing { dsa, writer: &mut writer, scratch, now: *now, effective, actor, spare, known };
            match updates[done].decode() {
                Ok(message) => {
                    count_operation(counters, &message.request);
                    run_update(&mut writing, &message, updates[done].frame().len(), out);
                }
                // It has an outline, so it can be answered.
                Err(error) => _ = answer_malformed(&error, out),
            }
        }
        done += 1;
    }
    let sequence = writer.view().sequence();
    writer.publish();
    scratch.keys = keys;
    succeed(counters, &updates[answered..done], out);
    if first + done == due
        && let Some(marks) = marks
    {
        marks.note(sequence, out.len());
    }
}

/// Refuses updates of one who cannot be recorded as their author. It takes more new names at the same time than are spared
/// for them to come here; a replay does, too.
#[cold]
fn refuse_unnamed(counters: &Counters, updates: &[Pending<'_>], out: &mut Vec<u8>) {
    for update in updates {
        match update.decode() {
            Ok(message) => {
                count_operation(counters, &message.request);
                if let Some(response) = tag::response_to(message.request.tag()) {
                    let (code, text) = permission::NO_NAME;
                    outcome::say(out, message.id, response, code, text);
                }
            }
            Err(error) => _ = answer_malformed(&error, out),
        }
    }
}

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

/// Refuses updates of a session that may not write.
#[cold]
fn refuse_all(
    session: &mut Session,
    acting: Option<&Identity>,
    counters: &Counters,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    for (at, update) in updates.iter().enumerate() {
        match update.decode() {
            Ok(message) => {
                refuse_update(&message, acting.unwrap_or(&session.identity), counters, out);
            }
            Err(error) => refuse_malformed(session, &error, out),
        }
        if session.closing {
            return at + 1;
        }
    }
    updates.len()
}

fn refuse_update(message: &Message<'_>, identity: &Identity, counters: &Counters, out: &mut Vec<u8>) {
    count_operation(counters, &message.request);
    if let Err(error) = control::requested(&message.request, message.controls) {
        return control::refuse(message, error, out);
    }
    let Some(response) = tag::response_to(message.request.tag()) else { return };
    let text = match identity.dn.is_empty() {
        true => "anonymous clients may not change the directory; bind first",
        false => "this identity may not change the directory",
    };
    outcome::say(out, message.id, response, ResultCode::InsufficientAccessRights, text);
}

fn run_update(writing: &mut Writing<'_, '_>, message: &Message<'_>, message_len: usize, out: &mut Vec<u8>) {
    let requested = match control::requested(&message.request, message.controls) {
        Ok(requested) => requested,
        Err(error) => return control::refuse(message, error, out),
    };
    if refer_update(writing, message, &requested, out) {
        return;
    }
    match &requested.rare {
        None => _ = dispatch::update(writing, message, None, out),
        Some(rare) => _ = control::update::run(writing, message, message_len, rare, out),
    }
}
