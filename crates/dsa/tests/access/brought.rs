//! Row X4: what updates bring besides their code, and what they assert, tells no value that may not be read; nor does a transaction.

use super::*;
use ResultCode::{AssertionFailed, InsufficientAccessRights, Success};
use proto::control::{assertion as asserting, read_entry, transaction_specification};
use proto::ext::end_transaction::{self, EndTransaction, EndTransactionResult};
use proto::ext::{password_modify, start_transaction};
use proto::op::ModifyKind::{Increment, Replace};

/// Ada writes what she may not read.
const RULES: [&str; 2] = [
    "write: all attrs=entry,description,employeeNumber,uidNumber; users; allow=write,remove",
    "hide: all attrs=employeeNumber,sn,uidNumber,gidNumber; users; deny=read,search,compare rank=1",
];

impl Client {
    fn commit(&mut self, identifier: &[u8]) -> Outcome {
        self.extended(end_transaction::OID, Some(&EndTransaction { commit: true, identifier }.encode()))
    }

    fn start(&mut self) -> Vec<u8> {
        self.extended(start_transaction::OID, None).value.expect("a transaction has an identifier")
    }
}

/// Names of the attributes that a response control brings.
fn names(found: &Found, oid: &[u8]) -> Vec<String> {
    found.brought(oid).expect("it was asked for").1.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn x4_reads_bring_nothing_hidden() {
    as_ada(&RULES, |mut client| {
        let mut root = client.root();
        let account: Given<'_> = &[
            ("objectClass", &["posixAccount"]),
            ("uidNumber", &["7"]),
            ("gidNumber", &["9"]),
            ("homeDirectory", &["/"]),
        ];
        let changes: Vec<_> =
            account.iter().map(|(name, values)| (proto::op::ModifyKind::Add, *name, *values)).collect();
        root.must_modify(BOB, &changes);
        let value = wanted(&["*", "employeeNumber", "uidNumber", "gidNumber", "sn", "name"]);
        let [pre, post] = [read_entry::PRE_OID, read_entry::POST_OID].map(|oid| control(oid, &value, true));
        let (dn, shown) = (BOB, ["cn", "homeDirectory", "mail", "objectClass", "uid"]);
        for change in [(Replace, "employeeNumber", &["77"][..]), (Increment, "uidNumber", &["1"])] {
            let found = client.modify_with(dn, &[change], &[pre, post]);
            assert_eq!(found.end.code, Success, "{}", found.end.text);
            for oid in [read_entry::PRE_OID, read_entry::POST_OID] {
                let mut names = names(&found, oid);
                names.sort();
                assert_eq!(names, shown);
            }
        }
        let txn = client.start();
        let member = transaction_specification::control(&txn);
        let change = (Increment, "uidNumber", &["1"][..]);
        assert_eq!(client.modify_with(dn, &[change], &[pre, post, member]).end.code, Success);
        let value = client.commit(&txn).value.expect("the updates bring controls");
        let brought = EndTransactionResult::decode(&value).expect("it is a value of the end").updates;
        let controls: Vec<&[u8]> = brought[0].1.iter().filter_map(|control| control.value).collect();
        let has = |value: &[u8], name: &[u8]| value.windows(name.len()).any(|part| part == name);
        assert_eq!(controls.len(), 2);
        for value in controls {
            let hidden = [&b"uidNumber"[..], b"gidNumber", b"employeeNumber", b"sn\x31"];
            assert!(has(value, b"homeDirectory") && !hidden.iter().any(|name| has(value, name)));
        }
        assert_eq!(root.read(dn, &["uidNumber"]).values("uidNumber"), Some(vec!["9".to_owned()]));
        let found = client.delete_with(dn, &[pre]);
        let mut names = names(&found, read_entry::PRE_OID);
        names.sort();
        assert_eq!((found.end.code, &names[..]), (Success, &shown.map(str::to_owned)[..]));
    });
}

/// A right guess, a wrong one, and one at what is not there have the same answers.
#[test]
fn x4_assertions_and_refusals_have_one_answer() {
    as_ada(&RULES, |mut client| {
        let change = [(Replace, "description", &["x"][..])];
        let mut seen: Vec<(Outcome, Outcome, Outcome, Outcome, Outcome)> = Vec::new();
        for guess in [
            "(employeeNumber=36)",
            "(employeeNumber=37)",
            "(!(employeeNumber=37))",
            "(employeeNumber=*)",
            "(uidNumber=1)",
        ] {
            let value = assertion(guess);
            let asserted = control(asserting::OID, &value, true);
            let alone = client.modify_with(ADA, &change, &[asserted]).end;
            let read = client.read_with(ADA, &[asserted]).end;
            let compared = client.compare_with(ADA, "cn", "Ada King", &[asserted]).end;
            let txn = client.start();
            let member = transaction_specification::control(&txn);
            let inside = client.modify_with(ADA, &change, &[asserted, member]).end;
            let id = client.last_id();
            let mut end = client.commit(&txn);
            // The update that failed is named by its own number, which is another each time.
            let culprit =
                end.value.take().map(|value| EndTransactionResult::decode(&value).expect("a value").culprit);
            assert!(culprit.is_none_or(|culprit| culprit == Some(id)));
            seen.push((alone, read, compared, inside, end));
        }
        assert!(seen.iter().all(|one| *one == seen[0]), "{seen:#?}");
        let codes = (seen[0].0.code, seen[0].1.code, seen[0].2.code);
        assert_eq!(codes, (InsufficientAccessRights, AssertionFailed, AssertionFailed));
        // What may not be incremented is refused before it is looked at.
        let increments = [ADA, BOB].map(|dn| client.modify(dn, &[(Increment, "gidNumber", &["1"])]));
        assert_eq!(increments[0].code, InsufficientAccessRights);
        assert_eq!(increments[0], increments[1]);
        // Nor is a password verified for those who may not set another.
        let changes =
            [("tail", Some("another1")), ("wrong", Some("another1")), ("tail", None), ("wrong", None)].map(
                |(old, new)| {
                    let request = password_modify::PasswordModify {
                        user: Some(BOB.as_bytes()),
                        old: Some(old.as_bytes()),
                        new: new.map(str::as_bytes),
                    };
                    client.extended(password_modify::OID, Some(&request.encode()))
                },
            );
        assert!(changes.iter().all(|one| *one == changes[0] && one.code != Success), "{changes:#?}");
    });
}
