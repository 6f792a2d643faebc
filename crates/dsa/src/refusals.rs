//! How often each limit was reached, and by whom: for the monitor, and for a line in the log for each limit and address in ten seconds.

use env::net::PeerAddress;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Nanoseconds between two reports of one limit and address.
const PAUSE_NS: u64 = 10_000_000_000;
/// Limits and addresses of which reports are kept apart. Those beyond it are reported without an address.
const REPORTS_MAX: usize = 4096;

/// What a client may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// `limits.connections`.
    Connections,
    /// `limits.connections-per-address`.
    AddressConnections,
    /// `limits.handshakes`.
    Handshakes,
    /// `limits.handshake-timeout`.
    HandshakeTime,
    /// `limits.first-request`.
    FirstRequest,
    /// `limits.message-timeout`.
    MessageTime,
    /// `limits.message-anonymous`, or the length that no message may have.
    MessageBytes,
    /// `limits.idle-timeout` and `limits.idle-anonymous`.
    Idle,
    /// `limits.write-timeout`.
    WriteTime,
    /// `limits.client-memory`.
    ClientMemory,
    /// `limits.failed-binds`.
    FailedBinds,
    /// Searches in progress, of an address or of all clients.
    ActiveSearches,
    /// `size` of a rule, or `limits.size`.
    Size,
    /// `time` of a rule, or `limits.time`.
    Time,
    /// `look-through` of a rule.
    LookThrough,
    /// `page` of a rule: a page was cut.
    Page,
    /// `unindexed` of a rule: a search was refused.
    Unindexed,
    /// `searches` of a rule.
    Searches,
    /// `rate` of a rule: a client was not read for a while.
    Rate,
    /// `bytes-per-second` of a rule: the same.
    BytesPerSecond,
}

impl Limit {
    /// All of them, in the order of their numbers.
    pub const ALL: [Limit; 20] = [
        Limit::Connections,
        Limit::AddressConnections,
        Limit::Handshakes,
        Limit::HandshakeTime,
        Limit::FirstRequest,
        Limit::MessageTime,
        Limit::MessageBytes,
        Limit::Idle,
        Limit::WriteTime,
        Limit::ClientMemory,
        Limit::FailedBinds,
        Limit::ActiveSearches,
        Limit::Size,
        Limit::Time,
        Limit::LookThrough,
        Limit::Page,
        Limit::Unindexed,
        Limit::Searches,
        Limit::Rate,
        Limit::BytesPerSecond,
    ];

    /// Those that rules give requesters. Each thread counts them by itself, for ordinary requests reach them.
    pub const OF_REQUESTERS: [Limit; 8] = [
        Limit::Size,
        Limit::Time,
        Limit::LookThrough,
        Limit::Page,
        Limit::Unindexed,
        Limit::Searches,
        Limit::Rate,
        Limit::BytesPerSecond,
    ];

    /// Its number among those of requesters, if it is one of them.
    pub(crate) fn of_requesters(self) -> Option<usize> {
        (self as usize).checked_sub(Limit::Size as usize)
    }

    /// Its name, which is that of its setting if it has one.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Connections => "connections",
            Limit::AddressConnections => "connections-per-address",
            Limit::Handshakes => "handshakes",
            Limit::HandshakeTime => "handshake-timeout",
            Limit::FirstRequest => "first-request",
            Limit::MessageTime => "message-timeout",
            Limit::MessageBytes => "message-anonymous",
            Limit::Idle => "idle-timeout",
            Limit::WriteTime => "write-timeout",
            Limit::ClientMemory => "client-memory",
            Limit::FailedBinds => "failed-binds",
            Limit::ActiveSearches => "active-searches",
            Limit::Size => "size",
            Limit::Time => "time",
            Limit::LookThrough => "look-through",
            Limit::Page => "page",
            Limit::Unindexed => "unindexed",
            Limit::Searches => "searches",
            Limit::Rate => "rate",
            Limit::BytesPerSecond => "bytes-per-second",
        }
    }
}

/// A limit that was reached, to be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Which.
    pub limit: Limit,
    /// By a client from here; `None` if it has no address, or if there are too many.
    pub address: Option<IpAddr>,
    /// How often since the last report.
    pub count: u64,
}

/// How often limits were reached.
#[derive(Debug, Default)]
pub struct Refusals {
    counts: [AtomicU64; Limit::ALL.len()],
    reports: Mutex<BTreeMap<(Limit, Option<IpAddr>), Report>>,
}

#[derive(Debug, Default)]
struct Report {
    /// Not reported yet.
    count: u64,
    /// When the next one may be.
    next_ns: u64,
}

impl Refusals {
    /// A limit was reached by a client.
    /// It takes a lock, which a client that is refused a thousand times a second pays for, and others do not meet.
    #[cold]
    pub fn note(&self, limit: Limit, client: Option<PeerAddress>) {
        self.counts[limit as usize].fetch_add(1, Ordering::Relaxed);
        self.report(limit, client.and_then(PeerAddress::block), 1);
    }

    /// A limit was reached so often by clients of an address, and was counted elsewhere.
    pub(crate) fn report(&self, limit: Limit, address: Option<IpAddr>, count: u64) {
        let mut reports = self.lock();
        let is_full = reports.len() >= REPORTS_MAX;
        let key = (limit, address.filter(|_| !is_full || reports.contains_key(&(limit, address))));
        reports.entry(key).or_default().count += count;
    }

    /// How often a limit was reached since the start, but for what threads count.
    pub(crate) fn count(&self, limit: Limit) -> u64 {
        self.counts[limit as usize].load(Ordering::Relaxed)
    }

    /// What is to be reported now. What was reported ten seconds ago, and did not happen again, is forgotten.
    pub fn take(&self, now_ns: u64) -> Vec<Reached> {
        let mut taken = Vec::new();
        self.lock().retain(|(limit, address), report| {
            if now_ns < report.next_ns {
                return true;
            }
            let count = std::mem::take(&mut report.count);
            report.next_ns = now_ns + PAUSE_NS;
            if count > 0 {
                taken.push(Reached { limit: *limit, address: *address, count });
            }
            count > 0
        });
        taken
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(Limit, Option<IpAddr>), Report>> {
        // The map is whole after every statement, so a panic leaves nothing half done.
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn client(number: u32) -> Option<PeerAddress> {
        Some(SocketAddr::from((number.to_be_bytes(), 50_000)).into())
    }

    #[test]
    fn limits_are_numbered_as_they_stand() {
        assert!(Limit::ALL.iter().enumerate().all(|(number, limit)| *limit as usize == number));
        let numbers = Limit::ALL.iter().filter_map(|limit| Some((limit.of_requesters()?, *limit)));
        assert!(numbers.eq(Limit::OF_REQUESTERS.into_iter().enumerate()));
    }

    #[test]
    fn one_report_in_ten_seconds_has_the_count() {
        let refusals = Refusals::default();
        let counts = |now_ns| refusals.take(now_ns).iter().map(|reached| reached.count).collect::<Vec<_>>();
        refusals.note(Limit::FailedBinds, client(1));
        assert_eq!(counts(5), [1]);
        (0..3).for_each(|_| refusals.note(Limit::FailedBinds, client(1)));
        refusals.note(Limit::Handshakes, client(1));
        assert_eq!(counts(6), [1], "the other limit");
        assert_eq!((counts(PAUSE_NS), counts(PAUSE_NS + 5)), (vec![], vec![3]));
        assert_eq!((counts(3 * PAUSE_NS), refusals.lock().len()), (vec![], 0), "and is forgotten");
        assert_eq!(refusals.count(Limit::FailedBinds), 4);
    }

    #[test]
    fn many_addresses_take_no_more_memory() {
        let refusals = Refusals::default();
        (0..REPORTS_MAX as u32 + 10).for_each(|number| refusals.note(Limit::Connections, client(number)));
        refusals.note(Limit::Connections, client(7));
        let reported = refusals.take(1);
        assert_eq!(reported.len(), REPORTS_MAX + 1);
        let count = |address: Option<IpAddr>| reported.iter().find(|r| r.address == address).unwrap().count;
        assert_eq!((count(None), count(client(7).unwrap().ip())), (10, 2));
    }
}
