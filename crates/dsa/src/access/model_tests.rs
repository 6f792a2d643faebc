//! Row A2: views decide as the plain evaluation of `access::decide` does, on random rules, directories, requesters and questions. Row L1: limits
//! are those of the first rule that fits by the same evaluation.

use super::bounds::Bounds;
use super::class::Action;
use super::requester::{Connection, Proof};
use super::views::Views;
use crate::own_entry::OwnEntry;
use crate::system::tests::{config, standard_schema};
use crate::{Config, Dsa};
use ::access::decide::{Origin, Placed};
use ::access::testing::{self, Plain, Question};
use ::access::{
    Address, AttributeSelector, Items, LimitRule, Limits, Name, Operation, Operations, Place, Requester,
    Right, Rights, Rule, Settings, Subject, Target, decide,
};
use model::Entry;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::sync::Arc;
use store::search::evaluate::Evaluator;
use store::{Add, IndexSettings, ReadPoint, Reader, Stamp};

/// Decisions of one directory and one set of rules, for one requester.
const QUESTIONS: usize = 60;
/// Cases of a plain `cargo test`; `PANDO_MODEL_CASES` asks for more. 17,000 are a million decisions.
const CASES: u32 = 400;

/// An agent over a random directory, with these rules alone.
pub(crate) fn agent(directory: &[Plain], rules: &[Rule], limits: &[LimitRule]) -> Arc<Dsa> {
    agent_with(directory, rules, limits, Vec::new())
}

/// As [`agent`], with indexes.
pub(crate) fn agent_with(
    directory: &[Plain],
    rules: &[Rule],
    limits: &[LimitRule],
    indexes: Vec<IndexSettings>,
) -> Arc<Dsa> {
    let mut config = config();
    config.store.indexes = indexes;
    config.store.suffixes = vec![testing::SUFFIX.to_owned()];
    config.root_dn = None;
    config.settings.configured.access =
        Settings { rules: rules.to_vec(), defaults: false, limits: limits.to_vec(), ..Settings::default() };
    let dsa =
        Dsa::new(Config { root_password: None, ..config }, standard_schema()).expect("memory is plenty");
    let schema = Arc::clone(dsa.shard.schema());
    let mut writer = dsa.shard.writer();
    for (dn, attributes) in directory {
        let mut entry = Entry::new();
        for (name, values) in attributes {
            let description =
                schema.intern_description(name.as_bytes()).expect("it is of the standard schema");
            entry.extend(description, values.iter().map(String::as_bytes));
        }
        let stamp = Stamp { csn: writer.stamp(1_760_000_000_000), actor: 0 };
        let add = Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: true };
        writer.add(add, stamp).unwrap_or_else(|refused| panic!("{dn}: {refused}"));
    }
    writer.publish();
    dsa
}

fn connection(who: &Requester) -> Connection {
    let (address, is_local_socket) = match who.peer {
        Address::Network(address) => (Some(address), false),
        Address::Ldapi => (None, true),
    };
    // The strategies know two listeners.
    let listener = Some(if who.listener == "inside" { "inside" } else { "outside" });
    Connection { strength: who.strength, tls: who.tls, address, is_local_socket, listener }
}

/// Asks the views, in each of two orders, and the plain evaluation.
fn compare(
    directory: &[Plain],
    rules: &[Rule],
    who: &Requester,
    questions: &[Question],
    holders: &[Option<usize>],
) -> Result<u64, TestCaseError> {
    // A rule is of the configuration, or of an entry, if its rank is not too high for that.
    let holder = |at: usize| {
        let holder = holders[at % holders.len()]? % directory.len();
        let text = rules[at].to_string();
        ::access::parse_of_entry(&text).is_ok().then_some((holder, text))
    };
    let (mut directory, mut configured) = (directory.to_vec(), Vec::new());
    for (at, rule) in rules.iter().enumerate() {
        match holder(at) {
            Some((holder, text)) => directory[holder].1.push(("pandoAccess".to_owned(), vec![text])),
            None => configured.push(rule.clone()),
        }
    }
    let directory = &directory[..];
    let dsa = agent(directory, &configured, &[]);
    let schema = Arc::clone(dsa.shard.schema());
    let tree = testing::tree(&schema, directory);
    let name = |at: usize| Name::parse(&schema, directory[at].0.as_bytes()).expect("it is a DN");
    let origin = |at| holder(at).map_or(Origin::Configured, |(holder, _)| Origin::Entry(name(holder)));
    let placed: Vec<Placed> = rules
        .iter()
        .enumerate()
        .map(|(at, rule)| Placed { rule: rule.clone(), origin: origin(at) })
        .collect();
    let mut reader = Reader::register(&dsa.shard).expect("there are few readers");
    let pin = reader.pin();
    let read_point = pin.read_point();
    let (mut views, mut evaluator) = (Views::default(), Evaluator::default());
    let requester = classify(&dsa, who, read_point, (&mut views, &mut evaluator));
    let mut decisions = 0;
    for question in questions {
        let (dn, _) = &directory[question.entry % directory.len()];
        let id = read_point.resolve(dn.as_bytes(), &mut evaluator.cache).expect("it was added");
        let entry = read_point.entry(id).expect("it was added");
        let action = Action::of(question.operation);
        let view = views.of(requester, action, &entry, read_point, &mut evaluator);
        let plain = tree.entries().find(|entry| entry.dn == *dn).expect("it is there");
        let expected = decide(&tree, &placed, who, &question.query(plain)).allowed;
        let described = |name: &str| schema.intern_description(name.as_bytes()).expect("it is known");
        let found = match (question.attribute, &question.value) {
            (None, _) => views.may(view, question.right),
            // The plain evaluation takes no rule on values as one on the attribute as a whole: what every value allows lies between.
            (Some(_), None) if rules.iter().any(|rule| rule.target.values.is_some()) => continue,
            (Some(name), None) => {
                views.on_attribute(view, described(name), &schema).every.has(question.right)
            }
            (Some(name), Some(value)) => {
                let own = views.own_name(requester, read_point, &mut evaluator.cache);
                let values = views.on_values(view, described(name), question.right, &dsa.shard);
                let may = values.may(&own, &schema, described(name), value.as_bytes(), &mut Vec::new());
                let on = views.on_attribute(view, described(name), &schema);
                // What holds for every value holds for this one, and what holds for none does not.
                prop_assert!(may >= on.every.has(question.right) && may <= on.some.has(question.right));
                may
            }
        };
        prop_assert_eq!(found, expected, "{} {:?} {:?}", dn, question, who);
        decisions += 1;
    }
    Ok(decisions)
}

#[test]
fn a2_views_decide_as_the_plain_evaluation_does() {
    let cases = std::env::var("PANDO_MODEL_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let decisions = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 400,
        max_global_rejects: cases.saturating_mul(2),
        ..ProptestConfig::default()
    });
    let questions = prop::collection::vec(testing::question(), QUESTIONS);
    // Half of the rules are those of entries.
    let holders = prop::collection::vec(prop::option::of(0..64_usize), 8);
    let inputs = (testing::directory(), testing::rules(8), testing::requester(), questions, holders);
    type Input = (Vec<Plain>, Vec<Rule>, Requester, Vec<Question>, Vec<Option<usize>>);
    let run = |(directory, rules, who, questions, holders): Input| {
        // A session whose entry is gone is another matter.
        let is_there =
            |dn: &Option<String>| dn.as_ref().is_none_or(|dn| directory.iter().any(|(other, _)| other == dn));
        prop_assume!(is_there(&who.dn) && is_there(&who.real));
        decisions.set(decisions.get() + compare(&directory, &rules, &who, &questions, &holders)?);
        Ok(())
    };
    runner.run(&inputs, run).expect("they agree");
    assert!(decisions.get() > u64::from(cases) * QUESTIONS as u64 / 4);
    println!("{} decisions", decisions.get());
}

/// Limit rules with the subjects of access rules, as far as they depend on no entry.
fn limits(rules: &[Rule]) -> Vec<LimitRule> {
    let numbered = rules.iter().zip(0..);
    let made = numbered.map(|(rule, at): (&Rule, u32)| LimitRule {
        name: rule.name.clone(),
        subjects: rule.subjects.clone(),
        limits: Limits { size: Some(at * 7 % 5), page: Some(at * 3 % 4 + 1), ..Limits::default() },
    });
    made.filter(|rule| ::access::parse_limit(&rule.to_string()).as_ref() == Ok(rule)).collect()
}

/// Does one of the subjects match, and may one? By a rule that allows, and one that denies what another allows.
fn fits(tree: &::access::Tree, subjects: &[Subject], who: &Requester) -> (bool, bool) {
    let attributes = Items::Attributes(vec![AttributeSelector::Entry]);
    let target = Target {
        place: Place::All,
        filter: None,
        items: attributes,
        values: None,
        operations: Operations::ANY,
    };
    let read = Rights::of(&[Right::Read]);
    let rule = Rule {
        name: "r".to_owned(),
        target,
        subjects: subjects.to_vec(),
        allow: read,
        deny: Rights::NONE,
        rank: 1,
    };
    let all = Rule {
        subjects: ::access::parse("a: all; anyone; allow=read").expect("a rule").subjects,
        rank: 0,
        ..rule.clone()
    };
    let none = Rule { allow: Rights::NONE, deny: read, ..rule.clone() };
    let is_allowed = |rules: &[&Rule]| {
        let placed: Vec<Placed> =
            rules.iter().map(|rule| Placed { rule: (*rule).clone(), origin: Origin::Configured }).collect();
        let entry = tree.entries().next().expect("there are entries");
        let question = Question {
            entry: 0,
            attribute: None,
            value: None,
            right: Right::Read,
            operation: Operation::Search,
        };
        decide(tree, &placed, who, &question.query(entry)).allowed
    };
    (is_allowed(&[&rule]), !is_allowed(&[&all, &none]))
}

#[test]
fn l1_limits_are_those_of_the_first_rule_that_fits() {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: CASES / 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let inputs = (testing::directory(), testing::rules(8), testing::requester());
    let decided = std::cell::Cell::new([0_u32; 2]);
    let run = |(directory, rules, who): (Vec<Plain>, Vec<Rule>, Requester)| {
        let rules = limits(&rules);
        let is_there =
            |dn: &Option<String>| dn.as_ref().is_none_or(|dn| directory.iter().any(|(other, _)| other == dn));
        prop_assume!(is_there(&who.dn) && is_there(&who.real));
        let dsa = agent(&directory, &[], &rules);
        let tree = testing::tree(dsa.shard.schema(), &directory);
        let mut expected =
            Bounds::default_of(&dsa.config.settings.configured.limits.search, who.dn.is_none());
        let fits: Vec<(bool, bool)> = rules.iter().map(|rule| fits(&tree, &rule.subjects, &who)).collect();
        let sure = fits.iter().position(|(fits, _)| *fits);
        if let Some(sure) = sure {
            (expected.size, expected.page) =
                (rules[sure].limits.size.expect("it has one"), rules[sure].limits.page.expect("it has one"));
        }
        let perhaps = (0..sure.unwrap_or(rules.len())).filter(|at| fits[*at].1);
        let tighter = |one: u32, other: Option<u32>| match (one, other.expect("it has one")) {
            (0, other) => other,
            (one, 0) => one,
            (one, other) => one.min(other),
        };
        for at in perhaps.clone() {
            expected.size = tighter(expected.size, rules[at].limits.size);
            expected.page = tighter(expected.page, rules[at].limits.page);
        }
        let [sures, others] = decided.get();
        decided.set([sures + u32::from(sure.is_some()), others + perhaps.count() as u32]);
        let (_, bounds) = classified(&dsa, &who);
        prop_assert_eq!(bounds, expected, "{:?} {:?}", rules, who);
        Ok(())
    };
    runner.run(&inputs, run).expect("they agree");
    let [sures, others] = decided.get();
    assert!(sures > CASES / 20 && others > 0, "{sures} fit, {others} may");
}

/// A requester as a bind would make it, and its limits.
fn classified(dsa: &Arc<Dsa>, who: &Requester) -> (super::Requester, Bounds) {
    let mut reader = Reader::register(&dsa.shard).expect("there are few readers");
    let pin = reader.pin();
    let (mut views, mut evaluator) = (Views::default(), Evaluator::default());
    let requester = classify(dsa, who, pin.read_point(), (&mut views, &mut evaluator));
    (requester, views.bounds(requester.class))
}

/// Takes the rules that are in force, and gives a requester its class.
pub(crate) fn classify(
    dsa: &Dsa,
    who: &Requester,
    read_point: ReadPoint<'_>,
    (views, evaluator): (&mut Views, &mut Evaluator),
) -> super::Requester {
    views.keep_up(&dsa.access, read_point, &mut evaluator.cache);
    let entry_of = |dn: &Option<String>, evaluator: &mut Evaluator| {
        let id = read_point.resolve(dn.as_deref()?.as_bytes(), &mut evaluator.cache).ok()?;
        read_point.entry(id).map(|entry| OwnEntry::of(&entry))
    };
    let (own, real) = (entry_of(&who.dn, evaluator), entry_of(&who.real, evaluator));
    let (dn, real_dn) = (who.dn.clone().unwrap_or_default(), who.real.clone().unwrap_or_default());
    let proof = Proof { dn: dn.as_bytes(), own, auth: &who.auth, real: (real_dn.as_bytes(), real) };
    let (class, _) = views.classify(Some(proof), connection(who), read_point, evaluator);
    super::Requester { class, own, real }
}
