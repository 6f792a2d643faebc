//! An IO thread's side of the access log: no lock, no wait, and no memory from the system for a request.

use dsa::annotations::Annotation;
use dsa::config::Listener;
use dsa::{Session, Standing};
use env::clock::{Clock, Now, SystemClock};
use env::net::PeerAddress;
use env::ring::Putting;
use logs::journal::Access;
use logs::record::{self, Record, Stamp};
use logs::sample::Sample;
use logs::tap::{Held, Memory, Tap};
use std::cell::{RefCell, RefMut};
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
    /// Counts how often the log was switched on: what is kept of a connection since an earlier time has gaps.
    time: u64,
}

impl Feed {
    pub(super) fn new(ring: Putting, access: Access, connections: Arc<AtomicU64>) -> Feed {
        let sample = (access == Access::Sample).then(Sample::default);
        Feed { ring, memory: Memory::default(), sample, connections, time: 0 }
    }

    /// These operations are logged from now on; `begins`: none were before.
    pub(crate) fn choose(&mut self, access: Access, begins: bool) {
        self.sample = (access == Access::Sample).then(Sample::default);
        self.time += u64::from(begins);
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
    /// That of the feed when it began.
    time: u64,
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
        Some(Logged::begin(feed, log.clock.now(), session, (peer, listener.name, listener.via)))
    }

    /// Begins with a connection that was there before the log was on: with who its session is, too.
    pub(crate) fn join(log: Log<'_>, session: &mut Session) -> Option<Box<Logged>> {
        let feed = &mut *log.feed?.borrow_mut();
        let (Standing { peer, listener, via, tls, dn }, now) = (session.standing(), log.clock.now());
        let logged = Logged::begin(feed, now, session, (peer?, listener, via));
        if tls > 0 {
            feed.put(logged.stamp(now), &Record::Secured { strength: tls, version: b"", suite: b"" });
        }
        if !dn.is_empty() {
            feed.put(logged.stamp(now), &Record::Bound { id: 0, dn: &dn });
        }
        Some(logged)
    }

    fn begin(
        feed: &mut Feed,
        now: Now,
        session: &mut Session,
        (peer, listener, via): (PeerAddress, Option<&str>, Option<PeerAddress>),
    ) -> Box<Logged> {
        let connection = feed.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let logged = Logged { connection, time: feed.time, tap: Tap::default() };
        let (peer, via) = (peer.to_string(), via.map(|via| via.to_string()).unwrap_or_default());
        let listener = listener.unwrap_or_default().as_bytes();
        let open = Record::Open { peer: peer.as_bytes(), listener, via: via.as_bytes() };
        feed.put(logged.stamp(now), &open);
        session.remember_binds(connection);
        Box::new(logged)
    }

    /// Was the log off since it began?
    pub(crate) fn has_gaps(&self, log: Log<'_>) -> bool {
        log.feed.is_none_or(|feed| feed.borrow().time != self.time)
    }

    fn stamp(&self, now: Now) -> Stamp {
        let Now { wall_ms, monotonic_ns } = now;
        Stamp { connection: self.connection, wall_ms, monotonic_ns }
    }

    /// What takes its records, if they are wanted.
    fn feed<'t>(&self, log: Log<'t>) -> Option<RefMut<'t, Feed>> {
        log.feed.map(RefCell::borrow_mut).filter(|feed| feed.time == self.time)
    }

    fn put(&self, log: Log<'_>, record: &Record<'_>) {
        if let Some(mut feed) = self.feed(log) {
            feed.put(self.stamp(log.clock.now()), record);
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
        let Some(mut feed) = self.feed(log) else { return };
        let Feed { ring, memory, sample, .. } = &mut *feed;
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
        let Some(mut feed) = self.feed(log) else { return };
        let Feed { ring, memory, .. } = &mut *feed;
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
        let Some(mut feed) = self.feed(log) else { return };
        let Feed { ring, memory, .. } = &mut *feed;
        let stamp = self.stamp(log.clock.now());
        self.tap.counted(stamp, memory, &mut |record| ring.put(record));
        let closed = Record::Close { operations: self.tap.operations() };
        memory.put(stamp, &closed, &mut |record| ring.put(record));
    }
}
