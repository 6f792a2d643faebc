//! Ids of new entries as a part of commands. An id is seen from outside, for an entryUUID is made of it, so where commands
//! are logged, the ids that a command may need are reserved before it goes to the log and are given to it whenever it is
//! applied, now or at a recovery.
//!
//! Which ids are free must not depend on readers either, or on which indexes there are: those of deleted entries are dead until the
//! log says that they are free ([`Writer::free_before`]). What is physically left of a deleted entry, its removals from indexes
//! and its tombstone, goes when no reader needs it; that is done at the latest when its id is given again.

use crate::deferred::Later;
use crate::faults;
use crate::refused::Refused;
use crate::shard::Writer;
use env::planted;
use std::collections::VecDeque;

/// Ids of deleted entries that no command may bring yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadIds {
    /// Index of the record of the log that is applied. None where no log says when ids are free: they are as soon as no
    /// reader needs their entries.
    pub(crate) at: Option<u64>,
    /// Id and index of the record that deleted the entry, in the order of the deletes: indexes ascend.
    pub(crate) queue: VecDeque<(u32, u64)>,
    /// How many of the queue, from its front on, were forgotten.
    forgotten: usize,
}

impl DeadIds {
    /// Those of a checkpoint: all of them are forgotten.
    pub(crate) fn restored(at: Option<u64>, queue: VecDeque<(u32, u64)>) -> DeadIds {
        assert!(at.is_some() || queue.is_empty(), "without a log no id waits for one");
        DeadIds { at, forgotten: queue.len(), queue }
    }

    /// Were all of them forgotten that records with a smaller index deleted?
    fn is_forgotten_before(&self, index: u64) -> bool {
        self.queue.get(self.forgotten).is_none_or(|(_, at)| *at >= index)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.queue.iter().map(|(id, _)| *id)
    }

    /// Whether no more are forgotten than are dead, and those of the log were deleted by records of it.
    pub(crate) fn are_counted(&self) -> bool {
        self.forgotten <= self.queue.len() && (self.at.is_some() || self.queue.is_empty())
    }
}

impl Writer<'_> {
    /// What is applied from now on is the record of the log with this index: ids of entries that it deletes are free when
    /// [`Writer::free_before`] says so, and no sooner. To be called for each record, in ascending order. The first time, all ids
    /// that no entry has are free.
    pub fn at_index(&mut self, index: u64) {
        if self.state.dead.at.is_none() {
            self.find_free_ids();
        }
        assert!(self.state.dead.at.is_none_or(|at| at < index), "records come in their order");
        self.state.dead.at = Some(index);
    }

    /// That of the last [`Writer::at_index`], also of the run that wrote the checkpoint which this shard comes from.
    pub fn index(&self) -> Option<u64> {
        self.state.dead.at
    }

    /// The ids of entries that records with a smaller index deleted are free from now on. What is left of these entries goes
    /// first.
    ///
    /// # Errors
    /// The first id of an entry that a reader may still look at: nothing is free then. With [`Writer::forgotten_up_to`] of this very
    /// shard it never happens.
    pub fn free_before(&mut self, index: u64) -> Result<(), u32> {
        if planted::is_at_replay(faults::FREE_SET_DIFFERS) {
            return Ok(());
        }
        let can_free = self.can_free_before(index);
        let state = &mut *self.state;
        let dead = &mut state.dead;
        if !can_free {
            return Err(dead.queue[dead.forgotten].0);
        }
        let count = dead.queue.iter().take_while(|(_, at)| *at < index).count();
        assert!(dead.forgotten <= dead.queue.len(), "what is forgotten was dead");
        dead.forgotten -= count;
        dead.queue.drain(..count).for_each(|(id, _)| state.heap.ids.free(id));
        Ok(())
    }

    /// Does no reader look any more at entries that records with a smaller index deleted? What is left of these entries goes first. Else
    /// [`Writer::free_before`] fails.
    pub fn can_free_before(&mut self, index: u64) -> bool {
        if !planted::is_at_replay(faults::ID_TAKEN) {
            self.drain_until(|writer| writer.state.dead.is_forgotten_before(index));
        }
        self.state.dead.is_forgotten_before(index)
    }

    /// Of records with a smaller index than this nothing is left that they deleted: a later record may free these ids. It never
    /// goes back, and is 0 before the first [`Writer::at_index`].
    pub fn forgotten_up_to(&self) -> u64 {
        let dead = &self.state.dead;
        match dead.queue.get(dead.forgotten) {
            Some((_, index)) => *index,
            None => dead.at.map_or(0, |at| at + 1),
        }
    }

    /// Ids of deleted entries that are not free yet.
    pub fn dead_ids_len(&self) -> usize {
        self.state.dead.queue.len()
    }

    /// The ids that a command may bring, ascending, but for those beyond all that are in use, dead or reserved, which are free
    /// too. It is the same wherever the same was applied, as long as nothing is reserved.
    pub fn free_ids(&self) -> Vec<u32> {
        let writer = &self.state.heap;
        let mut free: Vec<u32> = writer.ids.freed().collect();
        let mut end = writer.ids.end();
        while free.last().is_some_and(|last| last + 1 == end) {
            free.pop();
            end -= 1;
        }
        free
    }

    /// An entry with this id was deleted, or could not be stored: its id is free when nobody needs it.
    pub(crate) fn mark_dead(&mut self, id: u32) {
        let dead = &mut self.state.dead;
        if let Some(index) = dead.at {
            let is_next = dead.queue.back().is_none_or(|(_, before)| *before <= index);
            assert!(is_next, "ids die in the order of the records");
            dead.queue.push_back((id, index));
        }
        self.later(Later::Forget(id));
    }

    /// Nobody looks at a deleted entry any more.
    pub(crate) fn forget(&mut self, id: u32) {
        let state = &mut *self.state;
        self.shard.heap.forget(&mut state.heap, id);
        // They are forgotten in the order in which they were deleted, after those that no record of the log deleted.
        match state.dead.queue.get(state.dead.forgotten) {
            Some((dead, _)) if *dead == id => state.dead.forgotten += 1,
            _ => state.heap.ids.free(id),
        }
    }

    /// Appends `count` ids that no other entry will get, for a command that is applied later.
    ///
    /// # Errors
    /// When there are no more; nothing is appended then.
    pub fn reserve_ids(&mut self, count: usize, out: &mut Vec<u32>) -> Result<(), Refused> {
        self.state.heap.ids.reserve(count, out).map_err(|_| self.shard.limit_reached())
    }

    /// Gives back ids that were reserved for a command that is not applied.
    pub fn return_ids(&mut self, ids: &[u32]) {
        self.state.heap.ids.give_back(ids);
    }

    /// Entries that are added from now on, also in later batches, take these ids in this order, and an add without one
    /// left is refused, until [`Writer::end_given_ids`]. Where something is left of a deleted entry that had one of them, it goes
    /// first, with all removals that were put off before it.
    ///
    /// # Errors
    /// An id that cannot be that of a new entry: another has it, the log did not say that it is free, or a reader may still look at
    /// the deleted entry that had it. Nothing was given then.
    pub fn give_ids(&mut self, ids: &[u32]) -> Result<(), u32> {
        let (heap, is_listed) = (&self.shard.heap, self.state.dead.at.is_some());
        for &id in ids {
            if !self.state.heap.ids.is_id(id) {
                return Err(id);
            }
            if heap.has_object(id) && !planted::is_at_replay(faults::ID_TAKEN) {
                self.drain_until(|_| !heap.has_object(id));
            }
            let is_dead = is_listed && !self.state.heap.ids.may_be_given(id);
            if heap.has_object(id) || is_dead {
                return Err(id);
            }
        }
        self.state.heap.ids.give(ids, is_listed);
        Ok(())
    }

    /// The shard chooses ids itself again, also those that were given and that no entry took.
    pub fn end_given_ids(&mut self) {
        self.state.heap.ids.end_given();
    }

    /// Finds out which ids are free; to be called once when commands with ids that this shard never reserved, those of
    /// an earlier run, were applied. Where the log says which ids are free ([`Writer::at_index`]) there is nothing to find.
    pub fn find_free_ids(&mut self) {
        if self.state.dead.at.is_none() {
            self.drain_until(|_| false);
            self.shard.heap.find_free_ids(&mut self.state.heap);
        }
    }
}
