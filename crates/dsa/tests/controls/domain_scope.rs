//! The control domain scope: a search without continuation references.

use crate::common::{Client, Given, is_published};
use model::ResultCode::{ProtocolError, Referral, Success, UnavailableCriticalExtension};
use model::Scope;
use proto::control::domain_scope::{OID, control};
use proto::control::{Control, manage_dsa_it};

const AWAY: &str = "ou=away,dc=example";

#[test]
fn a_search_returns_no_references() {
    let mut client = Client::new();
    let refers: Given<'_> =
        &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://elsewhere/ou=away"])];
    assert_eq!(client.add_with(AWAY, refers, &[manage_dsa_it::control(true)]).end.code, Success);
    for scope in [Scope::One, Scope::Subtree, Scope::Subordinates] {
        for critical in [true, false] {
            let mut search = |controls: &[Control<'_>]| {
                client.search_with("dc=example", scope, "(objectClass=*)", &["1.1"], |_| {}, controls)
            };
            let (with, without) = (search(&[]), search(&[control(critical)]));
            assert_eq!((with.references.len(), without.references.len()), (1, 0), "{scope:?}");
            assert_eq!((without.end.code, without.dns()), (Success, with.dns()));
        }
    }
    // Where the base itself is elsewhere there is nothing that could be returned instead.
    let found = client.search_with(AWAY, Scope::Subtree, "(ou=*)", &[], |_| {}, &[control(true)]);
    assert_eq!(found.end.code, Referral);
}

#[test]
fn it_has_no_value_and_is_of_searches() {
    let mut client = Client::new();
    for value in [&b""[..], &[0x30, 0]] {
        let controls = [Control { value: Some(value), ..control(false) }];
        let found = client.search_with("dc=example", Scope::Base, "(dc=*)", &[], |_| {}, &controls);
        assert_eq!(found.end.code, ProtocolError);
    }
    let twice = [control(true), control(true)];
    let found = client.search_with("dc=example", Scope::Base, "(dc=*)", &[], |_| {}, &twice);
    assert_eq!(found.end.code, ProtocolError);
    let compared = client.compare_with("dc=example", "dc", "example", &[control(true)]);
    assert_eq!(compared.end.code, UnavailableCriticalExtension);
    assert!(is_published("supportedControl", OID));
}
