//! StartTLS (RFC 4511 section 4.14, RFC 4513 section 3). It is refused where requests before it are active, for their answers would come
//! from a connection that is secured by then, and in a transaction. The answer is written when all of the input was looked at: what stands
//! behind the request came in the clear and must never be taken for something that came after.

use crate::extension::{Extension, Role};
use crate::faults::holes;
use crate::outcome;
use crate::session::security::{Security, Tls};
use env::planted;
use model::ResultCode;
use proto::LdapResult;
use proto::ext::start_tls::OID;
use proto::op::extended::ExtendedResponse;
use proto::tag::EXTENDED_RESPONSE;

pub(super) const EXTENSION: Extension = Extension { oid: OID, controls: &[], role: Role::Secures(run) };

/// Admits a request, or refuses it. `active`: what stands against it, if something does.
fn run(security: &mut Security, id: i32, value: Option<&[u8]>, active: Option<&str>, out: &mut Vec<u8>) {
    let refusal = match (security.tls, active) {
        _ if value.is_some() => (ResultCode::ProtocolError, "StartTLS has no request value"),
        (Tls::Unavailable, _) => {
            (ResultCode::ProtocolError, "TLS is not available: the server has no certificate")
        }
        (Tls::On, _) => (ResultCode::OperationsError, "TLS is on already"),
        (Tls::Requested(_), _) => (ResultCode::OperationsError, "another StartTLS is not answered yet"),
        (Tls::Offered, Some(active)) => (ResultCode::OperationsError, active),
        (Tls::Offered, None) => {
            security.tls = Tls::Requested(id);
            return;
        }
    };
    refuse(id, refusal, out);
}

/// Answers that TLS does not begin.
fn refuse(id: i32, (code, text): (ResultCode, &str), out: &mut Vec<u8>) {
    outcome::say(out, id, EXTENDED_RESPONSE, code, text);
}

/// Answers a request that was admitted. False if it is refused after all, since something `follows` it: then the connection must be closed.
pub(crate) fn answer(id: i32, follows: bool, out: &mut Vec<u8>) -> bool {
    if follows && !planted::is(holes::FOLLOWS_START_TLS) {
        let text = "something follows StartTLS in the clear: the connection is closed";
        refuse(id, (ResultCode::OperationsError, text), out);
        return false;
    }
    let result = LdapResult::new(ResultCode::Success);
    ExtendedResponse { result, oid: Some(OID), value: None }.encode(out, id, &[]);
    true
}
