//! Section 4.2: bind.

use crate::common::*;
use dsa::State;
use model::ResultCode::*;
use model::Scope;
use proto::op::{Authentication, Bind, ModifyKind};
use proto::{Request, tag};

fn authenticate(client: &mut Client, version: u8, name: &str, authentication: Authentication<'_>) -> Outcome {
    client.end(&Request::Bind(Bind { version, name: name.as_bytes(), authentication }))
}

/// A version that is not supported is answered with a BindResponse with protocolError.
#[test]
fn s4_2_other_versions() {
    let mut client = Client::new();
    for version in [1, 2, 4, 127] {
        let end = authenticate(&mut client, version, ADA, Authentication::Simple(b"lace"));
        assert_eq!((end.code, end.tag), (ProtocolError, tag::BIND_RESPONSE), "{version}");
    }
}

/// No alias is dereferenced when the object that binds is looked for.
#[test]
fn s4_2_aliases_do_not_bind() {
    let mut client = Client::new();
    client.must_add("uid=countess,dc=example", ALIAS_OF_ADA);
    assert_eq!(client.bind("uid=countess,dc=example", "lace").code, InvalidCredentials);
    assert_eq!(client.bind(ADA, "lace").code, Success);
}

/// A choice of authentication that is not supported.
#[test]
fn s4_2_unknown_choices() {
    let mut client = Client::new();
    let sasl = Authentication::Sasl { mechanism: b"X-UNKNOWN", credentials: Some(b"\0") };
    for choice in [sasl, Authentication::Unknown(0x81), Authentication::Unknown(0x9e)] {
        assert_eq!(authenticate(&mut client, 3, "", choice).code, AuthMethodNotSupported);
    }
}

/// Passwords of arbitrary bytes are not altered on the way.
#[test]
fn s4_2_passwords_are_not_altered() {
    let mut client = Client::new();
    for password in [" lace ", "La\u{308}ce", "l\0ace", "LACE"] {
        client.bind_root();
        assert_eq!(client.modify(ADA, &[(ModifyKind::Replace, "userPassword", &[password])]).code, Success);
        assert_eq!(client.bind(ADA, "lace").code, InvalidCredentials, "{password:?}");
        assert_eq!(client.bind(ADA, password).code, Success, "{password:?}");
    }
}

/// Before a bind is processed, everything in progress is complete or abandoned: nothing of it comes afterwards.
#[test]
fn s4_2_1_bind_ends_what_is_in_progress() {
    let mut client = Client::new();
    add_people(&mut client, 2000);
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let none = selection(&["1.1"]);
    let search = Request::Search(search_for("dc=example", Scope::Subtree, filter.filter(), &none));
    let (_, mut bytes) = client.encode(&search, &[]);
    let (bind_id, bind) = client.encode(&bind(ADA, "lace"), &[]);
    let (who_id, who) = client
        .encode(&Request::Extended(proto::op::Extended { oid: proto::ext::who_am_i::OID, value: None }), &[]);
    bytes.extend([bind, who].concat());
    let (all, state) = client.raw(&bytes);
    let at = all.iter().position(|answer| answer.id == bind_id).expect("the bind is answered");
    assert_eq!((all[at + 1..].len(), all[at + 1].id, state), (1, who_id, State::Idle));
    assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
}

/// An empty SASL mechanism aborts a negotiation: authMethodNotSupported.
#[test]
fn s4_2_1_empty_sasl_mechanism() {
    let mut client = Client::new();
    for credentials in [None, Some(&b""[..]), Some(b"x")] {
        let sasl = Authentication::Sasl { mechanism: b"", credentials };
        let end = authenticate(&mut client, 3, "", sasl);
        assert_eq!((end.code, end.tag), (AuthMethodNotSupported, tag::BIND_RESPONSE));
    }
}

/// Authentication from earlier binds is ignored from a bind on; after one that failed nobody is bound.
#[test]
fn s4_2_1_earlier_binds_are_forgotten() {
    let mut client = Client::new();
    assert_eq!(client.bind(ADA, "lace").code, Success);
    assert_eq!(client.delete("ou=groups,dc=example").code, InsufficientAccessRights);
    let unknown = proto::Control { oid: b"1.2.3", critical: true, value: None };
    let version_0 = tlv(tag::BIND, &[&[2, 1, 0, 4, 0], &tlv(0x80, b"")[..]].concat());
    let no_utf8 = tlv(tag::BIND, &[&[2, 1, 3], &tlv(4, b"cn=\xff")[..], &tlv(0x80, b"x")].concat());
    let mut fails: Vec<Vec<u8>> = vec![message(99, &[&version_0]), message(99, &[&no_utf8])];
    fails.push(client.encode(&bind(ROOT_DN, "wrong"), &[]).1);
    fails.push(client.encode(&bind(ROOT_DN, ""), &[]).1);
    fails.push(client.encode(&bind("nonsense", "x"), &[]).1);
    fails.push(client.encode(&bind(ROOT_DN, PASSWORD), &[unknown]).1);
    for fail in fails {
        client.bind_root();
        let (all, _) = client.raw(&fail);
        assert!(
            matches!(&all[0].what, What::End(end) if end.code != Success && end.tag == tag::BIND_RESPONSE)
        );
        assert_eq!(client.who_am_i(), "", "{all:?}");
    }
}

/// serverSaslCreds is absent for a simple bind, well or ill.
#[test]
fn s4_2_2_no_server_credentials() {
    let mut client = Client::new();
    for (name, password) in [("", ""), (ADA, "lace"), (ADA, "wrong"), (ADA, "")] {
        assert!(!client.bind(name, password).server_credentials);
    }
}
