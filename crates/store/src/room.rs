//! Making room on demand, for who keeps a memory limit of its own.

use crate::shard::Writer;

/// Share of dead bytes that is left, in percent, and bytes that are moved at most.
const SLACK_PERCENT: u64 = 5;
const CLEAN_BYTES: usize = 2 << 20;

impl Writer<'_> {
    /// Cleans for a moment, publishes, and brings the memory report up to date.
    pub fn make_room(mut self) {
        let (heap, readers) = (&self.shard.heap, &self.shard.readers);
        heap.clean(&mut self.state.heap, readers, SLACK_PERCENT, CLEAN_BYTES);
        self.publish_batch();
        self.measure();
    }
}
