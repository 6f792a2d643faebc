//! How many seconds a member is behind: when entries were committed that it does not have.

use std::collections::VecDeque;

/// Points that are remembered: at most one for each [`APART_MS`].
const POINTS_MAX: usize = 1200;
/// Milliseconds between two points.
const APART_MS: u64 = 500;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lags {
    /// A time, and what was committed by then.
    points: VecDeque<(u64, u64)>,
}

impl Lags {
    /// So much is committed now.
    pub(super) fn note(&mut self, now_ms: u64, commit: u64) {
        if self.points.back().is_some_and(|(last, _)| now_ms < last + APART_MS) {
            return;
        }
        if self.points.len() == POINTS_MAX {
            self.points.pop_front();
        }
        self.points.push_back((now_ms, commit));
    }

    /// Seconds since something was committed that a member has not which has everything up to `matched`; not more than are remembered.
    pub(super) fn seconds(&self, now_ms: u64, matched: u64, commit: u64) -> f64 {
        if matched >= commit {
            return 0.0;
        }
        let since =
            self.points.iter().find(|(_, committed)| *committed > matched).map_or(now_ms, |(at, _)| *at);
        now_ms.saturating_sub(since) as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_behind_since_something_was_committed_that_it_has_not() {
        let mut lags = Lags::default();
        (0..10).for_each(|at| lags.note(at * 500, at));
        lags.note(4600, 99);
        assert_eq!([9, 8, 3].map(|matched| lags.seconds(5000, matched, 9)), [0.0, 0.5, 3.0]);
        assert_eq!(lags.seconds(5000, 9, 10), 0.0, "nobody has looked since");
    }
}
