//! Requests that are carried out as somebody else (RFC 4370), and changes of passwords, which are updates of another
//! shape. One at a time: their neighbours may be another's.

use super::group::{Group, Pending, gather};
use super::{Parts, count_operation, permission, refuse_malformed, transaction, update};
use crate::control::{self, Requested, proxied_authorization};
use crate::dispatch::Reading;
use crate::identity::Identity;
use crate::op::password_modify::{self, Change};
use crate::outcome;
use crate::session::{Acting, Session};
use proto::message::{Message, Request};
use proto::tag;

/// Runs the first of some updates, which is one of these. Returns how many were run or collected: none if what the session
/// has collected must be carried out before.
#[cold]
pub(super) fn run(
    session: &mut Session,
    parts: &mut Parts<'_>,
    update: &Pending<'_>,
    out: &mut Vec<u8>,
) -> usize {
    // What is answered at once comes after the answers to what was collected before.
    let comes_first = session.updates.is_empty();
    let message = match update.decode() {
        Ok(message) => message,
        Err(_) if !comes_first => return 0,
        Err(error) => {
            refuse_malformed(session, &error, out);
            return 1;
        }
    };
    let requested = match control::requested(&message.request, message.controls) {
        Ok(requested) => requested,
        Err(_) if !comes_first => return 0,
        Err(error) => {
            count_operation(parts.counters, &message.request);
            control::refuse(&message, error, out);
            return 1;
        }
    };
    let is_password = matches!(message.request, Request::Extended(_));
    let authorization_id = requested.proxied();
    let may_join = |acting: &Acting| !is_password && Some(&acting.authorization_id[..]) == authorization_id;
    if !comes_first && !session.acting.as_deref().is_some_and(may_join) {
        return 0;
    }
    if comes_first {
        let Some(identity) = identity(session, parts, &requested) else {
            count_operation(parts.counters, &message.request);
            let response = tag::response_to(message.request.tag()).expect("updates have answers");
            proxied_authorization::refuse(out, message.id, response);
            return 1;
        };
        let authorization_id = authorization_id.unwrap_or_default().to_vec();
        session.acting = Some(Box::new(Acting { identity, authorization_id, password: None }));
    }
    if is_password {
        count_operation(parts.counters, &message.request);
        change_password(session, parts, &message, out);
        return 1;
    }
    let identity = session.acting.as_ref().expect("it was just set").identity.clone();
    update::run_as(session, Some(&identity), parts, std::slice::from_ref(update), out)
}

/// Who a request is carried out as.
fn identity(session: &Session, parts: &mut Parts<'_>, requested: &Requested<'_>) -> Option<Identity> {
    match requested.proxied() {
        None => Some(session.identity.clone()),
        Some(authorization_id) => authorize(session, parts, authorization_id),
    }
}

/// Who a client that asks for it acts as, if it may.
pub(super) fn authorize(
    session: &Session,
    parts: &mut Parts<'_>,
    authorization_id: &[u8],
) -> Option<Identity> {
    let pin = parts.reader.pin();
    let evaluator = &mut parts.scratch.evaluator;
    evaluator.cache.refresh(pin.read_point());
    let client = &session.identity;
    proxied_authorization::authorize(parts.dsa, pin.read_point(), evaluator, client, authorization_id)
}

/// Carries a password modify out, or hands it over to be logged, as the modify that it comes to.
fn change_password(session: &mut Session, parts: &mut Parts<'_>, message: &Message<'_>, out: &mut Vec<u8>) {
    let acting = session.acting.take().expect("it was just set");
    let Request::Extended(request) = &message.request else { unreachable!("the caller looked") };
    let prepared = password_modify::decode(&acting.identity, request.value).and_then(|request| {
        let pin = parts.reader.pin();
        let read_point = pin.read_point();
        parts.scratch.evaluator.cache.refresh(read_point);
        let mut reading = Reading { dsa: parts.dsa, read_point, scratch: parts.scratch, now: parts.now };
        let change = password_modify::prepare(&mut reading, &acting.identity, message.id, &request)?;
        permission::of_name(parts.dsa, &acting.identity)?;
        transaction::clear_way_to(parts.dsa, &acting.identity, change.dn())?;
        Ok(change)
    });
    let mut change = match prepared {
        Ok(change) => change,
        Err((code, text)) => return outcome::say(out, message.id, tag::EXTENDED_RESPONSE, code, text),
    };
    let message = std::mem::take(&mut change.message);
    let mut group = Group::new();
    gather(&message, 0, &mut group);
    carry_out(session, parts, &group, change, out);
}

/// Carries the change of a password out, or hands it over to be logged: `group` is the modify that it comes to.
pub(super) fn carry_out(
    session: &mut Session,
    parts: &mut Parts<'_>,
    group: &Group<'_>,
    change: Change,
    out: &mut Vec<u8>,
) {
    match parts.dsa.journal.get() {
        None => {
            let mut modified = Vec::new();
            update::apply(change.effective(), parts, group, &mut modified);
            change.answer(&modified, out);
        }
        Some(_) => {
            let identity = change.identity().clone();
            update::take(session, parts, group);
            let authorization_id = Vec::new();
            session.acting = Some(Box::new(Acting { identity, authorization_id, password: Some(change) }));
            update::hand_over(session, parts.dsa);
        }
    }
}
