use super::shown::Rendered;
use super::*;
use crate::access::model_tests::{agent, classify};
use crate::access::{Action, ViewId};
use crate::worker::Scratch;
use ::access::decide::{Item, Origin, Placed, Query};
use ::access::testing::{self, ATTRIBUTES, Plain};
use ::access::{Operation, Requester as Plainly, Right, Rule, decide};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use proto::list::Attributes;
use store::Reader;
use store::{EntryRef, ReadPoint};

const CASES: u32 = 80;

/// What is shown of a subject's rights on an entry: by attribute.
fn shown(
    scratch: &mut Scratch,
    (subject, dn): (Requester, &str),
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
) -> Vec<(String, String)> {
    let action = Action::of(Operation::Search);
    let written = Written { who: Requester::ROOT, view: ViewId::ROOT, action, entry, read_point };
    let mut rendered = Rendered::new(&written, subject, dn.as_bytes());
    let named: Vec<Vec<u8>> = ATTRIBUTES.iter().map(|name| name.as_bytes().to_vec()).collect();
    let raw = proto::list::octet_list([&b"1.1"[..]]);
    rendered.choose(scratch, &written, Octets::parse(&raw).expect("just encoded"), &named);
    rendered.ask(scratch, &written, true);
    let mut out = Vec::new();
    rendered.put(true, false, &mut out);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("it is text");
    let attributes = Attributes::parse(&out).expect("just encoded");
    let value = |values: Octets<'_>| values.iter().map(text).collect::<Vec<_>>().join("\n");
    attributes.iter().map(|attribute| (text(attribute.description), value(attribute.values))).collect()
}

/// Asks the plain evaluation the same.
fn compare(directory: &[Plain], rules: &[Rule], who: &Plainly) -> Result<(), TestCaseError> {
    let dsa = agent(directory, rules, &[]);
    let tree = testing::tree(dsa.shard.schema(), directory);
    let place = |rule: &Rule| Placed { rule: rule.clone(), origin: Origin::Configured };
    let placed: Vec<Placed> = rules.iter().map(place).collect();
    let mut reader = Reader::register(&dsa.shard).expect("there are few readers");
    let pin = reader.pin();
    let read_point = pin.read_point();
    let mut scratch = Scratch::default();
    let Scratch { views, evaluator, .. } = &mut scratch;
    let subject = classify(&dsa, who, read_point, (views, evaluator));
    for plain in tree.entries() {
        let id = read_point.resolve(plain.dn.as_bytes(), &mut scratch.evaluator.cache).expect("it was added");
        let entry = read_point.entry(id).expect("it was added");
        let dn = who.dn.clone().unwrap_or_default();
        let found = shown(&mut scratch, (subject, &dn), &entry, read_point);
        let may = |operation, item, right| {
            decide(&tree, &placed, who, &Query { operation, entry: plain, item, right })
        };
        let on_entry = |operation, right| may(operation, Item::Entry, right).allowed;
        let is_there = on_entry(Operation::Search, Right::Disclose);
        let letters = |all: &[(bool, &str)]| {
            let held: String =
                all.iter().filter(|(is_held, _)| *is_held).map(|(_, letter)| *letter).collect();
            if held.is_empty() { "none".to_owned() } else { held }
        };
        let of_entry = letters(&[
            (is_there && on_entry(Operation::Search, Right::Read), "v"),
            (on_entry(Operation::Add, Right::Create), "a"),
            (is_there && on_entry(Operation::Delete, Right::Remove), "d"),
            (is_there && on_entry(Operation::Rename, Right::Rename), "n"),
        ]);
        prop_assert_eq!(&found[0], &("entryLevelRights".to_owned(), of_entry), "{}", plain.dn);
        let of = |name: &'static str| {
            let on = |operation, right| is_there && may(operation, Item::Attribute(name), right).allowed;
            let of_one = letters(&[
                (on(Operation::Search, Right::Read), "r"),
                (on(Operation::Search, Right::Search), "s"),
                (on(Operation::Compare, Right::Compare), "c"),
                (on(Operation::Modify, Right::Add), "w"),
                (on(Operation::Modify, Right::Delete), "o"),
            ]);
            format!("{name}:{of_one}")
        };
        let all = ATTRIBUTES.into_iter().map(of).collect::<Vec<_>>().join(", ");
        prop_assert_eq!(&found[1], &("attributeLevelRights".to_owned(), all), "{}", plain.dn);
        // A rule that is named as the reason is the one that decides, or says the same at the same rank.
        let info = &found.last().expect("it was asked for").1;
        let read = may(Operation::Search, Item::Entry, Right::Read);
        let is_named = match read.reason {
            ::access::decide::Reason::Rule(_) => !info.contains("entry: disclose=none read=none"),
            _ => info.lines().next().is_some_and(|line| line.contains("read=none")),
        };
        prop_assert!(is_named, "{info}");
    }
    Ok(())
}

/// A9: what is shown agrees with the plain evaluation.
#[test]
fn test_a9_as_the_plain_evaluation() {
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let inputs = (testing::directory(), testing::rules(8), testing::requester());
    let run = |(directory, mut rules, who): (Vec<Plain>, Vec<Rule>, Plainly)| {
        let is_there =
            |dn: &Option<String>| dn.as_ref().is_none_or(|dn| directory.iter().any(|(other, _)| other == dn));
        prop_assume!(is_there(&who.dn) && is_there(&who.real));
        // Of an attribute as a whole the plain evaluation says nothing where rules are about values.
        rules.retain(|rule| rule.target.values.is_none());
        compare(&directory, &rules, &who)
    };
    TestRunner::new(config).run(&inputs, run).expect("they agree");
}
