//! Cuts input into records. One pass over the bytes; when they end too early it goes on where it stopped.

use super::line::{self, Home, Homes, Kind, Parsed, Span};
use super::record::{Layout, Record, View};
use super::{LdifError, RECORD_BYTES_MAX};
use memchr::memchr;
use model::limits::LDIF_LINE_BYTES_MAX;

/// What [`Parser::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A record: [`Parser::record`] shows it. It and what came before took `consumed` bytes of the input.
    Record {
        /// Bytes that the next input must leave out.
        consumed: usize,
    },
    /// The record goes on behind the input: call again with the same bytes and more after them.
    More,
    /// No record follows.
    End,
}

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
    finished: bool,
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

    /// Begins at a record within a file, such as [`record_boundary`] finds, with this line number.
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
            finished: false,
        }
    }

    /// Looks for the next record. `input` begins where the last record ended; `is_last` tells that nothing
    /// follows it. After an error, [`Parser::skip_record`] goes on behind the bad record.
    pub fn advance(&mut self, input: &[u8], is_last: bool) -> Result<Step, LdifError> {
        if self.finished {
            self.begin_record();
        }
        loop {
            if self.at > RECORD_BYTES_MAX {
                return Err(self.error("the record is too long"));
            }
            let rest = &input[self.at..];
            let Some(first) = rest.first() else {
                return self.at_end_of_input(input, is_last);
            };
            if matches!(first, b'\n' | b'\r') {
                match blank_line(rest, is_last) {
                    Some(0) => {}
                    Some(len) => {
                        self.at += len;
                        self.line += 1;
                        if self.lines.is_empty() {
                            continue;
                        }
                        return self.complete(input);
                    }
                    None => return Ok(Step::More),
                }
            }
            let Some(logical) = self.next_line(input, is_last)? else {
                return Ok(Step::More);
            };
            self.take(input, logical)?;
        }
    }

    /// The record that [`Parser::advance`] found in this input.
    pub fn record<'a>(&'a self, input: &'a [u8]) -> Record<'a> {
        let homes = Homes { input, unfolded: &self.unfolded, decoded: &self.decoded };
        let view = View { homes, lines: &self.lines, first_line: self.first_line };
        self.layout.show(view)
    }

    /// [`Parser::advance`] and [`Parser::record`] in one: the next record and the bytes it took; `None` if
    /// there is no whole one.
    pub fn next_record<'a>(
        &'a mut self,
        input: &'a [u8],
        is_last: bool,
    ) -> Result<Option<(Record<'a>, usize)>, LdifError> {
        match self.advance(input, is_last)? {
            Step::Record { consumed } => Ok(Some((self.record(input), consumed))),
            Step::More | Step::End => Ok(None),
        }
    }

    /// After an error: gives up the current record and says how many bytes to leave out to be at the next one.
    /// `None`: its end is not in the input; call again with more after it.
    pub fn skip_record(&mut self, input: &[u8], is_last: bool) -> Option<usize> {
        // A fault of the whole record was found behind it, any other one at the begin of a line.
        let end = match record_boundary(input, self.at) {
            _ if self.finished => self.at,
            Some(end) => end,
            None if is_last => input.len(),
            None => return None,
        };
        assert!(self.at <= end && end <= input.len(), "what is skipped is the rest of this record");
        self.line += input[self.at..end].iter().filter(|&&b| b == b'\n').count() as u64;
        self.begin_record();
        Some(end)
    }

    /// Line of the file that the parser has come to.
    pub fn line(&self) -> u64 {
        self.line
    }

    fn begin_record(&mut self) {
        self.lines.clear();
        self.unfolded.clear();
        self.decoded.clear();
        self.layout.clear();
        self.at = 0;
        self.finished = false;
    }

    #[cold]
    fn error(&self, reason: &'static str) -> LdifError {
        LdifError { line: self.line, reason }
    }

    fn at_end_of_input(&mut self, input: &[u8], is_last: bool) -> Result<Step, LdifError> {
        match (is_last, self.lines.is_empty()) {
            (false, _) => Ok(Step::More),
            (true, true) => Ok(Step::End),
            (true, false) => self.complete(input),
        }
    }

    /// All lines are there: are they a record?
    fn complete(&mut self, input: &[u8]) -> Result<Step, LdifError> {
        assert!(!self.lines.is_empty() && !self.finished, "a record has a line, and is complete once");
        let homes = Homes { input, unfolded: &self.unfolded, decoded: &[] };
        let fault = self.layout.find(homes, &self.lines, &mut self.decoded);
        self.finished = true;
        fault.map_err(|(number, reason)| LdifError { line: self.first_line + number as u64, reason })?;
        Ok(Step::Record { consumed: self.at })
    }

    /// Finds the end of the line at `at`, folded parts included. `None`: it may go on behind the input.
    #[inline]
    fn next_line(&mut self, input: &[u8], is_last: bool) -> Result<Option<Logical>, LdifError> {
        let start = self.at;
        let Some((end, next)) = physical_line(input, start, is_last) else {
            return self.too_long_or_more(input.len() - start);
        };
        match input.get(next) {
            Some(b' ') => self.unfold(input, is_last, start),
            None if !is_last => self.too_long_or_more(input.len() - start),
            _ => {
                assert!(
                    u32::try_from(next).is_ok(),
                    "a record, as far as it is looked at, has less than 4 GiB"
                );
                let place = Span { start: start as u32, end: end as u32, home: Home::Input };
                Ok(Some(Logical { place, next, physical: 1 }))
            }
        }
    }

    #[cold]
    fn too_long_or_more(&self, seen: usize) -> Result<Option<Logical>, LdifError> {
        if seen > LDIF_LINE_BYTES_MAX { Err(self.error("the line is too long")) } else { Ok(None) }
    }

    /// Copies a folded line without its folds.
    fn unfold(&mut self, input: &[u8], is_last: bool, start: usize) -> Result<Option<Logical>, LdifError> {
        let begin = self.unfolded.len();
        let (mut from, mut physical) = (start, 0);
        loop {
            let line = physical_line(input, from, is_last).filter(|&(_, next)| is_last || next < input.len());
            let Some((end, next)) = line else {
                self.unfolded.truncate(begin);
                return self.too_long_or_more(input.len() - start);
            };
            self.unfolded.extend_from_slice(&input[from..end]);
            physical += 1;
            if self.unfolded.len() - begin > LDIF_LINE_BYTES_MAX {
                return Err(self.error("the line is too long"));
            }
            if input.get(next) != Some(&b' ') {
                let end = self.unfolded.len() as u32;
                let place = Span { start: begin as u32, end, home: Home::Unfolded };
                return Ok(Some(Logical { place, next, physical }));
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

/// Length of the blank line at the front: 0 if it is not blank, `None` if that cannot be known yet.
fn blank_line(rest: &[u8], is_last: bool) -> Option<usize> {
    match rest {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        [b'\r'] if is_last => Some(1),
        [b'\r'] => None,
        _ => Some(0),
    }
}

/// The physical line at `start`: where its text ends and where the next one begins.
#[inline(always)]
fn physical_line(input: &[u8], start: usize, is_last: bool) -> Option<(usize, usize)> {
    let rest = &input[start..];
    let (end, next) = match memchr(b'\n', rest) {
        Some(n) => (start + n, start + n + 1),
        None if is_last => (input.len(), input.len()),
        None => return None,
    };
    let end = if end > start && input[end - 1] == b'\r' { end - 1 } else { end };
    Some((end, next))
}

/// Where the next record may begin at or after `from`: behind a blank line. Cuts a file into pieces that can
/// be read one beside the other.
pub fn record_boundary(input: &[u8], from: usize) -> Option<usize> {
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
