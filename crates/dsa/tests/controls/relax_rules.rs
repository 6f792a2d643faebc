//! Relax rules: an administrator may give values to what the server keeps itself.

use crate::common::*;
use crate::{Changes, clients};
use model::ResultCode::*;
use proto::control::relax_rules::{OID, control};
use proto::op::ModifyKind::Replace;

const NEW: &str = "uid=bob,ou=people,dc=example";
const UUID: &str = "0d6f1cd6-1a4e-103f-9a3e-7f2b1c4d5e6f";
const BROUGHT: Given<'static> = &[
    ("objectClass", &["inetOrgPerson"]),
    ("cn", &["Bob"]),
    ("sn", &["Bee"]),
    ("entryUUID", &[UUID]),
    ("createTimestamp", &["20200229120000Z"]),
    ("creatorsName", &["cn=somebody else"]),
    ("modifyTimestamp", &["20210101000000Z"]),
    ("modifiersName", &["cn=yet another"]),
];

#[test]
fn an_add_brings_what_another_server_has_kept() {
    assert!(is_published("supportedControl", OID));
    for mut client in clients() {
        assert_eq!(client.add(NEW, BROUGHT).code, ConstraintViolation);
        assert_eq!(client.add_with(NEW, BROUGHT, &[control(true)]).end.code, Success);
        let found = client.read(NEW, &["*", "+"]);
        for (name, values) in &BROUGHT[3..] {
            assert_eq!(found.values(name), Some(vec![values[0].to_owned()]), "{name}");
        }
        let by_uuid = format!("(entryUUID={UUID})");
        let found = client.search("dc=example", model::Scope::Subtree, &by_uuid, &["1.1"]);
        assert_eq!(found.dns(), [NEW]);
        // From the next change on the server keeps them.
        assert_eq!(client.modify(NEW, &[(Replace, "title", &["x"])]).code, Success);
        let found = client.read(NEW, &["*", "+"]);
        assert_eq!(found.values("modifiersName"), Some(vec![ROOT_DN.to_owned()]));
        assert_eq!(found.values("creatorsName"), Some(vec!["cn=somebody else".to_owned()]));
    }
}

#[test]
fn a_modify_corrects_them_and_may_change_the_structural_class() {
    for mut client in clients() {
        let times: Changes<'_> =
            &[(Replace, "createTimestamp", &["20200229120000Z"]), (Replace, "modifiersName", &["cn=other"])];
        assert_eq!(client.modify(ADA, times).code, ConstraintViolation);
        assert_eq!(client.modify_with(ADA, times, &[control(false)]).end.code, Success);
        let found = client.read(ADA, &["+"]);
        assert_eq!(found.values("createTimestamp"), Some(vec!["20200229120000Z".to_owned()]));
        assert_eq!(found.values("modifiersName"), Some(vec!["cn=other".to_owned()]));
        let unit = "ou=groups,dc=example";
        let class: Changes<'_> = &[(Replace, "objectClass", &["account"]), (Replace, "uid", &["g"])];
        let classes: Changes<'_> =
            &[(Replace, "objectClass", &["applicationProcess"]), (Replace, "cn", &["g"])];
        assert_eq!(client.modify(unit, classes).code, ObjectClassModsProhibited);
        assert_eq!(client.modify_with(unit, classes, &[control(true)]).end.code, Success);
        let found = client.read(unit, &["structuralObjectClass"]);
        assert_eq!(found.values("structuralObjectClass"), Some(vec!["applicationProcess".to_owned()]));
        // What is there must still be allowed.
        let end = client.modify_with(ADA, class, &[control(true)]).end;
        assert_eq!(end.code, NotAllowedOnRdn, "{}", end.text);
    }
}

#[test]
fn everything_else_is_kept_by_the_server() {
    for mut client in clients() {
        for (name, value) in
            [("entryUUID", UUID), ("hasSubordinates", "TRUE"), ("structuralObjectClass", "person")]
        {
            let end = client.modify_with(ADA, &[(Replace, name, &[value])], &[control(true)]).end;
            assert_eq!(end.code, ConstraintViolation, "{name}: {}", end.text);
        }
        let entry: Given<'_> = &[BROUGHT[0], BROUGHT[1], BROUGHT[2], ("entryDN", &[NEW])];
        assert_eq!(client.add_with(NEW, entry, &[control(true)]).end.code, ConstraintViolation);
        let bad: Given<'_> = &[BROUGHT[0], BROUGHT[1], BROUGHT[2], ("createTimestamp", &["yesterday"])];
        assert_eq!(client.add_with(NEW, bad, &[control(true)]).end.code, InvalidAttributeSyntax);
        let value = proto::control::Control { value: Some(b""), ..control(true) };
        assert_eq!(client.delete_with(ADA, &[value]).end.code, ProtocolError);
    }
}
