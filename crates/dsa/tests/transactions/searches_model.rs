//! A search inside a transaction finds what a plain one would find if the transaction had been committed at that moment; all others
//! find what they found before.

use crate::common::*;
use crate::equivalence::*;
use crate::fixture::*;
use dsa::transaction::Choices;
use model::{ResultCode, Scope};
use proptest::prelude::*;
use proto::control::{Control, transaction_specification};

/// What is asked.
#[derive(Clone, Debug)]
enum Question {
    Search { base: String, scope: Scope, filter: &'static str, size_limit: i32 },
    Compare { dn: String, attribute: &'static str, value: &'static str },
}

const FILTERS: [&str; 18] = [
    "(objectClass=*)",
    "(sn=a)",
    "(!(sn=a))",
    "(uid=n1)",
    "(|(uid=n0)(uid=m1)(uid=n2))",
    "(numSubordinates=1)",
    "(numSubordinates=5)",
    "(hasSubordinates=TRUE)",
    "(!(hasSubordinates=TRUE))",
    "(entryDN=uid=n1,ou=people,dc=example)",
    "(entryDN=uid=m1,uid=n1,ou=people,dc=example)",
    "(uid:dn:=n1)",
    "(ou:dn:=people)",
    "(ou:dn:=folk)",
    "(description=*)",
    "(uidNumber>=1)",
    "(&(objectClass=posixAccount)(mail=*a*))",
    "(structuralObjectClass=inetOrgPerson)",
];

fn place() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("dc=example".to_owned()),
        3 => Just(BASE.to_owned()),
        1 => Just("ou=folk,dc=example".to_owned()),
        1 => Just("ou=groups,dc=example".to_owned()),
        5 => name(),
    ]
}

fn question() -> impl Strategy<Value = Question> {
    let scope =
        prop_oneof![Just(Scope::Base), Just(Scope::One), Just(Scope::Subtree), Just(Scope::Subordinates)];
    let limit = prop_oneof![3 => Just(0), 1 => 1..5];
    let compared = prop_oneof![
        Just(("sn", "a")),
        Just(("uid", "n1")),
        Just(("numSubordinates", "1")),
        Just(("hasSubordinates", "FALSE")),
        Just(("entryDN", "uid=n1,ou=people,dc=example")),
    ];
    prop_oneof![
        4 => (place(), scope, prop::sample::select(&FILTERS[..]), limit)
            .prop_map(|(base, scope, filter, size_limit)| Question::Search { base, scope, filter, size_limit }),
        1 => (place(), compared)
            .prop_map(|(dn, (attribute, value))| Question::Compare { dn, attribute, value }),
    ]
}

/// Updates that also rename what has others below it.
fn any_update() -> impl Strategy<Value = Update> {
    let whole = prop_oneof![
        Just(Update::Rename(BASE.to_owned(), "ou=folk".to_owned(), None)),
        Just(Update::Rename("ou=folk,dc=example".to_owned(), "ou=people".to_owned(), None)),
        Just(Update::Rename(
            BASE.to_owned(),
            "ou=people".to_owned(),
            Some("ou=groups,dc=example".to_owned())
        )),
        Just(Update::Rename(BASE.to_owned(), "ou=PEOPLE".to_owned(), None)),
    ];
    prop_oneof![20 => update(), 1 => whole]
}

/// Entries, in order of names, and the end. With a size limit it is not said which entries there are.
fn ask(
    client: &mut Client,
    question: &Question,
    controls: &[Control<'_>],
) -> (Vec<(String, Vec<Attribute>)>, Outcome) {
    let found = match question {
        Question::Search { base, scope, filter, size_limit } => {
            let attributes = [
                "*",
                "entryDN",
                "creatorsName",
                "modifiersName",
                "structuralObjectClass",
                "hasSubordinates",
                "numSubordinates",
            ];
            let size_limit = *size_limit;
            client.search_with(
                base,
                *scope,
                filter,
                &attributes,
                |search| search.size_limit = size_limit,
                controls,
            )
        }
        Question::Compare { dn, attribute, value } => client.compare_with(dn, attribute, value, controls),
    };
    assert!(found.references.is_empty());
    let mut entries = found.entries;
    entries.sort();
    entries.iter_mut().for_each(|(_, attributes)| attributes.sort());
    (entries, found.end)
}

fn same_answers(
    question: &Question,
    client: &mut Client,
    controls: &[Control<'_>],
    expected: &mut Client,
) -> Result<(), TestCaseError> {
    let (found, wanted) = (ask(client, question, controls), ask(expected, question, &[]));
    if let Question::Search { size_limit: 1.., base, scope, filter } = question {
        let unlimited = Question::Search { size_limit: 0, base: base.clone(), scope: *scope, filter };
        let all = ask(expected, &unlimited, &[]).0;
        prop_assert!(found.0.iter().all(|entry| all.contains(entry)), "{:?}", found);
        prop_assert_eq!((found.0.len(), found.1), (wanted.0.len(), wanted.1), "{:?}", question);
        return Ok(());
    }
    prop_assert_eq!(found, wanted, "{:?}", question);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn as_if_it_were_committed(
        before in prop::collection::vec(any_update(), 0..16),
        updates in prop::collection::vec(any_update(), 0..10),
        meanwhile in prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(any_update(), 1..4)],
        middle in prop::collection::vec(question(), 0..4),
        questions in prop::collection::vec(question(), 1..12),
        is_logged: bool,
    ) {
        let mut client = client(is_logged);
        let choices = Choices { search: true, ..Choices::default() };
        client.dsa.transactions().put(&choices, client.dsa.shard().schema()).expect("they are in order");
        before.iter().for_each(|update| { send(&mut client, update, None); });
        let mut other = client.another();
        let txn = client.start();
        let named = [transaction_specification::control(&txn)];
        let mut accepted: Vec<&Update> = Vec::new();
        for (at, update) in updates.iter().enumerate() {
            if send(&mut client, update, Some(&txn)).code == ResultCode::Success {
                accepted.push(update);
            }
            if at == updates.len() / 2 {
                let happened: Vec<&Update> = before.iter().chain(accepted.iter().copied()).collect();
                let (mut model, _) = one_by_one(&happened, 0);
                for question in &middle {
                    same_answers(question, &mut client, &named, &mut model)?;
                }
            }
        }
        meanwhile.iter().for_each(|update| { send(&mut other, update, None); });
        let happened: Vec<&Update> = before.iter().chain(&meanwhile).collect();
        let (mut plain, _) = one_by_one(&happened, 0);
        let all: Vec<&Update> = happened.iter().copied().chain(accepted.iter().copied()).collect();
        let (mut model, codes) = one_by_one(&all, accepted.len());
        let goes_well = codes.iter().all(|code| *code == ResultCode::Success);
        for question in &questions {
            same_answers(question, &mut other, &[], &mut plain)?;
            same_answers(question, &mut client, &[], &mut plain)?;
            match goes_well {
                true => same_answers(question, &mut client, &named, &mut model)?,
                false => prop_assert_eq!(ask(&mut client, question, &named).1.code, ResultCode::UnwillingToPerform),
            }
        }
        // The transaction did not notice.
        let end = client.commit(&txn);
        let committed = goes_well && accepted.len() == updates.len();
        prop_assert_eq!(end.code == ResultCode::Success, committed);
        for question in &questions {
            same_answers(question, &mut other, &[], if committed { &mut model } else { &mut plain })?;
        }
    }
}
