//! Transaction specification (RFC 5805 section 2.2): the update belongs to a transaction. Its value is the transaction's
//! identifier, as it is; it is always critical.

use super::Control;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.1.21.2";

/// The control, as a client sends it.
pub fn control(identifier: &[u8]) -> Control<'_> {
    Control { oid: OID, critical: true, value: Some(identifier) }
}
