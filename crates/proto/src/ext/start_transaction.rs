//! Start Transaction (RFC 5805 section 2.1): an extended request without a value; the answer brings the identifier that
//! the updates of the transaction name.

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.1.21.1";
