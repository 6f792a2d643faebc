//! After how much log, and after what time, a snapshot is made: settings of this server, which may change while it runs.

use super::queue::Queue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What stands for no number.
const NONE: u64 = u64::MAX;

/// When snapshots are due, as it is in force.
#[derive(Debug)]
pub struct SnapshotLimits {
    after: AtomicU64,
    interval_ms: AtomicU64,
    /// Whose committer looks when it changes.
    queue: Arc<Queue>,
}

impl SnapshotLimits {
    pub(super) fn new(after: Option<u64>, interval_ms: Option<u64>, queue: &Arc<Queue>) -> SnapshotLimits {
        SnapshotLimits {
            after: after.unwrap_or(NONE).into(),
            interval_ms: interval_ms.unwrap_or(NONE).into(),
            queue: Arc::clone(queue),
        }
    }

    /// Bytes of log, if it is not as many as the entries have.
    pub(super) fn after(&self) -> Option<u64> {
        some(&self.after)
    }

    /// Milliseconds, if it is time that counts, too.
    pub(super) fn interval_ms(&self) -> Option<u64> {
        some(&self.interval_ms)
    }

    /// These hold from now on, also for the time since the last snapshot.
    pub fn put(&self, after: Option<u64>, interval_ms: Option<u64>) {
        self.after.store(after.unwrap_or(NONE), Ordering::Relaxed);
        self.interval_ms.store(interval_ms.unwrap_or(NONE), Ordering::Relaxed);
        self.queue.wake();
    }
}

fn some(number: &AtomicU64) -> Option<u64> {
    Some(number.load(Ordering::Relaxed)).filter(|number| *number != NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_holds() {
        let of = SnapshotLimits::new(Some(7), None, &Arc::default());
        assert_eq!((of.after(), of.interval_ms()), (Some(7), None));
        of.put(None, Some(0));
        assert_eq!((of.after(), of.interval_ms()), (None, Some(0)));
    }
}
