//! How long own syncs take.

use super::report::SLOW_US;

/// Since it was last looked.
#[derive(Debug, Default)]
pub(super) struct SyncTimes {
    sum_us: u64,
    count: u64,
    /// When the one that is in progress began.
    begun_ms: Option<u64>,
}

impl SyncTimes {
    pub(super) fn begin(&mut self, now_ms: u64) {
        self.begun_ms = Some(now_ms);
    }

    pub(super) fn end(&mut self) {
        self.begun_ms = None;
    }

    pub(super) fn note(&mut self, us: u64) {
        (self.sum_us, self.count) = (self.sum_us.saturating_add(us), self.count + 1);
    }

    /// Microseconds of a sync on average, or of the one in progress if it has taken longer; forgets them. `None` if there was none.
    pub(super) fn take(&mut self, now_ms: u64) -> Option<u64> {
        let mean_us = self.sum_us.checked_div(self.count).map(|us| us.max(1));
        (self.sum_us, self.count) = (0, 0);
        let progress_us = self.begun_ms.map(|begun_ms| now_ms.saturating_sub(begun_ms) * 1_000);
        mean_us.max(progress_us.filter(|us| mean_us.is_some() || *us >= SLOW_US))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_in_progress_counts_when_it_takes_longer() {
        let mut syncs = SyncTimes::default();
        assert_eq!(syncs.take(5), None);
        syncs.begin(10);
        assert_eq!(syncs.take(15), None, "it may end soon");
        assert_eq!(syncs.take(210), Some(200_000));
        syncs.note(300_000);
        syncs.end();
        assert_eq!(syncs.take(400), Some(300_000));
        syncs.begin(400);
        syncs.note(100);
        syncs.note(300);
        syncs.end();
        assert_eq!((syncs.take(500), syncs.take(500)), (Some(200), None));
    }
}
