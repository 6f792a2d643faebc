//! What twenty entries of a sorted list cost, beside an unsorted search that returns as many: inside the agent, without sockets.
//! `cargo run --release -p pando-dsa --example views -- [ENTRIES] [QUEUE] [ROUNDS] [KIND]`
//!
//! With a kind there is that one alone, and without adds, which is for profilers.
//!
//! The kinds take turns in each round, and of each the median round counts. With adds, an entry is added after each bundle for each millisecond that the
//! bundle has taken, which is not measured: a thousand in a second, which move the positions. Later pages begin at places all over the list.

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
use proto::message::{Frame, Reply, Request, frame};
use proto::op::{Add, Search};

/// Entries of a page.
const PAGE: u64 = 20;
/// Bundles of a round.
const BUNDLES: u64 = 20;
/// Places where later pages begin.
const PLACES: u64 = 500;
const KINDS: [&str; 9] = [
    "twenty values",
    "unsorted page",
    "sorted page",
    "reverse page",
    "view by offset",
    "view by value",
    "later unsorted",
    "later sorted",
    "later reverse",
];

fn main() {
    let argument = |n: usize, or: u64| std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(or);
    let (entries, queue, rounds) = (argument(1, 1_000_000), argument(2, 100), argument(3, 9));
    let only = std::env::args().nth(4);
    let dsa = directory(entries, &["uid"]);
    let clock = SystemClock::start();
    let (mut worker, mut session) = bound_session(&dsa, &clock);
    let (mut out, mut added) = (Vec::new(), 0);
    let cookies = KINDS.map(|kind| cookies(kind, (&mut session, &mut worker), entries, &mut out));
    for adds in if only.is_some() { &[false][..] } else { &[false, true] } {
        let mut times = KINDS.map(|_| Vec::new());
        for round in 0..rounds {
            for ((kind, cookies), times) in KINDS.iter().zip(&cookies).zip(&mut times) {
                if only.as_ref().is_some_and(|only| only != kind) {
                    continue;
                }
                let mut spent = 0;
                for n in 0..BUNDLES {
                    let input = bundle((kind, cookies), entries, queue, round * BUNDLES + n);
                    let start = clock.monotonic_ns();
                    feed(&mut session, &mut worker, &input, &mut out);
                    let took = clock.monotonic_ns() - start;
                    spent += took;
                    for _ in 0..if *adds { took / 1_000_000 + 1 } else { 0 } {
                        added += 1;
                        feed(&mut session, &mut worker, &add(entries, added), &mut out);
                    }
                }
                times.push(spent / (BUNDLES * queue));
            }
        }
        let medians = times.map(|mut times| {
            times.sort_unstable();
            times.get(times.len() / 2).copied().unwrap_or_default()
        });
        println!("{entries} entries, queue {queue}, {}", if *adds { "1000 adds/s" } else { "no adds" });
        for (kind, median) in KINDS.iter().zip(medians) {
            let ratio = |of: usize| median as f64 / medians[of] as f64;
            let of_pages = format!("{:5.2} x page, {:5.2} x later", ratio(1), ratio(6));
            println!("{kind:15} {median:7} ns, {:5.2} x values, {of_pages}", ratio(0));
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

/// A sort control's value.
fn by(reverse: bool) -> Vec<u8> {
    sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse }])
}

/// The cookies of long pages of the whole list: where later pages begin. None of kinds that have no such pages.
fn cookies(
    kind: &str,
    (session, worker): (&mut Session, &mut Worker),
    entries: u64,
    out: &mut Vec<u8>,
) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    if !kind.starts_with("later") {
        return all;
    }
    let size = (entries / PLACES).max(1) as i32;
    loop {
        let cookie = all.last().map_or(&b""[..], |cookie: &Vec<u8>| cookie);
        let mut input = Vec::new();
        search(&mut input, 1, Filter::Present(b"uid"), &page(kind, size, cookie));
        feed(session, worker, &input, out);
        // The last output has the end of the search.
        let mut rest = &out[..];
        let mut next = Vec::new();
        while let Ok(Frame::Complete { len }) = frame(rest) {
            let reply = Reply::decode(&rest[..len]).expect("an answer");
            let mut controls = reply.controls.iter();
            if let Some(paged) = controls.find(|control| control.oid == paged_results::OID) {
                next = PagedResults::decode(paged.value.expect("a value")).expect("a page").cookie.to_vec();
            }
            rest = &rest[len..];
        }
        if next.is_empty() {
            return all;
        }
        all.push(next);
    }
}

/// The controls of a page: values are owned.
fn page(kind: &str, size: i32, cookie: &[u8]) -> Vec<(&'static [u8], Vec<u8>)> {
    let mut value = Vec::new();
    PagedResults { size, cookie }.encode(&mut value);
    let mut controls = vec![(paged_results::OID, value)];
    match kind {
        "sorted page" | "later sorted" => controls.push((sort::OID, by(false))),
        "reverse page" | "later reverse" => controls.push((sort::OID, by(true))),
        _ => {}
    }
    controls
}

fn search(input: &mut Vec<u8>, id: i32, filter: Filter<'_>, controls: &[(&'static [u8], Vec<u8>)]) {
    let none = octet_list([&b"1.1"[..]]);
    let selection = Octets::parse(&none).expect("a list");
    let controls: Vec<Control<'_>> =
        controls.iter().map(|(oid, value)| Control { oid, critical: true, value: Some(value) }).collect();
    let search = Search::unlimited(b"dc=com", Scope::Subtree, filter, selection);
    Request::Search(search).encode(input, id, &controls);
}

fn bundle((kind, cookies): (&str, &[Vec<u8>]), entries: u64, queue: u64, seed: u64) -> Vec<u8> {
    let mut input = Vec::new();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
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
        let filter = match kind {
            "twenty values" => Filter::Or(values.iter().map(|value| equal(value)).collect()),
            _ => Filter::Present(b"uid"),
        };
        let cookie = cookies.get(at as usize % cookies.len().max(1)).map_or(&b""[..], |cookie| cookie);
        let controls = match kind {
            "twenty values" => vec![],
            "view by offset" | "view by value" => {
                vec![(sort::OID, by(false)), (virtual_list_view::OID, view.encode())]
            }
            _ => page(kind, PAGE as i32, cookie),
        };
        search(&mut input, id as i32 + 1000, filter, &controls);
    }
    input
}
