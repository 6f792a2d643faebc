//! RFC 4525, 4526, 4529, 4530 and 4532, each of a page or two: modify-increment, filters that are true and false, selection by object classes,
//! entryUUID, and who am I.
//!
//! | RFC and section | the server | test |
//! |---|---|---|
//! | 4525, 2 | increments each value by the one that is given, down too; refuses none and several | `s4525_2_increment` |
//! | 4525, 2 | refuses an attribute that is absent, has no numbers, or would overflow, and changes nothing | `s4525_2_what_cannot_be_incremented` |
//! | 4525, 2 | publishes the feature | `s4525_2_it_is_published` |
//! | 4526, 2 | takes `(&)` as true and `(\|)` as false, inside of filters too | `s4526_2_true_and_false` |
//! | 4526, 2 | publishes the feature | `s4526_2_it_is_published` |
//! | 4529, 3 | treats `@class` as each attribute that the class allows, by its superiors too; ignores one that is unknown | `s4529_3_selection_by_class` |
//! | 4529, 3 | publishes the feature | `s4529_3_it_is_published` |
//! | 4530, 2 | gives each new entry a UUID of its own, which nothing changes | `s4530_2_it_is_unique_and_stays` |
//! | 4530, 2 | takes none from clients | `s4530_2_no_client_sets_it` |
//! | 4530, 2 | finds by it, equal and ordered | `s4530_2_it_is_searched_for` |
//! | 4532, 2 | says who the client is, and nobody as an empty name | `s4532_2_who_am_i` |
//! | 4532, 2 | refuses a value; publishes the operation | `s4532_2_a_value_is_refused` |

use super::{check_table, clients};
use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use proto::Request;
use proto::ext::who_am_i;
use proto::op::{Extended, ModifyKind};

const GRACE: &str = "uid=grace,ou=people,dc=example";

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4525_to_4532.rs"));
}

#[test]
fn s4525_2_increment() {
    for mut client in clients() {
        client.must_add(
            "cn=one,dc=example",
            &[
                ("objectClass", &["device", "extensibleObject"]),
                ("serialNumber", &["x"]),
                ("uidNumber", &["7"]),
            ],
        );
        let dn = "cn=one,dc=example";
        for (by, now) in [("1", "8"), ("-10", "-2"), ("0", "-2")] {
            assert_eq!(client.modify(dn, &[(ModifyKind::Increment, "uidNumber", &[by])]).code, Success);
            assert_eq!(client.read(dn, &["uidNumber"]).values("uidNumber"), Some(vec![now.to_owned()]));
        }
        for values in [&[][..], &["1", "2"]] {
            let end = client.modify(dn, &[(ModifyKind::Increment, "uidNumber", values)]);
            assert_eq!(end.code, ProtocolError, "{values:?}: {end:?}");
        }
    }
}

#[test]
fn s4525_2_what_cannot_be_incremented() {
    let mut client = Client::new();
    client.must_add(
        "cn=one,dc=example",
        &[("objectClass", &["device", "extensibleObject"]), ("uidNumber", &["7"])],
    );
    let before = client.read("cn=one,dc=example", &["*", "+"]).entries;
    for (attribute, by, code) in [
        ("gidNumber", "1", NoSuchAttribute),
        ("cn", "1", ConstraintViolation),
        ("uidNumber", "x", ConstraintViolation),
        ("nonsense", "1", UndefinedAttributeType),
    ] {
        let end = client.modify("cn=one,dc=example", &[(ModifyKind::Increment, attribute, &[by])]);
        assert_eq!(end.code, code, "{attribute}: {end:?}");
    }
    assert_eq!(client.read("cn=one,dc=example", &["*", "+"]).entries, before);
}

#[test]
fn s4525_2_it_is_published() {
    assert!(is_published("supportedFeatures", b"1.3.6.1.1.14"));
}

#[test]
fn s4526_2_true_and_false() {
    let mut client = Client::new();
    for (filter, count) in [
        ("(&)", 5),
        ("(|)", 0),
        ("(!(&))", 0),
        ("(!(|))", 5),
        ("(&(&)(uid=ada))", 1),
        ("(|(|)(uid=ada))", 1),
        ("(&(|)(uid=ada))", 0),
    ] {
        let found = client.search("dc=example", Scope::Subtree, filter, &["1.1"]);
        assert_eq!((found.end.code, found.entries.len()), (Success, count), "{filter}");
    }
}

#[test]
fn s4526_2_it_is_published() {
    assert!(is_published("supportedFeatures", b"1.3.6.1.4.1.4203.1.5.3"));
}

#[test]
fn s4529_3_selection_by_class() {
    let mut client = Client::new();
    for (selection, names) in [
        (&["@person"][..], &["cn", "cn;lang-fr", "objectClass", "sn", "userPassword"][..]),
        (&["@PERSON", "mail"], &["cn", "cn;lang-fr", "objectClass", "sn", "userPassword"]),
        (&["@top"], &["objectClass"]),
        (&["@2.5.6.6"], &["cn", "cn;lang-fr", "objectClass", "sn", "userPassword"]),
        (&["@nonsense"], &[]),
        (&["@nonsense", "employeeNumber"], &["employeeNumber"]),
    ] {
        assert_eq!(client.read(ADA, selection).names(), names, "{selection:?}");
    }
    assert!(client.read(ADA, &["@inetOrgPerson"]).names().contains(&"employeeNumber"));
}

#[test]
fn s4529_3_it_is_published() {
    assert!(is_published("supportedFeatures", b"1.3.6.1.4.1.4203.1.5.2"));
}

fn uuid(client: &mut Client, dn: &str) -> String {
    client.read(dn, &["entryUUID"]).values("entryUUID").expect("each entry has one").remove(0)
}

#[test]
fn s4530_2_it_is_unique_and_stays() {
    for mut client in clients() {
        let [ada, grace] = [ADA, GRACE].map(|dn| uuid(&mut client, dn));
        assert_ne!(ada, grace);
        assert_eq!(client.modify(ADA, &[(ModifyKind::Replace, "sn", &["King"])]).code, Success);
        assert_eq!(client.rename(ADA, "uid=countess", true, Some("ou=groups,dc=example")).code, Success);
        assert_eq!(uuid(&mut client, "uid=countess,ou=groups,dc=example"), ada);
        // An entry of the same name is another one.
        assert_eq!(client.delete(GRACE).code, Success);
        client
            .must_add(GRACE, &[("objectClass", &["inetOrgPerson"]), ("cn", &["Grace"]), ("sn", &["Hopper"])]);
        assert_ne!(uuid(&mut client, GRACE), grace);
    }
}

#[test]
fn s4530_2_no_client_sets_it() {
    let mut client = Client::new();
    let other = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
    for kind in [ModifyKind::Add, ModifyKind::Replace, ModifyKind::Delete] {
        let end = client.modify(ADA, &[(kind, "entryUUID", &[other])]);
        assert_eq!(end.code, ConstraintViolation, "{end:?}");
    }
    let entry: Given<'_> = &[("objectClass", &["device"]), ("entryUUID", &[other])];
    assert_eq!(client.add("cn=x,dc=example", entry).code, ConstraintViolation);
}

#[test]
fn s4530_2_it_is_searched_for() {
    let mut client = Client::new();
    let ada = uuid(&mut client, ADA);
    for filter in [format!("(entryUUID={ada})"), format!("(entryUUID={})", ada.to_uppercase())] {
        assert_eq!(client.search("dc=example", Scope::Subtree, &filter, &["1.1"]).dns(), [ADA], "{filter}");
    }
    let from = format!("(&(entryUUID>={ada})(entryUUID<={ada}))");
    assert_eq!(client.search("dc=example", Scope::Subtree, &from, &["1.1"]).dns(), [ADA]);
}

#[test]
fn s4532_2_who_am_i() {
    let mut client = Client::new();
    assert_eq!(client.who_am_i(), format!("dn:{ROOT_DN}"));
    assert_eq!(client.bind(ADA, "lace").code, Success);
    assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
    assert_eq!(client.bind("", "").code, Success);
    assert_eq!(client.who_am_i(), "");
}

#[test]
fn s4532_2_a_value_is_refused() {
    let mut client = Client::new();
    let end = client.end(&Request::Extended(Extended { oid: who_am_i::OID, value: Some(b"x") }));
    assert_eq!((end.code, end.value), (ProtocolError, None));
    assert!(is_published("supportedExtension", who_am_i::OID));
}
