//! A file of lines that is whole after every step: a line is in it or not, whatever stopped the one that wrote it. A program that goes on with it
//! asks for its last line.

use crate::log_file;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Octets that are looked through at a time for the end of a line.
const LOOK_BYTES: u64 = 64 << 10;

/// The file.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    file: File,
    /// Octets of whole lines. More are there only while a write has failed and could not be taken back.
    len: u64,
}

impl LineFile {
    /// Opens a file, which is made if it is not there, readable by nobody else. What stands behind its last line is cut off.
    ///
    /// # Errors
    /// When it cannot be written, or is no regular file: in a pipe nobody finds the last line again.
    pub fn open(path: &Path) -> io::Result<LineFile> {
        if path.exists() && !path.metadata()?.is_file() {
            return Err(io::Error::other("it must be a regular file, whose last line can be found again"));
        }
        let mut opened =
            LineFile { path: path.to_owned(), file: log_file::appending().read(true).open(path)?, len: 0 };
        let len = opened.file.metadata()?.len();
        opened.len = opened.line_before(len)?;
        if opened.len < len {
            opened.file.set_len(opened.len)?;
        }
        Ok(opened)
    }

    /// Where the last line ends that ends at `end` or before.
    fn line_before(&self, end: u64) -> io::Result<u64> {
        let mut end = end;
        let mut bytes = Vec::new();
        while end > 0 {
            let begin = end.saturating_sub(LOOK_BYTES);
            bytes.resize((end - begin) as usize, 0);
            self.file.read_exact_at(&mut bytes, begin)?;
            if let Some(at) = bytes.iter().rposition(|&octet| octet == b'\n') {
                return Ok(begin + at as u64 + 1);
            }
            end = begin;
        }
        Ok(0)
    }

    /// The first octets of the last line, `max` at most; empty if there is none.
    ///
    /// # Errors
    /// What the system says.
    pub fn last_line(&self, max: usize) -> io::Result<Vec<u8>> {
        let begin = self.line_before(self.len.saturating_sub(1))?;
        let mut line = vec![0; usize::try_from(self.len - begin).unwrap_or(max).min(max)];
        self.file.read_exact_at(&mut line, begin)?;
        Ok(line)
    }

    /// Has it no line?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Octets of its lines.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Is there another file at its path by now, or none?
    pub fn is_replaced(&self) -> bool {
        log_file::is_replaced(&self.path, &self.file)
    }

    /// Appends whole lines, all of them or none.
    ///
    /// # Errors
    /// When the disk is full or fails. If even what was written of them cannot be cut off, the next open does that.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        assert!(lines.is_empty() || lines.ends_with(b"\n"), "whole lines are appended");
        if let Err(error) = self.file.write_all(lines) {
            self.file.set_len(self.len)?;
            return Err(error);
        }
        self.len += lines.len() as u64;
        Ok(())
    }

    /// Makes everything that was appended durable.
    ///
    /// # Errors
    /// What the disk says: nobody knows then what is there.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_cut_off_wherever_it_ends() {
        let dir = std::env::temp_dir().join(format!("pando-lines-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("lines");
        let long = vec![b'x'; 3 * LOOK_BYTES as usize];
        for first in [&b"one\n"[..], b"", &[&long[..], b"\n"].concat()] {
            for torn in [&b""[..], b"t", &long] {
                std::fs::write(&path, [first, b"two 2\n", torn].concat()).unwrap();
                let mut lines = LineFile::open(&path).unwrap();
                assert_eq!(lines.last_line(3).unwrap(), b"two");
                assert_eq!(lines.last_line(100).unwrap(), b"two 2\n");
                lines.append(b"three\n").unwrap();
                assert_eq!(lines.last_line(100).unwrap(), b"three\n");
                assert_eq!(std::fs::read(&path).unwrap(), [first, b"two 2\nthree\n"].concat());
            }
        }
        std::fs::write(&path, b"torn").unwrap();
        let lines = LineFile::open(&path).unwrap();
        assert!(lines.is_empty() && lines.last_line(9).unwrap().is_empty() && !lines.is_replaced());
        std::fs::remove_file(&path).unwrap();
        assert!(lines.is_replaced());
        assert!(LineFile::open(&dir).is_err(), "a folder is no file");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
