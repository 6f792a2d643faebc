//! A bundle: all complete requests found in one read. They run in groups, so that the hash buckets, slots and records that they will look
//! at are prefetched. Requests run in order; neighbouring updates share one batch of the writer, or go to the journal together.
//!
//! One thread runs a bundle, for one session, with nothing shared that is locked: what it needs of the thread is in [`Parts`]. It ends
//! where the session must wait (for the log, for its client to read, for its turn among others) and tells how much of the input it took.
//! What it did not take comes again with the next call, so nothing of a request is kept that has not begun.
//!
//! A read looks at a read point that is pinned for its run of reads only. An update is visible to the reads after it in the
//! same bundle: without a log it is applied before they run; with one the session waits for it, or the reads wait with it ([`mixed`]).

mod awaiting;
mod behind;
mod binds;
mod deferred;
mod expiry;
mod group;
mod inside;
mod leading;
mod mixed;
mod needs;
mod noted;
mod restricted;
pub(crate) mod transaction;
mod update;

pub(crate) use self::group::Pending;
use self::group::{Group, Hint};
pub(crate) use self::mixed::go_on;
pub(crate) use self::update::Suspended;
use crate::access::{ClassId, Requester};
use crate::context::Reading;
use crate::control::{self, Rare, Requested, proxied_authorization};
use crate::effective::Effective;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::journal::{Along, UPDATES_BYTES_SOFT_MAX};
use crate::monitor::{Counters, SEARCHES, count};
use crate::monitor_entries;
use crate::op;
use crate::op::search::{SearchContext, again};
use crate::outcome;
use crate::refusals::Limit;
use crate::rights;
use crate::session::security::{Security, Tls};
use crate::session::{Phase, Session};
use crate::turns::LEAST_WORK;
use crate::worker::{Parts, Scratch, Worker};
use env::clock::Now;
use env::fast;
use model::ResultCode;
use model::limits::OUT_BYTES_SOFT_MAX;
use proto::ext::{cancel, notice_of_disconnection};
use proto::message::{Message, Request};
use proto::tag;
use store::{Look, ReadPoint};

/// Runs what `input` holds. Returns the bytes done with, and the size of the message that is not complete yet.
/// `(0, input.len())` means that nothing can be taken now, and that all of the input is wanted again.
pub(crate) fn run(
    session: &mut Session,
    worker: &mut Worker,
    input: &[u8],
    out: &mut Vec<u8>,
) -> (usize, usize) {
    // Answers keep the order of requests where updates are concerned: an answer that is half written, an update on its way to the log and
    // reads that wait behind it must be done with before anything else is begun.
    if session.is_in_message() || session.waits() || session.mixed.is_due() || session.awaited.is_pending() {
        return (0, input.len());
    }
    let parts = &mut worker.parts();
    parts.security = session.security;
    keep_up(session, parts);
    if parts.scratch.views.has_rates() || session.has_pace() {
        session.set_pace(parts.scratch.views.bounds(session.identity.requester().class).rates);
    }
    if parts.dsa.awaits_barriers() && !behind::is_passed_by_lease(session, parts) {
        return behind::run(run_groups, session, parts, input, out);
    }
    run_groups(session, parts, input, out)
}

/// Takes the access rules that are in force, and gives the session's identity its class where that may be another one by now: a rule
/// or a group has changed, or the session has a new identity.
/// It is called before each bundle and before each step of a suspended search. All that the session does by then is
/// decided by the rules of this moment or later ones; within a bundle they do not change under a request.
pub(crate) fn keep_up(session: &mut Session, parts: &mut Parts<'_>) {
    let Parts { dsa, scratch, .. } = parts;
    scratch.keep_up_with(dsa.shard.schema());
    if scratch.views.is_up_to_date(&dsa.access, &dsa.shard) && scratch.views.holds(session.identity.class) {
        return;
    }
    let security = session.security;
    update::authorize::reading(parts, |reading| reading.keep_up(&mut session.identity, security));
}

impl Parts<'_> {
    /// Prefetches the memory that a group will look at.
    /// The pin ends with this: the hints are checked against the sequence when they are used, at another read point.
    #[inline(never)]
    fn prefetch(&mut self, class: ClassId, group: &mut Group<'_>) {
        let pin = self.reader.pin();
        self.hinted_at = Some(prefetch(pin.read_point(), self.scratch, class, group, usize::MAX));
    }
}

/// Prefetches the memory that a group will look at, but for reads from `kept_from` on, which wait; the sequence at which its hints
/// hold.
#[inline(always)]
fn prefetch(
    point: ReadPoint<'_>,
    scratch: &mut Scratch,
    class: ClassId,
    group: &mut Group<'_>,
    kept_from: usize,
) -> u64 {
    scratch.evaluator.cache.refresh(point);
    scratch.keys.clear();
    group::prefetch(point, class, scratch, group, kept_from);
    point.sequence()
}

/// Applies updates that were logged, all of one identity.
/// The applier runs this in the order of the log. It decides nothing about rights or limits: the outcome must be the same on a replay and
/// on every replica, so it depends on the directory, the messages and `effective` alone. Prepared writes only shorten the way.
pub(crate) fn apply(
    worker: &mut Worker,
    effective: Effective<'_>,
    messages: &[u8],
    along: Option<Along<'_>>,
    out: &mut Vec<u8>,
) {
    let (mut prepared_writes, marks) = match along {
        // Updates that came from another server have none.
        Some(Along { prepared_writes, marks, .. }) => {
            (Some(prepared_writes).filter(|writes| writes.len() > 0), Some(marks))
        }
        None => (None, None),
    };
    // Where a read stands between these updates, those before it are published by themselves.
    let mut parts = Parts { marks, ..worker.parts() };
    let mut group = Group::new();
    // `done` counts updates over all groups, for prepared writes and marks are numbered by that.
    let (mut at, mut done) = (0, 0);
    loop {
        // Groups bound how long the writer's role is held, and so how long readers see none of them.
        group.clear();
        (at, _) = group::gather(messages, at, &mut group);
        assert!(!group.is_empty() || at == messages.len(), "what was logged are whole messages");
        if group.is_empty() {
            let places = prepared_writes.map_or(done, |prepared_writes| prepared_writes.len());
            assert!(places == done, "each update of a submission has a place among the prepared writes");
            return;
        }
        match &mut prepared_writes {
            Some(prepared_writes) => update::apply::apply_prepared_before(
                effective,
                &mut parts,
                &mut group,
                prepared_writes,
                done,
                out,
            ),
            None => {
                // A replay has no prepared writes. `apply` makes them from the hints of this, as in a directory without a log.
                parts.prefetch(ClassId::NONE, &mut group);
                update::apply::apply(effective, &mut parts, &group, out);
            }
        }
        done += group.len();
    }
}

/// Runs one group after the other until the input is used up or the session must stop. What was collected is submitted before it
/// returns, whatever the reason: nothing may stay in a session that no event would wake again.
fn run_groups(
    session: &mut Session,
    parts: &mut Parts<'_>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> (usize, usize) {
    let (mut consumed, mut needed) = (0, 0);
    // One group for the whole call. It lies on the stack and has room for all that it may hold, so gathering allocates nothing.
    let mut group = Group::new();
    session.pauses = false;
    // The budget is for all searches of the bundle together: a client that sends many at once gets no more turns than others.
    parts.scratch.work = parts.scratch.slice_work;
    count(&parts.counters.bundles, 1);
    // It came before the input, and its answer goes out before theirs.
    if session.has_deferred() {
        binds::run_deferred(session, parts, out);
        if session.waits() || session.deferred.is_some() {
            return (0, input.len());
        }
    }
    if session.suspended.is_some() {
        update::resume(session, parts, out);
        // Its update is on its way to the log, or has parts left. What the input says comes after the answer to it.
        if session.waits() || session.deferred.is_some() || session.suspended.is_some() {
            return (0, input.len());
        }
    }
    while !session.is_closing() {
        let mut end = input.len();
        if session.is_restricted() {
            let (refused, admitted) = restricted::next_admitted(session, parts, &input[consumed..], out);
            (consumed, end) = (consumed + refused, consumed + admitted);
        }
        let begin = consumed;
        group.clear();
        (consumed, needed) = group::gather(&input[..end], consumed, &mut group);
        if group.is_empty() {
            break;
        }
        if session.queue.is_some() || group.iter().any(Pending::has_controls) {
            group::look_at_queue(&mut session.queue, parts.dsa.config.queue_length_oid.as_deref(), &group);
        }
        let done = execute(session, parts, &mut group, out);
        assert!(done <= group.len(), "no more is done than was there");
        if done < group.len() {
            // A half-written answer must be finished before the rest is looked at, and a long one be sent.
            consumed = done.checked_sub(1).map_or(begin, |last| group[last].end);
        }
        assert!(consumed >= begin, "a bundle never goes back in its input");
        // The rest of what was read waits with what was not.
        let is_too_fast = session.count_requests(done, parts.now.monotonic_ns);
        // Three bounds end a call: the turn among connections, the bytes of one parcel of the log, and those of one write to the client.
        let has_enough = session.waits()
            || session.behind.asks
            || session.batch.bytes() + session.mixed.bytes() >= UPDATES_BYTES_SOFT_MAX;
        // What is collected is submitted by the end of the turn: no event would wake the session for it later.
        if session.has_had_turn() || has_enough || is_too_fast || out.len() > OUT_BYTES_SOFT_MAX * 2 {
            update::submit::submit_collected(session, parts.dsa);
            session.end_turn();
            return (consumed, input.len() - consumed);
        }
    }
    update::submit::submit_collected(session, parts.dsa);
    session.end_turn();
    // A stranger must not make the server keep a long message. This comes last, so that what is complete was answered.
    // `needed` is the whole length that the message announces, of which only the beginning is there.
    if needed as u64 > parts.dsa.limits.unbound_message_bytes_max.get() {
        refuse_long(session, out);
    }
    (consumed, needed)
}

/// Runs a group in order. Returns how many requests are done: all, unless one left a half-written answer or the session
/// waits for its updates.
///
/// The loop alternates between runs of updates and runs of reads. Each run of reads has a read point of its own: a pin over an update
/// would keep old versions alive, and show the session a directory without its own update.
fn execute(session: &mut Session, parts: &mut Parts<'_>, group: &mut Group<'_>, out: &mut Vec<u8>) -> usize {
    // Before the read point is taken, or the search would see the numbers of the last refresh.
    if group.iter().any(Pending::asks_for_monitor) {
        monitor_entries::refresh(parts.dsa, parts.now);
    }
    if group.iter().any(Pending::asks_for_changes) {
        crate::root_dse::refresh(parts.dsa, session.security.offer(), parts.now);
    }
    let is_logged = parts.dsa.journal.get().is_some();
    // `is_new`: no hints were made for the group yet. `near`: how many of its records were asked for ahead of runs of updates.
    let (mut is_new, mut next, mut near) = (true, 0, 0);
    while next < group.len() && !session.is_closing() {
        let is_update = group[next].is_update();
        // Too much is on its way to the log: the session queues for admission before it collects anything. Later updates of a batch that has
        // begun are let in, for they go with it.
        if is_update && is_logged && session.batch.is_empty() && !session.is_admitted(&parts.dsa.throttle) {
            return next;
        }
        // The first request of a group never comes here: hints are made below first, at a read point that reads and updates share.
        if is_update && !is_new && needs::may_follow(session, parts.dsa, &group[next]) {
            let must_submit = run_updates(session, parts, group, &mut next, &mut near, out);
            // Submitted even if the client reads slowly: updates that are collected must not wait for that.
            if session.waits() || session.deferred.is_some() || out.len() > OUT_BYTES_SOFT_MAX * 2 {
                return next;
            }
            if !must_submit {
                continue;
            }
            update::submit::submit_collected(session, parts.dsa);
            return next;
        }
        // A read behind updates that are still to be logged: it is kept with them, so that the bundle costs one sync.
        if is_logged && !is_new && !is_update && mixed::keep(session, parts.dsa, &group[next]) {
            next += 1;
            continue;
        }
        // It may not wait with them, so they go first, and the session waits.
        if is_logged && !session.batch.is_empty() && !is_new {
            update::submit::submit_collected(session, parts.dsa);
            return next;
        }
        // Else they wait with the updates before them.
        let may_look = session.batch.is_empty();
        let Parts { dsa, reader, system_reader, scratch, counters, now, hinted_at, .. } = parts;
        let pin = reader.pin();
        let read_point = pin.read_point();
        // Hints are made once for a group, and used at later read points as long as no name has changed since.
        match std::mem::take(&mut is_new) {
            true => {
                let kept_from = if is_logged { mixed::kept_from(session, group) } else { usize::MAX };
                let class = session.identity.requester().class;
                *hinted_at = Some(prefetch(read_point, scratch, class, group, kept_from));
            }
            false => scratch.evaluator.cache.refresh(read_point),
        }
        // Without fast paths nothing is taken from hints: the suite then runs the code that finds entries by their names alone.
        let hints_hold =
            fast::IS_ON && hinted_at.is_some_and(|sequence| read_point.names_hold_since(sequence));
        // The server's own entries are a shard of their own: its ids and names mean nothing in the directory, nor the other way round.
        let system_pin = system_reader.pin();
        scratch.system_evaluator.cache.refresh(system_pin.read_point());
        // Both pins are held for this run of reads and no longer: the next update may free what they keep.
        let mut reads = ReadBatch {
            dsa,
            look: pin.look(),
            system_look: system_pin.look(),
            scratch,
            counters,
            now: *now,
            hints_hold,
            repeats: hints_hold && again::is_possible(read_point),
        };
        // The first turn of a group may end here with nothing done but the hints: where the group begins with an update, or where
        // updates of the group before are still collected. The next turn then decides what becomes of the request.
        while may_look && next < group.len() && !session.is_closing() && !group[next].is_update() {
            if behind::must_ask(session, dsa, &group[next]) {
                session.behind.asks = true;
                return next;
            }
            group::prefetch_next(read_point, group, next);
            let is_done = reads.run(session, &group[next], out);
            next += usize::from(is_done);
            if !is_done || session.has_had_turn() || out.len() > OUT_BYTES_SOFT_MAX * 2 {
                return next;
            }
        }
    }
    group.len()
}

/// Runs updates of a group that follow each other from `next` on; records are near up to `near`. Returns whether what was collected of
/// them must be submitted before anything else is done.
/// `near` is kept for the whole group, so no record is asked for twice.
#[inline(never)]
fn run_updates(
    session: &mut Session,
    parts: &mut Parts<'_>,
    group: &Group<'_>,
    next: &mut usize,
    near: &mut usize,
    out: &mut Vec<u8>,
) -> bool {
    // The run ends at the first request that must not go with them. That one is looked at again, as the first of its own run.
    let goes_along = |pending: &&Pending<'_>| mixed::is_neighbour(session, parts.dsa, pending);
    let updates = group[*next..].iter().take_while(goes_along).count();
    if updates < group.len() {
        // Those of a whole group are prefetched while they are prepared.
        let pin = parts.reader.pin();
        group::prefetch_all_records(pin.read_point(), group, near, *next + updates);
    }
    // A session sees its own updates: they are published when this returns, or it waits until they are.
    let progress = update::run(session, parts, &group[*next..*next + updates], out);
    assert!(progress.taken > 0 || progress.must_submit, "a run of updates comes further");
    assert!(progress.taken <= updates, "no more updates are taken than the run has");
    *next += progress.taken;
    progress.must_submit
}

/// Requests that look, at one read point.
/// The looks are borrowed from pins of the caller, one of the directory and one of the server's own entries: both stay what they are as
/// long as this is held, so a search and its aliases, or a compare and its DN, are of one state.
struct ReadBatch<'b> {
    dsa: &'b Dsa,
    look: Look<'b>,
    system_look: Look<'b>,
    scratch: &'b mut Scratch,
    counters: &'b Counters,
    now: Now,
    /// Do the group's hints hold at this read point?
    hints_hold: bool,
    /// And may searches be run from cached query templates?
    repeats: bool,
}

impl ReadBatch<'_> {
    /// A request of a cached form is answered without being decoded; every other is decoded here, and nowhere before.
    #[inline]
    fn run_once(&mut self, session: &mut Session, pending: &Pending<'_>, out: &mut Vec<u8>) {
        if self.repeats && self.run_again(session.identity.requester(), pending, out) {
            return;
        }
        let decoded = pending.decode();
        let message = match &decoded {
            Ok(message) => message,
            Err(error) => {
                // Also a bind that cannot be read is one that has failed.
                self.forget_bind(session, error.op_tag);
                return session.refuse_malformed(error, out);
            }
        };
        // Counted from here on: a message that cannot be read is no operation.
        if !self.is_again() {
            self.counters.count_operation(&message.request);
        }
        let (views, who) = (&self.scratch.views, session.identity.requester());
        if let Err((code, text)) = rights::use_of(views, who, message, self.dsa.shard.schema()) {
            self.forget_bind(session, Some(message.request.tag()));
            if let Some(response) = tag::response_to(message.request.tag()) {
                outcome::say(out, message.id, response, code, &text);
            }
            return;
        }
        let settings = &self.dsa.transactions;
        let requested = match control::requested_of_looking(&message.request, message.controls, settings) {
            Ok(requested) => requested,
            Err(error) => {
                self.forget_bind(session, Some(message.request.tag()));
                return control::refuse(message, error, out);
            }
        };
        match requested.rare.as_deref() {
            None => self.dispatch(session, None, message, &requested, pending, out),
            Some(rare) => self.run_rare(session, rare, message, &requested, pending, out),
        }
    }

    /// Runs a request with controls that few have.
    /// The order matters: a search in a transaction is made as who began it, so an identity that it asks for is refused there and not
    /// looked up here.
    #[cold]
    fn run_rare(
        &mut self,
        session: &mut Session,
        rare: &Rare<'_>,
        message: &Message<'_>,
        requested: &Requested<'_>,
        pending: &Pending<'_>,
        out: &mut Vec<u8>,
    ) {
        if behind::refuses_copy(session, rare, message, out) {
            return;
        }
        if let Some(identifier) = rare.transaction {
            return self.run_inside(session, identifier, message, requested, pending, out);
        }
        // RFC 4370: the rights are those of the other identity, for this one request.
        let Some(authorization_id) = rare.proxied else {
            return self.dispatch(session, None, message, requested, pending, out);
        };
        match self.authorize(session, authorization_id) {
            Some(acting) => self.dispatch(session, Some(&acting), message, requested, pending, out),
            None => {
                if let Some(response) = tag::response_to(message.request.tag()) {
                    proxied_authorization::refuse(out, message.id, response);
                }
            }
        }
    }

    /// Who a request is applied as.
    /// `None` if the client may not act as that identity, or if there is none: both get the same answer, or a client could ask who exists.
    #[cold]
    fn authorize(&mut self, session: &Session, authorization_id: &[u8]) -> Option<Identity> {
        let read_point = self.look.read_point();
        let mut reading = Reading {
            dsa: self.dsa,
            read_point,
            scratch: self.scratch,
            now: self.now,
            security: session.security,
        };
        let client = (&session.identity, session.security);
        proxied_authorization::authorize(&mut reading, client, authorization_id)
    }

    /// Runs a search of a known form. `false` if it is none, or not as simple as most: then nothing was done.
    /// It is asked for only while hints hold and no alias or referral is there, both of which a template knows nothing of.
    #[inline]
    fn run_again(&mut self, who: Requester, pending: &Pending<'_>, out: &mut Vec<u8>) -> bool {
        let (Some(again), Some(outline)) = (pending.again, &pending.outline) else { return false };
        let read_point = self.look.read_point();
        let security = Security::INTERNAL;
        let mut reading =
            Reading { dsa: self.dsa, read_point, scratch: self.scratch, now: self.now, security };
        let (reading, id, counters) = (&mut reading, outline.id, self.counters);
        let done = match &pending.hint {
            Hint::Target(target) => again::base(reading, id, who, again, target, counters, out),
            Hint::Equality(hint, value) => {
                again::equality(reading, id, who, again, (hint, *value), counters, out)
            }
            Hint::Nothing => false,
        };
        // Only now: what was not done is counted where it is decoded.
        if done {
            count(&self.counters.operations[SEARCHES], 1);
        }
        done
    }

    /// Gives the session's identity its class, if that may be another one by now.
    /// Also a session that is nobody has a class: that of anonymous on this connection.
    fn classify(&mut self, session: &mut Session) {
        let read_point = self.look.read_point();
        let security = session.security;
        let mut reading =
            Reading { dsa: self.dsa, read_point, scratch: self.scratch, now: self.now, security };
        reading.classify(&mut session.identity, session.security);
    }

    /// Runs a decoded request that looks. `acting` is another identity if the request asks for one (RFC 4370).
    #[inline]
    fn dispatch(
        &mut self,
        session: &mut Session,
        acting: Option<&Identity>,
        message: &Message<'_>,
        requested: &Requested<'_>,
        pending: &Pending<'_>,
        out: &mut Vec<u8>,
    ) {
        let id = message.id;
        let read_point = self.look.read_point();
        let security = session.security;
        let mut reading =
            Reading { dsa: self.dsa, read_point, scratch: self.scratch, now: self.now, security };
        match &message.request {
            Request::Search(search) => {
                // A hint is what the name meant when the group was prefetched. If a name has changed since, the base is resolved anew.
                let hint = match pending.hint {
                    Hint::Target(target) if self.hints_hold => Some(target),
                    _ => None,
                };
                let mut context = SearchContext {
                    peer: &session.peer,
                    look: self.look,
                    system_look: self.system_look,
                    identity: acting.unwrap_or(&session.identity),
                    searches: &mut session.searches,
                    counters: self.counters,
                    hint,
                    outline: pending.outline.as_ref(),
                };
                // The hint is of the entry's name. A search that asks for another identity sees other attributes, but the same entry.
                op::search::run(&mut reading, &mut context, id, search, requested, out);
                // Another server has the answer.
                self.defer_if_lacking(session, pending.frame(), search.base);
                // The budget of the bundle is used up. The others of this thread have their turn before the session goes on.
                if self.scratch.work < LEAST_WORK {
                    session.pauses = true;
                    // Buffers that long values have grown are given back, but not while a search of the session goes on with them.
                    if session.searches.is_empty() {
                        self.scratch.evaluator.forget_long();
                    }
                }
            }
            Request::Compare(compare) => {
                let identity = acting.unwrap_or(&session.identity);
                op::compare::run(&mut reading, identity, id, compare, requested, out);
                self.defer_if_lacking(session, pending.frame(), compare.dn);
            }
            Request::Bind(bind) => self.bind(session, id, (bind, requested), pending.frame(), out),
            Request::Extended(extended) if extended.oid == cancel::OID => {
                let who = (&session.identity, acting);
                op::cancel::run(&mut session.searches, who, id, extended.value, out);
            }
            // Those that change something are updates, and went another way.
            Request::Extended(extended) => {
                let active = session.stands_against_tls();
                let identity = acting.unwrap_or(&session.identity);
                op::extended::run(identity, (&mut session.security, active), id, extended, out);
                // Nothing behind a StartTLS is looked at.
                session.pauses |= matches!(session.security.tls, Tls::Requested(_));
            }
            // It has no answer (RFC 4511 section 4.11). Only searches can be abandoned: a session takes no
            // input while its updates are on their way.
            Request::Abandon(target) => op::abandon::run(&mut session.searches, *target),
            // What was collected before it has been submitted: the client sent that before it left.
            Request::Unbind => session.end(),
            Request::Modify(_) | Request::Add(_) | Request::Delete(_) | Request::ModifyDn(_) => {
                unreachable!("updates go to the writer")
            }
        }
    }
}

/// Ends the session of a client that has not bound and begins a message that only others may send.
/// A notice of disconnection (RFC 4511 section 4.4.1) says why, and the session ends once it is sent.
#[cold]
fn refuse_long(session: &mut Session, out: &mut Vec<u8>) {
    // Within an answer that is half written a notice would be read as a part of it.
    if session.is_bound() || session.is_closing() || session.is_in_message() {
        return;
    }
    let text = "the message is longer than limits.message-anonymous allows before a bind";
    notice_of_disconnection::encode(out, ResultCode::ProtocolError, text);
    session.peer.note(Limit::MessageBytes);
    session.phase = Phase::Closing;
}
