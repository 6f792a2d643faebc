//! Durable bundles through sessions and the stepped committer, without threads and sockets: for counting instructions.
//!
//! `committer DIR [SESSIONS] [QUEUE] [ROUNDS] [modify|mixed|transaction] [replica]`: in each round every session sends QUEUE
//! requests, then the committer steps until all have their answers. A modify replaces one value; `mixed` has every other request
//! search for an entry; a transaction (RFC 5805, named by the client) has all modifies of the queue. With `replica` the log is that
//! of a group of one. DIR is new, best on a file system in memory.
//!
//! A request's instructions are the difference between two numbers of rounds:
//! `ulimit -v 125829120; valgrind --tool=callgrind committer DIR 8 100 20`, and 60 in place of 20 in another DIR. Without the limit
//! more address space is reserved than valgrind has.

use consensus::links::NoLinks;
use consensus::{Members, ReplicaId, Retention};
use dsa::{Config, Session, State, Worker};
use env::clock::{Clock as _, SystemClock};
use env::disk::RealDisk;
use env::entropy::SeededEntropy;
use model::{Filter, Scope};
use node::commit::Limits;
use node::data::{Data, Recovered, Replication, Superblock, Wanted};
use proto::control::transaction_specification;
use proto::ext::end_transaction::{self, EndTransaction};
use proto::list::{Attributes, attribute_list};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::bind::{Authentication, Bind};
use proto::op::modify::{Changes, change_list};
use proto::op::{Add, Extended, Modify, ModifyKind, Search};
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const ENTRIES: usize = 20_000;
/// From an entry to the next that a session asks for: sessions of a round have no entry in common.
const STRIDE: usize = 11;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().expect("a new folder is named");
    let mut number = |or: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (sessions, queue, rounds) = (number(8), number(100), number(50));
    let work = arguments.next().unwrap_or_else(|| "modify".to_owned());
    let is_replica = arguments.next().is_some_and(|what| what == "replica");
    let (_data, mut recovered) = directory(Path::new(&dir), is_replica);
    if is_replica {
        // Alone it leads at once; the first step begins its term.
        while !recovered.committer.is_open() {
            recovered.committer.step_at(|| 0, 0).expect("nothing fails");
        }
    }
    let clock = SystemClock::start();
    let mut worker = Worker::new(&recovered.dsa).expect("a reader slot");
    worker.tick(clock.now());
    let mut sessions: Vec<Session> = (0..sessions).map(|_| Session::new(&mut worker)).collect();
    let authentication = Authentication::Simple(b"secret");
    let bind = message(1, &Request::Bind(Bind { version: 3, name: b"cn=root", authentication }));
    for session in &mut sessions {
        session.feed(&mut worker, &bind, &mut Vec::new());
    }
    exchange(&mut recovered, &mut worker, &mut sessions[..1], &[adds()], &clock);
    let of_round = |round| {
        let first = |session| round * 7919 + session * queue * STRIDE;
        (0..sessions.len()).map(|session| bundle(&work, queue, round, first(session))).collect()
    };
    let rounds_of: Vec<Vec<Vec<u8>>> = (0..rounds).map(of_round).collect();
    let begun = clock.monotonic_ns();
    for bundles in &rounds_of {
        exchange(&mut recovered, &mut worker, &mut sessions, bundles, &clock);
    }
    let operations = (rounds * sessions.len() * queue) as u64;
    println!("{operations} requests, {} ns each", (clock.monotonic_ns() - begun) / operations);
    assert!(recovered.committer.applied().0 as usize > rounds / 2, "they were logged");
}

/// Each session sends its bundle, the committer steps, all take their answers.
#[inline(never)]
fn exchange(
    recovered: &mut Recovered,
    worker: &mut Worker,
    sessions: &mut [Session],
    bundles: &[Vec<u8>],
    clock: &SystemClock,
) {
    let mut out = Vec::new();
    let mut rest: Vec<(usize, usize)> = (0..sessions.len()).map(|number| (number, 0)).collect();
    for (number, at) in &mut rest {
        go_on(&mut sessions[*number], worker, &bundles[*number], at, State::Idle, &mut out);
    }
    while !rest.is_empty() {
        recovered.committer.step_at(|| clock.wall_ms(), 0).expect("nothing fails");
        while let Some(preparation) = recovered.committer.log().wanted() {
            recovered.committer.log().prepared(preparation.run());
        }
        rest.retain_mut(|(number, at)| {
            let session = &mut sessions[*number];
            let cx = &mut Context::from_waker(Waker::noop());
            match session.poll_updates(worker, cx, &mut out) {
                Poll::Pending => true,
                Poll::Ready(state) => go_on(session, worker, &bundles[*number], at, state, &mut out),
            }
        });
    }
}

/// Goes on until the session waits for its updates: `true`, or until it has answered everything.
fn go_on(
    session: &mut Session,
    worker: &mut Worker,
    bundle: &[u8],
    at: &mut usize,
    mut state: State,
    out: &mut Vec<u8>,
) -> bool {
    loop {
        out.clear();
        state = match state {
            State::Waiting => return true,
            State::Idle if *at == bundle.len() => return false,
            State::Idle => {
                let feed = session.feed(worker, &bundle[*at..], out);
                *at += feed.consumed;
                feed.state
            }
            State::Busy => session.step(worker, out),
            State::Close | State::Secure => panic!("the session was closed"),
        };
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

/// Requests for `count` entries, the first of them at `first` of all.
fn bundle(work: &str, count: usize, round: usize, first: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (identifier, none) = (&b"one"[..], octet_list([&b"1.1"[..]]));
    let controls = [transaction_specification::control(identifier)];
    let controls = if work == "transaction" { &controls[..] } else { &[] };
    for n in 0..count {
        let (dn, value) =
            (format!("cn={},dc=com", (first + n * STRIDE) % ENTRIES + 1), format!("{round:08}"));
        let list = change_list([(ModifyKind::Replace, &b"serialNumber"[..], [value.as_bytes()].into_iter())]);
        let changes = Changes::parse(&list).expect("just encoded");
        let selection = Octets::parse(&none).expect("just encoded");
        let request = match (work, n % 2) {
            ("mixed", 0) => {
                let filter = Filter::Present(b"objectClass");
                Request::Search(Search::unlimited(dn.as_bytes(), Scope::Base, filter, selection))
            }
            _ => Request::Modify(Modify { dn: dn.as_bytes(), changes }),
        };
        request.encode(&mut bytes, n as i32 + 1, controls);
    }
    if work == "transaction" {
        let value = EndTransaction { commit: true, identifier }.encode();
        let end = Extended { oid: end_transaction::OID, value: Some(&value) };
        Request::Extended(end).encode(&mut bytes, count as i32 + 1, &[]);
    }
    bytes
}

fn directory(dir: &Path, is_replica: bool) -> (Data, Recovered) {
    let schema = schema::Builder::new().standard().build().expect("sound");
    let data = Data::open(Arc::new(RealDisk), dir).expect("nobody has it");
    let superblock = Superblock {
        key: [1, 2, 3, 4],
        site: 0,
        operational_attributes: true,
        initial_owner: "cn=root".to_owned(),
    };
    let superblock = data.initialise(&superblock).expect("it is new");
    let store = store::Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 512 << 20,
        operational_attributes: true,
        schema_check: true,
        initial_owner: superblock.initial_owner,
        key: superblock.key,
        site: superblock.site,
        removals_max: store::REMOVALS_MAX,
    };
    let mut settings = dsa::settings::Start::default();
    // A transaction begins with the first update that names it.
    settings.configured.transactions.implicit_begin = true;
    settings.configured.passwords.schemes = vec![dsa::config::Scheme::SaltedSha1];
    let config = Config {
        store,
        root_dn: Some("cn=root".to_owned()),
        root_password: Some(b"secret".to_vec()),
        offers_tls: false,
        peers: Default::default(),
        tokens: None,
        principals: None,
        queue_length_oid: None,
        settings,
        version: "bench".to_owned(),
        started_ms: 0,
        schema_since_ms: 0,
    };
    let limits = Limits { snapshot_after: None, snapshot_interval_ms: None };
    let (schema, log) = (Arc::new(schema), wal::Settings::default());
    let mut entropies = [1, 2].map(SeededEntropy::new);
    let [first, second] = entropies.each_mut().map(|entropy| Wanted {
        config: config.clone(),
        schema: Arc::clone(&schema),
        log,
        limits,
        entropy,
        accept_difference: false,
        settings: None,
    });
    let recovered = match is_replica {
        false => data.recover(first, &mut |_| ()).expect("it is new"),
        true => {
            let id = ReplicaId(1);
            data.begin_replication(first, Members::of_voters([id])).expect("it is new");
            let alone = Replication { id, links: Box::new(NoLinks), retention: Retention::default() };
            data.recover_replica(second, alone, &mut |_| ()).expect("it was just made")
        }
    };
    (data, recovered)
}
