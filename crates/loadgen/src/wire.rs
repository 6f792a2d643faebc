//! Reading BER where every nanosecond counts: offsets into a buffer that is padded, so that short fixed-size copies
//! need no care at its end.

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

/// Whether a whole message is there, and where it ends.
pub(crate) enum Frame {
    /// The content of its SEQUENCE.
    Whole(Span),
    /// More bytes are needed.
    Partial,
    /// No LDAPMessage begins like this.
    Malformed,
}

/// The message at `at`, of bytes up to `end`.
#[inline(always)]
pub(crate) fn frame(buffer: &[u8], at: usize, end: usize) -> Frame {
    if end - at < 2 {
        return Frame::Partial;
    }
    if buffer[at] != 0x30 {
        return Frame::Malformed;
    }
    let first = buffer[at + 1];
    let head = if first < 0x80 { 2 } else { 2 + usize::from(first & 0x7f) };
    if head > 6 || first == 0x80 {
        return Frame::Malformed;
    }
    if end - at < head {
        return Frame::Partial;
    }
    match element(buffer, at, usize::MAX) {
        Some(span) if span.end <= end => Frame::Whole(span),
        Some(span) if span.end - at <= model::limits::MESSAGE_BYTES_MAX => Frame::Partial,
        _ => Frame::Malformed,
    }
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

/// An output buffer that is written by position; what is behind the position is rubbish.
#[derive(Debug, Default)]
pub(crate) struct Out {
    buffer: Vec<u8>,
    at: usize,
}

impl Out {
    pub(crate) fn clear(&mut self) {
        self.at = 0;
    }

    pub(crate) fn written(&self) -> &[u8] {
        &self.buffer[..self.at]
    }

    /// Makes room for so many bytes and the slack of the fixed-size copies.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, bytes: usize) {
        if self.buffer.len() - self.at < bytes + PAD {
            self.grow(bytes);
        }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        self.buffer.resize((self.buffer.len() * 2).max(self.at + bytes + PAD).max(64 << 10), 0);
        assert!(self.buffer.len() - self.at >= bytes + PAD, "there is room for what comes and the slack");
    }

    #[inline(always)]
    pub(crate) fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        self.buffer[self.at..self.at + N].copy_from_slice(&bytes);
        self.at += N;
    }

    /// Appends up to 64 bytes that lie in a padded buffer.
    #[inline(always)]
    pub(crate) fn padded(&mut self, buffer: &[u8], at: usize, len: usize) {
        assert!(len <= 64, "one copy takes 64 bytes; of a longer string the end would be missing");
        self.buffer[self.at..self.at + 64].copy_from_slice(&buffer[at..at + 64]);
        self.at += len;
    }

    #[inline(always)]
    pub(crate) fn short(&mut self, text: &Short) {
        self.buffer[self.at..self.at + 64].copy_from_slice(&text.bytes);
        self.at += text.len;
    }

    #[inline(always)]
    pub(crate) fn slice(&mut self, bytes: &[u8]) {
        self.buffer[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Appends tag and length, in as many bytes as [`proto::ber::length_of_length`] counts. `len` is below 2^32.
    #[inline(always)]
    pub(crate) fn header(&mut self, tag: u8, len: usize) {
        match len {
            0..=0x7f => self.bytes([tag, len as u8]),
            0x80..=0xff => self.bytes([tag, 0x81, len as u8]),
            0x100..=0xffff => self.bytes([tag, 0x82, (len >> 8) as u8, len as u8]),
            _ => self.long_header(tag, len),
        }
    }

    #[cold]
    fn long_header(&mut self, tag: u8, len: usize) {
        assert!(u32::try_from(len).is_ok(), "a length has four bytes at most");
        match len {
            0..=0xff_ffff => self.bytes([tag, 0x83, (len >> 16) as u8, (len >> 8) as u8, len as u8]),
            _ => {
                let [a, b, c, d] = (len as u32).to_be_bytes();
                self.bytes([tag, 0x84, a, b, c, d]);
            }
        }
    }

    /// The bytes written since `start`, to patch.
    pub(crate) fn since(&mut self, start: usize) -> &mut [u8] {
        &mut self.buffer[start..self.at]
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_distinguished() {
        let whole = |bytes: &[u8], end| matches!(frame(bytes, 0, end), Frame::Whole(_));
        let partial = |bytes: &[u8], end| matches!(frame(bytes, 0, end), Frame::Partial);
        let mut bytes = vec![0x30, 0x81, 0x03, 2, 1, 5];
        bytes.resize(200, 0);
        assert!(whole(&bytes, 6) && partial(&bytes, 5) && partial(&bytes, 2) && partial(&bytes, 1));
        bytes[1] = 0x80;
        assert!(matches!(frame(&bytes, 0, 6), Frame::Malformed));
        bytes[1] = 0x84;
        bytes[2] = 0xff;
        assert!(matches!(frame(&bytes, 0, 6), Frame::Malformed));
    }

    /// The enclosing element counts on the length of the header, and a length of more than 16 bits once lost its high bits.
    #[test]
    fn headers_hold_every_length() {
        for len in [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, 0xffff_ffff] {
            let mut out = Out::default();
            out.reserve(8);
            out.header(4, len);
            let mut wanted = Vec::new();
            proto::ber::put_header(&mut wanted, 4, len);
            assert_eq!(out.written(), wanted, "{len}");
            assert_eq!(wanted.len(), 1 + proto::ber::length_of_length(len), "{len}");
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
