//! Permissive modify, of Active Directory ([MS-ADTS] section 3.1.1.3.4.1.8): a modify that adds values that are there, or deletes some that are not,
//! is no error for that. The request has no value, and there is no response control.

use super::Control;

/// Its OID.
pub const OID: &[u8] = b"1.2.840.113556.1.4.1413";

/// The control, as a client sends it.
pub fn control(critical: bool) -> Control<'static> {
    Control { oid: OID, critical, value: None }
}
