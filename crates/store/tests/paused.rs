//! The evaluation of a filter that is paused, wherever that is, comes to the same as one that is not.

use model::filter::{Assertion, Extensible, Filter, Substrings};
use model::{Entry, EntryId};
use proptest::prelude::*;
use std::sync::Arc;
use store::search::evaluate::Evaluator;
use store::search::{Compiled, Paused};
use store::{Add, Reader, Settings, Shard, Stamp};

const TYPES: &str = "
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'xText' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch
  SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.99999.2 NAME 'xSub' SUP xText )
attributetype ( 1.3.6.1.4.1.99999.3 NAME 'xDn' EQUALITY distinguishedNameMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 )
";
const ATTRIBUTES: [&str; 7] = ["xText", "xSub", "xDn", "objectClass", "ou", "entryDN", "noSuchAttribute"];
const RULES: [Option<&str>; 5] = [
    None,
    Some("caseIgnoreMatch"),
    Some("caseExactMatch"),
    Some("wordMatch"),
    Some("distinguishedNameMatch"),
];

/// Of an item, what makes its text.
#[derive(Clone, Debug)]
enum Part {
    All(Vec<Part>),
    Any(Vec<Part>),
    Not(Box<Part>),
    Present(usize),
    Equal(usize, String),
    AtLeast(usize, String),
    Substrings(usize, Option<String>, Vec<String>, Option<String>),
    Extensible { attribute: Option<usize>, rule: usize, value: String, dn: bool },
}

impl Part {
    fn filter(&self) -> Filter<'_> {
        match self {
            Part::All(parts) => Filter::And(parts.iter().map(Part::filter).collect()),
            Part::Any(parts) => Filter::Or(parts.iter().map(Part::filter).collect()),
            Part::Not(part) => Filter::Not(Box::new(part.filter())),
            Part::Present(at) => Filter::Present(ATTRIBUTES[*at].as_bytes()),
            Part::Equal(at, value) => Filter::Equality(assertion(at, value)),
            Part::AtLeast(at, value) => Filter::GreaterOrEqual(assertion(at, value)),
            Part::Substrings(at, initial, any, last) => Filter::Substrings(Substrings {
                attribute: ATTRIBUTES[*at].as_bytes(),
                initial: initial.as_ref().map(|part| part.as_bytes()),
                any: any.iter().map(|part| part.as_bytes()).collect(),
                last: last.as_ref().map(|part| part.as_bytes()),
            }),
            Part::Extensible { attribute, rule, value, dn } => Filter::Extensible(Extensible {
                rule: RULES[*rule].map(str::as_bytes),
                attribute: attribute.map(|at| ATTRIBUTES[at].as_bytes()),
                value: value.as_bytes(),
                dn_attributes: *dn,
            }),
        }
    }
}

fn assertion<'p>(at: &usize, value: &'p str) -> Assertion<'p> {
    Assertion { attribute: ATTRIBUTES[*at].as_bytes(), value: value.as_bytes() }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u32..400).prop_map(|n| format!("Value {n}")),
        (0u32..400).prop_map(|n| format!("ou=Value {n},dc=com")),
        Just("ou=top,dc=com".to_owned()),
        Just("top".to_owned()),
        "[a-d]{0,3}",
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let at = 0..ATTRIBUTES.len();
    let piece =
        || prop_oneof![(0u32..40).prop_map(|n| n.to_string()), Just("alu".to_owned()), Just("x".to_owned())];
    let item = prop_oneof![
        1 => at.clone().prop_map(Part::Present),
        3 => (at.clone(), value()).prop_map(|(at, value)| Part::Equal(at, value)),
        1 => (at.clone(), value()).prop_map(|(at, value)| Part::AtLeast(at, value)),
        3 => (at.clone(), proptest::option::of(piece()), proptest::collection::vec(piece(), 1..3), proptest::option::of(piece()))
            .prop_map(|(at, initial, any, last)| Part::Substrings(at, initial, any, last)),
        3 => (proptest::option::of(at), 0..RULES.len(), value(), any::<bool>()).prop_map(
            |(attribute, rule, value, dn)| Part::Extensible { attribute, rule, value, dn }),
    ];
    item.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Part::All),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Part::Any),
            inner.prop_map(|part| Part::Not(Box::new(part))),
        ]
    })
}

/// A shard with one entry below its root that has so many values of each type.
fn shard(counts: [u32; 3]) -> Arc<Shard> {
    let text = |n: u32| format!("Value {n}");
    let dn = |n: u32| format!("ou=value {n},dc=com");
    let [texts, subs, dns] = counts;
    let values = [
        ("xText", (0..texts).map(text).collect::<Vec<_>>()),
        ("xSub", (0..subs).map(text).collect()),
        ("xDn", (0..dns).map(dn).collect()),
    ];
    let values: Vec<_> = values.iter().map(|(name, values)| (*name, &values[..])).collect();
    shard_with(&values)
}

/// A shard with one entry below its root that has these values.
fn shard_with(attributes: &[(&str, &[String])]) -> Arc<Shard> {
    let schema = schema::Builder::new().standard().file("test", TYPES).build().expect("the schema is sound");
    let settings = Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 256 << 20,
        removals_max: store::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    let shard = Shard::create(settings, Arc::new(schema)).expect("address space is plenty");
    let mut writer = shard.writer();
    for (dn, class) in [("dc=com", "domain"), ("ou=top,dc=com", "organizationalUnit")] {
        let mut entry = Entry::new();
        let mut put = |name: &str, values: &[String]| {
            entry.push_attribute(shard.schema().intern_description(name.as_bytes()).expect("known"));
            values.iter().for_each(|value| entry.push_value(value.as_bytes()));
        };
        put("objectClass", &[class, "extensibleObject"].map(str::to_owned));
        let own = attributes.iter().filter(|(_, values)| class != "domain" && !values.is_empty());
        own.for_each(|(name, values)| put(name, values));
        let stamp = Stamp { csn: writer.stamp(1_767_323_045_000), actor: 0 };
        writer
            .add(Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: false }, stamp)
            .expect("it is valid");
    }
    writer.publish();
    shard
}

/// A value of several megabytes is looked at in more than one go, too.
#[test]
fn a_pause_within_a_value() {
    let shard = shard_with(&[("xText", &["a".repeat(5 << 20), "b".to_owned()][..])]);
    let mut reader = Reader::register(&shard).expect("there are few");
    let pin = reader.pin();
    let point = pin.read_point();
    let mut evaluator = Evaluator::default();
    let id = point.resolve(b"ou=top,dc=com", &mut evaluator.cache).expect("it is there");
    let entry = point.entry(id).expect("it is there");
    for (any, is_there) in [("ab", false), ("aaaa", true), ("b", true)] {
        let filter = Filter::Substrings(Substrings {
            attribute: b"xText",
            initial: None,
            any: vec![any.as_bytes()],
            last: None,
        });
        let compiled = Compiled::new(&filter, &shard, &|_| true);
        let (mut paused, mut steps) = (Paused::default(), 1);
        let truth = loop {
            match evaluator.go_on(&compiled, &entry, point, &mut paused, &mut 100) {
                Some(truth) => break truth,
                None => steps += 1,
            }
        };
        assert_eq!(truth == store::search::evaluate::Truth::True, is_there, "{any}");
        assert!(is_there || steps >= 5, "{any}: {steps} steps");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn a_paused_evaluation_comes_to_the_same(
        counts in [0u32..90, 0u32..400, 0u32..90],
        parts in proptest::collection::vec(part(), 1..8),
        slices in proptest::collection::vec(1u64..400, 1..6),
    ) {
        let shard = shard(counts);
        let mut reader = Reader::register(&shard).expect("there are few");
        let pin = reader.pin();
        let point = pin.read_point();
        let (mut evaluator, mut others) = (Evaluator::default(), Evaluator::default());
        let id = point.resolve(b"ou=top,dc=com", &mut evaluator.cache).expect("it is there");
        let entry = point.entry(EntryId(id.0)).expect("it is there");
        for part in &parts {
            let compiled = Compiled::new(&part.filter(), &shard, &|_| true);
            let whole = evaluator.evaluate(&compiled, &entry, point);
            let mut paused = Paused::default();
            let mut steps = 0;
            let truth = loop {
                let mut work = slices[steps % slices.len()];
                steps += 1;
                if let Some(truth) = others.go_on(&compiled, &entry, point, &mut paused, &mut work) {
                    break truth;
                }
                prop_assert_eq!(work, 0, "it was paused with work left");
                prop_assert!(steps < 1_000_000, "it does not come on");
            };
            prop_assert_eq!(truth, whole, "{:?}", part);
        }
    }
}
