//! Ids of new entries as a part of commands. An id is seen from outside, for an entryUUID is made of it, and which ids
//! are free depends on readers: so where commands are logged, the ids that a command may need are reserved before it
//! goes to the log and are given to it whenever it is carried out, now or at a recovery.

use crate::refused::Refused;
use crate::shard::Writer;

impl Writer<'_> {
    /// Appends `count` ids that no other entry will get, for a command that is carried out later.
    ///
    /// # Errors
    /// When there are no more; nothing is appended then.
    pub fn reserve_ids(&mut self, count: usize, out: &mut Vec<u32>) -> Result<(), Refused> {
        let full = Refused::MemoryLimit { bytes_max: self.shard.settings.memory_bytes_max };
        self.shard.heap.reserve_ids(&mut self.state.heap, count, out).map_err(|_| full)
    }

    /// Gives back ids that were reserved for a command that is not carried out.
    pub fn return_ids(&mut self, ids: &[u32]) {
        self.shard.heap.return_ids(&mut self.state.heap, ids);
    }

    /// Entries that are added from now on, also in later batches, take these ids in this order, and an add without one
    /// left is refused, until [`Writer::end_given_ids`].
    ///
    /// # Errors
    /// An id that cannot be that of a new entry; nothing was done then.
    pub fn give_ids(&mut self, ids: &[u32]) -> Result<(), u32> {
        self.shard.heap.give_ids(&mut self.state.heap, ids)
    }

    /// The shard chooses ids itself again, also those that were given and that no entry took.
    pub fn end_given_ids(&mut self) {
        let mut unused = Vec::new();
        self.shard.heap.end_given_ids(&mut self.state.heap, &mut unused);
        self.return_ids(&unused);
    }

    /// Finds out which ids are free; to be called once when commands with ids that this shard never reserved, those of
    /// an earlier run, were carried out.
    pub fn find_free_ids(&mut self) {
        self.shard.heap.find_free_ids(&mut self.state.heap);
    }
}
