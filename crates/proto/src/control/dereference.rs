//! Dereference control, as OpenLDAP's `deref` overlay has it (P. Masarati and H. Chu, LDAP Dereference Control, 2008): with each entry that a search finds come attributes of the entries that it names.
//!
//! ```text
//! controlValue ::= SEQUENCE OF derefSpec DerefSpec
//! DerefSpec ::= SEQUENCE { derefAttr attributeDescription, attributes SEQUENCE OF AttributeDescription }
//! ```
//! An entry of the answer has:
//!
//! ```text
//! controlValue ::= SEQUENCE OF derefRes DerefRes
//! DerefRes ::= SEQUENCE { derefAttr AttributeDescription, derefVal LDAPDN, attrVals [0] PartialAttributeList OPTIONAL }
//! ```

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::list::{Attributes, Octets};
use crate::tag::{self, context_constructed};
use model::limits::{DEREFERENCE_ATTRIBUTES_MAX, DEREFERENCE_SPECS_MAX};

/// Its OID, of the request and of the answer: one of OpenLDAP's, for there is no other.
pub const OID: &[u8] = b"1.3.6.1.4.1.4203.666.5.16";

/// Tag of attrVals.
const ATTRIBUTE_VALUES: u8 = context_constructed(0);

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerefSpec<'a> {
    /// The attribute whose values name entries.
    pub attribute: &'a [u8],
    /// Attributes of these entries.
    pub attributes: Octets<'a>,
}

/// Decodes the value of a request.
///
/// # Errors
/// When it is none, names no attribute, or more than may be asked for.
pub fn decode(value: &[u8]) -> Result<Vec<DerefSpec<'_>>, Error> {
    let mut list = Reader::inside(value, tag::SEQUENCE, "expected a list of attributes to dereference")?;
    let mut specs = Vec::new();
    while !list.is_empty() {
        let at = list.offset();
        let mut body = list.enter(tag::SEQUENCE, "expected an attribute to dereference")?;
        let attribute = body.octets("expected an attribute description")?;
        let names = body.enter(tag::SEQUENCE, "expected attributes")?;
        let attributes =
            Octets::check(names, DEREFERENCE_ATTRIBUTES_MAX, "expected an attribute description")?;
        body.end()?;
        if attributes.is_empty() {
            return Err(Error::value(at, "no attribute of the entries that are named"));
        }
        if specs.len() == DEREFERENCE_SPECS_MAX {
            return Err(Error::limit(at, "too many attributes to dereference"));
        }
        specs.push(DerefSpec { attribute, attributes });
    }
    match specs.is_empty() {
        true => Err(Error::value(0, "no attribute to dereference")),
        false => Ok(specs),
    }
}

/// The value of a request.
pub fn encode(specs: &[DerefSpec<'_>]) -> Vec<u8> {
    ber::sequence(|out| {
        for spec in specs {
            let mark = ber::begin(out, tag::SEQUENCE);
            ber::put_octets(out, spec.attribute);
            ber::put_tlv(out, tag::SEQUENCE, spec.attributes.raw());
            ber::end(out, mark);
        }
    })
}

/// Appends what one value brings. `found`: attributes as [`crate::list::attribute_list`] makes them; if there are none, they are left out.
pub fn put_result(out: &mut Vec<u8>, attribute: &[u8], value: &[u8], found: &[u8]) {
    let mark = ber::begin(out, tag::SEQUENCE);
    ber::put_octets(out, attribute);
    ber::put_octets(out, value);
    if !found.is_empty() {
        ber::put_tlv(out, ATTRIBUTE_VALUES, found);
    }
    ber::end(out, mark);
}

/// What one value of an entry brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerefRes<'a> {
    /// The attribute that has the value.
    pub attribute: &'a [u8],
    /// The value, which is a DN.
    pub value: &'a [u8],
    /// Attributes of the entry of that name.
    pub found: Attributes<'a>,
}

/// Decodes the value of an answer.
///
/// # Errors
/// When it is none.
pub fn decode_results(value: &[u8]) -> Result<Vec<DerefRes<'_>>, Error> {
    let mut list = Reader::inside(value, tag::SEQUENCE, "expected a list of results")?;
    let mut results = Vec::new();
    while !list.is_empty() {
        let mut body = list.enter(tag::SEQUENCE, "expected a result")?;
        let attribute = body.octets("expected an attribute description")?;
        let value = body.octets("expected a DN")?;
        let found = match body.is_empty() {
            true => Attributes::default(),
            false => Attributes::check(body.enter(ATTRIBUTE_VALUES, "expected attributes")?, false)?,
        };
        body.end()?;
        results.push(DerefRes { attribute, value, found });
    }
    Ok(results)
}

/// The control, of a request or of an answer. That of an answer is not critical.
pub fn control(value: &[u8], critical: bool) -> Control<'_> {
    Control { oid: OID, critical, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::list::{attribute_list, octet_list};

    #[test]
    fn requests_and_results_come_back() {
        let names = octet_list([&b"cn"[..], b"mail"]);
        let attributes = Octets::parse(&names).unwrap();
        let specs =
            [DerefSpec { attribute: b"member", attributes }, DerefSpec { attribute: b"owner", attributes }];
        assert_eq!(decode(&encode(&specs)).unwrap(), specs);
        let found = attribute_list([(&b"cn"[..], vec![&b"Ada"[..]])]);
        let value = ber::sequence(|out| {
            put_result(out, b"member", b"cn=a", &found);
            put_result(out, b"member", b"cn=b", b"");
        });
        let results = decode_results(&value).unwrap();
        assert_eq!(results[0].found.raw(), found);
        assert_eq!(
            results[1],
            DerefRes { attribute: b"member", value: b"cn=b", found: Attributes::default() }
        );
    }

    #[test]
    fn what_is_no_request() {
        for wrong in [
            &b""[..],
            b"\x30\x00",
            b"\x04\x00",
            b"\x30\x02\x30\x00",
            b"\x30\x05\x30\x03\x04\x01a",
            b"\x30\x07\x30\x05\x04\x01a\x30\x00",
            b"\x30\x09\x30\x07\x04\x01a\x30\x02\x05\x00",
            b"\x30\x0c\x30\x0a\x04\x01a\x30\x03\x04\x01b\x05\x00",
        ] {
            assert!(decode(wrong).is_err(), "{wrong:x?}");
        }
    }

    #[test]
    fn requests_are_bounded() {
        let kind = |specs: &[DerefSpec<'_>]| decode(&encode(specs)).err().map(|error| error.kind);
        let names = |n| octet_list(vec![&b"cn"[..]; n]);
        let (few, most, more) =
            (names(1), names(DEREFERENCE_ATTRIBUTES_MAX), names(DEREFERENCE_ATTRIBUTES_MAX + 1));
        let spec = |names| DerefSpec { attribute: b"member", attributes: Octets::parse(names).unwrap() };
        assert_eq!(kind(&[spec(&most)]), None);
        assert_eq!(kind(&[spec(&more)]), Some(Kind::Limit));
        assert_eq!(kind(&[spec(&few); DEREFERENCE_SPECS_MAX]), None);
        assert_eq!(kind(&[spec(&few); DEREFERENCE_SPECS_MAX + 1]), Some(Kind::Limit));
    }
}
