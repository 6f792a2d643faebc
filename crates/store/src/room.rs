//! How much room there is; and making room on demand, for who keeps a memory limit of its own.

use crate::shard::{Settings, Shard, Writer};

/// Share of dead bytes that is left, in percent, and bytes that are moved at most.
const SLACK_PERCENT: u64 = 5;
const CLEAN_BYTES: usize = 2 << 20;

impl Settings {
    /// Entries that tables get address space for.
    pub(crate) fn entries_max(&self) -> usize {
        (self.memory_bytes_max as usize / 32).clamp(1 << 16, 1 << 31)
    }
}

impl Shard {
    /// Entries that tables have address space for.
    pub(crate) fn entries_max(&self) -> usize {
        self.settings.entries_max()
    }
}

impl Writer<'_> {
    /// Cleans for a moment, publishes, and brings the memory report up to date.
    pub fn make_room(mut self) {
        let (heap, readers) = (&self.shard.heap, &self.shard.readers);
        heap.clean(&mut self.state.heap, readers, SLACK_PERCENT, CLEAN_BYTES);
        self.publish_batch();
        self.measure();
    }
}
