//! Counts of bytes, segment by segment and of the whole heap. They decide which segment is emptied next and when memory
//! is short, so a wrong one shows late and far away: each change asserts what it takes for granted, and
//! [`HeapWriter::invariants`] compares the sums after each publication.

use super::{FIRST, HeapWriter, SEGMENT};

/// What is known of one segment.
#[derive(Clone, Copy, Default)]
pub(super) struct Account {
    /// Bytes of objects that are the newest of their id. A removed object counts until its id is forgotten.
    pub(super) live: u32,
    /// Bytes written, the header of the segment included; of a run those of its one object.
    pub(super) used: u32,
    /// Sequence at which an object in it last died: older readers may still need it.
    pub(super) last_death: u64,
    /// Segments of the run that begins here; 0 for the tail of a run or a free segment.
    pub(super) run: u32,
    /// It is free, and its pages are the kernel's.
    pub(super) is_released: bool,
    /// Which of all segments ever begun it is: a number is used again, this never.
    pub(super) serial: u64,
}

impl Account {
    /// Whether nothing lies here: it was never begun, or was retired.
    pub(super) fn is_empty(&self) -> bool {
        self.run == 0 && self.live == 0
    }
}

impl HeapWriter {
    /// An object of `len` bytes is no longer the newest of its id, from `sequence` on. 0 stands for no reader: a copy
    /// was made by the cleaner, or nobody could see the object any more.
    #[inline]
    pub(super) fn mark_dead(&mut self, address: usize, len: u32, sequence: u64) {
        let account = &mut self.accounts[address / SEGMENT];
        assert!(account.live >= len, "an object dies once");
        account.live -= len;
        account.last_death = account.last_death.max(sequence);
        self.live -= u64::from(len);
    }

    /// Panics if the counts of bytes contradict each other. Takes constant time; for after each publish.
    pub(crate) fn invariants(&self) {
        assert!(self.live <= self.used, "what is alive was written");
        assert!(self.used <= self.bytes_used(), "what was written lies in segments that are not free");
        let current = &self.accounts[self.current];
        assert!(current.live <= current.used, "what is alive in a segment was written there");
    }

    /// Panics if the lists of segments contradict each other. Takes constant time; for after a change of them.
    pub(super) fn segment_invariants(&self) {
        assert!(self.moved <= self.appended, "the cleaner appends what it moves");
        let idle = self.free.len() + self.retired.len() + self.held.len();
        assert!(idle <= self.accounts.len(), "no segment is free twice");
        assert!(self.free_low <= self.free.len(), "so many segments stayed free");
        assert!(
            self.current < self.accounts.len() && self.offset >= FIRST,
            "a segment that was begun is filled"
        );
        let is_other = |(victim, _): (usize, usize)| victim != self.current;
        assert!(self.cleaning.is_none_or(is_other), "the segment that is filled is not emptied");
    }

    /// Bytes of segments that hold objects, dead ones included: what counts under the memory limit. Emptied segments that
    /// wait for readers or checkpoints count too, since nothing can be written there yet.
    pub(crate) fn bytes_used(&self) -> u64 {
        (self.accounts.len() - self.free.len()) as u64 * SEGMENT as u64
    }

    /// Bytes of the newest versions of all objects.
    pub(crate) fn bytes_live(&self) -> u64 {
        self.live
    }

    /// Bytes of segments that a new version of any object takes at most, if it does not grow.
    pub(crate) fn bytes_of_longest(&self) -> u64 {
        (self.longest * SEGMENT) as u64
    }

    /// Bytes of slots in use, and of counts of nodes: of these as many as there may be.
    pub(crate) fn bytes_slots(&self) -> u64 {
        (u64::from(self.ids.end()) + 2 * u64::from(self.node_ids.end())) * 8
    }
}
