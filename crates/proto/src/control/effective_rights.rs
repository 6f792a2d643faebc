//! Get effective rights: a search shows what somebody may do with the entries that it finds. Clients
//! send the value of the request in one of these forms:
//!
//! ```text
//! SEQUENCE { authzId OCTET STRING, attributes SEQUENCE OF OCTET STRING OPTIONAL }
//! OCTET STRING
//! the bare text of an authzId
//! ```
//! An authzId is `dn:` with a DN, or `u:` with a name: it begins with the tag of neither of the others.

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::list::Octets;
use crate::tag;
use model::limits::{EFFECTIVE_RIGHTS_BYTES_MAX, EFFECTIVE_RIGHTS_NAMES_MAX};

/// Its OID, of the request and of the answer.
pub const OID: &[u8] = b"1.3.6.1.4.1.42.2.27.9.5.2";

/// Whose rights are asked for, and on which attributes besides those that the search selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveRights<'a> {
    /// As it was sent: whether it is of a known form is for others to say.
    pub authorization_id: &'a [u8],
    /// Attribute descriptions; empty if there are none.
    pub attributes: Octets<'a>,
}

impl<'a> EffectiveRights<'a> {
    /// Decodes the value of a request.
    ///
    /// # Errors
    /// When it is none, or longer than a request may have it.
    pub fn decode(value: &'a [u8]) -> Result<EffectiveRights<'a>, Error> {
        if value.len() > EFFECTIVE_RIGHTS_BYTES_MAX {
            return Err(Error::limit(0, "the value is too long"));
        }
        let none = Octets::EMPTY;
        match value.first() {
            Some(&tag::SEQUENCE) => {
                let mut body = Reader::inside(value, tag::SEQUENCE, "expected a sequence")?;
                let authorization_id = body.octets("expected an authzId")?;
                let attributes = match body.peek() {
                    Some(tag::SEQUENCE) => {
                        let list = body.enter(tag::SEQUENCE, "expected attributes")?;
                        Octets::check(list, EFFECTIVE_RIGHTS_NAMES_MAX, "expected an attribute description")?
                    }
                    _ => none,
                };
                body.end()?;
                Ok(EffectiveRights { authorization_id, attributes })
            }
            Some(&tag::OCTET_STRING) => {
                let mut outer = Reader::new(value);
                let authorization_id = outer.octets("expected an authzId")?;
                outer.end()?;
                Ok(EffectiveRights { authorization_id, attributes: none })
            }
            _ => Ok(EffectiveRights { authorization_id: value, attributes: none }),
        }
    }

    /// The value of a request, in the first form.
    pub fn encode(&self) -> Vec<u8> {
        ber::sequence(|out| {
            ber::put_octets(out, self.authorization_id);
            if !self.attributes.is_empty() {
                ber::put_tlv(out, tag::SEQUENCE, self.attributes.raw());
            }
        })
    }
}

/// The value of an answer: a result code.
pub fn response(code: u32) -> Vec<u8> {
    ber::sequence(|out| ber::put_enumerated(out, code))
}

/// The control of an answer, with this value.
pub fn control(value: &[u8]) -> Control<'_> {
    Control { oid: OID, critical: false, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::octet_list;

    #[test]
    fn test_a9_forms_of_the_value() {
        let of = |value| EffectiveRights::decode(value).map(|found| found.authorization_id);
        assert_eq!(of(b""), Ok(&b""[..]));
        assert_eq!(of(b"dn:cn=a"), Ok(&b"dn:cn=a"[..]));
        assert_eq!(of(b"\x04\x07dn:cn=a"), Ok(&b"dn:cn=a"[..]));
        assert_eq!(of(b"\x30\x09\x04\x07dn:cn=a"), Ok(&b"dn:cn=a"[..]));
        let raw = octet_list([&b"cn"[..], b"mail"]);
        let asked = EffectiveRights { authorization_id: b"u:ada", attributes: Octets::parse(&raw).unwrap() };
        assert_eq!(asked.encode(), b"\x30\x13\x04\x05u:ada\x30\x0a\x04\x02cn\x04\x04mail");
        assert_eq!(EffectiveRights::decode(&asked.encode()), Ok(asked));
        for wrong in [
            &b"\x30"[..],
            b"\x30\x00",
            b"\x04\x07dn:cn=",
            b"\x04\x01dd",
            b"\x30\x05\x04\x01d\x05\x00",
            b"\x30\x07\x04\x01d\x30\x02\x05\x00",
        ] {
            assert!(EffectiveRights::decode(wrong).is_err(), "{wrong:x?}");
        }
        assert_eq!(response(50), b"\x30\x03\x0a\x01\x32");
    }

    #[test]
    fn test_a9_a_value_has_bounds() {
        let raw = octet_list(vec![&b"cn"[..]; EFFECTIVE_RIGHTS_NAMES_MAX + 1]);
        let value = EffectiveRights { authorization_id: b"", attributes: Octets::parse(&raw).unwrap() };
        let limit = |value: &[u8]| EffectiveRights::decode(value).err().map(|error| error.kind);
        assert_eq!(limit(&value.encode()), Some(crate::Kind::Limit));
        assert_eq!(limit(&vec![b'd'; EFFECTIVE_RIGHTS_BYTES_MAX + 1]), Some(crate::Kind::Limit));
    }
}
