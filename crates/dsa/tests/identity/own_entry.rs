//! A session is the entry that it bound as, whatever becomes of its name.

use crate::common::*;
use crate::fixture::each;
use dsa::{Gone, State};
use model::ResultCode::*;
use proto::Request;
use proto::op::ModifyKind::*;
use std::task::{Context, Waker};

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

/// What the server does once a second for a session.
fn looked_after(client: &mut Client) -> Option<Gone> {
    if !client.worker.may_have_lost_accounts() {
        return None;
    }
    let accounts = client.session.accounts();
    let gone = client.worker.gone(accounts)?;
    client.session.revoke(accounts, gone);
    Some(gone)
}

/// X9: a session whose entry was deleted, or that an administrator has locked, ends with a notice; one that failed binds have locked, that was renamed, or that is
/// somebody else by then does not.
#[test]
fn x9_a_session_ends_with_its_account() {
    const LOCKED: &str = "pwdAccountLockedTime";
    const BOB: &str = "uid=bob,ou=people,dc=example";
    const EVE: &str = "uid=eve,ou=people,dc=example";
    each(|mut root| {
        [BOB, EVE].into_iter().for_each(|dn| root.must_add(dn, SOMEBODY));
        let (mut ada, mut bob) = (root.another_as(ADA, "lace"), root.another_as(BOB, "theirs"));
        assert_eq!(root.modify(ADA, &[(Replace, LOCKED, &["20300101000000Z"])]).code, Success);
        assert_eq!(root.rename(BOB, "uid=bobby", true, None).code, Success);
        assert_eq!((looked_after(&mut ada), looked_after(&mut bob)), (None, None));
        assert!(!ada.session.expects_notices());
        assert_eq!(root.modify(ADA, &[(Replace, LOCKED, &["000001010000Z"])]).code, Success);
        assert_eq!(root.delete("uid=bobby,ou=people,dc=example").code, Success);
        assert_eq!(looked_after(&mut ada), Some(Gone::Locked));
        assert_eq!(looked_after(&mut ada), None, "nothing was changed since");
        // In between it has become somebody else.
        let accounts = bob.session.accounts();
        assert_eq!(bob.worker.gone(accounts), Some(Gone::Deleted));
        bob.must_bind(EVE, "theirs");
        bob.session.revoke(accounts, Gone::Deleted);
        assert!(!bob.session.expects_notices());
        assert_eq!(bob.who_am_i(), format!("dn:{EVE}"));
        assert_eq!(root.delete(EVE).code, Success);
        assert_eq!(looked_after(&mut bob), Some(Gone::Deleted));
        // While it is idle, and with the next request.
        let mut out = Vec::new();
        let cx = &mut Context::from_waker(Waker::noop());
        assert_eq!(ada.session.poll_notices(&ada.worker, cx, &mut out), State::Close);
        let (_, request) = bob.encode(&Request::Delete(ADA.as_bytes()), &[]);
        let (notices, state) = bob.raw(&request);
        assert_eq!(state, State::Close);
        for (notices, word) in [(answers(&out), "locked"), (notices, "deleted")] {
            let [Answer { id: 0, what: What::End(end), .. }] = &notices[..] else { panic!("{notices:?}") };
            assert!(end.code == StrongerAuthRequired && end.text.contains(word), "{}", end.text);
        }
        assert_eq!(looked_after(&mut root), None, "the root DN has no entry here");
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
