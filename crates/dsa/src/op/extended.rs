//! Extended operations (RFC 4511 section 4.12), a file each. An operation's file tells all there is to know of it; here they are
//! listed and found.

pub(crate) mod end_transaction;
pub(crate) mod password_modify;
pub(crate) mod refresh;
pub(crate) mod start_tls;
pub(crate) mod start_transaction;
#[cfg(test)]
mod touch;
mod who_am_i;

use crate::extension::{Extension, Role};
use crate::identity::Identity;
use crate::outcome;
use crate::session::security::Security;
use model::ResultCode;
use proto::control::proxied_authorization;
use proto::ext::cancel;
use proto::op::Extended;
use proto::tag::EXTENDED_RESPONSE;

/// The extended operations that are known.
pub(crate) const EXTENSIONS: &[&Extension] = &[
    &who_am_i::EXTENSION,
    // It is run by those who have the searches of the session: see `op/cancel.rs`.
    &Extension { oid: cancel::OID, controls: &[proxied_authorization::OID], role: Role::Cancels },
    &start_tls::EXTENSION,
    &password_modify::EXTENSION,
    &refresh::EXTENSION,
    &start_transaction::EXTENSION,
    &end_transaction::EXTENSION,
    #[cfg(test)]
    &touch::EXTENSION,
];

/// The extended operation with an OID.
pub(crate) fn find(oid: &[u8]) -> Option<&'static Extension> {
    EXTENSIONS.iter().copied().find(|extension| extension.oid == oid)
}

/// Answers an extended request that changes nothing in the directory.
pub(crate) fn run(
    identity: &Identity,
    (security, active): (&mut Security, Option<&str>),
    id: i32,
    request: &Extended<'_>,
    out: &mut Vec<u8>,
) {
    match find(request.oid).map(|extension| &extension.role) {
        Some(Role::Reads(run)) => run(identity, id, request.value, out),
        Some(Role::Secures(run)) => run(security, id, request.value, active, out),
        Some(Role::Cancels) => unreachable!("it has a search to end, or an answer of its own"),
        Some(Role::Bounds(_) | Role::Writes(_)) => unreachable!("updates go to the writer"),
        None => {
            let text = format!("extended operation {} is not known", outcome::quoted(request.oid));
            outcome::say(out, id, EXTENDED_RESPONSE, ResultCode::ProtocolError, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::control::transaction_specification;
    use proto::ext::who_am_i;
    use proto::message::{Reply, Response};

    fn ask(dn: &str, oid: &[u8], value: Option<&[u8]>) -> (ResultCode, String, Option<Vec<u8>>) {
        let identity = Identity { dn: dn.as_bytes().to_vec(), ..Identity::anonymous() };
        let (mut security, mut out) = (Security::INTERNAL, Vec::new());
        run(&identity, (&mut security, None), 7, &Extended { oid, value }, &mut out);
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

    #[test]
    fn a_member_of_a_transaction_writes() {
        for (at, extension) in EXTENSIONS.iter().enumerate() {
            assert!(EXTENSIONS[..at].iter().all(|other| other.oid != extension.oid), "one for each OID");
            let is_of_session = matches!(extension.role, Role::Secures(_));
            assert!(
                extension.knows(proxied_authorization::OID) != is_of_session,
                "RFC 4370: any operation of an identity may"
            );
            let is_member = extension.knows(transaction_specification::OID);
            assert!(!is_member || matches!(extension.role, Role::Writes(_)), "{:?}", extension.oid);
        }
    }
}
