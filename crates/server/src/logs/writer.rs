//! The thread that writes the logs.

use super::background::{Background, Stopped};
use super::destination::Stream;
use super::feed::Feed;
use super::in_force::InForce;
use super::settings::{Settings, hider};
use super::target::Target;
use dsa::Dsa;
use dsa::events::Event;
use env::clock::{Clock, SystemClock};
use env::ring::{Taking, ring};
use logs::hide::Hider;
use logs::journal::{Access, Journal};
use logs::object::Object;
use logs::record::Record;
use logs::redact::Redactor;
use logs::{Origin, hide};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Octets of the ring of an IO thread.
const RING_BYTES: usize = 4 << 20;
/// Records of a ring that are taken in turn.
const TURN: usize = 4096;
/// Nanoseconds between two lines about records that were lost.
const LOST_NS: u64 = 1_000_000_000;
/// The key and the stream of lines about operations.
const OF_ACCESS: (&str, Stream) = ("log.access-file", Stream::Access);
/// Pauses at the end in which a reader that takes nothing is waited for.
const LAST_PAUSES: u32 = 10;

/// Who has the thread, if something is to be logged, and starts it if that is so later.
pub(crate) struct Writer {
    dsa: Arc<Dsa>,
    in_force: Arc<InForce>,
    hangups: Arc<AtomicU64>,
    /// The number of the last connection that was logged.
    connections: Arc<AtomicU64>,
    /// What it was when the log was switched on last: each connection has a greater number since then.
    before: Arc<AtomicU64>,
    side: Mutex<Side>,
}

/// What there is of it.
struct Side {
    thread: Option<Background>,
    /// Where the thread gets more rings.
    rings: Option<Sender<Taking>>,
    /// Have IO threads their feeds?
    feeds: bool,
}

impl Writer {
    /// Starts the thread, if something is to be logged, and makes a feed for each of so many IO threads if that is operations.
    ///
    /// # Errors
    /// When a file cannot be written, or the system has no thread.
    pub(crate) fn start(
        dsa: &Arc<Dsa>,
        in_force: &Arc<InForce>,
        threads: usize,
        hangups: &Arc<AtomicU64>,
    ) -> io::Result<(Arc<Writer>, Vec<Feed>)> {
        let writer = Writer {
            dsa: Arc::clone(dsa),
            in_force: Arc::clone(in_force),
            hangups: Arc::clone(hangups),
            connections: Arc::default(),
            before: Arc::default(),
            side: Mutex::new(Side { thread: None, rings: None, feeds: false }),
        };
        let settings = in_force.now();
        if settings.security_file.is_some() {
            dsa.events().open();
        }
        if settings.access() == Access::Off && settings.security_file.is_none() {
            return Ok((Arc::new(writer), Vec::new()));
        }
        writer.begin(&mut writer.side())?;
        let feeds = writer.feeds(settings.access(), true, threads);
        Ok((Arc::new(writer), feeds))
    }

    fn side(&self) -> MutexGuard<'_, Side> {
        // Each of its parts is there or not: nobody leaves it half done.
        self.side.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread with what is to be logged now.
    fn begin(&self, side: &mut Side) -> io::Result<()> {
        let (rings, of_thread) = channel();
        let logs = Logs::new(self, of_thread)?;
        side.thread = Some(Background::start("logs", move |stopped| logs.run(stopped))?);
        side.rings = Some(rings);
        Ok(())
    }

    /// Starts the thread, if there is none, before operations are logged that were not before: nothing fails after that.
    ///
    /// # Errors
    /// As [`Writer::start`].
    pub(crate) fn prepare(&self) -> io::Result<()> {
        let mut side = self.side();
        // One that was stopped stays so.
        if side.thread.is_some() || side.feeds { Ok(()) } else { self.begin(&mut side) }
    }

    /// Prepares for what IO threads are notified of next, after the settings were changed. Returns the feeds of so many, if operations are to be
    /// logged that never were before: [`Writer::prepare`] came before that. `begins`: the log was off.
    pub(crate) fn feeds(&self, access: Access, begins: bool, threads: usize) -> Vec<Feed> {
        let mut side = self.side();
        if begins {
            self.before.store(self.connections.load(Ordering::Relaxed), Ordering::Release);
        }
        if access == Access::Off || side.feeds {
            return Vec::new();
        }
        let mut feeds = Vec::new();
        for _ in 0..threads {
            let (putting, taking) = ring(RING_BYTES);
            feeds.push(Feed::new(putting, access, Arc::clone(&self.connections)));
            if let Some(rings) = &side.rings {
                // One whose thread has ended takes nothing.
                let _ = rings.send(taking);
            }
        }
        side.feeds = true;
        feeds
    }

    /// Writes what is left and ends the thread. Nothing is logged any more.
    pub(crate) fn stop(&self) {
        let thread = {
            let mut side = self.side();
            side.feeds = true;
            side.thread.take()
        };
        drop(thread);
    }
}

/// Whose operations they are.
fn origin(dsa: &Dsa) -> Origin {
    let config = dsa.config();
    Origin {
        started_ms: config.started_ms,
        process: std::process::id(),
        host: env::host::name(),
        version: config.version.clone(),
    }
}

/// What the thread works on.
struct Logs {
    dsa: Arc<Dsa>,
    rings: Vec<Taking>,
    /// Where more of them come from.
    more_rings: Receiver<Taking>,
    /// Operations that are logged.
    logged: Access,
    /// Records of connections up to this number are of a time before the log was off. What it is by now, and what it was at the last look.
    before: Arc<AtomicU64>,
    before_seen: u64,
    journal: Journal,
    hider: Hider,
    /// None while no operations are logged.
    access: Option<Target>,
    security: Option<Target>,
    /// Records that were lost and not reported.
    lost: u64,
    reported_ns: u64,
    clock: SystemClock,
    /// Signals that ask for files to be opened again.
    hangups: Arc<AtomicU64>,
    hangups_seen: u64,
    /// What is logged, which may change.
    in_force: Arc<InForce>,
    /// Its version here.
    seen: u64,
}

impl Logs {
    /// Opens what is to be written.
    fn new(writer: &Writer, more_rings: Receiver<Taking>) -> io::Result<Logs> {
        let Writer { dsa, in_force, hangups, .. } = writer;
        let mut seen = 0;
        // One that changes meanwhile is looked at once more.
        let settings = in_force.newer(&mut seen).unwrap_or_else(|| in_force.now());
        let hider = hider(&settings);
        let security = settings.security_file.as_ref().map(|to| {
            let start = (origin(dsa), Vec::new(), SystemClock::start().wall_ms());
            Target::open(("log.security-file", Stream::Security), Some(to.clone()), settings.rotation, start)
        });
        let journal = journal(dsa, &settings, &hider);
        let access = (settings.access() != Access::Off).then(|| access_target(dsa, &settings, &journal));
        Ok(Logs {
            dsa: Arc::clone(dsa),
            rings: Vec::new(),
            more_rings,
            logged: settings.access(),
            before: Arc::clone(&writer.before),
            before_seen: 0,
            journal,
            hider,
            access: access.transpose()?,
            security: security.transpose()?,
            lost: 0,
            reported_ns: 0,
            clock: SystemClock::start(),
            hangups: Arc::clone(hangups),
            hangups_seen: 0,
            in_force: Arc::clone(in_force),
            seen,
        })
    }

    fn run(mut self, stopped: &Stopped) {
        loop {
            let has_more = self.turn(LOST_NS);
            if stopped.pause(has_more) {
                break;
            }
        }
        // Nobody puts any more. A reader that takes nothing does not hold the end up for long.
        let mut pauses = 0;
        while self.turn(0) || (self.waits() && pauses < LAST_PAUSES) {
            pauses += u32::from(self.waits());
            if pauses >= LAST_PAUSES {
                break;
            }
        }
    }

    /// Settings were changed.
    fn follow(&mut self, settings: &Settings) {
        self.hider.choose(settings.values);
        self.journal.choose_values(settings.values);
        let targets = [&mut self.access, &mut self.security].into_iter().flatten();
        targets.for_each(|target| target.rotate_by(settings.rotation));
        let before = std::mem::replace(&mut self.logged, settings.access());
        match (before, self.logged) {
            (Access::Off, Access::Off) => {}
            (Access::Off, _) => {
                self.journal.choose_access(self.logged);
                match &mut self.access {
                    // Lines of before the log was off wait in it.
                    Some(target) => target.begin_again(header(&self.journal)),
                    None => self.access = Some(retried_target(&self.dsa, settings, &self.journal)),
                }
            }
            (_, Access::Off) => {
                if let Some(target) = &mut self.access {
                    self.journal.finish_all(&mut target.lines);
                }
            }
            (_, access) => self.journal.choose_access(access),
        }
    }

    fn waits(&self) -> bool {
        [&self.access, &self.security].into_iter().flatten().any(|target| !target.lines.is_empty())
    }

    /// Takes what is there and writes it; `true` if there may be more.
    fn turn(&mut self, lost_after_ns: u64) -> bool {
        let now = self.clock.now();
        let mut has_more = false;
        self.rings.extend(self.more_rings.try_iter());
        if let Some(settings) = self.in_force.newer(&mut self.seen) {
            self.follow(&settings);
        }
        let hangups = self.hangups.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.hangups_seen, hangups) != hangups {
            [&mut self.access, &mut self.security].into_iter().flatten().for_each(Target::look_soon);
        }
        // With a file or without: what was lost is counted.
        let lost: u64 = self.rings.iter_mut().map(Taking::take_lost).sum();
        self.lost += lost;
        self.dsa.events().losses().access.fetch_add(lost, Ordering::Relaxed);
        if let Some(target) = &mut self.access {
            let mut record = Vec::new();
            for ring in &mut self.rings {
                let mut left = TURN;
                while left > 0 && target.has_room() && ring.take(&mut record) {
                    if let Some((stamp, record)) = Record::decode(&record) {
                        // The log was switched on: all connections have other numbers from here on. The number was stored before the first
                        // record of such a connection was made, so it is seen with that.
                        let before = self.before.load(Ordering::Acquire);
                        if std::mem::replace(&mut self.before_seen, before) != before {
                            self.journal.finish_all(&mut target.lines);
                            self.journal = journal(&self.dsa, &self.in_force.now(), &self.hider);
                        }
                        if stamp.connection > before {
                            self.journal.take(stamp, record, &mut target.lines);
                        }
                    }
                    left -= 1;
                }
                has_more |= left == 0;
            }
            if self.lost > 0 && target.has_room() && now.monotonic_ns - self.reported_ns >= lost_after_ns {
                self.reported_ns = now.monotonic_ns;
                self.journal.lost(now.wall_ms, std::mem::take(&mut self.lost), &mut target.lines);
            }
            self.dsa.events().losses().failures.fetch_add(target.write(now), Ordering::Relaxed);
            if self.logged == Access::Off && !has_more && target.lines.is_empty() {
                self.access = None;
            }
        }
        if let Some(target) = &mut self.security {
            // While they cannot be written they wait where they were noted.
            if target.has_room() {
                // At the end nothing waits for more that would be counted with it.
                let until_ns = if lost_after_ns == 0 { u64::MAX } else { now.monotonic_ns };
                let (events, lost) = self.dsa.events().take(until_ns);
                events.iter().for_each(|event| put_event(&self.dsa, now.wall_ms, event, &mut target.lines));
                if lost > 0 {
                    self.dsa.events().losses().events.fetch_add(lost, Ordering::Relaxed);
                    let mut object = Object::begin(&mut target.lines);
                    object.time("t", now.wall_ms).text("event", "lost").number("count", lost).end();
                }
            }
            self.dsa.events().losses().failures.fetch_add(target.write(now), Ordering::Relaxed);
        }
        has_more
    }
}

/// What brings records together.
fn journal(dsa: &Dsa, settings: &Settings, hider: &Hider) -> Journal {
    let redactor = Redactor::new(Arc::clone(dsa.shard().schema()), hider.clone());
    Journal::new(settings.access(), settings.format, origin(dsa)).redacted_by(redactor)
}

/// Where lines about operations go.
fn access_target(dsa: &Dsa, settings: &Settings, journal: &Journal) -> io::Result<Target> {
    let start = (origin(dsa), header(journal), SystemClock::start().wall_ms());
    Target::open(OF_ACCESS, settings.access_file.clone(), settings.rotation, start)
}

/// The same while the server runs: what cannot be opened is tried again, as what fails later is.
fn retried_target(dsa: &Dsa, settings: &Settings, journal: &Journal) -> Target {
    let start = (origin(dsa), header(journal), SystemClock::start().wall_ms());
    Target::new(OF_ACCESS, settings.access_file.clone(), settings.rotation, start)
}

fn header(journal: &Journal) -> Vec<u8> {
    let mut header = Vec::new();
    journal.header(&mut header);
    header
}

/// Appends the line of an event.
fn put_event(dsa: &Dsa, wall_ms: u64, event: &Event, out: &mut Vec<u8>) {
    let schema = dsa.shard().schema();
    let peer = event.peer.map(|peer| peer.to_string()).or(event.address.map(|address| address.to_string()));
    let peer = peer.unwrap_or_default();
    let via = event.via.map(|via| via.to_string()).unwrap_or_default();
    let mut object = Object::begin(out);
    object.time("t", wall_ms).text("event", event.kind.name()).text_if("peer", &peer);
    object.text_if("via", &via);
    object.text_if("dn", &event.who);
    if !event.name.is_empty() {
        object.text("target", hide::name(schema, &event.name));
    }
    object.text_if("detail", &event.detail);
    if let Some(code) = event.code {
        object.number("code", code as u64);
    }
    if event.count > 1 {
        object.number("count", event.count);
    }
    object.end();
}
