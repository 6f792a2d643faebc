//! Records from a source that brings bytes piece by piece.

use super::parser::{Parser, Step};
use super::{LdifError, Record};
use std::fmt;

/// Why a stream ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError<E> {
    /// The bytes are no LDIF.
    Ldif(LdifError),
    /// The source failed.
    Source(E),
}

impl<E: fmt::Display> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Ldif(error) => error.fmt(f),
            StreamError::Source(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for StreamError<E> {}

/// Reads records from `fill`, which appends some bytes to a buffer and tells how many; 0 is the end. It should
/// append much at a time (say 1 MiB): what is left of a record is moved to the front before each call. Memory
/// is bounded by the longest record ([`super::RECORD_BYTES_MAX`]) plus what `fill` appends.
#[derive(Debug)]
pub struct Stream<F> {
    parser: Parser,
    fill: F,
    buffer: Vec<u8>,
    start: usize,
    is_last: bool,
    /// Bytes of records that were handed out.
    consumed: u64,
}

impl<F, E> Stream<F>
where
    F: FnMut(&mut Vec<u8>) -> Result<usize, E>,
{
    /// A stream from the top of a file.
    pub fn new(fill: F) -> Stream<F> {
        Stream { parser: Parser::new(), fill, buffer: Vec::new(), start: 0, is_last: false, consumed: 0 }
    }

    /// The next record, `None` at the end. After an error in the LDIF, the next call goes on behind the record
    /// that was wrong.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, StreamError<E>> {
        loop {
            match self.parser.advance(&self.buffer[self.start..], self.is_last) {
                Ok(Step::More) => self.refill()?,
                Ok(Step::End) => return Ok(None),
                Ok(Step::Record { consumed }) => {
                    let from = self.start;
                    self.take(consumed);
                    return Ok(Some(self.parser.record(&self.buffer[from..])));
                }
                Err(error) => {
                    self.skip()?;
                    return Err(StreamError::Ldif(error));
                }
            }
        }
    }

    /// Bytes of the source that were read as records so far.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    fn take(&mut self, consumed: usize) {
        self.start += consumed;
        self.consumed += consumed as u64;
    }

    fn skip(&mut self) -> Result<(), StreamError<E>> {
        loop {
            match self.parser.skip_record(&self.buffer[self.start..], self.is_last) {
                Some(consumed) => {
                    self.take(consumed);
                    return Ok(());
                }
                None => self.refill()?,
            }
        }
    }

    fn refill(&mut self) -> Result<(), StreamError<E>> {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.is_last = (self.fill)(&mut self.buffer).map_err(StreamError::Source)? == 0;
        Ok(())
    }
}
