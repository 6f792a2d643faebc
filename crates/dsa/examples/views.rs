//! What twenty entries of a sorted list cost, beside an unsorted search that returns as many: inside the agent, without sockets.
//! `cargo run --release -p pando-dsa --example views -- [ENTRIES] [QUEUE] [ROUNDS]`
//!
//! The kinds take turns in each round, and of each the median round counts. With adds, an entry is added after each bundle for each millisecond that the
//! bundle has taken, which is not measured: a thousand in a second, which move the positions.

mod desk;

use desk::{bound_session, directory};
use dsa::{Session, State, Worker};
use env::clock::{Clock, SystemClock};
use model::filter::Assertion;
use model::{Filter, Scope};
use proto::control::Control;
use proto::control::paged_results::{self, PagedResults};
use proto::control::sort::{self, SortKey};
use proto::control::virtual_list_view::{self, Target, VirtualListView};
use proto::list::{Attributes, Octets, attribute_list, octet_list};
use proto::message::Request;
use proto::op::{Add, Search};

/// Entries of a page.
const PAGE: u64 = 20;
/// Bundles of a round.
const BUNDLES: u64 = 20;
const KINDS: [&str; 6] =
    ["twenty values", "unsorted page", "sorted page", "reverse page", "view by offset", "view by value"];

fn main() {
    let argument = |n: usize, or: u64| std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(or);
    let (entries, queue, rounds) = (argument(1, 1_000_000), argument(2, 100), argument(3, 9));
    let dsa = directory(entries, &["uid"]);
    let clock = SystemClock::start();
    let (mut worker, mut session) = bound_session(&dsa, &clock);
    let (mut out, mut added) = (Vec::new(), 0);
    for adds in [false, true] {
        let mut times = KINDS.map(|_| Vec::new());
        for round in 0..rounds {
            for (kind, times) in KINDS.iter().zip(&mut times) {
                let mut spent = 0;
                for n in 0..BUNDLES {
                    let input = bundle(kind, entries, queue, round * BUNDLES + n);
                    let start = clock.monotonic_ns();
                    feed(&mut session, &mut worker, &input, &mut out);
                    let took = clock.monotonic_ns() - start;
                    spent += took;
                    for _ in 0..if adds { took / 1_000_000 + 1 } else { 0 } {
                        added += 1;
                        feed(&mut session, &mut worker, &add(entries, added), &mut out);
                    }
                }
                times.push(spent / (BUNDLES * queue));
            }
        }
        let medians = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        println!("{entries} entries, queue {queue}, {}", if adds { "1000 adds/s" } else { "no adds" });
        for (kind, median) in KINDS.iter().zip(medians) {
            let ratio = |of: usize| median as f64 / medians[of] as f64;
            println!("{kind:15} {median:7} ns, {:5.2} x values, {:5.2} x page", ratio(0), ratio(1));
        }
    }
    println!("{added} entries were added");
}

/// Gives a bundle to the session, until all of it is answered.
fn feed(session: &mut Session, worker: &mut Worker, input: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while at < input.len() {
        out.clear();
        let feed = session.feed(worker, &input[at..], out);
        at += feed.consumed;
        let mut state = feed.state;
        while state == State::Busy {
            out.clear();
            state = session.step(worker, out);
        }
    }
}

fn equal(value: &str) -> Filter<'_> {
    Filter::Equality(Assertion { attribute: b"uid", value: value.as_bytes() })
}

/// An entry in the middle of the list.
fn add(entries: u64, n: u64) -> Vec<u8> {
    let dn = format!("uid={}x{n},dc=com", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % entries);
    let list = attribute_list([
        (&b"objectClass"[..], [&b"inetOrgPerson"[..]]),
        (&b"carLicense"[..], [&b"AA-00000"[..]]),
    ]);
    let attributes = Attributes::parse(&list).expect("a list");
    let mut input = Vec::new();
    Request::Add(Add { dn: dn.as_bytes(), attributes }).encode(&mut input, 1, &[]);
    input
}

fn bundle(kind: &str, entries: u64, queue: u64, seed: u64) -> Vec<u8> {
    let mut input = Vec::new();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let none = octet_list([&b"1.1"[..]]);
    let by = |reverse| sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse }]);
    let (ascending, descending) = (by(false), by(true));
    let mut page = Vec::new();
    PagedResults { size: PAGE as i32, cookie: b"" }.encode(&mut page);
    let paged = Control { oid: paged_results::OID, critical: true, value: Some(&page) };
    for id in 0..queue {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = state % (entries - PAGE);
        let values: Vec<String> = (at..at + PAGE).map(|n| n.to_string()).collect();
        let target = match kind {
            "view by value" => Target::AtLeast(values[0].as_bytes()),
            _ => Target::ByOffset { offset: at as i32 + 1, content_count: 0 },
        };
        let view =
            VirtualListView { before_count: 0, after_count: PAGE as i32 - 1, target, context_id: None };
        let view = view.encode();
        let sorted = sort::control(&ascending, true);
        let view = virtual_list_view::control(&view, true);
        let filter = match kind {
            "twenty values" => Filter::Or(values.iter().map(|value| equal(value)).collect()),
            _ => Filter::Present(b"uid"),
        };
        let controls = match kind {
            "twenty values" => vec![],
            "unsorted page" => vec![paged],
            "sorted page" => vec![sorted, paged],
            "reverse page" => vec![sort::control(&descending, true), paged],
            _ => vec![sorted, view],
        };
        let selection = Octets::parse(&none).expect("a list");
        let search = Search::unlimited(b"dc=com", Scope::Subtree, filter, selection);
        Request::Search(search).encode(&mut input, id as i32 + 1000, &controls);
    }
    input
}
