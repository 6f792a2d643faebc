//! Section 4.1.6: DIT content rules.

use super::with;
use crate::common::{ADA, Client, Given};
use dsa::SUBSCHEMA_DN;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind::{Add, Delete, Replace};

/// Of organizationalRole: entries may be labeled, have a role that is not filled by anybody, and a mail address.
const RULES: &str = "ditcontentrule ( 2.5.6.8 NAME 'roleRule' AUX labeledURIObject MUST description MAY mail NOT roleOccupant )\n\
                     ditcontentrule ( 2.5.6.14 OBSOLETE NOT serialNumber )\n\
                     objectclass ( 1.3.6.1.4.1.99999.9.1 NAME 'shortRole' SUP organizationalRole )\n";
const ROLE: &str = "cn=r,dc=example";
const CLASS: (&str, &[&str]) = ("objectClass", &["organizationalRole"]);
const TEXT: (&str, &[&str]) = ("description", &["x"]);

fn client() -> Client {
    let mut client = with(RULES);
    client.must_add(ROLE, &[CLASS, TEXT]);
    client
}

/// An entry may only belong to auxiliary object classes listed in the governing content rule.
#[test]
fn s4_1_6_auxiliary_classes() {
    let mut client = client();
    let with = |class: &'static str| ("objectClass", vec!["organizationalRole", class]);
    for (class, code) in [
        ("labeledURIObject", Success),
        ("dcObject", ObjectClassViolation),
        ("extensibleObject", ObjectClassViolation),
    ] {
        let (_, classes) = with(class);
        let entry: Given<'_> = &[("objectClass", &classes), TEXT, ("dc", &["x"])];
        let entry = if class == "labeledURIObject" { &entry[..2] } else { entry };
        let end = client.add(&format!("cn={class},dc=example"), entry);
        assert_eq!(end.code, code, "{class}: {}", end.text);
        let changes: &[(_, &str, &[&str])] = &[(Add, "objectClass", &[class]), (Add, "dc", &["x"])];
        let changes = if class == "labeledURIObject" { &changes[..1] } else { changes };
        assert_eq!(client.modify(ROLE, changes).code, code, "{class}");
    }
    let end = client.modify(ROLE, &[(Add, "objectClass", &["uidObject"]), (Add, "uid", &["x"])]);
    assert_eq!(
        end.text,
        "the content rule of 'organizationalRole' does not list auxiliary object class 'uidObject'"
    );
}

/// An entry must contain all attributes required by its classes and by the rule; it may contain those that either allows.
#[test]
fn s4_1_6_attributes() {
    let mut client = client();
    let end = client.add("cn=x,dc=example", &[CLASS]);
    assert_eq!(end.code, ObjectClassViolation);
    assert_eq!(end.text, "the content rule of 'organizationalRole' requires attribute 'description'");
    assert_eq!(client.add("l=x,dc=example", &[CLASS, TEXT, ("l", &["x"])]).code, ObjectClassViolation);
    assert_eq!(
        client.add("cn=x,dc=example", &[CLASS, TEXT, ("mail", &["a@b"]), ("l", &["y"])]).code,
        Success
    );
    assert_eq!(client.add("cn=y,dc=example", &[CLASS, TEXT, ("uid", &["y"])]).code, ObjectClassViolation);
    assert_eq!(client.modify(ROLE, &[(Replace, "mail", &["a@b"])]).code, Success);
    assert_eq!(client.modify(ROLE, &[(Add, "uid", &["x"])]).code, ObjectClassViolation);
    assert_eq!(client.modify(ROLE, &[(Delete, "description", &[])]).code, ObjectClassViolation);
    // An attribute that names the entry is one of its attributes.
    assert_eq!(client.add("cn=n+description=n,dc=example", &[CLASS]).code, Success);
    assert_eq!(client.rename("cn=n+description=n,dc=example", "cn=n", true, None).code, ObjectClassViolation);
}

/// An entry cannot include any attribute precluded by the rule, though its class allows it.
#[test]
fn s4_1_6_precluded() {
    let mut client = client();
    let end = client.add("cn=x,dc=example", &[CLASS, TEXT, ("roleOccupant", &[ADA])]);
    assert_eq!(end.code, ObjectClassViolation);
    assert_eq!(end.text, "the content rule of 'organizationalRole' precludes attribute 'roleOccupant'");
    assert_eq!(client.modify(ROLE, &[(Add, "roleOccupant", &[ADA])]).code, ObjectClassViolation);
    // Only the result of a modify counts.
    let both = [(Add, "roleOccupant", &[ADA][..]), (Delete, "roleOccupant", &[][..])];
    assert_eq!(client.modify(ROLE, &both).code, Success);
}

/// The rule applies to the structural class alone, and only while it is active.
#[test]
fn s4_1_6_which_rule_governs() {
    let mut client = client();
    let derived: Given<'_> =
        &[("objectClass", &["shortRole", "dcObject"]), ("dc", &["x"]), ("roleOccupant", &[ADA])];
    assert_eq!(client.add("cn=x,dc=example", derived).code, Success);
    let device: Given<'_> = &[("objectClass", &["device"]), ("serialNumber", &["1"])];
    assert_eq!(client.add("cn=d,dc=example", device).code, Success);
}

/// dITContentRules are among the attributes of the subschema, and compared by their first component.
#[test]
fn s4_2_content_rules_are_shown() {
    let mut client = client();
    let shown = client.read(SUBSCHEMA_DN, &["dITContentRules"]).values("dITContentRules").unwrap();
    assert_eq!(shown.len(), 2);
    assert!(
        shown[1].starts_with("( 2.5.6.8 NAME 'roleRule' AUX labeledURIObject MUST description"),
        "{shown:?}"
    );
    assert_eq!(shown[0], "( 2.5.6.14 OBSOLETE NOT serialNumber )");
    for (oid, count) in [("2.5.6.8", 1), ("2.5.6.6", 0)] {
        let filter = format!("(dITContentRules={oid})");
        assert_eq!(client.search(SUBSCHEMA_DN, Scope::Base, &filter, &["1.1"]).entries.len(), count);
    }
}
