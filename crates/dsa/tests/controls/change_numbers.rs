//! Numbers of changes as 389 Directory Server has them: lastUSN of the root DSE, and entryUSN of entries.

use super::{Changes, clients};
use crate::common::*;
use model::ResultCode::{AssertionFailed, CompareTrue, ConstraintViolation, Success};
use model::Scope;
use proto::control::assertion::OID as ASSERTION;
use proto::op::ModifyKind;
use std::collections::BTreeMap;

const GRACE: &str = "uid=grace,ou=people,dc=example";
const GROUPS: &str = "ou=groups,dc=example";

fn number(client: &mut Client, dn: &str, attribute: &str) -> u64 {
    let values = client.read(dn, &[attribute]).values(attribute).expect("it has a number");
    assert_eq!(values.len(), 1);
    values[0].parse().expect("it is a number")
}

fn last(client: &mut Client) -> u64 {
    number(client, "", "lastUSN")
}

fn set(text: &str) -> Vec<&str> {
    vec![text]
}

fn describe(client: &mut Client, dn: &str, text: &str) {
    let values = set(text);
    let changes: Changes<'_> = &[(ModifyKind::Replace, "description", &values)];
    assert_eq!(client.modify(dn, changes).code, Success);
}

fn find(client: &mut Client, filter: &str) -> Vec<String> {
    let found = client.search("dc=example", Scope::Subtree, filter, &["1.1"]);
    assert_eq!(found.end.code, Success);
    found.dns().into_iter().map(str::to_owned).collect()
}

#[test]
fn an_entry_has_the_number_of_its_last_change() {
    for mut client in clients() {
        let before = last(&mut client);
        assert_eq!(find(&mut client, &format!("(entryUSN>={})", before + 1)), [""; 0]);
        describe(&mut client, ADA, "changed");
        let changed = number(&mut client, ADA, "entryUSN");
        assert!(changed > before && changed == last(&mut client));
        // As SSSD asks.
        let since = |number: u64| format!("(&(objectClass=*)(entryUSN>={number})(!(entryUSN={number})))");
        assert_eq!(find(&mut client, &since(before)), [ADA]);
        assert_eq!(find(&mut client, &since(changed)), [""; 0]);
        assert_eq!(find(&mut client, &format!("(entryUSN={changed})")), [ADA]);
        assert!(!find(&mut client, &format!("(entryUSN<={before})")).contains(&ADA.to_owned()));
        assert_eq!(client.compare(ADA, "entryUSN", &changed.to_string()).code, CompareTrue);
        // A rename is a change of its entry, and of none below it.
        assert_eq!(client.rename(GROUPS, "ou=teams", true, None).code, Success);
        assert_eq!(find(&mut client, &since(changed)), ["ou=teams,dc=example"]);
        // What is gone has no number, and those of others do not go back.
        let renamed = last(&mut client);
        assert_eq!(client.delete(GRACE).code, Success);
        describe(&mut client, ADA, "again");
        assert!(last(&mut client) > renamed);
        assert_eq!(find(&mut client, &since(renamed)), [ADA]);
    }
}

#[test]
fn the_number_is_returned_to_clients_that_name_it() {
    for mut client in clients() {
        assert_eq!(client.read(ADA, &["*", "+"]).values("entryUSN"), None);
        assert!(client.read(ADA, &["+", "entryusn"]).values("entryUSN").is_some());
        for selection in [&["*"][..], &["+"], &["lastUSN"]] {
            assert!(client.read("", selection).values("lastUSN").is_some(), "{selection:?}");
        }
    }
}

#[test]
fn no_client_changes_it() {
    for mut client in clients() {
        let changes: Changes<'_> = &[(ModifyKind::Replace, "entryUSN", &["5"])];
        assert_eq!(client.modify(ADA, changes).code, ConstraintViolation);
        let with: Given<'_> = &[("objectClass", &["applicationProcess"]), ("entryUSN", &["5"])];
        assert_eq!(client.add("cn=x,dc=example", with).code, ConstraintViolation);
    }
}

/// An earlier program knows no such attribute, and comes to the same when it applies the same log.
#[test]
fn an_update_asserts_nothing_of_it() {
    for mut client in clients() {
        for filter in ["(entryUSN>=0)", "(!(entryUSN>=0))", "(entryUSN=*)", "(entryUSN:integerMatch:=5)"] {
            let value = assertion(filter);
            let controls = [control(ASSERTION, &value, true)];
            let changes: Changes<'_> = &[(ModifyKind::Replace, "description", &["x"])];
            assert_eq!(client.modify_with(ADA, changes, &controls).end.code, AssertionFailed, "{filter}");
        }
    }
}

/// A consumer that asks for later numbers only, at any time, has all entries as they are.
#[test]
fn a_consumer_of_later_numbers_misses_no_change() {
    for mut client in clients() {
        let (mut copy, mut seen, mut random) = (BTreeMap::new(), 0, 0x9e37_79b9_7f4a_7c15_u64);
        let mut next = |below: u64| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (random >> 33) % below
        };
        let mut numbers = BTreeMap::new();
        for step in 0..200 {
            let dn = format!("cn={},dc=example", next(20));
            match client.read(&dn, &["1.1"]).end.code {
                Success => describe(&mut client, &dn, &step.to_string()),
                _ => client.must_add(&dn, &[("objectClass", &["applicationProcess"])]),
            }
            if next(5) > 0 {
                continue;
            }
            let filter = format!("(&(objectClass=applicationProcess)(entryUSN>={}))", seen + 1);
            let wanted = ["entryUSN", "description"];
            let found = client.search("dc=example", Scope::Subtree, &filter, &wanted);
            for (dn, _) in &found.entries {
                let usn = number(&mut client, dn, "entryUSN");
                let is_later = numbers.insert(dn.clone(), usn).is_none_or(|before| before < usn);
                assert!(is_later, "{dn} is brought when it was changed");
                copy.insert(dn.clone(), client.read(dn, &["description"]).values("description"));
                seen = seen.max(usn);
            }
            let all =
                client.search("dc=example", Scope::Subtree, "(objectClass=applicationProcess)", &["1.1"]);
            let directory: BTreeMap<String, Option<Vec<String>>> = all
                .dns()
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
                .into_iter()
                .map(|dn| (dn.clone(), client.read(&dn, &["description"]).values("description")))
                .collect();
            assert_eq!(copy, directory, "after {step} steps");
        }
    }
}
