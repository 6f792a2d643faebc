//! One IO thread: an event loop that serves its connections with one read buffer, one out buffer and one worker.

use crate::connection::Connection;
use crate::logs::{Access, Feed, Log};
use crate::options::idle_timeout;
use crate::proxy::{Stated, read_header};
use crate::reports::{look_after_memory, report_failed_binds, report_refusals, report_undeleted};
use crate::rules::Rules;
use crate::seldom::Seldom;
use dsa::limits::Limits;
use dsa::refusals::Limit;
use dsa::{Accounts, Dsa, Gone, Worker};
use env::clock::{Clock, SystemClock};
use env::net::{PeerAddress, Pending, Stream};
use env::task;
use std::cell::{Cell, OnceCell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use tls::{Buffers, ClientUse, Secured, Tls};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Bytes of the read buffer that all connections of a thread share: a bundle is at most what fits in it.
pub(crate) const READ_BYTES: usize = 256 << 10;
/// A larger out buffer is given back to the allocator after use.
const OUT_KEEP_BYTES: usize = 4 << 20;
/// Out buffers that are kept for use.
const SPARE_MAX: usize = 16;
/// How often the thread looks for connections that overstayed, in milliseconds.
const SWEEP_MS: u64 = 1000;
/// How long sessions that follow changes pause before they look for more.
const PAUSE_MS: u64 = 1;

/// What the accepting thread tells an IO thread.
pub(crate) enum Command<P> {
    /// Serve this connection, by the rules of the listener that it came by.
    Serve(P, PeerAddress, Arc<Rules>),
    /// Log these operations from now on; with the feed, if there was none yet.
    Log(Access, Option<Box<Feed>>),
    /// Finish what is in flight, take leave of all clients, end.
    Drain,
}

/// What its thread notifies a connection of.
#[derive(Clone, Copy, Default)]
pub(crate) struct Notification {
    /// One of the entries that its session hangs on is gone.
    pub(crate) gone: Option<(Accounts, Gone)>,
    /// The access log was switched on or off.
    pub(crate) log: bool,
}

/// The accepting thread's view of an IO thread.
pub(crate) struct IoThread<P> {
    commands: UnboundedSender<Command<P>>,
    connections: Arc<AtomicUsize>,
    thread: task::Thread,
}

impl<P: Pending> IoThread<P> {
    /// Starts the thread and waits until it can serve.
    pub(crate) fn start(
        number: usize,
        dsa: Arc<Dsa>,
        (tls, feed): (Option<Arc<Tls>>, Option<Feed>),
    ) -> std::io::Result<Self> {
        let (commands, receiver) = unbounded_channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = task::Thread::spawn(&format!("io-{number}"), move || async move {
            let Some(mut worker) = Worker::new(&dsa) else { return };
            if feed.is_some() {
                worker.keep_annotations();
            }
            dsa.monitor().count_serving_thread();
            let _ = ready.send(());
            run(Rc::new(Shared::new(worker, (tls, feed), dsa, count)), receiver).await;
        })?;
        match is_ready.recv() {
            Ok(()) => Ok(IoThread { commands, connections, thread }),
            Err(_) => Err(std::io::Error::other("an IO thread could not start; ask for fewer threads")),
        }
    }

    /// Connections that it serves or is about to.
    pub(crate) fn load(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Hands a connection over; gives it back when the thread has ended.
    pub(crate) fn serve(
        &self,
        pending: P,
        peer: PeerAddress,
        rules: Arc<Rules>,
    ) -> Result<(), (P, PeerAddress)> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.commands.send(Command::Serve(pending, peer, rules)).map_err(|returned| match returned.0 {
            Command::Serve(pending, peer, _) => (pending, peer),
            Command::Log(..) | Command::Drain => unreachable!("a refused command comes back as it was sent"),
        })
    }

    /// What tells it what is logged.
    pub(crate) fn log_teller(&self) -> impl Fn(Access, Option<Feed>) + Send + Sync + use<P> {
        let commands = self.commands.clone();
        // A thread that has ended logs nothing.
        move |access, feed| drop(commands.send(Command::Log(access, feed.map(Box::new))))
    }

    /// Asks it to finish. A thread that has ended needs no telling.
    pub(crate) fn drain(&self) {
        let _ = self.commands.send(Command::Drain);
    }

    /// Waits for its end.
    pub(crate) fn join(self) -> std::io::Result<()> {
        self.thread.join()
    }
}

/// What the connections of one thread share.
pub(crate) struct Shared {
    pub(crate) scratch: RefCell<Scratch>,
    pub(crate) clock: SystemClock,
    dsa: Arc<Dsa>,
    /// What secures connections, if there is a certificate.
    pub(crate) tls: Option<Arc<Tls>>,
    /// For those that are secured.
    pub(crate) tls_buffers: Rc<RefCell<Buffers>>,
    /// Sweeps since the thread began: time enough for timeouts of seconds, at the price of a load.
    pub(crate) sweeps: Cell<u64>,
    pub(crate) draining: Cell<bool>,
    members: RefCell<Vec<Rc<Member>>>,
    empty: Notify,
    count: Arc<AtomicUsize>,
    /// Lines about connections that were closed at once.
    refusals: Seldom,
    /// What takes the records of the access log, if it was on once.
    feed: OnceCell<RefCell<Feed>>,
    /// Whether it is on.
    is_log_on: Cell<bool>,
    /// Whether the worker keeps what the log cannot see. It does when all connections are logged, so that each takes what is its own.
    annotates: Cell<bool>,
}

/// The buffers and the worker: borrowed for the length of one bundle, never across a wait.
pub(crate) struct Scratch {
    pub(crate) worker: Worker,
    pub(crate) read: Vec<u8>,
    pub(crate) out: Vec<u8>,
    /// Out buffers that came back.
    pub(crate) spare: Vec<Vec<u8>>,
}

impl Scratch {
    /// Takes an out buffer back, unless there are enough or it has grown large.
    pub(crate) fn keep_spare(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE_MAX && buffer.capacity() <= OUT_KEEP_BYTES / SPARE_MAX {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Empties the out buffer and gives an outgrown one back.
    pub(crate) fn reset_out(&mut self) {
        self.out.clear();
        if self.out.capacity() > OUT_KEEP_BYTES {
            self.out = Vec::new();
        }
    }
}

/// What a connection waits for; the sweep times it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// For its turn.
    Nothing,
    /// For the client's part of a TLS handshake.
    Handshake,
    /// For a request.
    Read,
    /// For the client to take its answers.
    Write,
}

/// One connection as its thread sees it.
pub(crate) struct Member {
    /// Place in the thread's list.
    place: Cell<usize>,
    /// Sweep at which it last made progress.
    pub(crate) since: Cell<u64>,
    pub(crate) waiting: Cell<Waiting>,
    /// Sweep at which the message began that is not whole yet.
    pub(crate) message_since: Cell<Option<u64>>,
    /// Whether the client has bound, as far as the connection knows.
    pub(crate) is_bound: Cell<bool>,
    /// Whether the client has sent nothing yet.
    pub(crate) is_silent: Cell<bool>,
    /// Set by the sweep: it waited too long, by this limit.
    pub(crate) overdue: Cell<Option<Limit>>,
    /// Set by the connection: every sweep wakes it, for its session may have something to say.
    pub(crate) watched: Cell<bool>,
    /// The entries that its session hangs on, as far as the connection knows.
    pub(crate) accounts: Cell<Accounts>,
    /// Set by the thread: what the connection is to look at in its next turn.
    pub(crate) notification: Cell<Option<Notification>>,
    /// Whether the access log has the connection.
    pub(crate) is_logged: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Member {
    /// Lets the thread wake the connection's task. A task keeps its waker, so this is done once.
    pub(crate) fn arm(&self, waker: &Waker) {
        let mut slot = self.waker.borrow_mut();
        if slot.is_none() {
            *slot = Some(waker.clone());
        }
    }

    /// Notifies the connection of something.
    pub(crate) fn notify(&self, put: impl FnOnce(&mut Notification)) {
        let mut notification = self.notification.take().unwrap_or_default();
        put(&mut notification);
        self.notification.set(Some(notification));
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

impl Shared {
    fn new(
        worker: Worker,
        (tls, feed): (Option<Arc<Tls>>, Option<Feed>),
        dsa: Arc<Dsa>,
        count: Arc<AtomicUsize>,
    ) -> Self {
        Shared {
            scratch: RefCell::new(Scratch {
                worker,
                read: vec![0; READ_BYTES],
                out: Vec::new(),
                spare: Vec::new(),
            }),
            clock: SystemClock::start(),
            dsa,
            tls,
            tls_buffers: Rc::default(),
            sweeps: Cell::new(0),
            draining: Cell::new(false),
            members: RefCell::new(Vec::new()),
            empty: Notify::new(),
            count,
            refusals: Seldom::default(),
            is_log_on: Cell::new(feed.is_some()),
            annotates: Cell::new(feed.is_some()),
            feed: feed.map_or_else(OnceCell::new, |feed| RefCell::new(feed).into()),
        }
    }

    /// Limits of clients, as they are in force.
    pub(crate) fn limits(&self) -> &Limits {
        self.dsa.limits()
    }

    /// The access log.
    pub(crate) fn log(&self) -> Log<'_> {
        let feed = if self.is_log_on.get() { self.feed.get() } else { None };
        Log { feed, clock: &self.clock }
    }

    /// These operations are logged from now on. Connections look at it in their next turn.
    fn choose_log(&self, access: Access, feed: Option<Feed>) {
        if let Some(feed) = feed {
            // The first one stays: what is written takes its records from the ring of that.
            let _ = self.feed.set(RefCell::new(feed));
        }
        let Some(feed) = self.feed.get() else { return };
        let (was_on, is_on) = (self.is_log_on.get(), access != Access::Off);
        feed.borrow_mut().choose(access, is_on && !was_on);
        self.is_log_on.set(is_on);
        if was_on == is_on {
            return;
        }
        if !is_on {
            self.annotate(false);
        }
        for member in &*self.members.borrow() {
            member.notify(|notification| notification.log = true);
            member.wake();
        }
    }

    /// Keeps what the log cannot see, or does not.
    fn annotate(&self, wanted: bool) {
        let worker = &mut self.scratch.borrow_mut().worker;
        if wanted {
            worker.keep_annotations()
        } else {
            worker.drop_annotations()
        }
        self.annotates.set(wanted);
    }

    /// Secures a stream from its next byte on.
    pub(crate) fn secure<S: Stream>(
        &self,
        stream: &mut Secured<S>,
        clients: ClientUse,
    ) -> std::io::Result<()> {
        let tls = self.tls.as_ref().ok_or(std::io::ErrorKind::Unsupported)?;
        let config = tls.current(clients).ok_or(std::io::ErrorKind::Unsupported)?;
        stream.secure(config, Rc::clone(&self.tls_buffers))
    }

    /// Puts a new connection on the list.
    fn join(&self) -> Rc<Member> {
        let mut members = self.members.borrow_mut();
        let member = Rc::new(Member {
            place: Cell::new(members.len()),
            since: Cell::new(self.sweeps.get()),
            waiting: Cell::new(Waiting::Read),
            message_since: Cell::new(None),
            is_bound: Cell::new(false),
            is_silent: Cell::new(true),
            overdue: Cell::new(None),
            watched: Cell::new(false),
            accounts: Cell::default(),
            notification: Cell::default(),
            is_logged: Cell::new(false),
            waker: RefCell::new(None),
        });
        members.push(member.clone());
        assert!(
            members.len() <= self.count.load(Ordering::Relaxed),
            "a connection is counted before it is served"
        );
        member
    }

    /// Takes a connection off the list.
    fn leave(&self, member: &Member) {
        let mut members = self.members.borrow_mut();
        assert!(
            members.get(member.place.get()).is_some_and(|own| std::ptr::eq(&**own, member)),
            "a member knows its place"
        );
        members.swap_remove(member.place.get());
        if let Some(moved) = members.get(member.place.get()) {
            assert!(moved.place.get() == members.len(), "the last one takes the place that became free");
            moved.place.set(member.place.get());
        }
        let before = self.count.fetch_sub(1, Ordering::Relaxed);
        assert!(before > members.len(), "each connection is counted once");
        if members.is_empty() {
            self.empty.notify_one();
        }
    }

    /// Ends the connections that waited longer than allowed.
    fn sweep(&self) {
        let now = self.sweeps.get() + 1;
        self.sweeps.set(now);
        let mut write_waiters = 0;
        for member in &*self.members.borrow() {
            assert!(member.since.get() < now, "progress was made at an earlier sweep");
            write_waiters += u64::from(member.waiting.get() == Waiting::Write);
            if let Some(limit) = self.overdue(member, now) {
                member.overdue.set(Some(limit));
                member.wake();
            } else if member.watched.get() {
                member.wake();
            }
        }
        let awaits_log = self.is_log_on.get() && !self.annotates.get();
        if awaits_log && self.members.borrow().iter().all(|member| member.is_logged.get()) {
            self.annotate(true);
        }
        let worker = &mut self.scratch.borrow_mut().worker;
        if worker.may_have_lost_accounts() {
            self.end_those_without_account(worker);
        }
        worker.count_write_waiters(write_waiters);
        let now = self.clock.now();
        look_after_memory(worker, now);
        report_failed_binds(worker);
        worker.write_account_times(now);
        worker.delete_expired(now);
        report_undeleted(worker);
        report_refusals(worker, now);
    }

    /// Tells the connections whose session has lost its account.
    fn end_those_without_account(&self, worker: &mut Worker) {
        for member in &*self.members.borrow() {
            let accounts = member.accounts.get();
            if accounts != Accounts::default()
                && let Some(gone) = worker.gone(accounts)
            {
                member.notify(|notification| notification.gone = Some((accounts, gone)));
                member.wake();
            }
        }
    }

    /// The limit that a connection has reached by waiting, at a sweep.
    fn overdue(&self, member: &Member, now: u64) -> Option<Limit> {
        let limits = self.limits();
        let (allowed, limit) = match member.waiting.get() {
            Waiting::Nothing => (0, Limit::Idle),
            Waiting::Handshake => (limits.handshake_timeout_s.get(), Limit::HandshakeTime),
            Waiting::Read => idle_timeout(limits, member.is_silent.get(), member.is_bound.get()),
            Waiting::Write => (limits.write_timeout_s.get(), Limit::WriteTime),
        };
        // One sweep more, because the first second may have been a short one.
        let is_late = |allowed: u64, since: u64| allowed != 0 && now - since > allowed;
        // A byte now and then does not make a message.
        let since = member.message_since.get().filter(|_| member.waiting.get() == Waiting::Read);
        if since.is_some_and(|since| is_late(limits.message_timeout_s.get(), since)) {
            return Some(Limit::MessageTime);
        }
        is_late(allowed, member.since.get()).then_some(limit)
    }

    fn drain(&self) {
        self.draining.set(true);
        for member in &*self.members.borrow() {
            member.wake();
        }
    }

    async fn wait_until_empty(&self) {
        while !self.members.borrow().is_empty() {
            self.empty.notified().await;
        }
    }
}

/// Takes its member off the list even when the connection's task panics.
struct Leave(Rc<Shared>, Rc<Member>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.leave(&self.1);
    }
}

/// What the thread does from start to end: it serves what comes until it is asked to drain.
async fn run<P: Pending>(shared: Rc<Shared>, mut commands: UnboundedReceiver<Command<P>>) {
    let sweeper = shared.clone();
    task::spawn_local(async move {
        loop {
            task::sleep_ms(SWEEP_MS).await;
            sweeper.sweep();
        }
    });
    let waking = shared.clone();
    task::spawn_local(poll_fn(move |cx| {
        waking.scratch.borrow_mut().worker.poll_wakes(cx);
        Poll::Pending
    }));
    let pausing = shared.clone();
    task::spawn_local(async move {
        loop {
            poll_fn(|cx| pausing.scratch.borrow().worker.poll_pause(cx)).await;
            task::sleep_ms(PAUSE_MS).await;
        }
    });
    loop {
        let (pending, peer, rules) = match commands.recv().await {
            Some(Command::Serve(pending, peer, rules)) => (pending, peer, rules),
            Some(Command::Log(access, feed)) => {
                shared.choose_log(access, feed.map(|feed| *feed));
                continue;
            }
            Some(Command::Drain) | None => break,
        };
        let member = shared.join();
        let leave = Leave(shared.clone(), member.clone());
        match pending.open() {
            Ok(stream) if rules.is_proxy(peer) => {
                let shared = shared.clone();
                task::spawn_local(async move {
                    behind_proxy(&shared, stream, (peer, &rules), member, leave).await
                });
            }
            Ok(stream) => begin(&shared, stream, (peer, rules.of_sessions), &rules, member, leave),
            Err(error) => tracing::warn!(%peer, %error, "the connection was lost before it was accepted"),
        }
    }
    shared.drain();
    let grace_ms = shared.limits().shutdown_timeout_s.get() * 1000;
    if task::timeout_ms(grace_ms, shared.wait_until_empty()).await.is_none() {
        tracing::warn!(connections = shared.members.borrow().len(), "closed before they had finished");
    }
}

/// Begins a connection that a load balancer passes on, when it has said where the client is.
async fn behind_proxy<S: Stream>(
    shared: &Rc<Shared>,
    mut stream: S,
    (balancer, rules): (PeerAddress, &Rules),
    member: Rc<Member>,
    leave: Leave,
) {
    match read_header(&mut stream, balancer, rules.proxy_tls).await {
        Ok(Stated { peer, strength, via }) => {
            tracing::debug!(%peer, via = %balancer, "a client by a load balancer");
            let of_session = dsa::config::Listener { strength, via, ..rules.of_sessions };
            // The time that is allowed for a handshake or a request begins now.
            member.since.set(shared.sweeps.get());
            begin(shared, stream, (peer, of_session), rules, member, leave);
        }
        Err(error) => {
            if let Some(others) = shared.refusals.pass(shared.clock.monotonic_ns()) {
                tracing::warn!(via = %balancer, %error, others, "closed: what came is no header of the PROXY protocol");
            }
        }
    }
}

/// Begins a connection: in the clear, or with a handshake.
fn begin<S: Stream>(
    shared: &Rc<Shared>,
    stream: S,
    (peer, of_session): (PeerAddress, dsa::config::Listener),
    rules: &Rules,
    member: Rc<Member>,
    leave: Leave,
) {
    let mut stream = Secured::open(stream);
    match if rules.is_tls { shared.secure(&mut stream, rules.clients) } else { Ok(()) } {
        Ok(()) => serve(shared, stream, (peer, of_session, rules.clients), member, leave),
        Err(error) => tracing::warn!(%peer, %error, "closed: the connection cannot be secured"),
    }
}

/// Starts the task of a connection. It has the connection in it once: an async function would keep one as an argument, one as
/// a variable and one that it awaits.
fn serve<S: Stream>(
    shared: &Rc<Shared>,
    stream: Secured<S>,
    (peer, of_session, clients): (PeerAddress, dsa::config::Listener, ClientUse),
    member: Rc<Member>,
    leave: Leave,
) {
    let connection = Connection::new(shared.clone(), stream, (peer, of_session, clients), member);
    // Too many from its address; that is counted, and reported.
    let Some(mut connection) = connection else { return };
    task::spawn_local(async move {
        connection.run().await;
        connection.close();
        drop(leave);
    });
}
