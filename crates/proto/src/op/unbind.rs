//! Unbind (RFC 4511 section 4.3): the end of a session; no contents, no response.

use crate::error::Error;
use crate::tag;

/// Checks that nothing is in it.
pub(crate) fn decode(contents: &[u8], offset: usize) -> Result<(), Error> {
    if contents.is_empty() { Ok(()) } else { Err(Error::structure(offset, "unbind has no contents")) }
}

/// Appends the request.
pub fn encode(out: &mut Vec<u8>) {
    out.extend_from_slice(&[tag::UNBIND, 0]);
}
