//! What a transaction does is what its updates do one after the other, or nothing, whatever others did meanwhile.

use crate::common::*;
use crate::fixture::*;
use model::ResultCode;
use model::Scope;
use proptest::prelude::*;
use proto::Request;
use proto::control::{Control, assertion, transaction_specification};
use proto::list::Attributes;
use proto::op::modify::Changes;
use proto::op::{Add, Modify, ModifyDn, ModifyKind};

pub(crate) const BASE: &str = "ou=people,dc=example";

#[derive(Clone, Debug)]
pub(crate) enum Update {
    Add(String),
    Modify(String, ModifyKind, &'static str, Vec<String>),
    Guarded(String, String, String),
    Delete(String),
    Rename(String, String, Option<String>),
}

/// What one client does in a row, and what another does before the first ends.
#[derive(Clone, Debug)]
struct Turn {
    updates: Vec<Update>,
    meanwhile: Vec<Update>,
    commits: bool,
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..5).prop_map(|n| format!("uid=n{n},{BASE}")),
        2 => (0..3, 0..3).prop_map(|(n, m)| format!("uid=m{m},uid=n{n},{BASE}")),
    ]
}

pub(crate) fn update() -> impl Strategy<Value = Update> {
    let kind = prop_oneof![
        3 => Just(ModifyKind::Replace), 2 => Just(ModifyKind::Add), 2 => Just(ModifyKind::Delete),
        1 => Just(ModifyKind::Increment)
    ];
    let attribute =
        prop_oneof![Just("sn"), Just("description"), Just("mail"), Just("uidNumber"), Just("uid")];
    let values = prop::collection::vec("[a-c1-2]{1,2}", 0..3);
    prop_oneof![
        4 => name().prop_map(Update::Add),
        6 => (name(), kind, attribute, values).prop_map(|(dn, kind, at, values)| Update::Modify(dn, kind, at, values)),
        3 => (name(), "[a-b]{1}", "[a-b]{1}").prop_map(|(dn, was, to)| Update::Guarded(dn, was, to)),
        3 => name().prop_map(Update::Delete),
        2 => (name(), (0..5), prop::option::of(name()))
            .prop_map(|(dn, n, above)| Update::Rename(dn, format!("uid=n{n}"), above)),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let meanwhile = prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(update(), 1..4)];
    (prop::collection::vec(update(), 0..8), meanwhile, prop::bool::weighted(0.8))
        .prop_map(|(updates, meanwhile, commits)| Turn { updates, meanwhile, commits })
}

/// Applies an update, in a transaction if one is named.
pub(crate) fn send(client: &mut Client, update: &Update, named: Option<&[u8]>) -> Outcome {
    let mut controls: Vec<Control<'_>> = named.map(transaction_specification::control).into_iter().collect();
    match update {
        Update::Add(dn) => {
            let list = attributes_of(&[
                ("objectClass", &["inetOrgPerson", "posixAccount"]),
                ("cn", &["x"]),
                ("sn", &["a"]),
                ("uidNumber", &["1"]),
                ("gidNumber", &["1"]),
                ("homeDirectory", &["/"]),
            ]);
            let attributes = Attributes::parse(&list).expect("just encoded");
            client.ask(&Request::Add(Add { dn: dn.as_bytes(), attributes }), &controls).end
        }
        Update::Modify(dn, kind, attribute, values) => {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let list = changes_of(&[(*kind, attribute, &values)]);
            let changes = Changes::parse(&list).expect("just encoded");
            client.ask(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &controls).end
        }
        Update::Guarded(dn, was, to) => {
            let filter = assertion(&format!("(sn={was})"));
            controls.push(control(assertion::OID, &filter, true));
            let list = changes_of(&[(ModifyKind::Replace, "sn", &[to])]);
            let changes = Changes::parse(&list).expect("just encoded");
            client.ask(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &controls).end
        }
        Update::Delete(dn) => client.ask(&Request::Delete(dn.as_bytes()), &controls).end,
        Update::Rename(dn, new_rdn, above) => {
            let request = ModifyDn {
                dn: dn.as_bytes(),
                new_rdn: new_rdn.as_bytes(),
                delete_old_rdn: true,
                new_superior: above.as_deref().map(str::as_bytes),
            };
            client.ask(&Request::ModifyDn(request), &controls).end
        }
    }
}

/// All that there is, in order of names.
pub(crate) fn state(client: &mut Client) -> Vec<(String, Vec<Attribute>)> {
    let attributes = ["*", "creatorsName", "modifiersName", "hasSubordinates", "numSubordinates"];
    let mut found = client.search(BASE, Scope::Subtree, "(objectClass=*)", &attributes).entries;
    found.sort();
    found.iter_mut().for_each(|(_, attributes)| attributes.sort());
    found
}

/// A directory that all these were sent to one by one; the codes of the last `count` of them.
pub(crate) fn one_by_one(updates: &[&Update], count: usize) -> (Client, Vec<ResultCode>) {
    let mut client = client(false);
    let codes: Vec<ResultCode> = updates.iter().map(|update| send(&mut client, update, None).code).collect();
    (client, codes[codes.len() - count..].to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn all_of_it_or_nothing(turns in prop::collection::vec(turn(), 1..8), is_logged: bool) {
        let (mut client, log) = if is_logged { logged() } else { (client(false), Log::default()) };
        let mut other = client.another();
        let mut happened: Vec<&Update> = Vec::new();
        for turn in &turns {
            let txn = client.start();
            let codes: Vec<ResultCode> =
                turn.updates.iter().map(|update| send(&mut client, update, Some(&txn)).code).collect();
            // Until the first that is refused, each is answered as if the others had happened.
            let tried: Vec<&Update> = happened.iter().copied().chain(&turn.updates).collect();
            let (_, expected) = one_by_one(&tried, turn.updates.len());
            let judged = expected.iter().position(|code| *code != ResultCode::Success).map_or(expected.len(), |at| at + 1);
            prop_assert_eq!(&codes[..judged], &expected[..judged], "{:?}", turn);
            for update in &turn.meanwhile {
                send(&mut other, update, None);
                happened.push(update);
            }
            let tried: Vec<&Update> = happened.iter().copied().chain(&turn.updates).collect();
            let (_, at_end) = one_by_one(&tried, turn.updates.len());
            let end = client.settle(&txn, turn.commits);
            let refused = expected.iter().chain(&at_end).find(|code| **code != ResultCode::Success);
            if turn.commits {
                let of_end = expected[..judged].last().filter(|code| **code != ResultCode::Success).copied()
                    .or(at_end.iter().find(|code| **code != ResultCode::Success).copied());
                prop_assert_eq!(end.code, of_end.unwrap_or(ResultCode::Success), "{:?}", turn);
            }
            if turn.commits && refused.is_none() {
                happened.extend(&turn.updates);
            }
            let (mut plain, _) = one_by_one(&happened, 0);
            prop_assert_eq!(state(&mut client), state(&mut plain));
            prop_assert_eq!(state(&mut other), state(&mut plain));
        }
        if is_logged {
            let all = |client: &mut Client| client.search(BASE, Scope::Subtree, "(objectClass=*)", &["*", "+"]).entries;
            prop_assert_eq!(all(&mut client), all(&mut replayed(&log)), "applied again");
        }
    }
}
