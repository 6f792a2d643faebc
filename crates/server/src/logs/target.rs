//! Where lines wait until they are written. What cannot be written is kept up to a bound.

use crate::seldom::Seldom;
use env::log_file::LogFile;
use std::io;
use std::path::PathBuf;

/// Octets of lines that wait. While there are so many, no more are made: the rings fill, and lose what comes then.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Milliseconds that a reader is waited for at a time.
const PATIENCE_MS: u32 = 100;
/// Nanoseconds between two looks whether the file is still the one at its path.
const LOOK_NS: u64 = 1_000_000_000;

/// Lines on their way to a file or to standard error.
pub(super) struct Target {
    key: &'static str,
    path: Option<PathBuf>,
    /// None while it cannot be opened.
    file: Option<LogFile>,
    /// What a file begins with, and what a start puts behind what is there.
    header: Vec<u8>,
    pub(super) lines: Vec<u8>,
    looked_ns: u64,
    failures: Seldom,
}

impl Target {
    /// Opens it. `key`: the setting that names it.
    ///
    /// # Errors
    /// When it cannot be written now: an administrator learns that there is no log.
    pub(super) fn open(key: &'static str, path: Option<PathBuf>, header: Vec<u8>) -> io::Result<Target> {
        let file = Target::file(path.as_deref()).map_err(|error| {
            let path = path.iter().map(|path| path.display().to_string()).next().unwrap_or_default();
            io::Error::other(format!("{key}: {path}: {error}"))
        })?;
        let failures = Seldom::default();
        let lines = header.clone();
        Ok(Target { key, path, file: Some(file), header, lines, looked_ns: 0, failures })
    }

    fn file(path: Option<&std::path::Path>) -> io::Result<LogFile> {
        path.map_or_else(LogFile::stderr, LogFile::open)
    }

    /// May more lines be made?
    pub(super) fn has_room(&self) -> bool {
        self.lines.len() < WAITING_BYTES_MAX
    }

    /// Writes what waits, as far as it is taken. Returns how many writes failed: one, or none.
    pub(super) fn write(&mut self, now_ns: u64) -> u64 {
        if now_ns.saturating_sub(self.looked_ns) >= LOOK_NS {
            self.looked_ns = now_ns;
            // One that somebody has moved away is finished, and another one begun in its place.
            if self.file.as_ref().is_none_or(LogFile::is_replaced) {
                self.file = self.reported(Target::file(self.path.as_deref()), now_ns);
                if self.file.as_ref().is_some_and(LogFile::is_empty) {
                    self.lines.splice(0..0, self.header.iter().copied());
                }
            }
        }
        if self.lines.is_empty() {
            return 0;
        }
        let Some(file) = &mut self.file else { return 0 };
        match file.put(&self.lines, PATIENCE_MS) {
            Ok(put) => {
                self.lines.drain(..put);
                0
            }
            failed => {
                self.reported(failed, now_ns);
                // It is opened again at the next look.
                self.file = None;
                1
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
