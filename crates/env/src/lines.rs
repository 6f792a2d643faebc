//! Log lines to a file, a terminal or a pipe. A line that nobody would take now is dropped and counted, so that a reader
//! that has stopped never stops the server.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// Bytes that a pipe takes at once when it says that it takes any (PIPE_BUF on Linux). A longer line is cut.
const LINE_BYTES_MAX: usize = 4096;

/// Where lines go.
#[derive(Debug)]
pub struct Lines {
    file: Mutex<File>,
}

#[derive(Debug)]
struct File {
    file: std::fs::File,
    dropped: u64,
}

impl Lines {
    /// Lines to an open file.
    pub fn to(file: OwnedFd) -> Lines {
        Lines { file: Mutex::new(File { file: file.into(), dropped: 0 }) }
    }

    /// Lines to standard error.
    ///
    /// # Errors
    /// When there is none.
    pub fn to_stderr() -> io::Result<Lines> {
        Ok(Lines::to(io::stderr().as_fd().try_clone_to_owned()?))
    }
}

impl Write for &Lines {
    /// Writes a line, or drops it. It counts as written either way.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A count and a file are whole after every statement, so a panic leaves nothing half done.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if !file.takes_more() {
            file.dropped += 1;
            return Ok(line.len());
        }
        let dropped = std::mem::take(&mut file.dropped);
        if dropped > 0 {
            file.put(format!("{dropped} lines were dropped here, for nobody took them\n").as_bytes())?;
            if !file.takes_more() {
                file.dropped = 1;
                return Ok(line.len());
            }
        }
        file.put(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl File {
    /// Whether a line would be taken at once.
    fn takes_more(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut polled = [PollFd::new(&self.file, PollFlags::OUT)];
        matches!(poll(&mut polled, Some(&now)), Ok(1)) && polled[0].revents().contains(PollFlags::OUT)
    }

    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        match line.len() <= LINE_BYTES_MAX {
            true => self.file.write_all(line),
            false => self.file.write_all(&[&line[..LINE_BYTES_MAX - 1], b"\n"].concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn lines_that_nobody_takes_are_dropped_and_counted() {
        let (reading, writing) = rustix::pipe::pipe().unwrap();
        let lines = Lines::to(writing);
        let line = [b"x".repeat(99), b"\n".to_vec()].concat();
        // More than a pipe holds: without the look this would never end.
        for _ in 0..100_000 {
            assert_eq!((&lines).write(&line).unwrap(), 100);
        }
        let mut reading = std::fs::File::from(reading);
        let mut some = vec![0; 60_000];
        reading.read_exact(&mut some).unwrap();
        (&lines).write_all(b"after\n").unwrap();
        drop(lines);
        let mut rest = String::new();
        reading.read_to_string(&mut rest).unwrap();
        let (_, reported) = rest.rsplit_once("xxx\n").unwrap();
        let (count, after) = reported.split_once(" lines were dropped").unwrap();
        assert!(count.parse::<u64>().unwrap() > 90_000, "{reported}");
        assert!(after.ends_with("\nafter\n"), "{reported}");
    }
}
