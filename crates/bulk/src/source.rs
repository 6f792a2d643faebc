//! Where entries come from, LDIF or BER adds: cut into pieces of whole records that can be read one beside the other.

use crate::deferred::DeferredSpans;
use crate::report::Fault;
use memchr::{memchr_iter, memrchr_iter};
use proto::add_stream;
use proto::ldif::RECORD_BYTES_MAX;
use proto::message::Frame;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of a piece, unless a single record is longer.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// What can be read a second time.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file or stream of LDIF, or of BER adds; its first byte tells.
pub enum Input<'a> {
    /// A regular file or a buffer: entries that must wait for their superior are read again.
    Seekable(&'a mut dyn ReadSeek),
    /// A pipe: entries that must wait are kept in memory, up to a bound.
    Stream(&'a mut (dyn Read + Send)),
}

/// What records look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Ldif,
    /// See [`proto::add_stream`].
    Ber,
}

/// Some whole records.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Number of the input, from 0: known to who reads several.
    pub(crate) input: usize,
    pub(crate) form: Form,
    /// Their text; nothing follows the last one that belongs to it.
    pub(crate) bytes: Vec<u8>,
    /// Line of the input that begins it, from 1; 0 in BER.
    pub(crate) line: u64,
    /// Where it begins in the input.
    pub(crate) offset: u64,
}

/// What is wrong with an add that begins at this byte.
fn at_byte(offset: u64, reason: impl Into<String>) -> Fault {
    Fault { offset, ..Fault::at(0, reason) }
}

fn unreadable(error: io::Error) -> Fault {
    Fault::at(0, format!("cannot be read: {error}"))
}

/// Pieces, one after the other.
pub(crate) trait Source: Send {
    /// The next piece, in the memory of an old one; false at the end.
    ///
    /// # Errors
    /// What ends an import, whatever becomes of other faults: how much is lost is not known.
    fn next(&mut self, piece: &mut Piece) -> Result<bool, Fault>;
}

/// The whole input from the top.
pub(crate) struct Whole<'r, 'i> {
    input: &'r mut Input<'i>,
    /// Known by the first byte.
    form: Option<Form>,
    carried: Vec<u8>,
    line: u64,
    offset: u64,
    is_last: bool,
}

impl Input<'_> {
    /// Appends up to `bytes`; fewer only at the end.
    fn append(&mut self, to: &mut Vec<u8>, bytes: usize) -> io::Result<usize> {
        to.reserve(bytes);
        match self {
            Input::Seekable(input) => Read::take(input, bytes as u64).read_to_end(to),
            Input::Stream(input) => Read::take(input, bytes as u64).read_to_end(to),
        }
    }
}

impl<'r, 'i> Whole<'r, 'i> {
    pub(crate) fn new(input: &'r mut Input<'i>) -> Whole<'r, 'i> {
        Whole { input, form: None, carried: Vec::new(), line: 1, offset: 0, is_last: false }
    }

    /// Reads until there are so many bytes, or no more.
    fn read_to(&mut self, bytes: &mut Vec<u8>, wanted: usize) -> Result<(), Fault> {
        let missing = wanted.saturating_sub(bytes.len());
        if missing > 0 && !self.is_last {
            self.is_last = self.input.append(bytes, missing).map_err(unreadable)? < missing;
        }
        Ok(())
    }

    /// Reads until the bytes have the end of a record; where the last one is.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<usize, Fault> {
        self.read_to(bytes, PIECE_BYTES)?;
        let form = *self.form.get_or_insert(match bytes.first() {
            Some(first) if add_stream::begins(*first) => Form::Ber,
            _ => Form::Ldif,
        });
        match form {
            Form::Ldif => self.fill_ldif(bytes),
            Form::Ber => self.fill_ber(bytes),
        }
    }

    fn fill_ldif(&mut self, bytes: &mut Vec<u8>) -> Result<usize, Fault> {
        let mut wanted = PIECE_BYTES;
        loop {
            if self.is_last {
                return Ok(bytes.len());
            }
            match last_boundary(bytes) {
                Some(end) => return Ok(end),
                None if wanted > RECORD_BYTES_MAX => {
                    return Err(Fault::at(self.line, "the record is too long"));
                }
                None => wanted *= 2,
            }
            self.read_to(bytes, wanted)?;
        }
    }

    fn fill_ber(&mut self, bytes: &mut Vec<u8>) -> Result<usize, Fault> {
        let mut end = 0;
        loop {
            match add_stream::frame(&bytes[end..]) {
                Ok(Frame::Complete { len }) => end += len,
                // What is wrong behind whole adds is reported when it is its turn.
                _ if end > 0 => return Ok(end),
                Ok(Frame::Incomplete { .. }) if self.is_last && bytes.is_empty() => return Ok(0),
                Ok(Frame::Incomplete { .. }) if self.is_last => {
                    return Err(at_byte(self.offset, "the input ends inside this add"));
                }
                Ok(Frame::Incomplete { needed }) => self.read_to(bytes, needed)?,
                Err(reason) => {
                    let reason = format!("{reason}; nothing can be read from here on");
                    return Err(at_byte(self.offset, reason));
                }
            }
        }
    }
}

impl Source for Whole<'_, '_> {
    fn next(&mut self, piece: &mut Piece) -> Result<bool, Fault> {
        if self.is_last && self.carried.is_empty() {
            return Ok(false);
        }
        piece.bytes.clear();
        std::mem::swap(&mut piece.bytes, &mut self.carried);
        let end = self.fill(&mut piece.bytes)?;
        assert!(end <= piece.bytes.len(), "a piece ends within what was read");
        assert!(end > 0 || self.is_last, "a piece before the last has a record");
        self.carried.clear();
        self.carried.extend_from_slice(&piece.bytes[end..]);
        piece.bytes.truncate(end);
        piece.form = self.form.unwrap_or_default();
        (piece.line, piece.offset) = (self.line, self.offset);
        match piece.form {
            Form::Ldif => self.line += memchr_iter(b'\n', &piece.bytes).count() as u64,
            Form::Ber => piece.line = 0,
        }
        self.offset += end as u64;
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

/// Records of the input that were deferred, read again.
pub(crate) struct Again<'r, 'i> {
    input: &'r mut Input<'i>,
    spans: DeferredSpans,
    next: usize,
}

impl<'r, 'i> Again<'r, 'i> {
    pub(crate) fn new(input: &'r mut Input<'i>, spans: DeferredSpans) -> Again<'r, 'i> {
        Again { input, spans, next: 0 }
    }
}

impl Source for Again<'_, '_> {
    fn next(&mut self, piece: &mut Piece) -> Result<bool, Fault> {
        let Some(span) = self.spans.list.get(self.next) else { return Ok(false) };
        assert!(span.len > 0, "a span has a record");
        piece.bytes.clear();
        match self.input {
            Input::Stream(_) => piece.bytes.extend_from_slice(self.spans.bytes_of(span)),
            Input::Seekable(input) => {
                input.seek(SeekFrom::Start(span.offset)).map_err(unreadable)?;
                piece.bytes.resize(span.len as usize, 0);
                input.read_exact(&mut piece.bytes).map_err(unreadable)?;
            }
        }
        piece.form = self.spans.form;
        (piece.line, piece.offset) = (span.line, span.offset);
        self.next += 1;
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
