//! No-op: an update is checked as if it were made, and nothing is changed. The request has no value, and there is
//! no response control; the result code is noOperation.

use super::Control;

/// Its OID, as OpenDJ and UnboundID's SDK know it.
pub const OID: &[u8] = b"1.3.6.1.4.1.4203.1.10.2";
/// The OID by which OpenLDAP's clients send it.
pub const OPENLDAP_OID: &[u8] = b"1.3.6.1.4.1.4203.666.5.2";

/// noOperation, the result code of an update that would have succeeded: the one that OpenLDAP answers.
pub const NO_OPERATION: u32 = 0x410e;

/// The control, as a client sends it.
pub fn control(critical: bool) -> Control<'static> {
    Control { oid: OID, critical, value: None }
}
