//! From a checked entry to the record that is stored.

use crate::record::{self, Stamps, ValueSet, ber_octets};
use crate::refused::Refused;
use crate::shape::{Draft, Form, Slot};
use crate::shard::Writer;
use crate::tree::TreeWriter;
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
    pub(super) naming: &'w [TypeId],
    pub(super) stamps: Stamps,
}

impl Writer<'_> {
    /// Stores an entry. Room was claimed, indexes are the caller's.
    pub(super) fn write_entry(&mut self, write: &Write<'_>) -> Result<(), Refused> {
        let schema = &self.shard.schema;
        let entry = write.entry;
        let class_type = schema.well_known().object_class;
        let classes_at = entry.position(Description::plain(class_type));
        let mut slots = std::mem::take(&mut self.state.scratch.slots);
        let mut record = std::mem::take(&mut self.state.scratch.record);
        slots.clear();
        for at in (0..entry.len()).filter(|at| Some(*at) != classes_at) {
            let description = entry.description(at);
            let is_naming = description.options.0 == 0 && write.naming.contains(&description.attribute_type);
            let form = match entry.value_count(at) {
                1 => Form::One,
                count if count <= INLINE_VALUES_MAX || (is_naming && count <= usize::from(u16::MAX)) => {
                    Form::Many
                }
                _ => Form::Set,
            };
            slots.push(Slot { description, form });
        }
        slots.extend(
            write.sets.iter().map(|(description, _)| Slot { description: *description, form: Form::Set }),
        );
        let mut naming = smallvec::SmallVec::<[u16; 4]>::new();
        for attribute_type in write.naming {
            let position = slots.iter().position(|s| s.description == Description::plain(*attribute_type));
            naming.push(position.expect("a naming attribute is in the entry") as u16);
        }
        let class_values: smallvec::SmallVec<[&[u8]; 8]> =
            entry.values_of(Description::plain(class_type)).collect();
        let draft = Draft {
            class_values: &class_values,
            structural: entry.state().structural(),
            slots: &slots,
            naming: &naming,
            schema,
        };
        let number = self.shard.shapes.intern(&mut self.state.shapes, draft);
        let number = number.ok_or(Refused::StoreLimit("distinct combinations of attributes"))?;
        let flags = record::begin(&mut record, number, write.parent, &write.stamps);
        let inline = (0..entry.len()).filter(|at| Some(*at) != classes_at);
        for (at, slot) in inline.zip(&slots) {
            match slot.form {
                Form::One => {
                    record::push_value(&mut record, entry.values(at).next().expect("it has one value"))
                }
                Form::Many => {
                    record::push_count(&mut record, entry.value_count(at));
                    entry.values(at).for_each(|value| record::push_value(&mut record, value));
                }
                Form::Set => {
                    let set = self.build_set(slot.description.attribute_type, entry.values(at))?;
                    record::push_set(&mut record, &set);
                }
            }
        }
        write.sets.iter().for_each(|(_, set)| record::push_set(&mut record, set));
        let version = self.version();
        self.shard.heap.put(&mut self.state.heap, write.id, flags, version, &record);
        self.state.scratch.slots = slots;
        self.state.scratch.record = record;
        Ok(())
    }

    fn build_set<'v>(
        &mut self,
        attribute_type: TypeId,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<ValueSet, Refused> {
        let mut items: Vec<(u64, &[u8])> = values.map(|v| (self.set_key(attribute_type, v), v)).collect();
        items.sort_unstable();
        let (count, ber_bytes) = (items.len() as u32, items.iter().map(|(_, v)| ber_octets(v.len())).sum());
        let (shard, sequence, mut removed) = (self.shard, self.version(), Vec::new());
        let mut tree =
            TreeWriter { heap: &shard.heap, writer: &mut self.state.heap, sequence, removed: &mut removed };
        let built = tree.build(items.into_iter());
        let root = built.map_err(|_| Refused::MemoryLimit { bytes_max: shard.settings.memory_bytes_max })?;
        Ok(ValueSet { root, count, ber_bytes })
    }

    /// The key of a value in a set: the hash of its normal form, or of itself if it has none.
    pub(super) fn set_key(&mut self, attribute_type: TypeId, value: &[u8]) -> u64 {
        let key = &mut self.state.scratch.key;
        key.clear();
        match self.shard.schema.normalise_equality(attribute_type, value, key) {
            Ok(()) => self.shard.value_hash(key),
            Err(_) => self.shard.value_hash(value),
        }
    }
}
