//! Transactions of many updates that are drafted when they come, some of whose drafts are stale at the end.

use crate::common::*;
use crate::desk::*;
use crate::equivalence::{BASE, Update, send};
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
        assert_eq!(all(&mut client), all(&mut replayed(&log)), "carried out again");
    }
}

#[test]
fn what_another_client_changed_is_made_anew() {
    for is_logged in [false, true] {
        [0, 1, 3, 20, ENTRIES].into_iter().for_each(|stale| all_of_it_is_there(is_logged, stale));
    }
}
