//! BER as LDAP uses it (RFC 4511 section 5.1): definite lengths, primitive strings. The reader borrows; the
//! writer appends to a `Vec<u8>`.

use crate::error::Error;
use crate::tag;

/// Walks over elements. `buf` ends where the enclosing element ends but begins where the message begins, so
/// that positions are offsets in the message.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    buf: &'a [u8],
    pos: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the first byte.
    pub fn new(buf: &'a [u8]) -> Reader<'a> {
        Reader { buf, pos: 0 }
    }

    /// A reader of the elements in the one that fills `bytes`, which must have this tag.
    #[inline(always)]
    pub fn inside(bytes: &'a [u8], tag: u8, what: &'static str) -> Result<Reader<'a>, Error> {
        let mut outer = Reader::new(bytes);
        let body = outer.enter(tag, what)?;
        outer.end()?;
        Ok(body)
    }

    /// Nothing left?
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.pos >= self.buf.len()
    }

    /// Offset of the next element in the message.
    #[inline(always)]
    pub fn offset(&self) -> usize {
        self.pos
    }

    /// What is left, undecoded.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        &self.buf[self.pos..]
    }

    /// Goes on `len` octets further, which are no more than are left.
    #[inline(always)]
    pub(crate) fn skip(&mut self, len: usize) {
        self.pos += len;
    }

    /// Tag of the next element.
    #[inline(always)]
    pub fn peek(&self) -> Option<u8> {
        self.buf.get(self.pos).copied()
    }

    /// Reads tag and length, steps over the whole element, returns its tag and where its contents lie.
    #[inline(always)]
    fn header(&mut self) -> Result<(u8, usize, usize), Error> {
        let at = self.pos;
        let Some(&[tag, first]) = self.buf.get(at..).and_then(|b| b.first_chunk()) else {
            return Err(Error::structure(at, "the element is cut off"));
        };
        let (start, len) = if first < 0x80 { (at + 2, first as usize) } else { self.long_length(first)? };
        if len > self.buf.len() - start {
            return Err(Error::structure(at, "the element is longer than what encloses it"));
        }
        self.pos = start + len;
        Ok((tag, start, start + len))
    }

    /// A length of more than one byte: where contents begin, and their length.
    #[inline(never)]
    fn long_length(&self, first: u8) -> Result<(usize, usize), Error> {
        let at = self.pos;
        let count = (first & 0x7f) as usize;
        if count == 0 {
            return Err(Error::structure(at, "lengths must be definite"));
        }
        if count > 4 {
            return Err(Error::structure(at, "the length has more than four bytes"));
        }
        let Some(bytes) = self.buf.get(at + 2..at + 2 + count) else {
            return Err(Error::structure(at, "the length is cut off"));
        };
        Ok((at + 2 + count, bytes.iter().fold(0, |n, &b| n << 8 | b as usize)))
    }

    /// The next element, whatever it is: tag and contents.
    #[inline(always)]
    pub fn element(&mut self) -> Result<(u8, &'a [u8]), Error> {
        let (tag, start, end) = self.header()?;
        Ok((tag, &self.buf[start..end]))
    }

    /// The contents of the next element, which must have this tag. `what` is the complaint if it has not.
    #[inline(always)]
    pub fn expect(&mut self, tag: u8, what: &'static str) -> Result<&'a [u8], Error> {
        let at = self.pos;
        if self.peek() != Some(tag) {
            return Err(Error::structure(at, what));
        }
        Ok(self.element()?.1)
    }

    /// Contents of the next element if it has this tag; leaves it alone otherwise.
    #[inline(always)]
    pub fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, Error> {
        if self.peek() != Some(tag) {
            return Ok(None);
        }
        Ok(Some(self.element()?.1))
    }

    /// A reader of the elements in the next one, which must have this tag.
    #[inline(always)]
    pub fn enter(&mut self, tag: u8, what: &'static str) -> Result<Reader<'a>, Error> {
        let at = self.pos;
        if self.peek() != Some(tag) {
            return Err(Error::structure(at, what));
        }
        let (_, start, end) = self.header()?;
        Ok(Reader { buf: &self.buf[..end], pos: start })
    }

    /// Like [`Reader::enter`] for whatever comes next.
    #[inline(always)]
    pub fn enter_any(&mut self) -> Result<(u8, Reader<'a>), Error> {
        let (tag, start, end) = self.header()?;
        Ok((tag, Reader { buf: &self.buf[..end], pos: start }))
    }

    /// An OCTET STRING.
    #[inline(always)]
    pub fn octets(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        self.expect(tag::OCTET_STRING, what)
    }

    /// An OCTET STRING that is UTF-8 (LDAPString, LDAPDN; RFC 4511 section 4.1.2).
    #[inline(always)]
    pub fn text(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let at = self.pos;
        let bytes = self.octets(what)?;
        check_utf8(bytes, at)?;
        Ok(bytes)
    }

    /// An INTEGER or ENUMERATED within `0..=max`, at most 2^31 - 1 (all of LDAP's are).
    #[inline(always)]
    pub fn number(&mut self, tag: u8, max: i32, what: &'static str) -> Result<i32, Error> {
        let at = self.pos;
        let value = integer(self.expect(tag, what)?, at)?;
        if value < 0 || value > max as i64 {
            return Err(Error::value(at, what));
        }
        Ok(value as i32)
    }

    /// A BOOLEAN; every byte but zero is true (X.690 section 8.2.2), though LDAP sends 0xff.
    #[inline(always)]
    pub fn boolean(&mut self, what: &'static str) -> Result<bool, Error> {
        let at = self.pos;
        match self.expect(tag::BOOLEAN, what)? {
            [byte] => Ok(*byte != 0),
            _ => Err(Error::structure(at, "a BOOLEAN has one byte")),
        }
    }

    /// The end of a SEQUENCE. Components with tags that are not known there are skipped, as RFC 4511 section 4
    /// demands. `known` are the numbers of the context tags that the SEQUENCE may have; these, and universal
    /// types, are known and out of place.
    #[inline(always)]
    pub fn finish(&self, known: &[u8]) -> Result<(), Error> {
        if self.is_empty() { Ok(()) } else { self.skip_extensions(known) }
    }

    #[cold]
    fn skip_extensions(mut self, known: &[u8]) -> Result<(), Error> {
        while let Some(first) = self.peek() {
            let is_context = first & 0xc0 == 0x80;
            if first & 0xc0 == 0 || is_context && known.contains(&(first & 0x1f)) {
                return Err(Error::structure(self.pos, "unexpected element"));
            }
            if first & 0x1f == 0x1f {
                // A tag of several bytes: step to its last one, which then stands for the tag.
                let more = self.buf[self.pos + 1..].iter().take_while(|&b| b & 0x80 != 0).count();
                self.pos += 1 + more;
            }
            self.header()?;
        }
        Ok(())
    }

    /// The end of a list, in which nothing may follow.
    #[inline(always)]
    pub fn end(&self) -> Result<(), Error> {
        if self.is_empty() { Ok(()) } else { Err(Error::structure(self.pos, "unexpected element")) }
    }
}

/// Complains unless the bytes are UTF-8.
#[inline(always)]
pub(crate) fn check_utf8(bytes: &[u8], offset: usize) -> Result<(), Error> {
    if bytes.is_ascii() || std::str::from_utf8(bytes).is_ok() {
        return Ok(());
    }
    Err(Error::value(offset, "the string is not UTF-8"))
}

/// Contents of an INTEGER of one to eight bytes; longer forms of small numbers are let through.
#[inline(always)]
pub fn integer(contents: &[u8], offset: usize) -> Result<i64, Error> {
    match *contents {
        [a] => Ok(a as i8 as i64),
        [a, b] => Ok(i16::from_be_bytes([a, b]) as i64),
        [a, b, c] => Ok((a as i8 as i64) << 16 | (b as i64) << 8 | c as i64),
        [a, b, c, d] => Ok(i32::from_be_bytes([a, b, c, d]) as i64),
        _ => wide_integer(contents, offset),
    }
}

#[cold]
fn wide_integer(contents: &[u8], offset: usize) -> Result<i64, Error> {
    match contents {
        [] => Err(Error::structure(offset, "a number without bytes")),
        [first, rest @ ..] if rest.len() < 8 => {
            Ok(rest.iter().fold(*first as i8 as i64, |n, &b| n << 8 | b as i64))
        }
        _ => Err(Error::value(offset, "the number is too large")),
    }
}

/// Splits the first element off bytes that were validated before: tag, contents. `None` at the end.
#[inline(always)]
pub(crate) fn next_valid<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    if let Some((tag, contents, behind)) = short(bytes) {
        *bytes = behind;
        return Some((tag, contents));
    }
    let mut reader = Reader::new(bytes);
    let (tag, contents) = reader.element().ok()?;
    *bytes = reader.rest();
    Some((tag, contents))
}

/// Splits the first element off, if its length has the short form: tag, contents, what follows. The length of most has it.
#[inline(always)]
pub(crate) fn short(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let &[tag, len @ ..=0x7f, ref behind @ ..] = bytes else { return None };
    let (contents, behind) = behind.split_at_checked(usize::from(len))?;
    Some((tag, contents, behind))
}

/// Bytes that the length field takes for contents of `len` bytes.
#[inline]
pub const fn length_of_length(len: usize) -> usize {
    match len {
        0..0x80 => 1,
        0x80..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x100_0000 => 4,
        _ => 5,
    }
}

/// Bytes of a whole element with contents of `len` bytes.
#[inline]
pub const fn tlv_len(len: usize) -> usize {
    1 + length_of_length(len) + len
}

/// Appends a length. Lengths from 2^32 on cannot be written; [`model::limits`] keeps far below.
#[inline]
pub fn put_length(out: &mut Vec<u8>, len: usize) {
    if len < 0x80 {
        out.push(len as u8);
        return;
    }
    assert!(u32::try_from(len).is_ok(), "no element has 4 GiB");
    let count = length_of_length(len) - 1;
    out.push(0x80 | count as u8);
    out.extend_from_slice(&(len as u32).to_be_bytes()[4 - count..]);
}

/// Appends tag and length; the caller appends the contents.
#[inline]
pub fn put_header(out: &mut Vec<u8>, tag: u8, len: usize) {
    out.push(tag);
    put_length(out, len);
}

/// Appends an element.
#[inline]
pub fn put_tlv(out: &mut Vec<u8>, tag: u8, contents: &[u8]) {
    put_header(out, tag, contents.len());
    out.extend_from_slice(contents);
}

/// Appends an OCTET STRING.
#[inline]
pub fn put_octets(out: &mut Vec<u8>, contents: &[u8]) {
    put_tlv(out, tag::OCTET_STRING, contents);
}

/// Bytes of the contents of an INTEGER.
#[inline]
pub const fn integer_len(value: i64) -> usize {
    let significant = if value < 0 { !value } else { value };
    (64 - significant.leading_zeros() as usize) / 8 + 1
}

/// Appends an INTEGER under any tag, in its shortest form.
#[inline]
pub fn put_number(out: &mut Vec<u8>, tag: u8, value: i64) {
    let len = integer_len(value);
    out.push(tag);
    out.push(len as u8);
    out.extend_from_slice(&value.to_be_bytes()[8 - len..]);
}

/// Appends an INTEGER.
#[inline]
pub fn put_integer(out: &mut Vec<u8>, value: i64) {
    put_number(out, tag::INTEGER, value);
}

/// Appends an ENUMERATED.
#[inline]
pub fn put_enumerated(out: &mut Vec<u8>, value: u32) {
    put_number(out, tag::ENUMERATED, value as i64);
}

/// Appends a BOOLEAN under any tag.
#[inline]
pub fn put_boolean(out: &mut Vec<u8>, tag: u8, value: bool) {
    out.extend_from_slice(&[tag, 1, if value { 0xff } else { 0 }]);
}

/// The bytes of a SEQUENCE with what `contents` appends.
pub fn sequence(contents: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mark = begin(&mut out, tag::SEQUENCE);
    contents(&mut out);
    end(&mut out, mark);
    out
}

/// Where the length of an element under construction is.
#[derive(Debug)]
#[must_use = "an element that is begun must be ended"]
pub struct Mark(usize);

/// Begins an element whose length is not known yet.
#[inline]
pub fn begin(out: &mut Vec<u8>, tag: u8) -> Mark {
    out.extend_from_slice(&[tag, 0]);
    Mark(out.len())
}

/// Ends an element: fills in its length, moving the contents if the length needs more than one byte.
#[inline]
pub fn end(out: &mut Vec<u8>, Mark(start): Mark) {
    assert!(start <= out.len(), "the contents of an element are behind its header");
    // If one that encloses it had been ended before, its contents would have moved away from the mark.
    assert!(out[start - 1] == 0, "an element is ended once, the innermost first");
    let len = out.len() - start;
    if len < 0x80 {
        out[start - 1] = len as u8;
        return;
    }
    assert!(u32::try_from(len).is_ok(), "no element has 4 GiB");
    let more = length_of_length(len) - 1;
    out[start - 1] = 0x80 | more as u8;
    out.resize(start + len + more, 0);
    out.copy_within(start..start + len, start + more);
    out[start..start + more].copy_from_slice(&(len as u32).to_be_bytes()[4 - more..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths() {
        for (bytes, len) in [(&[4, 0][..], 0), (&[4, 0x81, 1, 9], 1), (&[4, 0x84, 0, 0, 0, 1, 9], 1)] {
            assert_eq!(Reader::new(bytes).element().unwrap().1.len(), len);
        }
        for bad in [
            &[][..],
            &[4],
            &[4, 1],
            &[4, 0x80, 0, 0],
            &[4, 0x85, 0, 0, 0, 0, 0],
            &[4, 0x84, 0, 0],
            &[4, 0xff],
        ] {
            assert_eq!(Reader::new(bad).element().unwrap_err().kind, crate::Kind::Structure);
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(integer(&[0, 0, 0, 0, 0, 5], 0), Ok(5));
        assert_eq!(integer(&[0xff; 8], 0), Ok(-1));
        assert!(integer(&[], 0).is_err() && integer(&[0; 9], 0).is_err());
        let mut r = Reader::new(&[2, 1, 0xff]);
        assert_eq!(r.number(tag::INTEGER, 5, "small").unwrap_err().kind, crate::Kind::Value);
    }

    #[test]
    fn unknown_trailing_components_are_skipped() {
        assert!(Reader::new(&[0x81, 1, 9, 0xbf, 0x81, 0x01, 2, 0, 0]).finish(&[]).is_ok());
        for bad in [&[4, 0][..], &[0x81, 5], &[0x9f], &[0x9f, 0x81], &[0], &[0x82, 0], &[0xa2, 0]] {
            assert!(Reader::new(bad).finish(&[2]).is_err());
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(value: i64) {
            let mut out = Vec::new();
            put_integer(&mut out, value);
            prop_assert_eq!(out.len(), 2 + integer_len(value));
            prop_assert_eq!(integer(Reader::new(&out).expect(tag::INTEGER, "").unwrap(), 0), Ok(value));
        }

        #[test]
        fn back_patched_and_exact_lengths_agree(len in prop_oneof![0usize..300, 65500usize..65600]) {
            let contents = vec![7u8; len];
            let (mut exact, mut patched) = (Vec::new(), Vec::new());
            put_octets(&mut exact, &contents);
            let mark = begin(&mut patched, tag::OCTET_STRING);
            patched.extend_from_slice(&contents);
            end(&mut patched, mark);
            prop_assert_eq!(exact.len(), tlv_len(len));
            prop_assert_eq!(&exact, &patched);
            prop_assert_eq!(Reader::new(&exact).element(), Ok((tag::OCTET_STRING, &contents[..])));
        }

        #[test]
        fn no_input_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Reader::new(&bytes);
            while reader.element().is_ok() {}
            let _ = reader.finish(&[]);
        }
    }
}
