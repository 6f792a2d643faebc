//! What a group of a million members costs inside the agent: adding and removing one, finding the group of a member
//! against finding an entry by uid, finding the member of a small group by memberOf, and reading it whole.
//! `cargo run --release -p pando-dsa --example group -- [MEMBERS] [change|uid|member|memberof|whole]`: all of them, or the one
//! named.

mod desk;

use desk::{bound_session, directory};
use dsa::{Session, State, Worker};
use env::clock::{Clock, SystemClock};
use model::filter::Assertion;
use model::{Filter, Scope};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::modify::{Changes, ModifyKind, change_list};
use proto::op::{Add, Modify, Search};

const GROUP: &[u8] = b"cn=all,dc=com";
/// Members in one request: a message has a bound.
const PIECE: u64 = 100_000;
const ROUNDS: u64 = 20_000;

fn main() {
    let members: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1_000_000);
    let only = std::env::args().nth(2);
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let dsa = directory(members, &[]);
    let clock = SystemClock::start();
    let (mut worker, mut session) = bound_session(&dsa, &clock);
    fill(&mut session, &mut worker, members);
    let timed = |name: &str, make: &dyn Fn(u64) -> Vec<u8>, session: &mut Session, worker: &mut Worker| {
        let inputs: Vec<Vec<u8>> = (0..ROUNDS).map(|n| make(n.wrapping_mul(0x9e37_79b9) % members)).collect();
        let mut out = Vec::new();
        let start = clock.monotonic_ns();
        for input in &inputs {
            out.clear();
            session.feed(worker, input, &mut out);
        }
        let ns = (clock.monotonic_ns() - start) / ROUNDS;
        println!("{name:28} {ns:6} ns, {} bytes of answer", out.len());
        ns
    };
    if wanted("change") {
        let pair = timed(
            "remove one member, add it",
            &|n| [change(n, ModifyKind::Delete), change(n, ModifyKind::Add)].concat(),
            &mut session,
            &mut worker,
        );
        println!("{:28} {:6} ns", "one of the two", pair / 2);
    }
    let mut lookup = |name: &str, attribute: &[u8], value: &dyn Fn(u64) -> Vec<u8>| {
        timed(name, &|n| find(attribute, &value(n)), &mut session, &mut worker)
    };
    let uid = wanted("uid").then(|| lookup("(uid=N)", b"uid", &|n| n.to_string().into_bytes()));
    let group = wanted("member").then(|| lookup("(member=DN)", b"member", &|n| dn(n).into_bytes()));
    if let (Some(uid), Some(group)) = (uid, group) {
        println!("(member=DN) takes {:.2} times (uid=N)", group as f64 / uid as f64);
    }
    if wanted("memberof") {
        add_small(&mut session, &mut worker, members);
        let mut lookup = |name: &str, attribute: &[u8], value: &dyn Fn(u64) -> String| {
            let make = |n: u64| find(attribute, value(n % SMALL).as_bytes());
            timed(name, &make, &mut session, &mut worker)
        };
        let by_member = lookup("(member=DN), small groups", b"member", &dn);
        let by_group = lookup("(memberOf=GROUP), one member", b"memberOf", &small);
        println!("(memberOf=GROUP) takes {:.2} times (member=DN)", by_group as f64 / by_member as f64);
    }
    if wanted("whole") {
        read_whole(&mut session, &mut worker);
    }
}

fn dn(n: u64) -> String {
    format!("uid={n},dc=com")
}

/// Groups of one member.
const SMALL: u64 = 1_000;

fn small(n: u64) -> String {
    format!("cn=g{n},dc=com")
}

fn add_small(session: &mut Session, worker: &mut Worker, members: u64) {
    for n in 0..SMALL.min(members) {
        let (name, member, mut input) = (small(n), dn(n), Vec::new());
        let attributes = proto::list::attribute_list([
            (&b"objectClass"[..], vec![&b"groupOfNames"[..]]),
            (&b"member"[..], vec![member.as_bytes()]),
        ]);
        let attributes = proto::list::Attributes::parse(&attributes).expect("a list");
        Request::Add(Add { dn: name.as_bytes(), attributes }).encode(&mut input, 2, &[]);
        session.feed(worker, &input, &mut Vec::new());
    }
}

fn fill(session: &mut Session, worker: &mut Worker, members: u64) {
    for first in (0..members).step_by(PIECE as usize) {
        let names: Vec<String> = (first..members.min(first + PIECE)).map(dn).collect();
        let values: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let mut input = Vec::new();
        if first == 0 {
            let classes: &[&[u8]] = &[b"groupOfNames"];
            let attributes = proto::list::attribute_list([
                (&b"objectClass"[..], classes.to_vec()),
                (&b"member"[..], values),
            ]);
            let attributes = proto::list::Attributes::parse(&attributes).expect("a list");
            Request::Add(Add { dn: GROUP, attributes }).encode(&mut input, 2, &[]);
        } else {
            let changes = change_list([(ModifyKind::Add, &b"member"[..], values)]);
            let changes = Changes::parse(&changes).expect("a list");
            Request::Modify(Modify { dn: GROUP, changes }).encode(&mut input, 2, &[]);
        }
        let mut out = Vec::new();
        session.feed(worker, &input, &mut out);
        assert!(out.windows(3).any(|w| w == [10, 1, 0]), "the members were taken");
    }
}

fn change(n: u64, kind: ModifyKind) -> Vec<u8> {
    let member = dn(n);
    let changes = change_list([(kind, &b"member"[..], [member.as_bytes()])]);
    let mut input = Vec::new();
    let changes = Changes::parse(&changes).expect("a list");
    Request::Modify(Modify { dn: GROUP, changes }).encode(&mut input, 3, &[]);
    input
}

fn search(base: &[u8], scope: Scope, filter: Filter<'_>, attributes: &[u8]) -> Vec<u8> {
    let mut input = Vec::new();
    Request::Search(Search::unlimited(base, scope, filter, Octets::parse(attributes).expect("a list")))
        .encode(&mut input, 4, &[]);
    input
}

fn find(attribute: &[u8], value: &[u8]) -> Vec<u8> {
    let filter = Filter::Equality(Assertion { attribute, value });
    search(b"dc=com", Scope::Subtree, filter, &octet_list([&b"1.1"[..]]))
}

/// Reads the group as a client that takes what it is given: how far does the buffer grow?
fn read_whole(session: &mut Session, worker: &mut Worker) {
    let input = search(GROUP, Scope::Base, Filter::Present(b"objectClass"), &octet_list([]));
    let (mut out, mut total, mut longest) = (Vec::new(), 0, 0);
    let mut state = session.feed(worker, &input, &mut out).state;
    loop {
        longest = longest.max(out.len());
        total += out.len();
        out.clear();
        if state != State::Busy {
            break;
        }
        state = session.step(worker, &mut out);
    }
    println!("the whole group: {total} bytes through a buffer of at most {longest}");
}
