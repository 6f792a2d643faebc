//! References: what is the name of an entry follows it when it is deleted or renamed.

use crate::common::*;
use crate::constraints::*;
use crate::constraints_model::{STAFF, name, names, note, place};
use crate::equivalence::{Update, send};
use dsa::Undeleted;
use env::clock::Now;
use model::ResultCode::*;
use model::{ResultCode, Scope};
use proptest::prelude::*;
use proto::op::ModifyKind::{self, Add, Delete, Replace};
use std::collections::BTreeMap;

const REFS: &str = "name=refs references=\"member,manager\"";
const G: &str = "cn=g,ou=groups,dc=example";

fn dn(uid: &str) -> String {
    format!("uid={uid},{PEOPLE}")
}

/// People a and b, of whom a is the manager of both, and a group of both.
fn begin(client: &mut Client) {
    for uid in ["a", "b"] {
        assert_eq!(person(client, &dn(uid), &[]).code, Success);
        let manager = [(Replace, "manager", &["UID=A, ou=people,dc=example"][..])];
        assert_eq!(client.modify(&dn(uid), &manager).code, Success);
    }
    let (a, b) = (dn("a"), dn("b"));
    client.must_add(G, &[("objectClass", &["groupOfNames"]), ("member", &[&a, &b])]);
}

fn all(client: &mut Client) -> Vec<(String, Vec<Attribute>)> {
    client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]).entries
}

/// Values, sorted.
fn values(client: &mut Client, dn: &str, attribute: &str) -> Vec<String> {
    let mut values = client.value(dn, attribute).unwrap_or_default();
    values.sort();
    values
}

#[test]
fn what_refers_follows() {
    for is_logged in [false, true] {
        let (mut client, log) = constrained(is_logged, &[REFS]);
        begin(&mut client);
        assert_eq!(client.rename(&dn("a"), "uid=c", true, None).code, Success);
        assert_eq!(values(&mut client, G, "member"), [dn("b"), dn("c")]);
        assert_eq!(values(&mut client, &dn("b"), "manager"), [dn("c")]);
        assert_eq!(values(&mut client, &dn("c"), "manager"), [dn("c")], "of itself");
        // All that is below another name has another name.
        assert_eq!(client.rename(PEOPLE, "ou=staff", true, None).code, Success);
        assert_eq!(values(&mut client, G, "member"), [format!("uid=b,{STAFF}"), format!("uid=c,{STAFF}")]);
        assert_eq!(values(&mut client, &format!("uid=b,{STAFF}"), "manager"), [format!("uid=c,{STAFF}")]);
        // What is refused changes nothing.
        assert_eq!(client.rename(&format!("uid=c,{STAFF}"), "uid=b", true, None).code, EntryAlreadyExists);
        assert_eq!(client.delete(STAFF).code, NotAllowedOnNonLeaf);
        assert_eq!(client.delete(&format!("uid=c,{STAFF}")).code, Success);
        assert_eq!(values(&mut client, G, "member"), [format!("uid=b,{STAFF}")]);
        assert!(values(&mut client, &format!("uid=b,{STAFF}"), "manager").is_empty());
        if is_logged {
            assert_eq!(all(&mut client), all(&mut again(&log, config(), &[REFS])), "applied again");
        }
    }
}

/// A group may not be without members. The text does not say which group it is.
#[test]
fn what_refers_is_not_named() {
    each_with(&[REFS], |mut client| {
        begin(&mut client);
        assert_eq!(client.delete(&dn("a")).code, Success);
        let refused = client.delete(&dn("b"));
        let text = "constraint refs: an entry that refers to it would lose its last member";
        assert_eq!((refused.code, &refused.text[..]), (ConstraintViolation, text));
        let nothing = format!("{REFS} nothing=cn=none");
        assert_eq!(client.modify("cn=config", &[(Replace, ATTRIBUTE, &[&nothing])]).code, Success);
        assert_eq!(client.delete(&dn("b")).code, Success);
        assert_eq!(values(&mut client, G, "member"), ["cn=none"]);
    });
}

/// A dynamic entry that a group keeps is tried again, each time after twice as long, and reported once.
#[test]
fn a_dynamic_entry_that_may_not_go_is_tried_less_and_less() {
    const DYNAMIC: &str = "cn=dexp,ou=groups,dc=example";
    for is_logged in [false, true] {
        let (mut client, log) = constrained(is_logged, &[REFS]);
        client.must_add(DYNAMIC, &[("objectClass", &["applicationProcess", "dynamicObject"])]);
        client.must_add(G, &[("objectClass", &["groupOfNames"]), ("member", &[DYNAMIC])]);
        let pass = |client: &mut Client, seconds: u64| {
            client.at(Now {
                wall_ms: client.now.wall_ms + seconds * 1000,
                monotonic_ns: client.now.monotonic_ns + seconds * 1_000_000_000,
            });
            client.worker.delete_expired(client.now);
            if let Some(commit) = &client.commit {
                commit.borrow_mut()();
            }
        };
        let is_there = |client: &mut Client| client.read(DYNAMIC, &["1.1"]).end.code == Success;
        let records = || log.lock().expect("nobody panicked").len();
        let before = records();
        pass(&mut client, 86_400);
        let mut reported = Vec::new();
        for _ in 0..100 {
            pass(&mut client, 1);
            reported.extend(client.worker.undeleted());
        }
        assert!(is_there(&mut client));
        // After 0, 2, 6, 14, 30 and 62 seconds, and what it takes to learn of the refusals.
        let tried = records() - before;
        assert!(tried <= 6 && (tried >= 5) == is_logged, "{tried}");
        let [Undeleted { entries, others: 0 }] = &reported[..] else { panic!("{reported:?}") };
        let [(name, reason)] = &entries[..] else { panic!("{entries:?}") };
        assert_eq!(name, DYNAMIC.as_bytes());
        assert!(reason.starts_with("constraintViolation: constraint refs: "), "{reason}");
        // An hour is the longest.
        (0..30).for_each(|_| pass(&mut client, 3_600));
        assert_eq!(client.modify(G, &[(Add, "member", &[&dn("x")])]).code, Success);
        (0..2).for_each(|_| pass(&mut client, 3_600));
        assert!(!is_there(&mut client));
        assert!(client.worker.undeleted().is_none());
    }
}

#[test]
fn a_transaction_takes_what_refers_along() {
    for is_logged in [false, true] {
        let (mut client, log) = constrained(is_logged, &[REFS]);
        begin(&mut client);
        let txn = client.start();
        let given: Given<'_> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"])];
        assert_eq!(client.add_in(&txn, &dn("n"), given).code, Success);
        assert_eq!(client.modify_in(&txn, G, &[(Add, "member", &[&dn("n")])]).code, Success);
        for (from, to) in [("n", "m"), ("a", "c"), ("c", "d")] {
            let renamed = client.rename_in(&txn, &dn(from), &format!("uid={to}"), None);
            assert_eq!(renamed.code, Success, "{}", renamed.text);
        }
        assert_eq!(client.delete_in(&txn, &dn("b")).code, Success);
        assert_eq!(client.rename_in(&txn, PEOPLE, "ou=staff", None).code, Success);
        assert_eq!(values(&mut client, G, "member"), [dn("a"), dn("b")], "before the commit");
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(values(&mut client, G, "member"), ["d", "m"].map(|uid| format!("uid={uid},{STAFF}")));
        assert_eq!(values(&mut client, &format!("uid=d,{STAFF}"), "manager"), [format!("uid=d,{STAFF}")]);
        if is_logged {
            assert_eq!(all(&mut client), all(&mut again(&log, config(), &[REFS])), "applied again");
        }
    }
}

#[test]
fn one_update_takes_so_many_along() {
    each_with(&["name=refs references=manager limit=4"], |mut client| {
        begin(&mut client);
        let refused = client.rename(PEOPLE, "ou=staff", true, None);
        assert_eq!(refused.code, AdminLimitExceeded);
        assert!(refused.text.contains("constraint refs: more than 4 entries"), "{}", refused.text);
        assert_eq!(client.rename(&dn("a"), "uid=c", true, None).code, Success);
        assert_eq!(values(&mut client, &dn("b"), "manager"), [dn("c")]);
    });
    let (mut client, _) = constrained(false, &[]);
    for (rule, said) in [
        ("name=a references=owner", "needs the index `owner:eq`"),
        ("name=a references=mail", "no names of entries"),
    ] {
        let refused = client.modify("cn=config", &[(Replace, ATTRIBUTE, &[rule])]);
        assert_eq!(refused.code, ConstraintViolation);
        assert!(refused.text.contains(said), "{rule}: {}", refused.text);
    }
}

#[test]
fn names_that_lead_nowhere_are_refused_where_that_is_wanted() {
    let rule = "name=refs references=manager absent=refuse";
    each_with(&[rule], |mut client| {
        begin(&mut client);
        let refused = client.modify(&dn("b"), &[(Replace, "manager", &[&dn("x")])]);
        let text = "constraint refs: no entry has the name that is a value of manager";
        assert_eq!((refused.code, &refused.text[..]), (ConstraintViolation, text));
        // A transaction may add both.
        let txn = client.start();
        let given: Given<'_> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"])];
        assert_eq!(client.add_in(&txn, &dn("x"), given).code, Success);
        assert_eq!(client.modify_in(&txn, &dn("b"), &[(Replace, "manager", &[&dn("x")])]).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.modify("cn=config", &[(Delete, ATTRIBUTE, &[])]).code, Success);
        assert_eq!(client.delete(&dn("x")).code, Success);
        let refused = client.modify("cn=config", &[(Replace, ATTRIBUTE, &[rule])]);
        assert!(refused.text.ends_with(&format!("of manager, \"{}\"", dn("b"))), "{}", refused.text);
    });
}

fn update() -> impl Strategy<Value = Update> {
    let kind = prop_oneof![1 => Just(Replace), 3 => Just(ModifyKind::Add), 1 => Just(Delete)];
    let values = prop::collection::vec(name(), 1..3);
    prop_oneof![
        4 => name().prop_map(Update::Add),
        6 => (name(), kind, values).prop_map(|(dn, kind, values)| Update::Modify(dn, kind, "manager", values)),
        2 => name().prop_map(Update::Delete),
        4 => (name(), "n[0-4]|c", prop::option::of(place()))
            .prop_map(|(dn, uid, above)| Update::Rename(dn, format!("uid={uid}"), above.map(str::to_owned))),
        1 => prop_oneof![Just((PEOPLE, "ou=staff")), Just((STAFF, "ou=people"))]
            .prop_map(|(dn, to)| Update::Rename(dn.to_owned(), to.to_owned(), None)),
    ]
}

/// Who is whose manager, and which entries there are.
fn managers(client: &mut Client) -> BTreeMap<String, Vec<String>> {
    let found = client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["manager"]).entries;
    let of = |attributes: Vec<Attribute>| {
        let values = attributes.into_iter().flat_map(|(_, values)| values);
        let mut values: Vec<String> = values.map(|value| String::from_utf8(value).unwrap()).collect();
        values.sort();
        values
    };
    found.into_iter().map(|(dn, attributes)| (dn, of(attributes))).collect()
}

/// The naive model: all entries are looked through after each update.
fn modelled(happened: &[&Update], updates: &[&Update]) -> (Client, Vec<ResultCode>) {
    let (mut client, mut codes) = (Client::with(with_index()), Vec::new());
    for update in happened.iter().chain(updates) {
        let there = managers(&mut client);
        let code = send(&mut client, update, None).code;
        codes.push(code);
        let (was, is) = names(update);
        if code != Success || matches!(update, Update::Add(_) | Update::Modify(..) | Update::Guarded(..)) {
            continue;
        }
        // A name that led nowhere before still does.
        let followed = |value: &String| match value.strip_suffix(&was).filter(|_| there.contains_key(value)) {
            Some("") if matches!(update, Update::Delete(_)) => None,
            Some(below) if below.is_empty() || below.ends_with(',') => Some(format!("{below}{is}")),
            _ => Some(value.clone()),
        };
        for (dn, values) in managers(&mut client) {
            let mut now: Vec<String> = values.iter().filter_map(followed).collect();
            now.sort();
            now.dedup();
            if now != values {
                let now: Vec<&str> = now.iter().map(String::as_str).collect();
                assert_eq!(client.modify(&dn, &[(Replace, "manager", &now)]).code, Success);
            }
        }
    }
    (client, codes.split_off(happened.len()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn references_follow_whatever_happens(
        turns in prop::collection::vec((prop::collection::vec(update(), 1..8), any::<bool>()), 1..5),
        is_logged: bool,
    ) {
        let (mut client, log) = constrained(is_logged, &[REFS]);
        let mut happened: Vec<&Update> = Vec::new();
        for (updates, is_transaction) in &turns {
            let wanted: Vec<&Update> = updates.iter().collect();
            let (mut model, expected) = modelled(&happened, &wanted);
            let txn = is_transaction.then(|| client.start());
            let codes: Vec<ResultCode> =
                wanted.iter().map(|update| send(&mut client, update, txn.as_deref()).code).collect();
            let failed = expected.iter().position(|code| *code != Success).filter(|_| *is_transaction);
            let judged = failed.map_or(expected.len(), |at| at + 1);
            prop_assert_eq!(&codes[..judged], &expected[..judged], "{:?}", updates);
            if let Some(txn) = txn {
                prop_assert_eq!(client.commit(&txn).code, failed.map_or(Success, |at| expected[at]));
            }
            match failed {
                None => note(&mut happened, &wanted, &expected),
                Some(_) => model = modelled(&happened, &[]).0,
            }
            prop_assert_eq!(managers(&mut client), managers(&mut model), "{:?}", updates);
        }
        if is_logged {
            prop_assert_eq!(all(&mut client), all(&mut again(&log, with_index(), &[REFS])), "applied again");
            prop_assert_eq!(all(&mut client), all(&mut again(&log, config(), &[REFS])), "applied again");
        }
    }
}
