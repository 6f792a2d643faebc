//! Row A6: a search finds what the plain evaluation finds in entries from which the values are taken out that the requester may not test, on random
//! rules, directories, requesters and filters, with indexes and without.
//!
//! The plain evaluation takes each right from `access::decide`, which looks at all rules for one value of one entry. An item is undefined where no
//! rule could allow any value of its attribute to be tested; that is asked of rules without their `values`. Searches run as requests do
//! behind their base: a compiled filter finds candidates, by an index if there is one, and each of them is admitted or not. They run
//! once without a bound, and once with one unit of work a slice, so that an evaluation is put down at each value.

use super::base::Base;
use super::query::{Admitted, Query};
use super::{Restricted, compile};
use crate::Dsa;
use crate::access::Requester;
use crate::access::model_tests::{agent_with, classify};
use crate::worker::Scratch;
use ::access::decide::{Item, Origin, Placed, Query as Question};
use ::access::testing::{self, Plain};
use ::access::{Entry, Operation, Right, Rights, Rule, Tree, Truth, decide, evaluate};
use model::attribute::split_options;
use model::{Filter, Scope};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use proto::filter_string::{self, FilterBuf};
use proto::list::Octets;
use schema::Schema;
use std::collections::BTreeSet;
use store::search::{Cursor, Scopes, Step, evaluate::Truth as Found};
use store::{IndexKind, IndexSettings, ReadPoint, Reader};

/// Cases of a plain `cargo test`; `PANDO_MODEL_CASES` asks for more.
const CASES: u32 = 60;
/// Filters of one directory and one set of rules, for one requester.
const FILTERS: usize = 24;

/// Rules on values of attributes that filters are about, also by a name that stands for several.
fn value_rule() -> impl Strategy<Value = String> {
    let of_text = select(vec!["ou", "description", "name", "cn"]).prop_flat_map(|name| {
        select(vec!["=a", "=B*", "=*", "=b c", ":caseExactMatch:=B", "=d", "=t1", "=p"])
            .prop_map(move |test| format!("attrs={name} values=\"({name}{test})\""))
    });
    let of_names =
        (select(vec!["manager", "member", "seeAlso", "distinguishedName"]), select(&testing::USERS[..]));
    let of_names = of_names.prop_flat_map(|(name, dn)| {
        prop_oneof![
            2 => Just(format!("attrs={name} values=self")),
            1 => Just(format!("attrs={name} values=\"({name}={dn})\"")),
            1 => Just(format!("attrs={name} values=\"(!({name}={dn}))\"")),
        ]
    });
    let place = select(vec!["all", "subtree=\"ou=p,dc=x\"", "one=\"ou=g,dc=x\""]);
    let subject = select(vec!["anyone", "users", "self", "dn-attr=manager", "group=\"cn=g0,ou=g,dc=x\""]);
    let effect = select(vec!["allow=search", "deny=search", "deny=see", "allow=see"]);
    (place, prop_oneof![of_text, of_names], subject, effect, 0..3_u32).prop_map(
        |(place, what, subject, effect, rank)| format!("{place} {what}; {subject}; {effect} rank={rank}"),
    )
}

fn filter() -> impl Strategy<Value = FilterBuf> {
    let words = select(vec!["a", "B", "b c", "d", "t1", "p", "u0"]);
    let of_text = select(vec!["ou", "description", "name", "cn", "sn", "sn;lang-de", "uid"]);
    let shapes = select(vec!["={}", "={}*", "=*{}*", "=*{}", "=*", ":dn:={}", ":caseExactMatch:={}", ">={}"]);
    let texts = (of_text, shapes, words)
        .prop_map(|(name, shape, word)| format!("({name}{})", shape.replace("{}", word)));
    let of_names = select(vec!["manager", "member", "seeAlso", "distinguishedName", "uniqueMember"]);
    let names = (of_names, select(&testing::USERS[..]), any::<bool>())
        .prop_map(|(name, dn, all)| if all { format!("({name}=*)") } else { format!("({name}={dn})") });
    let others = select(vec![
        "(:caseIgnoreMatch:=a)",
        "(:dn:caseIgnoreMatch:=t1)",
        "(:distinguishedNameMatch:=uid=u0,ou=p,dc=x)",
        "(objectClass=inetOrgPerson)",
        "(objectClass=*)",
    ]);
    let item = prop_oneof![4 => texts, 3 => names, 1 => others.prop_map(str::to_owned)];
    let nested = item.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            2 => inner.clone().prop_map(|part| format!("(!{part})")),
            1 => vec(inner.clone(), 1..3).prop_map(|parts| format!("(&{})", parts.concat())),
            1 => vec(inner, 1..3).prop_map(|parts| format!("(|{})", parts.concat())),
        ]
    });
    nested.prop_map(|text| filter_string::parse(text.as_bytes()).expect("it is a filter"))
}

/// The rules as they are where no value is at hand: what every value allows, and what some value may allow.
fn without_values(rules: &[Rule], of_every: bool) -> Vec<Placed> {
    let placed = |rule: &Rule| {
        let mut rule = rule.clone();
        if rule.target.values.take().is_some() {
            match of_every {
                true => rule.allow = Rights::NONE,
                false => rule.deny = Rights::NONE,
            }
        }
        Placed { rule, origin: Origin::Configured }
    };
    rules.iter().map(placed).collect()
}

/// The plain evaluation of a filter on what a requester may test of an entry.
struct Model<'m> {
    schema: &'m Schema,
    tree: &'m Tree,
    rules: Vec<Placed>,
    every: Vec<Placed>,
    some: Vec<Placed>,
    who: &'m ::access::Requester,
    entry: &'m Entry,
}

impl Model<'_> {
    fn decide(&self, rules: &[Placed], item: Item<'_>, right: Right) -> bool {
        let asked = Question { operation: Operation::Search, entry: self.entry, item, right };
        decide(self.tree, rules, self.who, &asked).allowed
    }

    fn is_returned(&self) -> bool {
        [Right::Disclose, Right::Read].iter().all(|right| self.decide(&self.rules, Item::Entry, *right))
    }

    fn may_some(&self, name: &str) -> bool {
        self.decide(&self.some, Item::Attribute(name), Right::Search)
    }

    /// The values of an attribute that may be tested.
    fn testable(&self, name: &str, values: &[Vec<u8>]) -> Vec<Vec<u8>> {
        if self.decide(&self.every, Item::Attribute(name), Right::Search) {
            return values.to_vec();
        }
        let may = |value: &&Vec<u8>| self.decide(&self.rules, Item::Value(name, value), Right::Search);
        if self.may_some(name) { values.iter().filter(may).cloned().collect() } else { Vec::new() }
    }

    fn truth(&self, filter: &Filter<'_>) -> Truth {
        let (name, with_names) = match filter {
            Filter::And(parts) => return Truth::all(parts.iter().map(|part| self.truth(part))),
            Filter::Or(parts) => return Truth::any(parts.iter().map(|part| self.truth(part))),
            Filter::Not(part) => return self.truth(part).negated(),
            Filter::Present(b"objectClass") => return Truth::True,
            Filter::Present(name) => (Some(*name), false),
            Filter::Equality(item) | Filter::Approx(item) => (Some(item.attribute), false),
            Filter::GreaterOrEqual(item) | Filter::LessOrEqual(item) => (Some(item.attribute), false),
            Filter::Substrings(item) => (Some(item.attribute), false),
            Filter::Extensible(item) => (item.attribute, item.dn_attributes),
        };
        let text = |bytes| std::str::from_utf8(bytes).expect("it is text");
        let kind = |name: &str| self.schema.find_type(split_options(name.as_bytes()).0);
        if let Some(name) = name.map(text) {
            let plain = text(split_options(name.as_bytes()).0);
            let wanted = self.schema.find_wanted(name.as_bytes()).expect("it is known").1;
            let is_of_option = |stored: &str| {
                let description = self.schema.describe_known(stored);
                kind(stored) == kind(name)
                    && stored.contains(';')
                    && self.schema.includes_options(description.options, &wanted)
                    && self.may_some(stored)
            };
            let stored = self.entry.attributes.iter();
            if !self.may_some(plain) && !stored.map(|(name, _)| &name[..]).any(is_of_option) {
                return Truth::Undefined;
            }
        }
        let of = |(name, values): &(String, Vec<Vec<u8>>)| (name.clone(), self.testable(name, values));
        let mut attributes: Vec<(String, Vec<Vec<u8>>)> = self.entry.attributes.iter().map(of).collect();
        if with_names {
            for ava in model::dn::parse(self.entry.dn.as_bytes()).expect("it is a DN").iter().flatten() {
                let name = text(ava.attribute_type).to_owned();
                let values = self.testable(&name, &[ava.value.to_vec()]);
                attributes.push((name, values));
            }
        }
        attributes.retain(|(_, values)| !values.is_empty());
        let seen = Entry::new(self.schema, "", attributes).expect("it is a DN");
        evaluate(self.schema, filter, &seen)
    }
}

trait Described {
    fn describe_known(&self, name: &str) -> model::Description;
}

impl Described for Schema {
    fn describe_known(&self, name: &str) -> model::Description {
        self.intern_description(name.as_bytes()).expect("it is known")
    }
}

/// The DNs that a search finds, in slices of so much work.
fn search(
    who: Requester,
    filter: &Filter<'_>,
    read_point: ReadPoint<'_>,
    scratch: &mut Scratch,
    slice: u64,
) -> BTreeSet<String> {
    let suffix = read_point.resolve(testing::SUFFIX.as_bytes(), &mut scratch.evaluator.cache);
    let base =
        Base { id: suffix.expect("it is there"), is_system: false, is_root_dse: false, is_change_log: false };
    let (filter, mut restricted) = compile(scratch, (who, None), filter, (read_point, false));
    let is_restricted = restricted.is_needed();
    let selectors = Octets::parse(b"").expect("it is a list");
    let query = Query {
        id: 1,
        read_point,
        base,
        who,
        selectors,
        types_only: false,
        is_restricted,
        follows: false,
        again: None,
    };
    let mut found = BTreeSet::new();
    let mut admit = |restricted: &mut Restricted, scratch: &mut Scratch, entry: &store::EntryRef<'_>| {
        loop {
            let mut work = slice;
            match query.admit(scratch, entry, restricted, &mut work) {
                Admitted::By(_) => {
                    let dn = read_point.dn(entry, &mut scratch.evaluator.cache);
                    found.insert(String::from_utf8(dn).expect("it is text"));
                    return;
                }
                Admitted::No => return,
                Admitted::Later => {}
            }
        }
    };
    // The short way of an equality assertion on an index, whose candidates are not looked for by a cursor.
    if let Some(candidates) = read_point.few_candidates(&filter) {
        for candidate in candidates {
            let Some(entry) = read_point.entry(model::EntryId(candidate)) else { continue };
            if scratch.evaluator.evaluate(&filter, &entry, read_point) == Found::True {
                admit(&mut restricted, scratch, &entry);
            }
        }
        return found;
    }
    let mut cursor = Cursor::open(read_point, Scopes::new(base.id, Scope::Subtree), filter, None);
    loop {
        let mut work = slice;
        match cursor.step(read_point, &mut scratch.evaluator, &mut work) {
            Step::Entry(entry) => admit(&mut restricted, scratch, &entry),
            Step::Pause => {}
            Step::End => return found,
        }
    }
}

fn compare(
    dsa: &Dsa,
    directory: &[Plain],
    rules: &[Rule],
    who: &::access::Requester,
    filters: &[FilterBuf],
) -> Result<[u64; 2], TestCaseError> {
    let schema = dsa.shard.schema();
    let tree = testing::tree(schema, directory);
    let mut reader = Reader::register(&dsa.shard).expect("there are few readers");
    let pin = reader.pin();
    let read_point = pin.read_point();
    let mut scratch = Scratch::default();
    let Scratch { views, evaluator, .. } = &mut scratch;
    let requester = classify(dsa, who, read_point, (views, evaluator));
    let placed = |rule: &Rule| Placed { rule: rule.clone(), origin: Origin::Configured };
    let mut counts = [0; 2];
    for filter in filters {
        let mut expected = BTreeSet::new();
        for entry in tree.entries() {
            let model = Model {
                schema,
                tree: &tree,
                rules: rules.iter().map(placed).collect(),
                every: without_values(rules, true),
                some: without_values(rules, false),
                who,
                entry,
            };
            if model.is_returned() && model.truth(&filter.filter()) == Truth::True {
                expected.insert(entry.dn.clone());
            }
        }
        for slice in [u64::MAX, 1] {
            let found = search(requester, &filter.filter(), read_point, &mut scratch, slice);
            prop_assert_eq!(&found, &expected, "{:?} {:?} {}", filter, who, slice);
        }
        counts[0] += 1;
        counts[1] += u64::from(!expected.is_empty());
    }
    Ok(counts)
}

#[test]
fn a6_filters_are_judged_on_values_that_may_be_tested() {
    let cases = std::env::var("PANDO_MODEL_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let totals = std::cell::Cell::new([0_u64; 2]);
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 400,
        max_global_rejects: cases.saturating_mul(2),
        ..ProptestConfig::default()
    });
    let inputs = (
        (testing::directory(), testing::rules(3), vec(value_rule(), 1..4)),
        testing::requester(),
        vec(filter(), FILTERS),
        any::<bool>(),
    );
    type Rules = (Vec<Plain>, Vec<Rule>, Vec<String>);
    type Input = (Rules, ::access::Requester, Vec<FilterBuf>, bool);
    let run = |((directory, mut rules, of_values), who, filters, is_indexed): Input| {
        let is_there =
            |dn: &Option<String>| dn.as_ref().is_none_or(|dn| directory.iter().any(|(other, _)| other == dn));
        prop_assume!(is_there(&who.dn) && is_there(&who.real));
        let of_values = of_values.iter().enumerate().map(|(at, text)| format!("v{at}: {text}"));
        let others = ["see: all attrs=entry,*; anyone; allow=see".to_owned()];
        for text in of_values.chain(others) {
            rules.push(::access::parse(&text).unwrap_or_else(|error| panic!("{text}: {error:?}")));
        }
        let kinds = [IndexKind::Presence, IndexKind::Equality];
        let indexed = ["ou", "description", "manager", "member"].map(|name| IndexSettings::of(name, kinds));
        let indexes = if is_indexed { indexed.to_vec() } else { Vec::new() };
        let dsa = agent_with(&directory, &rules, &[], indexes);
        let [filters, matched] = compare(&dsa, &directory, &rules, &who, &filters)?;
        totals.set([totals.get()[0] + filters, totals.get()[1] + matched]);
        Ok(())
    };
    runner.run(&inputs, run).expect("they agree");
    let [filters, matched] = totals.get();
    println!("{filters} searches, {matched} found something");
    assert!(matched * 4 > filters, "{matched} of {filters} found something");
}
