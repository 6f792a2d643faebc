//! Simple paged results (RFC 2696): the same value in request and response.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

/// Its OID.
pub const OID: &[u8] = b"1.2.840.113556.1.4.319";

/// realSearchControlValue
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagedResults<'a> {
    /// In a request the size of the page, in a response the estimated total, 0 if unknown.
    pub size: i32,
    /// Where to go on; opaque to clients. Empty in the first request and in the last response.
    pub cookie: &'a [u8],
}

impl<'a> PagedResults<'a> {
    /// Decodes the value of the control.
    pub fn decode(value: &'a [u8]) -> Result<PagedResults<'a>, Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected the value of paged results")?;
        let size = body.number(tag::INTEGER, i32::MAX, "expected a page size")?;
        let cookie = body.octets("expected a cookie")?;
        body.finish(&[])?;
        Ok(PagedResults { size, cookie })
    }

    /// The value of the control.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = ber::begin(out, tag::SEQUENCE);
        ber::put_integer(out, self.size as i64);
        ber::put_octets(out, self.cookie);
        ber::end(out, mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_comes_back() {
        let mut out = Vec::new();
        let value = PagedResults { size: 1000, cookie: b"xy" };
        value.encode(&mut out);
        assert_eq!(out, [0x30, 8, 2, 2, 3, 0xe8, 4, 2, b'x', b'y']);
        assert_eq!(PagedResults::decode(&out), Ok(value));
        for bad in [&[][..], &[0x30, 0], &[0x30, 5, 2, 1, 0xff, 4, 0], &[0x30, 5, 2, 1, 1, 4, 0, 0]] {
            assert!(PagedResults::decode(bad).is_err());
        }
    }
}
