//! Entries that must wait for their superior: only where they are is kept, and neighbours are kept as one.

use crate::source::{Form, PIECE_BYTES};

/// Spans that are deferred at a time.
const SPANS_MAX: usize = 4 << 20;
/// Bytes held of inputs that cannot be read again.
const HELD_BYTES_MAX: usize = 256 << 20;

/// Held bytes from which on what waits is tried again before the inputs end.
pub(crate) const RETRY_BYTES: usize = 16 << 20;

/// Some records that follow each other in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Where they begin in the input.
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// Line on which they begin.
    pub(crate) line: u64,
    /// Where they begin in the held bytes, if those are kept.
    pub(crate) held_at: u64,
}

/// What was deferred in one pass.
#[derive(Debug, Default)]
pub(crate) struct DeferredSpans {
    pub(crate) list: Vec<Span>,
    pub(crate) held: Vec<u8>,
    /// Must the bytes be held?
    pub(crate) hold: bool,
    /// How many records.
    pub(crate) records: u64,
    /// What they look like.
    pub(crate) form: Form,
}

/// There are more than the bounds allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl DeferredSpans {
    pub(crate) fn new(hold: bool) -> DeferredSpans {
        DeferredSpans { hold, ..DeferredSpans::default() }
    }

    /// The bytes of a span, if they are held.
    pub(crate) fn bytes_of(&self, span: &Span) -> &[u8] {
        assert!(self.hold, "bytes are asked for of an input that cannot be read again");
        &self.held[span.held_at as usize..][..span.len as usize]
    }

    /// Defers one record: its bytes, where they begin in the input, and on which line.
    pub(crate) fn push(&mut self, bytes: &[u8], offset: u64, line: u64) -> Result<(), TooMany> {
        let len = bytes.len() as u64;
        let held_at = self.held.len() as u64;
        if self.hold {
            if self.held.len() + bytes.len() > HELD_BYTES_MAX {
                return Err(TooMany);
            }
            self.held.extend_from_slice(bytes);
        }
        self.records += 1;
        let is_full = self.list.len() >= SPANS_MAX;
        match self.list.last_mut() {
            Some(last) if last.offset + last.len == offset && last.len + len <= PIECE_BYTES as u64 => {
                last.len += len
            }
            _ if is_full => return Err(TooMany),
            _ => self.list.push(Span { offset, len, line, held_at }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one() {
        let mut spans = DeferredSpans::new(true);
        spans.push(b"aa", 10, 3).unwrap();
        spans.push(b"bb", 12, 4).unwrap();
        spans.push(b"cc", 20, 9).unwrap();
        assert_eq!(spans.list[0], Span { offset: 10, len: 4, line: 3, held_at: 0 });
        assert_eq!(spans.list[1], Span { offset: 20, len: 2, line: 9, held_at: 4 });
        assert_eq!((spans.list.len(), spans.records, &spans.held[..]), (2, 3, &b"aabbcc"[..]));
    }
}
