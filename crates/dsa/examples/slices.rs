//! How long a search holds its thread at a time: steps searches that are dear for one entry and tells the median and the
//! longest of their slices, in microseconds. `cargo run --release -p pando-dsa --example slices -- [ONLY]`

mod desk;

use desk::{bound_session, directory};
use dsa::State;
use env::clock::{Clock, SystemClock};
use model::{Entry, Scope};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::Search;
use store::{Add, Stamp};

const BIG: &str = "cn=big,dc=com";
/// Slices that are looked at.
const SLICES: usize = 2000;

/// A name, an attribute with its values, and the items of the filter.
type Case<'c> = (&'c str, &'c str, &'c [String], &'c dyn Fn(usize) -> String);

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let ids: Vec<String> = (0..200_000).map(|n| format!("member{n:06}")).collect();
    let members: Vec<String> = (0..100_000).map(|n| format!("uid=user{n:06},ou=people,dc=com")).collect();
    let words: Vec<String> = (0..200_000).map(|n| format!("größte Übung {n}, äöüß")).collect();
    let (one, long) = (vec!["abcdefghij".repeat(100_000)], vec!["a".repeat(14 << 20)]);
    let foreign = vec!["größte Übung ".repeat(70_000)];
    let cases: [Case<'_>; 8] = [
        ("substrings", "carLicense", &ids, &|n| format!("(carLicense=*x{n}*)")),
        ("not and", "carLicense", &ids, &|n| format!("(&(!(carLicense=*x{n}*))(carLicense=*y{n}*))")),
        ("other rule", "carLicense", &ids, &|n| format!("(:caseExactMatch:=x{n})")),
        ("DNs", "member", &members, &|n| format!("(member:dn:=uid=x{n})")),
        ("other text", "carLicense", &words, &|n| format!("(carLicense=*ä{n}*)")),
        ("a megabyte", "carLicense", &one, &|n| format!("(carLicense=*{}{n}*)", "defghijabc".repeat(9))),
        ("all the same", "carLicense", &long, &|n| format!("(carLicense=*{}b{n}*)", "a".repeat(1000))),
        ("other megabyte", "carLicense", &foreign, &|n| format!("(carLicense=*ä{n}*)")),
    ];
    for (name, attribute, values, item) in cases.into_iter().filter(|case| case.0.contains(&wanted)) {
        let text = format!("(|{})", (0..500).map(item).collect::<String>());
        let mut took = slices(attribute, values, &text);
        took.sort_unstable();
        let (median, longest) = (took[took.len() / 2] / 1000, took[took.len() - 1] / 1000);
        println!("{name:15} {:5} slices, median {median:6} us, longest {longest:6} us", took.len());
    }
}

/// Nanoseconds of each slice of a search for one entry that has so many values.
fn slices(attribute: &str, values: &[String], filter: &str) -> Vec<u64> {
    let dsa = directory(10, &[]);
    let shard = dsa.shard();
    let mut writer = shard.writer();
    let mut entry = Entry::new();
    let mut put = |name: &str, values: &[String]| {
        entry.push_attribute(shard.schema().intern_description(name.as_bytes()).expect("known"));
        values.iter().for_each(|value| entry.push_value(value.as_bytes()));
    };
    put("objectClass", &["groupOfNames", "extensibleObject"].map(str::to_owned));
    put(attribute, values);
    if attribute != "member" {
        put("member", &[BIG.to_owned()]);
    }
    let stamp = Stamp { csn: writer.stamp(1_767_323_045_000), actor: 0 };
    writer.add(Add { dn: BIG.as_bytes(), entry: &mut entry, keep_operational: false }, stamp).expect("valid");
    writer.publish();
    let clock = SystemClock::start();
    let (mut worker, mut session) = bound_session(&dsa, &clock);
    let (filter, none) = (proto::filter_string::parse(filter.as_bytes()).expect("valid"), octet_list([]));
    let selection = Octets::parse(&none).expect("a list");
    let search = Search::unlimited(BIG.as_bytes(), Scope::Base, filter.filter(), selection);
    let (mut input, mut out, mut took) = (Vec::new(), Vec::new(), Vec::new());
    Request::Search(search).encode(&mut input, 2, &[]);
    let mut begun = clock.monotonic_ns();
    let mut state = session.feed(&mut worker, &input, &mut out).state;
    took.push(clock.monotonic_ns() - begun);
    while state == State::Busy && took.len() < SLICES {
        begun = clock.monotonic_ns();
        state = session.step(&mut worker, &mut out);
        took.push(clock.monotonic_ns() - begun);
    }
    took
}
