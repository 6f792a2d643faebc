//! Relax rules: which attributes that users cannot change an update with the control may give values.
//!
//! An add brings what another server has kept of the entry; a modify corrects who made or changed it, and when. Everything else that the server
//! keeps itself stays so: nothing may be stored that other code takes for its own.

use crate::outcome::Refusal;
use model::{ResultCode, TypeId};
use schema::Schema;

/// Has the attribute of an update, whose value is given or taken away, a value that only the server may change?
///
/// # Errors
/// The refusal if it has.
pub(super) fn admit(schema: &Schema, attribute_type: TypeId, is_add: bool) -> Result<(), Refusal> {
    let definition = schema.attribute_type(attribute_type);
    if !definition.definition.no_user_modification {
        return Ok(());
    }
    // An entryUUID comes with an entry and stays: others know the entry by it, and it must not become that of another.
    let known = schema.well_known();
    let times = [known.create_timestamp, known.creators_name, known.modify_timestamp, known.modifiers_name];
    match times.contains(&attribute_type) || (is_add && attribute_type == known.entry_uuid) {
        true => Ok(()),
        false => {
            let text = format!(
                "{} is maintained by the server; no control gives it a value here",
                definition.name()
            );
            Err((ResultCode::ConstraintViolation, text))
        }
    }
}
