//! Delete (RFC 4511 section 4.8): a DN; the response is an LDAPResult.

use crate::ber;
use crate::error::Error;
use crate::tag;

/// Checks the DN of the entry to delete.
pub(crate) fn decode(contents: &[u8], offset: usize) -> Result<&[u8], Error> {
    ber::check_utf8(contents, offset)?;
    Ok(contents)
}

/// Appends the request.
pub fn encode(out: &mut Vec<u8>, dn: &[u8]) {
    ber::put_tlv(out, tag::DELETE, dn);
}
