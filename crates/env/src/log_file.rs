//! A file that lines are appended to, or standard error. It is opened anew when somebody has moved or removed it. Nobody is ever waited for
//! longer than the caller says.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Octets that a pipe takes at once if it takes any (PIPE_BUF).
const PIPE_BYTES: usize = 4096;

/// How a file is opened that is appended to: made if it is not there, readable by nobody else. A FIFO without a reader is an error and no wait.
pub(crate) fn appending() -> OpenOptions {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(nonblocking);
    options
}

/// Is there another file at a path than the one that was opened there, or none?
pub(crate) fn is_replaced(path: &Path, file: &File) -> bool {
    let identity = |found: io::Result<std::fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
    identity(std::fs::metadata(path)) != identity(file.metadata())
}

/// Where lines go.
#[derive(Debug)]
pub struct LogFile {
    /// None is standard error, or standard output.
    path: Option<PathBuf>,
    file: File,
    is_regular: bool,
}

impl LogFile {
    /// Opens a file, which is made if it is not there, readable by nobody else.
    ///
    /// # Errors
    /// When it cannot be written; of a FIFO, when it has no reader.
    pub fn open(path: &Path) -> io::Result<LogFile> {
        let file = appending().open(path)?;
        let is_regular = file.metadata()?.is_file();
        Ok(LogFile { path: Some(path.to_owned()), file, is_regular })
    }

    /// Is it a FIFO? Each end of writing is seen by its reader.
    pub fn is_fifo(path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
    }

    /// Standard error.
    ///
    /// # Errors
    /// When there is none.
    pub fn stderr() -> io::Result<LogFile> {
        let file = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        // Others write there too: nothing but whole lines may come in between.
        Ok(LogFile { path: None, file, is_regular: false })
    }

    /// Standard output.
    ///
    /// # Errors
    /// When there is none.
    pub fn stdout() -> io::Result<LogFile> {
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Ok(LogFile { path: None, file, is_regular: false })
    }

    /// Octets that a regular file has; 0 of others.
    pub fn bytes(&self) -> u64 {
        let len = || self.file.metadata().map(|found| found.len()).ok();
        if self.is_regular { len().unwrap_or(0) } else { 0 }
    }

    /// Is there another file at its path by now, or none?
    pub fn is_replaced(&self) -> bool {
        self.path.as_ref().is_some_and(|path| is_replaced(path, &self.file))
    }

    /// Has it nothing yet? Of what is no regular file nobody knows what it had.
    pub fn is_empty(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() == 0)
    }

    /// Appends lines, and returns how many octets were taken: of a regular file all of them or none. Waits `patience_ms` for a reader that takes nothing, no longer.
    ///
    /// # Errors
    /// When the disk is full, or the reader gone.
    pub fn put(&mut self, lines: &[u8], patience_ms: u32) -> io::Result<usize> {
        if self.is_regular {
            let len = self.file.metadata()?.len();
            if let Err(error) = self.file.write_all(lines) {
                // No part of a line stays, for they all come again.
                self.file.set_len(len)?;
                return Err(error);
            }
            return Ok(lines.len());
        }
        let mut put = 0;
        while put < lines.len() && takes_more(&self.file, patience_ms) {
            let rest = &lines[put..];
            let line = rest.iter().position(|&octet| octet == b'\n').map_or(rest.len(), |end| end + 1);
            match self.file.write(&rest[..line.min(PIPE_BYTES)]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(taken) => put += taken,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(put)
    }
}

/// Does somebody who reads at the other end take more, now or within so many milliseconds?
pub(crate) fn takes_more(end: impl AsFd, patience_ms: u32) -> bool {
    let patience = Timespec {
        tv_sec: i64::from(patience_ms / 1000),
        tv_nsec: i64::from(patience_ms % 1000) * 1_000_000,
    };
    let mut polled = [PollFd::new(&end, PollFlags::OUT)];
    // An end that is gone is no reason to wait: the write tells.
    matches!(poll(&mut polled, Some(&patience)), Ok(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_appended_to_and_opened_anew() {
        let dir = std::env::temp_dir().join(format!("pando-log-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("log");
        let mut log = LogFile::open(&path).unwrap();
        assert_eq!(log.put(b"one\n", 0).unwrap(), 4);
        assert!(!log.is_replaced());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::rename(&path, dir.join("log.1")).unwrap();
        assert!(log.is_replaced());
        let mut log = LogFile::open(&path).unwrap();
        assert_eq!(log.put(b"two\n", 0).unwrap(), 4);
        assert_eq!(std::fs::read(&path).unwrap(), b"two\n");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_reader_that_takes_nothing_is_not_waited_for() {
        let (_reading, writing) = rustix::pipe::pipe().unwrap();
        let mut log = LogFile { path: None, file: File::from(writing), is_regular: false };
        let line = [b"x".repeat(99), b"\n".to_vec()].concat().repeat(10_000);
        let put = log.put(&line, 0).unwrap();
        assert!(put < line.len(), "a pipe holds less than that");
        assert_eq!(log.put(&line, 1).unwrap(), 0);
    }
}
