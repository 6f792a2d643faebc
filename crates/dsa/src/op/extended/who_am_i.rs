//! "Who am I?" (RFC 4532 section 2).
//! The authzId of the identity that requests are made as: a proxied request (RFC 4370) learns whom it stands for.
//! For an anonymous client it is empty (RFC 4532 section 2.2).

use crate::extension::{Extension, Role};
use crate::identity::Identity;
use crate::outcome;
use model::ResultCode;
use proto::LdapResult;
use proto::control::proxied_authorization;
use proto::ext::who_am_i::OID;
use proto::op::extended::ExtendedResponse;
use proto::tag::EXTENDED_RESPONSE;

pub(super) const EXTENSION: Extension =
    Extension { oid: OID, controls: &[proxied_authorization::OID], role: Role::Reads(run) };

fn run(identity: &Identity, id: i32, value: Option<&[u8]>, out: &mut Vec<u8>) {
    if value.is_some() {
        let text = "who am I has no request value";
        return outcome::say(out, id, EXTENDED_RESPONSE, ResultCode::ProtocolError, text);
    }
    let authorization_id = identity.authorization_id();
    let result = LdapResult::new(ResultCode::Success);
    ExtendedResponse { result, oid: None, value: Some(&authorization_id) }.encode(out, id, &[]);
}
