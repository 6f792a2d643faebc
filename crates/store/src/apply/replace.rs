//! The modify that directories are made of: values of single-valued attributes are replaced, nothing else. The shape
//! stays, so the record is copied slot by slot with the new values in their places.
//!
//! What makes it right to leave out the rest: an attribute that keeps one value can violate no rule of the schema but
//! that of its own value, which is checked; the object classes, and so what must and may be there, stay; and no value of
//! the RDN is among them. It differs from a prepared write in that it runs as the writer, so it may change indexes.

use super::{ChangeKind, Modify};
use crate::record::{self, EntryRef, Stamps, Values};
use crate::refused::Refused;
use crate::shape::{Form, Shape};
use crate::shard::Writer;
use model::Description;
use schema::{CheckOptions, Schema};
use smallvec::SmallVec;

/// Changes that are looked at for this; more of them go the general way.
const CHANGES_MAX: usize = 4;

/// The slot of an attribute that has one value, if that value may be replaced by another without a second look.
#[inline]
pub(super) fn place_of(schema: &Schema, shape: &Shape, description: Description) -> Option<usize> {
    let place = shape.position(description)?;
    let suits = shape.slots[place].form == Form::One
        && !shape.naming.contains(&(place as u16))
        // That a rule has changed is noted by the general way.
        && description.attribute_type != schema.well_known().access_rule
        && !schema.attribute_type(description.attribute_type).definition.no_user_modification;
    suits.then_some(place)
}

/// The slot that each change is about.
pub(super) type Places = SmallVec<[usize; CHANGES_MAX]>;

impl Writer<'_> {
    /// The slots of the changes, if a modify only gives new values to attributes that have one value and keep one, and no attribute
    /// comes twice: the second change would have to see the first. `None` if it does more, or may not.
    pub(super) fn places(&self, old: &EntryRef<'_>, modify: &Modify<'_, '_>) -> Option<Places> {
        let is_many = modify.changes.is_empty() || modify.changes.len() > CHANGES_MAX;
        if is_many || modify.keep_operational || old.shape.stores_stamps {
            return None;
        }
        let mut places = Places::new();
        for change in modify.changes {
            let suits = change.kind == ChangeKind::Replace && change.values.len() == 1;
            let place = suits.then(|| place_of(&self.shard.schema, old.shape, change.description))??;
            if places.contains(&place) {
                return None;
            }
            places.push(place);
        }
        Some(places)
    }

    /// Copies the record with the new values in their places. Form and number of values stay, so shape and spelling of the name
    /// do; only the stamps before them, which are these, and the lengths change.
    pub(super) fn replace_at(
        &mut self,
        old: &EntryRef<'_>,
        modify: &Modify<'_, '_>,
        places: &Places,
        stamps: Stamps,
    ) -> Result<(), Refused> {
        let shard = self.shard;
        assert_eq!(places.len(), modify.changes.len(), "each change has its slot");
        let (mut bytes, mut before, mut after) = (0, 0, 0);
        for (change, place) in modify.changes.iter().zip(places) {
            bytes += change.values[0].len() + 64;
            after += change.values[0].len();
            if let Values::Inline(values) = old.slot(*place) {
                before += values.map(<[u8]>::len).sum::<usize>();
            }
            if shard.settings.schema_check {
                let (description, value) = (change.description, change.values[0]);
                let checked = shard.schema.check_attribute_value(description, value, CheckOptions::COMPLETE);
                checked.map_err(Refused::Schema)?;
            }
        }
        // All values were judged: the last refusal is for memory, and nothing was changed so far. An entry that does not grow
        // may use the reserve above the limit.
        self.claim_change(bytes + old.len() + 4096, after > before)?;
        // Keys before the record, as everywhere: a reader of the new version finds it by all its keys.
        for (change, place) in modify.changes.iter().zip(places) {
            if self.view().indexes().cover(change.description.attribute_type)
                && let Values::Inline(before) = old.slot(*place)
            {
                self.index_change(old.id.0, change.description, before, change.values.iter().copied())?;
            }
        }
        let mut out = std::mem::take(&mut self.state.scratch.record);
        let flags = record::begin(&mut out, old.shape.number, old.parent().0, &stamps);
        for (position, raw) in old.raw_slots().enumerate() {
            match places.iter().position(|place| *place == position) {
                Some(at) => record::push_value(&mut out, modify.changes[at].values[0]),
                None => out.extend_from_slice(raw),
            }
        }
        let flags = flags | record::end(&mut out, old.raw_spelling());
        let version = self.version();
        shard.heap.put(&mut self.state.heap, old.id.0, flags, version, &out);
        self.settle_trees(old.id.0);
        self.state.scratch.record = out;
        Ok(())
    }
}
