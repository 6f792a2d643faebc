//! Abandon (RFC 4511 section 4.11): a message id, and no response.

use crate::ber;
use crate::error::Error;
use crate::tag;

/// Decodes the id of the operation to give up.
pub(crate) fn decode(contents: &[u8], offset: usize) -> Result<i32, Error> {
    let id = ber::integer(contents, offset)?;
    i32::try_from(id).ok().filter(|id| *id >= 0).ok_or_else(|| Error::value(offset, "expected a message id"))
}

/// Appends the request.
pub fn encode(out: &mut Vec<u8>, message_id: i32) {
    ber::put_number(out, tag::ABANDON, message_id as i64);
}
