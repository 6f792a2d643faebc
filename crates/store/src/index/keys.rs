//! The keys that values have in an index.
//! Whether an entry has a key is asked when a key is to be removed, and when an index is compared with the entries. Inline values are gone through;
//! a big set is asked by its own order where that helps, and not walked through.

use super::key::Key;
use super::{AttributeIndex, Content, note};
use crate::record::{EntryRef, Values};
use crate::shard::ReadPoint;
use crate::tree::From;
use model::Description;
use std::collections::BTreeSet;

/// Does an entry have a key?
/// Who gets `Unknown` must do what is right in both cases: a key that stays too long costs a candidate, one that goes too soon an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Yes,
    No,
    /// Perhaps: one of its big sets would have to be walked through.
    Unknown,
}

impl Keeps {
    fn of(has: bool) -> Keeps {
        if has { Keeps::Yes } else { Keeps::No }
    }
}

impl AttributeIndex {
    /// Does this version of an entry have a key?
    /// objectClass is in the shape, all other values are in slots.
    pub(super) fn keeps(&self, view: ReadPoint<'_>, entry: &EntryRef<'_>, key: Key) -> Keeps {
        // Of one value after the other.
        let mut keys = Vec::new();
        if view.shard.schema.well_known().object_class == self.name.attribute_type {
            entry.shape.class_values.iter().for_each(|value| self.push_keys(view, value, &mut keys));
            return Keeps::of(key == Key::Attribute || keys.contains(&key));
        }
        let mut sum = Keeps::No;
        for (slot, values) in self.held_slots(view, entry) {
            let keeps = match (values, key) {
                (_, Key::Attribute) => Keeps::Yes,
                (Values::Inline(values), _) => {
                    keys.clear();
                    values.for_each(|value| self.push_keys(view, value, &mut keys));
                    Keeps::of(keys.contains(&key))
                }
                (Values::Set(set), Key::Tag(tag))
                    if self.name.kind.is_of_value_hash() && self.has_rule_of(view, slot.description) =>
                {
                    Keeps::of(has_tag(view, set.root, tag))
                }
                (Values::Set(_), _) => Keeps::Unknown,
            };
            match keeps {
                Keeps::Yes => return Keeps::Yes,
                Keeps::Unknown => sum = Keeps::Unknown,
                Keeps::No => {}
            }
        }
        sum
    }

    /// Are the hashes by which a set of these values is ordered those of the index's keys?
    /// A subtype may have another equality rule than the type that is indexed.
    fn has_rule_of(&self, view: ReadPoint<'_>, description: Description) -> bool {
        let rule = |attribute_type| view.shard.schema.attribute_type(attribute_type).equality;
        rule(description.attribute_type) == rule(self.name.attribute_type)
    }

    /// Takes the keys that a version of an entry has out of `keys`. Walks through its sets.
    /// For what walks through sets on purpose, when so many keys are stale that one walk settles all of them.
    pub(crate) fn remove_held(&self, view: ReadPoint<'_>, entry: &EntryRef<'_>, keys: &mut BTreeSet<Key>) {
        // Used again for each value.
        let mut own = Vec::new();
        let mut strike = |value: &[u8]| {
            own.clear();
            self.push_keys(view, value, &mut own);
            for key in &own {
                keys.remove(key);
            }
        };
        self.held_slots(view, entry).for_each(|(_, values)| view.each_value(values, &mut strike));
    }

    /// The keys of one value.
    pub(super) fn push_keys(&self, view: ReadPoint<'_>, value: &[u8], out: &mut Vec<Key>) {
        self.each_key(view, value, &mut Vec::new(), &mut |key| out.push(key));
    }

    /// Hands the keys of one value to `each`; that of the attribute is nothing of a single value.
    pub(super) fn each_key(
        &self,
        view: ReadPoint<'_>,
        value: &[u8],
        normal: &mut Vec<u8>,
        each: &mut impl FnMut(Key),
    ) {
        let mut is_any = false;
        self.name.kind.each_key(view.shard.keys(self.name.attribute_type), value, normal, &mut |key| {
            is_any = true;
            each(key);
        });
        if !is_any && matches!(self.content, Content::Tree(_)) {
            note(&self.exceptions.none);
        }
    }
}

/// Has a set a value whose hash has this tag? The tag is the hash's high half, so these follow each other.
/// A set is ordered by the hash of its values, so those with one tag are neighbours.
fn has_tag(view: ReadPoint<'_>, root: u32, tag: u32) -> bool {
    let (from, mut first) = (From::At((u64::from(tag) << 32, &[])), None);
    view.tree(root).next_leaf(from, |(hash, _)| _ = first.get_or_insert(hash));
    first.is_some_and(|hash| crate::hash::tag(hash) == tag)
}

#[cfg(test)]
mod tests;
