//! A bundle: all complete requests found in one read. They are decoded in groups; a group's hash buckets, slots and
//! records are asked for together, stage by stage, before the first of its requests runs. Requests run in order;
//! neighbouring updates share one batch of the writer.

mod update;

use self::update::Batch;
use crate::dispatch::{self, ControlError, Reading, Requested};
use crate::engine::Dsa;
use crate::monitor::{Counters, count};
use crate::op;
use crate::op::search::Around;
use crate::session::{OUT_BYTES_SOFT_MAX, Session};
use crate::worker::{Scratch, Worker};
use env::clock::Now;
use model::{Filter, ResultCode, Scope};
use proto::error::{DecodeError, Kind};
use proto::ext::notice_of_disconnection;
use proto::message::{Frame, Message, Request, frame};
use proto::result::encode_result;
use proto::tag;
use smallvec::SmallVec;
use store::search::EqualityHint;
use store::{Pin, ReadPoint, Reader, Target};

/// Requests of one group: as many cache misses as the memory system likes to have in flight.
const GROUP: usize = 32;
/// Updates of one group: all that is decoded and asked for before the writer's role is taken shortens the time that
/// other threads wait for it.
const GROUP_UPDATES: usize = 128;
/// A decoded request and where it will look.
struct Pending<'a> {
    message: Result<Message<'a>, DecodeError>,
    hint: Hint,
    /// Where it ends in the input.
    end: usize,
}

#[derive(Clone, Copy)]
enum Hint {
    Nothing,
    Target(Target),
    Equality(EqualityHint),
}

type Group<'a> = SmallVec<[Pending<'a>; GROUP_UPDATES]>;

/// Runs what `input` holds. Returns the bytes done with, and the size of the message that is not complete yet.
pub(crate) fn run(
    session: &mut Session,
    worker: &mut Worker,
    input: &[u8],
    out: &mut Vec<u8>,
) -> (usize, usize) {
    if session.is_in_message() {
        return (0, input.len());
    }
    let Worker { dsa, reader, system_reader, scratch, counters, now } = worker;
    let mut parts =
        Parts { dsa, reader, system_reader, scratch, counters, now: *now, batch: None, hinted_at: None };
    let progress = run_groups(session, &mut parts, input, out);
    parts.publish();
    progress
}

/// A worker's parts, borrowed apart, and the writer's role while updates follow each other.
struct Parts<'w> {
    dsa: &'w Dsa,
    reader: &'w mut Reader,
    system_reader: &'w mut Reader,
    scratch: &'w mut Scratch,
    counters: &'w Counters,
    now: Now,
    batch: Option<Batch<'w>>,
    /// Commit sequence at which the group's hints were worked out, while their keys are still there.
    hinted_at: Option<u64>,
}

fn run_groups(
    session: &mut Session,
    parts: &mut Parts<'_>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> (usize, usize) {
    let (mut consumed, mut needed) = (0, 0);
    let mut group = Group::new();
    count(&parts.counters.bundles, 1);
    while !session.closing {
        group.clear();
        (consumed, needed) = decode(input, consumed, &mut group);
        if group.is_empty() {
            break;
        }
        let done = execute(session, parts, &mut group, out);
        if done < group.len() {
            // A half-written answer must be finished before the rest is looked at, and a long one be sent.
            consumed = group[done - 1].end;
        }
        if session.is_in_message() || out.len() > OUT_BYTES_SOFT_MAX * 2 {
            return (consumed, input.len() - consumed);
        }
    }
    (consumed, needed)
}

/// Decodes up to a group of messages from `at` on. Returns where it stopped and what the next message needs.
#[inline]
fn decode<'a>(input: &'a [u8], mut at: usize, group: &mut Group<'a>) -> (usize, usize) {
    while group.len() < GROUP || (group.len() < GROUP_UPDATES && group.last().is_some_and(is_update)) {
        match frame(&input[at..]) {
            Ok(Frame::Complete { len }) => {
                let message = Message::decode(&input[at..at + len]);
                at += len;
                group.push(Pending { message, hint: Hint::Nothing, end: at });
            }
            Ok(Frame::Incomplete { needed }) => return (at, needed),
            Err(error) => {
                group.push(Pending { message: Err(error), hint: Hint::Nothing, end: input.len() });
                return (input.len(), 0);
            }
        }
    }
    (at, 0)
}

/// Runs a group in order. Returns how many requests are done: all, unless one left a half-written answer.
fn execute(session: &mut Session, parts: &mut Parts<'_>, group: &mut Group<'_>, out: &mut Vec<u8>) -> usize {
    if group.iter().any(asks_for_monitor) {
        parts.dsa.system.refresh_monitor(parts.dsa, parts.now);
    }
    let mut next = 0;
    let mut is_first = true;
    while next < group.len() && !session.closing {
        if is_update(&group[next]) && !is_first {
            next = update::run(session, parts, group, next, out);
            continue;
        }
        if !is_update(&group[next]) {
            // A session sees its own updates.
            parts.publish();
        }
        let Parts { dsa, reader, system_reader, scratch, counters, now, hinted_at, .. } = parts;
        let pin = reader.pin();
        let read_point = pin.read_point();
        scratch.evaluator.cache.refresh(read_point);
        scratch.keys.clear();
        // What was worked out for the whole group holds until its first update.
        let hints_hold = std::mem::take(&mut is_first);
        *hinted_at = hints_hold.then(|| read_point.sequence());
        if hints_hold {
            prefetch(read_point, scratch, group);
        }
        let system_pin = system_reader.pin();
        scratch.system_evaluator.cache.refresh(system_pin.read_point());
        let mut looking = Looking { dsa, pin: &pin, system_pin: &system_pin, scratch, counters, now: *now };
        while next < group.len() && !session.closing && !is_update(&group[next]) {
            let hint = if hints_hold { group[next].hint } else { Hint::Nothing };
            looking.run(session, &group[next].message, hint, out);
            next += 1;
            if session.is_in_message() || out.len() > OUT_BYTES_SOFT_MAX * 2 {
                return next;
            }
        }
    }
    group.len()
}

/// Figures are brought up to date before a read point is taken, so that the one who asks sees them.
fn asks_for_monitor(pending: &Pending<'_>) -> bool {
    const LAST_RDN: &[u8] = b"cn=monitor";
    match &pending.message {
        Ok(Message { request: Request::Search(search), .. }) => search
            .base
            .len()
            .checked_sub(LAST_RDN.len())
            .is_some_and(|at| search.base[at..].eq_ignore_ascii_case(LAST_RDN)),
        _ => false,
    }
}

fn is_update(pending: &Pending<'_>) -> bool {
    matches!(
        pending.message,
        Ok(Message {
            request: Request::Modify(_) | Request::Add(_) | Request::Delete(_) | Request::ModifyDn(_),
            ..
        })
    )
}

/// Three stages over the whole group: buckets, slots, records. Each stage's misses overlap.
#[inline]
fn prefetch(read_point: ReadPoint<'_>, scratch: &mut Scratch, group: &mut Group<'_>) {
    for pending in group.iter_mut() {
        let Ok(message) = &pending.message else { continue };
        let dn = match &message.request {
            Request::Search(search) if search.scope == Scope::Base => search.base,
            Request::Search(search) => {
                pending.hint = hint_equality(read_point, scratch, &search.filter);
                continue;
            }
            Request::Modify(modify) => modify.dn,
            Request::Compare(compare) => compare.dn,
            Request::Delete(dn) => dn,
            _ => continue,
        };
        if let Ok(target) = read_point.target(dn, &mut scratch.evaluator.cache, &mut scratch.keys) {
            read_point.prefetch_tag(&target);
            pending.hint = Hint::Target(target);
        }
    }
    let mut ids = SmallVec::<[_; GROUP_UPDATES]>::new();
    for pending in group.iter() {
        ids.extend(match pending.hint {
            Hint::Target(target) => read_point.prefetch_slot(&target),
            Hint::Equality(hint) => read_point.prefetch_candidate(hint),
            Hint::Nothing => None,
        });
    }
    ids.into_iter().for_each(|id| read_point.prefetch_entry(id));
}

fn hint_equality(read_point: ReadPoint<'_>, scratch: &mut Scratch, filter: &Filter<'_>) -> Hint {
    let Filter::Equality(assertion) = filter else { return Hint::Nothing };
    let schema = read_point.shard().schema();
    let Some(attribute_type) = schema.find_type(assertion.attribute) else { return Hint::Nothing };
    let start = scratch.keys.len();
    let normalised = schema.normalise_equality_assertion(attribute_type, assertion.value, &mut scratch.keys);
    let hint = match normalised {
        Ok(()) => read_point.prefetch_equality(attribute_type, &scratch.keys[start..]),
        Err(_) => None,
    };
    scratch.keys.truncate(start);
    hint.map_or(Hint::Nothing, Hint::Equality)
}

/// Requests that look, at one read point.
struct Looking<'b, 'r> {
    dsa: &'b Dsa,
    pin: &'b Pin<'r>,
    system_pin: &'b Pin<'r>,
    scratch: &'b mut Scratch,
    counters: &'b Counters,
    now: Now,
}

impl Looking<'_, '_> {
    #[inline]
    fn run(
        &mut self,
        session: &mut Session,
        message: &Result<Message<'_>, DecodeError>,
        hint: Hint,
        out: &mut Vec<u8>,
    ) {
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                self.forget_bind(session, error.op_tag);
                return refuse_malformed(session, error, out);
            }
        };
        count_operation(self.counters, &message.request);
        let requested = match dispatch::requested(&message.request, message.controls) {
            Ok(requested) => requested,
            Err(error) => {
                self.forget_bind(session, Some(message.request.tag()));
                return refuse_controls(message, error, out);
            }
        };
        self.dispatch(session, message, &requested, hint, out);
    }

    /// A bind that fails leaves the session anonymous and nothing under way (RFC 4511 section 4.2.1), also one that
    /// does not come as far as its operation.
    #[cold]
    fn forget_bind(&self, session: &mut Session, op_tag: Option<u8>) {
        if op_tag == Some(tag::BIND) {
            session.underway.clear();
            session.identity = self.dsa.anonymous();
        }
    }

    #[inline]
    fn dispatch(
        &mut self,
        session: &mut Session,
        message: &Message<'_>,
        requested: &Requested<'_>,
        hint: Hint,
        out: &mut Vec<u8>,
    ) {
        let id = message.id;
        let read_point = self.pin.read_point();
        let mut reading = Reading { dsa: self.dsa, read_point, scratch: self.scratch, now: self.now };
        match &message.request {
            Request::Search(search) => {
                let hint = match hint {
                    Hint::Target(target) => Some(target),
                    _ => None,
                };
                let mut around = Around {
                    pin: self.pin,
                    system_pin: self.system_pin,
                    identity: &session.identity,
                    underway: &mut session.underway,
                    counters: self.counters,
                    hint,
                };
                op::search::run(&mut reading, &mut around, id, search, requested, out);
            }
            Request::Compare(compare) => op::compare::run(&mut reading, &session.identity, id, compare, out),
            Request::Bind(bind) => {
                // RFC 4511 section 4.2.1: what is under way is abandoned.
                session.underway.clear();
                op::bind::run(&mut reading, &mut session.identity, id, bind, out);
            }
            Request::Extended(extended) => op::extended::run(&session.identity, id, extended, out),
            Request::Abandon(target) => op::abandon::run(session, *target),
            Request::Unbind => op::unbind::run(session),
            Request::Modify(_) | Request::Add(_) | Request::Delete(_) | Request::ModifyDn(_) => {
                unreachable!("updates go to the writer")
            }
        }
    }
}

#[inline]
fn count_operation(counters: &Counters, request: &Request<'_>) {
    let kind = match request {
        Request::Bind(_) => 0,
        Request::Unbind => 1,
        Request::Search(_) => 2,
        Request::Compare(_) => 3,
        Request::Modify(_) => 4,
        Request::ModifyDn(_) => 5,
        Request::Add(_) => 6,
        Request::Delete(_) => 7,
        Request::Abandon(_) => 8,
        Request::Extended(_) => 9,
    };
    count(&counters.operations[kind], 1);
}

#[cold]
fn refuse_controls(message: &Message<'_>, error: ControlError<'_>, out: &mut Vec<u8>) {
    let Some(response) = tag::response_to(message.request.tag()) else { return };
    let (code, text) = match error {
        ControlError::UnavailableCritical(oid) => (
            ResultCode::UnavailableCriticalExtension,
            format!("the critical control {} is not known for this operation", String::from_utf8_lossy(oid)),
        ),
        ControlError::Malformed(oid) => (
            ResultCode::ProtocolError,
            format!("the value of control {} is malformed", String::from_utf8_lossy(oid)),
        ),
    };
    encode_result(out, message.id, response, code, b"", &text, &[]);
}

/// Answers a message that could not be decoded, or ends the session with a Notice of Disconnection.
#[cold]
fn refuse_malformed(session: &mut Session, error: &DecodeError, out: &mut Vec<u8>) {
    match error.answerable() {
        Some((id, Some(response))) => {
            let text = format!("{} (byte {} of the message)", error.reason, error.offset);
            let code = match error.kind {
                Kind::Limit => ResultCode::AdminLimitExceeded,
                _ => ResultCode::ProtocolError,
            };
            encode_result(out, id, response, code, b"", &text, &[]);
        }
        // Whatever else it says, the client leaves.
        Some((_, None)) if error.op_tag == Some(tag::UNBIND) => op::unbind::run(session),
        Some((_, None)) => {}
        None => {
            notice_of_disconnection::encode(out, ResultCode::ProtocolError, error.reason);
            session.closing = true;
        }
    }
}
