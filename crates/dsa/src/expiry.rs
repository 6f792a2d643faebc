//! When dynamic entries are looked through whose time may be over, and how far that has come. [`crate::Worker::delete_expired`] does it.

use std::sync::{Mutex, MutexGuard, TryLockError, Weak};

/// Nanoseconds between two looks. Clients count in seconds, so a shorter time would promise what they cannot see.
const PERIOD_NS: u64 = 1_000_000_000;

/// What is kept between two looks.
#[derive(Default)]
pub(crate) struct Round {
    /// No look before this time of the monotonic clock.
    due_ns: u64,
    /// Where the next look begins, by the id of an entry.
    pub(crate) from: u32,
    /// Deletes that have gone to the log: they are there until they are answered.
    pub(crate) outstanding: Option<Weak<dyn Send + Sync>>,
}

impl Round {
    /// Wait deletes for their answers? A log that stands still would else collect the same deletes again each second.
    pub(crate) fn waits(&self) -> bool {
        self.outstanding.as_ref().is_some_and(|deletes| deletes.strong_count() > 0)
    }
}

/// One for all threads. The first one in a second has the look; the others go on at once, for none of them waits for a lock here.
#[derive(Default)]
pub(crate) struct Expiry(Mutex<Round>);

impl Expiry {
    /// The round, if it is time for a look and no other thread is at it.
    pub(crate) fn begin(&self, now_ns: u64) -> Option<MutexGuard<'_, Round>> {
        let mut round = match self.0.try_lock() {
            Ok(round) => round,
            // A number and a pointer are whole after every statement.
            Err(TryLockError::Poisoned(round)) => round.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (now_ns >= round.due_ns).then(|| {
            round.due_ns = now_ns + PERIOD_NS;
            round
        })
    }
}
