//! Non-transaction: the update belongs to no transaction, though one is open whose members need not name it. DVTDS has
//! such a control, whose OID was never published; this one is Pando's own. It has no value and is always critical.

use super::Control;

/// Its OID.
pub const OID: &[u8] = b"2.25.86951756941857114776220269319130797163";

/// The control, as a client sends it.
pub fn control() -> Control<'static> {
    Control { oid: OID, critical: true, value: None }
}
