//! Requests of a session that may not make all of them: its connection is not protected enough (`security.read` and its like), or it is between
//! the steps of a SASL bind, when a client waits for the end of that before it asks for anything else (RFC 4511 section 4.2.1), or its password
//! must be changed before anything else (`crate::policy`). Other sessions never come here.

use super::group;
use super::update::authorize::reading;
use crate::extension::{Extension, Role};
use crate::op::extended::password_modify::named;
use crate::op::{extended, own_password};
use crate::outcome::{self, FixedRefusal};
use crate::policy;
use crate::session::Session;
use crate::session::security::Security;
use crate::system::is_root_dse;
use crate::worker::Parts;
use model::{ResultCode, Scope};
use proto::control::password_policy::{self, PolicyError, PolicyResponse};
use proto::control::proxied_authorization::AuthzId;
use proto::ext::password_modify::{self, PasswordModify};
use proto::message::{Frame, Message, Request, frame};
use proto::tag;

/// Requests between the steps would run as somebody who is not known yet.
const IN_EXCHANGE: FixedRefusal =
    (ResultCode::OperationsError, "a SASL bind is in progress: its next step comes first");
/// Says how to go on, and nothing of what was asked for.
const NOT_PROTECTED: FixedRefusal = (
    ResultCode::ConfidentialityRequired,
    "the connection is not protected enough for this request: use StartTLS or ldaps://",
);

/// The same for whatever is asked: a client learns nothing of the directory before its password is its own.
const MUST_CHANGE: FixedRefusal = (
    ResultCode::InsufficientAccessRights,
    "the password must be changed before anything else, by a modify of it alone or by a password modify",
);

/// Refuses requests at the begin of the input, up to the first that may be made. Returns the bytes done with, and where that one ends: what is
/// behind it is looked at when it is answered.
#[cold]
pub(super) fn next_admitted(
    session: &mut Session,
    parts: &mut Parts<'_>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> (usize, usize) {
    let mut at = 0;
    // It is asked of the entry: the password may have been changed meanwhile, by this client or by an administrator.
    let identity = &mut session.identity;
    identity.must_change =
        identity.must_change && reading(parts, |reading| policy::must_change(reading, identity));
    while let Ok(Frame::Complete { len }) = frame(&input[at..]) {
        // What cannot be read is answered where other requests are.
        let Ok(message) = group::decode(&input[at..at + len]) else { return (at, at + len) };
        let mut said = PolicyResponse::default();
        let refusal = refusal(session, &message.request).or_else(|| {
            let must_change = session.identity.must_change && !changes_own_password(session, parts, &message);
            said.error = must_change.then_some(PolicyError::MustChange);
            must_change.then_some(MUST_CHANGE)
        });
        let (Some(refusal), Some(response)) = (refusal, tag::response_to(message.request.tag())) else {
            return (at, at + len);
        };
        parts.counters.count_operation(&message.request);
        let asks = message.controls.iter().any(|control| control.oid == password_policy::OID);
        outcome::say_with_policy(out, message.id, response, refusal, asks.then_some(&said));
        at += len;
    }
    (at, input.len())
}

/// Is it a request that somebody may make whose password must be changed: the change itself, one that leaves the session, or one that secures
/// the connection? Nothing else is in it, neither another identity nor a transaction, or the password would not be changed by it.
fn changes_own_password(session: &Session, parts: &mut Parts<'_>, message: &Message<'_>) -> bool {
    if matches!(message.request, Request::Bind(_) | Request::Unbind | Request::Abandon(_)) {
        return true;
    }
    if message.controls.iter().any(|control| control.oid != password_policy::OID) {
        return false;
    }
    // Who the password is of: without a name it is the client's own.
    let name = match &message.request {
        Request::Modify(_) => match own_password::asked(parts.dsa.shard.schema(), message) {
            Some((modify, _)) => modify.dn,
            None => return false,
        },
        Request::Extended(extended) if extended.oid == password_modify::OID => {
            let asked = extended.value.map_or(Ok(PasswordModify::default()), PasswordModify::decode);
            match asked.map(|asked| named(&asked)) {
                Ok(None) => return true,
                Ok(Some(AuthzId::Dn(dn))) => dn,
                Ok(Some(_)) | Err(_) => return false,
            }
        }
        Request::Extended(extended) => {
            let extension = extended::find(extended.oid);
            return extension.is_some_and(|extension| matches!(extension.role, Role::Secures(_)));
        }
        // A search, a compare, another update: none of them changes a password.
        _ => return false,
    };
    // By id, for any spelling of the own name will do.
    reading(parts, |reading| {
        let named = reading.read_point.resolve(name, &mut reading.scratch.evaluator.cache).ok();
        session.identity.own_entry(reading.read_point).is_some_and(|own| Some(own.id) == named)
    })
}

/// Why a request is not run. A bind is always admitted: it judges for itself whether a password may be taken, and it is the way out of an exchange.
/// Between the steps even StartTLS is refused, for its proof would come half from an open wire and half from a protected one.
fn refusal(session: &Session, request: &Request<'_>) -> Option<FixedRefusal> {
    match request {
        Request::Bind(_) | Request::Unbind | Request::Abandon(_) => None,
        _ if session.exchange.is_some() => Some(IN_EXCHANGE),
        request => (!is_admitted(&session.security, request)).then_some(NOT_PROTECTED),
    }
}

/// Is the connection protected enough for a request?
/// An extended operation that changes something counts as an update. One that is not known counts as what it would be at worst, so `security.any`
/// alone decides, and the answer that it is not known tells nothing.
fn is_admitted(security: &Security, request: &Request<'_>) -> bool {
    let extension = match request {
        Request::Extended(extended) => extended::find(extended.oid),
        // So a client finds out how it can be protected.
        Request::Search(search) if search.scope == Scope::Base && is_root_dse(search.base) => return true,
        _ => None,
    };
    if extension.is_some_and(|extension| matches!(extension.role, Role::Secures(_))) {
        return true;
    }
    security.admits_any()
        && match request {
            Request::Search(_) | Request::Compare(_) => security.admits_reads(),
            Request::Extended(_) => !extension.is_some_and(Extension::is_update) || security.admits_writes(),
            _ => security.admits_writes(),
        }
}
