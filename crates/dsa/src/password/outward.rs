//! Requests that wait for other servers: jobs as those of passwords, in a pool of their own, so that neither waits for the other.

use super::pool::Pool;
use crate::chaining::Chaining;
use model::limits::CHAINS_OF_SERVER;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What asks other servers, and the requests that wait for it.
pub(crate) struct Outward {
    pub(crate) chaining: Arc<dyn Chaining>,
    pub(crate) pool: Arc<Pool>,
    next: AtomicU64,
}

impl Outward {
    pub(crate) fn new(chaining: Arc<dyn Chaining>) -> Outward {
        Outward { chaining, pool: Arc::default(), next: AtomicU64::new(0) }
    }

    /// The place that a request takes among those that one server is asked at once. The pool works on one job of a place at a time.
    pub(crate) fn place(&self, server: u64) -> u64 {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % CHAINS_OF_SERVER;
        server.wrapping_mul(CHAINS_OF_SERVER).wrapping_add(turn)
    }
}
