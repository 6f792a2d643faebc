//! Aborted Transaction Notice (RFC 5805 section 2.4): the server gave a transaction up on its own account.

use crate::op::extended::ExtendedResponse;
use crate::result::LdapResult;
use model::ResultCode;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.1.21.4";

/// Appends the notice about the transaction with this identifier, with why it was given up.
pub fn encode(out: &mut Vec<u8>, identifier: &[u8], code: ResultCode, why: &str) {
    let result = LdapResult { diagnostic: why.as_bytes(), ..LdapResult::new(code) };
    ExtendedResponse { result, oid: Some(OID), value: Some(identifier) }.encode(out, 0, &[]);
}
