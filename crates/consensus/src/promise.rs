//! What a follower promises its leader, which answers reads by it: for some time after each message of the leader it neither wants to lead
//! nor helps another to. The time is that of its own clock, and no number of ticks. A transfer of the leadership breaks the promise, so a
//! leader that has asked for one has no lease any more ([`crate::lease`]).

use crate::faults::{self, holes};
use env::planted;

/// Milliseconds that a promise holds.
pub(crate) const PROMISE_MS: u64 = 1_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Promise {
    until_ms: u64,
    /// A message was taken in the step whose time is known no better than that it is over: the next step says when.
    is_new: bool,
}

impl Promise {
    /// Of a replica that starts: it has forgotten what it promised.
    pub(crate) fn of_start() -> Promise {
        Promise { is_new: !planted::is(holes::VOTE_RIGHT_AFTER_START), ..Promise::default() }
    }

    /// A step begins. Whatever was taken before was taken by now; that the clock was looked at before it came would make the
    /// promise too short.
    pub(crate) fn begin_step(&mut self, now_ms: u64) {
        if std::mem::take(&mut self.is_new) {
            self.until_ms = now_ms + PROMISE_MS;
        }
    }

    /// A message of the leader is taken.
    pub(crate) fn renew(&mut self) {
        self.is_new = true;
    }

    /// Does it hold?
    pub(crate) fn holds(&self, now_ms: u64) -> bool {
        (self.is_new || now_ms < self.until_ms) && !planted::is(faults::TICK_DEBT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_from_the_step_after_the_message() {
        let mut promise = Promise::of_start();
        promise.begin_step(5);
        assert!(promise.holds(1_004) && !promise.holds(1_005));
        promise.begin_step(2_000);
        assert!(!promise.holds(2_000));
        promise.renew();
        assert!(promise.holds(9_000), "nobody knows when it was taken");
        promise.begin_step(9_000);
        assert!(promise.holds(9_999) && !promise.holds(10_000));
    }
}
