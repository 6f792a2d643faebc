//! Connections against a toy engine. A message is 4 bytes of length (itself included, big-endian), a letter and a
//! body: `e` is echoed, `w` answers as many KiB as its body says, piece by piece, `s` is busy for ever and says nothing, `u` is
//! echoed when the test says that updates are durable, `h` holds the thread until the test lets it go on, `x` ends the session, `p` panics.

use dsa::client_memory::ClientMemory;
use env::clock::Now;
use env::net::TcpBound;
use server::Options;
use server::engine::{Engine, Feed, State, Worker};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

struct Toy {
    memory: Arc<ClientMemory>,
    /// Sessions that are open.
    sessions: Arc<AtomicUsize>,
    updates: Arc<Mutex<Updates>>,
    held: Arc<Held>,
}

/// A thread that is held, and the messages that all have taken.
#[derive(Default)]
struct Held {
    is_held: AtomicBool,
    may_go_on: AtomicBool,
    messages: AtomicUsize,
}

/// Updates on their way to a disk.
#[derive(Default)]
struct Updates {
    are_durable: bool,
    waiting: Vec<Waker>,
    /// The tasks that wake those.
    tasks: Vec<Waker>,
}

struct ToyWorker {
    memory: Arc<ClientMemory>,
    sessions: Arc<AtomicUsize>,
    updates: Arc<Mutex<Updates>>,
    held: Arc<Held>,
}
struct ToySession {
    kib_left: u32,
    /// An update that is to be answered.
    update: Vec<u8>,
    /// It is busy and says nothing.
    is_silent: bool,
    sessions: Arc<AtomicUsize>,
}

impl Drop for ToySession {
    fn drop(&mut self) {
        self.sessions.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Engine for Toy {
    type Worker = ToyWorker;
    fn worker(self: &Arc<Self>) -> Option<ToyWorker> {
        let (memory, sessions) = (Arc::clone(&self.memory), Arc::clone(&self.sessions));
        let (updates, held) = (Arc::clone(&self.updates), Arc::clone(&self.held));
        Some(ToyWorker { memory, sessions, updates, held })
    }
}

fn message(letter: u8, body: &[u8]) -> Vec<u8> {
    let mut message = (body.len() as u32 + 5).to_be_bytes().to_vec();
    message.push(letter);
    message.extend_from_slice(body);
    message
}

impl Worker for ToyWorker {
    type Session = ToySession;

    fn tick(&mut self, now: Now) {
        assert!(now.wall_ms > 0);
    }

    fn open(&mut self, _peer: SocketAddr) -> Option<ToySession> {
        self.sessions.fetch_add(1, Ordering::SeqCst);
        let sessions = Arc::clone(&self.sessions);
        Some(ToySession { kib_left: 0, update: Vec::new(), is_silent: false, sessions })
    }

    fn client_memory(&self) -> Arc<ClientMemory> {
        Arc::clone(&self.memory)
    }

    fn feed(&mut self, session: &mut ToySession, input: &[u8], out: &mut Vec<u8>) -> Feed {
        let mut consumed = 0;
        loop {
            let state = if session.kib_left > 0 || session.is_silent { State::Busy } else { State::Idle };
            let rest = &input[consumed..];
            let Some(length) = rest.first_chunk().map(|b| u32::from_be_bytes(*b) as usize) else {
                return Feed { consumed, state, needed: 0 };
            };
            if rest.len() < length || state == State::Busy {
                return Feed { consumed, state, needed: length };
            }
            match rest[4] {
                b'e' => out.extend_from_slice(&rest[..length]),
                b'w' => session.kib_left = u32::from_be_bytes(rest[5..9].try_into().unwrap()),
                b's' => session.is_silent = true,
                b'h' => {
                    self.held.is_held.store(true, Ordering::SeqCst);
                    until("it may go on", || self.held.may_go_on.load(Ordering::SeqCst));
                }
                b'u' => {
                    session.update = rest[..length].to_vec();
                    // What is behind it is offered again.
                    let needed = usize::from(rest.len() > length);
                    return Feed { consumed: consumed + length, state: State::Waiting, needed };
                }
                b'x' => return Feed { consumed: consumed + length, state: State::Close, needed: 0 },
                _ => panic!("a panic that was asked for"),
            }
            self.held.messages.fetch_add(1, Ordering::SeqCst);
            consumed += length;
        }
    }

    fn step(&mut self, session: &mut ToySession, out: &mut Vec<u8>) -> State {
        let kib = session.kib_left.min(256);
        out.resize(out.len() + kib as usize * 1024, b'w');
        session.kib_left -= kib;
        if session.kib_left > 0 || session.is_silent { State::Busy } else { State::Idle }
    }

    fn poll_updates(
        &mut self,
        session: &mut ToySession,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<State> {
        let mut updates = self.updates.lock().unwrap();
        if !updates.are_durable {
            updates.waiting.push(cx.waker().clone());
            return Poll::Pending;
        }
        out.append(&mut session.update);
        Poll::Ready(State::Idle)
    }

    fn poll_wakes(&mut self, cx: &mut Context<'_>) {
        let mut updates = self.updates.lock().unwrap();
        if updates.are_durable {
            updates.waiting.drain(..).for_each(Waker::wake);
        }
        updates.tasks.push(cx.waker().clone());
    }

    fn shutdown(&mut self, _session: &mut ToySession, out: &mut Vec<u8>) {
        out.extend_from_slice(b"bye");
    }
}

struct Server {
    address: SocketAddr,
    stop: tokio::sync::oneshot::Sender<()>,
    thread: std::thread::JoinHandle<std::io::Result<()>>,
    memory: Arc<ClientMemory>,
    sessions: Arc<AtomicUsize>,
    updates: Arc<Mutex<Updates>>,
    held: Arc<Held>,
}

impl Server {
    fn start(options: Options) -> Server {
        Server::with_memory(options, 1 << 30)
    }

    fn with_memory(options: Options, memory_max: u64) -> Server {
        let (memory, sessions) = (ClientMemory::new(memory_max), Arc::<AtomicUsize>::default());
        let (updates, held) = (Arc::<Mutex<Updates>>::default(), Arc::<Held>::default());
        let toy = Toy {
            memory: Arc::clone(&memory),
            sessions: Arc::clone(&sessions),
            updates: Arc::clone(&updates),
            held: Arc::clone(&held),
        };
        let toy = Arc::new(toy);
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let bound = TcpBound::bind("127.0.0.1:0".parse().unwrap())?;
            let on_ready = move |address| ready.send(address).unwrap();
            let stopped = async { drop(stopped.await) };
            env::task::block_on(server::serve_until(toy, vec![bound], options, on_ready, stopped))?
        });
        Server { address: is_ready.recv().unwrap(), stop, thread, memory, sessions, updates, held }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        stream
    }

    /// Waits until so many sessions wait for their updates.
    fn wait_for_updates(&self, sessions: usize) {
        while self.updates.lock().unwrap().waiting.len() < sessions {
            std::thread::yield_now();
        }
    }

    /// All updates are durable; the threads are informed, which tell their sessions.
    fn sync(&self) {
        let mut updates = self.updates.lock().unwrap();
        updates.are_durable = true;
        let tasks = std::mem::take(&mut updates.tasks);
        drop(updates);
        tasks.into_iter().for_each(Waker::wake);
    }

    fn stop(self) {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap().unwrap();
    }
}

fn two_threads() -> Options {
    Options { threads: 2, ..Options::default() }
}

fn expect(stream: &mut TcpStream, bytes: &[u8]) {
    let mut got = vec![0; bytes.len()];
    stream.read_exact(&mut got).unwrap();
    assert!(got == bytes, "got {:?}", &got[..got.len().min(40)]);
}

#[test]
fn messages_are_answered_whole_split_and_many_at_once() {
    let server = Server::start(two_threads());
    let mut stream = server.connect();
    let hello = message(b'e', b"hello");
    stream.write_all(&hello).unwrap();
    expect(&mut stream, &hello);
    for byte in &hello {
        stream.write_all(&[*byte]).unwrap();
    }
    expect(&mut stream, &hello);
    let many = hello.repeat(100_000);
    let mut writer = stream.try_clone().unwrap();
    let sent = many.clone();
    let writing = std::thread::spawn(move || writer.write_all(&sent).unwrap());
    expect(&mut stream, &many);
    writing.join().unwrap();
    server.stop();
}

#[test]
fn a_bundle_with_updates_is_answered_with_one_write() {
    let server = Server::start(Options { threads: 1, ..Options::default() });
    let (mut short, mut long) = (server.connect(), server.connect());
    let update = message(b'u', b"update");
    let (few, many) = (message(b'e', b"read"), message(b'e', &[b'r'; 2000]));
    short.write_all(&[&few[..], &update, &few].concat()).unwrap();
    long.write_all(&[&many[..], &update].concat()).unwrap();
    // They wait, so what they had to send before is sent.
    server.wait_for_updates(2);
    expect(&mut long, &many);
    short.set_nonblocking(true).unwrap();
    let early = short.read(&mut [0; 100]);
    assert_eq!(early.unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "it goes with the updates");
    short.set_nonblocking(false).unwrap();

    server.sync();
    expect(&mut short, &[&few[..], &update, &few].concat());
    expect(&mut long, &update);
    short.write_all(&few).unwrap();
    expect(&mut short, &few);
    server.stop();
}

#[test]
fn a_message_larger_than_the_read_buffer_arrives() {
    let server = Server::start(two_threads());
    let mut stream = server.connect();
    let large =
        [message(b'e', b"first"), message(b'e', &vec![b'l'; 5 << 20]), message(b'e', b"last")].concat();
    let mut writer = stream.try_clone().unwrap();
    let sent = large.clone();
    let writing = std::thread::spawn(move || writer.write_all(&sent).unwrap());
    expect(&mut stream, &large);
    writing.join().unwrap();
    server.stop();
}

#[test]
fn a_long_answer_to_a_slow_client_is_bounded_and_complete() {
    let server = Server::start(two_threads());
    let mut slow = server.connect();
    let requests = [message(b'w', &20_000u32.to_be_bytes()), message(b'e', b"after")].concat();
    slow.write_all(&requests).unwrap();
    // Another client is served meanwhile, though it may share the thread.
    for _ in 0..4 {
        let mut other = server.connect();
        other.write_all(&message(b'e', b"other")).unwrap();
        expect(&mut other, &message(b'e', b"other"));
    }
    let before = env::host::resident_bytes().unwrap();
    assert!(before < 300 << 20, "{before} bytes are resident");
    expect(&mut slow, &vec![b'w'; 20_000 << 10]);
    expect(&mut slow, &message(b'e', b"after"));
    server.stop();
}

#[test]
fn a_session_that_ends_closes_its_connection_after_the_answer() {
    let server = Server::start(two_threads());
    let mut stream = server.connect();
    let bytes = [message(b'e', b"1"), message(b'x', b""), message(b'e', b"2")].concat();
    stream.write_all(&bytes).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got, message(b'e', b"1"));
    server.stop();
}

#[test]
fn a_client_that_stops_sending_still_gets_its_answers() {
    let server = Server::start(two_threads());
    let mut stream = server.connect();
    stream.write_all(&message(b'w', &3000u32.to_be_bytes())).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), 3000 << 10);
    server.stop();
}

#[test]
fn a_panic_ends_one_connection_only() {
    let server = Server::start(Options { threads: 1, ..Options::default() });
    let mut good = server.connect();
    good.write_all(&message(b'e', b"1")).unwrap();
    expect(&mut good, &message(b'e', b"1"));
    let mut bad = server.connect();
    bad.write_all(&[message(b'e', b"secret"), message(b'p', b"")].concat()).unwrap();
    let mut got = Vec::new();
    assert!(bad.read_to_end(&mut got).is_err() || got.is_empty());
    good.write_all(&message(b'e', b"2")).unwrap();
    expect(&mut good, &message(b'e', b"2"));
    server.stop();
}

#[test]
fn stopping_finishes_what_is_in_flight_and_says_goodbye() {
    let server = Server::start(two_threads());
    let mut idle = server.connect();
    idle.write_all(&message(b'e', b"1")).unwrap();
    expect(&mut idle, &message(b'e', b"1"));
    let mut busy = server.connect();
    busy.write_all(&message(b'w', &8000u32.to_be_bytes())).unwrap();
    expect(&mut busy, &[b'w'; 1024]);
    let reading = std::thread::spawn(move || {
        let mut got = Vec::new();
        busy.read_to_end(&mut got).unwrap();
        got
    });
    server.stop();
    let got = reading.join().unwrap();
    assert_eq!((got.len(), &got[got.len() - 3..]), ((7999 << 10) + 3, &b"bye"[..]));
    let mut got = Vec::new();
    idle.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"bye");
}

#[test]
fn an_idle_connection_is_sent_away() {
    let server = Server::start(Options { idle_timeout_s: 1, ..two_threads() });
    let mut stream = server.connect();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"bye");
    server.stop();
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let server = Server::start(Options { write_timeout_s: 1, ..two_threads() });
    let mut stream = server.connect();
    // A gibibyte: sockets may take 32 MiB and more on either side (net.ipv4.tcp_rmem), of answers and of input.
    stream.write_all(&message(b'w', &(1u32 << 20).to_be_bytes())).unwrap();
    // Input beyond what the server takes makes the cut visible without reading. It is whole messages: of one without a length the
    // server reads on.
    let more = message(b'e', &[0; 4091]);
    let cut = (0..65_536).find(|_| {
        std::thread::yield_now();
        stream.write_all(&more).is_err()
    });
    assert!(cut.is_some());
    server.stop();
}

/// Waits for something that happens soon.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn searches_of_a_client_that_is_gone_end() {
    let server = Server::start(Options { threads: 1, ..Options::default() });
    let mut gone = server.connect();
    gone.write_all(&message(b's', b"")).unwrap();
    until("the session is open", || server.sessions.load(Ordering::SeqCst) == 1);
    drop(gone);
    until("the session has ended", || server.sessions.load(Ordering::SeqCst) == 0);
    server.stop();
}

/// What a client has sent and broken off is not worth the work: it may be a storm of such clients.
#[test]
fn requests_of_a_connection_that_was_reset_are_not_applied() {
    let server = Server::start(Options { threads: 1, ..Options::default() });
    let (mut holder, mut gone) = (server.connect(), server.connect());
    gone.write_all(&message(b'e', b"unread")).unwrap();
    gone.peek(&mut [0]).unwrap();
    holder.write_all(&message(b'h', b"")).unwrap();
    until("the thread is held", || server.held.is_held.load(Ordering::SeqCst));
    gone.write_all(&message(b'e', b"long enough").repeat(2000)).unwrap();
    // A socket that is closed with input unread sends a reset.
    drop(gone);
    server.held.may_go_on.store(true, Ordering::SeqCst);
    until("its session has ended", || server.sessions.load(Ordering::SeqCst) == 1);
    assert_eq!(server.held.messages.load(Ordering::SeqCst), 2, "those before it");
    server.stop();
}

#[test]
fn a_message_has_its_time_however_its_bytes_come() {
    let server = Server::start(Options { message_timeout_s: 1, ..two_threads() });
    let mut stream = server.connect();
    stream.write_all(&message(b'e', &[b'y'; 1000])[..20]).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let (begin, mut got) = (Instant::now(), [0; 3]);
    while stream.read_exact(&mut got).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(20), "it is not sent away");
        // A byte now and then; the connection may be closed by now.
        let _ = stream.write_all(b"y");
    }
    assert_eq!(&got, b"bye");
    server.stop();
}

#[test]
fn messages_that_do_not_end_have_a_bound_and_others_go_on() {
    let options = Options { message_timeout_s: 2, ..two_threads() };
    let server = Server::with_memory(options, 4 << 20);
    let long = message(b'e', &vec![b'l'; 1 << 20]);
    let mut waiting: Vec<TcpStream> = (0..40).map(|_| server.connect()).collect();
    for stream in &mut waiting {
        stream.write_all(&long[..100 << 10]).unwrap();
        stream.set_nonblocking(true).unwrap();
        // As far as the server takes it.
        let _ = stream.write(&long[100 << 10..long.len() - 1]);
    }
    until("memory is used up", || server.memory.bytes() > 3 << 20);
    let mut other = server.connect();
    other.write_all(&message(b'e', b"short")).unwrap();
    expect(&mut other, &message(b'e', b"short"));
    // What a read may bring before it is counted comes on top.
    assert!(server.memory.bytes() <= (4 << 20) + 40 * (256 << 10), "{}", server.memory.bytes());
    drop(waiting);
    until("memory is given back", || server.memory.bytes() == 0);
    let mut writer = other.try_clone().unwrap();
    let sent = long.clone();
    let writing = std::thread::spawn(move || writer.write_all(&sent).unwrap());
    expect(&mut other, &long);
    writing.join().unwrap();
    server.stop();
}

#[test]
fn one_connection_more_than_there_may_be_is_closed() {
    let server = Server::start(Options { connections_max: 1, ..two_threads() });
    let hello = message(b'e', b"hello");
    let mut open = Vec::new();
    // Some more are taken from this machine.
    let refused = (0..1000).find(|_| {
        let mut stream = server.connect();
        let is_served = stream.write_all(&hello).is_ok() && stream.read_exact(&mut [0; 10]).is_ok();
        open.push(stream);
        !is_served
    });
    assert!(refused.is_some_and(|refused| refused > 1), "{refused:?}");
    open.truncate(1);
    until("they are gone", || server.sessions.load(Ordering::SeqCst) == 1);
    let mut stream = server.connect();
    stream.write_all(&hello).unwrap();
    expect(&mut stream, &hello);
    server.stop();
}
