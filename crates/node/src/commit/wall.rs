//! The wall clock as commands get it. A change's number (CSN) follows the clock and never goes back, so a clock that is far ahead for a
//! moment would date all later changes, for ever. Times that are too far ahead are not followed: changes are taken with
//! the last good time, as they are where a clock goes back. To refuse them would stop a service whose data is well.

use crate::faults::holes::CLOCK_NOT_CLAMPED;
use env::planted;
use model::csn::EPOCH_UNIX_MS;

const DAY_MS: u64 = 24 * 3600 * 1000;
/// A jump of the clock that is reported.
const JUMP_MS: u64 = DAY_MS;
/// A jump ahead that is not followed: twenty years after the last change. A directory may have lain for some years.
const FOLLOWED_MS: u64 = 20 * 365 * DAY_MS;
/// Where CSNs end: 42 bits of milliseconds.
const END_MS: u64 = EPOCH_UNIX_MS + (1 << 42) - 1;

/// See the module. Times are milliseconds, of Unix time and of the monotonic clock.
#[derive(Debug)]
pub(super) struct Wall {
    /// The last time that was given.
    last_ms: u64,
    /// When that was; `None` before a start: then nobody knows how much later it is now.
    monotonic_ms: Option<u64>,
    /// The clock is too far ahead, which was reported.
    is_reported: bool,
}

impl Wall {
    /// `last_ms` is the time of the last change, before 2020 if there was none.
    pub(super) fn new(last_ms: u64) -> Wall {
        Wall { last_ms, monotonic_ms: None, is_reported: false }
    }

    /// The time of a change that is taken now.
    pub(super) fn time(&mut self, wall_ms: u64, monotonic_ms: u64) -> u64 {
        let passed_ms = self.monotonic_ms.map(|last| monotonic_ms.saturating_sub(last));
        let expected_ms = self.last_ms.saturating_add(passed_ms.unwrap_or(0));
        // A machine without a battery begins in 1970 and is set right later.
        let is_known = self.last_ms > EPOCH_UNIX_MS;
        let is_clamped = !planted::is(CLOCK_NOT_CLAMPED);
        let is_beyond =
            is_clamped && (is_known && wall_ms > expected_ms.saturating_add(FOLLOWED_MS) || wall_ms > END_MS);
        let now_ms = if is_beyond { expected_ms.clamp(EPOCH_UNIX_MS, END_MS) } else { wall_ms };
        if is_beyond && !self.is_reported {
            let (clock, given) = (model::timestamp(wall_ms), model::timestamp(now_ms));
            tracing::warn!(
                "the clock is too far ahead, at {clock}: changes are dated from {given} on until it is corrected"
            );
        } else if self.is_reported && !is_beyond {
            tracing::warn!("the clock is at {}: changes are dated by it again", model::timestamp(wall_ms));
        } else if is_known && passed_ms.is_some() && wall_ms.abs_diff(expected_ms) > JUMP_MS && !is_beyond {
            let (before, now) = (model::timestamp(expected_ms), model::timestamp(wall_ms));
            tracing::warn!(
                "the clock jumped from {before} to {now}; changes are dated by it where it is ahead"
            );
        }
        (self.is_reported, self.monotonic_ms) = (is_beyond, Some(monotonic_ms));
        assert!(now_ms <= END_MS, "a CSN has room for the time that is given");
        self.last_ms = now_ms;
        now_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_795_000_000_000;
    const YEAR_MS: u64 = 365 * DAY_MS;

    #[test]
    fn a_clock_that_is_far_ahead_for_a_moment_dates_nothing() {
        let mut wall = Wall::new(NOW_MS - YEAR_MS);
        assert_eq!(wall.time(NOW_MS, 100), NOW_MS);
        for (later_ms, years) in [(5, 174), (6, 25), (7, 1000)] {
            assert_eq!(wall.time(NOW_MS + years * YEAR_MS, 100 + later_ms), NOW_MS + later_ms, "{years}");
            assert!(wall.is_reported);
        }
        assert_eq!(wall.time(NOW_MS + 9, 109), NOW_MS + 9, "it is set right");
        assert!(!wall.is_reported);
        assert_eq!(wall.time(NOW_MS + 10 * YEAR_MS, 110), NOW_MS + 10 * YEAR_MS, "that may be right");
        assert_eq!(wall.time(NOW_MS, 111), NOW_MS, "back: the CSNs see to that");
    }

    #[test]
    fn at_a_start_the_last_change_is_what_is_known() {
        assert_eq!(Wall::new(NOW_MS).time(NOW_MS + 15 * YEAR_MS, 1), NOW_MS + 15 * YEAR_MS);
        assert_eq!(Wall::new(NOW_MS).time(NOW_MS + 25 * YEAR_MS, 1), NOW_MS);
        assert_eq!(Wall::new(0).time(NOW_MS, 1), NOW_MS, "an empty directory");
        assert_eq!(Wall::new(0).time(NOW_MS + 200 * YEAR_MS, 1), EPOCH_UNIX_MS, "no CSN is as late");
        let mut without_battery = Wall::new(0);
        assert_eq!(without_battery.time(0, 1), 0);
        assert_eq!(without_battery.time(NOW_MS, 2), NOW_MS);
    }
}
