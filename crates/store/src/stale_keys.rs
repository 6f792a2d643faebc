//! Index keys that an entry may have lost. When values leave a big set, only a walk through all of the set tells
//! whether another of its values has one of their keys too. Such keys are gathered until there are so many that the
//! walk costs no more than a few values per key, or until the set goes.
//!
//! They belong to the writer alone and are in no checkpoint: a restore makes all keys anew, so none is stale then. A key too many
//! costs searches a candidate that is verified and dropped.
//!
//! Equality keys need no walk: a set is ordered by their hashes.

use crate::deferred::Later;
use crate::index::key::Key;
use crate::record::Values;
use crate::shard::Writer;
use model::EntryId;
use std::collections::{BTreeMap, BTreeSet};

/// Keys of a set's values that are made for each key stale, at most.
const WALK_SHARE: u64 = 4;

/// By entry and number of the index: keys that may be too many.
#[derive(Default)]
pub(crate) struct StaleKeys {
    keys: BTreeMap<(u32, u16), BTreeSet<Key>>,
}

impl StaleKeys {
    /// An index was dropped.
    pub(crate) fn forget_index(&mut self, number: u16) {
        self.keys.retain(|(_, other), _| *other != number);
    }

    /// Was this key of an entry stale in an index?
    pub(crate) fn has(&self, number: u16, id: u32, key: Key) -> bool {
        self.keys.get(&(id, number)).is_some_and(|keys| keys.contains(&key))
    }

    /// Keys stale in an index. Looks at all entries that have some: for checks.
    pub(crate) fn of_index(&self, number: u16) -> u64 {
        self.keys.iter().filter(|((_, other), _)| *other == number).map(|(_, keys)| keys.len() as u64).sum()
    }
}

impl Writer<'_> {
    /// Notes a key that some value of a big set may still have, and looks for it if that is worth a walk.
    pub(crate) fn leave_stale(&mut self, number: u16, key: Key, id: u32, oldest: u64) {
        let in_sets = self.keys_in_sets(number, id);
        if in_sets == 0 {
            // Only a version that is about to pass has a set. Who drops a set for good drops what was stale.
            return self.later(Later::Key { index: number, key, id });
        }
        let keys = self.state.stale_keys.keys.entry((id, number)).or_default();
        keys.insert(key);
        if keys.len() as u64 * WALK_SHARE >= in_sets {
            self.walk_sets(number, id, oldest);
        }
    }

    /// A big set of an entry goes: what was stale is decided anew.
    pub(crate) fn drop_stale_keys(&mut self, number: u16, id: u32) {
        for key in self.state.stale_keys.keys.remove(&(id, number)).unwrap_or_default() {
            self.drop_key(number, key, id);
        }
    }

    /// Keys that a walk through the entry's sets would make, about: some kinds of index have one for each byte.
    fn keys_in_sets(&self, number: u16, id: u32) -> u64 {
        let view = self.view();
        let index = view.indexes().at(number);
        let Some(entry) = view.entry(EntryId(id)) else { return 0 };
        let keys = index.held_slots(view, &entry).map(|(_, values)| match values {
            Values::Inline(_) => 0,
            Values::Set(set) if index.name.kind.is_of_each_byte() => set.ber_bytes,
            Values::Set(set) => u64::from(set.count),
        });
        keys.sum()
    }

    /// Takes away all keys stale that no value has. The ordering tree is versioned, so only the newest version
    /// of the entry counts there; elsewhere all do that a reader may see.
    fn walk_sets(&mut self, number: u16, id: u32, oldest: u64) {
        let view = self.view();
        let index = view.indexes().at(number);
        let left = self.state.stale_keys.keys.remove(&(id, number)).unwrap_or_default();
        let (mut gone, mut unseen) = (left.clone(), left);
        if let Some(entry) = view.entry(EntryId(id)) {
            index.remove_held(view, &entry, &mut gone);
        }
        unseen.retain(|key| !matches!(key, Key::Prefix(_)) && gone.contains(key));
        self.any_version(id, oldest, |at, entry| {
            index.remove_held(at, entry, &mut unseen);
            unseen.is_empty()
        });
        for key in gone {
            match key {
                Key::Prefix(prefix) => _ = self.remove_prefix(number, prefix, id),
                key if unseen.contains(&key) => self.take_key(number, key, id),
                key => self.later(Later::Key { index: number, key, id }),
            }
        }
    }
}

#[cfg(test)]
mod tests;
