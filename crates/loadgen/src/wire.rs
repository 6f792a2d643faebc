//! Reading BER where every nanosecond counts: offsets into a buffer that is padded, so that short fixed-size copies
//! need no care at its end.

use proto::ber;
use proto::error::DecodeError;
use proto::message::{Frame, frame};

/// Bytes that a buffer has after its last message.
pub(crate) const PAD: usize = 128;

/// An element's content, as offsets into its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn len(self) -> usize {
        assert!(self.start <= self.end, "a span ends behind its begin");
        self.end - self.start
    }

    pub(crate) fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start..self.end]
    }
}

/// The content of the element at `at`, which must lie before `end` whole; `None` if not.
#[inline(always)]
pub(crate) fn element(buffer: &[u8], at: usize, end: usize) -> Option<Span> {
    let first = *buffer.get(at + 1)?;
    let span = if first < 0x80 {
        Span { start: at + 2, end: at + 2 + usize::from(first) }
    } else {
        long(buffer, at + 1)?
    };
    (span.end <= end).then_some(span)
}

/// The same, if the element has this tag.
#[inline(always)]
pub(crate) fn tagged(buffer: &[u8], at: usize, end: usize, tag: u8) -> Option<Span> {
    if *buffer.get(at)? == tag { element(buffer, at, end) } else { None }
}

#[inline]
fn long(buffer: &[u8], at: usize) -> Option<Span> {
    let width = usize::from(buffer[at] & 0x7f);
    if !(1..=4).contains(&width) {
        return None;
    }
    let bytes = buffer.get(at + 1..at + 1 + width)?;
    let len = bytes.iter().fold(0, |len, &byte| len << 8 | usize::from(byte));
    Some(Span { start: at + 1 + width, end: at + 1 + width + len })
}

/// The value of an INTEGER or ENUMERATED of one to four bytes that is not negative.
#[inline(always)]
pub(crate) fn number(buffer: &[u8], span: Span) -> Option<u32> {
    if span.len() == 3 {
        let b = buffer.get(span.start..span.start + 3)?;
        return Some(u32::from(b[0]) << 16 | u32::from(b[1]) << 8 | u32::from(b[2]));
    }
    if !(1..=4).contains(&span.len()) || buffer[span.start] >= 0x80 {
        return None;
    }
    Some(span.of(buffer).iter().fold(0, |value, &byte| value << 8 | u32::from(byte)))
}

/// The content of the message at `at`, of bytes up to `end`; `Ok(None)` when more bytes are needed.
///
/// # Errors
/// No LDAPMessage begins like this.
#[inline(always)]
pub(crate) fn message(buffer: &[u8], at: usize, end: usize) -> Result<Option<Span>, DecodeError> {
    Ok(match frame(&buffer[at..end])? {
        Frame::Complete { len } => element(buffer, at, at + len),
        Frame::Incomplete { .. } => None,
    })
}

/// The number that decimal digits make, up to 19 of them and at least one; no sign, no leading zero unless `width`
/// digits are the rule.
#[inline(always)]
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let mut number = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

/// A byte string of up to 64 bytes that is copied at fixed cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short {
    bytes: [u8; 64],
    len: usize,
}

impl Short {
    /// `None` when it is longer than 64 bytes.
    pub(crate) fn new(text: &[u8]) -> Option<Short> {
        let mut bytes = [0; 64];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Short { bytes, len: text.len() })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Appends a short string: a copy of fixed size, of which the end is cut off.
#[inline(always)]
pub(crate) fn put_short(out: &mut Vec<u8>, text: &Short) {
    let end = out.len() + text.len;
    out.extend_from_slice(&text.bytes);
    out.truncate(end);
}

/// Appends up to 64 bytes that lie in a padded buffer, likewise.
#[inline(always)]
pub(crate) fn put_padded(out: &mut Vec<u8>, buffer: &[u8], at: usize, len: usize) {
    assert!(len <= 64, "one copy takes 64 bytes; of a longer string the end would be missing");
    let end = out.len() + len;
    out.extend_from_slice(&buffer[at..at + 64]);
    out.truncate(end);
}

/// Appends tag and length as [`ber::put_header`] does, short ones with one copy of fixed size.
#[inline(always)]
pub(crate) fn put_header(out: &mut Vec<u8>, tag: u8, len: usize) {
    match len {
        0..=0x7f => out.extend_from_slice(&[tag, len as u8]),
        0x80..=0xff => out.extend_from_slice(&[tag, 0x81, len as u8]),
        0x100..=0xffff => out.extend_from_slice(&[tag, 0x82, (len >> 8) as u8, len as u8]),
        _ => ber::put_header(out, tag, len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_distinguished() {
        let whole = |bytes: &[u8], end| matches!(message(bytes, 0, end), Ok(Some(_)));
        let partial = |bytes: &[u8], end| matches!(message(bytes, 0, end), Ok(None));
        let mut bytes = vec![0x30, 0x81, 0x03, 2, 1, 5];
        bytes.resize(200, 0);
        assert!(whole(&bytes, 6) && partial(&bytes, 5) && partial(&bytes, 2) && partial(&bytes, 1));
        bytes[1] = 0x80;
        assert!(message(&bytes, 0, 6).is_err());
        bytes[1] = 0x84;
        bytes[2] = 0xff;
        assert!(message(&bytes, 0, 6).is_err());
    }

    /// The enclosing element counts on the length of the header, and a length of more than 16 bits once lost its high bits.
    #[test]
    fn headers_hold_every_length() {
        for len in [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, 0xffff_ffff] {
            let (mut out, mut wanted) = (Vec::new(), Vec::new());
            put_header(&mut out, 4, len);
            ber::put_header(&mut wanted, 4, len);
            assert_eq!(out, wanted, "{len}");
            assert_eq!(wanted.len(), 1 + ber::length_of_length(len), "{len}");
        }
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!(digits(b"1200"), Some(1200));
        assert_eq!((digits(b""), digits(b"1x")), (None, None));
        assert_eq!(number(&[2, 3, 1, 2, 3], Span { start: 2, end: 5 }), Some(0x010203));
        assert_eq!(number(&[2, 1, 0x80], Span { start: 2, end: 3 }), None);
    }
}
