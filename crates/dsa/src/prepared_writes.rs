//! Updates that are ready to be installed (prepared writes), in the order of their messages.
//!
//! All of them share one buffer, which is kept by the thread or the session: preparing an update allocates nothing once the buffer
//! has grown. A prepared write is a range of that buffer and what it was made from.

use crate::last_of::LastOf;
use store::{DnCache, Known, PreparedWrite, ReadPoint, Replacement};

/// Updates that are ready to be installed, with what they are made of.
#[derive(Debug, Default)]
pub(crate) struct PreparedWrites {
    /// One for each update; `None` for one that the writer must look at.
    ready: Vec<Option<PreparedWrite>>,
    bytes: Vec<u8>,
    /// Which update of a transaction prepared an entry last.
    last_of: LastOf,
    /// Bytes of the entries that a transaction's updates looked at and made, as an overlay counts them: an entry that is looked
    /// at is about as long as its next version.
    entry_bytes: u64,
}

impl PreparedWrites {
    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.ready.clear();
        self.bytes.clear();
        self.entry_bytes = 0;
        self.forget();
    }

    /// Bytes of entries that the updates of a transaction looked at and made.
    pub(crate) fn entry_bytes(&self) -> u64 {
        self.entry_bytes
    }

    /// Bytes of the prepared writes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Updates that there is a prepared write of, or that have none.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    /// What was prepared for each update of a group, in their order.
    /// `None` of one that has to be worked out in the writer's role.
    pub(crate) fn ready(&self) -> &[Option<PreparedWrite>] {
        &self.ready
    }

    /// The updates, and the bytes that theirs are made of.
    pub(crate) fn parts(&mut self) -> (&[Option<PreparedWrite>], &mut [u8]) {
        (&self.ready, &mut self.bytes)
    }

    /// Prepares a modify of a transaction, which is its update number `at`: on top of the prepared write of an earlier one if there is one of
    /// the same entry. `None`, and nothing done, if it cannot be prepared.
    /// A transaction's updates see those before them. So a second one of the same entry is made from the first one's bytes, and takes its
    /// place: only the last of an entry is installed.
    #[inline]
    pub(crate) fn prepare_member(
        &mut self,
        read_point: ReadPoint<'_>,
        known: &Known<'_>,
        replacements: &[Replacement<'_>],
        cache: &mut DnCache,
        at: usize,
    ) -> Option<()> {
        let mut ready = read_point
            .prepare(known, replacements, cache, &mut self.bytes)
            .or_else(|| read_point.prepare_as_seen(known, replacements, cache, &mut self.bytes))?;
        let id = ready.id().0;
        assert!(at <= self.ready.len(), "updates are prepared in their order, or anew");
        assert!(ready.range().end <= self.bytes.len(), "a prepared write lies in the buffer");
        let place = self.last_of.find(id);
        let last = place.last();
        if let Some(last) = last {
            self.bytes.truncate(ready.range().start);
            ready = read_point.prepare_after(self.ready[last].as_mut()?, replacements, &mut self.bytes)?;
        }
        self.entry_bytes += ready.range().len() as u64 * if last.is_none() { 2 } else { 1 };
        place.set(at);
        match self.ready.get_mut(at) {
            None => self.ready.push(Some(ready)),
            Some(former) => *former = Some(ready),
        }
        Some(())
    }

    /// Forgets which entries were prepared: what is prepared next is made of what is in the directory.
    pub(crate) fn forget(&mut self) {
        self.last_of.clear();
    }

    /// Adds the prepared writes of the next `count` updates: what `prepare` makes of each, appending to the bytes.
    #[inline]
    pub(crate) fn push_each(
        &mut self,
        count: usize,
        mut prepare: impl FnMut(usize, &mut Vec<u8>) -> Option<PreparedWrite>,
    ) {
        assert!(self.entry_bytes == 0, "updates are prepared alone, or as members of a transaction");
        let PreparedWrites { ready, bytes, .. } = self;
        // What cannot be prepared may have appended something: nothing refers to it, and the buffer is cleared as a whole.
        ready.extend((0..count).map(|at| prepare(at, bytes)));
    }

    /// Says that the next `count` updates have no prepared write.
    pub(crate) fn push_nones(&mut self, count: usize) {
        self.ready.resize(self.ready.len() + count, None);
    }

    /// Bytes of memory that it keeps.
    pub(crate) fn capacity(&self) -> usize {
        let ready = self.ready.capacity() * size_of::<Option<PreparedWrite>>();
        self.bytes.capacity() + ready + self.last_of.capacity()
    }
}
