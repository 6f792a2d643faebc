//! What clients may take of the server together: suspended searches, memory for filters, long messages.

mod common;

use common::{Client, START, What, chosen, config, search_for, selection};
use dsa::config::Security;
use dsa::limits::ClientLimits;
use dsa::{Anonymous, Session, State, Worker};
use model::{Filter, ResultCode, Scope};
use proto::Request;
use std::net::SocketAddr;

/// A search that outlives its bundle, of a filter with so many items, in bytes.
fn long_search(id: i32, items: usize) -> Vec<u8> {
    let list = selection(&["1.1"]);
    let item = Filter::Present(b"objectClass");
    let filter = Filter::And(vec![item; items]);
    let mut bytes = Vec::new();
    Request::Search(search_for("dc=example", Scope::Subtree, filter, &list)).encode(&mut bytes, id, &[]);
    bytes
}

/// A directory that anybody may read, with more entries than a slice has.
fn planted(mut clients: ClientLimits) -> Client {
    clients.memory_bytes_max.get_or_insert(256 << 20);
    // The clients come from other hosts, and bind in the clear.
    let security = Security { password_strength: Some(0), ..Security::default() };
    let mut client = Client::with(chosen(config(), |c| {
        (c.standing.anonymous, c.security, c.limits.clients) = (Anonymous::Read, security, clients);
    }));
    for number in 0..1100 {
        client.must_add(
            &format!("cn={number},ou=people,dc=example"),
            &[("objectClass", &["person"]), ("sn", &["x"])],
        );
    }
    client
}

fn connect(worker: &mut Worker, last: u8) -> Session {
    Session::connect(worker, Some(SocketAddr::from(([10, 0, 0, last], 50_000)).into()), Default::default())
        .expect("it has few")
}

/// Codes of the searches that ended.
fn codes(out: &[u8]) -> Vec<ResultCode> {
    let ends = common::answers(out).into_iter().filter_map(|answer| match answer.what {
        What::End(end) => Some(end.code),
        _ => None,
    });
    ends.collect()
}

#[test]
fn searches_of_anonymous_clients_leave_some_to_others() {
    let client = planted(ClientLimits::default());
    let mut worker = Worker::new(&client.dsa).expect("there are few readers");
    worker.tick(START);
    let mut sessions: Vec<(Session, usize)> = Vec::new();
    for n in 0..40 {
        let mut session = connect(&mut worker, 1 + n % 2);
        let input: Vec<u8> = (1..=64).flat_map(|id| long_search(id, 1)).collect();
        let (mut out, mut at) = (Vec::new(), 0);
        while at < input.len() {
            at += session.feed(&mut worker, &input[at..], &mut out).consumed;
        }
        sessions.push((session, codes(&out).len()));
    }
    let refused: usize = sessions.iter().map(|(_, refused)| refused).sum();
    assert_eq!(40 * 64 - refused, 1024, "anonymous clients of two addresses have half of all searches");
    let mut root = connect(&mut worker, 1);
    let (mut bind, mut out) = (Vec::new(), Vec::new());
    common::bind(common::ROOT_DN, common::PASSWORD).encode(&mut bind, 1, &[]);
    root.feed(&mut worker, &[bind, long_search(2, 1)].concat(), &mut out);
    assert_eq!(codes(&out), [ResultCode::Success], "of the bind; the search is active");
    // Snapshots and index builds have readers.
    assert!(store::Reader::register(client.dsa.shard()).is_some());
    for (session, _) in sessions {
        session.close(&mut worker);
    }
    let (mut again, mut out) = (connect(&mut worker, 1), Vec::new());
    assert_eq!(again.feed(&mut worker, &long_search(1, 1), &mut out).state, State::Busy);
}

#[test]
fn filters_of_searches_in_progress_have_a_bound() {
    let limits = ClientLimits { memory_bytes_max: Some(8 << 20), ..ClientLimits::default() };
    let client = planted(limits);
    let mut worker = Worker::new(&client.dsa).expect("there are few readers");
    worker.tick(START);
    let (mut session, mut out) = (connect(&mut worker, 1), Vec::new());
    // Some 130 bytes an item: a share of 1 MiB has room for a few.
    for id in 1..=20 {
        session.feed(&mut worker, &long_search(id, 2000), &mut out);
    }
    let busy = codes(&out).into_iter().filter(|code| *code == ResultCode::Busy).count();
    assert!((12..20).contains(&busy), "{busy} of 20 are refused");
    assert!(client.dsa.client_memory().bytes() <= 1 << 20);
    // What is short goes on.
    let mut out = Vec::new();
    session.feed(&mut worker, &long_search(21, 1), &mut out);
    assert_eq!(codes(&out), []);
    session.close(&mut worker);
    assert_eq!(client.dsa.client_memory().bytes(), 0);
}

/// Nothing that a client could read follows the half of a message.
#[test]
fn a_search_that_is_ended_within_an_entry_ends_its_session() {
    let mut client = planted(ClientLimits::default());
    let members: Vec<String> = (0..20_000).map(|n| format!("cn={n:030},dc=example")).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    client.must_add("cn=big,dc=example", &[("objectClass", &["groupOfNames"]), ("member", &members)]);
    let mut worker = Worker::new(&client.dsa).expect("there are few readers");
    worker.tick(START);
    let (mut session, mut out, mut input) = (connect(&mut worker, 1), Vec::new(), Vec::new());
    let list = selection(&["member"]);
    let filter = Filter::Present(b"objectClass");
    let search = search_for("cn=big,dc=example", Scope::Base, filter, &list);
    Request::Search(search).encode(&mut input, 1, &[]);
    assert_eq!(session.feed(&mut worker, &input, &mut out).state, State::Busy);
    let revoked = client.dsa.shard().revoke_before(u64::MAX);
    assert_eq!(revoked.first().and_then(|search| search.holder.peer?.ip()), "10.0.0.1".parse().ok());
    out.clear();
    assert_eq!((session.step(&mut worker, &mut out), out.len()), (State::Close, 0));
}

#[test]
fn a_client_that_has_not_bound_sends_no_long_messages() {
    let client = planted(ClientLimits::default());
    let mut worker = Worker::new(&client.dsa).expect("there are few readers");
    worker.tick(START);
    // The head of a message of 1 MiB.
    let head = [0x30, 0x84, 0, 0x10, 0, 0, 2, 1];
    let (mut session, mut out) = (connect(&mut worker, 1), Vec::new());
    assert_eq!(session.feed(&mut worker, &head, &mut out).state, State::Close);
    assert!(
        matches!(&common::answers(&out)[0].what, What::End(end) if end.code == ResultCode::ProtocolError)
    );
    let (mut session, mut out) = (connect(&mut worker, 1), Vec::new());
    let mut input = Vec::new();
    common::bind(common::ROOT_DN, common::PASSWORD).encode(&mut input, 1, &[]);
    input.extend_from_slice(&head);
    let feed = session.feed(&mut worker, &input, &mut out);
    assert_eq!((feed.state, feed.needed), (State::Idle, (1 << 20) + 6), "a bound client may");
}
