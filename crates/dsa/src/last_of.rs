//! Which update of a transaction was the last about an entry.

/// Slots of the first table.
const SLOTS_MIN: usize = 64;
/// A table is kept that has up to so many times as many slots as were used.
const LARGER_MAX: usize = 32;

/// A table by id of an entry: open addressing with linear probing, at most half full. It is asked once for each update of a
/// transaction, nearly always for an entry that it does not have, and emptied at the end.
#[derive(Debug, Default)]
pub(crate) struct LastOf {
    /// A power of two of them, or none: position of the update plus one in the lower half, id in the upper; 0 is free.
    slots: Vec<u64>,
    used: usize,
}

/// A slot of the table, to be used before anything else is found or cleared.
#[derive(Debug)]
pub(crate) struct Place(usize);

impl LastOf {
    /// The place of an entry, and the position of the last update about it.
    #[inline]
    pub(crate) fn find(&mut self, id: u32) -> (Place, Option<usize>) {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = Self::hash(id) & mask;
        loop {
            match self.slots[at] {
                0 => return (Place(at), None),
                slot if (slot >> 32) as u32 == id => return (Place(at), Some(slot as u32 as usize - 1)),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The last update about an entry, whose place that is, is at `position`.
    #[inline]
    pub(crate) fn set(&mut self, place: Place, id: u32, position: usize) {
        debug_assert!(position < u32::MAX as usize, "a transaction has a limit");
        let slot = &mut self.slots[place.0];
        self.used += usize::from(*slot == 0);
        *slot = u64::from(id) << 32 | (position as u64 + 1);
    }

    /// Forgets all. A table that was much too large for it is not kept: to empty it would cost each small transaction more
    /// than its own updates.
    pub(crate) fn clear(&mut self) {
        match self.used {
            0 => return,
            used if self.slots.len() > SLOTS_MIN.max(used * LARGER_MAX) => self.slots = Vec::new(),
            _ => self.slots.fill(0),
        }
        self.used = 0;
    }

    /// Bytes of memory that it keeps.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    /// Spreads ids, which the server chose.
    #[inline]
    fn hash(id: u32) -> usize {
        (u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        for slot in std::mem::replace(&mut self.slots, vec![0; slots]) {
            if slot != 0 {
                let mut at = Self::hash((slot >> 32) as u32) & (slots - 1);
                while self.slots[at] != 0 {
                    at = (at + 1) & (slots - 1);
                }
                self.slots[at] = slot;
            }
        }
    }
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
                let (place, last) = table.find(id);
                prop_assert_eq!(last, model.get(&id).copied());
                // A caller that cannot make use of the last leaves the table as it is.
                if position % 7 != 0 {
                    table.set(place, id, position);
                    model.insert(id, position);
                }
            }
            prop_assert!(table.used == model.len() && table.used * 2 <= table.slots.len());
        }
    }
}
