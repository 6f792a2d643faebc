//! Tree delete, of Active Directory: a delete takes the entry and all that is below it. The request has no value, and
//! there is no response control.

use super::Control;

/// Its OID.
pub const OID: &[u8] = b"1.2.840.113556.1.4.805";

/// The control, as a client sends it.
pub fn control(critical: bool) -> Control<'static> {
    Control { oid: OID, critical, value: None }
}
