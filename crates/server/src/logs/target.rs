//! Where lines wait until they are written. What cannot be written is kept up to a bound.

use super::destination::{Destination, Stream, put_journal, put_syslog};
use crate::seldom::Seldom;
use env::clock::Now;
use env::log_file::LogFile;
use env::log_socket::LogSocket;
use env::rotation::{Rotation, last_ms};
use logs::Origin;
use std::io;
use std::path::Path;

/// Octets of lines that wait. While there are so many, no more are made: the rings fill, and lose what comes then.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Milliseconds that a reader is waited for at a time.
const PATIENCE_MS: u32 = 100;
/// Nanoseconds between two looks whether the file is still the one at its path.
const LOOK_NS: u64 = 1_000_000_000;

/// Lines on their way to where they belong.
pub(super) struct Target {
    key: &'static str,
    stream: Stream,
    /// None is standard error.
    destination: Option<Destination>,
    rotation: Rotation,
    origin: Origin,
    /// None while it cannot be opened.
    sink: Option<Sink>,
    /// What a file begins with, and what a start puts behind what is there.
    header: Vec<u8>,
    /// Was the header put since lines were wanted? It is put with the first sink.
    has_header: bool,
    pub(super) lines: Vec<u8>,
    looked_ns: u64,
    /// A time of which the file has lines, in milliseconds since 1970: when it was begun, or written last before it was opened.
    of_ms: u64,
    failures: Seldom,
    /// Memory for a line as a service has it.
    message: Vec<u8>,
}

/// What takes lines.
enum Sink {
    File(LogFile),
    Syslog(LogSocket),
    Journald(LogSocket),
}

impl Sink {
    fn open(destination: Option<&Destination>) -> io::Result<Sink> {
        Ok(match destination {
            None => Sink::File(LogFile::stderr()?),
            Some(Destination::Stdout) => Sink::File(LogFile::stdout()?),
            Some(Destination::File(path)) => Sink::File(LogFile::open(path)?),
            Some(Destination::Syslog(path)) => Sink::Syslog(LogSocket::connect(path)?),
            Some(Destination::Journald(path)) => Sink::Journald(LogSocket::connect(path)?),
        })
    }

    /// Has somebody put another file in its place?
    fn is_replaced(&self) -> bool {
        matches!(self, Sink::File(file) if file.is_replaced())
    }

    /// Is it a file that has nothing yet?
    fn is_empty(&self) -> bool {
        matches!(self, Sink::File(file) if file.is_empty())
    }
}

/// A time of which what was opened has lines: of a file of an earlier start that of its last line, which may be of another day.
fn of_ms(destination: Option<&Destination>, sink: &Sink, now_ms: u64) -> u64 {
    match destination {
        Some(Destination::File(path)) if !sink.is_empty() => last_ms(path).unwrap_or(now_ms),
        _ => now_ms,
    }
}

/// Can lines go there? A file that is missing is made. A FIFO is not tried: its reader would take the end of the trial for that of the log.
///
/// # Errors
/// Why not.
pub(super) fn try_open(destination: Option<&Destination>) -> io::Result<()> {
    match destination {
        Some(Destination::File(path)) if LogFile::is_fifo(path) => Ok(()),
        _ => Sink::open(destination).map(drop),
    }
}

impl Target {
    /// Opens it. `key`: the setting that names it.
    ///
    /// # Errors
    /// When it cannot be written now: an administrator learns that there is no log.
    pub(super) fn open(
        (key, stream): (&'static str, Stream),
        destination: Option<Destination>,
        rotation: Rotation,
        (origin, header, now_ms): (Origin, Vec<u8>, u64),
    ) -> io::Result<Target> {
        let sink = Sink::open(destination.as_ref()).map_err(|error| {
            let place = destination.as_ref().map(Destination::to_string).unwrap_or_default();
            io::Error::other(format!("{key}: {place}: {error}"))
        })?;
        let mut target = Target::new((key, stream), destination, rotation, (origin, header, now_ms));
        target.of_ms = of_ms(target.destination.as_ref(), &sink, now_ms);
        target.lines = target.header.clone();
        target.has_header = true;
        target.sink = Some(sink);
        Ok(target)
    }

    /// The same of one that is opened with the first write, and tried again while it cannot be: lines wait for it up to the bound.
    pub(super) fn new(
        (key, stream): (&'static str, Stream),
        destination: Option<Destination>,
        rotation: Rotation,
        (origin, header, now_ms): (Origin, Vec<u8>, u64),
    ) -> Target {
        Target {
            key,
            stream,
            destination,
            rotation,
            origin,
            sink: None,
            header,
            has_header: false,
            lines: Vec::new(),
            looked_ns: 0,
            of_ms: now_ms,
            failures: Seldom::default(),
            message: Vec::new(),
        }
    }

    /// Lines are of another start of the log from here on. Those of the earlier one that wait stay before them.
    pub(super) fn begin_again(&mut self, header: Vec<u8>) {
        if !self.has_header {
            self.lines.splice(0..0, self.header.drain(..));
        }
        self.header = header;
        self.lines.extend_from_slice(&self.header);
        self.has_header = true;
    }

    /// May more lines be made?
    pub(super) fn has_room(&self) -> bool {
        self.lines.len() < WAITING_BYTES_MAX
    }

    /// Files are begun anew, and kept, by these rules from now on.
    pub(super) fn rotate_by(&mut self, rotation: Rotation) {
        self.rotation = rotation;
    }

    /// The file at its path is looked at with the next write.
    pub(super) fn look_soon(&mut self) {
        self.looked_ns = 0;
    }

    /// Writes what waits, as far as it is taken. Returns how many writes failed: one, or none.
    pub(super) fn write(&mut self, now: Now) -> u64 {
        let now_ns = now.monotonic_ns;
        if now_ns.saturating_sub(self.looked_ns) >= LOOK_NS || self.looked_ns == 0 {
            self.looked_ns = now_ns;
            self.rotate(now);
            // One that somebody has moved away is finished, and another one begun in its place.
            if self.sink.as_ref().is_none_or(Sink::is_replaced) {
                self.sink = self.reported(Sink::open(self.destination.as_ref()), now_ns);
                if let Some(sink) = &self.sink {
                    self.of_ms = of_ms(self.destination.as_ref(), sink, now.wall_ms);
                }
                if self.sink.as_ref().is_some_and(|sink| sink.is_empty() || !self.has_header) {
                    self.lines.splice(0..0, self.header.iter().copied());
                    self.has_header = true;
                }
            }
        }
        if self.lines.is_empty() {
            return 0;
        }
        match self.put(now.wall_ms) {
            Ok(put) => {
                self.lines.drain(..put);
                0
            }
            failed => {
                self.reported(failed, now_ns);
                // It is opened again at the next look.
                self.sink = None;
                1
            }
        }
    }

    /// Moves a file away that is to be begun anew, and deletes those that are not kept any more.
    fn rotate(&mut self, now: Now) {
        let (Some(Destination::File(path)), Some(Sink::File(file))) = (&self.destination, &self.sink) else {
            return;
        };
        if self.rotation == Rotation::default() || file.is_replaced() {
            return;
        }
        let done = match self.rotation.is_due(file.bytes(), self.of_ms, now.wall_ms) {
            true => Rotation::move_away(path, now.wall_ms).and_then(|()| self.clean(path, now)),
            // Files grow old while none is moved away.
            false if self.rotation.keep_seconds > 0 => self.clean(path, now),
            false => Ok(()),
        };
        self.reported(done, now.monotonic_ns);
    }

    fn clean(&self, path: &Path, now: Now) -> io::Result<()> {
        self.rotation.clean(path, now.wall_ms)
    }

    /// Gives lines to what takes them, and returns how many octets it took.
    fn put(&mut self, now_ms: u64) -> io::Result<usize> {
        let Target { key, sink, lines, message, stream, origin, .. } = self;
        let Some(sink) = sink else { return Ok(0) };
        let mut put = 0;
        loop {
            let (socket, is_journal) = match sink {
                Sink::File(file) => return file.put(lines, PATIENCE_MS),
                Sink::Syslog(socket) => (socket, false),
                Sink::Journald(socket) => (socket, true),
            };
            let Some(len) = lines[put..].iter().position(|&octet| octet == b'\n') else { return Ok(put) };
            let line = &lines[put..put + len];
            match is_journal {
                true => put_journal(message, line, *stream),
                false => put_syslog(message, line, (*stream, origin, now_ms)),
            }
            match socket.send(message, PATIENCE_MS) {
                Ok(true) => put += len + 1,
                Ok(false) => return Ok(put),
                // It would never be taken, and those behind it with it.
                Err(error) if LogSocket::is_too_long(&error) => {
                    tracing::warn!(
                        octets = message.len(),
                        "{key}: a line is too long for the service and is left out"
                    );
                    put += len + 1;
                }
                // What was sent does not come again.
                Err(error) if put == 0 => return Err(error),
                Err(_) => return Ok(put),
            }
        }
    }

    fn reported<T>(&self, done: io::Result<T>, now_ns: u64) -> Option<T> {
        match done {
            Ok(done) => Some(done),
            Err(error) => {
                if let Some(others) = self.failures.pass(now_ns) {
                    tracing::error!(%error, others, "{}: lines of the log cannot be written", self.key);
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::clock::{Clock, SystemClock};

    fn target(path: &Path) -> Target {
        let start = (Origin::default(), b"head\n".to_vec(), 0);
        Target::new(
            ("a-key", Stream::Access),
            Some(Destination::File(path.into())),
            Rotation::default(),
            start,
        )
    }

    #[test]
    fn lines_wait_for_a_file_that_cannot_be_opened() {
        let dir = tempfile::tempdir().expect("there is room");
        let path = dir.path().join("missing").join("log");
        let (mut target, clock) = (target(&path), SystemClock::start());
        target.lines.extend_from_slice(b"first\n");
        target.write(clock.now());
        assert_eq!(target.lines, b"first\n");
        std::fs::create_dir(dir.path().join("missing")).expect("it is ours");
        // Something of an earlier start is there.
        std::fs::write(&path, "earlier\n").expect("it is ours");
        target.look_soon();
        target.write(clock.now());
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "earlier\nhead\nfirst\n");
    }

    #[test]
    fn lines_that_wait_stay_when_the_log_begins_again() {
        let dir = tempfile::tempdir().expect("there is room");
        let mut target = target(&dir.path().join("log"));
        target.lines.extend_from_slice(b"first\n");
        target.begin_again(b"other\n".to_vec());
        target.lines.extend_from_slice(b"second\n");
        assert_eq!(target.lines, b"head\nfirst\nother\nsecond\n");
    }
}
