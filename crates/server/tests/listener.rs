//! Connections on real sockets, over a directory in memory. What goes over a socket is compared with what a session says without one,
//! to the byte.

mod common;

use common::journal::{Fixture, Panicking};
use common::{
    FILLED_TEXT, SUFFIX, answers, bind, bound, bye, describe, described, directory, list, messages, nobody,
    read, search_for_nothing, unbind, unit, until, who_am_i,
};
use dsa::Dsa;
use dsa::limits::{Choices, ClientLimits, Patience};
use dsa::monitor::OPERATIONS;
use env::net::{Bound, TcpBound};
use model::limits::SESSION_OUT_BYTES_MAX;
use server::config::{Listen, Listener};
use server::{Endpoints, Options};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Bytes of memory that empty directories of all tests take: each has some large pages.
const DIRECTORIES_BYTES: u64 = 15 * (32 << 20);

struct Server {
    dsa: Arc<Dsa>,
    address: SocketAddr,
    stop: tokio::sync::oneshot::Sender<()>,
    thread: std::thread::JoinHandle<std::io::Result<()>>,
}

impl Server {
    /// Serves a directory with two short entries below its suffix.
    fn start(options: Options) -> Server {
        Server::patient(Patience::default(), options)
    }

    /// The same, with another patience.
    fn patient(patience: Patience, options: Options) -> Server {
        Server::of(directory(Choices { patience, ..Choices::default() }, 2, "short"), options)
    }

    /// Serves a directory from which so many KiB, and a bit more, are answered to [`list`].
    fn with_kib(kib: usize, patience: Patience, options: Options) -> Server {
        let limits = Choices { patience, ..Choices::default() };
        Server::of(directory(limits, kib / 1000, &"w".repeat(1000 << 10)), options)
    }

    fn of(dsa: Arc<Dsa>, options: Options) -> Server {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (ready, is_ready) = mpsc::channel();
        let served = Arc::clone(&dsa);
        let thread = std::thread::spawn(move || {
            let bound = TcpBound::bind("127.0.0.1:0".parse().unwrap())?;
            let endpoints = Endpoints {
                chains: None,
                contexts: None,
                words: None,
                auditor: None,
                own: server::OwnSettings::in_memory(&Default::default()),
                bound: vec![(Bound::Tcp(bound), Arc::new(Listener::of(&Listen::default())))],
                files: Default::default(),
            };
            let on_ready = move |listen: Listen| match listen {
                Listen::Tcp { host, port, .. } => {
                    ready.send((host.parse::<IpAddr>().unwrap(), port).into()).unwrap()
                }
                Listen::Unix { .. } => unreachable!("it listens on a port"),
            };
            let stopped = async { drop(stopped.await) };
            env::task::block_on(server::serve_until(served, endpoints, options, on_ready, stopped))?
        });
        Server { dsa, address: is_ready.recv().unwrap(), stop, thread }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// A client that may change the directory, and send long messages.
    fn connect_bound(&self) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(&bind(1)).unwrap();
        expect(&mut stream, &bound(1));
        stream
    }

    /// Sessions that are open.
    fn sessions(&self) -> u64 {
        let closed = self.dsa.monitor().sum(|counters| &counters.connections_closed);
        self.dsa.monitor().sum(|counters| &counters.connections_opened) - closed
    }

    /// Searches that are not done yet.
    fn suspended(&self) -> u64 {
        self.dsa.monitor().sum(|counters| &counters.searches_suspended)
    }

    /// Bytes of answers, sent or not.
    fn written(&self) -> u64 {
        self.dsa.monitor().sum(|counters| &counters.bytes_out)
    }

    /// Bytes that are kept for clients.
    fn kept(&self) -> u64 {
        self.dsa.client_memory().bytes()
    }

    fn stop(self) {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap().unwrap();
    }
}

fn one_thread() -> Options {
    Options { threads: 1 }
}

fn two_threads() -> Options {
    Options { threads: 2 }
}

fn expect(stream: &mut TcpStream, bytes: &[u8]) {
    let mut got = vec![0; bytes.len()];
    stream.read_exact(&mut got).unwrap();
    assert!(got == bytes, "got {:?}", &got[..got.len().min(40)]);
}

/// Expects these bytes and then the end of the connection.
fn expect_last(stream: &mut TcpStream, bytes: &[u8]) {
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert!(got == bytes, "got {} bytes for {}", got.len(), bytes.len());
}

/// Sends bytes that the server may take only as it is read from.
fn exchange(stream: &mut TcpStream, input: &[u8], answer: &[u8]) {
    let mut writer = stream.try_clone().unwrap();
    env::task::run_beside(move || writer.write_all(input).unwrap(), || expect(stream, answer));
}

#[test]
fn messages_are_answered_whole_split_and_many_at_once() {
    let server = Server::start(two_threads());
    let mut stream = server.connect();
    stream.write_all(&who_am_i(1)).unwrap();
    expect(&mut stream, &nobody(1));
    for byte in &who_am_i(2) {
        stream.write_all(&[*byte]).unwrap();
    }
    expect(&mut stream, &nobody(2));
    let many: Vec<u8> = (1..=100_000).flat_map(who_am_i).collect();
    let answer: Vec<u8> = (1..=100_000).flat_map(nobody).collect();
    exchange(&mut stream, &many, &answer);
    server.stop();
}

#[test]
fn a_bundle_with_updates_is_answered_with_one_write() {
    let server = Server::of(directory(Choices::default(), 2, &"d".repeat(2000)), one_thread());
    let journal = Fixture::of(&server.dsa);
    let (mut short, mut long) = (server.connect_bound(), server.connect_bound());
    let before = answers(&server.dsa, &read(2, SUFFIX));
    short.write_all(&[read(2, SUFFIX), describe(3, 0, "update"), read(4, &unit(0))].concat()).unwrap();
    until("it has submitted", || journal.submitted() == 1);
    long.write_all(&[read(2, &unit(1)), describe(3, 1, "update")].concat()).unwrap();
    // Both wait, so what they had to send before is sent: there is one thread, and this was served behind the other.
    expect(&mut long, &answers(&server.dsa, &read(2, &unit(1))));
    assert_eq!(journal.submitted(), 2);
    short.set_nonblocking(true).unwrap();
    let early = short.read(&mut [0; 100]);
    assert_eq!(early.unwrap_err().kind(), ErrorKind::WouldBlock, "it goes with the updates");
    short.set_nonblocking(false).unwrap();

    journal.sync(&server.dsa);
    let after = answers(&server.dsa, &read(4, &unit(0)));
    let mut got = [0; 4096];
    let read_at_once = short.read(&mut got).unwrap();
    assert_eq!(&got[..read_at_once], [before, described(3), after].concat());
    expect(&mut long, &described(3));
    short.write_all(&read(5, &unit(1))).unwrap();
    expect(&mut short, &answers(&server.dsa, &read(5, &unit(1))));
    server.stop();
}

#[test]
fn a_message_larger_than_the_read_buffer_arrives() {
    let server = Server::start(two_threads());
    let mut stream = server.connect_bound();
    let long = "l".repeat(5 << 20);
    let messages = [read(2, &unit(0)), describe(3, 0, &long), read(4, &unit(0)), read(5, &unit(1))].concat();
    let before = answers(&server.dsa, &read(2, &unit(0)));
    let mut writer = stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || writer.write_all(&messages).unwrap());
    expect(&mut stream, &[before, described(3)].concat());
    sending.join().unwrap();
    let [changed, other] = [read(4, &unit(0)), read(5, &unit(1))].map(|read| answers(&server.dsa, &read));
    let has = |answer: &[u8], text: &str| answer.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has(&changed, &long) && !has(&other, &long), "it is in the directory");
    assert!(has(&other, FILLED_TEXT) && !has(&changed, FILLED_TEXT), "the time of a change is when it came");
    expect(&mut stream, &[changed, other].concat());
    server.stop();
}

#[test]
fn a_long_answer_to_a_slow_client_is_bounded_and_complete() {
    let server = Server::with_kib(20_000, Patience::default(), two_threads());
    let mut slow = server.connect();
    let (answer, after) = (answers(&server.dsa, &list(1)), nobody(2));
    assert!(answer.len() > 20_000 << 10);
    let before = server.written();
    slow.write_all(&[list(1), who_am_i(2)].concat()).unwrap();
    // All that sockets take of it may be all.
    let is_written = || server.written() - before >= answer.len() as u64;
    until("answers wait for the client", || server.kept() > 0 || is_written());
    // Another client is served meanwhile, though it may share the thread.
    for _ in 0..4 {
        let mut other = server.connect();
        other.write_all(&who_am_i(1)).unwrap();
        expect(&mut other, &nobody(1));
    }
    assert!(server.kept() <= SESSION_OUT_BYTES_MAX as u64, "{} bytes are kept", server.kept());
    let resident = env::host::resident_bytes().unwrap();
    assert!(resident < DIRECTORIES_BYTES + (300 << 20), "{resident} bytes are resident");
    let mut got = vec![0; answer.len() + after.len()];
    slow.read_exact(&mut got).unwrap();
    // Other requests of a client are answered between the entries of a search that is suspended.
    let (others, of_search): (Vec<&[u8]>, Vec<&[u8]>) =
        messages(&got).into_iter().partition(|message| *message == after);
    assert!(others.len() == 1 && of_search == messages(&answer));
    server.stop();
}

#[test]
fn a_session_that_ends_closes_its_connection_after_the_answer() {
    let server = Server::start(two_threads());
    let mut stream = server.connect();
    stream.write_all(&[who_am_i(1), unbind(2), who_am_i(3)].concat()).unwrap();
    expect_last(&mut stream, &nobody(1));
    server.stop();
}

#[test]
fn a_client_that_stops_sending_still_gets_its_answers() {
    let server = Server::with_kib(3000, Patience::default(), two_threads());
    let mut stream = server.connect();
    stream.write_all(&list(1)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let answer = answers(&server.dsa, &list(1));
    assert!(answer.len() > 3000 << 10);
    expect_last(&mut stream, &answer);
    server.stop();
}

#[test]
fn a_panic_ends_one_connection_only() {
    let server = Server::start(one_thread());
    server.dsa.journal_to(Arc::new(Panicking));
    let mut good = server.connect();
    good.write_all(&who_am_i(1)).unwrap();
    expect(&mut good, &nobody(1));
    let mut bad = server.connect_bound();
    bad.write_all(&[read(2, &unit(0)), describe(3, 0, "panic")].concat()).unwrap();
    let mut got = Vec::new();
    let end = bad.read_to_end(&mut got);
    assert!(got.is_empty() && !end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    good.write_all(&who_am_i(2)).unwrap();
    expect(&mut good, &nobody(2));
    server.stop();
}

#[test]
fn stopping_finishes_what_is_in_flight_and_says_goodbye() {
    let server = Server::with_kib(8000, Patience::default(), two_threads());
    let answer = [answers(&server.dsa, &list(1)), bye()].concat();
    assert!(answer.len() > 8000 << 10);
    let mut idle = server.connect();
    idle.write_all(&who_am_i(1)).unwrap();
    expect(&mut idle, &nobody(1));
    let mut busy = server.connect();
    busy.write_all(&list(1)).unwrap();
    expect(&mut busy, &answer[..1024]);
    let reading = std::thread::spawn(move || expect_last(&mut busy, &answer[1024..]));
    server.stop();
    reading.join().unwrap();
    expect_last(&mut idle, &bye());
}

#[test]
fn an_idle_connection_is_sent_away() {
    let server = Server::patient(Patience { idle_timeout_s: 1, ..Patience::default() }, two_threads());
    expect_last(&mut server.connect(), &bye());
    server.stop();
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let server =
        Server::with_kib(17_000, Patience { write_timeout_s: 1, ..Patience::default() }, two_threads());
    let mut stream = server.connect();
    // A gibibyte: sockets may take 32 MiB and more on either side (net.ipv4.tcp_rmem), of answers and of input.
    stream.write_all(&(1..=64).flat_map(list).collect::<Vec<u8>>()).unwrap();
    // Input beyond what the server takes makes the cut visible without reading. It is whole messages: of one without a length the
    // server reads on.
    let more = who_am_i(65).repeat(128);
    let cut = (0..65_536).find(|_| {
        std::thread::yield_now();
        stream.write_all(&more).is_err()
    });
    assert!(cut.is_some());
    server.stop();
}

#[test]
fn searches_of_a_client_that_is_gone_end() {
    // Minutes of work, and nothing is found.
    let server = Server::of(directory(Choices::default(), 300, &"é".repeat(2000)), one_thread());
    let mut gone = server.connect();
    gone.write_all(&search_for_nothing(1, 3000)).unwrap();
    until("the search is suspended", || server.suspended() == 1);
    assert_eq!(server.sessions(), 1);
    drop(gone);
    until("the session has ended", || server.sessions() == 0);
    assert_eq!(server.suspended(), 0);
    server.stop();
}

/// What a client has sent and broken off is not worth the work: it may be a storm of such clients.
#[test]
fn requests_of_a_connection_that_was_reset_are_not_applied() {
    let server = Server::start(one_thread());
    let journal = Fixture::of(&server.dsa);
    let (mut holder, mut gone) = (server.connect_bound(), server.connect());
    gone.write_all(&who_am_i(1)).unwrap();
    gone.peek(&mut [0]).unwrap();
    journal.hold(true);
    holder.write_all(&describe(2, 0, "held")).unwrap();
    until("the thread is held", || journal.submitted() == 1);
    gone.write_all(&(2..1002).flat_map(who_am_i).collect::<Vec<u8>>()).unwrap();
    // A socket that is closed with input unread sends a reset.
    drop(gone);
    journal.hold(false);
    until("its session has ended", || server.sessions() == 1);
    let extended = OPERATIONS.iter().position(|kind| *kind == "Extended").unwrap();
    let applied = server.dsa.monitor().sum(|counters| &counters.operations[extended]);
    assert_eq!(applied, 1, "the one before");
    journal.sync(&server.dsa);
    expect(&mut holder, &described(2));
    server.stop();
}

#[test]
fn a_message_has_its_time_however_its_bytes_come() {
    let server = Server::patient(Patience { message_timeout_s: 1, ..Patience::default() }, two_threads());
    let mut stream = server.connect();
    stream.write_all(&describe(1, 0, &"y".repeat(5000))[..100]).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let (begin, mut got) = (Instant::now(), Vec::new());
    while stream.read_to_end(&mut got).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(20), "it is not sent away");
        // A byte now and then; the connection may be closed by now.
        let _ = stream.write_all(b"y");
    }
    assert_eq!(got, bye());
    server.stop();
}

#[test]
fn messages_that_do_not_end_have_a_bound_and_others_go_on() {
    let clients = ClientLimits { memory_bytes_max: Some(4 << 20), ..ClientLimits::default() };
    let patience = Patience { message_timeout_s: 2, ..Patience::default() };
    let limits = Choices { clients, patience, ..Choices::default() };
    let server = Server::of(directory(limits, 1, "short"), two_threads());
    let long = describe(2, 0, &"l".repeat(1 << 20));
    let mut waiting: Vec<TcpStream> = (0..40).map(|_| server.connect_bound()).collect();
    for stream in &mut waiting {
        stream.write_all(&long[..100 << 10]).unwrap();
        stream.set_nonblocking(true).unwrap();
        // As far as the server takes it.
        let _ = stream.write(&long[100 << 10..long.len() - 1]);
    }
    until("memory is used up", || server.kept() > 3 << 20);
    let mut other = server.connect_bound();
    other.write_all(&read(2, &unit(0))).unwrap();
    expect(&mut other, &answers(&server.dsa, &read(2, &unit(0))));
    // What a read may bring before it is counted comes on top.
    assert!(server.kept() <= (4 << 20) + 40 * (256 << 10), "{}", server.kept());
    drop(waiting);
    until("memory is given back", || server.kept() == 0);
    exchange(&mut other, &long, &described(2));
    other.write_all(&read(3, &unit(0))).unwrap();
    let answer = answers(&server.dsa, &read(3, &unit(0)));
    assert!(answer.len() > 1 << 20);
    expect(&mut other, &answer);
    server.stop();
}

#[test]
fn one_connection_more_than_there_may_be_is_closed() {
    let server = Server::patient(Patience { connections_max: 1, ..Patience::default() }, two_threads());
    let mut open = Vec::new();
    // Some more are taken from this machine.
    let refused = (0..1000).find(|_| {
        let mut stream = server.connect();
        let mut got = vec![0; nobody(1).len()];
        let is_served = stream.write_all(&who_am_i(1)).is_ok() && stream.read_exact(&mut got).is_ok();
        open.push(stream);
        !is_served
    });
    assert!(refused.is_some_and(|refused| refused > 1), "{refused:?}");
    open.truncate(1);
    until("they are gone", || server.sessions() == 1);
    let mut stream = server.connect();
    stream.write_all(&who_am_i(1)).unwrap();
    expect(&mut stream, &nobody(1));
    server.stop();
}
