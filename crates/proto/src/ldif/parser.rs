//! Cuts input into records, in one pass over the bytes.

use super::line::{self, Home, Homes, Kind, Parsed, Span};
use super::record::{Layout, Record, View};
use super::{LdifError, RECORD_BYTES_MAX};
use memchr::memchr;
use model::limits::LDIF_LINE_BYTES_MAX;

/// Reads records. It keeps its buffers, so reading allocates nothing once they have grown.
#[derive(Debug)]
pub struct Parser {
    lines: Vec<Parsed>,
    unfolded: Vec<u8>,
    decoded: Vec<u8>,
    layout: Layout,
    /// Bytes of the input that are done with.
    at: usize,
    /// Line of the file that begins at `at`.
    line: u64,
    /// Line of the record's first line.
    first_line: u64,
    /// A version line may still come.
    at_top: bool,
}

impl Default for Parser {
    fn default() -> Parser {
        Parser::new()
    }
}

/// Where one logical line is: its bytes and what follows it.
struct Logical {
    place: Span,
    next: usize,
    physical: u64,
}

impl Parser {
    /// Begins at the top of a file.
    pub fn new() -> Parser {
        Parser { at_top: true, ..Parser::in_the_middle(1) }
    }

    /// Begins at a record within a file, behind a blank line, with this line number.
    pub fn in_the_middle(line: u64) -> Parser {
        Parser {
            lines: Vec::new(),
            unfolded: Vec::new(),
            decoded: Vec::new(),
            layout: Layout::default(),
            at: 0,
            line,
            first_line: line,
            at_top: false,
        }
    }

    /// The next record, or what is wrong with it, and how many bytes of `input` it and what came before it took. `None` if no
    /// record follows. `input` begins where the last record ended, and ends where a record or the file ends.
    pub fn next_record<'a>(&'a mut self, input: &'a [u8]) -> Option<(Result<Record<'a>, LdifError>, usize)> {
        self.lines.clear();
        self.unfolded.clear();
        self.decoded.clear();
        self.layout.clear();
        self.at = 0;
        if let Err(error) = self.read_lines(input) {
            self.skip_rest(input);
            return Some((Err(error), self.at));
        }
        if self.lines.is_empty() {
            return None;
        }
        let homes = Homes { input, unfolded: &self.unfolded, decoded: &[] };
        if let Err((number, reason)) = self.layout.find(homes, &self.lines, &mut self.decoded) {
            let error = LdifError { line: self.first_line + u64::from(number), reason };
            return Some((Err(error), self.at));
        }
        assert!(self.at <= input.len(), "a record ends within the input");
        let homes = Homes { decoded: &self.decoded, ..homes };
        let view = View { homes, lines: &self.lines, first_line: self.first_line };
        Some((Ok(self.layout.show(view)), self.at))
    }

    /// Line of the file that the parser has come to.
    pub fn line(&self) -> u64 {
        self.line
    }

    #[cold]
    fn error(&self, reason: &'static str) -> LdifError {
        LdifError { line: self.line, reason }
    }

    /// Reads the lines of the next record and the blank line behind them.
    fn read_lines(&mut self, input: &[u8]) -> Result<(), LdifError> {
        loop {
            if self.at > RECORD_BYTES_MAX {
                return Err(self.error("the record is too long"));
            }
            let blank = match &input[self.at..] {
                [] => return Ok(()),
                [b'\n', ..] | [b'\r'] => 1,
                [b'\r', b'\n', ..] => 2,
                _ => 0,
            };
            if blank == 0 {
                let logical = self.next_line(input)?;
                self.take(input, logical)?;
                continue;
            }
            self.at += blank;
            self.line += 1;
            if !self.lines.is_empty() {
                return Ok(());
            }
        }
    }

    /// Goes to the record behind one that has a bad line.
    fn skip_rest(&mut self, input: &[u8]) {
        let end = record_boundary(input, self.at).unwrap_or(input.len());
        assert!(self.at <= end && end <= input.len(), "what is skipped is the rest of this record");
        self.line += input[self.at..end].iter().filter(|&&b| b == b'\n').count() as u64;
        self.at = end;
    }

    /// Finds the end of the line at `at`, folded parts included.
    #[inline]
    fn next_line(&mut self, input: &[u8]) -> Result<Logical, LdifError> {
        let (end, next) = physical_line(input, self.at);
        if input.get(next) == Some(&b' ') {
            return self.unfold(input);
        }
        assert!(u32::try_from(next).is_ok(), "a record, as far as it is looked at, has less than 4 GiB");
        let place = Span { start: self.at as u32, end: end as u32, home: Home::Input };
        Ok(Logical { place, next, physical: 1 })
    }

    /// Copies a folded line without its folds.
    fn unfold(&mut self, input: &[u8]) -> Result<Logical, LdifError> {
        let begin = self.unfolded.len();
        let (mut from, mut physical) = (self.at, 0);
        loop {
            let (end, next) = physical_line(input, from);
            self.unfolded.extend_from_slice(&input[from..end]);
            physical += 1;
            if self.unfolded.len() - begin > LDIF_LINE_BYTES_MAX {
                return Err(self.error("the line is too long"));
            }
            if input.get(next) != Some(&b' ') {
                let end = self.unfolded.len() as u32;
                let place = Span { start: begin as u32, end, home: Home::Unfolded };
                return Ok(Logical { place, next, physical });
            }
            from = next + 1;
        }
    }

    /// Takes a logical line into the record; comments are dropped.
    #[inline]
    fn take(&mut self, input: &[u8], logical: Logical) -> Result<(), LdifError> {
        let line = Homes { input, unfolded: &self.unfolded, decoded: &[] }.bytes(logical.place);
        match line.first() {
            Some(b'#') => {}
            Some(b' ') => return Err(self.error("a continuation of nothing")),
            _ => {
                if self.lines.is_empty() {
                    self.first_line = self.line;
                }
                let number = (self.line - self.first_line) as u32;
                let parsed = line::parse(line, logical.place, number, &mut self.decoded);
                let parsed = parsed.map_err(|reason| LdifError { line: self.line, reason })?;
                if !(self.at_top && self.is_version(input, &parsed)?) {
                    self.lines.push(parsed);
                }
            }
        }
        self.at = logical.next;
        self.line += logical.physical;
        Ok(())
    }

    /// Whether this is the version line of a file. Called for the first line only.
    #[cold]
    fn is_version(&mut self, input: &[u8], line: &Parsed) -> Result<bool, LdifError> {
        self.at_top = false;
        let homes = Homes { input, unfolded: &self.unfolded, decoded: &self.decoded };
        if !homes.bytes(line.name).eq_ignore_ascii_case(b"version") {
            return Ok(false);
        }
        match (line.kind, homes.bytes(line.value)) {
            (Kind::Value, b"1") => Ok(true),
            _ => Err(self.error("only version 1 of LDIF is known")),
        }
    }
}

/// The physical line at `start`: where its text ends and where the next one begins.
#[inline(always)]
fn physical_line(input: &[u8], start: usize) -> (usize, usize) {
    let (end, next) = match memchr(b'\n', &input[start..]) {
        Some(n) => (start + n, start + n + 1),
        None => (input.len(), input.len()),
    };
    let end = if end > start && input[end - 1] == b'\r' { end - 1 } else { end };
    (end, next)
}

/// Where the next record may begin at or after `from`: behind a blank line.
pub(super) fn record_boundary(input: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr(b'\n', input.get(at..)?)? + 1;
        match input.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}
