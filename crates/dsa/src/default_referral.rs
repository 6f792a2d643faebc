//! Where the server sends requests for names that are in none of its naming contexts: the setting as it is in force. What an answer says is
//! made in [`crate::referral`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// URLs of the servers to which such requests are referred.
#[derive(Debug, Default)]
pub(crate) struct DefaultReferral {
    is_set: AtomicBool,
    /// Locked only for an answer and for a change.
    urls: Mutex<Vec<String>>,
}

impl DefaultReferral {
    /// As it was chosen at the start.
    pub(crate) fn new(urls: &[String]) -> DefaultReferral {
        let referral = DefaultReferral::default();
        referral.put(urls);
        referral
    }

    /// Puts others in force.
    pub(crate) fn put(&self, urls: &[String]) {
        *self.urls.lock().unwrap_or_else(PoisonError::into_inner) = urls.to_vec();
        self.is_set.store(!urls.is_empty(), Ordering::Release);
    }

    /// Is there a server to name?
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// The servers.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.urls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
