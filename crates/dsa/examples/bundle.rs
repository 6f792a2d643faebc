//! What one request costs inside the agent, without sockets: feeds bundles to a session and times them.
//! `cargo run --release -p pando-dsa --example bundle -- [ENTRIES] [QUEUE] [ONLY] [ROUNDS]`

mod desk;

use desk::{bound_session, directory};
use env::clock::{Clock, SystemClock};
use model::{Filter, Scope};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::modify::{Changes, ModifyKind, change_list};
use proto::op::{Modify, Search};

fn main() {
    let argument = |n: usize, or: u64| std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(or);
    let (entries, queue) = (argument(1, 1_000_000), argument(2, 1000));
    let dsa = directory(entries, &[]);
    let clock = SystemClock::start();
    let (mut worker, mut session) = bound_session(&dsa, &clock);
    let mut out = Vec::new();
    let rounds = argument(4, 8);
    let wanted = std::env::args().nth(3).unwrap_or_default();
    for name in
        ["base 1.1", "base all", "equality", "modify"].into_iter().filter(|name| name.contains(&wanted))
    {
        let bundles: Vec<Vec<u8>> = (0..200).map(|n| bundle(name, entries, queue, n)).collect();
        let mut best = u64::MAX;
        for _ in 0..rounds {
            let start = clock.monotonic_ns();
            for input in &bundles {
                let mut at = 0;
                while at < input.len() {
                    out.clear();
                    let feed = session.feed(&mut worker, &input[at..], &mut out);
                    at += feed.consumed;
                }
            }
            best = best.min((clock.monotonic_ns() - start) / (200 * queue));
        }
        println!("{name:10} {best:5} ns/operation, {} bytes in the last answer", out.len());
    }
}

fn bundle(name: &str, entries: u64, queue: u64, seed: u64) -> Vec<u8> {
    let mut input = Vec::new();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let (none, all) = (octet_list([&b"1.1"[..]]), octet_list([]));
    for id in 0..queue {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let key = (state % entries).to_string();
        let dn = format!("uid={key},dc=com");
        let search = |base, scope, filter, raw| {
            let selection = Octets::parse(raw).expect("a list");
            Request::Search(Search::unlimited(base, scope, filter, selection))
        };
        let value = vec![b'x'; 8 + (state >> 40) as usize % 93];
        let changes = change_list([(ModifyKind::Replace, &b"carLicense"[..], [&value[..]])]);
        let equality =
            Filter::Equality(model::filter::Assertion { attribute: b"uid", value: key.as_bytes() });
        let request = match name {
            "base 1.1" => search(dn.as_bytes(), Scope::Base, Filter::Present(b"objectClass"), &none),
            "base all" => search(dn.as_bytes(), Scope::Base, Filter::Present(b"objectClass"), &all),
            "equality" => search(b"dc=com", Scope::Subtree, equality, &none),
            _ => Request::Modify(Modify {
                dn: dn.as_bytes(),
                changes: Changes::parse(&changes).expect("a list"),
            }),
        };
        request.encode(&mut input, id as i32 + 1000, &[]);
    }
    input
}
