//! Thousands of sessions that send updates while the log stands still: what is kept of them is bounded, none is refused,
//! and each has its turn.

mod common;

use common::journal::{Fixture, commit};
use common::{Client, START, What, changes_of, config};
use dsa::journal::Journal;
use dsa::{Applier, Config, Dsa, Session, State, Worker};
use model::{ResultCode, Scope};
use proto::Request;
use proto::op::modify::Changes;
use proto::op::{Modify, ModifyKind};
use std::sync::Arc;
use std::task::{Context, Waker};

/// Bytes that the server reads at a time.
const READ_BYTES: usize = 256 << 10;
/// Updates that each client sends.
const UPDATES: usize = 600;

/// A connection: what the client sent, and what the server holds of it.
struct Connection<'i> {
    session: Session,
    /// What the client sent and the server did not read.
    unread: &'i [u8],
    held: Vec<u8>,
    state: State,
    answers: usize,
    refused: usize,
}

impl<'i> Connection<'i> {
    fn new(worker: &mut Worker, unread: &'i [u8]) -> Connection<'i> {
        let session = Session::new(worker);
        Connection { session, unread, held: Vec::new(), state: State::Idle, answers: 0, refused: 0 }
    }

    /// Serves it until it has to wait or nothing is left. Whether it got answers.
    fn serve(&mut self, worker: &mut Worker) -> bool {
        let (before, mut out) = (self.answers, Vec::new());
        loop {
            if self.state == State::Waiting {
                let cx = &mut Context::from_waker(Waker::noop());
                match self.session.poll_updates(worker, cx, &mut out) {
                    std::task::Poll::Ready(state) => self.state = state,
                    std::task::Poll::Pending => break,
                }
            } else if self.state == State::Close || (self.unread.is_empty() && self.held.is_empty()) {
                break;
            }
            let room = self.session.read_bytes_max(worker).min(READ_BYTES - self.held.len());
            let (read, rest) = self.unread.split_at(room.min(self.unread.len()));
            self.held.extend_from_slice(read);
            self.unread = rest;
            let feed = self.session.feed(worker, &self.held, &mut out);
            self.held.drain(..feed.consumed);
            self.held.shrink_to_fit();
            self.state = feed.state;
        }
        self.take(&out);
        self.answers > before
    }

    fn take(&mut self, out: &[u8]) {
        for answer in common::answers(out) {
            let is_success = matches!(&answer.what, What::End(end) if end.code == ResultCode::Success);
            self.answers += 1;
            self.refused += usize::from(!is_success);
        }
    }
}

fn limited(update_bytes_max: u64) -> Config {
    let mut config = config();
    config.settings.configured.limits.clients.update_bytes_max = update_bytes_max;
    config
}

/// A directory with a log that stands still until it is allowed to go on.
fn standing_still(config: Config) -> (Arc<Dsa>, Arc<Fixture>, Applier) {
    let client = Client::with(config);
    let fixture = Arc::new(Fixture::default());
    client.dsa.journal_to(Arc::clone(&fixture) as Arc<dyn Journal>);
    let applier = Applier::new(&client.dsa).expect("there are few readers");
    (Arc::clone(&client.dsa), fixture, applier)
}

fn bind() -> Vec<u8> {
    let mut bytes = Vec::new();
    common::bind(common::ROOT_DN, common::PASSWORD).encode(&mut bytes, 1, &[]);
    bytes
}

fn modifies(count: usize) -> Vec<u8> {
    let mut bytes = bind();
    for n in 0..count {
        let changes = changes_of(&[(ModifyKind::Replace, "description", &[&format!("{n:0400}")])]);
        let changes = Changes::parse(&changes).expect("just encoded");
        let modify = Modify { dn: common::ADA.as_bytes(), changes };
        Request::Modify(modify).encode(&mut bytes, n as i32 + 2, &[]);
    }
    bytes
}

fn worker(dsa: &Arc<Dsa>) -> Worker {
    let mut worker = Worker::new(dsa).expect("there are few readers");
    worker.tick(START);
    worker
}

#[test]
fn what_is_kept_of_thousands_of_sessions_is_bounded_and_all_are_answered() {
    const SESSIONS: usize = 2000;
    const BYTES_MAX: u64 = 8 << 20;
    let (dsa, fixture, mut applier) = standing_still(limited(BYTES_MAX));
    let (mut worker, input) = (worker(&dsa), modifies(UPDATES));
    let mut connections: Vec<_> = (0..SESSIONS).map(|_| Connection::new(&mut worker, &input)).collect();
    connections.iter_mut().for_each(|connection| _ = connection.serve(&mut worker));
    let held: usize = connections.iter().map(|connection| connection.held.capacity()).sum();
    let sent = SESSIONS * input.len();
    assert!(held <= SESSIONS * (5 << 10), "{held} bytes of {sent} are held");
    // The one that passed the bound was admitted whole.
    assert!(dsa.throttle().bytes() <= BYTES_MAX + (2 << 20), "{} bytes wait", dsa.throttle().bytes());
    assert!(dsa.throttle().waiting() > SESSIONS / 2);
    // Turns come in the order in which the sessions began to wait.
    let mut order: Vec<usize> = Vec::new();
    let mut is_served = vec![false; SESSIONS];
    let mut log = Vec::new();
    while connections.iter().any(|connection| connection.answers <= UPDATES) {
        commit(&dsa, &mut applier, &fixture, &mut log);
        log.clear();
        for (n, connection) in connections.iter_mut().enumerate() {
            let progressed = connection.serve(&mut worker) && connection.answers > 1;
            if progressed && !std::mem::replace(&mut is_served[n], true) {
                order.push(n);
            }
        }
    }
    assert!(order.is_sorted(), "{order:?}");
    assert!(connections.iter().all(|connection| connection.refused == 0));
    assert_eq!((dsa.throttle().bytes(), dsa.throttle().waiting()), (0, 0));
}

#[test]
fn a_full_log_stops_neither_searches_nor_abandons_nor_unbinds() {
    let (dsa, fixture, mut applier) = standing_still(limited(1));
    let (mut worker, input) = (worker(&dsa), modifies(3));
    let mut first = Connection::new(&mut worker, &input);
    first.serve(&mut worker);
    assert_eq!(first.state, State::Waiting);
    assert!(dsa.throttle().is_closed());
    let mut other = Client::of(&dsa);
    other.bind_root();
    assert_eq!(other.search("dc=example", Scope::Subtree, "(cn=*)", &["cn"]).entries.len(), 2);
    let (_, abandon) = other.encode(&Request::Abandon(1), &[]);
    assert_eq!(other.raw(&abandon).1, State::Idle);
    let (_, unbind) = other.encode(&Request::Unbind, &[]);
    assert_eq!(other.raw(&unbind).1, State::Close);
    // One that leaves while it waits for its turn does not keep those behind it.
    let (mut gone, mut last) = (Connection::new(&mut worker, &input), Connection::new(&mut worker, &input));
    gone.serve(&mut worker);
    last.serve(&mut worker);
    assert_eq!((gone.state, last.state), (State::Waiting, State::Waiting));
    gone.session.close(&mut worker);
    let mut log = Vec::new();
    for _ in 0..4 {
        commit(&dsa, &mut applier, &fixture, &mut log);
        first.serve(&mut worker);
        last.serve(&mut worker);
    }
    assert_eq!((first.answers, last.answers), (4, 4));
    assert_eq!(dsa.throttle().bytes(), 0);
}

#[test]
fn a_turn_that_is_not_used_is_given_up() {
    let (dsa, fixture, mut applier) = standing_still(limited(1));
    let (mut worker, input) = (worker(&dsa), modifies(1));
    let mut first = Connection::new(&mut worker, &input);
    first.serve(&mut worker);
    // Nobody bound: the update is refused when its turn comes.
    let refused = &input[bind().len()..];
    let (mut second, mut third) =
        (Connection::new(&mut worker, refused), Connection::new(&mut worker, &input));
    second.serve(&mut worker);
    third.serve(&mut worker);
    assert_eq!(dsa.throttle().waiting(), 2);
    let mut log = Vec::new();
    for _ in 0..3 {
        commit(&dsa, &mut applier, &fixture, &mut log);
        second.serve(&mut worker);
        third.serve(&mut worker);
    }
    assert_eq!((second.answers, second.refused), (1, 1));
    assert_eq!((third.answers, third.refused), (2, 0));
}
