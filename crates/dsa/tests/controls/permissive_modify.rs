//! Permissive modify: adding what is there and deleting what is not is no error.

use crate::common::journal::journaled;
use crate::common::{ADA, Client, answers, codes, is_published};
use crate::{Changes, clients};
use dsa::Applier;
use dsa::behaviour::OLDEST;
use dsa::journal::Command;
use model::ResultCode::*;
use proto::control::permissive_modify::{OID, control};
use proto::control::{Control, assertion};
use proto::op::ModifyKind::{Add, Delete, Increment, Replace};

#[test]
fn what_is_there_need_not_come_and_what_is_not_need_not_go() {
    assert!(is_published("supportedControl", OID));
    for mut client in clients() {
        let changes: Changes<'_> = &[
            (Add, "cn", &["ada lovelace", "Countess", "COUNTESS"]),
            (Delete, "cn", &["Nobody", "Ada King"]),
            (Delete, "mail", &["none@x"]),
            (Delete, "l", &[]),
            (Add, "sn", &["LOVELACE"]),
        ];
        assert_eq!(client.modify(ADA, changes).code, AttributeOrValueExists);
        for critical in [true, false] {
            assert_eq!(client.modify_with(ADA, changes, &[control(critical)]).end.code, Success);
            let found = client.read(ADA, &["cn", "sn", "mail", "l"]);
            let mut cn = found.values("cn").expect("they are left");
            cn.sort();
            assert_eq!(cn, ["Ada Lovelace", "Countess"], "what is there stays as it is spelled");
            assert_eq!(found.values("sn"), Some(vec!["Lovelace".to_owned()]));
            assert_eq!((found.values("mail"), found.values("l")), (None, None));
        }
    }
}

#[test]
fn everything_else_is_an_error_as_ever() {
    for mut client in clients() {
        for (changes, code) in [
            (&[(Delete, "sn", &["Lovelace"][..])][..], ObjectClassViolation),
            (&[(Delete, "uid", &["ada"])], NotAllowedOnRdn),
            (&[(Add, "employeeNumber", &["37"])], ConstraintViolation),
            (&[(Replace, "l", &["a", "A"])], AttributeOrValueExists),
            (&[(Increment, "uidNumber", &["1"])], NoSuchAttribute),
            (&[(Add, "entryUUID", &["x"])], ConstraintViolation),
        ] {
            let end = client.modify_with(ADA, changes, &[control(true)]).end;
            assert_eq!(end.code, code, "{changes:?}: {}", end.text);
        }
    }
}

#[test]
fn a_large_group_is_changed_as_a_small_one() {
    for mut client in clients() {
        let members: Vec<String> = (0..3000).map(|n| format!("cn=m{n},dc=example")).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let group = "cn=all,dc=example";
        client.must_add(group, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
        let changes: Changes<'_> = &[
            (Add, "member", &["CN=M7,dc=example", "cn=new,dc=example", "cn=new,dc=example"]),
            (Delete, "member", &["cn=m8,dc=example", "cn=m8,dc=example", "cn=never,dc=example"]),
            (Add, "member", &["cn=m8,dc=example"]),
        ];
        assert_eq!(client.modify_with(group, changes, &[control(true)]).end.code, Success);
        let found = client.read(group, &["member"]).values("member").expect("there are some");
        assert_eq!(found.len(), 3001);
        assert!(found.contains(&"cn=m7,dc=example".to_owned()) && found.contains(&members[8].to_owned()));
    }
}

#[test]
fn it_has_no_value_and_is_of_modifies() {
    let mut client = Client::new();
    let change: Changes<'_> = &[(Delete, "l", &[])];
    for value in [&b""[..], &[0x30, 0]] {
        let controls = [Control { value: Some(value), ..control(false) }];
        assert_eq!(client.modify_with(ADA, change, &controls).end.code, ProtocolError);
    }
    let twice = [control(true), control(true)];
    assert_eq!(client.modify_with(ADA, change, &twice).end.code, ProtocolError);
    assert_eq!(client.delete_with(ADA, &[control(true)]).end.code, UnavailableCriticalExtension);
    let filter = crate::common::assertion("(sn=nobody)");
    let both = [control(true), assertion::control(&filter, true)];
    assert_eq!(client.modify_with(ADA, change, &both).end.code, AssertionFailed);
}

/// What a program before it ignored is ignored when its log is replayed.
#[test]
fn behaviour_2_does_not_know_it() {
    let (mut client, log) = journaled();
    client.plant();
    let change: Changes<'_> = &[(Add, "cn", &["Ada King"])];
    assert_eq!(client.modify_with(ADA, change, &[control(false)]).end.code, Success);
    let again = Client::empty(crate::common::config());
    let mut applier = Applier::new(&again.dsa).expect("there are few readers");
    applier.behave(OLDEST);
    let mut last = Vec::new();
    for (record, _) in &*log.lock().expect("nobody panicked") {
        last.clear();
        let command = Command::decode(record).expect("it was encoded");
        applier.apply(&command, &mut last).expect("it can be applied");
    }
    assert_eq!(codes(&answers(&last)), [AttributeOrValueExists]);
    // Nor does a session while that is in force.
    let mut other = Client::of(&again.dsa);
    other.bind_root();
    let codes = [true, false].map(|critical| other.modify_with(ADA, change, &[control(critical)]).end.code);
    assert_eq!(codes, [UnavailableCriticalExtension, AttributeOrValueExists]);
}
