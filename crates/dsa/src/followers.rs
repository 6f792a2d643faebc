//! How many searches may follow changes, and how far behind one may be: settings of the directory.
//!
//! One that is slow costs the others nothing: the events are kept once for all, up to a bound, and it is sent away when those that it has not taken
//! are forgotten. So no search holds back the server, and the memory for all of them is known.

use model::limits::{FOLLOWERS_DEFAULT, SESSION_FOLLOWERS_DEFAULT, STREAM_BYTES_DEFAULT};
use std::sync::atomic::{AtomicUsize, Ordering};
use store::Shard;

/// As they were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Searches of all sessions.
    pub all: usize,
    /// Searches of one session.
    pub of_session: usize,
    /// Bytes of events that are kept for them.
    pub bytes: u64,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            all: FOLLOWERS_DEFAULT,
            of_session: SESSION_FOLLOWERS_DEFAULT,
            bytes: STREAM_BYTES_DEFAULT as u64,
        }
    }
}

/// As they are in force. The bytes are the store's, which has the events.
#[derive(Debug, Default)]
pub(crate) struct FollowerLimits {
    all: AtomicUsize,
    of_session: AtomicUsize,
}

impl FollowerLimits {
    /// Settings of a directory.
    pub(crate) fn new(choices: Choices, shard: &Shard) -> FollowerLimits {
        let limits = FollowerLimits::default();
        limits.put(choices, shard);
        limits
    }

    /// Puts others in force. Searches that follow by now go on.
    pub(crate) fn put(&self, choices: Choices, shard: &Shard) {
        self.all.store(choices.all, Ordering::Relaxed);
        self.of_session.store(choices.of_session, Ordering::Relaxed);
        shard.keep_events(usize::try_from(choices.bytes).unwrap_or(usize::MAX));
    }

    /// Searches of all sessions.
    pub(crate) fn all(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Searches of one session.
    pub(crate) fn of_session(&self) -> usize {
        self.of_session.load(Ordering::Relaxed)
    }
}
