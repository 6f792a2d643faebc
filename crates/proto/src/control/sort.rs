//! Server side sorting of search results (RFC 2891).

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;
use model::ResultCode;
use model::limits::SORT_KEYS_MAX;

/// OID of the request control.
pub const OID: &[u8] = b"1.2.840.113556.1.4.473";
/// OID of the response control.
pub const RESPONSE_OID: &[u8] = b"1.2.840.113556.1.4.474";

const ORDERING_RULE: u8 = tag::context(0);
const REVERSE_ORDER: u8 = tag::context(1);
const ATTRIBUTE_TYPE: u8 = tag::context(0);

/// One of the keys that entries are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey<'a> {
    /// The attribute description.
    pub attribute: &'a [u8],
    /// Name or OID of the matching rule that orders it; the attribute's own without one.
    pub ordering_rule: Option<&'a [u8]>,
    /// The largest first.
    pub reverse: bool,
}

/// Decodes the value of a request: the keys, the one that counts most first.
///
/// # Errors
/// When it is none, has no key, or more keys than a request may have.
pub fn decode(value: &[u8]) -> Result<Vec<SortKey<'_>>, Error> {
    let mut list = Reader::inside(value, tag::SEQUENCE, "expected a list of sort keys")?;
    let mut keys = Vec::new();
    while !list.is_empty() {
        if keys.len() == SORT_KEYS_MAX {
            return Err(Error::limit(list.offset(), "too many sort keys"));
        }
        let mut body = list.enter(tag::SEQUENCE, "expected a sort key")?;
        let attribute = body.octets("expected an attribute type")?;
        let ordering_rule = body.optional(ORDERING_RULE)?;
        let reverse = match body.optional(REVERSE_ORDER)? {
            None => false,
            Some([byte]) => *byte != 0,
            Some(_) => return Err(Error::structure(body.offset(), "a BOOLEAN has one byte")),
        };
        body.finish(&[0, 1])?;
        keys.push(SortKey { attribute, ordering_rule, reverse });
    }
    match keys.is_empty() {
        true => Err(Error::structure(0, "expected a sort key")),
        false => Ok(keys),
    }
}

/// The value of a request.
pub fn encode(keys: &[SortKey<'_>]) -> Vec<u8> {
    ber::sequence(|out| {
        for key in keys {
            let mark = ber::begin(out, tag::SEQUENCE);
            ber::put_octets(out, key.attribute);
            if let Some(rule) = key.ordering_rule {
                ber::put_tlv(out, ORDERING_RULE, rule);
            }
            if key.reverse {
                ber::put_boolean(out, REVERSE_ORDER, true);
            }
            ber::end(out, mark);
        }
    })
}

/// The control, as a client sends it: `value` is what [`encode`] makes.
pub fn control(value: &[u8], critical: bool) -> Control<'_> {
    Control { oid: OID, critical, value: Some(value) }
}

/// The value of a response: whether the entries are sorted, and the first attribute that they could not be sorted by.
pub fn response(code: ResultCode, attribute: Option<&[u8]>) -> Vec<u8> {
    ber::sequence(|out| {
        ber::put_enumerated(out, code as u32);
        if let Some(attribute) = attribute {
            ber::put_tlv(out, ATTRIBUTE_TYPE, attribute);
        }
    })
}

/// Decodes the value of a response: its code and the attribute, if there is one.
///
/// # Errors
/// When it is none.
pub fn decode_response(value: &[u8]) -> Result<(i32, Option<&[u8]>), Error> {
    let mut body = Reader::inside(value, tag::SEQUENCE, "expected a sort result")?;
    let code = body.number(tag::ENUMERATED, i32::MAX, "expected a result code")?;
    let attribute = body.optional(ATTRIBUTE_TYPE)?;
    body.finish(&[0])?;
    Ok((code, attribute))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back() {
        let by_name = SortKey { attribute: b"sn", ordering_rule: None, reverse: false };
        let by_number =
            SortKey { attribute: b"uidNumber", ordering_rule: Some(b"integerOrderingMatch"), reverse: true };
        let value = encode(&[by_name, by_number]);
        assert_eq!(decode(&value), Ok(vec![by_name, by_number]));
        assert_eq!(encode(&[by_name]), b"\x30\x06\x30\x04\x04\x02sn");
        // FALSE is the default, which some clients write.
        assert_eq!(decode(b"\x30\x09\x30\x07\x04\x02sn\x81\x01\x00"), Ok(vec![by_name]));
        for wrong in [
            &b""[..],
            b"\x30\x00",
            b"\x30\x02\x04\x00",
            b"\x30\x06\x30\x04\x04\x02sn\x00",
            b"\x30\x06\x30\x04\x02\x02sn",
            b"\x30\x08\x30\x06\x04\x02sn\x81\x00",
            b"\x30\x0c\x30\x0a\x04\x02sn\x81\x01\x00\x80\x01a",
        ] {
            assert!(decode(wrong).is_err(), "{wrong:x?}");
        }
    }

    #[test]
    fn keys_are_bounded() {
        let key = SortKey { attribute: b"sn", ordering_rule: None, reverse: false };
        assert_eq!(decode(&encode(&[key; SORT_KEYS_MAX])).map(|keys| keys.len()), Ok(SORT_KEYS_MAX));
        let error = decode(&encode(&[key; SORT_KEYS_MAX + 1])).expect_err("one too many");
        assert_eq!(error.kind, crate::Kind::Limit);
    }

    #[test]
    fn responses_come_back() {
        let done = response(ResultCode::Success, None);
        assert_eq!(done, b"\x30\x03\x0a\x01\x00");
        assert_eq!(decode_response(&done), Ok((0, None)));
        let failed = response(ResultCode::NoSuchAttribute, Some(b"xx"));
        assert_eq!(decode_response(&failed), Ok((16, Some(&b"xx"[..]))));
        assert!(decode_response(b"\x30\x00").is_err());
    }
}
