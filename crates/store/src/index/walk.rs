//! A walk over the keys that entries have in an index, in the order of ids, a piece at a time.
//! The cost of a piece is counted in keys and not in entries: an entry may have one value or a million. Values that lie in the record are taken
//! together; a big set is taken leaf by leaf.

use super::AttributeIndex;
use super::key::Key;
use super::kind::IndexKind;
use crate::record::{EntryRef, ValueSet, Values};
use crate::shard::ReadPoint;
use crate::values::SetPosition;
use model::{Description, EntryId};

/// Values that one leaf of a set has at most, unless they are long: a piece takes whole leaves.
const LEAF_VALUES_MAX: usize = 128;
/// Bytes of a value, where each has a key, that take as long as one key elsewhere: their keys are made together.
const EACH_BYTE_SHARE: usize = 4;

/// Where a walk is.
/// It has no reader between two pieces, so it keeps nothing from being freed.
#[derive(Debug)]
pub(super) struct KeyWalk {
    /// The next entry to look at.
    next: u32,
    /// Where that entry's big sets were left: those before this attribute were walked through.
    within: Option<(Description, SetPosition)>,
    entries: u64,
}

/// What a walk came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Keys of this entry: all, or those for which there was room.
    Of(u32),
    /// There is no room for more.
    Full,
    /// There are no more entries.
    End,
}

impl KeyWalk {
    /// Before the first entry.
    pub(super) fn begin() -> KeyWalk {
        KeyWalk { next: 1, within: None, entries: 0 }
    }

    /// Entries that it has been through.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Room for about `keys_max` keys, or for those of the next entry that go at once if they are more.
    /// More than was asked for, if the next entry needs it: a walk always comes further.
    pub(super) fn room(&self, view: ReadPoint<'_>, index: &AttributeIndex, keys_max: usize) -> usize {
        keys_max.max(self.inline_keys(view, index) + LEAF_VALUES_MAX)
    }

    /// Takes the keys of the next entry below `end` that has some, each once, and their cost out of `room`. The walk goes
    /// on at other read points, where an entry may be another than it was: then keys that it had all the time are taken.
    /// An entry that is deleted meanwhile has no keys; one that is added behind `end` is not this walk's.
    pub(super) fn take(
        &mut self,
        view: ReadPoint<'_>,
        index: &AttributeIndex,
        end: u32,
        room: &mut usize,
        keys: &mut Vec<Key>,
    ) -> Taken {
        keys.clear();
        while self.next < end {
            let inline = self.inline_keys(view, index);
            if inline >= *room || (self.within.is_some() && *room < LEAF_VALUES_MAX) {
                return Taken::Full;
            }
            let id = self.next;
            if let Some(entry) = view.entry(EntryId(id)) {
                *room -= inline;
                let is_whole = self.entry(view, index, &entry, room, keys);
                keys.sort_unstable();
                keys.dedup();
                if !is_whole {
                    return Taken::Of(id);
                }
                self.entries += 1;
            }
            *room = room.saturating_sub(1);
            (self.next, self.within) = (id + 1, None);
            if !keys.is_empty() {
                return Taken::Of(id);
            }
        }
        Taken::End
    }

    /// Keys of the next entry that are taken at once, about: all but those of big sets.
    /// An estimate before the keys are made: it decides whether the entry still fits into the piece.
    fn inline_keys(&self, view: ReadPoint<'_>, index: &AttributeIndex) -> usize {
        if self.within.is_some() || self.next >= view.shard.ids_end() {
            return 0;
        }
        let Some(entry) = view.entry(EntryId(self.next)) else { return 0 };
        let counts = index.held_slots(view, &entry).map(|(_, values)| match values {
            Values::Inline(values) => values.map(|value| cost(index.name.kind, value)).sum(),
            Values::Set(_) => 0,
        });
        counts.sum::<usize>() + entry.shape.class_values.len()
    }

    /// Takes an entry's keys. False if the rest of its sets is for another time.
    fn entry(
        &mut self,
        view: ReadPoint<'_>,
        index: &AttributeIndex,
        entry: &EntryRef<'_>,
        room: &mut usize,
        keys: &mut Vec<Key>,
    ) -> bool {
        let class_type = view.shard.schema.well_known().object_class;
        // Only sets are left for another piece, so inline values are taken first and once.
        let mut sets: Vec<(Description, ValueSet)> = Vec::new();
        if self.within.is_none() && class_type == index.name.attribute_type {
            keys.extend(index.name.kind.attribute_key());
            entry.shape.class_values.iter().for_each(|value| index.push_keys(view, value, keys));
        }
        for (slot, values) in index.held_slots(view, entry) {
            index.note_keys(slot.description, if matches!(values, Values::Set(_)) { 2 } else { 1 });
            match values {
                _ if index.name.kind.attribute_key().is_some() => keys.push(Key::Attribute),
                Values::Set(set) => sets.push((slot.description, set)),
                Values::Inline(_) if self.within.is_some() => {}
                Values::Inline(values) => values.for_each(|value| index.push_keys(view, value, keys)),
            }
        }
        // In an order that stays, whatever else becomes of the entry between two pieces.
        sets.sort_unstable_by_key(|(description, _)| *description);
        for (description, set) in sets {
            let mut position = match self.within.take() {
                Some((at, position)) if at > description => {
                    self.within = Some((at, position));
                    continue;
                }
                Some((at, position)) if at == description => position,
                _ => SetPosition::default(),
            };
            if !take_set(view, index, &set, &mut position, room, keys) {
                self.within = Some((description, position));
                return false;
            }
        }
        true
    }
}

/// Takes the keys of a big set, from a position on. False if the rest is for another time.
/// A leaf at a time, as long as there is room for one.
fn take_set(
    view: ReadPoint<'_>,
    index: &AttributeIndex,
    set: &ValueSet,
    position: &mut SetPosition,
    room: &mut usize,
    keys: &mut Vec<Key>,
) -> bool {
    loop {
        if *room < LEAF_VALUES_MAX {
            return false;
        }
        let mut count = 0;
        let more = view.set_values(set, position, |value| {
            index.push_keys(view, value, keys);
            count += cost(index.name.kind, value);
        });
        *room = room.saturating_sub(count);
        if !more {
            return true;
        }
    }
}

/// About how many keys a value makes, as long as they take.
fn cost(kind: IndexKind, value: &[u8]) -> usize {
    if kind.is_of_each_byte() { 1 + value.len() / EACH_BYTE_SHARE } else { 1 }
}
