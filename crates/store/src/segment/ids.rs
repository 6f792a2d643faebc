//! Ids of the heap's objects: which come next and which may be used again.
//!
//! Entries and nodes have ids of their own. Those of entries are seen from outside, since an entryUUID is made of one,
//! so where commands are logged every replica must make the same choice: the choice is the smallest free id, and follows from
//! the set alone. Ids of nodes are nobody's business; they take the same way because it is there.
//!
//! An id below `next` is in one of four states: of an object, dead (an entry was deleted, and the log has not freed its
//! id yet), reserved, or free. Only the last two have a set here; an object shows in its slot, and the dead ids are in
//! [`crate::given::DeadIds`]. All of it is the writer's.

use super::{Heap, HeapFull, HeapWriter};
use crate::sync::{Ordering, Words};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// Ids of one kind of object.
#[derive(Default)]
pub(crate) struct Ids {
    /// Ids from here on were never handed out. 0 is never one: it stands for no entry.
    next: u32,
    free: IdBits,
    /// No id reaches this: slots are reserved for so many.
    max: u32,
    /// Those that were reserved for commands which are not applied yet.
    reserved: IdBits,
    /// What new objects must take, if it is not for the heap to choose.
    given: Option<VecDeque<u32>>,
}

impl Ids {
    pub(super) fn new(max: usize) -> Ids {
        Ids { next: 1, max: max as u32 - 1, ..Ids::default() }
    }

    /// The id of a new object. Where ids are given, a command that needs more than it brought is refused: ids that the
    /// shard chose itself would not be the same on every replica.
    pub(crate) fn allocate(&mut self) -> Result<u32, HeapFull> {
        match &mut self.given {
            None => self.choose(),
            Some(given) => given.pop_front().ok_or(HeapFull),
        }
    }

    /// The smallest id that is free: so the choice follows from which are, however they became it.
    fn choose(&mut self) -> Result<u32, HeapFull> {
        if let Some(id) = self.free.pop_first() {
            return Ok(id);
        }
        // It may be greater after a restore with less memory than the checkpoint was written with: slots are reserved in
        // whole pages, so there may be some for ids beyond the bound.
        if self.next >= self.max {
            return Err(HeapFull);
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    /// An id that has no object any more, or never got one.
    pub(crate) fn free(&mut self, id: u32) {
        assert!(id != 0 && id < self.next, "an id that is freed was handed out");
        assert!(self.free.insert(id), "an id is freed once");
    }

    /// Those handed out are below this.
    pub(crate) fn end(&self) -> u32 {
        self.next
    }

    /// Free ids below [`Ids::end`], ascending.
    pub(crate) fn freed(&self) -> impl Iterator<Item = u32> {
        self.free.iter()
    }

    /// Appends `count` ids that no entry has and that nobody else is given until they come back.
    pub(crate) fn reserve(&mut self, count: usize, out: &mut Vec<u32>) -> Result<(), HeapFull> {
        let begin = out.len();
        for _ in 0..count {
            match self.choose() {
                Ok(id) => {
                    assert!(self.reserved.insert(id), "an id is reserved once");
                    out.push(id);
                }
                Err(full) => {
                    self.give_back(&out[begin..]);
                    out.truncate(begin);
                    return Err(full);
                }
            }
        }
        Ok(())
    }

    /// Gives back ids that were reserved or given, and not used. Without this they would stay away from every later add
    /// until the next start.
    pub(crate) fn give_back(&mut self, ids: &[u32]) {
        for id in ids {
            self.reserved.remove(*id);
            self.free(*id);
        }
    }

    /// Can this be the id of an entry at all?
    pub(crate) fn is_id(&self, id: u32) -> bool {
        id != 0 && id < self.max
    }

    /// Is this id reserved, or free for any command to bring? Not reserved by whom: a record of another leader may bring
    /// an id that this replica reserved for a command that was lost.
    pub(crate) fn may_be_given(&self, id: u32) -> bool {
        id >= self.next || self.reserved.has(id) || self.free.has(id)
    }

    /// New entries take these ids, in this order, until [`Ids::end_given`]. No object has any of them. Those that are
    /// passed over are free if `notes_gaps`; else they are to be found later.
    pub(crate) fn give(&mut self, ids: &[u32], notes_gaps: bool) {
        assert!(self.given.as_ref().is_none_or(VecDeque::is_empty), "ids that were given are taken or ended");
        for &id in ids {
            self.reserved.remove(id);
            self.free.remove(id);
            if id >= self.next {
                if notes_gaps {
                    (self.next..id).for_each(|id| _ = self.free.insert(id));
                }
                self.next = id + 1;
            }
        }
        let given = self.given.get_or_insert_default();
        given.clear();
        given.extend(ids);
    }

    /// The heap chooses again. Given ids that no entry took are free.
    pub(crate) fn end_given(&mut self) {
        let unused: Vec<u32> = self.given.take().into_iter().flatten().collect();
        self.give_back(&unused);
    }

    /// Notes which are handed out and which are free: those of empty slots, but for some that are kept back.
    fn adopt(&mut self, slots: &Words, end: u32, is_kept: impl Fn(u32) -> bool) {
        self.next = end;
        self.free = IdBits::default();
        for id in 1..end {
            let is_empty = slots[id as usize].load(Ordering::Relaxed) == 0;
            if is_empty && !self.reserved.has(id) && !is_kept(id) {
                self.free.insert(id);
            }
        }
    }
}

/// A set of ids, those of 64 in a word. A tree and no flat array: mostly few ids are free, and then they are far apart;
/// after a great delete most of them are, and a word for 64 keeps that small.
#[derive(Default)]
struct IdBits {
    words: BTreeMap<u32, u64>,
}

impl IdBits {
    /// Says whether it was not there.
    fn insert(&mut self, id: u32) -> bool {
        let (word, bit) = (self.words.entry(id / 64).or_default(), 1 << (id % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn remove(&mut self, id: u32) {
        if let Entry::Occupied(mut word) = self.words.entry(id / 64) {
            *word.get_mut() &= !(1 << (id % 64));
            if *word.get() == 0 {
                word.remove();
            }
        }
    }

    fn has(&self, id: u32) -> bool {
        self.words.get(&(id / 64)).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    fn pop_first(&mut self) -> Option<u32> {
        let mut word = self.words.first_entry()?;
        assert!(*word.get() != 0, "a word without a bit is removed");
        let id = word.key() * 64 + word.get().trailing_zeros();
        *word.get_mut() &= word.get() - 1;
        if *word.get() == 0 {
            word.remove();
        }
        Some(id)
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().flat_map(|(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        })
    }
}

impl Heap {
    /// Has an entry this id, or does anything of one that was deleted still lie there?
    pub(crate) fn has_object(&self, id: u32) -> bool {
        self.slots[id as usize].load(Ordering::Relaxed) != 0
    }

    /// Finds out which ids of entries are free, after ids were given that the heap had not reserved. Looks at every slot
    /// up to the highest id, so it is for the end of a replay and not for a command.
    pub(crate) fn find_free_ids(&self, writer: &mut HeapWriter) {
        let end = writer.ids.next;
        writer.ids.adopt(&self.slots, end, |_| false);
    }

    /// Notes which ids are handed out and which are free: those of empty slots, but for entries' that are `dead`.
    pub(crate) fn adopt_ids(
        &self,
        writer: &mut HeapWriter,
        (ids_end, nodes_end): (u32, u32),
        dead: impl Iterator<Item = u32>,
    ) {
        let mut kept = IdBits::default();
        dead.for_each(|id| _ = kept.insert(id));
        writer.ids.adopt(&self.slots, ids_end, |id| kept.has(id));
        writer.node_ids.adopt(&self.node_slots, nodes_end, |_| false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_id_follows_one_beyond_the_bound() {
        let mut ids = Ids::new(10);
        ids.next = 12;
        assert_eq!(ids.choose(), Err(HeapFull));
        ids.free(11);
        assert_eq!((ids.choose(), ids.choose()), (Ok(11), Err(HeapFull)));
    }

    proptest! {
        #[test]
        fn bits_are_a_set(steps in prop::collection::vec((any::<bool>(), 1..300u32), 0..200)) {
            let (mut bits, mut set) = (IdBits::default(), BTreeSet::new());
            for (inserts, id) in steps {
                if inserts {
                    bits.insert(id);
                    set.insert(id);
                } else {
                    bits.remove(id);
                    set.remove(&id);
                }
                prop_assert!(bits.has(id) == set.contains(&id) && bits.iter().eq(set.iter().copied()));
            }
            while let Some(id) = set.pop_first() {
                prop_assert_eq!(bits.pop_first(), Some(id));
            }
            prop_assert_eq!(bits.pop_first(), None);
        }
    }
}
