//! Failures in a row, by account: what locks one that a policy says is locked after so many.
//!
//! They are counted in memory, for all threads together, and are gone after a crash; the lock that they lead to is in the entry. A try is counted
//! as a failure from its beginning, and taken back if it was right: so of many tries at the same time no more are verified than may fail.

use model::limits::LOCKOUT_ACCOUNTS_MAX;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Milliseconds after which the lock that failures led to is surely in the entry, or was refused.
const LOCK_MS: u64 = 60_000;

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

    /// Begins a try of an account. `None` if as many have failed as may, or would have if those failed that are being verified.
    /// `interval`: seconds after the last failure from which on none counts; 0 for never.
    pub(crate) fn begin(
        self: &Arc<Lockouts>,
        account: u64,
        max: u32,
        interval: u64,
        now_ms: u64,
    ) -> Option<Try> {
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
        let failures = all.entry(account).or_default();
        let is_over =
            interval > 0 && now_ms >= failures.last_ms.saturating_add(interval.saturating_mul(1000));
        // The lock that they led to is in the entry by then. It is not, for the caller has looked: somebody has taken it away.
        let is_unlocked = failures.count >= max && now_ms >= failures.last_ms.saturating_add(LOCK_MS);
        if is_over || is_unlocked {
            failures.count = 0;
        }
        if failures.count.saturating_add(failures.running) >= max {
            return None;
        }
        failures.running += 1;
        Some(Try { of: Arc::clone(self), account })
    }

    /// A try has failed. How many have in a row.
    pub(crate) fn failed(&self, tried: Try, now_ms: u64) -> u32 {
        let mut all = self.lock();
        let failures = all.entry(tried.account).or_default();
        failures.count += 1;
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

    /// Y4: no more tries are verified than may fail.
    #[test]
    fn test_y4_of_many_at_once_so_many_are_verified_as_may_fail() {
        let lockouts = Arc::new(Lockouts::default());
        let begin = || lockouts.begin(7, 5, 0, 1000);
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
        for _ in 0..2 {
            let tried = lockouts.begin(7, 2, 50, 1000).expect("one more");
            lockouts.failed(tried, 1000);
        }
        assert!(lockouts.begin(7, 2, 50, 50_999).is_none());
        assert!(lockouts.begin(7, 2, 50, 51_000).is_some());
    }
}
