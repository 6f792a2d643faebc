//! Measurements of rows C3 and C12: `cargo test --release -p pando-dsa --lib cost_tests -- --ignored --nocapture`. What rules on values cost an entry
//! that is written with all of its attributes, and how many classes a million users make in fifty rules, and how long it takes to find one.

use super::class::Action;
use super::model_tests::{agent, classify};
use super::requester::{Connection, Proof};
use super::views::Views;
use crate::entry_writer::Templates;
use crate::own_entry::OwnEntry;
use crate::selection::RequestedSelection;
use ::access::testing::Plain;
use ::access::{AuthMethod, Operation};
use proto::list::Octets;
use std::collections::BTreeSet;
use std::time::Instant;
use store::Reader;
use store::search::evaluate::Evaluator;

const USERS: usize = 1_000_000;
/// Entries that they have, in turn: what a bind decides hangs on the name and on a few entries.
const ENTRIES: usize = 20_000;
const GROUPS: usize = 8;
/// Binds that are timed together.
const RUN: usize = 100;
const CLASSES_MAX: usize = 100;

#[test]
#[ignore = "a measurement"]
fn c12_classes_of_a_million_users() {
    let unit = |name: &str| {
        (format!("ou={name},dc=x"), vec![of("objectClass", &["organizationalUnit"]), of("ou", &[name])])
    };
    let mut directory = vec![
        ("dc=x".to_owned(), vec![of("objectClass", &["domain"]), of("dc", &["x"])]),
        unit("p"),
        unit("g"),
    ];
    for number in 0..ENTRIES {
        let name = format!("u{number}");
        let given = [("objectClass", "inetOrgPerson"), ("uid", &name), ("cn", "c"), ("sn", "s")];
        let given = given.map(|(attribute, value)| of(attribute, &[value])).to_vec();
        directory.push((format!("uid={name},ou=p,dc=x"), given));
    }
    // A thousand members each, some of them in two groups.
    for group in 0..GROUPS {
        let members: Vec<String> =
            (0..1_000).map(|at| format!("uid=u{},ou=p,dc=x", (group * 700 + at) % ENTRIES)).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let name = format!("g{group}");
        let given = vec![of("objectClass", &["groupOfNames"]), of("cn", &[&name]), of("member", &members)];
        directory.push((format!("cn={name},ou=g,dc=x"), given));
    }
    let mut rules = Vec::new();
    for number in 0..50 {
        let subject = match number % 5 {
            0 | 1 => format!("group=\"cn=g{},ou=g,dc=x\"", number % GROUPS),
            2 => "users".to_owned(),
            3 => "self".to_owned(),
            _ => "dn-subtree=\"ou=p,dc=x\" tls=128".to_owned(),
        };
        let text = format!(
            "r{number}: subtree=\"ou=p,dc=x\" attrs=mail,mobile; {subject}; allow=write rank={}",
            number % 3
        );
        rules.push(::access::parse(&text).expect("it is a rule"));
    }
    let dsa = agent(&directory, &rules, &[]);
    let mut reader = Reader::register(&dsa.shard).expect("there are few readers");
    let pin = reader.pin();
    let read_point = pin.read_point();
    let (mut views, mut evaluator) = (Views::default(), Evaluator::default());
    views.keep_up(&dsa.access, read_point, &mut evaluator.cache);
    let own: Vec<(String, OwnEntry)> = (0..ENTRIES)
        .map(|number| {
            let dn = format!("uid=u{number},ou=p,dc=x");
            let id = read_point.resolve(dn.as_bytes(), &mut evaluator.cache).expect("it was added");
            (dn, OwnEntry::of(&read_point.entry(id).expect("it was just found")))
        })
        .collect();
    let connections = [0, 128].map(|tls| Connection { tls, strength: tls, ..Connection::default() });
    let mut classes = BTreeSet::new();
    // The median of runs: others have the core in between.
    let mut runs: Vec<u128> = Vec::new();
    for first in (0..USERS).step_by(RUN) {
        let begun = Instant::now();
        for number in first..first + RUN {
            let (dn, own) = &own[number * 7 % ENTRIES];
            let real = (dn.as_bytes(), Some(*own));
            let proof = Proof { dn: dn.as_bytes(), own: Some(*own), auth: &AuthMethod::Simple, real };
            let connection = connections[number % 2];
            classes.insert(views.classify(Some(proof), connection, read_point, &mut evaluator).0);
        }
        runs.push(begun.elapsed().as_nanos() / RUN as u128);
    }
    runs.sort_unstable();
    let (least, half) = (runs[0], runs[runs.len() / 2]);
    let count = classes.len();
    println!(
        "{USERS} binds, 50 rules that name {GROUPS} groups: {count} classes, {half} ns to find one, {least} at best"
    );
    assert!(classes.len() <= CLASSES_MAX, "{} classes", classes.len());
}

fn of(name: &str, values: &[&str]) -> (String, Vec<String>) {
    (name.to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
}

const WRITTEN: usize = 1_000;
const ROUNDS: usize = 40;

/// People of 3 kB, and groups of a hundred members.
fn people_and_groups() -> [Vec<Plain>; 2] {
    let fill = "x".repeat(90);
    let descriptions: Vec<String> = (0..25).map(|at| format!("{at} {fill}")).collect();
    let descriptions: Vec<&str> = descriptions.iter().map(String::as_str).collect();
    let members: Vec<String> = (0..100).map(|at| format!("uid=u{at},dc=x")).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let person = |number: usize| {
        let uid = format!("u{number}");
        let given = [("objectClass", "inetOrgPerson"), ("uid", &uid), ("cn", "c"), ("sn", "s"), ("l", "l1")];
        let mut given = given.map(|(name, value)| of(name, &[value])).to_vec();
        given.push(of("description", &descriptions));
        (format!("uid={uid},dc=x"), given)
    };
    let group = |number: usize| {
        let cn = format!("g{number}");
        (
            format!("cn={cn},dc=x"),
            vec![of("objectClass", &["groupOfNames"]), of("cn", &[&cn]), of("member", &members)],
        )
    };
    [(0..WRITTEN).map(person).collect(), (0..WRITTEN).map(group).collect()]
}

/// Nanoseconds of writing an entry with all attributes, to the first user, by these rules.
fn ns_of_an_entry(entries: &[Plain], rules: &[&str]) -> f64 {
    let suffix = ("dc=x".to_owned(), vec![of("objectClass", &["domain"]), of("dc", &["x"])]);
    let first = ("uid=u7,dc=x".to_owned(), vec![of("objectClass", &["account"]), of("uid", &["u7"])]);
    let mut directory = vec![suffix];
    if entries.iter().all(|(dn, _)| *dn != first.0) {
        directory.push(first);
    }
    directory.extend(entries.iter().cloned());
    let rules: Vec<_> = rules.iter().map(|text| ::access::parse(text).expect("it is a rule")).collect();
    let dsa = agent(&directory, &rules, &[]);
    let mut reader = Reader::register(&dsa.shard).expect("there are few readers");
    let pin = reader.pin();
    let read_point = pin.read_point();
    let (mut views, mut evaluator) = (Views::default(), Evaluator::default());
    let dn = Some("uid=u7,dc=x".to_owned());
    let who = ::access::Requester { dn: dn.clone(), real: dn, ..::access::Requester::default() };
    let who = classify(&dsa, &who, read_point, (&mut views, &mut evaluator));
    let ids: Vec<_> = entries
        .iter()
        .map(|(dn, _)| read_point.resolve(dn.as_bytes(), &mut evaluator.cache).expect("it was added"))
        .collect();
    let (mut templates, mut out) = (Templates::default(), Vec::new());
    let selectors = Octets::parse(b"").expect("it is a list");
    let mut round = || {
        let begun = Instant::now();
        for id in &ids {
            let entry = read_point.entry(*id).expect("it is there");
            let view = views.of(who, Action::of(Operation::Search), &entry, read_point, &mut evaluator);
            let asked = RequestedSelection { selectors, types_only: false, follows: false, view };
            let chosen = templates.choose(asked, dsa.shard.schema());
            out.clear();
            let writing = (&mut views, who);
            templates.write(&mut out, 1, read_point, &entry, chosen, writing, &mut evaluator.cache, false);
        }
        begun.elapsed().as_nanos() as f64 / ids.len() as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::MAX, f64::min)
}

#[test]
#[ignore = "a measurement"]
fn c3_what_rules_on_values_cost_an_entry() {
    let [people, groups] = people_and_groups();
    let see = "see: all attrs=entry,*; anyone; allow=see";
    for (what, entries, rule) in [
        (
            "a filter on each value",
            &people,
            "v: all attrs=description values=\"(description=1*)\"; users; deny=read rank=1",
        ),
        (
            "an equality on each value",
            &people,
            "v: all attrs=description values=\"(description=x)\"; users; deny=read rank=1",
        ),
        ("the own name among 100", &groups, "v: all attrs=member values=self; users; deny=read rank=1"),
    ] {
        let [without, with] = [ns_of_an_entry(entries, &[see]), ns_of_an_entry(entries, &[see, rule])];
        println!(
            "{what}: {without:.0} ns without, {with:.0} ns with the rule: {:.0} %",
            100.0 * without / with
        );
    }
}
