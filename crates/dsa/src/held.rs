//! Old versions that suspended searches hold. Memory that is changed while a search looks at it is not free before the search
//! has ended; so the oldest search is ended when it holds too much, or for too long.

use crate::engine::Dsa;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use store::Shard;

/// So much dead memory the cleaner leaves anyway: a search that holds no more is in nobody's way, however old.
const FREE_BYTES: u64 = 8 << 20;
/// Between two looks of all threads together.
const INTERVAL_NS: u64 = 500_000_000;

/// Between two warnings that memory is at its limit.
const WARNING_NS: u64 = 60_000_000_000;
/// Nothing was refused for so long: it is over.
const QUIET_NS: u64 = 10_000_000_000;

/// When it was looked last, in nanoseconds of the clock of the threads, and what was reported of the limit.
#[derive(Debug, Default)]
pub(crate) struct Held {
    looked_ns: AtomicU64,
    shortage: Mutex<Shortage>,
}

/// What is to be reported of memory at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNotice {
    /// Nothing is refused any more.
    pub is_over: bool,
    /// Refused since the start.
    pub refused: u64,
    /// Bytes that the directory takes.
    pub used: u64,
    /// Of them, newest versions.
    pub live: u64,
    /// Of them, held by suspended searches.
    pub held: u64,
    /// The limit in bytes.
    pub limit: u64,
}

/// Whether memory is at its limit, as far as it was reported.
#[derive(Debug, Default)]
struct Shortage {
    /// Refusals that were seen, and when there was a new one.
    seen: u64,
    last_ns: u64,
    reported_ns: Option<u64>,
    is_reported: bool,
}

impl Shortage {
    /// Looks at the number of refusals. `Some(false)` when it is to be reported that there are some, `Some(true)` when that is over.
    fn look(&mut self, refused: u64, now_ns: u64) -> Option<bool> {
        // The count was read before the lock was taken. Two threads may come in another order, which is one refusal seen too often.
        if std::mem::replace(&mut self.seen, refused) != refused {
            self.last_ns = now_ns;
            let is_due =
                self.reported_ns.is_none_or(|reported| now_ns.saturating_sub(reported) >= WARNING_NS);
            if is_due {
                (self.reported_ns, self.is_reported) = (Some(now_ns), true);
            }
            return is_due.then_some(false);
        }
        let is_over = self.is_reported && now_ns.saturating_sub(self.last_ns) >= QUIET_NS;
        if is_over {
            self.is_reported = false;
        }
        is_over.then_some(true)
    }
}

impl Held {
    /// What is to be reported of memory at its limit: at most once a minute, and when it is over.
    /// `None` nearly always: there is something to say when the limit is reached, and when it is no longer.
    pub(crate) fn memory_notice(&self, dsa: &Dsa, now_ns: u64) -> Option<MemoryNotice> {
        let (shard, limit) = (&dsa.shard, dsa.memory_bytes_max());
        let refused = shard.refused_for_memory();
        let mut shortage = self.shortage.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = shortage.look(refused, now_ns)?;
        let (memory, held) = (shard.memory(), shard.bytes_held());
        let (used, live) = (memory.total(), memory.live);
        Some(MemoryNotice { is_over, refused, used, live, held, limit })
    }

    /// Gives free memory back to the kernel, and ends searches that hold too much, or for too long. All threads may call it as often as
    /// they like: it is done twice a second at most.
    pub(crate) fn look_after_memory(&self, dsa: &Dsa, now_ns: u64) {
        let before = self.looked_ns.load(Ordering::Relaxed);
        if now_ns.saturating_sub(before) < INTERVAL_NS {
            return;
        }
        let looks = self.looked_ns.compare_exchange(before, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        if looks.is_ok() {
            dsa.shard.release_free();
            let (bytes_max, seconds_max) =
                (dsa.limits.held_bytes_max.get(), dsa.limits.held_seconds_max.get());
            end_old_searches(&dsa.shard, bytes_max, seconds_max, now_ns);
        }
    }
}

/// Ends the searches that hold more than they may: the oldest first, until the rest is within the bounds.
fn end_old_searches(shard: &Shard, bytes_max: u64, seconds_max: u64, now_ns: u64) {
    let age_max_ns = match seconds_max {
        0 => u64::MAX,
        seconds => seconds * 1_000_000_000,
    };
    while let Some(oldest) = shard.oldest_revocable() {
        let age_ns = now_ns.saturating_sub(oldest.holder.since_ns);
        let is_old = age_ns > age_max_ns && oldest.bytes > FREE_BYTES;
        if !(oldest.bytes > bytes_max || is_old) || shard.revoke_oldest().is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_reported_once_a_minute_and_when_it_is_over() {
        const SECOND: u64 = 1_000_000_000;
        let mut shortage = Shortage::default();
        assert_eq!(shortage.look(0, SECOND), None);
        assert_eq!(shortage.look(5, 2 * SECOND), Some(false));
        assert_eq!(shortage.look(5, 3 * SECOND), None);
        assert_eq!((4..62).find_map(|at| shortage.look(5 + at, at * SECOND)), None);
        assert_eq!(shortage.look(100, 62 * SECOND), Some(false));
        assert_eq!(shortage.look(100, 71 * SECOND), None);
        assert_eq!(shortage.look(100, 72 * SECOND), Some(true));
        assert_eq!(shortage.look(100, 200 * SECOND), None);
        assert_eq!(shortage.look(101, 201 * SECOND), Some(false));
    }
}
