//! Bundles of a directory whose log is replicated: what looks at the directory runs behind a barrier, so that it sees all that
//! was acknowledged anywhere before it came.
//!
//! A bundle is cut where requests begin that need a barrier. One barrier is good for all complete requests that had come
//! when it was asked for, and for none that came later. After updates of the session it is good for nothing more: a replica that does not
//! lead may not have applied them when they are answered. Reads that wait with updates ([`super::mixed`], [`super::leading`]) need none.

use super::needs::{is_update, needs_barrier};
use super::{Pending, group, leading, transaction};
use crate::barrier::Answer;
use crate::control::Rare;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::op::{self, extended};
use crate::outcome::{self, FixedRefusal};
use crate::session::{Phase, Session};
use crate::worker::Parts;
use model::ResultCode;
use model::limits::OUT_BYTES_SOFT_MAX;
use proto::ext::cancel;
use proto::message::{Frame, Message, Request, frame};
use proto::outline::Outline;
use proto::tag;

/// Another server may know of more than this one, and what it has may be old.
pub(super) const NO_MAJORITY: FixedRefusal =
    (ResultCode::Busy, "no majority of the cluster's servers answers: what is here may be out of date");

/// Runs groups of requests of a part of the input: that of [`super::run`].
type RunGroups = fn(&mut Session, &mut Parts<'_>, &[u8], &mut Vec<u8>) -> (usize, usize);

/// As `run_groups`, which runs the parts of the input that may be run now.
pub(super) fn run(
    run_groups: RunGroups,
    session: &mut Session,
    parts: &mut Parts<'_>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> (usize, usize) {
    let mut consumed = 0;
    loop {
        let rest = &input[consumed..];
        let covered = &rest[..session.behind.bytes.min(rest.len())];
        let refused = refused(session.behind.answer, covered);
        if refused > 0 {
            session.behind.bytes -= refused;
            refuse(session, parts, &rest[..refused], out);
            consumed += refused;
            continue;
        }
        // Without input it goes on with a request that was taken from its input before.
        let mut end = match (covered.len(), session.behind.answer) {
            (0, _) => free(session, parts.dsa, rest),
            (_, Answer::Without(age)) => {
                session.read_age.read_at(Some(age), session.searches.is_empty());
                up_to_update(covered)
            }
            (covered, _) => {
                session.read_age.read_at(None, session.searches.is_empty());
                covered
            }
        };
        let mut led = 0;
        if end == 0 && !rest.is_empty() && !session.is_closing() {
            if session.has_deferred() || session.suspended.is_some() {
                run_groups(session, parts, &[], out);
                if session.waits() || session.deferred.is_some() || session.suspended.is_some() {
                    return (consumed, rest.len());
                }
            }
            led = leading::keep(session, parts, rest);
            if led == 0 {
                if ask(session, parts, rest) {
                    return (consumed, rest.len());
                }
                continue;
            }
            end = led + free(session, parts.dsa, &rest[led..]);
        }
        // What is offered without a barrier may begin with updates and go on with reads, which wait with these. Should a read come first
        // after all, as its update was answered at once, it is not run.
        session.behind.is_without = covered.is_empty();
        let (done, needed) = run_groups(session, parts, &rest[led..end], out);
        session.behind.is_without = false;
        if led > 0 && leading::take_back(session) {
            assert!(done == 0, "reads that wait are answered before the update behind them");
            session.behind.asks = false;
            // Or its updates wait for room on the way to the log, and the input comes again when there is some.
            if session.waits() || ask(session, parts, rest) {
                return (consumed, rest.len());
            }
            continue;
        }
        let done = led + done;
        assert!(done <= end, "no more is done than was offered");
        consumed += done;
        // Updates that went to the log have set it to 0.
        session.behind.bytes = session.behind.bytes.saturating_sub(done);
        // It has come to a request that looks at the directory, and the updates before it were answered at once: nothing that it could wait with
        // is on its way to the log.
        if std::mem::take(&mut session.behind.asks) {
            if ask(session, parts, &rest[done..]) {
                return (consumed, rest.len() - done);
            }
            continue;
        }
        if end == rest.len() {
            return (consumed, needed);
        }
        let is_stopped = done < end
            || session.waits()
            || session.is_closing()
            || session.has_had_turn()
            || session.deferred.is_some()
            || session.suspended.is_some()
            || out.len() > OUT_BYTES_SOFT_MAX * 2;
        if is_stopped {
            return (consumed, input.len() - consumed);
        }
    }
}

/// Needs nothing of the input a barrier, because this server leads and has a lease? All of it came before the clock was looked at.
#[inline]
pub(super) fn is_passed_by_lease(session: &Session, parts: &Parts<'_>) -> bool {
    // What a barrier was asked for is run or refused by that; and what was read before it may have to be answered.
    session.behind.bytes == 0
        && !session.read_age.is_said()
        && parts.dsa.journal.get().is_some_and(|journal| journal.holds_lease(parts.now.monotonic_ns))
}

/// Bytes at the front of what a barrier was asked for that are refused by its answer.
fn refused(answer: Answer, covered: &[u8]) -> usize {
    match answer {
        Answer::Passed => 0,
        Answer::Without(_) if up_to_update(covered) > 0 => 0,
        Answer::Without(_) => match frame(covered) {
            Ok(Frame::Complete { len }) => len,
            _ => 0,
        },
        Answer::Refused => covered.len(),
    }
}

/// Bytes of requests up to the first that changes something, or may be part of a transaction.
fn up_to_update(input: &[u8]) -> usize {
    let mut at = 0;
    while let Ok(Frame::Complete { len }) = frame(&input[at..]) {
        let only_reads = match group::decode(&input[at..at + len]) {
            Ok(Message { request: Request::Extended(extended), .. }) => {
                extended::find(extended.oid).is_some_and(|known| !known.is_update())
            }
            Ok(Message { request, .. }) => matches!(
                request,
                Request::Bind(_)
                    | Request::Unbind
                    | Request::Abandon(_)
                    | Request::Search(_)
                    | Request::Compare(_)
            ),
            // It is refused by those who run it.
            Err(_) => true,
        };
        if !only_reads {
            break;
        }
        at += len;
    }
    at
}

/// Bytes at the front of the input that need no barrier: up to the first complete request that does, or all. Reads behind updates may need
/// none: see [`must_ask`].
fn free(session: &Session, dsa: &Dsa, input: &[u8]) -> usize {
    let (mut at, mut has_update) = (0, false);
    while let Ok(Frame::Complete { len }) = frame(&input[at..]) {
        let message = &input[at..at + len];
        let outline = Outline::of(message);
        match outline.as_ref().map(|outline| outline.op_tag) {
            Some(tag::SEARCH | tag::COMPARE) if has_update => {}
            _ if needs_barrier(session, dsa, message, outline.as_ref()) => return at,
            op_tag => has_update |= op_tag.is_some_and(is_update),
        }
        at += len;
    }
    input.len()
}

/// Must a request that is about to look at the directory wait for a barrier, as the updates before it were answered at once?
#[inline]
pub(super) fn must_ask(session: &Session, dsa: &Dsa, request: &Pending<'_>) -> bool {
    session.behind.is_without && needs_barrier(session, dsa, request.frame(), request.outline.as_ref())
}

/// Asks for a barrier for all complete requests of the input. `false` if there is none to wait for.
fn ask(session: &mut Session, parts: &Parts<'_>, input: &[u8]) -> bool {
    let mut bytes = 0;
    while let Ok(Frame::Complete { len }) = frame(&input[bytes..]) {
        bytes += len;
    }
    assert!(bytes > 0, "a barrier is for requests");
    session.behind.bytes = bytes;
    wait(session, parts.dsa)
}

/// Asks for a barrier: what the session does next it does behind it. `false` if there is none to wait for, so that it may go on at once.
/// The answer is kept with the session ([`crate::barrier::Behind`]): who asked looks there when the session is called again.
pub(super) fn wait(session: &mut Session, dsa: &Dsa) -> bool {
    session.behind.answer = Answer::Passed;
    let barrier = dsa.journal.get().and_then(|journal| journal.barrier());
    let waits = barrier.is_some();
    if let Some(barrier) = barrier {
        session.enter(Phase::Behind(barrier));
    }
    waits
}

/// Refuses a read whose client wants the original (RFC 6171 section 3), where nobody knows whether what is here is all that was acknowledged:
/// such a server has nothing but a copy. `false` if it may be read.
#[cold]
pub(super) fn refuses_copy(
    session: &Session,
    rare: &Rare<'_>,
    message: &Message<'_>,
    out: &mut Vec<u8>,
) -> bool {
    let is_refused = rare.original && session.read_age.is_said();
    if is_refused && let Some(response) = tag::response_to(message.request.tag()) {
        outcome::say(out, message.id, response, NO_MAJORITY.0, NO_MAJORITY.1);
    }
    is_refused
}

/// Answers requests that are not run, because nobody answers.
#[cold]
fn refuse(session: &mut Session, parts: &Parts<'_>, input: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Ok(Frame::Complete { len }) = frame(&input[at..])
        && !session.is_closing()
    {
        let message = match group::decode(&input[at..at + len]) {
            Ok(message) => message,
            Err(error) => return session.refuse_malformed(&error, out),
        };
        at += len;
        parts.counters.count_operation(&message.request);
        match &message.request {
            Request::Unbind => session.end(),
            Request::Abandon(target) => op::abandon::run(&mut session.searches, *target),
            // With a control it is for somebody else, or has one that is not known: that is not looked up here.
            Request::Extended(extended)
                if extended.oid == cancel::OID && message.controls.iter().next().is_none() =>
            {
                let who = (&session.identity, None);
                op::cancel::run(&mut session.searches, who, message.id, extended.value, out);
            }
            request => {
                match request {
                    // A bind that fails leaves nobody, and nothing in progress (RFC 4511 section 4.2.1).
                    Request::Bind(_) => {
                        session.searches.clear();
                        session.transactions.clear();
                        session.exchange = None;
                        session.identity = Identity::anonymous();
                    }
                    // It may have been part of a transaction, which must not be committed without it.
                    Request::Search(_) | Request::Compare(_) | Request::Extended(_) => {}
                    _ if message.controls.iter().next().is_some()
                        || transaction::implies(session, parts.dsa) =>
                    {
                        session.transactions.clear();
                    }
                    _ => {}
                }
                if let Some(response) = tag::response_to(request.tag()) {
                    outcome::say(out, message.id, response, NO_MAJORITY.0, NO_MAJORITY.1);
                }
            }
        }
    }
}
