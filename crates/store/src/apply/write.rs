//! From a checked entry to the record that is stored.
//!
//! The record's order is that of the shape: the attributes of the entry in its order, new sets among them, then those whose
//! sets stay. [`Writer::shape_of`] lists the slots in that order and [`Writer::write_entry`] writes the values
//! in it; nothing in the record tells them apart, so the two must agree to the byte.

use super::condition::RECORD_VALUES_MAX;
use super::name::Naming;
use super::sets::SetKey;
use crate::record::{self, Stamps, ValueSet, ber_octets};
use crate::refused::Refused;
use crate::shape::{Form, SLOTS_MAX, ShapeParts, Slot};
use crate::shard::Writer;
use model::{Description, Entry, TypeId};
use schema::Checked;

/// More values than this are kept in a tree, so that a change costs a node and not the whole record.
const INLINE_VALUES_MAX: usize = 64;

/// What is to be stored under an id.
pub(super) struct Write<'w> {
    pub(super) id: u32,
    pub(super) parent: u32,
    pub(super) entry: &'w Entry<Checked>,
    /// Attributes whose values stay in the tree where they are.
    pub(super) sets: &'w [(Description, ValueSet)],
    pub(super) naming: &'w Naming,
    pub(super) stamps: Stamps,
}

impl Writer<'_> {
    /// From now on the values of an attribute stay in the order in which they are given, up to 65,535 of them. Searching
    /// many of them costs more then.
    pub fn keep_order(&mut self) {
        self.state.keeps_order = true;
    }

    /// Stores an entry. Room was claimed, indexes are the caller's. Refused is only what [`Writer::shape_of`] refuses.
    pub(super) fn write_entry(&mut self, write: &Write<'_>) -> Result<(), Refused> {
        let number = self.shape_of(write)?;
        let entry = write.entry;
        // The slots that `shape_of` left there. An error below loses the two buffers, which are made anew then.
        let slots = std::mem::take(&mut self.state.scratch.slots);
        let mut record = std::mem::take(&mut self.state.scratch.record);
        let flags = record::begin(&mut record, number, write.parent, &write.stamps);
        for (at, slot) in self.inline_attributes(entry).zip(&slots) {
            match slot.form {
                Form::Set => {
                    let set = self.build_set(slot.description.attribute_type, entry.values(at))?;
                    record::push_set(&mut record, &set);
                }
                form => push_values(&mut record, form, entry, at),
            }
        }
        write.sets.iter().for_each(|(_, set)| record::push_set(&mut record, set));
        let flags = flags | record::end(&mut record, &write.naming.spelling);
        self.note_kind(write.id, self.shard.shapes.at(number));
        // An alias is among the aliases before anybody can see it, and one that is none any more goes from there later.
        let version = self.version();
        self.shard.heap.put(&mut self.state.heap, write.id, flags, version, &record);
        self.state.scratch.slots = slots;
        self.state.scratch.record = record;
        Ok(())
    }

    /// Where an entry has its object classes; `None` if it was taken in without a schema check and has none.
    fn classes_at(&self, entry: &Entry<Checked>) -> Option<usize> {
        entry.position(Description::plain(self.shard.schema.well_known().object_class))
    }

    /// Positions of an entry's attributes whose values its record has: all but its object classes, which the shape has.
    pub(super) fn inline_attributes(&self, entry: &Entry<Checked>) -> impl Iterator<Item = usize> + use<> {
        let classes_at = self.classes_at(entry);
        (0..entry.len()).filter(move |at| Some(*at) != classes_at)
    }

    /// The number of an entry's shape; its slots are left in the scratch. Who changes anything before the entry is
    /// written asks for it first.
    ///
    /// # Errors
    /// When there are too many shapes, or too many values of an attribute that names the entry.
    pub(super) fn shape_of(&mut self, write: &Write<'_>) -> Result<u32, Refused> {
        let inline_max = if self.state.keeps_order { RECORD_VALUES_MAX } else { INLINE_VALUES_MAX };
        self.shape_with(write, inline_max)
    }

    /// As [`Writer::shape_of`], of an entry that keeps up to `inline_max` values of an attribute in its record.
    pub(super) fn shape_with(&mut self, write: &Write<'_>, inline_max: usize) -> Result<u32, Refused> {
        let (entry, classes_at) = (write.entry, self.classes_at(write.entry));
        let mut slots = std::mem::take(&mut self.state.scratch.slots);
        slots.clear();
        // In the order of the RDN, not of the attributes: a DN is written as it was given.
        let mut naming = smallvec::SmallVec::<[u16; 4]>::from_elem(0, write.naming.types.len());
        let mut named_by = 0;
        for at in (0..entry.len()).filter(|at| Some(*at) != classes_at) {
            let (description, count) = (entry.description(at), entry.value_count(at));
            let named = write.naming.types.iter().position(|t| description == Description::plain(*t));
            if let Some(named) = named {
                naming[named] = slots.len() as u16;
                named_by += 1;
                if count > usize::from(u16::MAX) {
                    return Err(Refused::StoreLimit("values of an attribute that names the entry"));
                }
            }
            // A naming attribute is never a set: its first value must lie in the record.
            let form = match count {
                1 => Form::One,
                count if count <= inline_max || named.is_some() => Form::Many,
                _ => Form::Set,
            };
            slots.push(Slot { description, form });
        }
        assert_eq!(named_by, naming.len(), "an entry has every attribute that names it");
        slots.extend(
            write.sets.iter().map(|(description, _)| Slot { description: *description, form: Form::Set }),
        );
        let class_values: smallvec::SmallVec<[&[u8]; 8]> =
            classes_at.into_iter().flat_map(|at| entry.values(at)).collect();
        if slots.len().max(class_values.len()) > SLOTS_MAX {
            return Err(Refused::StoreLimit("attributes of one entry"));
        }
        // Behind the refusal: the entry of a client may have more attributes than a record has positions, and those above are cut off
        // to 16 bits until it is known that there are not.
        assert!(
            naming.iter().all(|at| usize::from(*at) < slots.len()),
            "a naming attribute has a slot, whose position has 16 bits"
        );
        let parts = ShapeParts {
            class_values: &class_values,
            structural: entry.state().structural(),
            slots: &slots,
            naming: &naming,
        };
        let number = self.shard.shapes.intern(&mut self.state.shapes, parts);
        self.state.scratch.slots = slots;
        number.ok_or(Refused::StoreLimit("distinct combinations of attributes"))
    }

    /// A new tree of these values: one that is built is written once, where so many inserts would write each leaf anew.
    pub(super) fn build_set<'v>(
        &mut self,
        attribute_type: TypeId,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<ValueSet, Refused> {
        let mut items: Vec<(u64, &[u8])> =
            values.map(|v| (self.set_key(attribute_type, v).hash, v)).collect();
        items.sort_unstable();
        assert!(u32::try_from(items.len()).is_ok(), "the values of a set are counted in 32 bits");
        let (count, ber_bytes) = (items.len() as u32, items.iter().map(|(_, v)| ber_octets(v.len())).sum());
        let root = self.with_tree(self.version(), |tree| tree.build(items.into_iter()))?;
        Ok(ValueSet { root, count, ber_bytes })
    }

    /// The key of a value in a set. One that is not of a normal form has no key in an equality index.
    pub(super) fn set_key(&mut self, attribute_type: TypeId, value: &[u8]) -> SetKey {
        let normal = &mut self.state.scratch.key;
        let (hash, is_of_normal_form) = self.shard.set_key(attribute_type, value, normal);
        SetKey { hash, is_of_normal_form }
    }
}

/// Appends the values of an attribute that is no set.
pub(super) fn push_values(record: &mut Vec<u8>, form: Form, entry: &Entry<Checked>, at: usize) {
    if form == Form::Many {
        record::push_count(record, entry.value_count(at));
    }
    entry.values(at).for_each(|value| record::push_value(record, value));
}
