//! Which update of a transaction was the last about an entry.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// A table that has room for up to so many entries is kept, whatever was used of it.
const ENTRIES_MIN: usize = 64;
/// Another is kept that has room for up to so many times as many entries as were used.
const LARGER_MAX: usize = 32;

/// A table by id of an entry. It is asked once for each update of a transaction, nearly always for an entry that it does not have, and
/// emptied at the end.
#[derive(Debug, Default)]
pub(crate) struct LastOf {
    /// The id of an entry, and the position of the last update about it.
    last: HashTable<(u32, u32)>,
}

/// The place of an entry in the table: the position of the last update about it, if there is one.
pub(crate) struct Place<'t>(Entry<'t, (u32, u32)>, u32);

impl LastOf {
    /// The place of an entry.
    #[inline]
    pub(crate) fn find(&mut self, id: u32) -> Place<'_> {
        Place(self.last.entry(hash(id), |&(of, _)| of == id, |&(of, _)| hash(of)), id)
    }

    /// Forgets all. A table that was much too large for it is not kept: to empty it would cost each small transaction more
    /// than its own updates.
    pub(crate) fn clear(&mut self) {
        if self.last.is_empty() {
            return;
        }
        if self.last.capacity() > ENTRIES_MIN.max(self.last.len() * LARGER_MAX) {
            self.last = HashTable::new();
        }
        self.last.clear();
    }

    /// Bytes of memory that it keeps.
    pub(crate) fn capacity(&self) -> usize {
        self.last.allocation_size()
    }
}

impl Place<'_> {
    /// The position of the last update about the entry.
    #[inline]
    pub(crate) fn last(&self) -> Option<usize> {
        match &self.0 {
            Entry::Occupied(slot) => Some(slot.get().1 as usize),
            Entry::Vacant(_) => None,
        }
    }

    /// The last update about the entry is at `position`.
    #[inline]
    pub(crate) fn set(self, position: usize) {
        debug_assert!(u32::try_from(position).is_ok(), "a transaction has a limit");
        let last = (self.1, position as u32);
        match self.0 {
            Entry::Occupied(mut slot) => *slot.get_mut() = last,
            Entry::Vacant(slot) => _ = slot.insert(last),
        }
    }
}

/// Spreads ids, which the server chose, over all bits: the table uses the lowest and the uppermost.
#[inline]
fn hash(id: u32) -> u64 {
    let spread = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(ids in proptest::collection::vec(prop_oneof![0u32..300, any::<u32>()], 0..2000), clear_at in 0usize..2000) {
            let (mut table, mut model) = (LastOf::default(), BTreeMap::new());
            for (position, id) in ids.into_iter().enumerate() {
                if position == clear_at {
                    table.clear();
                    model.clear();
                }
                let place = table.find(id);
                prop_assert_eq!(place.last(), model.get(&id).copied());
                // A caller that cannot make use of the last leaves the table as it is.
                if position % 7 != 0 {
                    place.set(position);
                    model.insert(id, position);
                }
            }
            prop_assert_eq!(table.last.len(), model.len());
            table.clear();
            prop_assert!(table.last.is_empty());
        }
    }
}
