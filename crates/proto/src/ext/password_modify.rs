//! Password modify (RFC 3062): a user's password becomes another one, chosen by the client or by the server.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag::{self, context};

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.4.1.4203.1.11.1";

/// PasswdModifyRequestValue
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct PasswordModify<'a> {
    /// userIdentity: whose password, a DN or an authorization identity; `None` for the client's own.
    pub user: Option<&'a [u8]>,
    /// oldPasswd
    pub old: Option<&'a [u8]>,
    /// newPasswd; `None` to have one made.
    pub new: Option<&'a [u8]>,
}

/// Passwords stay out of logs.
impl std::fmt::Debug for PasswordModify<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordModify(..)")
    }
}

impl<'a> PasswordModify<'a> {
    /// Decodes a requestValue. A field that is not known is an error: a password must not be changed then.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &'a [u8]) -> Result<PasswordModify<'a>, Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected the value of a password modify")?;
        let request = PasswordModify {
            user: body.optional(context(0))?,
            old: body.optional(context(1))?,
            new: body.optional(context(2))?,
        };
        body.end()?;
        Ok(request)
    }

    /// The requestValue.
    pub fn encode(&self) -> Vec<u8> {
        ber::sequence(|out| {
            for (number, field) in [(0, self.user), (1, self.old), (2, self.new)] {
                field.iter().for_each(|field| ber::put_tlv(out, context(number), field));
            }
        })
    }
}

/// The responseValue that tells a password that the server made.
pub fn encode_generated(password: &[u8]) -> Vec<u8> {
    ber::sequence(|out| ber::put_tlv(out, context(0), password))
}

/// The password that a responseValue tells.
///
/// # Errors
/// When it is no responseValue.
pub fn decode_generated(value: &[u8]) -> Result<Option<&[u8]>, Error> {
    let mut body =
        Reader::inside(value, tag::SEQUENCE, "expected the value of a password modify's response")?;
    let generated = body.optional(context(0))?;
    body.finish(&[0])?;
    Ok(generated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        for user in [None, Some(&b"cn=a"[..])] {
            for old in [None, Some(&b""[..])] {
                for new in [None, Some(&b"\0\xff"[..])] {
                    let request = PasswordModify { user, old, new };
                    assert_eq!(PasswordModify::decode(&request.encode()), Ok(request));
                }
            }
        }
        let request = PasswordModify { user: Some(b"u"), old: Some(b"o"), new: Some(b"n") };
        assert_eq!(request.encode(), [0x30, 9, 0x80, 1, b'u', 0x81, 1, b'o', 0x82, 1, b'n']);
        assert_eq!(decode_generated(&encode_generated(b"xy")), Ok(Some(&b"xy"[..])));
        assert_eq!(encode_generated(b"xy"), [0x30, 4, 0x80, 2, b'x', b'y']);
    }

    #[test]
    fn what_is_none() {
        for wrong in [
            &[][..],
            &[0x31, 0],
            &[0x30, 1],
            &[0x30, 0, 0],
            // In another order, twice, and a field that RFC 3062 does not have.
            &[0x30, 4, 0x81, 0, 0x80, 0],
            &[0x30, 4, 0x80, 0, 0x80, 0],
            &[0x30, 2, 0x83, 0],
        ] {
            assert!(PasswordModify::decode(wrong).is_err(), "{wrong:x?}");
        }
    }
}
