//! How fast a snapshot is written while the directory is served: throttled, but done before the next is due.

use crate::data::snapshot::Progress;

/// Pauses are as many times as long as the work before them, unless the snapshot is late.
const PAUSES: u64 = 7;
/// Nanoseconds within which a snapshot is to be written.
const TIME_NS: u64 = 30_000_000_000;
/// The share of the log up to the next snapshot within which this one is to be written.
const LOG_SHARE: (u64, u64) = (3, 4);

/// The pace of one snapshot. It knows no clock and no log: it is given both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    begun_ns: u64,
    /// Bytes of log when it began.
    log_begun: u64,
    /// Bytes of log within which it is to be done.
    log_bytes: u64,
}

impl Pace {
    /// Begins now, with so many bytes of log; the next snapshot is due after `log_bytes` more.
    pub(super) fn begin(now_ns: u64, log_begun: u64, log_bytes: u64) -> Pace {
        let (of, parts) = LOG_SHARE;
        Pace { begun_ns: now_ns, log_begun, log_bytes: log_bytes / parts * of }
    }

    /// Until when the writer pauses after it has worked from `since_ns` to `now_ns`.
    pub(super) fn pause_until_ns(&self, since_ns: u64, now_ns: u64) -> u64 {
        now_ns.saturating_add(now_ns.saturating_sub(since_ns).saturating_mul(PAUSES))
    }

    /// Is less written than there should be by now, with so many bytes of log?
    pub(super) fn is_late(&self, progress: Progress, now_ns: u64, log_bytes: u64) -> bool {
        let written = |of: u64| u128::from(progress.written) * u128::from(of);
        let wanted = |part: u64| u128::from(progress.total) * u128::from(part);
        wanted(now_ns.saturating_sub(self.begun_ns)) >= written(TIME_NS)
            || wanted(log_bytes.saturating_sub(self.log_begun)) >= written(self.log_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn half() -> Progress {
        Progress { written: 50 * MIB, total: 100 * MIB }
    }

    #[test]
    fn work_in_an_eighth_of_the_time_is_never_late() {
        let (pace, mut now_ns, mut written) = (Pace::begin(5, 7, 1 << 30), 5, 0);
        while written < 100 * MIB {
            let since_ns = now_ns;
            (now_ns, written) = (now_ns + 2_000_000, written + MIB);
            assert!(!pace.is_late(Progress { written, total: 100 * MIB }, now_ns, 7), "{written}");
            now_ns = pace.pause_until_ns(since_ns, now_ns);
        }
        assert_eq!(now_ns - 5, 100 * 16_000_000);
    }

    #[test]
    fn half_of_it_is_late_after_half_the_time_and_after_half_the_log_that_it_may_take() {
        let pace = Pace::begin(1_000, 64 * MIB, 256 * MIB);
        let is_late = |ns, log_bytes| pace.is_late(half(), 1_000 + ns, 64 * MIB + log_bytes);
        assert!(!is_late(0, 0));
        assert!(!is_late(TIME_NS / 2 - 1, 96 * MIB - 1));
        assert!(is_late(TIME_NS / 2, 0));
        assert!(is_late(0, 96 * MIB));
    }

    #[test]
    fn without_log_to_the_next_it_is_late_at_once_and_nothing_overflows() {
        assert!(Pace::begin(0, 0, 0).is_late(half(), 0, 0));
        let last = Progress { written: u64::MAX, total: u64::MAX };
        assert!(!Pace::begin(0, 0, u64::MAX).is_late(last, 1, 1));
        assert!(Pace::begin(0, 0, u64::MAX).is_late(last, u64::MAX, u64::MAX));
        assert_eq!(Pace::begin(0, 0, 0).pause_until_ns(0, u64::MAX), u64::MAX);
    }
}
