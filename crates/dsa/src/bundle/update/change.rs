//! Changes that are logged as another modify than the client sent: of an extended operation that writes, of a user's own password, and of the
//! schema. Each goes to the log by itself.
//!
//! A change of the schema is a modify of the subschema, or a request in the form of OpenLDAP that means one:
//!
//! ```text
//! what it means -> rights -> what is wrong with its form -> what is there already -> judgement -> the log
//! ```

use super::super::group::{Group, gather};
use super::super::noted;
use super::authorize::reading;
use super::classify::{Kind, Request};
use super::{Refused, apply, authorize, refuse_critical, submit as submitting};
use crate::bundle::transaction;
use crate::control::Requested;
use crate::control::update::response_to;
use crate::extension::{Change, Writes, result_of};
use crate::identity::Identity;
use crate::op::extend_schema::{self, TranslatedChange};
use crate::op::{own_password, password_values};
use crate::outcome::{self, Refusal};
use crate::session::Session;
use crate::worker::Parts;
use model::ResultCode;
use proto::message;
use proto::op::Modify;
use proto::result::encode_response;
use proto::tag;

/// What an extended operation with this value comes to.
///
/// # Errors
/// The refusal.
/// The change is worked out now and logged as a modify: the log knows no extended operations, and a replay hashes no password again.
pub(super) fn of_extended(
    parts: &mut Parts<'_>,
    identity: &Identity,
    id: i32,
    (writes, value): (&Writes, Option<&[u8]>),
) -> Result<Change, Refused<'static>> {
    let change = reading(parts, |reading| (writes.prepare)(reading, identity, id, value, None));
    // The answer of some operations has a value of its own, also where they are refused.
    let change = change.map_err(|refusal| match writes.refuse {
        None => Refused::from(refusal),
        Some(refuse) => {
            let mut answer = Vec::new();
            refuse(id, refusal, &mut answer);
            Refused::Answer(answer)
        }
    })?;
    admit(parts, identity, change)
}

/// What a modify comes to that changes passwords. `None` if it is about another entry than the client's own: then it is a modify as
/// any other.
///
/// # Errors
/// The refusal.
pub(super) fn of_modify<'a>(
    parts: &mut Parts<'_>,
    identity: &Identity,
    request: &Request<'_>,
    requested: &Requested<'a>,
) -> Result<Option<Change>, Refused<'a>> {
    let Some((modify, steps)) = own_password::asked(parts.dsa.shard.schema(), &request.message) else {
        return Ok(None);
    };
    let id = request.message.id;
    let prepared = reading(parts, |reading| own_password::prepare(reading, identity, id, modify.dn, &steps));
    if let Ok(None) = prepared {
        return Ok(None);
    }
    // The modify that is logged has none of the client's controls, so one that is critical cannot be honoured.
    refuse_critical(requested)?;
    prepared?.map(|change| admit(parts, identity, change)).transpose()
}

/// The message as which an update is logged that brings passwords or takes some away.
///
/// # Errors
/// The refusal.
pub(super) fn rewrite(
    parts: &mut Parts<'_>,
    identity: &Identity,
    request: &Request<'_>,
) -> Result<Vec<u8>, Refused<'static>> {
    Ok(reading(parts, |reading| password_values::rewrite(reading, identity, &request.message))?)
}

/// The stages of an update that this one skips: its rights were decided by the operation itself.
fn admit(parts: &Parts<'_>, identity: &Identity, change: Change) -> Result<Change, Refused<'static>> {
    authorize::of_name(parts.dsa, identity)?;
    transaction::preempt_holders_of(parts.dsa, identity, change.dn())?;
    Ok(change)
}

/// Writes the state of an account, on which the answer to a bind waits.
pub(in crate::bundle) fn write_state(session: &mut Session, parts: &mut Parts<'_>, out: &mut Vec<u8>) {
    // It is kept on, and comes here again when there is room on the way to the log.
    if parts.dsa.journal.get().is_some() && !session.is_admitted(&parts.dsa.throttle) {
        return;
    }
    if let Some(change) = session.deferred.take().and_then(|deferred| deferred.write) {
        submit(session, parts, change, out);
    }
}

/// Applies a change, or submits it to the log.
/// The answer is made of that to the modify, when it is there: an extended response, or the modify's own message id.
pub(super) fn submit(session: &mut Session, parts: &mut Parts<'_>, mut change: Change, out: &mut Vec<u8>) {
    let message = std::mem::take(&mut change.message);
    let mut group = Group::new();
    gather(&message, 0, &mut group);
    assert!(group.len() == 1 && group[0].op_tag() == Some(tag::MODIFY), "a change is logged as one modify");
    match parts.dsa.journal.get() {
        None => {
            // The change itself says as whom it is applied.
            session.batch.acting = None;
            let mut modified = Vec::new();
            apply::apply(change.effective(), parts, &group, &mut modified);
            session.answer_change(&change, &modified, out);
        }
        Some(_) => {
            assert!(session.batch.is_empty(), "a change goes to the log by itself");
            submitting::collect(session, parts, &group);
            submitting::under(session, std::mem::take(&mut change.conditions));
            session.batch.acting = Some(submitting::acting_of(change));
            submitting::submit_collected(session, parts.dsa);
        }
    }
}

/// Answers it if it is refused or nothing is to be done, else it goes to the log and is answered when it holds.
///
/// # Errors
/// The refusal.
#[cold]
pub(super) fn of_schema<'a>(
    session: &mut Session,
    parts: &mut Parts<'_>,
    identity: &Identity,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Refused<'a>> {
    match (request.kind, &request.message.request) {
        (Kind::Schema, message::Request::Modify(modify)) => {
            let allowed = authorize::of_schema(parts, identity, request, modify);
            let judged = allowed.and_then(|()| judge(parts, identity, modify));
            note(session, parts, request, modify, judged.as_ref().err());
            judged?;
            parts.counters.count_operation(&request.message.request);
            submitting::schema(session, parts, &extend_schema::message(request.message.id, modify), out);
        }
        _ => in_config_form(session, parts, identity, request, out)?,
    }
    Ok(())
}

/// The order keeps what is there from those who may not change it: a fault of the form says nothing of that.
fn in_config_form<'a>(
    session: &mut Session,
    parts: &mut Parts<'_>,
    identity: &Identity,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Refused<'a>> {
    let mut asked = TranslatedChange::of(&parts.dsa.system, &request.message.request);
    let whole = asked.encode();
    let allowed = authorize::of_schema(parts, identity, request, &whole.modify());
    let fit = allowed.and_then(|()| asked.fault().map_err(refused));
    let said = match &fit {
        Ok(()) => asked.leave_out_present(parts.dsa.shard.schema()),
        Err(_) => String::new(),
    };
    let rest = asked.encode();
    let judged = match asked.is_empty() {
        true => fit,
        false => fit.and_then(|()| judge(parts, identity, &rest.modify())),
    };
    // What comes to nothing is no change of the schema.
    if judged.is_err() || !asked.is_empty() {
        // What was refused as it was asked for, and what was done as it was done.
        let noted = if judged.is_err() { &whole } else { &rest };
        note(session, parts, request, &noted.modify(), judged.as_ref().err());
    }
    judged?;
    parts.counters.count_operation(&request.message.request);
    let (id, response) = (request.message.id, response_to(&request.message.request));
    if asked.is_empty() {
        outcome::say(out, id, response, ResultCode::Success, &said);
        return Ok(());
    }
    let answer = move |id: i32, modified: &[u8], out: &mut Vec<u8>| {
        let mut result = result_of(modified);
        if result.diagnostic.is_empty() && result.result_code() == Some(ResultCode::Success) {
            result.diagnostic = said.as_bytes();
        }
        encode_response(out, id, response, &result, |_| {}, &[]);
    };
    let change = Change {
        id,
        message: extend_schema::message(id, &rest.modify()),
        actor: identity.clone(),
        answer: Box::new(answer),
        is_of_bind: false,
        conditions: Vec::new(),
    };
    submitting::schema_change(session, parts, change, out);
    Ok(())
}

fn refused<'a>((code, text): Refusal) -> Refused<'a> {
    Refused::Refusal((code, text.into()))
}

/// Could it be applied now?
fn judge<'a>(parts: &mut Parts<'_>, identity: &Identity, modify: &Modify<'_>) -> Result<(), Refused<'a>> {
    let who = identity.requester();
    reading(parts, |reading| extend_schema::judge(reading, who, modify)).map_err(refused)
}

/// Notes it for the security log, as a change of the subschema in whatever form it came.
fn note(
    session: &Session,
    parts: &Parts<'_>,
    request: &Request<'_>,
    modify: &Modify<'_>,
    refused: Option<&Refused<'_>>,
) {
    let mut answered = Vec::new();
    refused.into_iter().for_each(|refused| refused.answer(request, &mut answered));
    noted::configuration(parts.dsa, session, &message::Request::Modify(*modify), &answered);
}
