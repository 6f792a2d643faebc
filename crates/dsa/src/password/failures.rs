//! Binds that failed: by account, whether there is such an account or not, and for the log.
//!
//! After ten failures in a minute an account has one try a second; all others are answered as wrong after the usual work. This locks
//! nobody out for long, and needs no policy.

use crate::faults::holes;
use env::planted;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Failures of an account after which it is throttled.
const FAILURES_MAX: u32 = 10;
/// Nanoseconds in which they count.
const WINDOW_NS: u64 = 60_000_000_000;
/// Nanoseconds between two tries of a throttled account.
const PAUSE_NS: u64 = 1_000_000_000;
/// Accounts that are remembered, in sets of which each account has one.
const SETS: usize = 1 << 14;
const WAYS: usize = 4;
/// Octets of a name in the log.
const NAME_BYTES_MAX: usize = 256;

/// Failed binds.
///
/// An account is counted by a keyed hash of the name that was tried, so names that nobody has are throttled like those of
/// entries, and no client can choose names that share a place. All threads count in one table: parallel tries of one account count
/// together. The lock is taken by binds that fail, and by others only while there are recent failures.
#[derive(Default)]
pub(crate) struct Failures {
    /// When the last one was, plus one; 0: never.
    last_ns: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Empty before the first failure.
    accounts: Vec<Account>,
    notice: Option<FailedBinds>,
}

#[derive(Clone, Copy, Default)]
struct Account {
    number: u64,
    failures: u32,
    /// When they began to count.
    since_ns: u64,
    /// Of a throttled account: when its next try is.
    next_ns: u64,
}

/// What is to be reported of failed binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedBinds {
    /// How many there were since the last report.
    pub count: u64,
    /// The last name that was tried. Of a text that is no DN only its length: it may be a password.
    pub name: String,
    /// Whence, if the client has an address.
    pub address: Option<IpAddr>,
}

impl Failures {
    fn lock(&self) -> MutexGuard<'_, State> {
        // An account is whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// May there be accounts that are throttled? Mostly not, which costs one look at a number.
    pub(crate) fn are_recent(&self, now_ns: u64) -> bool {
        let last = self.last_ns.load(Ordering::Relaxed);
        last != 0 && now_ns.saturating_sub(last) <= WINDOW_NS
    }

    /// Must a try of an account be answered as wrong, whatever it is? If not, and it is throttled, this was its try.
    pub(crate) fn is_throttled(&self, number: u64, now_ns: u64) -> bool {
        let mut state = self.lock();
        let Some(account) = state.find(number) else { return false };
        let counts = account.failures >= FAILURES_MAX
            && !planted::is(holes::FAILURES_NOT_COUNTED)
            && now_ns.saturating_sub(account.since_ns) <= WINDOW_NS;
        if counts && now_ns >= account.next_ns {
            account.next_ns = now_ns + PAUSE_NS;
            return false;
        }
        counts
    }

    /// A try of an account has failed.
    pub(crate) fn failed(&self, number: u64, now_ns: u64) {
        self.last_ns.store(now_ns + 1, Ordering::Relaxed);
        let mut state = self.lock();
        let account = state.find_or_replace(number, now_ns);
        if now_ns.saturating_sub(account.since_ns) > WINDOW_NS {
            (account.failures, account.since_ns) = (0, now_ns);
        }
        account.failures += 1;
        if account.failures >= FAILURES_MAX {
            // As long as they go on.
            (account.since_ns, account.next_ns) = (now_ns, now_ns + PAUSE_NS);
        }
    }

    /// A try of an account was right: its failures count no more. Without that a user who mistypes now and then would be throttled at last.
    pub(crate) fn succeeded(&self, number: u64) {
        if let Some(account) = self.lock().find(number) {
            *account = Account::default();
        }
    }

    /// Notes a failed bind for the log.
    pub(crate) fn note(&self, name: &[u8], is_dn: bool, address: Option<IpAddr>) {
        let name = match is_dn {
            true => String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]).into_owned(),
            false => format!("no DN, {} octets", name.len()),
        };
        let mut state = self.lock();
        let count = state.notice.take().map_or(0, |notice| notice.count) + 1;
        state.notice = Some(FailedBinds { count, name, address });
    }

    /// What is to be reported.
    pub(crate) fn take_notice(&self) -> Option<FailedBinds> {
        self.lock().notice.take()
    }
}

impl State {
    fn set(&mut self, number: u64) -> &mut [Account] {
        let at = (number as usize % SETS) * WAYS;
        &mut self.accounts[at..at + WAYS]
    }

    fn find(&mut self, number: u64) -> Option<&mut Account> {
        if self.accounts.is_empty() {
            return None;
        }
        self.set(number).iter_mut().find(|account| account.number == number && account.failures > 0)
    }

    /// The account, in the place of the one of its set whose failures are oldest if it has none yet.
    fn find_or_replace(&mut self, number: u64, now_ns: u64) -> &mut Account {
        if self.accounts.is_empty() {
            self.accounts = vec![Account::default(); SETS * WAYS];
        }
        let set = self.set(number);
        let is_it = |account: &Account| account.number == number && account.failures > 0;
        let at = set.iter().position(is_it).unwrap_or_else(|| {
            let age = |at: &usize| if set[*at].failures == 0 { 0 } else { set[*at].since_ns + 1 };
            let oldest = (0..WAYS).min_by_key(age).expect("a set has ways");
            set[oldest] = Account { number, since_ns: now_ns, ..Account::default() };
            oldest
        });
        &mut set[at]
    }
}

/// Failed binds of an address: so many a second, and a burst of ten seconds' worth.
///
/// It is a token bucket that is kept as one number, the time at which it would be full again, so threads need no lock to share it. A bind is
/// admitted before it is known whether it fails, so as many can pass the limit as are tried at the same moment.
#[derive(Debug, Default)]
pub(crate) struct FailureRate {
    /// When the address would have used up what it has, in nanoseconds.
    used_until_ns: AtomicU64,
}

const BURST_NS: u64 = 10_000_000_000;

impl FailureRate {
    /// May another bind be tried?
    pub(crate) fn admits(&self, now_ns: u64) -> bool {
        self.used_until_ns.load(Ordering::Relaxed) <= now_ns + BURST_NS
    }

    /// One has failed. `per_second`: how many may; 0 for any number.
    pub(crate) fn failed(&self, per_second: u32, now_ns: u64) {
        if per_second == 0 {
            return;
        }
        let each_ns = 1_000_000_000 / u64::from(per_second);
        let more = |until: u64| Some(until.max(now_ns) + each_ns);
        // Always done.
        let _ = self.used_until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn test_m3_an_account_has_one_try_a_second_after_ten_failures() {
        let failures = Failures::default();
        assert!(!failures.are_recent(5) && !failures.is_throttled(7, 5));
        for n in 0..9 {
            failures.failed(7, n * SECOND);
        }
        assert!(!failures.is_throttled(7, 9 * SECOND));
        failures.failed(7, 9 * SECOND);
        assert!(failures.are_recent(10 * SECOND) && failures.is_throttled(7, 9 * SECOND + 1));
        assert!(!failures.is_throttled(8, 10 * SECOND), "another account");
        assert!(!failures.is_throttled(7, 10 * SECOND), "a try a second");
        assert!(failures.is_throttled(7, 10 * SECOND + 1), "one");
        failures.succeeded(7);
        assert!(!failures.is_throttled(7, 10 * SECOND + 1));
    }

    #[test]
    fn failures_of_more_than_a_minute_ago_do_not_count() {
        let failures = Failures::default();
        (0..9).for_each(|_| failures.failed(7, SECOND));
        failures.failed(7, 62 * SECOND);
        assert!(!failures.is_throttled(7, 62 * SECOND));
        (0..9).for_each(|_| failures.failed(7, 62 * SECOND));
        assert!(failures.is_throttled(7, 62 * SECOND));
        assert!(!failures.is_throttled(7, 200 * SECOND) && !failures.are_recent(200 * SECOND));
    }

    #[test]
    fn accounts_give_way_to_newer_ones_of_their_set() {
        let failures = Failures::default();
        let number = |n: u64| 5 + n * SETS as u64;
        for n in 0..=WAYS as u64 {
            (0..FAILURES_MAX).for_each(|_| failures.failed(number(n), n * SECOND));
        }
        assert!(!failures.is_throttled(number(0), SECOND), "the oldest");
        assert!(failures.is_throttled(number(4), 4 * SECOND));
    }

    #[test]
    fn test_m3_an_address_has_a_rate_and_a_burst() {
        let rate = FailureRate::default();
        let mut failed = 0;
        while rate.admits(SECOND) {
            rate.failed(10, SECOND);
            failed += 1;
        }
        assert_eq!(failed, 101, "a burst of a hundred, and one that went beyond it");
        assert!(rate.admits(SECOND + SECOND / 10));
        rate.failed(0, SECOND);
        assert!(!rate.admits(SECOND), "0 counts nothing");
    }

    #[test]
    fn the_log_has_no_name_that_is_no_dn() {
        let failures = Failures::default();
        failures.note(b"uid=ann,dc=com", true, None);
        failures.note(b"my password", false, None);
        let notice = failures.take_notice().unwrap();
        assert_eq!((notice.count, &notice.name[..]), (2, "no DN, 11 octets"));
        assert_eq!(failures.take_notice(), None);
    }
}
