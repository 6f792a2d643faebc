//! An IO thread's side of the access log: no lock, no wait, and no memory from the system for a request.

use dsa::Session;
use env::clock::{Clock, Now, SystemClock};
use env::net::PeerAddress;
use env::ring::Putting;
use logs::journal::Access;
use logs::record::{Record, Stamp};
use logs::sample::Sample;
use logs::tap::{Memory, Tap};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a thread's records go.
pub(crate) struct Feed {
    ring: Putting,
    memory: Memory,
    /// None if all operations are logged.
    sample: Option<Sample>,
    /// The number of the last connection, of all threads.
    connections: Arc<AtomicU64>,
}

impl Feed {
    pub(super) fn new(ring: Putting, access: Access, connections: Arc<AtomicU64>) -> Feed {
        let sample = (access == Access::Sample).then(Sample::default);
        Feed { ring, memory: Memory::default(), sample, connections }
    }

    fn put(&mut self, stamp: Stamp, record: &Record<'_>) {
        let Feed { ring, memory, .. } = self;
        memory.put(stamp, record, &mut |record| ring.put(record));
    }
}

/// The access log as the connections of a thread see it.
#[derive(Clone, Copy)]
pub(crate) struct Log<'t> {
    /// None if it is off.
    pub(crate) feed: Option<&'t RefCell<Feed>>,
    /// That of the thread.
    pub(crate) clock: &'t SystemClock,
}

/// What is kept of a connection that is logged.
pub(crate) struct Logged {
    connection: u64,
    tap: Tap,
}

impl Logged {
    /// Begins with a connection, if the log is on.
    pub(crate) fn open(
        log: Log<'_>,
        session: &mut Session,
        peer: PeerAddress,
        listener: Option<&str>,
    ) -> Option<Box<Logged>> {
        let feed = &mut *log.feed?.borrow_mut();
        let connection = feed.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let logged = Logged { connection, tap: Tap::default() };
        let peer = peer.to_string();
        let listener = listener.unwrap_or_default();
        let open = Record::Open { peer: peer.as_bytes(), listener: listener.as_bytes() };
        feed.put(logged.stamp(log.clock.now()), &open);
        session.remember_binds(connection);
        Some(Box::new(logged))
    }

    fn stamp(&self, now: Now) -> Stamp {
        let Now { wall_ms, monotonic_ns } = now;
        Stamp { connection: self.connection, wall_ms, monotonic_ns }
    }

    fn put(&self, log: Log<'_>, record: &Record<'_>) {
        if let Some(feed) = log.feed {
            feed.borrow_mut().put(self.stamp(log.clock.now()), record);
        }
    }

    /// It is secured by keys of so many bits.
    pub(crate) fn secured(&self, log: Log<'_>, strength: u16) {
        self.put(log, &Record::Secured { strength });
    }

    /// A bundle was run that came at `came`. `requests`: those that are done with.
    pub(crate) fn fed(
        &mut self,
        log: Log<'_>,
        (session, came): (&mut Session, Now),
        mut requests: &[u8],
        mut answers: &[u8],
    ) {
        let Some(feed) = log.feed else { return };
        let Feed { ring, memory, sample, .. } = &mut *feed.borrow_mut();
        let (stamp, now) = (self.stamp(came), log.clock.now());
        let put = &mut |record: &[u8]| ring.put(record);
        if let Some(sample) = sample {
            self.tap.ordinary((stamp, self.stamp(now)), (&mut requests, &mut answers), sample, memory, put);
        }
        self.tap.requests(stamp, requests, memory, put);
        self.tell_answers(now, (ring, memory), session, answers);
    }

    /// Answers were written to requests that came before.
    pub(crate) fn answers(&mut self, log: Log<'_>, session: &mut Session, answers: &[u8]) {
        let Some(feed) = log.feed else { return };
        let Feed { ring, memory, .. } = &mut *feed.borrow_mut();
        self.tell_answers(log.clock.now(), (ring, memory), session, answers);
    }

    fn tell_answers(
        &mut self,
        now: Now,
        (ring, memory): (&mut Putting, &mut Memory),
        session: &mut Session,
        answers: &[u8],
    ) {
        let stamp = self.stamp(now);
        for (id, dn) in session.take_binds() {
            memory.put(stamp, &Record::Bound { id, dn: &dn }, &mut |record| ring.put(record));
        }
        self.tap.answers(stamp, answers, memory, &mut |record| ring.put(record));
    }

    /// The connection is over.
    pub(crate) fn close(&mut self, log: Log<'_>) {
        let Some(feed) = log.feed else { return };
        let Feed { ring, memory, .. } = &mut *feed.borrow_mut();
        let stamp = self.stamp(log.clock.now());
        self.tap.counted(stamp, memory, &mut |record| ring.put(record));
        let closed = Record::Close { operations: self.tap.operations() };
        memory.put(stamp, &closed, &mut |record| ring.put(record));
    }
}
