//! An add that depends on what the entry would be (RFC 4528): it is looked at before anything is stored.

use super::write::{Write, push_values};
use super::{Add, Stamp};
use crate::record::{self, EntryRef};
use crate::refused::Refused;
use crate::shape::Form;
use crate::shard::{ReadPoint, Writer};
use model::EntryId;

/// Is an entry such that the command may be applied? The read point is what the batch has made so far.
pub type Condition<'c> = &'c mut dyn FnMut(&EntryRef<'_>, ReadPoint<'_>) -> bool;

/// Id of an entry that is not stored: none is ever given to one that is.
pub(super) const UNSTORED: u32 = u32::MAX;

/// Values of one attribute that a record can hold.
pub(super) const RECORD_VALUES_MAX: usize = u16::MAX as usize;

impl Writer<'_> {
    /// Adds an entry if a condition is true of it. It is asked once everything is known to be right with the entry
    /// itself; nothing has an entryUUID by then, and nothing subordinates.
    ///
    /// # Errors
    /// As [`Writer::add`]; [`Refused::ConditionFailed`].
    pub fn add_if(
        &mut self,
        add: Add<'_>,
        stamp: Stamp,
        condition: Condition<'_>,
    ) -> Result<EntryId, Refused> {
        self.add_with(add, stamp, None, Some(condition))
    }

    /// Is the condition true of an entry as it would be stored?
    pub(super) fn is_met_by(&mut self, write: &Write<'_>, condition: Condition<'_>) -> Result<bool, Refused> {
        let number = self.shape_with(write, RECORD_VALUES_MAX)?;
        if self.state.scratch.slots.iter().any(|slot| slot.form == Form::Set) {
            return Err(Refused::StoreLimit("values of one attribute for a condition to look at"));
        }
        let mut bytes = std::mem::take(&mut self.state.scratch.record);
        let flags = record::begin(&mut bytes, number, write.parent, &write.stamps);
        let inline = self.inline_attributes(write.entry);
        for (at, slot) in inline.zip(&self.state.scratch.slots) {
            push_values(&mut bytes, slot.form, write.entry, at);
        }
        let flags = flags | record::end(&mut bytes, &write.naming.spelling);
        let entry = EntryRef::new(write.id, flags, &bytes, &self.shard.shapes);
        let is_met = condition(&entry, self.view());
        self.state.scratch.record = bytes;
        Ok(is_met)
    }
}
