//! Requests of a session that may not make all of them: its connection is not protected enough (`security.read` and its like), or it is between
//! the steps of a SASL bind, when a client waits for the end of that before it asks for anything else (RFC 4511 section 4.2.1). Other sessions
//! never come here.

use super::group;
use crate::extension::{Extension, Role};
use crate::op::extended;
use crate::outcome::{self, FixedRefusal};
use crate::session::Session;
use crate::session::security::Security;
use crate::system::is_root_dse;
use crate::worker::Parts;
use model::{ResultCode, Scope};
use proto::message::{Frame, Request, frame};
use proto::tag;

const IN_EXCHANGE: FixedRefusal =
    (ResultCode::OperationsError, "a SASL bind is in progress: its next step comes first");
const NOT_PROTECTED: FixedRefusal = (
    ResultCode::ConfidentialityRequired,
    "the connection is not protected enough for this request: use StartTLS or ldaps://",
);

/// Refuses requests at the begin of the input, up to the first that may be made. Returns the bytes done with, and where that one ends: what is
/// behind it is looked at when it is answered.
#[cold]
pub(super) fn next_admitted(
    session: &Session,
    parts: &mut Parts<'_>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> (usize, usize) {
    let mut at = 0;
    while let Ok(Frame::Complete { len }) = frame(&input[at..]) {
        // What cannot be read is answered where other requests are.
        let Ok(message) = group::decode(&input[at..at + len]) else { return (at, at + len) };
        let refusal = refusal(session, &message.request);
        let (Some((code, text)), Some(response)) = (refusal, tag::response_to(message.request.tag())) else {
            return (at, at + len);
        };
        parts.counters.count_operation(&message.request);
        outcome::say(out, message.id, response, code, text);
        at += len;
    }
    (at, input.len())
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
