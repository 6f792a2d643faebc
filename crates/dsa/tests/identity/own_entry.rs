//! A session is the entry that it bound as, whatever becomes of its name.

use crate::common::*;
use crate::fixture::each;
use model::ResultCode::*;
use proto::op::ModifyKind::*;

const SOMEBODY: Given<'static> =
    &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"]), ("userPassword", &["theirs"])];

#[test]
fn an_entry_that_was_added_again_is_another() {
    each(|mut root| {
        let mut ada = root.another_as(ADA, "lace");
        assert_eq!(root.delete(ADA).code, Success);
        assert_eq!(ada.change_password(None, None, "x"), InsufficientAccessRights, "there is no such entry");
        root.must_add(ADA, SOMEBODY);
        for (user, old) in
            [(None, None), (Some(ADA), None), (Some("u:ada"), None), (Some(ADA), Some("theirs"))]
        {
            assert_eq!(ada.change_password(user, old, "x"), InsufficientAccessRights, "{user:?}");
        }
        let end = ada.modify(ADA, &[(Replace, "userPassword", &["x"])]);
        assert_eq!(end.code, InsufficientAccessRights, "{}", end.text);
        let txn = ada.start();
        let value =
            proto::ext::password_modify::PasswordModify { new: Some(b"x"), ..Default::default() }.encode();
        let request = proto::op::Extended { oid: proto::ext::password_modify::OID, value: Some(&value) };
        let member = [proto::control::transaction_specification::control(&txn)];
        let end = ada.ask(&proto::Request::Extended(request), &member).end;
        assert_eq!(end.code, InsufficientAccessRights, "{}", end.text);
        assert!(root.binds(ADA, "theirs"));
        let mut new = root.another_as(ADA, "theirs");
        assert_eq!(new.change_password(None, None, "y"), Success);
        assert!(root.binds(ADA, "y"));
    });
}

#[test]
fn a_renamed_entry_is_the_same() {
    let renamed = "uid=countess,ou=people,dc=example";
    each(|mut root| {
        let mut ada = root.another_as(ADA, "lace");
        assert_eq!(root.rename(ADA, "uid=countess", true, None).code, Success);
        root.must_add(ADA, SOMEBODY);
        assert_eq!(ada.modify(ADA, &[(Replace, "userPassword", &["x"])]).code, InsufficientAccessRights);
        assert_eq!(ada.change_password(Some(ADA), None, "x"), InsufficientAccessRights);
        assert_eq!(ada.change_password(None, Some("lace"), "first"), Success);
        assert!(root.binds(renamed, "first") && root.binds(ADA, "theirs"));
        assert_eq!(ada.change_password(Some(renamed), None, "second"), Success);
        assert_eq!(ada.modify(renamed, &[(Replace, "userPassword", &["third"])]).code, Success);
        assert!(root.binds(renamed, "third") && root.binds(ADA, "theirs"));
        let txn = ada.start();
        let value =
            proto::ext::password_modify::PasswordModify { new: Some(b"fourth"), ..Default::default() }
                .encode();
        let request = proto::op::Extended { oid: proto::ext::password_modify::OID, value: Some(&value) };
        let member = [proto::control::transaction_specification::control(&txn)];
        assert_eq!(ada.ask(&proto::Request::Extended(request), &member).end.code, Success);
        assert_eq!(ada.commit(&txn).code, Success);
        assert!(root.binds(renamed, "fourth") && root.binds(ADA, "theirs"));
    });
}
