//! What must be true of an entry besides the schema: a judge says so before the entry is stored, in the writer's role. So what it finds
//! out about other entries is true until the entry is stored.

use super::sets::SetEdit;
use crate::record::{EntryRef, Values};
use crate::refused::Refused;
use crate::shard::{ReadPoint, Writer};
use model::{Description, Entry, EntryId, TypeId};
use schema::{Checked, Schema};
use std::sync::atomic::Ordering;

/// Judges what updates make of entries.
pub trait Judge {
    /// Does it judge values of this type? Where it does not, an update may take a shorter way.
    fn concerns(&self, attribute_type: TypeId) -> bool;

    /// May this be stored? The read point is what the batch has made so far: it has the entry as it was.
    ///
    /// # Errors
    /// The refusal of the update.
    fn judge(&self, made: &Made<'_>, at: ReadPoint<'_>) -> Result<(), Refused>;
}

/// Is given a value and its attribute.
pub type EachValue<'e> = &'e mut dyn FnMut(Description, &[u8]) -> Result<(), Refused>;

/// What an update makes of an entry.
pub struct Made<'m> {
    /// The entry as it is; `None` of one that is added.
    pub old: Option<&'m EntryRef<'m>>,
    /// The DN of one that is added.
    pub dn: Option<&'m [u8]>,
    /// The superior that it gets.
    pub parent: EntryId,
    /// Attributes whose values may be others than before, if it is there.
    pub(super) touched: &'m [Description],
    pub(super) entry: &'m Entry<Checked>,
    pub(super) sets: &'m [SetEdit<'m>],
}

impl<'m> Made<'m> {
    /// Gives each value that the entry did not have before, up to the first error; all of its values if it `is_new` where it comes to.
    ///
    /// # Errors
    /// That of `each`; when the entry brings a big set of values to where it is new.
    pub fn new_values(
        &self,
        is_new: bool,
        concerns: &dyn Fn(TypeId) -> bool,
        each: EachValue<'_>,
    ) -> Result<(), Refused> {
        let old = self.old.filter(|_| !is_new);
        let may_differ = |description: Description| {
            concerns(description.attribute_type) && (old.is_none() || self.touched.contains(&description))
        };
        for at in 0..self.entry.len() {
            let description = self.entry.description(at);
            if may_differ(description) {
                let mut values = self
                    .entry
                    .values(at)
                    .filter(|value| !old.is_some_and(|old| had(old, description, value)));
                values.try_for_each(|value| each(description, value))?;
            }
        }
        for set in self.sets.iter().filter(|set| !set.dropped && may_differ(set.description)) {
            if old.is_none() && set.count() > 0 {
                let what =
                    "values of an attribute with a constraint, in an entry that comes into its subtree";
                return Err(Refused::StoreLimit(what));
            }
            set.added().try_for_each(|value| each(set.description, value))?;
        }
        Ok(())
    }

    /// May values of these types be others than before?
    pub fn touches(&self, concerns: &dyn Fn(TypeId) -> bool) -> bool {
        self.old.is_none() || self.touched.iter().any(|description| concerns(description.attribute_type))
    }

    /// How many values of these types the entry will have, whatever the options are. Of a big set the overlay of a transaction counts
    /// those that it has.
    pub fn count(&self, concerns: &dyn Fn(TypeId) -> bool) -> usize {
        let of = |description: Description| concerns(description.attribute_type);
        let inline = (0..self.entry.len()).filter(|at| of(self.entry.description(*at)));
        let sets = self.sets.iter().filter(|set| of(set.description));
        inline.map(|at| self.entry.values(at).count()).sum::<usize>()
            + sets.map(SetEdit::count).sum::<usize>()
    }

    /// The object classes that it will have.
    pub fn classes(&self, schema: &Schema) -> impl Iterator<Item = &[u8]> {
        self.entry.values_of(Description::plain(schema.well_known().object_class))
    }
}

/// Has an entry this value, byte by byte? Of a big set it is not known, which is no harm: the value is judged once more.
fn had(old: &EntryRef<'_>, description: Description, value: &[u8]) -> bool {
    match old.shape.position(description).map(|at| old.slot(at)) {
        Some(Values::Inline(mut values)) => values.any(|old| old == value),
        _ => false,
    }
}

impl Writer<'_> {
    /// Asks a judge, if there is one.
    pub(super) fn ask(&self, judge: Option<&dyn Judge>, made: &Made<'_>) -> Result<(), Refused> {
        let Some(judge) = judge else { return Ok(()) };
        // A look at all entries must come by those that this batch has added. Readers find nothing under their ids before it is published.
        self.shard.ids_end.store(u64::from(self.state.heap.ids.end()), Ordering::Release);
        judge.judge(made, self.view())
    }

    /// No write that was prepared before is installed any more: entries are judged otherwise from this batch on.
    pub fn invalidate_prepared_writes(&mut self) {
        self.names_change();
    }
}
