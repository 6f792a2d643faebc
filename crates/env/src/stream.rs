//! Reading what may have nothing to say for long: FIFOs, pipes, terminals. The one that reads can be asked to wait no longer.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that the kernel is asked to keep between writer and reader of a pipe: fewer changes between the two.
const PIPE_BYTES: usize = 1 << 20;
/// How often a reader that waits looks whether it should go on waiting, nanoseconds.
const LOOK_NS: i64 = 50_000_000;

/// Something that is read as it comes. Its end is the end of its last writer; one that has had no writer yet is awaited.
pub struct Stream {
    file: File,
    is_over: Arc<AtomicBool>,
}

impl Stream {
    /// Opens a FIFO or the like without waiting for who writes to it. Reads fail once `is_over` is set.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, is_over: Arc<AtomicBool>) -> io::Result<Stream> {
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        Ok(Stream::of(file, is_over))
    }

    /// Standard input.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn standard_input(is_over: Arc<AtomicBool>) -> io::Result<Stream> {
        let own = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Stream::of(own.into(), is_over))
    }

    fn of(file: File, is_over: Arc<AtomicBool>) -> Stream {
        // What is no pipe, or may not be so long, stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE_BYTES);
        Stream { file, is_over }
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
        loop {
            if self.is_over.load(Ordering::Relaxed) {
                return Err(io::Error::other("nobody wants more of it"));
            }
            let mut waiting = [PollFd::new(&self.file, PollFlags::IN)];
            match poll(&mut waiting, Some(&look)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match self.file.read(to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn fifo(dir: &tempfile::TempDir) -> std::path::PathBuf {
        let path = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        path
    }

    #[test]
    fn it_waits_for_its_first_writer() {
        let dir = tempfile::tempdir().unwrap();
        let path = fifo(&dir);
        let mut stream = Stream::open(&path, Arc::default()).unwrap();
        let writer = std::thread::spawn(move || {
            let mut file = OpenOptions::new().write(true).open(path).unwrap();
            file.write_all(&[7; 300_000]).unwrap();
        });
        let mut read = Vec::new();
        stream.read_to_end(&mut read).unwrap();
        writer.join().unwrap();
        assert_eq!(read, vec![7; 300_000]);
    }

    #[test]
    fn a_wait_can_be_ended() {
        let dir = tempfile::tempdir().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let mut stream = Stream::open(&fifo(&dir), Arc::clone(&is_over)).unwrap();
        let reader = std::thread::spawn(move || stream.read(&mut [0; 10]).map_err(|error| error.to_string()));
        is_over.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap().is_err_and(|why| why.contains("nobody")));
    }
}
