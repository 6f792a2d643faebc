//! Who am I? (RFC 4532). The request has no value; the response's value is an authzId such as `dn:cn=a` or
//! nothing for an anonymous session.

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.4.1.4203.1.11.3";
