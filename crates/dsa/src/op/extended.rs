//! Extended operations (RFC 4511 section 4.12).

use crate::identity::Identity;
use crate::outcome;
use model::ResultCode;
use proto::LdapResult;
use proto::ext::{end_transaction, password_modify, start_transaction, who_am_i};
use proto::op::extended::{Extended, ExtendedResponse};
use proto::tag::EXTENDED_RESPONSE;

/// OIDs of the extended operations that are known: what the root DSE says.
pub(crate) const EXTENSIONS: [&[u8]; 4] =
    [who_am_i::OID, password_modify::OID, start_transaction::OID, end_transaction::OID];

/// Answers an extended request that changes nothing.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Rights;
    use proto::message::{Reply, Response};

    fn ask(dn: &str, oid: &[u8], value: Option<&[u8]>) -> (ResultCode, String, Option<Vec<u8>>) {
        let identity = Identity { dn: dn.as_bytes().to_vec(), ..Identity::anonymous(Rights::Read) };
        let mut out = Vec::new();
        run(&identity, 7, &Extended { oid, value }, &mut out);
        let reply = Reply::decode(&out).expect("one whole message");
        let Response::Extended(response) = reply.response else { panic!("not an extended response") };
        let text = String::from_utf8_lossy(response.result.diagnostic).into_owned();
        (response.result.result_code().expect("a known code"), text, response.value.map(<[u8]>::to_vec))
    }

    #[test]
    fn who_the_client_is() {
        let (code, _, value) = ask("cn=a", who_am_i::OID, None);
        assert_eq!((code, value), (ResultCode::Success, Some(b"dn:cn=a".to_vec())));
        assert_eq!(ask("", who_am_i::OID, None).2, Some(vec![]), "anonymous: there, and empty");
        assert_eq!(ask("", who_am_i::OID, Some(b"")).0, ResultCode::ProtocolError);
    }

    #[test]
    fn what_is_not_known_is_named() {
        let (code, text, _) = ask("", b"1.2.3", None);
        assert_eq!(code, ResultCode::ProtocolError);
        assert!(text.contains("\"1.2.3\""), "{text}");
    }
}
