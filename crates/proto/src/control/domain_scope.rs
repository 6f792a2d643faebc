//! Domain scope, of Active Directory ([MS-ADTS] section 3.1.1.3.4.1.4): a search returns no continuation references. The request has no value, and there
//! is no response control.

use super::Control;

/// Its OID.
pub const OID: &[u8] = b"1.2.840.113556.1.4.1339";

/// The control, as a client sends it.
pub fn control(critical: bool) -> Control<'static> {
    Control { oid: OID, critical, value: None }
}
