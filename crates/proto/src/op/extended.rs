//! Extended operation (RFC 4511 section 4.12): the envelope; what is inside is under [`crate::ext`].

use crate::ber::{self, Reader};
use crate::control::Control;
use crate::error::Error;
use crate::result::{LdapResult, encode_response};
use crate::tag::{self, context};

/// ExtendedRequest
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended<'a> {
    /// requestName, an OID.
    pub oid: &'a [u8],
    /// requestValue
    pub value: Option<&'a [u8]>,
}

impl<'a> Extended<'a> {
    /// The requestName that a request begins with, undecoded otherwise.
    pub fn oid_of(request: &'a [u8]) -> Option<&'a [u8]> {
        Reader::new(request).optional(context(0)).ok().flatten()
    }

    pub(crate) fn decode(mut body: Reader<'a>) -> Result<Extended<'a>, Error> {
        let oid = body.expect(context(0), "expected the OID of an extended operation")?;
        let value = body.optional(context(1))?;
        body.finish(&[0, 1])?;
        Ok(Extended { oid, value })
    }

    /// Appends the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = ber::begin(out, tag::EXTENDED);
        ber::put_tlv(out, context(0), self.oid);
        self.value.iter().for_each(|value| ber::put_tlv(out, context(1), value));
        ber::end(out, mark);
    }
}

/// ExtendedResponse, also the form of unsolicited notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedResponse<'a> {
    /// The outcome.
    pub result: LdapResult<'a>,
    /// responseName, an OID.
    pub oid: Option<&'a [u8]>,
    /// responseValue
    pub value: Option<&'a [u8]>,
}

impl<'a> ExtendedResponse<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<ExtendedResponse<'a>, Error> {
        let result = LdapResult::decode(&mut body)?;
        let oid = body.optional(context(10))?;
        let value = body.optional(context(11))?;
        body.finish(&[3, 10, 11])?;
        Ok(ExtendedResponse { result, oid, value })
    }

    /// Appends the whole message.
    pub fn encode(&self, out: &mut Vec<u8>, message_id: i32, controls: &[Control<'_>]) {
        let extra = |out: &mut Vec<u8>| {
            self.oid.iter().for_each(|oid| ber::put_tlv(out, context(10), oid));
            self.value.iter().for_each(|value| ber::put_tlv(out, context(11), value));
        };
        encode_response(out, message_id, tag::EXTENDED_RESPONSE, &self.result, extra, controls);
    }
}
