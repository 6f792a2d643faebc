//! RFC 3296: named subordinate references.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2.2 | takes several values of ref, each once | `s2_2_values_of_ref` |
//! | 3, 4 | with ManageDsaIT makes no referral of a referral object, and treats it as an entry in each operation | `s3_with_manage_dsa_it_it_is_an_entry` |
//! | 5.2 | refers what has a referral object as its target or above it, with the DN of the target and without scope, filter and attributes | `s5_2_targets` |
//! | 5.2 | answers as ever where no referral object is above the target | `s5_2_other_targets` |
//! | 5.2, 5.3 | neither trims nor changes critical extensions | `s5_2_critical_extensions` |
//! | 5.3 | refers a search with the DN of its base and its scope, whatever scope the value has | `s5_3_bases` |
//! | 5.3 | names the base as it is behind an alias | `s5_3_a_base_behind_an_alias` |
//! | 5.4 | sends one reference for each referral object in the scope, whatever the filter, with a scope | `s5_4_continuations` |
//! | 5.4 | sends what is no LDAP URL as it is; puts the object's DN where there is none | `s5_4_values_of_any_form` |
//! | 5.6.1 | refers no bind | `s5_6_1_bind` |
//! | 5.6.2 | answers affectsMultipleDSAs where the new superior is a referral object or below one, or the new name is that of one | `s5_6_2_modify_dn` |
//!
//! Not here: management of superior references, which section 5.2 leaves open (`s4_1_10_default_referrals` of `tests/rfc4511`).

use super::check_table;
use crate::common::*;
use model::ResultCode::{self, *};
use model::{DerefAliases, Scope};
use proto::control::Control;
use proto::control::manage_dsa_it;
use proto::op::ModifyKind;

const ROLES: &str = "ou=roles,dc=example";
const MANAGER: &str = "cn=manager,ou=roles,dc=example";
const ALL: &str = "(objectClass=*)";
const PERSON: Given<'static> = &[("objectClass", &["person"]), ("sn", &["x"])];

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc3296_named_references.rs"));
}

/// The small tree and a referral object with these values.
fn with_roles(uris: &[&str]) -> Client {
    let mut client = Client::new();
    client.must_add(ROLES, &[("objectClass", &["referral", "extensibleObject"]), ("ref", uris)]);
    client
}

/// What each operation but search answers at a name, with these controls.
fn ask_all(client: &mut Client, dn: &str, controls: &[Control<'_>]) -> Vec<Outcome> {
    vec![
        client.add_with(dn, PERSON, controls).end,
        client.compare_with(dn, "cn", "x", controls).end,
        client.modify_with(dn, &[(ModifyKind::Replace, "description", &["x"])], controls).end,
        client.rename_with(dn, "cn=y", controls).end,
        client.delete_with(dn, controls).end,
    ]
}

fn codes_of(ends: &[Outcome]) -> Vec<ResultCode> {
    ends.iter().map(|end| end.code).collect()
}

#[test]
fn s2_2_values_of_ref() {
    let mut client = with_roles(&["ldap://b/ou=roles,dc=example", "ldap://c/ou=roles,dc=example"]);
    let end = client.delete(ROLES);
    assert_eq!((end.code, end.referral.len()), (Referral, 2));
    let manage = [manage_dsa_it::control(true)];
    let again: [(ModifyKind, &str, &[&str]); 1] =
        [(ModifyKind::Add, "ref", &["ldap://b/ou=roles,dc=example"])];
    assert_eq!(client.modify_with(ROLES, &again, &manage).end.code, AttributeOrValueExists);
    let without: Given<'_> = &[("objectClass", &["referral", "extensibleObject"])];
    assert_eq!(client.add("ou=none,dc=example", without).code, ObjectClassViolation);
}

#[test]
fn s3_with_manage_dsa_it_it_is_an_entry() {
    for critical in [true, false] {
        let mut client = with_roles(&["ldap://b"]);
        let manage = [manage_dsa_it::control(critical)];
        let found = client.search_with(ROLES, Scope::Base, ALL, &["ref"], |_| {}, &manage);
        assert_eq!(found.values("ref"), Some(vec!["ldap://b".to_owned()]));
        let found = client.search_with("dc=example", Scope::Subtree, "(ref=*)", &["1.1"], |_| {}, &manage);
        assert_eq!((found.dns(), found.references.len()), (vec![ROLES], 0));
        assert_eq!(client.compare_with(ROLES, "ref", "ldap://b", &manage).end.code, CompareTrue);
        assert_eq!(client.add_with(MANAGER, PERSON, &manage).end.code, Success);
        let there = codes_of(&ask_all(&mut client, MANAGER, &manage));
        assert_eq!(there, [EntryAlreadyExists, CompareFalse, Success, Success, NoSuchObject]);
        assert_eq!(client.delete_with("cn=y,ou=roles,dc=example", &manage).end.code, Success);
        let change: [(ModifyKind, &str, &[&str]); 1] = [(ModifyKind::Replace, "ref", &["ldap://c"])];
        assert_eq!(client.modify_with(ROLES, &change, &manage).end.code, Success);
        assert_eq!(client.rename_with(ROLES, "ou=other", &manage).end.code, Success);
        assert_eq!(client.delete_with("ou=other,dc=example", &manage).end.code, Success);
    }
}

#[test]
fn s5_2_targets() {
    let values = ["ldap://b/ou=roles,o=there??sub?(cn=*)", "ldap://c:1389/ou=roles,o=there?cn?one"];
    let mut client = with_roles(&values);
    for (dn, prefix) in
        [(ROLES, ""), (MANAGER, "cn=manager,"), ("cn=a,cn=b,ou=roles,dc=example", "cn=a,cn=b,")]
    {
        let expected =
            [format!("ldap://b/{prefix}ou=roles,o=there"), format!("ldap://c:1389/{prefix}ou=roles,o=there")];
        for end in ask_all(&mut client, dn, &[]) {
            let is_there_already = dn == ROLES && end.code == EntryAlreadyExists;
            assert!(
                is_there_already || (end.code, &end.referral[..]) == (Referral, &expected[..]),
                "{dn}: {end:?}"
            );
        }
    }
}

#[test]
fn s5_2_other_targets() {
    let mut client = with_roles(&["ldap://b"]);
    // In no naming context, and in one without a referral object above.
    for dn in ["cn=x,dc=elsewhere", "cn=x,ou=rolesx,dc=example", "cn=x,cn=none,ou=people,dc=example"] {
        assert_eq!(codes_of(&ask_all(&mut client, dn, &[])), [NoSuchObject; 5], "{dn}");
        assert_eq!(client.read(dn, &[]).end.code, NoSuchObject, "{dn}");
    }
}

#[test]
fn s5_2_critical_extensions() {
    let mut client = with_roles(&["ldap://b/ou=roles,o=there????!1.3.6.1.4.1.1466=x%3Fy"]);
    let end = client.delete(MANAGER);
    assert_eq!(end.referral, ["ldap://b/cn=manager,ou=roles,o=there????!1.3.6.1.4.1.1466=x%3Fy"]);
    let end = client.read(MANAGER, &[]).end;
    assert_eq!(end.referral, ["ldap://b/cn=manager,ou=roles,o=there??base??!1.3.6.1.4.1.1466=x%3Fy"]);
}

#[test]
fn s5_3_bases() {
    let mut client = with_roles(&["ldap://d/ou=roles,dc=example??one", "ldap://e"]);
    for (scope, word) in [(Scope::Base, "base"), (Scope::One, "one"), (Scope::Subtree, "sub")] {
        for dn in [ROLES, MANAGER] {
            let found = client.search(dn, scope, "(cn=none)", &[]);
            let expected = [format!("ldap://d/{dn}??{word}"), format!("ldap://e/{dn}??{word}")];
            assert_eq!((found.end.code, &found.end.referral[..]), (Referral, &expected[..]));
            assert!(found.entries.is_empty() && found.references.is_empty());
        }
    }
}

#[test]
fn s5_3_a_base_behind_an_alias() {
    let mut client = with_roles(&["ldap://d"]);
    let alias: Given<'_> =
        &[("objectClass", &["alias", "extensibleObject"]), ("aliasedObjectName", &[ROLES])];
    client.must_add("cn=alias,dc=example", alias);
    for (base, target) in [("cn=alias,dc=example", ROLES), ("cn=manager,cn=alias,dc=example", MANAGER)] {
        let always = |search: &mut proto::op::Search<'_>| search.deref_aliases = DerefAliases::Always;
        let found = client.search_with(base, Scope::Subtree, ALL, &[], always, &[]);
        assert_eq!(found.end.code, Referral, "{base}: {:?}", found.end);
        assert_eq!(found.end.referral, [format!("ldap://d/{target}??sub")]);
    }
}

#[test]
fn s5_4_continuations() {
    let mut client = with_roles(&["ldap://b", "ldap://c/ou=x,o=there"]);
    let other: Given<'_> = &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://d"])];
    client.must_add("ou=more,ou=people,dc=example", other);
    for filter in [ALL, "(uid=ada)", "(cn=none)"] {
        let mut found = client.search("dc=example", Scope::Subtree, filter, &["1.1"]).references;
        found.sort();
        let roles = [format!("ldap://b/{ROLES}??sub"), "ldap://c/ou=x,o=there??sub".to_owned()];
        assert_eq!(
            found,
            [&roles[..], &["ldap://d/ou=more,ou=people,dc=example??sub".to_owned()]],
            "{filter}"
        );
    }
    let one = client.search("dc=example", Scope::One, ALL, &["1.1"]);
    assert_eq!(
        one.references,
        [[format!("ldap://b/{ROLES}??base"), "ldap://c/ou=x,o=there??base".to_owned()]]
    );
    assert_eq!((one.end.code, one.dns()), (Success, vec!["ou=groups,dc=example", "ou=people,dc=example"]));
    assert!(client.search("dc=example", Scope::Base, ALL, &["1.1"]).references.is_empty());
}

#[test]
fn s5_4_values_of_any_form() {
    let mut client = with_roles(&["http://b/x?y", "ldap://c/", "ldaps://d"]);
    let found = client.search("dc=example", Scope::Subtree, ALL, &["1.1"]);
    let mut uris = found.references.concat();
    uris.sort();
    assert_eq!(
        uris,
        ["http://b/x?y".to_owned(), format!("ldap://c/{ROLES}??sub"), format!("ldaps://d/{ROLES}??sub")]
    );
}

#[test]
fn s5_6_1_bind() {
    let mut client = with_roles(&["ldap://b"]);
    for dn in [ROLES, MANAGER] {
        let end = client.bind(dn, "word");
        assert_eq!((end.code, end.referral.len()), (InvalidCredentials, 0), "{dn}: {end:?}");
    }
}

#[test]
fn s5_6_2_modify_dn() {
    let mut client = with_roles(&["ldap://b"]);
    for superior in [ROLES, MANAGER] {
        let end = client.rename(ADA, "uid=ada", false, Some(superior));
        assert_eq!(end.code, AffectsMultipleDsas, "{superior}: {end:?}");
    }
    let end = client.rename("ou=groups,dc=example", "ou=roles", false, None);
    assert_eq!(end.code, AffectsMultipleDsas, "{end:?}");
}
