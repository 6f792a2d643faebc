//! Constraints: what an update makes of an entry is judged with the updates before it, alone and in a transaction, live and when the log is applied
//! again.

use crate::common::journal::journaled_with;
use crate::common::*;
use crate::fixture::*;
use dsa::journal::Command;
use dsa::settings::Record;
use dsa::{Applier, Config};
use model::ResultCode::*;
use model::Scope;
use proto::control::no_op;
use proto::op::ModifyKind::{Add, Delete, Replace};
use store::{IndexKind, IndexSettings};

pub(crate) const PEOPLE: &str = "ou=people,dc=example";
pub(crate) const GROUPS: &str = "ou=groups,dc=example";
pub(crate) const GRACE: &str = "uid=grace,ou=people,dc=example";
pub(crate) const ATTRIBUTE: &str = "pandoConstraintsRule";
const MAILS: &str = "name=mails unique=mail";
pub(crate) const IN_PEOPLE: &str = "name=ids unique=\"mail,uid\" subtree=\"ou=people,dc=example\"";
/// What one refusal says: the constraint and the attribute, and nothing of the other entry.
const TAKEN: &str = "constraint mails: another entry has this value of mail";

pub(crate) fn with_index() -> Config {
    let mut config = config();
    let indexes = ["mail", "manager"].map(|name| IndexSettings::of(name, [IndexKind::Equality]));
    config.store.indexes.extend(indexes);
    config
}

/// The small tree, with an index on mail and these constraints.
pub(crate) fn constrained(is_logged: bool, rules: &[&str]) -> (Client, Log) {
    let (mut client, log) = match is_logged {
        true => journaled_with(with_index()),
        false => (Client::empty(with_index()), Log::default()),
    };
    client.plant();
    let outcome = client.modify("cn=config", &[(Replace, ATTRIBUTE, rules)]);
    assert_eq!(outcome.code, Success, "{}", outcome.text);
    (client, log)
}

pub(crate) fn person(client: &mut Client, dn: &str, mails: &[&str]) -> Outcome {
    let mut attributes = vec![("objectClass", &["inetOrgPerson"][..]), ("cn", &["x"]), ("sn", &["x"])];
    attributes.extend((!mails.is_empty()).then_some(("mail", mails)));
    client.add(dn, &attributes)
}

pub(crate) fn each_with(rules: &[&str], test: impl Fn(Client)) {
    [false, true].into_iter().for_each(|is_logged| test(constrained(is_logged, rules).0));
}

#[test]
fn a_value_of_another_entry_is_refused_by_every_update() {
    each_with(&[MAILS], |mut client| {
        let refused =
            |outcome: Outcome| assert_eq!((outcome.code, &outcome.text[..]), (ConstraintViolation, TAKEN));
        refused(person(&mut client, "uid=x,dc=example", &["new@h", "G@H"]));
        assert_eq!(person(&mut client, "uid=x,dc=example", &["x@h"]).code, Success);
        for changes in [
            &[(Replace, "mail", &["g@h"][..])][..],
            &[(Add, "mail", &["y@h", "g@h"])],
            &[(Delete, "mail", &["x@h"]), (Add, "mail", &["g@h"])],
        ] {
            refused(client.modify("uid=x,dc=example", changes));
        }
        assert_eq!(client.value("uid=x,dc=example", "mail").unwrap(), ["x@h"]);
        // Its own value is no other entry's, however it is spelled.
        assert_eq!(client.modify(GRACE, &[(Replace, "mail", &["G@H", "h@h"])]).code, Success);
        // What is given up is free.
        assert_eq!(client.modify(GRACE, &[(Delete, "mail", &["g@h"])]).code, Success);
        assert_eq!(client.modify("uid=x,dc=example", &[(Replace, "mail", &["g@h"])]).code, Success);
        assert_eq!(client.delete("uid=x,dc=example").code, Success);
        assert_eq!(client.modify(GRACE, &[(Add, "mail", &["g@h"])]).code, Success);
        // The one who only asks is answered the same.
        let given: Given<'_> =
            &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"]), ("mail", &["g@h"])];
        refused(client.add_with("uid=y,dc=example", given, &[control_without_value(no_op::OID)]).end);
    });
}

fn control_without_value(oid: &[u8]) -> proto::control::Control<'_> {
    proto::control::Control { oid, critical: true, value: None }
}

#[test]
fn attributes_of_one_constraint_share_their_values_and_others_lie_outside_of_its_subtree() {
    each_with(&[IN_PEOPLE], |mut client| {
        assert_eq!(person(&mut client, &format!("uid=n,{PEOPLE}"), &["grace"]).code, ConstraintViolation);
        assert_eq!(person(&mut client, &format!("uid=n,{GROUPS}"), &["grace", "g@h"]).code, Success);
        assert_eq!(person(&mut client, &format!("uid=ada,{GROUPS}"), &[]).code, Success);
        // What was free outside is not where it comes to.
        let moved = client.rename(&format!("uid=n,{GROUPS}"), "uid=n", false, Some(PEOPLE));
        assert_eq!(moved.code, ConstraintViolation, "{}", moved.text);
        assert_eq!(client.modify(&format!("uid=n,{GROUPS}"), &[(Replace, "mail", &["n@h"])]).code, Success);
        assert_eq!(client.rename(&format!("uid=n,{GROUPS}"), "uid=n", false, Some(PEOPLE)).code, Success);
        // Its RDN is a value like others.
        assert_eq!(
            client.rename(&format!("uid=n,{PEOPLE}"), "uid=g@h", false, None).code,
            ConstraintViolation
        );
        assert_eq!(client.rename(&format!("uid=n,{PEOPLE}"), "uid=m", false, None).code, Success);
        // Entries that nobody judges come in by no rename.
        assert_eq!(
            client.add("ou=x,ou=groups,dc=example", &[("objectClass", &["organizationalUnit"])]).code,
            Success
        );
        assert_eq!(person(&mut client, &format!("uid=o,ou=x,{GROUPS}"), &["g@h"]).code, Success);
        assert_eq!(
            client.rename(&format!("ou=x,{GROUPS}"), "ou=x", false, Some(PEOPLE)).code,
            ConstraintViolation
        );
        assert_eq!(client.rename(GROUPS, "ou=people", true, None).code, UnwillingToPerform);
    });
}

/// The base of a subtree stays where it is: without it the constraint is about nothing, and it could not come back.
#[test]
fn the_base_of_a_subtree_is_renamed_neither_away_nor_back() {
    let deep = "name=deep values=l max-count=1 subtree=\"ou=deep,ou=unit,dc=example\"";
    for is_logged in [false, true] {
        let (mut client, log) = constrained(is_logged, &[IN_PEOPLE, deep]);
        let text = "constraint ids: the base of its subtree cannot be renamed, nor an entry above it";
        let txn = client.start();
        let in_txn = client.rename_in(&txn, PEOPLE, "ou=staff", None);
        client.settle(&txn, false);
        let moved = client.rename(PEOPLE, "ou=people", true, Some(GROUPS));
        for refused in [client.rename(PEOPLE, "ou=staff", true, None), in_txn, moved] {
            assert_eq!((refused.code, &refused.text[..]), (UnwillingToPerform, text));
        }
        // Another spelling is the same name.
        for spelled in ["ou=People", "OU=PEOPLE", "ou=people"] {
            let renamed = client.rename(PEOPLE, spelled, true, None);
            assert_eq!(renamed.code, Success, "{}", renamed.text);
        }
        assert_eq!(person(&mut client, &format!("uid=n,{PEOPLE}"), &["grace"]).code, ConstraintViolation);
        // What lies above the base stays as well, from the time on when there is one.
        let unit: Given<'_> = &[("objectClass", &["organizationalUnit"])];
        client.must_add("ou=other,dc=example", unit);
        assert_eq!(client.rename("ou=other,dc=example", "ou=x", true, None).code, Success);
        client.must_add("ou=unit,dc=example", unit);
        assert_eq!(client.rename("ou=unit,dc=example", "ou=y", true, None).code, Success);
        client.must_add("ou=unit,dc=example", unit);
        client.must_add("ou=deep,ou=unit,dc=example", unit);
        let refused = client.rename("ou=unit,dc=example", "ou=z", true, None);
        assert_eq!((refused.code, refused.text.contains("constraint deep: ")), (UnwillingToPerform, true));
        let all = |client: &mut Client| {
            client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]).entries
        };
        if is_logged {
            let mut again = again(&log, with_index(), &[IN_PEOPLE, deep]);
            assert_eq!(all(&mut client), all(&mut again), "applied again");
        }
    }
}

#[test]
fn what_comes_into_force_holds_for_all_entries() {
    for is_logged in [false, true] {
        let (mut client, _) = constrained(is_logged, &[]);
        let set = |client: &mut Client, rule: &str| {
            let outcome = client.modify("cn=config", &[(Replace, ATTRIBUTE, &[rule])]);
            (outcome.code, outcome.text)
        };
        assert_eq!(person(&mut client, "uid=x,dc=example", &["G@h"]).code, Success);
        let (code, text) = set(&mut client, MAILS);
        assert_eq!(code, ConstraintViolation);
        assert!(text.contains("uid=grace,ou=people") && text.contains("uid=x,dc=example"), "{text}");
        assert!(client.value("cn=config", ATTRIBUTE).is_none());
        // In the subtree there is one.
        assert_eq!(set(&mut client, IN_PEOPLE).0, Success);
        for (rule, said) in [
            ("name=a unique=cn", "needs the index `cn:eq`"),
            ("name=a unique=nonsense", "has no `nonsense`"),
            ("name=a unique=entryUUID", "the server keeps"),
            ("name=a unique=jpegPhoto", "no equality rule"),
            ("name=a unique=attributeTypes", "by their first component"),
            ("unique=mail", "`name` is needed"),
            ("name=a values=mail min-count=3 max-count=2", "a: `min-count` 3 is more than `max-count` 2"),
        ] {
            let (code, text) = set(&mut client, rule);
            assert_eq!(code, ConstraintViolation, "{rule}");
            assert!(text.contains(said), "{rule}: {text}");
        }
        assert_eq!(client.value("cn=config", ATTRIBUTE).unwrap(), [IN_PEOPLE]);
        let dropped = client.modify("cn=config", &[(Delete, "olcDbIndex", &["mail:eq"])]);
        assert_eq!((dropped.code, &dropped.text[..]), (UnwillingToPerform, "constraint ids needs the index"));
        assert_eq!(client.modify("cn=config", &[(Delete, ATTRIBUTE, &[])]).code, Success);
        assert_eq!(person(&mut client, &format!("uid=y,{PEOPLE}"), &["g@h"]).code, Success);
    }
}

#[test]
fn a_transaction_is_judged_with_its_own_updates() {
    each_with(&[MAILS], |mut client| {
        let txn = client.start();
        let given = |mail: &'static [&'static str]| -> Vec<(&str, &[&str])> {
            vec![("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"]), ("mail", mail)]
        };
        assert_eq!(client.add_in(&txn, "uid=x,dc=example", &given(&["x@h"])).code, Success);
        let refused = client.add_in(&txn, "uid=y,dc=example", &given(&["X@h"]));
        assert_eq!((refused.code, &refused.text[..]), (ConstraintViolation, TAKEN));
        assert_eq!(client.settle(&txn, false).code, Success);
        // A value goes from one entry to another if it is given up first.
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, GRACE, &[(Delete, "mail", &[])]).code, Success);
        assert_eq!(client.add_in(&txn, "uid=x,dc=example", &given(&["g@h"])).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        // What another client does meanwhile counts at the commit.
        let txn = client.start();
        assert_eq!(client.add_in(&txn, "uid=y,dc=example", &given(&["y@h"])).code, Success);
        let mut other = client.another();
        assert_eq!(other.modify(GRACE, &[(Replace, "mail", &["y@h"])]).code, Success);
        let end = client.commit(&txn);
        assert_eq!(end.code, ConstraintViolation, "{}", end.text);
        assert!(client.read("uid=y,dc=example", &["cn"]).entries.is_empty());
    });
}

/// Of a set so big that a transaction copies some values alone, nothing is lost, and what it takes away is free.
#[test]
fn a_transaction_gives_up_what_an_entry_with_a_big_set_has() {
    each_with(&[MAILS], |mut client| {
        let big = "cn=big,dc=example";
        let members: Vec<String> = (0..1100).map(|number| format!("cn=m{number}")).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let mails: Vec<String> = (0..1100).map(|number| format!("m{number}@h")).collect();
        let mails: Vec<&str> = mails.iter().map(String::as_str).collect();
        let given = |mail: &'static str| -> Vec<(&str, &[&str])> {
            let mail: &'static [&'static str] = Box::leak(Box::new([mail]));
            vec![("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"]), ("mail", mail)]
        };
        let group: Vec<(&str, &[&str])> = vec![
            ("objectClass", &["groupOfNames", "extensibleObject"]),
            ("member", &members),
            ("mail", &mails),
        ];
        client.must_add(big, &group);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, big, &[(Delete, "mail", &["m7@h"])]).code, Success);
        assert_eq!(client.add_in(&txn, "uid=x,dc=example", &given("m7@h")).code, Success);
        let refused = client.add_in(&txn, "uid=y,dc=example", &given("m1099@h"));
        assert_eq!((refused.code, &refused.text[..]), (ConstraintViolation, TAKEN), "it has that still");
        client.settle(&txn, false);
        for changes in [&[(Delete, "mail", &[][..])][..], &[(Replace, "mail", &["other@h"])]] {
            let txn = client.start();
            assert_eq!(client.modify_in(&txn, big, changes).code, Success);
            let added = client.add_in(&txn, "uid=x,dc=example", &given("m1099@h"));
            assert_eq!(added.code, Success, "{}", added.text);
            client.settle(&txn, false);
        }
        let txn = client.start();
        assert_eq!(client.delete_in(&txn, big).code, Success);
        assert_eq!(client.add_in(&txn, "uid=x,dc=example", &given("m1099@h")).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
    });
}

/// Which entries are in the subtree is known by what the transaction has renamed so far.
#[test]
fn a_transaction_is_judged_by_the_names_that_it_gives() {
    let given: Given<'_> =
        &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"]), ("mail", &["o@h"])];
    each_with(&[IN_PEOPLE], |mut client| {
        let unit =
            |client: &mut Client, dn: &str| client.must_add(dn, &[("objectClass", &["organizationalUnit"])]);
        unit(&mut client, &format!("ou=x,{PEOPLE}"));
        client.must_add(&format!("uid=o,ou=x,{PEOPLE}"), given);
        // An entry that no update names has left the subtree with its superior.
        let txn = client.start();
        let taken = client.add_in(&txn, &format!("uid=p,{PEOPLE}"), given);
        assert_eq!(taken.code, ConstraintViolation);
        assert_eq!(client.settle(&txn, false).code, Success);
        let txn = client.start();
        assert_eq!(client.rename_in(&txn, &format!("ou=x,{PEOPLE}"), "ou=x", Some(GROUPS)).code, Success);
        let added = client.add_in(&txn, &format!("uid=p,{PEOPLE}"), given);
        assert_eq!(added.code, Success, "{}", added.text);
        // It comes back once nothing is below it.
        assert_eq!(client.delete_in(&txn, &format!("uid=o,ou=x,{GROUPS}")).code, Success);
        let back = client.rename_in(&txn, &format!("ou=x,{GROUPS}"), "ou=x", Some(PEOPLE));
        assert_eq!(back.code, Success, "{}", back.text);
        assert_eq!(client.commit(&txn).code, Success);
    });
}

/// An update that was prepared before the constraint came into force is judged by it.
#[test]
fn what_was_prepared_before_is_judged() {
    each_with(&[], |mut client| {
        let txn = client.start();
        assert_eq!(person(&mut client, "uid=x,dc=example", &["x@h"]).code, Success);
        assert_eq!(client.modify_in(&txn, "uid=x,dc=example", &[(Replace, "mail", &["g@h"])]).code, Success);
        let mut other = client.another();
        assert_eq!(other.modify("cn=config", &[(Replace, ATTRIBUTE, &[MAILS])]).code, Success);
        assert_eq!(client.commit(&txn).code, ConstraintViolation);
    });
}

const COUNTER: &str = "cn=ids,dc=example";
const IDS: &str = "name=ids sequence=uidNumber counter=\"cn=ids,dc=example\" next=serialNumber class=posixAccount \
                   subtree=\"ou=people,dc=example\"";
const ACCOUNT: Given<'_> = &[
    ("objectClass", &["account", "posixAccount"]),
    ("cn", &["x"]),
    ("gidNumber", &["1"]),
    ("homeDirectory", &["/"]),
];

/// As [`constrained`], with a counter that stands at 1000 and an index on uidNumber.
fn numbered(is_logged: bool) -> (Client, Log) {
    let mut config = with_index();
    config.store.indexes.push(IndexSettings::of("uidNumber", [IndexKind::Equality]));
    let (mut client, log) = match is_logged {
        true => journaled_with(config),
        false => (Client::empty(config), Log::default()),
    };
    client.plant();
    let set = [(Replace, ATTRIBUTE, &[IDS][..])];
    let refused = client.modify("cn=config", &set);
    assert_eq!(refused.code, ConstraintViolation);
    assert!(refused.text.contains("needs a number in `serialNumber`"), "{}", refused.text);
    client.must_add(COUNTER, &[("objectClass", &["device"]), ("serialNumber", &["1000"])]);
    assert_eq!(client.modify("cn=config", &set).code, Success);
    (client, log)
}

#[test]
fn entries_that_are_added_get_the_next_number_once() {
    for is_logged in [false, true] {
        let (mut client, log) = numbered(is_logged);
        let dn = |n: u32| format!("uid=a{n},{PEOPLE}");
        let number = |client: &mut Client, n: u32| client.value(&dn(n), "uidNumber").unwrap().remove(0);
        client.must_add(&dn(1), ACCOUNT);
        assert_eq!(number(&mut client, 1), "1000");
        // One that the client gives is taken, and passed over.
        client.must_add(&dn(2), &[ACCOUNT, &[("uidNumber", &["1001"][..])]].concat());
        client.must_add(&dn(3), ACCOUNT);
        assert_eq!(number(&mut client, 3), "1002");
        // What was given is not given again, though it is free; what is refused takes none.
        assert_eq!(client.delete(&dn(3)).code, Success);
        assert_eq!(client.add(&dn(1), ACCOUNT).code, EntryAlreadyExists);
        assert_eq!(client.add(&dn(4), &ACCOUNT[..3]).code, ObjectClassViolation);
        let txn = client.start();
        for n in [5, 6] {
            assert_eq!(client.add_in(&txn, &dn(n), ACCOUNT).code, Success);
        }
        let mut other = client.another();
        other.must_add(&dn(7), ACCOUNT);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!([7, 5, 6].map(|n| number(&mut client, n)), ["1003", "1004", "1005"]);
        assert_eq!(client.value(COUNTER, "serialNumber").unwrap(), ["1006"]);
        // Others get none.
        assert_eq!(person(&mut client, &dn(8), &[]).code, Success);
        assert_eq!(client.add(&format!("uid=a9,{GROUPS}"), ACCOUNT).code, ObjectClassViolation);
        assert_eq!(client.delete(COUNTER).code, Success);
        let refused = client.add(&dn(9), ACCOUNT);
        assert_eq!(
            (refused.code, &refused.text[..]),
            (ConstraintViolation, "constraint ids: its counter has no number")
        );
        // What it has instead is said.
        client.must_add(COUNTER, &[("objectClass", &["device"])]);
        for (values, said) in [
            (&["10 11"][..], "has a value that is not digits alone"),
            (&["a", "b"], "has several values: it needs one, of digits alone"),
            (&["18446744073709551616"], "has a number that is too large: set it to a smaller one"),
            (&["9223372036854775807"], "has a number that is too large: set it to a smaller one"),
        ] {
            assert_eq!(client.modify(COUNTER, &[(Replace, "serialNumber", values)]).code, Success);
            let refused = client.add(&dn(9), ACCOUNT);
            let text = format!("constraint ids: its counter {said}");
            assert_eq!((refused.code, refused.text), (ConstraintViolation, text));
        }
        if is_logged {
            let all = |client: &mut Client| {
                client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]).entries
            };
            assert_eq!(all(&mut client), all(&mut again(&log, config(), &[IDS])), "applied again");
        }
    }
}

/// What the updates of a transaction are judged by is what they come to, whatever else it does to the numbers.
#[test]
fn numbers_of_a_transaction_are_those_that_it_was_judged_with() {
    type Numbered = fn(&mut Client, &[u8]);
    let given: Numbered = |client, txn| {
        let with = [ACCOUNT, &[("uidNumber", &["1000"][..])]].concat();
        assert_eq!(client.add_in(txn, &format!("uid=a1,{PEOPLE}"), &with).code, Success);
        let second = format!("uid=a2,{PEOPLE}");
        assert_eq!(client.add_in(txn, &second, ACCOUNT).code, Success);
        // The number is not the one that the first has given itself.
        let other = [(Delete, "uidNumber", &["1000"][..]), (Add, "uidNumber", &["5"])];
        assert_eq!(client.modify_in(txn, &second, &other).code, NoSuchAttribute);
    };
    let counter_renamed: Numbered = |client, txn| {
        assert_eq!(client.rename_in(txn, COUNTER, "cn=ids2", None).code, Success);
        client.add_in(txn, &format!("uid=a1,{PEOPLE}"), ACCOUNT);
    };
    let base_renamed: Numbered = |client, txn| {
        assert_eq!(client.rename_in(txn, PEOPLE, "ou=staff", None).code, Success);
        client.add_in(txn, "uid=a1,ou=staff,dc=example", ACCOUNT);
    };
    for updates in [given, counter_renamed, base_renamed] {
        for is_logged in [false, true] {
            let (mut client, log) = numbered(is_logged);
            let txn = client.start();
            updates(&mut client, &txn);
            // Whatever the outcome is: it is one, and the same when the log is applied again.
            client.commit(&txn);
            let all = |client: &mut Client| {
                client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]).entries
            };
            if is_logged {
                assert_eq!(all(&mut client), all(&mut again(&log, config(), &[IDS])), "applied again");
            }
        }
    }
}

/// A counter far behind what is taken is refused, and not searched through with each add.
#[test]
fn a_counter_passes_over_so_many_numbers_at_a_time() {
    let (mut client, _) = numbered(false);
    for n in 0..300 {
        let number = (1000 + n).to_string();
        let number = [&number[..]];
        let with = [ACCOUNT, &[("uidNumber", &number[..])]].concat();
        client.must_add(&format!("uid=b{n},{GROUPS}"), &with);
    }
    let refused = client.add(&format!("uid=a1,{PEOPLE}"), ACCOUNT);
    assert_eq!(refused.code, ConstraintViolation);
    assert!(refused.text.contains("numbers from 1000 on are taken"), "{}", refused.text);
    assert_eq!(client.modify(COUNTER, &[(Replace, "serialNumber", &["1250"])]).code, Success);
    client.must_add(&format!("uid=a1,{PEOPLE}"), ACCOUNT);
    assert_eq!(client.value(&format!("uid=a1,{PEOPLE}"), "uidNumber").unwrap(), ["1300"]);
}

/// A number that another constraint does not take is passed over as well, and a counter is not named by its number.
#[test]
fn a_sequence_and_the_other_constraints_fit_together() {
    let (mut client, _) = numbered(false);
    let both = "name=all unique=\"uidNumber,gidNumber\"";
    let named = IDS.replace(COUNTER, "serialNumber=1,dc=example");
    let outcome = client.modify("cn=config", &[(Replace, ATTRIBUTE, &[&named])]);
    assert!(outcome.text.contains("named by `serialNumber`"), "{}", outcome.text);
    let outcome = client.modify("cn=config", &[(Replace, ATTRIBUTE, &[IDS, both])]);
    assert!(outcome.text.contains("index"), "{}", outcome.text);
}

/// A directory to which a log was applied again, the settings in their place.
pub(crate) fn again(log: &Log, config: Config, rules: &[&str]) -> Client {
    let mut client = Client::empty(config);
    let mut applier = Applier::new(&client.dsa).expect("there are few readers");
    applier.behave(dsa::behaviour::NEWEST);
    for (record, before) in &*log.lock().expect("nobody panicked") {
        if record.starts_with(b"Record") {
            let mut settings = Record::default();
            settings
                .values
                .insert("constraints.rule".to_owned(), rules.iter().map(|rule| (*rule).to_owned()).collect());
            applier.constrain(&settings);
            continue;
        }
        let (command, mut answered) = (Command::decode(record).expect("it was encoded"), Vec::new());
        applier.apply(&command, &mut answered).expect("it was applied before");
        if !command.is_transaction {
            assert_eq!(answers(&answered), answers(before));
        }
    }
    client.bind_root();
    client
}
