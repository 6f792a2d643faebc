//! Pre-read and post-read (RFC 4527): the answer to an update brings the entry as it was before it, or is after it.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::list::Octets;
use crate::op::SearchEntry;
use crate::tag;
use model::limits::SELECTION_MAX;

/// OID of pre-read, of both the request and the response control.
pub const PRE_OID: &[u8] = b"1.3.6.1.1.13.1";
/// OID of post-read, of both the request and the response control.
pub const POST_OID: &[u8] = b"1.3.6.1.1.13.2";

/// Decodes the value of a request control: an AttributeSelection, as in a search.
///
/// # Errors
/// When it is none, or has more selectors than a search may have.
pub fn decode_selection(value: &[u8]) -> Result<Octets<'_>, Error> {
    let selectors = Reader::inside(value, tag::SEQUENCE, "expected an attribute selection")?;
    Octets::check(selectors, SELECTION_MAX, "expected an attribute selector")
}

/// The value of a request control.
pub fn encode_selection(selectors: Octets<'_>) -> Vec<u8> {
    let mut value = Vec::new();
    ber::put_tlv(&mut value, tag::SEQUENCE, selectors.raw());
    value
}

/// Decodes the value of a response control: a SearchResultEntry.
///
/// # Errors
/// When it is none.
pub fn decode_entry(value: &[u8]) -> Result<SearchEntry<'_>, Error> {
    SearchEntry::decode(Reader::inside(value, tag::SEARCH_ENTRY, "expected a SearchResultEntry")?)
}

/// The value of a response control, in a message that carries nothing but the entry.
///
/// # Errors
/// When the message is not a whole one of an entry.
pub fn entry_of_message(message: &[u8]) -> Result<&[u8], Error> {
    let mut body = Reader::inside(message, tag::SEQUENCE, "expected an LDAPMessage")?;
    body.number(tag::INTEGER, i32::MAX, "expected a messageID")?;
    match body.peek() {
        Some(tag::SEARCH_ENTRY) => Ok(body.rest()),
        _ => Err(Error::structure(body.offset(), "expected a SearchResultEntry")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{Attributes, attribute_list, octet_list};

    #[test]
    fn a_selection_comes_back() {
        let raw = octet_list([&b"cn"[..], b"+"]);
        let value = encode_selection(Octets::parse(&raw).unwrap());
        assert_eq!(value, [0x30, 7, 4, 2, b'c', b'n', 4, 1, b'+']);
        assert_eq!(decode_selection(&value).unwrap().raw(), raw);
        assert!(decode_selection(&[0x30, 0]).unwrap().is_empty(), "all user attributes");
        for wrong in [&[][..], &[0x30], &[0x30, 2, 5, 0], &[0x30, 0, 0], &[4, 0]] {
            assert!(decode_selection(wrong).is_err(), "{wrong:x?}");
        }
        let many = [0x30, 0x82, 0x20, 0x02].iter().copied().chain([4, 0].repeat(SELECTION_MAX + 1));
        assert_eq!(decode_selection(&many.collect::<Vec<u8>>()).unwrap_err().kind, crate::Kind::Limit);
    }

    #[test]
    fn an_entry_is_what_a_search_would_return() {
        let raw = attribute_list([(&b"cn"[..], [&b"a"[..]])]);
        let entry = SearchEntry { dn: b"cn=a", attributes: Attributes::parse(&raw).unwrap() };
        let mut message = Vec::new();
        entry.encode(&mut message, 7, &[]);
        let value = entry_of_message(&message).unwrap();
        assert_eq!(value[0], tag::SEARCH_ENTRY);
        assert_eq!(decode_entry(value), Ok(entry));
        assert!(entry_of_message(&message[..message.len() - 1]).is_err());
        assert!(decode_entry(&message).is_err());
    }
}
