//! Add (RFC 4511 section 4.7); the response is an LDAPResult.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::list::Attributes;
use crate::tag;

/// AddRequest
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Add<'a> {
    /// DN of the new entry.
    pub dn: &'a [u8],
    /// Its attributes, each with at least one value; the same description may come twice.
    pub attributes: Attributes<'a>,
}

impl<'a> Add<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<Add<'a>, Error> {
        let dn = body.text("expected the DN of an entry")?;
        let attributes = body.enter(tag::SEQUENCE, "expected a list of attributes")?;
        let attributes = Attributes::check(attributes, true)?;
        body.finish(&[])?;
        Ok(Add { dn, attributes })
    }

    /// Appends the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let attributes = self.attributes.raw();
        let len = ber::tlv_len(self.dn.len()) + ber::tlv_len(attributes.len());
        ber::put_header(out, tag::ADD, len);
        let start = out.len();
        ber::put_octets(out, self.dn);
        ber::put_tlv(out, tag::SEQUENCE, attributes);
        assert_eq!(out.len() - start, len, "the contents have the length that stands before them");
    }
}
