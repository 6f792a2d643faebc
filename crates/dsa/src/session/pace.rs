//! How fast a client may go, if a rule says so: token buckets of requests and of bytes of answers, each as large as a second of its rate.
//! They belong to the session, so nothing of them is shared.
//!
//! A session that has taken more than it had is not gone on with until that is made up for: its connection does not read, and
//! the client's own socket fills. No request is refused.

use crate::faults::holes;
use crate::monitor::Counters;
use crate::refusals::Limit;
use env::planted;

/// What a bucket holds: a second of its rate.
const BURST_NS: u64 = 1_000_000_000;
/// One answer may have more bytes than a bucket, and is never cut. A client waits no longer for that than a minute.
const PAUSE_MAX_NS: u64 = 60 * 1_000_000_000;

/// The rates of a session.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    requests: Bucket,
    bytes: Bucket,
}

/// A token bucket, as the time at which it would be full again.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// Tokens of a second; 0: it is not kept.
    rate: u32,
    /// When it is full, if nothing more is taken.
    full_ns: u64,
}

impl Bucket {
    /// Takes tokens, also more than there are.
    fn take(&mut self, tokens: u64, now_ns: u64) {
        if self.rate == 0 || planted::is(holes::RATE_NOT_KEPT) {
            return;
        }
        let cost_ns = tokens.saturating_mul(1_000_000_000) / u64::from(self.rate);
        let full_ns = self.full_ns.max(now_ns).saturating_add(cost_ns);
        self.full_ns = full_ns.min(now_ns.saturating_add(BURST_NS + PAUSE_MAX_NS));
    }

    /// Since when it has something, or from when on it will.
    fn due_ns(&self) -> u64 {
        if self.rate == 0 { 0 } else { self.full_ns.saturating_sub(BURST_NS) }
    }
}

impl Pace {
    /// These rates hold from now on. What was taken stays taken, so a client gains nothing by another bind.
    pub(super) fn set(&mut self, requests: u32, bytes: u32) {
        (self.requests.rate, self.bytes.rate) = (requests, bytes);
    }

    /// Counts requests.
    pub(super) fn take_requests(&mut self, requests: usize, now_ns: u64) {
        self.requests.take(requests as u64, now_ns);
    }

    /// Counts bytes of answers, and a pause if one is due by now.
    pub(super) fn take_bytes(&mut self, bytes: usize, now_ns: u64, counters: &Counters) {
        self.bytes.take(bytes as u64, now_ns);
        for (bucket, limit) in [(self.requests, Limit::Rate), (self.bytes, Limit::BytesPerSecond)] {
            if bucket.due_ns() > now_ns {
                counters.limited(limit);
            }
        }
    }

    /// When it is gone on with.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.requests.due_ns().max(self.bytes.due_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_bucket_holds_a_second_of_its_rate() {
        let mut pace = Pace::default();
        // Also when the clock has just begun.
        let now = SECOND / 3;
        pace.take_requests(1000, now);
        assert_eq!(pace.due_ns(), 0, "there is no rate");
        pace.set(10, 0);
        pace.take_requests(10, now);
        assert!(pace.due_ns() <= now, "all that it holds");
        pace.take_requests(1, now);
        assert_eq!(pace.due_ns(), now + SECOND / 10);
        // Another rate forgives nothing.
        pace.set(10, 1000);
        assert_eq!(pace.due_ns(), now + SECOND / 10);
        // After a long time it holds no more than it can.
        pace.take_requests(20, now + 50 * SECOND);
        assert_eq!(pace.due_ns(), now + 51 * SECOND);
        pace.take_bytes(usize::MAX, now, &Counters::default());
        assert_eq!(pace.due_ns(), now + 60 * SECOND, "a pause has an end");
        pace.set(0, 0);
        assert_eq!(pace.due_ns(), 0);
    }
}
