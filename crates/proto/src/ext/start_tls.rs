//! StartTLS (RFC 4511 section 4.14). The request has no value, nor has the response; that has the name of the operation.

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.4.1.1466.20037";
