//! Transactions of many updates that are prepared when they come, some of whose prepared writes are stale at the end.

use crate::common::*;
use crate::equivalence::{BASE, Update, one_by_one, send, state};
use crate::fixture::*;
use model::{ResultCode, Scope};
use proto::op::ModifyKind;

const ENTRIES: usize = 40;

fn dn(number: usize) -> String {
    format!("uid=d{number},{BASE}")
}

/// Replaces a value, in a transaction or not.
fn change(client: &mut Client, txn: Option<&[u8]>, number: usize, attribute: &str, value: &str) {
    let (dn, changes) = (dn(number), [(ModifyKind::Replace, attribute, &[value][..])]);
    let end = match txn {
        Some(txn) => client.modify_in(txn, &dn, &changes),
        None => client.modify(&dn, &changes),
    };
    assert_eq!(end.code, ResultCode::Success, "{}", end.text);
}

/// Of forty entries, two of them twice, `stale` are changed by another client before the end: few enough for the room that was
/// kept for them, or too many.
fn all_of_it_is_there(is_logged: bool, stale: usize) {
    let (mut client, log) = if is_logged { logged() } else { (client(false), Log::default()) };
    let mut other = client.another();
    for number in 0..ENTRIES {
        assert_eq!(send(&mut client, &Update::Add(dn(number)), None).code, ResultCode::Success);
    }
    let txn = client.start();
    (0..ENTRIES).for_each(|number| change(&mut client, Some(&txn), number, "sn", &format!("first {number}")));
    [0, ENTRIES - 1].into_iter().for_each(|number| change(&mut client, Some(&txn), number, "cn", "second"));
    (0..stale).for_each(|number| change(&mut other, None, number, "homeDirectory", "/other"));
    assert_eq!(other.value(&dn(0), "sn"), Some(vec!["a".to_owned()]), "nothing is seen before the end");
    let end = client.commit(&txn);
    assert_eq!(end.code, ResultCode::Success, "{}", end.text);
    for number in 0..ENTRIES {
        let mut value =
            |attribute| other.read(&dn(number), &[attribute]).values(attribute).unwrap_or_default();
        assert_eq!(value("sn"), [format!("first {number}")]);
        assert_eq!(value("cn"), [if number == 0 || number == ENTRIES - 1 { "second" } else { "x" }]);
        assert_eq!(value("homeDirectory"), [if number < stale { "/other" } else { "/" }]);
    }
    if is_logged {
        let all =
            |client: &mut Client| client.search(BASE, Scope::Subtree, "(objectClass=*)", &["*", "+"]).entries;
        assert_eq!(all(&mut client), all(&mut replayed(&log)), "applied again");
    }
}

#[test]
fn what_another_client_changed_is_made_anew() {
    for is_logged in [false, true] {
        [0, 1, 3, 20, ENTRIES].into_iter().for_each(|stale| all_of_it_is_there(is_logged, stale));
    }
}

/// Names are spelled as they were sent, also of what a transaction prepared, made and renamed, and when that is applied again.
#[test]
fn names_are_spelled_as_sent() {
    let (mut client, log) = logged();
    let (first, below) = (format!("UID=First,{BASE}"), format!("uid=Below,uid=FIRST,{BASE}"));
    let replace = |dn: &str, attribute: &'static str, value: &str| {
        Update::Modify(dn.to_owned(), ModifyKind::Replace, attribute, vec![value.to_owned()])
    };
    let before = [Update::Add(first.clone()), replace(&first, "uid", "FIRST"), replace(&first, "sn", "b")];
    let within = [
        replace(&first, "sn", "c"),
        replace(&first, "cn", "d"),
        Update::Add(below.clone()),
        replace(&below, "uid", "BELOW"),
        replace(&below, "sn", "d"),
        replace(&first, "uid", "first"),
        replace(&first, "sn", "e"),
    ];
    let txn = {
        before
            .iter()
            .for_each(|update| assert_eq!(send(&mut client, update, None).code, ResultCode::Success));
        client.start()
    };
    for update in &within {
        let end = send(&mut client, update, Some(&txn));
        assert_eq!(end.code, ResultCode::Success, "{}", end.text);
    }
    let end = client.commit(&txn);
    assert_eq!(end.code, ResultCode::Success, "{}", end.text);
    let (mut again, mut plain) = (replayed(&log), client_of(&before, &within));
    for client in [&mut client, &mut again, &mut plain] {
        let dns: Vec<String> = state(client).into_iter().map(|(dn, _)| dn).collect();
        for dn in [format!("uid=First,{BASE}"), format!("uid=Below,uid=First,{BASE}")] {
            assert!(dns.contains(&dn), "{dns:?}");
        }
    }
}

/// A client of a directory that these were sent to one by one.
fn client_of(before: &[Update], within: &[Update]) -> Client {
    let updates: Vec<&Update> = before.iter().chain(within).collect();
    one_by_one(&updates, 0).0
}
