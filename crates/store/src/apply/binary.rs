//! Earlier versions kept `userCertificate;binary` apart from `userCertificate` (RFC 4522 section 3 makes them one): an entry
//! that has both has one when it is next changed. A restore takes records as they are, so the two may stay apart for as long
//! as nobody changes the entry.
//!
//! Both attributes can hold the same certificate: of values that match, that of the plain attribute stays.

use super::modify::Edit;
use super::name::normal;
use super::sets::SetEdit;
use crate::record::{EntryRef, ValueSet, Values};
use crate::shard::Writer;
use crate::values::SetPosition;
use model::{Description, Entry, TypeId};
use schema::Schema;
use std::collections::BTreeSet;

impl Writer<'_> {
    /// Takes over the attributes of a stored entry that were left out because they are kept apart from others.
    #[cold]
    pub(super) fn join_attributes(&self, old: &EntryRef<'_>, edit: &mut Edit<'_>) {
        for (slot, values) in old.shape.slots.iter().zip(old.slots()) {
            let Some(one) = edit.held.one_attribute(slot.description) else { continue };
            // Its index keys go, as far as the joined attribute has not the same.
            edit.touched.push(slot.description);
            let other = edit.sets.iter_mut().find(|set| set.description == one);
            match values {
                Values::Set(set) if other.is_none() && edit.entry.position(one).is_none() => {
                    edit.sets.push(SetEdit::new(one, set));
                }
                values => {
                    // Values in the record become a set again when it is written, if they are so many.
                    if let Some(other) = other {
                        other.dropped = true;
                        let set = other.set;
                        self.join_set(&mut edit.entry, one, &set);
                    }
                    match values {
                        Values::Inline(values) => {
                            join(&self.shard.schema, &mut edit.entry, one, values);
                        }
                        Values::Set(set) => {
                            self.join_set(&mut edit.entry, one, &set);
                            let mut gone = SetEdit::new(slot.description, set);
                            gone.dropped = true;
                            edit.sets.push(gone);
                        }
                    }
                }
            }
        }
    }

    /// Loads a whole set into the entry. It is as large as the attribute, once, in a change that rewrites it anyway.
    fn join_set(&self, entry: &mut Entry, one: Description, set: &ValueSet) {
        let (mut position, mut values) = (SetPosition::default(), Vec::with_capacity(set.count as usize));
        while self.view().set_values(set, &mut position, |value| values.push(value)) {}
        join(&self.shard.schema, entry, one, values.into_iter());
    }
}

/// Adds values to those of an attribute, as far as none of its own matches.
fn join<'v>(schema: &Schema, entry: &mut Entry, one: Description, values: impl Iterator<Item = &'v [u8]>) {
    let form = |kind: TypeId, value: &[u8]| normal(schema, kind, value).unwrap_or_else(|| value.to_vec());
    let own: BTreeSet<Vec<u8>> = entry.values_of(one).map(|own| form(one.attribute_type, own)).collect();
    let is_new = |value: &&[u8]| !own.contains(&form(one.attribute_type, value));
    let more: Vec<&[u8]> = values.filter(is_new).collect();
    entry.extend(one, more);
}
