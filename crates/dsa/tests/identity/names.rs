//! Names of those who change the directory: there is room for so many, and one more is not recorded as the root DN.

use crate::common::*;
use crate::fixture::{logged, replayed};
use dsa::Applier;
use dsa::journal::Command;
use model::ResultCode::*;
use proto::op::ModifyKind::*;

const NAMES: usize = 16;

fn user(n: usize) -> String {
    format!("uid=n{n},ou=people,dc=example")
}

/// A directory that has no room for another name, but for those that are on their way. How many users changed it.
fn fill(client: &mut Client) -> usize {
    client.dsa.shard().bound_names(NAMES);
    for n in 0..NAMES {
        let entry: Given<'_> =
            &[("objectClass", &["account", "simpleSecurityObject"]), ("userPassword", &["x"])];
        client.bind_root();
        client.must_add(&user(n), entry);
        client.must_bind(&user(n), "x");
        let end = client.modify(&user(n), &[(Replace, "userPassword", &["y"])]);
        if end.code != Success {
            assert_eq!(end.code, AdminLimitExceeded, "{}", end.text);
            assert!(end.text.contains("no further name"), "{}", end.text);
            return n;
        }
    }
    panic!("there is room for every name")
}

#[test]
fn the_one_who_is_too_many_is_refused() {
    for is_logged in [false, true] {
        let mut client = crate::fixture::client(is_logged);
        let users = fill(&mut client);
        assert_eq!(users, NAMES - 2, "the root DN has one, and one is spared");
        let last = user(users);
        client.must_bind(&last, "x");
        assert_eq!(client.change_password(None, None, "z"), AdminLimitExceeded);
        let txn = client.start();
        let value =
            proto::ext::password_modify::PasswordModify { new: Some(b"z"), ..Default::default() }.encode();
        let request = proto::op::Extended { oid: proto::ext::password_modify::OID, value: Some(&value) };
        let member = [proto::control::transaction_specification::control(&txn)];
        assert_eq!(client.ask(&proto::Request::Extended(request), &member).end.code, AdminLimitExceeded);
        assert!(client.binds(&last, "x"));
        // Those that are known go on.
        client.must_bind(&user(3), "y");
        assert_eq!(client.modify(&user(3), &[(Replace, "userPassword", &["x"])]).code, Success);
        client.bind_root();
        assert_eq!(client.modify(&last, &[(Replace, "description", &["x"])]).code, Success);
        let modifiers = client.read(&user(3), &["modifiersName"]).values("modifiersName");
        assert_eq!(modifiers, Some(vec![user(3)]));
    }
}

/// What was refused for it is not in the log, and a replay has the same names.
#[test]
fn a_replay_has_the_same_names() {
    let (mut client, log) = logged();
    let users = fill(&mut client);
    let mut replayed = replayed(&log);
    for n in 0..=users {
        client.bind_root();
        let read = |client: &mut Client| client.read(&user(n), &["*", "modifiersName", "entryCSN"]);
        assert_eq!(read(&mut client), read(&mut replayed), "{n}");
    }
}

/// A command of the log that finds no room is refused as a whole, whenever it is applied.
#[test]
fn a_command_without_a_name_changes_nothing() {
    let (mut client, log) = logged();
    fill(&mut client);
    let record = log.lock().expect("nobody panicked").last().expect("there are some").0.clone();
    let mut applier = Applier::new(&client.dsa).expect("there are few readers");
    let messages = client.modify_bytes(ADA, &[(Replace, "sn", &["New"])], &[]);
    for (actor, code) in [("cn=a", Success), ("cn=b", AdminLimitExceeded), ("cn=a", Success)] {
        for is_transaction in [false, true] {
            let command = Command {
                actor: actor.as_bytes(),
                messages: &messages,
                is_transaction,
                ids: Vec::new().into(),
                ..Command::decode(&record).expect("it was encoded")
            };
            let mut out = Vec::new();
            applier.apply(&command, &mut out).expect("it has an outcome");
            if !is_transaction {
                assert_eq!(codes(&answers(&out)), [code], "{actor}");
            }
            client.bind_root();
            let modifier = client.read(ADA, &["modifiersName"]).values("modifiersName");
            assert_eq!(modifier, Some(vec!["cn=a".to_owned()]), "{actor}");
        }
    }
}

/// A change of the configuration records no name, so it needs no room for one.
#[test]
fn the_configuration_changes_where_there_is_no_room_for_a_name() {
    // Its name is not that of the first root DN, which is recorded from the beginning.
    let mut client = Client::empty(dsa::Config { root_dn: Some("cn=second".to_owned()), ..config() });
    client.must_bind("cn=second", PASSWORD);
    client.dsa.shard().bound_names(1);
    let end = client.modify("cn=config", &[(Replace, "pandoTxnOpenMax", &["77"])]);
    assert_eq!(end.code, Success, "{}", end.text);
}
