//! Until when a replica may answer reads without a question to the others. The one that owns the log writes it, and all who read look at it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module.
#[derive(Debug, Default)]
pub struct Lease {
    /// 0: there is none.
    until_ns: AtomicU64,
    /// Somebody has read by it.
    is_used: AtomicBool,
}

impl Lease {
    /// It ends at this time of the process' monotonic clock, in nanoseconds; 0 ends it at once.
    pub fn set(&self, until_ns: u64) {
        if self.until_ns.load(Ordering::Relaxed) == until_ns {
            // No store that other threads would notice.
            return;
        }
        // Who sees it sees all that was applied before it was set.
        self.until_ns.store(until_ns, Ordering::Release);
    }

    /// May a reader go on that has looked at the clock after its request came? It sees then all that was acknowledged before that.
    #[inline]
    pub fn holds(&self, now_ns: u64) -> bool {
        if !self.is_there(now_ns) {
            return false;
        }
        // Mostly it is set.
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Does it hold? No session reads by it.
    pub fn is_there(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns.load(Ordering::Acquire)
    }

    /// Has somebody read by it since this was called last?
    pub fn take_used(&self) -> bool {
        self.is_used.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_its_time_or_when_it_is_taken_away() {
        let lease = Lease::default();
        assert!(!lease.holds(0) && !lease.take_used());
        lease.set(100);
        assert!(lease.holds(99) && !lease.holds(100));
        assert!(lease.take_used() && !lease.take_used());
        lease.set(0);
        assert!(!lease.holds(1));
    }
}
