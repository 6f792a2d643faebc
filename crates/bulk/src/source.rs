//! Where LDIF comes from: cut into pieces of whole records that can be read one beside the other.

use crate::aside::Spans;
use memchr::{memchr_iter, memrchr_iter};
use proto::ldif::RECORD_BYTES_MAX;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of a piece, unless a single record is longer.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// What can be read a second time.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// An LDIF file or stream.
pub enum Input<'a> {
    /// A regular file or a buffer: entries that must wait for their superior are read again.
    Seekable(&'a mut dyn ReadSeek),
    /// A pipe: entries that must wait are kept in memory, up to a bound.
    Stream(&'a mut (dyn Read + Send)),
}

/// Some whole records.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Their text; nothing follows the last one that belongs to it.
    pub(crate) bytes: Vec<u8>,
    /// Line of the input that begins it, from 1.
    pub(crate) line: u64,
    /// Where it begins in the input.
    pub(crate) offset: u64,
    /// Place among the pieces of its pass, from 0.
    pub(crate) number: u64,
}

/// Why no piece comes.
#[derive(Debug)]
pub(crate) enum SourceError {
    /// A record without an end: where it begins.
    TooLong { line: u64 },
    /// Reading failed.
    Io(io::Error),
}

/// Pieces, one after the other.
pub(crate) trait Source: Send {
    /// The next piece, in the memory of an old one; false at the end.
    fn next(&mut self, piece: &mut Piece) -> Result<bool, SourceError>;
}

/// The whole input from the top.
pub(crate) struct Whole<'r> {
    input: &'r mut dyn ReadDyn,
    carried: Vec<u8>,
    line: u64,
    offset: u64,
    number: u64,
    is_last: bool,
}

/// `Read + Send` in a form that both kinds of input can be seen as.
trait ReadDyn: Send {
    /// Appends up to `bytes`; fewer only at the end.
    fn append(&mut self, to: &mut Vec<u8>, bytes: usize) -> io::Result<usize>;
}

impl ReadDyn for Input<'_> {
    fn append(&mut self, to: &mut Vec<u8>, bytes: usize) -> io::Result<usize> {
        to.reserve(bytes);
        match self {
            Input::Seekable(input) => Read::take(input, bytes as u64).read_to_end(to),
            Input::Stream(input) => Read::take(input, bytes as u64).read_to_end(to),
        }
    }
}

impl<'r> Whole<'r> {
    pub(crate) fn new<'i: 'r>(input: &'r mut Input<'i>) -> Whole<'r> {
        Whole { input, carried: Vec::new(), line: 1, offset: 0, number: 0, is_last: false }
    }

    /// Reads until the bytes have the end of a record; where it is.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<usize, SourceError> {
        let mut wanted = PIECE_BYTES;
        loop {
            let missing = wanted.saturating_sub(bytes.len());
            self.is_last |= self.input.append(bytes, missing).map_err(SourceError::Io)? < missing;
            if self.is_last {
                return Ok(bytes.len());
            }
            match last_boundary(bytes) {
                Some(end) => return Ok(end),
                None if wanted > RECORD_BYTES_MAX => return Err(SourceError::TooLong { line: self.line }),
                None => wanted *= 2,
            }
        }
    }
}

impl Source for Whole<'_> {
    fn next(&mut self, piece: &mut Piece) -> Result<bool, SourceError> {
        if self.is_last {
            return Ok(false);
        }
        piece.bytes.clear();
        std::mem::swap(&mut piece.bytes, &mut self.carried);
        let end = self.fill(&mut piece.bytes)?;
        self.carried.clear();
        self.carried.extend_from_slice(&piece.bytes[end..]);
        piece.bytes.truncate(end);
        (piece.line, piece.offset, piece.number) = (self.line, self.offset, self.number);
        self.line += memchr_iter(b'\n', &piece.bytes).count() as u64;
        self.offset += end as u64;
        self.number += 1;
        Ok(true)
    }
}

/// Behind the last blank line. A record cannot go on behind one.
fn last_boundary(bytes: &[u8]) -> Option<usize> {
    memrchr_iter(b'\n', bytes).find_map(|at| match bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Records of the input that were set aside, read again.
pub(crate) struct Again<'r, 'i> {
    input: &'r mut Input<'i>,
    spans: Spans,
    number: usize,
}

impl<'r, 'i> Again<'r, 'i> {
    pub(crate) fn new(input: &'r mut Input<'i>, spans: Spans) -> Again<'r, 'i> {
        Again { input, spans, number: 0 }
    }
}

impl Source for Again<'_, '_> {
    fn next(&mut self, piece: &mut Piece) -> Result<bool, SourceError> {
        let Some(span) = self.spans.list.get(self.number) else { return Ok(false) };
        piece.bytes.clear();
        match self.input {
            Input::Stream(_) => {
                let held = &self.spans.held[span.held_at as usize..];
                piece.bytes.extend_from_slice(&held[..span.len as usize]);
            }
            Input::Seekable(input) => {
                input.seek(SeekFrom::Start(span.offset)).map_err(SourceError::Io)?;
                piece.bytes.resize(span.len as usize, 0);
                input.read_exact(&mut piece.bytes).map_err(SourceError::Io)?;
            }
        }
        (piece.line, piece.offset, piece.number) = (span.line, span.offset, self.number as u64);
        self.number += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_between_records() {
        let text = "dn: a\n\n".repeat(3 * PIECE_BYTES / 7)
            + "dn: b\ncn: "
            + &"x".repeat(3 * PIECE_BYTES)
            + "\r\n\r\ndn: c\n";
        let mut cursor = io::Cursor::new(&text);
        let mut input = Input::Seekable(&mut cursor);
        let mut source = Whole::new(&mut input);
        let (mut piece, mut all, mut line) = (Piece::default(), Vec::new(), 1);
        while source.next(&mut piece).unwrap() {
            assert_eq!((piece.offset, piece.line), (all.len() as u64, line));
            assert!(piece.bytes.starts_with(b"dn: "));
            line += piece.bytes.iter().filter(|b| **b == b'\n').count() as u64;
            all.extend_from_slice(&piece.bytes);
        }
        assert!(all == text.as_bytes());
    }
}
