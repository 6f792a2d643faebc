//! LDIF whose lines have the numbers of another text.

use memchr::memchr_iter;
use proto::ldif::write_attribute_folded;
use std::ops::Range;

/// Translated lines.
pub(super) struct Lines {
    out: Vec<u8>,
    /// Number of the line that is next.
    next: u64,
    /// Is a record begun, which a blank line must end?
    is_open: bool,
    /// Line of the original with which it begins.
    first: u64,
    /// Bytes of the original of which the lines are counted, and how many these are.
    counted: (usize, u64),
}

impl Lines {
    /// None yet; the original begins with this line.
    pub(super) fn new(out: Vec<u8>, first: u64) -> Lines {
        Lines { out, next: first, is_open: false, first, counted: (0, 0) }
    }

    /// Begins a record that begins at this line of the original.
    pub(super) fn begin(&mut self, line: u64) {
        self.end();
        self.pad(line, b"\n");
        self.is_open = true;
    }

    /// Adds a value that is at this line of the original.
    pub(super) fn put(&mut self, line: u64, description: &[u8], value: &[u8]) {
        self.pad(line, b"#\n");
        // Not folded: one line stays one.
        write_attribute_folded(&mut self.out, description, value, 0);
        self.next += 1;
    }

    /// Adds a value that is elsewhere, as it is.
    pub(super) fn put_url(&mut self, line: u64, description: &[u8], url: &[u8]) {
        self.pad(line, b"#\n");
        self.push(&[description, b":< ", url, b"\n"].concat());
    }

    /// Copies bytes of the original that are a record of their own.
    pub(super) fn copy(&mut self, original: &[u8], range: Range<usize>) {
        let line = self.line_of(original, range.start);
        self.begin(line);
        let text = &original[range];
        self.out.extend_from_slice(text);
        self.next += memchr_iter(b'\n', text).count() as u64;
        if !text.ends_with(b"\n") {
            self.push(b"\n");
        }
        self.is_open = !(text.ends_with(b"\n\n") || text.ends_with(b"\n\r\n"));
    }

    /// The text of all of the original.
    pub(super) fn finish(mut self, original: &[u8]) -> Vec<u8> {
        self.end();
        let end = self.line_of(original, original.len());
        self.pad(end, b"\n");
        self.out
    }

    /// Ends a record that was begun.
    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.push(b"\n");
        }
    }

    /// Lines that fall behind, since a value became two, are made up for by what is left out next.
    fn pad(&mut self, line: u64, with: &[u8]) {
        while self.next < line {
            self.push(with);
        }
    }

    /// Adds a line.
    fn push(&mut self, line: &[u8]) {
        self.out.extend_from_slice(line);
        self.next += 1;
    }

    /// The line at a byte of the original, which is not before the last one that was asked for.
    fn line_of(&mut self, original: &[u8], at: usize) -> u64 {
        let (from, lines) = self.counted;
        assert!(from <= at && at <= original.len(), "lines are counted forwards");
        self.counted = (at, lines + memchr_iter(b'\n', &original[from..at]).count() as u64);
        self.first + self.counted.1
    }
}
