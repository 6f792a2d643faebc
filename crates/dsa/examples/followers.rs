//! What searches that follow changes cost those who change: CPU time of the thread that modifies, with consumers of content synchronisation
//! (RFC 4533) and without, in pairs in turn.
//! `cargo run --profile quick -p pando-dsa --example followers -- [narrow|all|stalled|quiet] [PAIRS] [RATE] [BATCH] [THREADS]`
//!
//! ```text
//! narrow     100 consumers, each with a filter that fits one entry in a hundred
//! all        one consumer that gets everything
//! stalled    100 consumers that get everything, and whose clients do not read
//! quiet      no pairs: how long a change takes to one consumer that waits, five milliseconds behind the change before
//!
//! RATE       modifies in a second, 100,000 unless it is named; 0: as fast as it goes
//! ```
//! Consumers run on threads of their own, as tasks that drive their session as a connection does; what they are sent is counted and dropped. One
//! thread modifies, in bundles of BATCH requests each of which is one batch of the store: it decodes, applies and answers. After consumers have
//! gone the store notes events for a while; that is passed before the next pair, so a half without consumers is one without events.

mod desk;

use desk::{bound_session, directory};
use dsa::{Dsa, Session, State, Worker};
use env::clock::{Clock, SystemClock};
use env::poll::thread_cpu;
use env::task;
use model::filter::Assertion;
use model::{Filter, Scope};
use proto::control::Control;
use proto::control::content_sync::{self, SyncRequest};
use proto::list::{Octets, octet_list};
use proto::message::{Frame, Reply, Request, Response, frame};
use proto::op::modify::{Changes, ModifyKind, change_list};
use proto::op::{Modify, Search};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const ENTRIES: u64 = 100_000;
/// Changes after which the store has forgotten that somebody followed: more than its ring holds.
const FORGET: u64 = 2_200_000;
/// Changes of a half without a rate.
const UNPACED: u64 = 1 << 20;
/// Changes between two looks at the clocks.
const TURN: u64 = 128;
/// Changes before the clients of the stalled case stop to read: more than one write of answers.
const UNREAD: u64 = 20_000;

/// What the threads of consumers and the one that modifies tell each other.
#[derive(Default)]
struct Board {
    /// Consumers that have their content.
    refreshed: AtomicU64,
    /// Clients do not read.
    is_unread: AtomicBool,
    /// Consumers whose answers are not read.
    stalled: AtomicU64,
    /// The threads are to end.
    is_over: AtomicBool,
    /// Entries that were sent.
    entries: AtomicU64,
    /// Bytes that are not read.
    unread: AtomicU64,
    /// Results of the searches that have ended.
    results: Mutex<BTreeMap<String, u64>>,
}

/// A consumer on its thread.
struct Consumer {
    session: Session,
    state: State,
    /// Bytes that its client does not read.
    backlog: Vec<u8>,
    has_content: bool,
}

impl Consumer {
    fn new(worker: &mut Worker, clock: &SystemClock, filter: Filter<'_>) -> Consumer {
        let mut session = desk::bind(worker, clock);
        let none = octet_list([&b"carLicense"[..]]);
        let selection = Octets::parse(&none).expect("a list");
        let search = Search::unlimited(b"dc=com", Scope::Subtree, filter, selection);
        let value = SyncRequest { persists: true, cookie: None, reload_hint: false }.encode();
        let control = Control { oid: content_sync::OID, critical: true, value: Some(&value) };
        let (mut input, mut out) = (Vec::new(), Vec::new());
        Request::Search(search).encode(&mut input, 7, &[control]);
        let state = session.feed(worker, &input, &mut out).state;
        assert!(out.is_empty(), "it is suspended before its first entry");
        Consumer { session, state, backlog: Vec::new(), has_content: false }
    }

    /// A turn, as a connection has it.
    fn turn(
        &mut self,
        worker: &mut Worker,
        clock: &SystemClock,
        board: &Board,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if !self.backlog.is_empty() {
            if board.is_unread.load(SeqCst) {
                return Poll::Pending;
            }
            self.backlog.clear();
            board.stalled.fetch_sub(1, SeqCst);
        }
        let mut out = Vec::new();
        worker.tick(clock.now());
        let was_busy = self.state == State::Busy;
        self.state = match was_busy {
            true => self.session.step(worker, &mut out),
            false => self.session.poll_notices(worker, cx, &mut out),
        };
        self.take(&out, board);
        if board.is_unread.load(SeqCst) && !out.is_empty() {
            board.unread.fetch_add(out.len() as u64, SeqCst);
            board.stalled.fetch_add(1, SeqCst);
            self.backlog = out;
            if self.state == State::Busy {
                self.session.wait_behind_backlog();
            }
            return Poll::Pending;
        }
        match was_busy || self.state == State::Busy || !out.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn take(&mut self, bytes: &[u8], board: &Board) {
        let (mut at, mut entries) = (0, 0);
        while let Ok(Frame::Complete { len }) = frame(&bytes[at..]) {
            let message = &bytes[at..at + len];
            at += len;
            // The tag of the operation, behind a message id of one byte.
            let head = if message[1] < 0x80 { 2 } else { 2 + usize::from(message[1] & 0x7f) };
            match message[head + 3] {
                0x64 => entries += 1,
                _ => {
                    let reply = Reply::decode(message).expect("answers decode");
                    match reply.response {
                        Response::Done(..) => {
                            let end = format!("{:?}", reply.result().and_then(|end| end.result_code()));
                            *board.results.lock().unwrap().entry(end).or_default() += 1;
                        }
                        _ if !self.has_content => {
                            self.has_content = true;
                            board.refreshed.fetch_add(1, SeqCst);
                        }
                        _ => {}
                    }
                }
            }
        }
        assert_eq!(at, bytes.len(), "answers are whole");
        if self.has_content {
            board.entries.fetch_add(entries, SeqCst);
        }
    }
}

/// Consumers, each with its filter, on threads of their own. They end when the board says so.
fn consumers(
    dsa: &Arc<Dsa>,
    clock: SystemClock,
    board: &Arc<Board>,
    (count, is_narrow): (u64, bool),
    threads: u64,
) -> Vec<task::Thread> {
    let thread = |number: u64| {
        let (dsa, board) = (Arc::clone(dsa), Arc::clone(board));
        task::Thread::spawn(&format!("io-{number}"), move || async move {
            let worker = Rc::new(RefCell::new(Worker::new(&dsa).expect("a reader slot")));
            let readers = Rc::new(RefCell::new(Vec::new()));
            let waking = Rc::clone(&worker);
            task::spawn_local(poll_fn(move |cx| {
                waking.borrow_mut().poll_wakes(cx);
                Poll::<()>::Pending
            }));
            let pausing = Rc::clone(&worker);
            task::spawn_local(async move {
                loop {
                    poll_fn(|cx| pausing.borrow().poll_pause(cx)).await;
                    task::sleep_ms(1).await;
                }
            });
            for n in (number..count).step_by(threads as usize) {
                let digits = format!("{n:02}");
                let filter = match is_narrow {
                    true => Filter::Equality(Assertion {
                        attribute: b"departmentNumber",
                        value: digits.as_bytes(),
                    }),
                    false => Filter::Present(b"objectClass"),
                };
                let mut consumer = Consumer::new(&mut worker.borrow_mut(), &clock, filter);
                let (worker, board, readers) = (Rc::clone(&worker), Arc::clone(&board), Rc::clone(&readers));
                task::spawn_local(async move {
                    loop {
                        let turn = |cx: &mut Context<'_>| {
                            let turn = consumer.turn(&mut worker.borrow_mut(), &clock, &board, cx);
                            if !consumer.backlog.is_empty() {
                                readers.borrow_mut().push(cx.waker().clone());
                            }
                            turn
                        };
                        poll_fn(turn).await;
                        task::yield_now().await;
                    }
                });
            }
            let mut was_unread = false;
            while !board.is_over.load(SeqCst) {
                task::sleep_ms(1).await;
                let is_unread = board.is_unread.load(SeqCst);
                if was_unread && !is_unread {
                    readers.borrow_mut().drain(..).for_each(|waker: Waker| waker.wake());
                }
                was_unread = is_unread;
            }
        })
        .expect("a thread")
    };
    (0..threads.min(count)).map(thread).collect()
}

/// Requests of some bundles, that come again and again.
fn bundles(
    batch: u64,
    attribute: &[u8],
    value: impl Fn(u64, u64) -> Vec<u8>,
    keys: impl Fn(u64) -> u64,
    count: u64,
) -> Vec<Vec<u8>> {
    let bundle = |number: u64| {
        let mut input = Vec::new();
        for n in number * batch..(number + 1) * batch {
            let key = keys(n);
            let (dn, value) = (format!("uid={key},dc=com"), value(n, key));
            let changes = change_list([(ModifyKind::Replace, attribute, [&value[..]])]);
            let changes = Changes::parse(&changes).expect("a list");
            Request::Modify(Modify { dn: dn.as_bytes(), changes }).encode(&mut input, 1000, &[]);
        }
        input
    };
    (0..count).map(bundle).collect()
}

/// One who modifies.
struct Writer<'a> {
    worker: Worker,
    session: Session,
    bundles: &'a [Vec<u8>],
    batch: u64,
    next: usize,
    out: Vec<u8>,
}

/// CPU time of the thread for each modify, in nanoseconds, and modifies of a second.
#[derive(Clone, Copy)]
struct Cost {
    cpu_ns: f64,
    rate: f64,
}

impl Writer<'_> {
    /// Sends the next bundle.
    fn bundle(&mut self, clock: &SystemClock) {
        self.worker.tick(clock.now());
        self.out.clear();
        let feed = self.session.feed(&mut self.worker, &self.bundles[self.next], &mut self.out);
        assert!(feed.state == State::Idle && feed.consumed == self.bundles[self.next].len());
        self.next = (self.next + 1) % self.bundles.len();
    }

    /// Makes so many changes, so many in a second; 0: as fast as it goes.
    fn run(&mut self, changes: u64, rate: u64, clock: &SystemClock) -> Cost {
        let (mut spent, begun) = (Duration::ZERO, clock.monotonic_ns());
        let mut done = 0;
        while done < changes {
            let due = begun + (done * 1_000_000_000).checked_div(rate).unwrap_or(0);
            let now = clock.monotonic_ns();
            if due > now {
                std::thread::sleep(Duration::from_nanos(due - now));
            }
            // What it costs to wait until the next one is due does not count.
            let cpu = thread_cpu();
            for _ in 0..TURN / self.batch {
                self.bundle(clock);
                done += self.batch;
            }
            spent += thread_cpu() - cpu;
        }
        let took = clock.monotonic_ns() - begun;
        Cost { cpu_ns: spent.as_nanos() as f64 / done as f64, rate: done as f64 * 1e9 / took as f64 }
    }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Median, the quarters about it, and the range.
fn spread(mut of: Vec<f64>) -> String {
    of.sort_by(f64::total_cmp);
    let at = |share: usize| of[(of.len() - 1) * share / 4];
    format!(
        "{:.3} (half of them {:.3} to {:.3}, all {:.3} to {:.3})",
        median(of.clone()),
        at(1),
        at(3),
        at(0),
        at(4)
    )
}

/// Makes changes one by one, and looks how long each takes to a consumer, in microseconds.
fn delays(writer: &mut Writer<'_>, clock: &SystemClock, board: &Board) -> Vec<f64> {
    let mut delays = Vec::new();
    for _ in 0..500 {
        std::thread::sleep(Duration::from_millis(5));
        let before = board.entries.load(SeqCst);
        let begun = clock.monotonic_ns();
        writer.bundle(clock);
        while board.entries.load(SeqCst) == before {
            std::hint::spin_loop();
        }
        delays.push((clock.monotonic_ns() - begun) as f64 / 1e3);
    }
    delays
}

/// Resident memory, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn main() {
    let argument = |n: usize, or: u64| std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(or);
    let case = std::env::args().nth(1).unwrap_or("narrow".to_owned());
    let is_stalled = case == "stalled";
    let (pairs, rate) = (argument(2, 20), argument(3, 100_000));
    let (batch, threads) = (argument(4, 16), argument(5, 1));
    let changes = if rate == 0 { UNPACED } else { rate.max(100_000) };
    let count = if matches!(&case[..], "all" | "quiet") { 1 } else { 100 };
    let dsa = directory(ENTRIES, &[]);
    let clock = SystemClock::start();
    let (worker, session) = bound_session(&dsa, &clock);
    let department = |_, key: u64| format!("{:02}", key % 100).into_bytes();
    let given = bundles(TURN, b"departmentNumber", department, |n| n % ENTRIES, ENTRIES.div_ceil(TURN));
    let license = |n, key: u64| format!("license {n} of {key}").into_bytes();
    let random = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % ENTRIES;
    let changing = bundles(batch, b"carLicense", license, random, 1 << 20 >> batch.ilog2());
    let mut writer = Writer { worker, session, bundles: &given, batch: TURN, next: 0, out: Vec::new() };
    writer.run(ENTRIES, 0, &clock);
    (writer.bundles, writer.batch, writer.next) = (&changing, batch, 0);
    writer.run(FORGET, 0, &clock);
    println!(
        "{case}: {pairs} pairs, {ENTRIES} entries, {rate} modifies/s (0: as fast as it goes), {batch} in a bundle, {threads} threads of consumers"
    );
    println!(
        "switched off without consumers: the consumers and their threads, and with them the events of the store. Not there in either half: log, sockets, access log"
    );
    let mut halves = [Vec::new(), Vec::new()];
    for pair in 0..pairs {
        let without = writer.run(changes, rate, &clock);
        let (board, before) = (Arc::<Board>::default(), resident());
        let of_threads = consumers(&dsa, clock, &board, (count, case == "narrow"), threads);
        wait_until(|| board.refreshed.load(SeqCst) == count);
        if is_stalled {
            board.is_unread.store(true, SeqCst);
            writer.run(UNREAD, 0, &clock);
            wait_until(|| board.stalled.load(SeqCst) == count);
        }
        if case == "quiet" {
            println!(
                "microseconds from a request to the entry at the consumer: {}",
                spread(delays(&mut writer, &clock, &board))
            );
            board.is_over.store(true, SeqCst);
            return of_threads.into_iter().for_each(|thread| thread.join().expect("it has not panicked"));
        }
        let with = writer.run(changes, rate, &clock);
        if is_stalled {
            // So much that those who do not read are sent away.
            writer.run(FORGET, 0, &clock);
        }
        let grown = resident().saturating_sub(before);
        let (sent, held) = (board.entries.load(SeqCst), dsa.shard().bytes_held());
        if is_stalled {
            let (unread, kept) = (board.unread.load(SeqCst), dsa.client_memory().bytes());
            println!(
                "  each: {} bytes unread; {} bytes counted; old versions held by all {held}; memory grown by all {grown}",
                unread / count,
                kept / count
            );
            board.is_unread.store(false, SeqCst);
            wait_until(|| board.results.lock().unwrap().values().sum::<u64>() == count);
        }
        println!(
            "  pair {pair}: without {:.0} ns, {:.0}/s; with {:.0} ns, {:.0}/s; {sent} entries sent; ended: {:?}",
            without.cpu_ns,
            without.rate,
            with.cpu_ns,
            with.rate,
            board.results.lock().unwrap()
        );
        board.is_over.store(true, SeqCst);
        of_threads.into_iter().for_each(|thread| thread.join().expect("it has not panicked"));
        halves[0].push(without);
        halves[1].push(with);
        writer.run(FORGET, 0, &clock);
    }
    let ratios = |of: fn(&Cost) -> f64| {
        spread(halves[0].iter().zip(&halves[1]).map(|(without, with)| of(with) / of(without)).collect())
    };
    let [without, with] = halves.each_ref().map(|half| median(half.iter().map(|cost| cost.cpu_ns).collect()));
    println!(
        "medians of CPU for a modify: without {without:.0} ns, with {with:.0} ns; ratios of the pairs {}",
        ratios(|cost| cost.cpu_ns)
    );
    let [without, with] = halves.each_ref().map(|half| median(half.iter().map(|cost| cost.rate).collect()));
    println!(
        "medians of rates by the wall clock: without {without:.0}/s, with {with:.0}/s; ratios of the pairs {}",
        ratios(|cost| cost.rate)
    );
}
