//! Intermediate response (RFC 4511 section 4.13): something said before an operation's final response.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag::{self, context};

/// IntermediateResponse
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intermediate<'a> {
    /// responseName, an OID.
    pub oid: Option<&'a [u8]>,
    /// responseValue
    pub value: Option<&'a [u8]>,
}

impl<'a> Intermediate<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<Intermediate<'a>, Error> {
        let oid = body.optional(context(0))?;
        let value = body.optional(context(1))?;
        body.finish(&[0, 1])?;
        Ok(Intermediate { oid, value })
    }

    /// Appends the protocolOp.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = ber::begin(out, tag::INTERMEDIATE);
        self.oid.iter().for_each(|oid| ber::put_tlv(out, context(0), oid));
        self.value.iter().for_each(|value| ber::put_tlv(out, context(1), value));
        ber::end(out, mark);
    }
}
