//! Relax rules: some rules of the schema do not hold for an update by an administrator. The request has no value, and
//! there is no response control.

use super::{Control, Controls};

/// Its OID: the one that OpenLDAP gave it.
pub const OID: &[u8] = b"1.3.6.1.4.1.4203.666.5.12";

/// Has a message this control?
pub fn is_among(controls: Controls<'_>) -> bool {
    controls.iter().any(|control| control.oid == OID)
}

/// The control, as a client sends it.
pub fn control(critical: bool) -> Control<'static> {
    Control { oid: OID, critical, value: None }
}
