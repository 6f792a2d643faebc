//! Section 4.6: modify.

use crate::common::*;
use model::ResultCode::*;
use proto::op::ModifyKind::*;

/// No alias is dereferenced in determining the object to be modified.
#[test]
fn s4_6_aliases_are_modified_themselves() {
    let mut client = Client::new();
    client.must_add("uid=countess,dc=example", ALIAS_OF_ADA);
    let end = client.modify("uid=countess,dc=example", &[(Add, "description", &["an alias"])]);
    assert_eq!(end.code, Success, "{}", end.text);
    assert_eq!(client.compare(ADA, "description", "an alias").code, NoSuchAttribute);
    assert_eq!(client.compare("uid=countess,dc=example", "description", "an alias").code, CompareTrue);
}

/// The changes are done in the order they are listed.
#[test]
fn s4_6_in_order() {
    let mut client = Client::new();
    let changes: [(_, &str, &[&str]); 4] = [
        (Add, "description", &["one"]),
        (Replace, "description", &["two"]),
        (Add, "description", &["three"]),
        (Delete, "description", &["two"]),
    ];
    assert_eq!(client.modify(ADA, &changes).code, Success);
    assert_eq!(client.read(ADA, &[]).values("description"), Some(vec!["three".to_owned()]));
    let reversed: Vec<_> = changes.into_iter().rev().collect();
    assert_eq!(client.modify(ADA, &reversed).code, NoSuchAttribute, "there is no two when it is the first");
}

/// All or nothing: a change that fails takes those before it along.
#[test]
fn s4_6_all_or_nothing() {
    let mut client = Client::new();
    let before = client.read(ADA, &["*", "+"]);
    let failing: [(_, &str, &[&str]); 8] = [
        (Delete, "mail", &[]),
        (Delete, "sn", &["nobody"]),
        (Add, "sn", &["lovelace"]),
        (Replace, "sn", &[]),
        (Add, "nonsense", &["x"]),
        (Replace, "createTimestamp", &["20200101000000Z"]),
        (Increment, "cn", &["1"]),
        (Add, "objectClass", &["nonsense"]),
    ];
    for last in failing {
        let changes = [(Add, "description", &["new"][..]), (Delete, "employeeNumber", &[]), last];
        let end = client.modify(ADA, &changes);
        assert_ne!(end.code, Success, "{last:?}");
        assert_eq!(client.read(ADA, &["*", "+"]), before, "{last:?}");
    }
}

/// Single changes may break the schema if the result conforms.
#[test]
fn s4_6_only_the_result_must_conform() {
    let mut client = Client::new();
    let changes: [(_, &str, &[&str]); 4] =
        [(Delete, "sn", &[]), (Delete, "cn", &[]), (Delete, "cn;lang-fr", &[]), (Add, "sn", &["King"])];
    assert_eq!(client.modify(ADA, &changes).code, ObjectClassViolation, "no cn is left");
    let changes: [(_, &str, &[&str]); 4] =
        [(Delete, "sn", &[]), (Delete, "cn", &[]), (Add, "cn", &["Ada"]), (Add, "sn", &["King"])];
    let end = client.modify(ADA, &changes);
    assert_eq!(end.code, Success, "{}", end.text);
    let serial: [(_, &str, &[&str]); 2] = [(Add, "serialNumber", &["1"]), (Add, "objectClass", &["device"])];
    assert_eq!(client.modify(ADA, &serial).code, ObjectClassViolation, "two structural classes");
    let seller: [(_, &str, &[&str]); 2] =
        [(Add, "aRecord", &["1.2.3.4"]), (Add, "objectClass", &["extensibleObject"])];
    let end = client.modify(ADA, &seller);
    assert_eq!(end.code, Success, "allowed by the class that comes after it: {}", end.text);
}

/// Entries conform to the schema afterwards: syntax, single values, classes.
#[test]
fn s4_6_results_conform() {
    let mut client = Client::new();
    for (change, code) in [
        ((Add, "preferredLanguage", &["de", "fr"][..]), ConstraintViolation),
        ((Replace, "seeAlso", &["no DN"]), InvalidAttributeSyntax),
        ((Delete, "objectClass", &[]), ObjectClassViolation),
        ((Replace, "objectClass", &["top"]), ObjectClassViolation),
        ((Add, "dc", &["x"]), ObjectClassViolation),
        ((Add, "nonsense", &["x"]), UndefinedAttributeType),
        ((Add, "cn;lang-de-", &["x"]), UndefinedAttributeType),
        ((Replace, "entryUUID", &["x"]), ConstraintViolation),
    ] {
        let end = client.modify(ADA, &[change]);
        assert_eq!(end.code, code, "{change:?}: {}", end.text);
    }
}

/// Distinguished values cannot be removed: notAllowedOnRDN.
#[test]
fn s4_6_distinguished_values_stay() {
    let mut client = Client::new();
    for change in
        [(Delete, "uid", &[][..]), (Delete, "uid", &["ADA"]), (Replace, "uid", &["x"]), (Replace, "uid", &[])]
    {
        assert_eq!(client.modify(ADA, &[change]).code, NotAllowedOnRdn, "{change:?}");
    }
    assert_eq!(
        client.modify(ADA, &[(Replace, "uid", &["x", "Ada"])]).code,
        Success,
        "it is still among them"
    );
}

/// add with no values is a protocol error; delete and replace with none take the attribute away, and replace does
/// so even if there is none.
#[test]
fn s4_6_changes_without_values() {
    let mut client = Client::new();
    assert_eq!(client.modify(ADA, &[(Add, "mail", &[])]).code, ProtocolError);
    assert_eq!(client.modify(ADA, &[(Replace, "mail", &[])]).code, Success);
    assert_eq!(client.modify(ADA, &[(Delete, "employeeNumber", &[])]).code, Success);
    assert_eq!(client.read(ADA, &["employeeNumber"]).names(), [""; 0]);
}

/// RFC 4512 section 3.3: "Servers SHALL restrict modifications of this attribute to prevent superclasses of remaining
/// 'objectClass' values from being deleted."
#[test]
fn s4_6_superclasses_stay() {
    let mut client = Client::new();
    let before = client.read(ADA, &["*", "+"]);
    for class in ["person", "2.5.6.6", "organizationalPerson", "TOP"] {
        let end = client.modify(ADA, &[(Delete, "objectClass", &[class]), (Replace, "mail", &["a@b"])]);
        assert_eq!(end.code, ObjectClassModsProhibited, "{class}: {}", end.text);
        assert!(end.text.contains("superclass"), "{}", end.text);
        assert_eq!(client.read(ADA, &["*", "+"]), before, "{class}");
    }
    for changes in [
        &[(Delete, "objectClass", &["person"][..]), (Add, "objectClass", &["person"])][..],
        &[(Delete, "objectClass", &[]), (Add, "objectClass", &["inetOrgPerson"])],
        &[(Replace, "objectClass", &["inetOrgPerson"])],
        &[(Add, "objectClass", &["extensibleObject"])],
        &[(Delete, "objectClass", &["extensibleObject"])],
    ] {
        let end = client.modify(ADA, changes);
        assert_eq!(end.code, Success, "{changes:?}: {}", end.text);
    }
    let classes = client.read(ADA, &["objectClass"]).values("objectClass").expect("there are some");
    assert_eq!(classes, ["inetOrgPerson", "organizationalPerson", "person", "top"]);
    assert_eq!(client.modify(ADA, &[(Delete, "objectClass", &["device"])]).code, NoSuchAttribute);
}
