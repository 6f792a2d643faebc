//! Counters. Each thread has its own, on its own cache lines; they are summed when somebody looks.

use crate::refusals::Limit;
use proto::message::Request;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Kinds of operations that are counted, in the order of [`Counters::operations`].
pub const OPERATIONS: [&str; 10] =
    ["Bind", "Unbind", "Search", "Compare", "Modify", "Modrdn", "Add", "Delete", "Abandon", "Extended"];

/// Where searches are counted.
pub(crate) const SEARCHES: usize = 2;
/// Where modifies are counted.
pub(crate) const MODIFIES: usize = 4;

/// What one thread counts.
#[repr(align(128))]
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections opened.
    pub connections_opened: AtomicU64,
    /// Connections closed.
    pub connections_closed: AtomicU64,
    /// Bytes of requests.
    pub bytes_in: AtomicU64,
    /// Bytes of answers.
    pub bytes_out: AtomicU64,
    /// Entries returned by searches.
    pub entries: AtomicU64,
    /// References returned by searches.
    pub references: AtomicU64,
    /// Operations begun, by kind ([`OPERATIONS`]).
    pub operations: [AtomicU64; 10],
    /// Searches that outlived their bundle and are not done yet.
    pub searches_suspended: AtomicU64,
    /// Bundles: reads of a socket that held at least one whole request.
    pub bundles: AtomicU64,
    /// Connections whose client has yet to take answers, as they were counted last.
    pub write_waiters: AtomicU64,
    /// How often each limit of requesters was reached.
    limited: [AtomicU64; Limit::OF_REQUESTERS.len()],
    /// The sum of these.
    limited_in_all: AtomicU64,
}

impl Counters {
    /// Counts a request by its kind.
    #[inline]
    pub(crate) fn count_operation(&self, request: &Request<'_>) {
        let kind = match request {
            Request::Bind(_) => 0,
            Request::Unbind => 1,
            Request::Search(_) => SEARCHES,
            Request::Compare(_) => 3,
            Request::Modify(_) => MODIFIES,
            Request::ModifyDn(_) => 5,
            Request::Add(_) => 6,
            Request::Delete(_) => 7,
            Request::Abandon(_) => 8,
            Request::Extended(_) => 9,
        };
        count(&self.operations[kind], 1);
    }

    /// Counts that a limit of a requester was reached.
    #[cold]
    pub(crate) fn limited(&self, limit: Limit) {
        let number = limit.of_requesters().expect("others are counted by all threads together");
        count(&self.limited[number], 1);
        count(&self.limited_in_all, 1);
    }

    /// How often a limit was reached, if it is one of requesters.
    pub(crate) fn reached(&self, limit: Limit) -> u64 {
        limit.of_requesters().map_or(0, |number| self.limited[number].load(Ordering::Relaxed))
    }

    /// How often any of them was reached.
    #[inline]
    pub(crate) fn limited_in_all(&self) -> u64 {
        self.limited_in_all.load(Ordering::Relaxed)
    }

    /// Counts from nothing again, of what a thread does for clients. Only for the thread itself.
    pub(crate) fn forget_operations(&self) {
        self.operations.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

/// All threads' counters.
#[derive(Debug, Default)]
pub struct Monitor {
    threads: Mutex<Vec<Arc<Counters>>>,
    /// Threads that serve connections.
    serving: AtomicU64,
}

impl Monitor {
    /// Counters for one more thread.
    pub(crate) fn register(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&counters));
        counters
    }

    /// One more thread serves connections.
    pub fn count_serving_thread(&self) {
        self.serving.fetch_add(1, Ordering::Relaxed);
    }

    /// Threads that serve connections.
    pub(crate) fn serving_threads(&self) -> u64 {
        self.serving.load(Ordering::Relaxed)
    }

    /// How often a limit of requesters was reached.
    pub(crate) fn reached(&self, limit: Limit) -> u64 {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().map(|counters| counters.reached(limit)).sum()
    }

    /// The sum over all threads of what `which` picks.
    pub fn sum(&self, which: impl Fn(&Counters) -> &AtomicU64) -> u64 {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().map(|counters| which(counters).load(Ordering::Relaxed)).sum()
    }
}

/// Adds to a counter that only this thread writes: a load and a store, no locked instruction. What is less than zero
/// goes round, so that a count can sink.
#[inline]
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
