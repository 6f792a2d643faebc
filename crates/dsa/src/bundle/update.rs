//! The updates of a bundle. Each passes five stages, in this order:
//!
//! ```text
//! classify    what it is: decoded here, with its controls, and not again before the log
//! authorize   as whom it is applied, and whether that identity may
//! prepare     what it needs of the directory as it is now; its prepared write
//! submit      to the log with its neighbours, or straight to the next stage without a log
//! apply       in the writer's role: installed, or decoded and applied
//! ```
//! Most updates need no decoding to pass the first two: [`Door`] tells which, and may only say yes. What can be done before the
//! writer's role is taken is done before, for other threads wait for it.

pub(super) mod apply;
pub(super) mod authorize;
mod classify;
mod door;
mod password;
pub(super) mod prepare;
pub(super) mod submit;

pub(super) use self::authorize::authorize_proxied;
pub(super) use self::classify::{Kind, Request, classify};
use self::door::Door;
use super::group::Pending;
use super::{Parts, count_operation, refuse_malformed, transaction};
use crate::access::Rights;
use crate::control::{self, ControlError, Requested};
use crate::op;
use crate::outcome;
use crate::session::{Acting, Session};
use model::ResultCode;
use proto::tag;
use std::borrow::Cow;

/// Code and text of a refusal.
type Refusal = (ResultCode, Cow<'static, str>);

/// What became of an update on its way to the log.
enum Admission {
    /// It goes with those before it.
    Joins,
    /// As [`Admission::Joins`], and none goes with it that comes after.
    JoinsLast,
    /// It was answered, or submitted by itself.
    Done,
    /// What is collected must be applied before anything is done about it.
    Barrier,
}

/// Runs updates that follow each other, as one batch, or collects them for the log. Returns how many were answered or
/// collected: none if what the session has collected must be applied before the next one.
pub(super) fn run(
    session: &mut Session,
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    out: &mut Vec<u8>,
) -> usize {
    if session.batch.is_empty() {
        // They mean something only with what is collected.
        (session.batch.acting, session.batch.reads) = (None, 0);
    }
    let mut door = Door::of(session, parts.dsa);
    let mut count = 0;
    while count < updates.len() {
        let update = &updates[count];
        if !door.admits(update) {
            let is_first = count == 0 && session.batch.is_empty();
            if transaction::concerns(session, parts, update) {
                return match (count, is_first) {
                    (0, true) => transaction::run(session, parts, updates, out),
                    _ => submit::together(session, parts, &updates[..count], out),
                };
            }
            match admit(session, parts, update, is_first, out) {
                Admission::Joins => door = Door::of(session, parts.dsa),
                Admission::JoinsLast => {
                    return submit::together(session, parts, &updates[..=count], out);
                }
                Admission::Done => return 1,
                Admission::Barrier => break,
            }
        }
        count += 1;
    }
    submit::together(session, parts, &updates[..count], out)
}

/// Takes an update through the stages before the log. `is_first`: nothing is collected that comes before it.
#[cold]
fn admit(
    session: &mut Session,
    parts: &mut Parts<'_>,
    update: &Pending<'_>,
    is_first: bool,
    out: &mut Vec<u8>,
) -> Admission {
    let request = match classify(parts.dsa, update) {
        // What is answered at once comes after the answers to what was collected before.
        Err(_) if !is_first => return Admission::Barrier,
        Err(error) => {
            refuse_malformed(session, &error, out);
            return Admission::Done;
        }
        Ok(request) => request,
    };
    match pass(session, parts, &request, is_first, out) {
        Ok(admission) => admission,
        Err(_) if !is_first => Admission::Barrier,
        Err(refused) => {
            count_operation(parts.counters, &request.message.request);
            refused.answer(&request, out);
            Admission::Done
        }
    }
}

/// Why an update goes no further.
pub(super) enum Refused<'a> {
    Control(ControlError<'a>),
    Refusal(Refusal),
}

impl From<(ResultCode, &'static str)> for Refused<'_> {
    fn from((code, text): (ResultCode, &'static str)) -> Self {
        Refused::Refusal((code, text.into()))
    }
}

impl Refused<'_> {
    pub(super) fn answer(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        let message = &request.message;
        match self {
            Refused::Control(error) => control::refuse(message, *error, out),
            Refused::Refusal((code, text)) => {
                let response = tag::response_to(message.request.tag()).expect("updates have answers");
                outcome::say(out, message.id, response, *code, text);
            }
        }
    }
}

fn pass<'a>(
    session: &mut Session,
    parts: &mut Parts<'_>,
    request: &Request<'a>,
    is_first: bool,
    out: &mut Vec<u8>,
) -> Result<Admission, Refused<'a>> {
    let requested = request.requested()?;
    let authorization_id = requested.proxied();
    if is_first {
        session.batch.acting = match authorization_id {
            None => None,
            Some(authorization_id) => {
                let identity = authorize_proxied(session, parts, authorization_id)?;
                let authorization_id = authorization_id.to_vec();
                Some(Box::new(Acting { identity, authorization_id, password: None }))
            }
        };
    } else if session.batch.acting.as_ref().map(|acting| &acting.authorization_id[..]) != authorization_id {
        // Those that are collected are another identity's.
        return Ok(Admission::Barrier);
    }
    let identity = session.batch.acting.as_ref().map_or(&session.identity, |acting| &acting.identity);
    let identity = identity.clone();
    let may_be_own = || identity.rights != Rights::Root && identity.entry.is_some();
    match &request.kind {
        Kind::Password(_) | Kind::Config if !is_first => return Ok(Admission::Barrier),
        Kind::OwnPassword if may_be_own() && !is_first => return Ok(Admission::Barrier),
        Kind::Password(value) => {
            let change = password::of_extended(parts, &identity, request.message.id, *value)?;
            password::submit(session, parts, request, change, out);
            return Ok(Admission::Done);
        }
        Kind::OwnPassword if may_be_own() => {
            if let Some(change) = password::of_modify(parts, &identity, request, requested)? {
                password::submit(session, parts, request, change, out);
                return Ok(Admission::Done);
            }
        }
        _ => {}
    }
    authorize::authorize(parts.dsa, &identity, request, requested)?;
    if matches!(request.kind, Kind::Config) {
        refuse_critical(requested)?;
        count_operation(parts.counters, &request.message.request);
        op::configure::run(parts.dsa, identity.rights, &request.message, parts.now, out);
        return Ok(Admission::Done);
    }
    prepare::check(parts, &identity, request, requested)?;
    let reads = requested.rare.as_ref().map_or(0, |rare| rare.reads());
    if !submit::has_room_for_reads(session, reads, is_first) {
        return Ok(Admission::Barrier);
    }
    let is_last = reads > 0 && parts.dsa.journal.get().is_none();
    Ok(if is_last { Admission::JoinsLast } else { Admission::Joins })
}

/// Refuses the critical controls that only an update of an entry knows.
fn refuse_critical<'a>(requested: &Requested<'a>) -> Result<(), Refused<'a>> {
    match requested.rare.as_ref().and_then(|rare| rare.critical()) {
        Some(oid) => Err(Refused::Control(ControlError::UnavailableCritical(oid))),
        None => Ok(()),
    }
}
