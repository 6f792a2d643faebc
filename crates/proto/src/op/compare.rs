//! Compare (RFC 4511 section 4.10); the response is an LDAPResult with compareTrue or compareFalse.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::filter;
use crate::tag;
use model::filter::Assertion;

/// CompareRequest
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compare<'a> {
    /// DN of the entry.
    pub dn: &'a [u8],
    /// What is claimed about it.
    pub assertion: Assertion<'a>,
}

impl<'a> Compare<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<Compare<'a>, Error> {
        let dn = body.text("expected the DN of an entry")?;
        let assertion = filter::assertion(body.enter(tag::SEQUENCE, "expected an assertion")?)?;
        body.finish(&[])?;
        Ok(Compare { dn, assertion })
    }

    /// Appends the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = ber::begin(out, tag::COMPARE);
        ber::put_octets(out, self.dn);
        filter::encode_assertion(tag::SEQUENCE, &self.assertion, out);
        ber::end(out, mark);
    }
}
