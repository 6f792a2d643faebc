//! Refresh (RFC 2589 section 4): a dynamic entry is to stay for a while longer.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag::context;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.4.1.1466.101.119.1";

/// Seconds that a client may ask for at most.
pub const TTL_MAX: u32 = 31_557_600;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh<'a> {
    /// entryName
    pub dn: &'a [u8],
    /// requestTtl, in seconds.
    pub ttl: u32,
}

impl<'a> Refresh<'a> {
    /// Decodes a requestValue. Whether the time is one that may be asked for is not looked at.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &'a [u8]) -> Result<Refresh<'a>, Error> {
        let mut body = Reader::inside(value, crate::tag::SEQUENCE, "expected the value of a refresh")?;
        let dn = body.expect(context(0), "expected the name of an entry")?;
        let ttl = body.number(context(1), i32::MAX, "expected a time to live")?;
        body.end()?;
        Ok(Refresh { dn, ttl: ttl.unsigned_abs() })
    }

    /// The requestValue.
    pub fn encode(&self) -> Vec<u8> {
        ber::sequence(|out| {
            ber::put_tlv(out, context(0), self.dn);
            ber::put_number(out, context(1), i64::from(self.ttl));
        })
    }
}

/// The responseValue: the seconds that the entry is kept; 0 with an error.
pub fn encode_response(ttl: u32) -> Vec<u8> {
    ber::sequence(|out| ber::put_number(out, context(1), i64::from(ttl)))
}

/// The seconds in a responseValue.
///
/// # Errors
/// When it is none.
pub fn decode_response(value: &[u8]) -> Result<u32, Error> {
    let mut body = Reader::inside(value, crate::tag::SEQUENCE, "expected the value of a response")?;
    let ttl = body.number(context(1), i32::MAX, "expected a time to live")?;
    body.end()?;
    Ok(ttl.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let refresh = Refresh { dn: b"cn=a", ttl: 300 };
        assert_eq!(refresh.encode(), b"\x30\x0a\x80\x04cn=a\x81\x02\x01\x2c");
        assert_eq!(Refresh::decode(&refresh.encode()), Ok(refresh));
        assert_eq!(decode_response(&encode_response(86_400)), Ok(86_400));
        for wrong in [
            &b""[..],
            b"\x30\x00",
            b"\x30\x06\x80\x04cn=a",
            b"\x30\x09\x80\x04cn=a\x81\x01\xff",
            b"\x30\x0b\x80\x04cn=a\x81\x01\x05\x82\x00",
        ] {
            assert!(Refresh::decode(wrong).is_err(), "{wrong:x?}");
            assert!(decode_response(wrong).is_err(), "{wrong:x?}");
        }
    }
}
