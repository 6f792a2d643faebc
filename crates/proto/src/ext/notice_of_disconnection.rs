//! Notice of Disconnection (RFC 4511 section 4.4.1): the server's last words.

use crate::op::extended::ExtendedResponse;
use crate::result::LdapResult;
use model::ResultCode;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.4.1.1466.20036";

/// Appends the notice: message id 0, an extended response. Codes that the RFC names: protocolError,
/// strongerAuthRequired, unavailable; others may be used where they say more (busy, adminLimitExceeded).
pub fn encode(out: &mut Vec<u8>, code: ResultCode, diagnostic: &str) {
    let result = LdapResult { diagnostic: diagnostic.as_bytes(), ..LdapResult::new(code) };
    ExtendedResponse { result, oid: Some(OID), value: None }.encode(out, 0, &[]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let mut out = Vec::new();
        encode(&mut out, ResultCode::Unavailable, "");
        let head = [0x30, 36, 2, 1, 0, 0x78, 31, 10, 1, 52, 4, 0, 4, 0, 0x8a, 22];
        assert_eq!(out[..16], head);
        assert_eq!(&out[16..], OID);
    }
}
