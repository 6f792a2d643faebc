//! The audit log: every change that was applied, as the directory reports of them ([`dsa::audit`]). What was reported again by a start, and is in
//! the file already, is passed over; the file's last line says where that ends.

use super::background::{Background, Stopped};
use super::in_force::InForce;
use super::settings::{OnAuditFailure, hider};
use crate::seldom::Seldom;
use dsa::audit::{Carried, Report, Taken, Trail, What};
use env::clock::{Clock, Now, SystemClock};
use env::line_file::LineFile;
use env::rotation::{Rotation, last_ms};
use logs::audit::{self, Change, Place};
use logs::hide::Hider;
use schema::Schema;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Octets of lines that are made before they are written.
const LINES_BYTES_SOFT_MAX: usize = 1 << 20;
/// Octets that a recovery reports before they are made lines of.
const RECOVERED_BYTES: usize = 1 << 20;
/// Nanoseconds between two looks whether the file is still the one at its path; after that it is synced, too.
const LOOK_NS: u64 = 1_000_000_000;
/// Nanoseconds until a file that could not be written is tried again.
const RETRY_NS: u64 = 100_000_000;
/// Pauses at the end in which a file that cannot be written is tried again.
const LAST_PAUSES: u32 = 10;

/// Writes the audit log.
pub struct Auditor {
    trail: Arc<Trail>,
    path: PathBuf,
    /// None while it cannot be opened.
    file: Option<LineFile>,
    /// Up to where lines are written; `None` if the file was empty, and nothing is known.
    written: Option<Place>,
    /// Up to where lines are made.
    made: Option<Place>,
    /// Lines behind `written`.
    lines: Vec<u8>,
    /// The last record that was reported as a whole.
    reported: u64,
    /// Is something written that is not synced?
    is_dirty: bool,
    /// What distinguishes this process from others in the numbers of connections.
    start: String,
    clock: SystemClock,
    looked_ns: u64,
    retry_ns: u64,
    failures: Seldom,
    /// When the file is begun anew. No file of it is ever deleted.
    rotation: Rotation,
    hider: Hider,
    /// What of this may have changed.
    in_force: Arc<InForce>,
    /// Its version here.
    seen: u64,
    /// A time of which it has lines: when it was begun, or written last before it was opened.
    of_ms: u64,
}

/// When a file was written last; now, if that is not known.
fn of_ms(path: &Path, now_ms: u64) -> u64 {
    last_ms(path).unwrap_or(now_ms)
}

impl Drop for Auditor {
    /// Nobody waits for one that is gone.
    fn drop(&mut self) {
        self.trail.set_failing(true);
    }
}

impl Auditor {
    /// Opens the file, to go on behind its last line.
    ///
    /// # Errors
    /// When it cannot be written now, or is no audit log: an administrator learns it at the start.
    pub fn open(path: &Path, in_force: &Arc<InForce>, clock: SystemClock) -> io::Result<Auditor> {
        let settings = in_force.now();
        let on_failure = settings.on_audit_failure;
        let named = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
        let file = LineFile::open(path).map_err(named)?;
        let last = file.last_line(Place::BYTES_MAX).map_err(named)?;
        let written = Place::of_line(&last);
        if written.is_none() && !file.is_empty() {
            return Err(named(io::Error::other("its last line is none of an audit log: name another file")));
        }
        Ok(Auditor {
            trail: Arc::new(Trail::new(on_failure == OnAuditFailure::ReadOnly)),
            path: path.to_owned(),
            file: Some(file),
            written,
            made: written,
            lines: Vec::new(),
            reported: 0,
            is_dirty: false,
            start: String::new(),
            clock,
            looked_ns: 0,
            retry_ns: 0,
            failures: Seldom::default(),
            rotation: settings.rotation,
            hider: hider(&settings),
            in_force: Arc::clone(in_force),
            seen: 0,
            of_ms: of_ms(path, clock.wall_ms()),
        })
    }

    /// What it gets reports by.
    pub fn trail(&self) -> &Arc<Trail> {
        &self.trail
    }

    /// Writes what a recovery has reported so far, if it is much.
    pub fn keep_up(&mut self, schema: &Schema) {
        if self.trail.bytes() > RECOVERED_BYTES {
            self.turn(schema);
        }
    }

    /// The log ends with this record, whether all of it is applied or not, and the process began then: if the file is ahead of it, the directory was restored to an earlier state, or is another one.
    pub fn recovered(&mut self, schema: &Schema, last: u64, started_ms: u64) {
        self.start = format!("{started_ms:x}");
        self.turn(schema);
        if self.made.is_some_and(|made| made.index > last) {
            tracing::warn!(
                last,
                "the audit log has changes that are not in the log: it goes on with what comes after record {last}"
            );
            self.mark(Place::whole(last), "begin");
        }
        self.turn(schema);
    }

    fn mark(&mut self, place: Place, what: &str) {
        audit::put_mark(&mut self.lines, self.clock.wall_ms(), place, what);
        self.made = Some(place);
    }

    /// Takes what was reported and writes it.
    fn turn(&mut self, schema: &Schema) {
        let now = self.clock.now();
        if let Some(settings) = self.in_force.newer(&mut self.seen) {
            self.rotation = settings.rotation;
            self.hider.choose(settings.values);
            self.trail.set_refuses(settings.on_audit_failure == OnAuditFailure::ReadOnly);
        }
        // While it cannot be written, the rest waits where it was reported.
        if self.lines.len() < LINES_BYTES_SOFT_MAX {
            let Taken { reported, lost, up_to } = self.trail.take();
            for reported in &reported {
                match reported {
                    Report::From(index) => self.begin_at(*index, now),
                    Report::Carried(carried) => self.carried(schema, carried),
                }
            }
            if let Some(lost) = lost {
                self.lost(lost, now);
            }
            self.reported = up_to;
        }
        if self.trail.is_wanted() && self.made.is_some_and(|made| made < Place::whole(self.reported)) {
            // The next start asks where to go on, and the records since the last line had nothing to tell.
            self.mark(Place::whole(self.reported), "snapshot");
        }
        self.write(now);
    }

    /// Nothing is reported of the records up to this one.
    fn begin_at(&mut self, index: u64, now: Now) {
        match self.made {
            None => self.mark(Place::whole(index), "begin"),
            Some(made) if made < Place::whole(index) && made.index < index => {
                let first = made.index + u64::from(made.number == Place::WHOLE);
                self.lost((first, index), now);
            }
            Some(_) => {}
        }
    }

    fn lost(&mut self, (from, to): (u64, u64), now: Now) {
        tracing::error!(from, to, "the audit log has no changes of these records of the log");
        audit::put_lost(&mut self.lines, now.wall_ms, (from, to));
        self.made = self.made.max(Some(Place::whole(to)));
    }

    fn carried(&mut self, schema: &Schema, carried: &Carried) {
        let first = Place { index: carried.index, number: carried.first };
        let origin = carried.origin.as_ref();
        // Without a name of its own, who asked is who it was applied as.
        let who = origin.map(|origin| &origin.who[..]).filter(|who| !who.is_empty());
        let connection = origin.map_or(0, |origin| origin.connection);
        let change = Change {
            wall_ms: carried.wall_ms,
            connection: (connection > 0).then(|| format!("{}-{connection}", self.start)),
            who: who.unwrap_or(&carried.actor),
            acting: who.map(|_| &carried.actor[..]),
            peer: origin.and_then(|origin| origin.peer).map(|peer| peer.to_string()).unwrap_or_default(),
            via: origin.and_then(|origin| origin.via).map(|via| via.to_string()).unwrap_or_default(),
            transaction: (carried.what == What::Transaction).then_some(first),
            is_recovered: origin.is_none(),
            ..Change::default()
        };
        match carried.what {
            What::Updates | What::Transaction => {
                for (number, message, note) in carried.updates() {
                    let place = Place { number, ..first };
                    if self.made < Some(place) {
                        let change = Change { csn: Some(note.csn), uuid: &note.uuid, ..change.clone() };
                        audit::put_change(&mut self.lines, (schema, &self.hider), place, &change, message);
                        self.made = Some(place);
                    }
                }
            }
            What::Settings if self.made < Some(first) => {
                audit::put_change(&mut self.lines, (schema, &self.hider), first, &change, &carried.messages);
                self.made = Some(first);
            }
            What::Import if self.made < Some(first) => self.mark(first, "import"),
            What::Settings | What::Import => {}
        }
    }

    /// Writes what waits, and syncs what somebody waits for.
    fn write(&mut self, now: Now) {
        if now.monotonic_ns < self.retry_ns {
            return;
        }
        let is_look_due = now.monotonic_ns.saturating_sub(self.looked_ns) >= LOOK_NS;
        let done = self.try_write(is_look_due, now);
        if is_look_due {
            self.looked_ns = now.monotonic_ns;
        }
        self.trail.set_failing(done.is_err());
        if let Err(error) = done {
            self.retry_ns = now.monotonic_ns + RETRY_NS;
            // It is opened anew, which cuts off what was written by halves.
            self.file = None;
            if let Some(others) = self.failures.pass(now.monotonic_ns) {
                tracing::error!(%error, others, "log.audit-file: {} cannot be written", self.path.display());
            }
        }
    }

    fn try_write(&mut self, is_look_due: bool, now: Now) -> io::Result<()> {
        if is_look_due
            && let Some(file) = &self.file
            && !file.is_replaced()
            && self.rotation.is_due(file.bytes(), self.of_ms, now.wall_ms)
        {
            Rotation::move_away(&self.path, now.wall_ms)?;
        }
        if is_look_due && self.file.as_ref().is_some_and(LineFile::is_replaced) {
            // One that somebody has moved away is finished, and another one begun in its place.
            self.file.take().map_or(Ok(()), |file| file.sync())?;
        }
        if self.file.is_none() {
            let mut file = LineFile::open(&self.path)?;
            self.of_ms = if file.is_empty() { now.wall_ms } else { of_ms(&self.path, now.wall_ms) };
            if let Some(written) = self.written.filter(|_| file.is_empty()) {
                let mut begin = Vec::new();
                audit::put_mark(&mut begin, now.wall_ms, written, "begin");
                file.append(&begin)?;
                // A crash that leaves it empty would have the next start report again what the file before has.
                file.sync()?;
            }
            self.file = Some(file);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if !self.lines.is_empty() {
            file.append(&self.lines)?;
            self.lines.clear();
            (self.written, self.is_dirty) = (self.made, true);
        }
        if self.trail.is_wanted() || (is_look_due && self.is_dirty) {
            file.sync()?;
            self.is_dirty = false;
            self.trail.on_safe(self.reported);
        }
        Ok(())
    }

    /// Starts the thread that writes it; when that is dropped it writes what is left.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(crate) fn start(self, schema: Arc<Schema>) -> io::Result<Background> {
        Background::start("audit", move |stopped| self.run(&schema, stopped))
    }

    fn run(mut self, schema: &Schema, stopped: &Stopped) {
        loop {
            self.turn(schema);
            if stopped.pause(self.trail.bytes() > 0) {
                break;
            }
        }
        for _ in 0..LAST_PAUSES {
            self.looked_ns = 0;
            self.turn(schema);
            if self.lines.is_empty() && self.trail.bytes() == 0 {
                return;
            }
            // Nobody is left who would end this early.
            self.retry_ns = 0;
        }
    }
}

#[cfg(test)]
mod tests;
