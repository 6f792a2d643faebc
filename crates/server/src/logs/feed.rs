//! An IO thread's side of the access log: no lock, no wait, and no memory from the system for a request.

use dsa::Session;
use dsa::annotations::Annotation;
use dsa::config::Listener;
use env::clock::{Clock, Now, SystemClock};
use env::net::PeerAddress;
use env::ring::Putting;
use logs::journal::Access;
use logs::record::{self, Record, Stamp};
use logs::sample::Sample;
use logs::tap::{Held, Memory, Tap};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tls::Facts;

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

/// Requests that a session has taken.
#[derive(Clone, Copy)]
pub(crate) struct Taken<'t> {
    /// Whole messages.
    pub(crate) requests: &'t [u8],
    /// When it took them.
    pub(crate) began: Now,
    /// Those in the first octets, so many, were held back.
    pub(crate) held: usize,
    /// Since when.
    pub(crate) since_ns: u64,
}

/// What is known of a request besides its answer. Nearly always there are none.
fn annotation_of(annotations: &[Annotation], id: i32) -> record::Annotation<'_> {
    let found = annotations.iter().find(|annotation| annotation.id == id);
    found.map_or(record::Annotation::default(), |found| record::Annotation {
        looked: found.looked,
        is_unindexed: found.is_unindexed,
        rule: found.rule.as_bytes(),
    })
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
        (peer, listener): (PeerAddress, Listener),
    ) -> Option<Box<Logged>> {
        let feed = &mut *log.feed?.borrow_mut();
        let connection = feed.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let logged = Logged { connection, tap: Tap::default() };
        let peer = peer.to_string();
        let name = listener.name.unwrap_or_default();
        let via = listener.via.map(|via| via.to_string()).unwrap_or_default();
        let open = Record::Open { peer: peer.as_bytes(), listener: name.as_bytes(), via: via.as_bytes() };
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

    /// It is secured.
    pub(crate) fn secured(&self, log: Log<'_>, facts: &Facts) {
        let Facts { strength, version, suite, .. } = facts;
        let (version, suite) = (version.as_bytes(), suite.as_bytes());
        self.put(log, &Record::Secured { strength: *strength, version, suite });
    }

    /// A bundle was run.
    pub(crate) fn fed(
        &mut self,
        log: Log<'_>,
        session: &mut Session,
        taken: &Taken<'_>,
        (mut answers, annotations): (&[u8], &[Annotation]),
    ) {
        let Some(feed) = log.feed else { return };
        let Feed { ring, memory, sample, .. } = &mut *feed.borrow_mut();
        let Taken { mut requests, began, held, since_ns } = *taken;
        let wait_us = began.monotonic_ns.saturating_sub(since_ns) / 1000;
        let mut held = Held { octets: held, us: u32::try_from(wait_us).unwrap_or(u32::MAX) };
        let (stamp, now) = (self.stamp(began), log.clock.now());
        let put = &mut |record: &[u8]| ring.put(record);
        if let Some(sample) = sample {
            let (stamps, both) = ((stamp, self.stamp(now)), (&mut requests, &mut answers));
            self.tap.ordinary(
                stamps,
                both,
                (&mut held, &|id| annotation_of(annotations, id)),
                sample,
                memory,
                put,
            );
        }
        self.tap.requests(stamp, (requests, &mut held), memory, put);
        self.tell_answers(now, (ring, memory), session, (answers, annotations));
    }

    /// Answers were written to requests that came before.
    pub(crate) fn answers(&mut self, log: Log<'_>, session: &mut Session, answers: (&[u8], &[Annotation])) {
        let Some(feed) = log.feed else { return };
        let Feed { ring, memory, .. } = &mut *feed.borrow_mut();
        self.tell_answers(log.clock.now(), (ring, memory), session, answers);
    }

    fn tell_answers(
        &mut self,
        now: Now,
        (ring, memory): (&mut Putting, &mut Memory),
        session: &mut Session,
        (answers, annotations): (&[u8], &[Annotation]),
    ) {
        let stamp = self.stamp(now);
        for (id, dn) in session.take_binds() {
            memory.put(stamp, &Record::Bound { id, dn: &dn }, &mut |record| ring.put(record));
        }
        let annotation = |id| annotation_of(annotations, id);
        self.tap.answers(stamp, answers, &annotation, memory, &mut |record| ring.put(record));
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
