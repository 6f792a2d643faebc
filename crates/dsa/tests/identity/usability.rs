//! What the account usability control says.

use super::policy::*;
use super::*;
use model::ResultCode::*;
use model::Scope;
use proto::Request;
use proto::control::Control;
use proto::op::ModifyKind::*;

/// What a search of the root DN with the account usability control says of Ada.
fn usability(client: &Client) -> Vec<u8> {
    let mut root = client.another();
    root.at(client.now);
    usability_of(&mut root, ADA).expect("she has a password")
}

fn usability_of(client: &mut Client, dn: &str) -> Option<Vec<u8>> {
    const OID: &[u8] = b"1.3.6.1.4.1.42.2.27.9.5.8";
    let asks = Control { oid: OID, critical: true, value: None };
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("it is one");
    let names = selection(&["1.1"]);
    let request = Request::Search(search_for(dn, Scope::Base, filter.filter(), &names));
    let (_, bytes) = client.encode(&request, &[asks]);
    let (answers, _) = client.raw(&bytes);
    assert_eq!(answers.len(), 2, "the entry and the end");
    let control = answers[0].controls.first()?;
    assert_eq!((control.0.as_bytes(), answers[1].controls.len()), (OID, 0));
    control.1.clone()
}

/// Y2: what the control says, from never expires to expired, without a try and without a change.
#[test]
fn test_y2_account_usability_by_octets() {
    let policy = [
        ("pwdMaxAge", "1000"),
        ("pwdGraceAuthNLimit", "2"),
        ("pwdLockout", "TRUE"),
        ("pwdMaxFailure", "2"),
        ("pwdLockoutDuration", "60"),
        ("pwdMustChange", "TRUE"),
    ];
    under(&policy, |mut client| {
        assert_eq!(usability(&client), [0x80, 2, 3, 0xe7], "999 s are left");
        for _ in 0..2 {
            assert!(!client.binds(ADA, "wrong"));
        }
        client.wait(10);
        let inactive = [0xa1, 12, 0x80, 1, 0xff, 0x81, 1, 0, 0x82, 1, 0, 0x84, 1, 50];
        assert_eq!(usability(&client), inactive);
        client.wait(1000);
        let expired = [0xa1, 12, 0x80, 1, 0, 0x81, 1, 0, 0x82, 1, 0xff, 0x83, 1, 2];
        assert_eq!(usability(&client), expired);
        let mut root = client.another();
        root.at(client.now);
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["second"])]).code, Success);
        assert_eq!(usability(&client), [0xa1, 9, 0x80, 1, 0, 0x81, 1, 0xff, 0x82, 1, 0]);
        let none: Changes<'_> = &[(Replace, "pwdReset", &[]), (Replace, "pwdChangedTime", &[])];
        assert_eq!(root.modify(ADA, none).code, Success);
        assert_eq!(usability(&client), [0x80, 1, 0xff]);
        // Of an entry without a password there is nothing to say, nor to somebody without the right to compare it.
        assert_eq!(usability_of(&mut root, GRACE), None);
        client.must_bind(ADA, "second");
        assert_eq!(usability_of(&mut client, ADA), None);
    });
}
