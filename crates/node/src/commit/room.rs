//! Memory for what is to be logged. It is judged before: what is in the log is applied, whatever memory that takes.

use dsa::journal::Updates;
use store::{Shard, memory_bytes_end};

/// Memory as one step finds it.
pub(super) struct Room<'s> {
    shard: &'s Shard,
    /// Beyond this no adds are taken.
    bytes_max: u64,
    /// Bytes that the directory takes.
    used: u64,
    /// Bytes by which it grows at most when what is logged is applied.
    promised: u64,
    /// Bytes above which cleaning did not help in this step: it is not tried again for them.
    refused_at: u64,
}

impl<'s> Room<'s> {
    pub(super) fn new(shard: &'s Shard, bytes_max: u64, promised: u64) -> Room<'s> {
        Room { shard, bytes_max, used: shard.memory().total(), promised, refused_at: u64::MAX }
    }

    /// Is there memory for these updates, besides those that are logged and not applied yet? If not as things are, after
    /// some cleaning.
    ///
    /// # Errors
    /// A text that says how much is missing.
    pub(super) fn find(&mut self, updates: &Updates) -> Result<(), String> {
        let grown = self.promised + updates.bytes_needed();
        // The entries that are changed are written anew one after the other, and what they were is cleaned away between
        // them: so there must be room for one besides, and for its next version while it is not free yet.
        let rewritten = 2 * self.shard.memory().longest;
        if self.used + grown + rewritten <= self.bytes_max || updates.are_deletes() {
            return Ok(());
        }
        let needed = if updates.adds() < updates.count() { grown + rewritten } else { grown };
        let end = if updates.adds() > 0 { self.bytes_max } else { memory_bytes_end(self.bytes_max) };
        if self.used + needed > end && self.used + needed < self.refused_at {
            self.shard.writer().make_room(end.saturating_sub(needed));
            self.used = self.shard.memory().total();
            if self.used + needed > end {
                self.refused_at = self.used + needed;
            }
        }
        if self.used + needed <= end { Ok(()) } else { Err(self.refusal(needed)) }
    }

    /// These updates are logged.
    pub(super) fn promise(&mut self, bytes: u64) {
        self.promised += bytes;
    }

    /// These updates, which were promised room, are not logged now.
    pub(super) fn take_back(&mut self, bytes: u64) {
        assert!(self.promised >= bytes, "only what was promised is taken back");
        self.promised -= bytes;
    }

    fn refusal(&self, needed: u64) -> String {
        self.shard.note_refused_for_memory();
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        format!(
            "memory-max is reached: {} of {} MiB are in use, and this update needs {} MiB more; delete entries or raise memory-max",
            mib(self.used),
            mib(self.bytes_max),
            mib(needed)
        )
    }
}
