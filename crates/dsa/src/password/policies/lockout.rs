//! Failures in a row, by account: what locks one that a policy says is locked after so many, and how long the next try has to wait.
//!
//! They are counted in memory, for all threads together, and go on after a start from those that the entry has; the lock that they lead to is in the
//! entry at once. A try is counted
//! as a failure from its beginning, and taken back if it was right: so of many tries at the same time no more are verified than may fail.

use model::limits::LOCKOUT_ACCOUNTS_MAX;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Milliseconds after which the lock that failures led to is surely in the entry, or was refused.
const LOCK_MS: u64 = 60_000;
/// Tries at the same time of an account without failures whose policy has delays. After a failure there is one.
const UNDELAYED_MAX: u32 = 10;

/// What a policy says of failures. Times are seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// So many in a row lock the account; `u32::MAX` if none do.
    pub(crate) max: u32,
    /// After the last failure, from when on none counts; 0 for never.
    pub(crate) interval: u64,
    /// After the first failure, in which no try is verified; 0 for none. It doubles with each further one.
    pub(crate) min_delay: u64,
    /// To which it grows.
    pub(crate) max_delay: u64,
    /// Failures that double it, at most; 0 for any number.
    pub(crate) recorded: u32,
}

impl Bounds {
    /// Seconds after so many failures in a row in which no try is verified.
    pub(crate) fn delay(&self, count: u32) -> u64 {
        let recorded = if self.recorded == 0 { u32::MAX } else { self.recorded };
        match count.min(recorded) {
            0 => 0,
            // More doublings than a number has digits: the maximum is less in any case.
            count => self.min_delay.saturating_mul(1 << (count - 1).min(62)).min(self.max_delay),
        }
    }

    /// Tries that may be verified at the same time after so many failures.
    fn parallel(&self, count: u32) -> u32 {
        // What is tried at once cannot wait for each other. Clients with the right password do so too, and have no failures.
        match (self.min_delay, count) {
            (0, _) => u32::MAX,
            (_, 0) => UNDELAYED_MAX,
            _ => 1,
        }
    }
}

/// Failures of all accounts that have some.
#[derive(Default)]
pub(crate) struct Lockouts(Mutex<BTreeMap<u64, Failures>>);

#[derive(Clone, Copy, Default)]
struct Failures {
    count: u32,
    /// Tries that are being verified.
    running: u32,
    /// When the last one was.
    last_ms: u64,
}

/// A try that is being verified: a failure until it is known to be none.
pub(crate) struct Try {
    of: Arc<Lockouts>,
    account: u64,
}

impl Drop for Try {
    fn drop(&mut self) {
        let mut all = self.of.lock();
        if let Some(failures) = all.get_mut(&self.account) {
            failures.running = failures.running.saturating_sub(1);
            if failures.running == 0 && failures.count == 0 {
                all.remove(&self.account);
            }
        }
    }
}

impl Lockouts {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Failures>> {
        // A count is whole after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a try of an account. `None` if as many have failed as may, or would have if those failed that are being verified, and while it
    /// is delayed. `known`: how many failures its entry has, and when the last one was, which counts where nothing of the account is in memory.
    /// `changed_ms`: when its password was changed, if that is known. Failures before that do not count.
    pub(crate) fn begin(
        self: &Arc<Lockouts>,
        account: u64,
        bounds: &Bounds,
        known: (u32, u64),
        changed_ms: Option<u64>,
        now_ms: u64,
    ) -> Option<Try> {
        let Bounds { max, interval, .. } = *bounds;
        let mut all = self.lock();
        if all.len() >= LOCKOUT_ACCOUNTS_MAX && !all.contains_key(&account) {
            // Some of them are looked at: an exact order would cost every failure. Numbers of accounts are keyed hashes, so no client says which.
            let some = all.range(account..).chain(all.iter()).take(64);
            let oldest = some
                .filter(|(_, failures)| failures.running == 0)
                .min_by_key(|(_, failures)| failures.last_ms)
                .map(|(account, _)| *account);
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        let failures = all.entry(account).or_insert_with(|| match known {
            // So many have locked it before, and it is open again.
            (count, _) if count >= max => Failures::default(),
            (count, last_ms) => Failures { count, running: 0, last_ms },
        });
        let is_over =
            interval > 0 && now_ms >= failures.last_ms.saturating_add(interval.saturating_mul(1000));
        // The lock that they led to is in the entry by then. It is not, for the caller has looked: somebody has taken it away.
        let is_unlocked = failures.count >= max && now_ms >= failures.last_ms.saturating_add(LOCK_MS);
        let is_changed = changed_ms.is_some_and(|changed| changed > failures.last_ms);
        if is_over || is_unlocked || is_changed {
            failures.count = 0;
        }
        let delay = bounds.delay(failures.count).saturating_mul(1000);
        let is_delayed = delay > 0 && now_ms < failures.last_ms.saturating_add(delay);
        if is_delayed
            || failures.running >= bounds.parallel(failures.count)
            || failures.count.saturating_add(failures.running) >= max
        {
            return None;
        }
        failures.running += 1;
        Some(Try { of: Arc::clone(self), account })
    }

    /// A try has failed. How many have in a row.
    pub(crate) fn failed(&self, tried: Try, now_ms: u64) -> u32 {
        let mut all = self.lock();
        let failures = all.entry(tried.account).or_default();
        failures.count = failures.count.saturating_add(1);
        failures.last_ms = now_ms;
        let count = failures.count;
        drop(all);
        drop(tried);
        count
    }

    /// An account was let in, or unlocked: its failures count no more.
    pub(crate) fn forget(&self, account: u64) {
        let mut all = self.lock();
        match all.get_mut(&account) {
            Some(failures) if failures.running > 0 => failures.count = 0,
            Some(_) => _ = all.remove(&account),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: Bounds = Bounds { max: 5, interval: 0, min_delay: 0, max_delay: 0, recorded: 0 };

    /// Y4: no more tries are verified than may fail.
    #[test]
    fn test_y4_of_many_at_once_so_many_are_verified_as_may_fail() {
        let lockouts = Arc::new(Lockouts::default());
        let begin = || lockouts.begin(7, &BOUNDS, (0, 0), None, 1000);
        let tries: Vec<Option<Try>> = (0..64).map(|_| begin()).collect();
        assert_eq!(tries.iter().flatten().count(), 5);
        let mut counts: Vec<u32> =
            tries.into_iter().flatten().map(|tried| lockouts.failed(tried, 1000)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 2, 3, 4, 5]);
        assert!(begin().is_none());
        lockouts.forget(7);
        assert!(begin().is_some());
        assert!(lockouts.lock().is_empty(), "a try that was given up leaves nothing");
    }

    #[test]
    fn failures_are_forgotten_after_their_interval() {
        let lockouts = Arc::new(Lockouts::default());
        let bounds = Bounds { max: 2, interval: 50, ..BOUNDS };
        let begin = |changed_ms, now_ms| lockouts.begin(7, &bounds, (0, 0), changed_ms, now_ms);
        for _ in 0..2 {
            let tried = begin(None, 1000).expect("one more");
            lockouts.failed(tried, 1000);
        }
        assert!(begin(None, 50_999).is_none() && begin(Some(1000), 50_999).is_none());
        assert!(begin(None, 51_000).is_some());
        lockouts.failed(begin(None, 52_000).expect("one more"), 52_000);
        assert!(begin(Some(52_001), 52_001).is_some(), "another password");
        assert!(lockouts.lock().is_empty());
    }

    /// Y5: failures go on after a start from those that are written.
    #[test]
    fn test_y5_failures_of_before_a_start_count() {
        let bounds = Bounds { max: 3, interval: 50, ..BOUNDS };
        let tries = |known, now_ms| {
            let lockouts = Arc::new(Lockouts::default());
            (0..9).map_while(|_| lockouts.begin(7, &bounds, known, None, now_ms)).collect::<Vec<_>>().len()
        };
        assert_eq!([(0, 0), (1, 900), (2, 900)].map(|known| tries(known, 1000)), [3, 2, 1]);
        assert_eq!(tries((3, 900), 1000), 3, "they have locked it, and somebody has opened it");
        assert_eq!(tries((2, 900), 50_900), 3, "they are too long ago");
        let lockouts = Arc::new(Lockouts::default());
        drop(lockouts.begin(7, &bounds, (2, 900), None, 1000));
        assert_eq!(lockouts.lock().len(), 1, "a try that was given up leaves them");
    }

    #[test]
    fn tries_at_once_do_not_pass_a_delay() {
        let lockouts = Arc::new(Lockouts::default());
        let bounds = Bounds { max: u32::MAX, min_delay: 2, max_delay: 8, ..BOUNDS };
        let begin = |now_ms| lockouts.begin(7, &bounds, (0, 0), None, now_ms);
        let tries: Vec<Try> = (0..64).filter_map(|_| begin(1000)).collect();
        assert_eq!(tries.len(), UNDELAYED_MAX as usize);
        tries.into_iter().for_each(|tried| _ = lockouts.failed(tried, 1000));
        assert!(begin(8999).is_none());
        let tried = begin(9000);
        assert!(tried.is_some() && begin(9000).is_none(), "one at a time");
    }

    /// How long an account is delayed, worked out failure by failure.
    fn plain_delay_ms(bounds: &Bounds, failures: usize) -> u64 {
        let mut delay = 0;
        for number in 0..failures {
            let doubles = bounds.recorded == 0 || number < bounds.recorded as usize;
            delay = match delay {
                0 => bounds.min_delay.min(bounds.max_delay),
                _ if doubles => (delay * 2).min(bounds.max_delay),
                _ => delay,
            };
        }
        delay * 1000
    }

    proptest! {
        /// Y1: one try after the other is verified exactly when no delay, lock or interval says otherwise.
        #[test]
        fn test_y1_tries_wait_as_the_policy_says(
            (max, interval, recorded) in (prop_oneof![Just(u32::MAX), 1u32..8], 0u64..40, 0u32..6),
            (min_delay, max_delay) in (0u64..4, 0u64..30),
            steps in prop::collection::vec((0u64..20_000, any::<bool>()), 1..60),
        ) {
            let bounds = Bounds { max, interval, min_delay, max_delay, recorded };
            let lockouts = Arc::new(Lockouts::default());
            let (mut now_ms, mut failures) = (1_000_000, Vec::<u64>::new());
            for (wait_ms, is_right) in steps {
                now_ms += wait_ms;
                let since = failures.last().map_or(u64::MAX, |last| now_ms - last);
                if interval > 0 && since >= interval * 1000 || failures.len() >= max as usize && since >= LOCK_MS {
                    failures.clear();
                }
                let may_try = failures.len() < max as usize
                    && (failures.is_empty() || since >= plain_delay_ms(&bounds, failures.len()));
                let tried = lockouts.begin(7, &bounds, (0, 0), None, now_ms);
                prop_assert_eq!(tried.is_some(), may_try);
                let Some(tried) = tried else { continue };
                if is_right {
                    drop(tried);
                    lockouts.forget(7);
                    failures.clear();
                } else {
                    failures.push(now_ms);
                    prop_assert_eq!(lockouts.failed(tried, now_ms) as usize, failures.len());
                }
            }
        }
    }
}
