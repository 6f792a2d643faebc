//! A change of the schema on its way to the log: a modify of the subschema, or a request in the form of OpenLDAP that means one.
//!
//! ```text
//! what it means -> rights -> what is wrong with its form -> what is there already -> judgement -> the log
//! ```

use super::super::noted;
use super::authorize;
use super::classify::{Kind, Request};
use super::{Refused, submit};
use crate::extension::{Change, result_of};
use crate::identity::Identity;
use crate::op::extend_schema::{self, Asked};
use crate::outcome::{self, Refusal};
use crate::session::Session;
use crate::worker::Parts;
use model::ResultCode;
use proto::message;
use proto::op::Modify;
use proto::result::encode_response;
use proto::tag;

/// Answers it if it is refused or nothing is to be done, else it goes to the log and is answered when it holds.
///
/// # Errors
/// The refusal.
#[cold]
pub(super) fn run<'a>(
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
            submit::schema(session, parts, &extend_schema::message(request.message.id, modify), out);
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
    let mut asked = Asked::of(&parts.dsa.system, &request.message.request);
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
        note(session, parts, request, &whole.modify(), judged.as_ref().err());
    }
    judged?;
    parts.counters.count_operation(&request.message.request);
    let (id, response) = (request.message.id, response_to(request));
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
    submit::schema_change(session, parts, change, out);
    Ok(())
}

fn response_to(request: &Request<'_>) -> u8 {
    tag::response_to(request.message.request.tag()).expect("updates have answers")
}

fn refused<'a>((code, text): Refusal) -> Refused<'a> {
    Refused::Refusal((code, text.into()))
}

/// Could it be applied now?
fn judge<'a>(parts: &mut Parts<'_>, identity: &Identity, modify: &Modify<'_>) -> Result<(), Refused<'a>> {
    let who = identity.requester();
    authorize::reading(parts, |reading| extend_schema::judge(reading, who, modify)).map_err(refused)
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
