//! The keys that values have in an index.

use super::{AttributeIndex, Content};
use crate::hash::tag;
use crate::record::{EntryRef, Values};
use crate::shard::ReadPoint;
use crate::tree::{self, From};
use crate::values::SetPosition;
use model::Description;
use std::collections::BTreeSet;

/// Anchors that mark the ends of a value among its trigrams.
const START: u8 = 1;
const END: u8 = 2;

/// A key in an index, as far as the index keeps it: what it cannot tell apart is one key. So a value of an entry takes no key
/// away that another of its values has too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Tag of the normalised value's hash.
    Equality(u32),
    /// The attribute is there.
    Presence,
    /// Tag of the hash of three bytes of the normalised value.
    Substring(u32),
    /// First bytes of the ordering key.
    Ordering(u64),
}

/// Does an entry have a key?
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
    pub(super) fn keeps(&self, view: ReadPoint<'_>, entry: &EntryRef<'_>, key: Key) -> Keeps {
        let mut keys = Vec::new();
        if view.shard.schema.well_known().object_class == self.attribute_type {
            entry.shape.class_values.iter().for_each(|value| self.push_keys(view, value, &mut keys));
            return Keeps::of(key == Key::Presence || keys.contains(&key));
        }
        let mut sum = Keeps::No;
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            if !self.holds(view, slot.description.attribute_type) {
                continue;
            }
            let keeps = match (values, key) {
                (_, Key::Presence) => Keeps::Yes,
                (Values::Inline(values), _) => {
                    keys.clear();
                    values.for_each(|value| self.push_keys(view, value, &mut keys));
                    Keeps::of(keys.contains(&key))
                }
                (Values::Set(set), Key::Equality(tag)) if self.has_rule_of(view, slot.description) => {
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
    fn has_rule_of(&self, view: ReadPoint<'_>, description: Description) -> bool {
        let rule = |attribute_type| view.shard.schema.attribute_type(attribute_type).equality;
        rule(description.attribute_type) == rule(self.attribute_type)
    }

    /// Takes the keys that a version of an entry has out of `keys`. Walks through its sets.
    pub(crate) fn remove_held(&self, view: ReadPoint<'_>, entry: &EntryRef<'_>, keys: &mut BTreeSet<Key>) {
        let mut own = Vec::new();
        let mut strike = |value: &[u8]| {
            own.clear();
            self.push_keys(view, value, &mut own);
            for key in &own {
                keys.remove(key);
            }
        };
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            if !self.holds(view, slot.description.attribute_type) {
                continue;
            }
            match values {
                Values::Inline(values) => values.for_each(&mut strike),
                Values::Set(set) => {
                    let mut position = SetPosition::default();
                    while view.set_values(&set, &mut position, &mut strike) {}
                }
            }
        }
    }

    /// The keys of one value.
    pub(super) fn push_keys(&self, view: ReadPoint<'_>, value: &[u8], out: &mut Vec<Key>) {
        self.each_key(view, value, &mut Vec::new(), &mut |key| out.push(key));
    }

    /// Hands the keys of one value to `each`; presence is nothing of a single value.
    pub(super) fn each_key(
        &self,
        view: ReadPoint<'_>,
        value: &[u8],
        normal: &mut Vec<u8>,
        each: &mut impl FnMut(Key),
    ) {
        let schema = &view.shard.schema;
        let definition = schema.attribute_type(self.attribute_type);
        normal.clear();
        match &self.content {
            Content::Presence(_) => {}
            Content::Equality(_) => {
                if schema.normalise_equality(self.attribute_type, value, normal).is_ok() {
                    each(Key::Equality(tag(view.shard.value_hash(normal))));
                }
            }
            Content::Substring(_) => {
                if let Some(rule) = definition.substring
                    && rule.normalise_value(schema, value, normal).is_ok()
                {
                    trigrams(view, normal).for_each(|hash| each(Key::Substring(tag(hash))));
                }
            }
            Content::Ordering(_) => {
                if let Some(rule) = definition.ordering
                    && rule.ordering_key(schema, value, normal).is_ok()
                {
                    each(Key::Ordering(prefix(normal)));
                }
            }
        }
    }
}

/// Has a set a value whose hash has this tag? The tag is the hash's high half, so these follow each other.
fn has_tag(view: ReadPoint<'_>, root: u32, tag: u32) -> bool {
    let (from, mut first) = (From::At((u64::from(tag) << 32, &[])), None);
    tree::next_leaf(&view.shard.heap, root, view.sequence, from, |(hash, _)| _ = first.get_or_insert(hash));
    first.is_some_and(|hash| crate::hash::tag(hash) == tag)
}

/// The first eight bytes as a number in the same order.
pub(crate) fn prefix(key: &[u8]) -> u64 {
    let mut word = [0; 8];
    let len = key.len().min(8);
    word[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(word)
}

/// Hashes of all runs of three bytes of a normalised value with its ends marked.
fn trigrams<'n>(view: ReadPoint<'n>, normal: &'n [u8]) -> impl Iterator<Item = u64> + 'n {
    let at = move |n: usize| match n {
        0 => START,
        n if n == normal.len() + 1 => END,
        n => normal[n - 1],
    };
    (0..normal.len()).map(move |n| view.shard.value_hash(&[at(n), at(n + 1), at(n + 2)]))
}

/// Hashes of the trigrams that a value must have to contain this part.
pub(crate) fn part_trigrams(view: ReadPoint<'_>, part: &[u8], is_initial: bool, is_final: bool) -> Vec<u64> {
    let mut text = Vec::with_capacity(part.len() + 2);
    text.extend(is_initial.then_some(START));
    text.extend_from_slice(part);
    text.extend(is_final.then_some(END));
    text.windows(3).map(|three| view.shard.value_hash(three)).collect()
}

#[cfg(test)]
mod tests;
