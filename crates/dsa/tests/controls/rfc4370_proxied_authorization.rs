//! RFC 4370: proxied authorization.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2 | publishes the control | `rfc4370_s2_the_root_dse_lists_it` |
//! | 3 | takes it on no request that changes authentication, authorization or confidentiality | `rfc4370_s3_not_for_what_changes_authorization` |
//! | 3 | answers protocolError where it is not critical, on any request | `rfc4370_s3_must_be_critical` |
//! | 3 | wants it once, with a value | `rfc4370_s3_one_control_with_a_value` |
//! | 3 | takes an authorization identity, or nothing for anonymous | `rfc4370_s3_forms_of_identities` |
//! | 3 | runs the request as that identity if it knows that and the client may, else answers authorizationDenied | `rfc4370_s3_who_may_act_as_whom`, `rfc4370_s3_access_is_that_of_the_proxied_identity`, `rfc4370_s3_each_request_of_a_bundle_is_its_own` |
//! | 3 | changes the password of that identity | `dsa: rfc4370_s3_the_proxied_identitys_password` |
//! | 5 | lets no anonymous client act as somebody | `rfc4370_s5_anonymous_clients_act_as_nobody_else` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 3 | clients include the criticality flag, and set it to TRUE | binds clients |

use super::check_table;
use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use proto::Request;
use proto::control::proxied_authorization::{self, OID};
use proto::control::{Control, assertion as assertion_control};
use proto::op::{Extended, ModifyKind};

const GATE: &str = "uid=grace,ou=people,dc=example";
const SET: [(ModifyKind, &str, &[&str]); 1] = [(ModifyKind::Replace, "description", &["x"])];

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4370_proxied_authorization.rs"));
}

/// A directory in which grace, whose password is `hop`, may act as others.
fn client() -> Client {
    let mut client = Client::with(chosen(config(), |c| c.standing.proxies = vec![GATE.to_uppercase()]));
    assert_eq!(client.modify(GATE, &[(ModifyKind::Replace, "userPassword", &["hop"])]).code, Success);
    client
}

fn as_of(authorization_id: &str) -> [Control<'_>; 1] {
    [proxied_authorization::control(authorization_id.as_bytes())]
}

fn who(client: &mut Client, authorization_id: &str) -> Result<String, model::ResultCode> {
    let request = Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None });
    let end = client.ask(&request, &as_of(authorization_id)).end;
    match end.code {
        Success => Ok(String::from_utf8(end.value.expect("there is a value")).expect("UTF-8")),
        code => Err(code),
    }
}

/// "Support [...] is indicated by the presence of the Object Identifier [...] in the supportedControl attribute".
#[test]
fn rfc4370_s2_the_root_dse_lists_it() {
    assert!(is_published("supportedControl", OID));
}

/// "Servers MUST reject any request containing a Proxy Authorization Control without a criticality flag or with the flag
/// set to FALSE with a protocolError error."
#[test]
fn rfc4370_s3_must_be_critical() {
    let mut client = client();
    let controls = [control(OID, b"dn:", false)];
    let refused = [
        client.read_with(ADA, &controls).end,
        client.compare_with(ADA, "sn", "lovelace", &controls).end,
        client.modify_with(ADA, &SET, &controls).end,
        client.add_with("uid=x,dc=example", &[], &controls).end,
        client.delete_with(ADA, &controls).end,
        client.rename_with(ADA, "uid=x", &controls).end,
        client
            .ask(&Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None }), &controls)
            .end,
        client.ask(&Request::Extended(Extended { oid: b"1.2.3", value: None }), &controls).end,
        client.ask(&bind(ADA, "lace"), &controls).end,
    ];
    assert!(refused.iter().all(|end| end.code == ProtocolError), "{refused:?}");
    client.bind_root();
    assert_eq!(client.read(ADA, &["1.1"]).end.code, Success, "nothing was done");
}

/// "The controlValue SHALL be present"; "A single Proxy Authorization Control may be included".
#[test]
fn rfc4370_s3_one_control_with_a_value() {
    let mut client = client();
    let without = [Control { oid: OID, critical: true, value: None }];
    assert_eq!(client.read_with(ADA, &without).end.code, ProtocolError);
    assert_eq!(client.modify_with(ADA, &SET, &without).end.code, ProtocolError);
    let twice = [as_of("dn:")[0], as_of("dn:")[0]];
    assert_eq!(client.read_with(ADA, &twice).end.code, ProtocolError);
    assert_eq!(client.modify_with(ADA, &SET, &twice).end.code, ProtocolError);
}

/// "any request that does not cause a change in authentication, authorization, or data confidentiality": not on a bind, nor on StartTLS.
#[test]
fn rfc4370_s3_not_for_what_changes_authorization() {
    let mut client = client();
    assert_eq!(client.ask(&bind(ADA, "lace"), &as_of("dn:")).end.code, UnavailableCriticalExtension);
    assert_eq!(client.who_am_i(), "", "a bind that fails leaves nobody bound");
    client.bind_root();
    let tls = Request::Extended(Extended { oid: proto::ext::start_tls::OID, value: None });
    assert_eq!(client.ask(&tls, &as_of("dn:")).end.code, UnavailableCriticalExtension);
    assert_eq!(client.who_am_i(), format!("dn:{ROOT_DN}"));
}

/// "SHALL either contain an authzId [...] or be empty if an anonymous association is to be used".
#[test]
fn rfc4370_s3_forms_of_identities() {
    let mut client = client();
    for (given, expected) in [
        ("", Ok("")),
        ("dn:", Ok("")),
        ("dn:UID=Ada,OU=people, dc=example", Ok("dn:uid=ada,ou=people,dc=example")),
        ("u:ADA", Ok("dn:uid=ada,ou=people,dc=example")),
        ("dn:CN=Admin,dc=example", Ok("dn:cn=admin,dc=example")),
        ("u:nobody", Err(AuthorizationDenied)),
        ("dn:uid=nobody,dc=example", Err(AuthorizationDenied)),
        ("dn:nonsense", Err(AuthorizationDenied)),
        (ADA, Err(AuthorizationDenied)),
        ("u:", Err(AuthorizationDenied)),
    ] {
        assert_eq!(who(&mut client, given), expected.map(str::to_owned), "{given}");
    }
    // One of two that are called so cannot be meant.
    client.must_add(
        "uid=ada,ou=groups,dc=example",
        &[("objectClass", &["account"]), ("description", &["another"])],
    );
    assert_eq!(who(&mut client, "u:ada"), Err(AuthorizationDenied));
    assert_eq!(client.who_am_i(), format!("dn:{ROOT_DN}"), "of the session nothing has changed");
}

/// "If the requested authorization identity is recognized by the server, and the client is authorized to adopt the requested
/// authorization identity, the request will be executed as if submitted by the proxy authorization identity; otherwise, the
/// result code 123 is returned."
#[test]
fn rfc4370_s3_who_may_act_as_whom() {
    let mut client = client();
    client.bind(GATE, "hop");
    assert_eq!(who(&mut client, "u:ada"), Ok(format!("dn:{ADA}")));
    assert_eq!(who(&mut client, ""), Ok(String::new()));
    assert_eq!(
        who(&mut client, &format!("dn:{ROOT_DN}")),
        Err(AuthorizationDenied),
        "that would be everything"
    );
    client.bind(ADA, "lace");
    assert_eq!(who(&mut client, "u:ada"), Ok(format!("dn:{ADA}")), "as itself everybody acts");
    for given in ["u:grace", "", &format!("dn:{ROOT_DN}")] {
        assert_eq!(who(&mut client, given), Err(AuthorizationDenied), "{given}");
        assert_eq!(client.read_with(ADA, &as_of(given)).end.code, AuthorizationDenied);
        assert_eq!(client.modify_with(ADA, &SET, &as_of(given)).end.code, AuthorizationDenied);
    }
}

/// Section 5: ""Anonymous" users SHOULD NOT be allowed to assume the identity of others."
#[test]
fn rfc4370_s5_anonymous_clients_act_as_nobody_else() {
    let mut client = client();
    client.bind("", "");
    assert_eq!(who(&mut client, "u:ada"), Err(AuthorizationDenied));
    assert_eq!(client.modify_with(ADA, &SET, &as_of("u:ada")).end.code, AuthorizationDenied);
}

/// The access rules are those of who the request is applied as, for every operation.
#[test]
fn rfc4370_s3_access_is_that_of_the_proxied_identity() {
    let mut client = client();
    let ada = as_of("u:ada");
    assert!(client.read(ADA, &["userPassword"]).values("userPassword").is_some());
    assert!(client.read_with(ADA, &ada).values("userPassword").is_none(), "a secret");
    assert_eq!(client.compare_with(ADA, "userPassword", "lace", &ada).end.code, InsufficientAccessRights);
    let guessed = client.search_with(ADA, Scope::Base, "(userPassword=lace)", &["1.1"], |_| {}, &ada);
    assert!(guessed.entries.is_empty());
    let value = assertion("(userPassword=lace)");
    let asserted = [ada[0], control(assertion_control::OID, &value, true)];
    assert_eq!(client.read_with(ADA, &asserted).end.code, AssertionFailed);
    assert_eq!(client.read_with(ADA, &as_of("")).end.code, NoSuchObject);
    let refused = [
        client.modify_with(ADA, &SET, &ada).end.code,
        client.add_with("uid=x,dc=example", &[("objectClass", &["account"])], &ada).end.code,
        client.delete_with(ADA, &ada).end.code,
        client.rename_with(ADA, "uid=x", &ada).end.code,
        client.modify_with("cn=config", &[(ModifyKind::Add, "olcDbIndex", &["cn eq"])], &ada).end.code,
    ];
    assert_eq!(refused, [InsufficientAccessRights; 5]);
    // The root DN as itself.
    let root = format!("dn:{ROOT_DN}");
    assert_eq!(client.modify_with(ADA, &SET, &as_of(&root)).end.code, Success);
    assert_eq!(client.read(ADA, &["modifiersName"]).values("modifiersName"), Some(vec![ROOT_DN.to_owned()]));
}

/// In a bundle each request is applied as who it says, and what comes later sees what came before.
#[test]
fn rfc4370_s3_each_request_of_a_bundle_is_its_own() {
    let mut client = client();
    let root = format!("dn:{ROOT_DN}");
    let changes = changes_of(&SET);
    let modify = || {
        let changes = proto::op::Changes::parse(&changes).expect("just encoded");
        Request::Modify(proto::op::Modify { dn: ADA.as_bytes(), changes })
    };
    let new = attributes_of(&[("objectClass", &["account"])]);
    let attributes = proto::list::Attributes::parse(&new).expect("just encoded");
    let bob = proto::op::Add { dn: b"uid=bob,ou=people,dc=example", attributes };
    let who = Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None });
    let mut input = Vec::new();
    for (request, controls) in [
        (modify(), &[][..]),
        (modify(), &as_of("u:ada")),
        (modify(), &as_of(&root)),
        (modify(), &as_of(&root)),
        (modify(), &as_of("u:bob")),
        (Request::Add(bob), &[]),
        (modify(), &as_of("u:bob")),
        (modify(), &[]),
        (who, &as_of("u:bob")),
    ] {
        input.extend(client.encode(&request, controls).1);
    }
    let (all, _) = client.raw(&input);
    let (denied, refused) = (AuthorizationDenied, InsufficientAccessRights);
    assert_eq!(codes(&all), [Success, refused, Success, Success, denied, Success, refused, Success, Success]);
}
