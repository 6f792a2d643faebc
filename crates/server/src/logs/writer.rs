//! The thread that writes the logs.

use super::background::{Background, Stopped};
use super::destination::{Destination, Stream};
use super::feed::Feed;
use super::settings::{Settings, hider};
use super::target::Target;
use dsa::Dsa;
use dsa::events::Event;
use env::clock::{Clock, SystemClock};
use env::ring::{Taking, ring};
use logs::journal::{Access, Journal};
use logs::object::Object;
use logs::record::Record;
use logs::redact::Redactor;
use logs::{Origin, hide};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Octets of the ring of an IO thread.
const RING_BYTES: usize = 4 << 20;
/// Records of a ring that are taken in turn.
const TURN: usize = 4096;
/// Nanoseconds between two lines about records that were lost.
const LOST_NS: u64 = 1_000_000_000;
/// Pauses at the end in which a reader that takes nothing is waited for.
const LAST_PAUSES: u32 = 10;

/// The thread, if something is to be logged; it writes what is left and ends when this is dropped.
pub(crate) struct Writer {
    _thread: Option<Background>,
}

impl Writer {
    /// Starts it, if something is to be logged, and makes a feed for each of so many IO threads if that is operations.
    ///
    /// # Errors
    /// When a file cannot be written, or the system has no thread.
    pub(crate) fn start(
        dsa: &Arc<Dsa>,
        settings: &Settings,
        threads: usize,
        hangups: &Arc<AtomicU64>,
    ) -> io::Result<(Writer, Vec<Feed>)> {
        let is_access = settings.access() != Access::Off;
        let security = settings.security_file.as_ref();
        let open = |place, destination: Option<&Destination>, header| {
            let start = (origin(dsa), header, SystemClock::start().wall_ms());
            Target::open(place, destination.cloned(), settings.rotation, start)
        };
        let security = security
            .map(|to| open(("log.security-file", Stream::Security), Some(to), Vec::new()))
            .transpose()?;
        if !is_access && security.is_none() {
            return Ok((Writer { _thread: None }, Vec::new()));
        }
        if security.is_some() {
            dsa.events().open();
        }
        let redactor = Redactor::new(Arc::clone(dsa.shard().schema()), hider(settings));
        let journal = Journal::new(settings.access(), settings.format, origin(dsa)).redacted_by(redactor);
        let mut header = Vec::new();
        journal.header(&mut header);
        let access = ("log.access-file", Stream::Access);
        let access = is_access.then(|| open(access, settings.access_file.as_ref(), header));
        let connections = Arc::<AtomicU64>::default();
        let (mut feeds, mut rings) = (Vec::new(), Vec::new());
        for _ in 0..if is_access { threads } else { 0 } {
            let (putting, taking) = ring(RING_BYTES);
            feeds.push(Feed::new(putting, settings.access(), Arc::clone(&connections)));
            rings.push(taking);
        }
        let logs = Logs {
            dsa: Arc::clone(dsa),
            rings,
            journal,
            access: access.transpose()?,
            security,
            lost: 0,
            reported_ns: 0,
            clock: SystemClock::start(),
            hangups: Arc::clone(hangups),
            hangups_seen: 0,
        };
        let thread = Background::start("logs", move |stopped| logs.run(stopped))?;
        Ok((Writer { _thread: Some(thread) }, feeds))
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
    journal: Journal,
    access: Option<Target>,
    security: Option<Target>,
    /// Records that were lost and not reported.
    lost: u64,
    reported_ns: u64,
    clock: SystemClock,
    /// Signals that ask for files to be opened again.
    hangups: Arc<AtomicU64>,
    hangups_seen: u64,
}

impl Logs {
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

    fn waits(&self) -> bool {
        [&self.access, &self.security].into_iter().flatten().any(|target| !target.lines.is_empty())
    }

    /// Takes what is there and writes it; `true` if there may be more.
    fn turn(&mut self, lost_after_ns: u64) -> bool {
        let now = self.clock.now();
        let mut has_more = false;
        let hangups = self.hangups.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.hangups_seen, hangups) != hangups {
            [&mut self.access, &mut self.security].into_iter().flatten().for_each(Target::look_soon);
        }
        if let Some(target) = &mut self.access {
            let mut record = Vec::new();
            for ring in &mut self.rings {
                let mut left = TURN;
                while left > 0 && target.has_room() && ring.take(&mut record) {
                    if let Some((stamp, record)) = Record::decode(&record) {
                        self.journal.take(stamp, record, &mut target.lines);
                    }
                    left -= 1;
                }
                has_more |= left == 0;
                let lost = ring.take_lost();
                self.lost += lost;
                self.dsa.events().losses().access.fetch_add(lost, Ordering::Relaxed);
            }
            if self.lost > 0 && target.has_room() && now.monotonic_ns - self.reported_ns >= lost_after_ns {
                self.reported_ns = now.monotonic_ns;
                self.journal.lost(now.wall_ms, std::mem::take(&mut self.lost), &mut target.lines);
            }
            self.dsa.events().losses().failures.fetch_add(target.write(now), Ordering::Relaxed);
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
