//! Extended operations (RFC 4511 section 4.12).

use crate::identity::Identity;
use crate::outcome;
use model::ResultCode;
use proto::LdapResult;
use proto::ext::who_am_i;
use proto::op::extended::{Extended, ExtendedResponse};
use proto::tag::EXTENDED_RESPONSE;

/// OIDs of the extended operations that are known: what the root DSE says.
pub(crate) const EXTENSIONS: [&[u8]; 1] = [who_am_i::OID];

/// Answers an extended request.
pub(crate) fn run(identity: &Identity, id: i32, request: &Extended<'_>, out: &mut Vec<u8>) {
    match request.oid {
        who_am_i::OID => who_am_i(identity, id, request.value, out),
        oid => {
            let text = format!("extended operation {} is not known", outcome::quoted(oid));
            outcome::say(out, id, EXTENDED_RESPONSE, ResultCode::ProtocolError, &text);
        }
    }
}

/// "Who am I?" (RFC 4532 section 2).
fn who_am_i(identity: &Identity, id: i32, value: Option<&[u8]>, out: &mut Vec<u8>) {
    if value.is_some() {
        return outcome::say(
            out,
            id,
            EXTENDED_RESPONSE,
            ResultCode::ProtocolError,
            "who am I has no request value",
        );
    }
    let authorization_id = identity.authorization_id();
    let result = LdapResult::new(ResultCode::Success);
    ExtendedResponse { result, oid: None, value: Some(&authorization_id) }.encode(out, id, &[]);
}
