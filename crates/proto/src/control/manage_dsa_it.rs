//! ManageDsaIT (RFC 3296 section 3): treat referral objects as plain entries. It has no value.

use super::Control;

/// Its OID.
pub const OID: &[u8] = b"2.16.840.1.113730.3.4.2";

/// The control, as a client sends it.
pub fn control(critical: bool) -> Control<'static> {
    Control { oid: OID, critical, value: None }
}
