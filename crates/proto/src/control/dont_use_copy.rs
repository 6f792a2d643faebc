//! Don't use copy (RFC 6171): a read is answered from the original and not from a copy that may be old, or not at all. It has no value, is
//! always critical, and there is no response control.

use super::Control;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.1.22";

/// The control, as a client sends it.
pub fn control() -> Control<'static> {
    Control { oid: OID, critical: true, value: None }
}
