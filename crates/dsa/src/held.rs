//! Old versions that searches under way hold. Memory that is changed while a search looks at it is not free before the search
//! has ended; so the oldest search is ended when it holds too much, or for too long.

use crate::engine::Dsa;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds after which a search that holds old versions is ended, if nothing else is configured.
const SECONDS_MAX: u32 = 60;
/// Part of the directory's memory that old versions may take, if nothing else is configured.
const SHARE: u64 = 4;
/// So much dead memory the cleaner leaves anyway: a search that holds no more is in nobody's way, however old.
const FREE_BYTES: u64 = 8 << 20;
/// Between two looks of all threads together.
const INTERVAL_NS: u64 = 500_000_000;

/// When it was looked last, in nanoseconds of the clock of the threads.
#[derive(Debug, Default)]
pub(crate) struct Held {
    looked_ns: AtomicU64,
}

impl Dsa {
    /// Ends the oldest searches under way as long as they hold too much, or for too long.
    pub(crate) fn end_old_searches(&self, now_ns: u64) {
        let before = self.held.looked_ns.load(Ordering::Relaxed);
        if !self.shard.has_revocable_readers() || now_ns.saturating_sub(before) < INTERVAL_NS {
            return;
        }
        let looks =
            self.held.looked_ns.compare_exchange(before, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        if looks.is_err() {
            return;
        }
        let limits = &self.config.limits;
        let bytes_max = limits.held_bytes_max.unwrap_or(self.memory_bytes_max() / SHARE);
        let age_max_ns = match limits.held_seconds_max.unwrap_or(SECONDS_MAX) {
            0 => u64::MAX,
            seconds => u64::from(seconds) * 1_000_000_000,
        };
        while let Some(oldest) = self.shard.oldest_revocable() {
            let age_ns = now_ns.saturating_sub(oldest.holder.since_ns);
            let is_old = age_ns > age_max_ns && oldest.bytes > FREE_BYTES;
            if !(oldest.bytes > bytes_max || is_old) || self.shard.revoke_oldest().is_none() {
                return;
            }
        }
    }
}
