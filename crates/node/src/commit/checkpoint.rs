//! When a snapshot is due, and the checkpoint of the directory that it is made of.

use super::{Committer, Failed, Taken, replica};
use crate::faults;
use env::planted;
use store::Reader;

/// Bytes of log after which a snapshot is made: as many as the entries have, which is what it writes at most, but no less and
/// no more than this.
const SNAPSHOT_AFTER_MIN: u64 = 256 << 20;
const SNAPSHOT_AFTER_MAX: u64 = 1 << 30;

impl Committer {
    /// When the next snapshot by time is due, of the clock that steps are given: none while the last one holds everything.
    pub fn checkpoint_due_ms(&self) -> Option<u64> {
        let interval =
            self.snapshots.interval_ms().filter(|_| self.applied() > self.queue.status().snapshot())?;
        Some(self.checkpoint_ms?.saturating_add(interval))
    }

    /// Is there so much log that a snapshot should make it shorter, or was the last one made so long ago?
    pub fn is_checkpoint_due(&self) -> bool {
        if self.withholds() {
            return false;
        }
        if self.is_snapshot_needed() {
            return true;
        }
        if self.checkpoint_due_ms().is_some_and(|due| due <= self.now_ms) {
            return true;
        }
        self.replica.bytes_since_checkpoint > self.snapshot_after()
    }

    /// Bytes of log after which a snapshot is made, as things are.
    pub fn snapshot_after(&self) -> u64 {
        let usual = || self.dsa.shard().memory().segments.clamp(SNAPSHOT_AFTER_MIN, SNAPSHOT_AFTER_MAX);
        self.snapshots.after().unwrap_or_else(usual)
    }

    /// A checkpoint of what was applied so far, with the log synced up to there. `None` when there are too many readers,
    /// when the files of the log cannot have all of it yet, or, of a replica, when the copy of the settings cannot be written.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn checkpoint(&mut self) -> Result<Option<Taken>, Failed> {
        if self.withholds() || self.has_old_copy() {
            self.checkpoint_ms = Some(self.now_ms);
            return Ok(None);
        }
        if !self.log.flush().map_err(|poisoned| self.fail(Failed::Log(poisoned)))? {
            // It is tried again when the sync has ended.
            return Ok(None);
        }
        self.checkpoint_ms = Some(self.now_ms);
        let shard = self.dsa.shard();
        let Some(reader) = Reader::register(shard) else {
            tracing::warn!(
                "no snapshot is made: the limit of concurrent readers is reached; the log grows meanwhile"
            );
            return Ok(None);
        };
        self.replica.bytes_since_checkpoint = 0;
        assert!(
            self.replica.applied() <= self.log.durable() || replica::is_planted(),
            "a snapshot holds nothing that the log could lose"
        );
        let checkpoint = shard.writer().checkpoint(reader);
        let index = self.replica.applied();
        let mark = self.log.mark(index);
        if planted::is(faults::RELEASED_BEFORE_SNAPSHOT) {
            let _ = self.log.files().release(mark.record, &mut |_| Ok(()));
        }
        Ok(Some((self.replica.point(checkpoint, mark, &self.dsa), index)))
    }
}
