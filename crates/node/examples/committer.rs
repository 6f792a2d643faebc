//! Durable modifies through the stepped committer, without threads and sockets: for counting instructions.
//!
//! `committer DIR SESSIONS QUEUE ROUNDS`: in each round every session hands over QUEUE modifies of one value, then the
//! committer steps once and all take their answers. DIR is new, best on a file system in memory. The committer's part:
//! `valgrind --tool=callgrind --toggle-collect='node::commit::Committer::step_at*' committer DIR 8 100 50`.

use dsa::config::SearchLimits;
use dsa::{Anonymous, Config, Session, State, Worker};
use env::clock::{Clock as _, SystemClock};
use env::disk::RealDisk;
use env::entropy::SeededEntropy;
use node::commit::Limits;
use node::data::{Data, Founding, Recovered, Wanted};
use proto::list::{Attributes, attribute_list};
use proto::message::Request;
use proto::op::bind::{Authentication, Bind};
use proto::op::modify::{Changes, change_list};
use proto::op::{Add, Modify, ModifyKind};
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Waker};

const ENTRIES: usize = 1000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().expect("a new folder is named");
    let mut number = |or: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (sessions, queue, rounds) = (number(8), number(100), number(50));
    let (_data, mut recovered) = directory(Path::new(&dir));
    let clock = SystemClock::start();
    let mut worker = Worker::new(&recovered.dsa).expect("a reader slot");
    worker.tick(clock.now());
    let mut sessions: Vec<Session> = (0..sessions).map(|_| Session::new(&mut worker)).collect();
    let authentication = Authentication::Simple(b"secret");
    let bind = message(1, &Request::Bind(Bind { version: 3, name: b"cn=root", authentication }));
    for session in &mut sessions {
        session.feed(&mut worker, &bind, &mut Vec::new());
    }
    exchange(&mut recovered, &mut worker, &mut sessions[..1], &adds(), &clock);
    let begun = clock.monotonic_ns();
    for round in 0..rounds {
        let bundle = modifies(queue, round);
        exchange(&mut recovered, &mut worker, &mut sessions, &bundle, &clock);
    }
    let operations = (rounds * sessions.len() * queue) as u64;
    println!("{operations} modifies, {} ns each", (clock.monotonic_ns() - begun) / operations);
    assert!(recovered.committer.applied().0 as usize > rounds / 2, "they were logged");
}

/// All sessions send the same, the committer steps, all take their answers.
fn exchange(
    recovered: &mut Recovered,
    worker: &mut Worker,
    sessions: &mut [Session],
    bundle: &[u8],
    clock: &SystemClock,
) {
    let mut rest: Vec<(usize, usize)> = Vec::new();
    let mut out = Vec::new();
    for (number, session) in sessions.iter_mut().enumerate() {
        let feed = session.feed(worker, bundle, &mut out);
        assert!(feed.state == State::Waiting, "updates wait for the log");
        rest.push((number, feed.consumed));
    }
    while !rest.is_empty() {
        recovered.committer.step_at(|| clock.wall_ms(), 0).expect("nothing fails");
        while let Some(preparation) = recovered.committer.log().wanted() {
            recovered.committer.log().prepared(preparation.run());
        }
        rest.retain_mut(|(number, at)| {
            out.clear();
            let session = &mut sessions[*number];
            let cx = &mut Context::from_waker(Waker::noop());
            if session.poll_updates(worker, cx, &mut out).is_pending() {
                return true;
            }
            let feed = session.feed(worker, &bundle[*at..], &mut out);
            *at += feed.consumed;
            feed.state == State::Waiting
        });
    }
}

fn message(id: i32, request: &Request<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    request.encode(&mut bytes, id, &[]);
    bytes
}

fn adds() -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in 0..=ENTRIES {
        let name = n.to_string();
        let (dn, attributes) = match n {
            0 => ("dc=com".to_owned(), vec![("objectClass", "domain"), ("dc", "com")]),
            _ => (
                format!("cn={n},dc=com"),
                vec![("objectClass", "device"), ("cn", &name[..]), ("serialNumber", "0")],
            ),
        };
        let list =
            attribute_list(attributes.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()])));
        let attributes = Attributes::parse(&list).expect("just encoded");
        Request::Add(Add { dn: dn.as_bytes(), attributes }).encode(&mut bytes, n as i32 + 1, &[]);
    }
    bytes
}

fn modifies(count: usize, round: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in 0..count {
        let (dn, value) =
            (format!("cn={},dc=com", (round * 37 + n * 11) % ENTRIES + 1), format!("{round:08}"));
        let list = change_list([(ModifyKind::Replace, &b"serialNumber"[..], [value.as_bytes()].into_iter())]);
        let changes = Changes::parse(&list).expect("just encoded");
        Request::Modify(Modify { dn: dn.as_bytes(), changes }).encode(&mut bytes, n as i32 + 1, &[]);
    }
    bytes
}

fn directory(dir: &Path) -> (Data, Recovered) {
    let schema = schema::Builder::new().standard().build().expect("sound");
    let data = Data::open(Arc::new(RealDisk), dir).expect("nobody has it");
    let founding =
        Founding { key: [1, 2, 3, 4], site: 0, operational_attributes: true, founder: "cn=root".to_owned() };
    let founding = data.found(&founding).expect("it is new");
    let store = store::Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 1 << 30,
        operational_attributes: true,
        schema_check: true,
        founder: founding.founder,
        key: founding.key,
        site: founding.site,
        removals_max: store::REMOVALS_MAX,
    };
    let config = Config {
        store,
        root_dn: Some("cn=root".to_owned()),
        root_password: Some(b"secret".to_vec()),
        proxies: Vec::new(),
        writers: Vec::new(),
        password_scheme: Default::default(),
        anonymous: Anonymous::None,
        limits: SearchLimits::default(),
        queue_length_oid: None,
        settings: Default::default(),
        version: "bench".to_owned(),
        started_ms: 0,
        schema_since_ms: 0,
        clients: Default::default(),
    };
    let limits = Limits { memory_bytes_max: 512 << 20, snapshot_after: None, snapshot_interval_ms: None };
    let mut entropy = SeededEntropy::new(1);
    let (schema, log) = (Arc::new(schema), wal::Settings::default());
    let wanted = Wanted { config, schema, log, limits, entropy: &mut entropy, accept_difference: false };
    let recovered = data.recover(wanted, &mut |_| ()).expect("it is new");
    (data, recovered)
}
