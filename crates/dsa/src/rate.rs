//! What a client may do so many times a second, with a burst: a token bucket that is kept as one number, the time until which what it has is used
//! up. Threads share it without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often something may be done.
/// Times and not numbers, so that a rate below one in a second would need no other form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Nanoseconds that one takes of it.
    each_ns: u64,
    /// Nanoseconds that may be used at once.
    burst_ns: u64,
}

impl Allowed {
    /// So many a second, and at once as many as in `burst_s` seconds. `None`: any number, for 0 a second.
    pub(crate) fn new(per_second: u32, burst_s: u64) -> Option<Allowed> {
        let each_ns = 1_000_000_000_u64.checked_div(u64::from(per_second))?;
        Some(Allowed { each_ns, burst_ns: burst_s * 1_000_000_000 })
    }
}

/// How much was done.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    /// When what was done would be allowed, had it been done evenly.
    used_until_ns: AtomicU64,
}

impl Rate {
    /// May another one be done now?
    /// It is not taken: where only failures count, nobody knows yet whether it is one. So as many can pass the limit as are tried at the
    /// same moment.
    pub(crate) fn admits(&self, allowed: Allowed, now_ns: u64) -> bool {
        self.used_until_ns.load(Ordering::Relaxed) <= now_ns + allowed.burst_ns
    }

    /// One was done.
    pub(crate) fn spend(&self, allowed: Allowed, now_ns: u64) {
        let more = |until: u64| Some(until.max(now_ns) + allowed.each_ns);
        // Always done.
        let _ = self.used_until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Takes one that will be done, and returns the nanoseconds until it may be; `None`, and nothing is taken, if those are more than
    /// `wait_max_ns`. Those that wait go on one after the other, in the order in which they asked.
    pub(crate) fn reserve(&self, allowed: Allowed, wait_max_ns: u64, now_ns: u64) -> Option<u64> {
        let wait = |until: u64| until.saturating_sub(now_ns + allowed.burst_ns);
        let more = |until: u64| {
            let after = until.max(now_ns) + allowed.each_ns;
            (wait(after) <= wait_max_ns).then_some(after)
        };
        let before = self.used_until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(wait(before.max(now_ns) + allowed.each_ns))
    }

    /// One that was taken cost only a quarter. It may have been taken while there was no limit, and then nothing is given back.
    pub(crate) fn give_back_three_quarters(&self, allowed: Allowed) {
        let less = |until: u64| Some(until.saturating_sub(allowed.each_ns / 4 * 3));
        // Always done.
        let _ = self.used_until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Nanoseconds until all of it may be used again; 0 if nothing of it is used.
    pub(crate) fn used_ns(&self, now_ns: u64) -> u64 {
        self.used_until_ns.load(Ordering::Relaxed).saturating_sub(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn what_was_not_taken_is_not_given_back() {
        let (rate, allowed) = (Rate::default(), Allowed::new(10, 10).unwrap());
        rate.give_back_three_quarters(allowed);
        assert_eq!(rate.used_ns(0), 0);
        assert_eq!(rate.reserve(allowed, 0, SECOND), Some(0));
    }

    #[test]
    fn test_m3_a_rate_has_a_burst() {
        let (rate, allowed) = (Rate::default(), Allowed::new(10, 10).unwrap());
        let mut done = 0;
        while rate.admits(allowed, SECOND) {
            rate.spend(allowed, SECOND);
            done += 1;
        }
        assert_eq!(done, 101, "a burst of a hundred, and one that went beyond it");
        assert!(rate.admits(allowed, SECOND + SECOND / 10));
        assert_eq!((rate.used_ns(SECOND), rate.used_ns(20 * SECOND)), (101 * SECOND / 10, 0));
        assert_eq!(Allowed::new(0, 10), None);
    }

    #[test]
    fn those_beyond_the_burst_wait_one_after_the_other() {
        let (rate, allowed) = (Rate::default(), Allowed::new(50, 4).unwrap());
        let reserve = |now_ns| rate.reserve(allowed, SECOND, now_ns);
        let at_once = (0..200).filter(|_| reserve(SECOND) == Some(0)).count();
        assert_eq!(at_once, 200);
        let waits: Vec<u64> = std::iter::from_fn(|| reserve(SECOND)).collect();
        assert_eq!((waits.len(), waits[0], waits[49]), (50, SECOND / 50, SECOND));
        assert_eq!(reserve(SECOND), None, "nothing is taken of what would come too late");
        assert_eq!(reserve(2 * SECOND), Some(SECOND / 50));
        // Four that cost a quarter are one.
        (0..4).for_each(|_| rate.give_back_three_quarters(allowed));
        assert!(reserve(2 * SECOND) == Some(0));
    }
}
