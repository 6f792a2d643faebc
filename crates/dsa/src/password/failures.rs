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
/// Names of which failures are counted for the monitor. A new one takes the place of the one with the fewest.
const NAMES_MAX: usize = 64;

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
    /// Names that were tried, as they are logged.
    names: Vec<FailedName>,
}

/// A name whose binds fail, for the monitor.
///
/// Names share few places, and a new one inherits the count of the one whose place it takes (the space-saving algorithm: Metwally, Agrawal,
/// El Abbadi, 2005): a name that fails more often than one in [`NAMES_MAX`] of all is among them, and its count is never too small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedName {
    pub(crate) name: String,
    /// Failures since the start, at most.
    pub(crate) count: u64,
    /// Whence the last one came.
    pub(crate) address: Option<IpAddr>,
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
    /// The last name that was tried. Of a text that is no DN, or has a value of a secret, only its length: it may be a password.
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

    /// Notes a failed bind for the log. `unshown`: why its name may not be shown, if it may not.
    pub(crate) fn note(&self, name: &[u8], unshown: Option<&str>, address: Option<IpAddr>) {
        let name = match unshown {
            None => String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]).into_owned(),
            Some(why) => format!("{why}, {} octets", name.len()),
        };
        let mut state = self.lock();
        state.count_name(&name, address);
        let count = state.notice.take().map_or(0, |notice| notice.count) + 1;
        state.notice = Some(FailedBinds { count, name, address });
    }

    /// The names whose binds fail most often, the worst first.
    pub(crate) fn worst(&self, number: usize) -> Vec<FailedName> {
        let mut names = self.lock().names.clone();
        names.sort_by_key(|name| std::cmp::Reverse(name.count));
        names.truncate(number);
        names
    }

    /// What is to be reported.
    pub(crate) fn take_notice(&self) -> Option<FailedBinds> {
        self.lock().notice.take()
    }
}

impl State {
    /// Counts a failed bind by its name, for the report. There are a few places: the name with the fewest failures gives its place up.
    fn count_name(&mut self, name: &str, address: Option<IpAddr>) {
        let names = &mut self.names;
        let known = names.iter().position(|one| one.name == name);
        let fewest = || (0..names.len()).min_by_key(|at| names[*at].count);
        match known.or_else(|| fewest().filter(|_| names.len() >= NAMES_MAX)) {
            Some(at) => {
                let count = names[at].count + 1;
                names[at] = FailedName { name: name.to_owned(), count, address };
            }
            None => names.push(FailedName { name: name.to_owned(), count: 1, address }),
        }
    }

    fn set(&mut self, number: u64) -> &mut [Account] {
        let at = (number as usize % SETS) * WAYS;
        &mut self.accounts[at..at + WAYS]
    }

    /// The account of this number, if its failures are counted.
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
    fn the_log_has_no_name_that_is_no_dn() {
        let failures = Failures::default();
        failures.note(b"uid=ann,dc=com", None, None);
        failures.note(b"my password", Some("no DN"), None);
        let notice = failures.take_notice().unwrap();
        assert_eq!((notice.count, &notice.name[..]), (2, "no DN, 11 octets"));
        assert_eq!(failures.take_notice(), None);
    }

    #[test]
    fn names_that_fail_often_are_not_driven_out() {
        let failures = Failures::default();
        for number in 0..10 * NAMES_MAX {
            failures.note(b"uid=ann,dc=com", None, None);
            failures.note(format!("uid={number},dc=com").as_bytes(), None, None);
        }
        let worst = failures.worst(16);
        assert_eq!((worst.len(), &worst[0].name[..], worst[0].count), (16, "uid=ann,dc=com", 640));
        assert_eq!(failures.lock().names.len(), NAMES_MAX);
    }
}
