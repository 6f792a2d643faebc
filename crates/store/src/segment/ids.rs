//! Ids of the heap's objects: which come next and which may be used again.

use super::{Heap, HeapFull, HeapWriter};
use crate::sync::{Ordering, Words};
use std::collections::VecDeque;

/// Ids of one kind of object.
pub(super) struct Ids {
    next: u32,
    free: Vec<u32>,
    max: u32,
    /// What new objects must take, if it is not for the heap to choose.
    given: Option<VecDeque<u32>>,
}

impl Ids {
    pub(super) fn new(max: usize) -> Ids {
        Ids { next: 1, free: vec![], max: max as u32 - 1, given: None }
    }

    pub(super) fn allocate(&mut self) -> Result<u32, HeapFull> {
        match &mut self.given {
            None => self.choose(),
            Some(given) => given.pop_front().ok_or(HeapFull),
        }
    }

    fn choose(&mut self) -> Result<u32, HeapFull> {
        if let Some(id) = self.free.pop() {
            return Ok(id);
        }
        if self.next == self.max {
            return Err(HeapFull);
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    pub(super) fn free(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Those handed out are below this.
    pub(super) fn end(&self) -> u32 {
        self.next
    }

    pub(super) fn freed(&self) -> &[u32] {
        &self.free
    }

    /// Notes which are handed out and which are free: those of empty slots.
    fn adopt(&mut self, slots: &Words, end: u32) {
        let is_free = |id: &u32| slots[*id as usize].load(Ordering::Relaxed) == 0;
        (self.next, self.free) = (end, (1..end).rev().filter(is_free).collect());
    }
}

impl Heap {
    /// Appends `count` ids that no entry has and that nobody else is given until they come back.
    pub(crate) fn reserve_ids(
        &self,
        writer: &mut HeapWriter,
        count: usize,
        out: &mut Vec<u32>,
    ) -> Result<(), HeapFull> {
        let begin = out.len();
        for _ in 0..count {
            match writer.ids.choose() {
                Ok(id) => out.push(id),
                Err(full) => {
                    out.drain(begin..).for_each(|id| writer.ids.free(id));
                    return Err(full);
                }
            }
        }
        Ok(())
    }

    /// Gives back ids that were reserved and not used.
    pub(crate) fn return_ids(&self, writer: &mut HeapWriter, ids: &[u32]) {
        // The first is the next one to be used again.
        ids.iter().rev().for_each(|id| writer.ids.free(*id));
    }

    /// New entries take these ids, in this order, until [`Heap::end_given_ids`]. The first that an entry has, or that
    /// cannot be, if there is one: then nothing was done.
    pub(crate) fn give_ids(&self, writer: &mut HeapWriter, ids: &[u32]) -> Result<(), u32> {
        let is_empty = |id: &u32| self.slots[*id as usize].load(Ordering::Relaxed) == 0;
        let can_be = |id: &&u32| **id != 0 && **id < writer.ids.max && is_empty(id);
        if let Some(wrong) = ids.iter().find(|id| !can_be(id)) {
            return Err(*wrong);
        }
        let end = ids.iter().max().map_or(0, |last| last + 1);
        writer.ids.next = writer.ids.next.max(end);
        let given = writer.ids.given.get_or_insert_default();
        given.clear();
        given.extend(ids);
        Ok(())
    }

    /// Appends the given ids that no entry took; the heap chooses again.
    pub(crate) fn end_given_ids(&self, writer: &mut HeapWriter, unused: &mut Vec<u32>) {
        unused.extend(writer.ids.given.take().into_iter().flatten());
    }

    /// Finds out which ids of entries are free, after ids were given that the heap had not reserved.
    pub(crate) fn find_free_ids(&self, writer: &mut HeapWriter) {
        let end = writer.ids.next;
        writer.ids.adopt(&self.slots, end);
    }

    /// Notes which ids are handed out and which are free: those of empty slots.
    pub(crate) fn adopt_ids(&self, writer: &mut HeapWriter, ids_end: u32, nodes_end: u32) {
        writer.ids.adopt(&self.slots, ids_end);
        writer.node_ids.adopt(&self.node_slots, nodes_end);
    }
}
