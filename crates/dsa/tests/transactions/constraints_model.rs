//! Constraints against a naive model: a directory without any, in which an update that violates one is taken back.

use crate::common::*;
use crate::constraints::*;
use crate::equivalence::{Update, send};
use model::ResultCode::{self, *};
use model::Scope;
use proptest::prelude::*;
use proto::op::ModifyKind::{self, Delete, Replace};
use std::collections::BTreeMap;

pub(crate) const STAFF: &str = "ou=staff,dc=example";
/// Entries with others below them.
const BELOW: [&str; 2] = ["uid=c,ou=people,dc=example", "uid=c,ou=groups,dc=example"];

/// Constraints, and what they say in the simplest words.
struct Naive {
    rules: &'static [&'static str],
    /// What happens before they are in force.
    begin: fn(&mut Client),
    /// What is to be known of the time before an update.
    look: fn(&mut Client, &Update) -> Seen,
    is_violated: fn(&mut Client, &Update, &Seen) -> bool,
}

/// Values of the entry that an update names, if it is one of people, and those that a list has.
#[derive(Default)]
struct Seen {
    mails: Option<Vec<String>>,
    list: Vec<String>,
}

const UNIQUE: Naive = Naive {
    rules: &[IN_PEOPLE],
    begin: |_| {},
    look: |_, _| Seen::default(),
    is_violated: |client, _, _| are_shared(client),
};

const FORM: &str =
    "name=form values=mail regex=\"[0-9]$|^[a-z]+$\" max-count=2 max-size=2 subtree=\"ou=people,dc=example\"";
const LIST: &str = "name=list values=mail url=\"ldap:///ou=groups,dc=example?uid?one?(!(sn=b1))\" subtree=\"ou=people,dc=example\"";

const VALUES: Naive = Naive {
    rules: &[FORM, LIST],
    begin: |client| {
        assert_eq!(client.modify(GRACE, &[(Delete, "mail", &[])]).code, Success);
    },
    look: |client, update| {
        let (dn, _) = names(update);
        let listed = client.search(GROUPS, Scope::One, "(!(sn=b1))", &["uid"]).entries;
        let list = values_of(&listed).map(|value| value.to_ascii_lowercase()).collect();
        Seen { mails: mails(client, &dn), list }
    },
    is_violated: |client, update, before| {
        let (_, dn) = names(update);
        let Some(now) = mails(client, &dn) else { return false };
        let was = before.mails.clone().unwrap_or_default();
        let is_bad = |value: &String| {
            let last = value.chars().last().unwrap_or_default();
            let is_form = last.is_ascii_digit() || value.chars().all(|c| c.is_ascii_lowercase());
            !is_form || value.len() > 2 || !before.list.contains(&value.to_ascii_lowercase())
        };
        let is_touched = before.mails.is_none() || matches!(update, Update::Modify(_, _, "mail", _));
        now.iter().any(|value| !was.contains(value) && is_bad(value)) || (is_touched && now.len() > 2)
    },
};

/// The name of an entry before an update and after it.
pub(crate) fn names(update: &Update) -> (String, String) {
    match update {
        Update::Rename(dn, rdn, above) => {
            let superior = above.as_deref().or(dn.split_once(',').map(|(_, superior)| superior));
            (dn.clone(), format!("{rdn},{}", superior.unwrap_or_default()))
        }
        Update::Add(dn) | Update::Delete(dn) | Update::Modify(dn, ..) | Update::Guarded(dn, ..) => {
            (dn.clone(), dn.clone())
        }
    }
}

fn values_of(entries: &[(String, Vec<Attribute>)]) -> impl Iterator<Item = String> {
    let attributes = entries.iter().flat_map(|(_, attributes)| attributes);
    attributes.flat_map(|(_, values)| values).map(|value| String::from_utf8_lossy(value).into_owned())
}

/// The mail addresses of one of the people; `None` of any other entry.
fn mails(client: &mut Client, dn: &str) -> Option<Vec<String>> {
    let found = client.read(dn, &["mail"]).entries;
    (dn.ends_with(PEOPLE) && !found.is_empty()).then(|| values_of(&found).collect())
}

pub(crate) fn place() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(PEOPLE), 1 => Just(GROUPS), 1 => Just(BELOW[0]), 1 => Just(BELOW[1]), 1 => Just(STAFF)]
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0..4, place()).prop_map(|(n, place)| format!("uid=n{n},{place}")),
        1 => (0..2usize).prop_map(|n| BELOW[n].to_owned()),
    ]
}

fn update() -> impl Strategy<Value = Update> {
    let kind = prop_oneof![2 => Just(Replace), 2 => Just(ModifyKind::Add), 1 => Just(Delete)];
    let attribute = prop_oneof![3 => Just("mail"), 1 => Just("uid"), 1 => Just("sn")];
    let values = prop::collection::vec("[abAn][0-2]?", 0..3);
    prop_oneof![
        4 => name().prop_map(Update::Add),
        6 => (name(), kind, attribute, values).prop_map(|(dn, kind, at, values)| Update::Modify(dn, kind, at, values)),
        2 => name().prop_map(Update::Delete),
        3 => (name(), "n[0-4]|a|b|c", prop::option::of(place()))
            .prop_map(|(dn, uid, above)| Update::Rename(dn, format!("uid={uid}"), above.map(str::to_owned))),
        1 => prop_oneof![Just((PEOPLE, "ou=staff")), Just((STAFF, "ou=people"))]
            .prop_map(|(dn, to)| Update::Rename(dn.to_owned(), to.to_owned(), None)),
    ]
}

/// What a turn is: updates in a transaction, or one by one; and what another client does before they end.
#[derive(Clone, Debug)]
struct Turn {
    updates: Vec<Update>,
    meanwhile: Vec<Update>,
    is_transaction: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let some = |n| prop::collection::vec(update(), 0..n);
    (some(6), prop_oneof![Just(vec![]).boxed(), some(3).boxed()], any::<bool>())
        .prop_map(|(updates, meanwhile, is_transaction)| Turn { updates, meanwhile, is_transaction })
}

/// Have two entries below people the same value, whatever the attribute and the case?
fn are_shared(client: &mut Client) -> bool {
    let entries = client.search(PEOPLE, Scope::Subtree, "(objectClass=*)", &["mail", "uid"]).entries;
    let mut owners: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    entries.iter().enumerate().any(|(at, (_, attributes))| {
        let mut values = attributes.iter().flat_map(|(_, values)| values);
        values.any(|value| *owners.entry(value.to_ascii_lowercase()).or_insert(at) != at)
    })
}

/// Of a rename: does it lead to the base of the subtree or away from it, and from outside into the subtree?
fn leads(update: &Update) -> Option<(bool, bool)> {
    let Update::Rename(..) = update else { return None };
    let (dn, to) = names(update);
    Some((to == PEOPLE || dn == PEOPLE, to.ends_with(PEOPLE) && !dn.ends_with(PEOPLE)))
}

/// The model: what is violated is taken back by making the directory anew.
fn modelled(naive: &Naive, happened: &[&Update], updates: &[&Update]) -> Vec<ResultCode> {
    let build = |accepted: &[&Update]| {
        let mut client = Client::with(with_index());
        (naive.begin)(&mut client);
        accepted.iter().for_each(|update| _ = send(&mut client, update, None));
        client
    };
    let mut accepted = happened.to_vec();
    let mut client = build(&accepted);
    let mut codes = Vec::new();
    for update in updates {
        let (is_of_base, comes_in) = leads(update).unwrap_or_default();
        if is_of_base {
            codes.push(UnwillingToPerform);
            continue;
        }
        let has_subordinates = |dn: &str, client: &mut Client| {
            !client.search(dn, Scope::One, "(cn=*)", &["1.1"]).entries.is_empty()
        };
        let brings =
            matches!(update, Update::Rename(dn, ..) if comes_in && has_subordinates(dn, &mut client));
        let before = (naive.look)(&mut client, update);
        let code = send(&mut client, update, None).code;
        codes.push(match code == Success && (brings || (naive.is_violated)(&mut client, update, &before)) {
            true => {
                client = build(&accepted);
                ConstraintViolation
            }
            false => code,
        });
        if codes.last() == Some(&Success) {
            accepted.push(update);
        }
    }
    codes
}

pub(crate) fn note<'u>(happened: &mut Vec<&'u Update>, updates: &[&'u Update], codes: &[ResultCode]) {
    let done = updates.iter().zip(codes).filter(|(_, code)| **code == Success);
    happened.extend(done.map(|(update, _)| *update));
}

/// Compares the updates of two clients with the model, and applies the log again.
fn compare(naive: &Naive, turns: &[Turn], is_logged: bool) -> Result<(), TestCaseError> {
    let (mut client, log) = constrained(is_logged, &[]);
    (naive.begin)(&mut client);
    prop_assert_eq!(client.modify("cn=config", &[(Replace, ATTRIBUTE, naive.rules)]).code, Success);
    let mut other = client.another();
    let mut happened: Vec<&Update> = Vec::new();
    for Turn { updates, meanwhile, is_transaction } in turns {
        let wanted: Vec<&Update> = updates.iter().collect();
        let txn = is_transaction.then(|| client.start());
        let expected = modelled(naive, &happened, &wanted);
        let codes: Vec<ResultCode> =
            wanted.iter().map(|update| send(&mut client, update, txn.as_deref()).code).collect();
        // One that is refused ends a transaction.
        let ends =
            |codes: &[ResultCode]| codes.iter().position(|code| *code != Success).filter(|_| *is_transaction);
        let judged = ends(&expected).map_or(expected.len(), |at| at + 1);
        prop_assert_eq!(&codes[..judged], &expected[..judged], "{:?}", updates);
        if !is_transaction {
            note(&mut happened, &wanted, &codes);
        }
        let others: Vec<&Update> = meanwhile.iter().collect();
        let expected_of_others = modelled(naive, &happened, &others);
        let codes_of_others: Vec<ResultCode> =
            others.iter().map(|update| send(&mut other, update, None).code).collect();
        prop_assert_eq!(&codes_of_others, &expected_of_others, "{:?}", meanwhile);
        note(&mut happened, &others, &codes_of_others);
        if let Some(txn) = txn {
            let at_end = modelled(naive, &happened, &wanted);
            let failed = [&expected, &at_end].into_iter().find_map(|codes| ends(codes).map(|at| codes[at]));
            prop_assert_eq!(client.commit(&txn).code, failed.unwrap_or(Success), "{:?}", updates);
            if failed.is_none() {
                note(&mut happened, &wanted, &at_end);
            }
        }
    }
    if is_logged {
        let all = |client: &mut Client| {
            client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]).entries
        };
        prop_assert_eq!(all(&mut client), all(&mut again(&log, with_index(), naive.rules)), "applied again");
        // Without its index a replay comes to the same.
        prop_assert_eq!(all(&mut client), all(&mut again(&log, config(), naive.rules)), "applied again");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn values_are_unique_whatever_happens(turns in prop::collection::vec(turn(), 1..6), is_logged: bool) {
        compare(&UNIQUE, &turns, is_logged)?;
    }

    #[test]
    fn values_are_as_they_must_be_whatever_happens(turns in prop::collection::vec(turn(), 1..6), is_logged: bool) {
        compare(&VALUES, &turns, is_logged)?;
    }
}
