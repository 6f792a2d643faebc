//! Wall clocks of replicas, as the one that leads hears them. All numbers are milliseconds.

use super::report::{APART_MS, Now, Report};
use consensus::{Members, ReplicaId};
use std::collections::BTreeMap;

/// A clock is read by an answer that came within this time: it is wrong by half of that at most.
const ROUND_TRIP_MS: u64 = 200;
/// A jump of the own clock that is not followed before others were asked.
const JUMP_MS: u64 = 200;

/// Another one's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// By how much it is ahead of the own monotonic clock, which nobody sets.
    pub(super) ahead_ms: i64,
    pub(super) at_ms: u64,
}

impl Heard {
    /// `None` if the way was too long.
    pub(super) fn of(report: &Report, now: Now) -> Option<Heard> {
        let took_ms = now.monotonic_ms.checked_sub(report.asked_ms)?;
        let then = Now { monotonic_ms: report.asked_ms + took_ms / 2, wall_ms: report.wall_ms };
        (took_ms <= ROUND_TRIP_MS).then(|| Heard { ahead_ms: ahead_ms(then), at_ms: now.monotonic_ms })
    }
}

/// By how much a wall clock is ahead of the monotonic clock.
pub(super) fn ahead_ms(now: Now) -> i64 {
    now.wall_ms.cast_signed().saturating_sub(now.monotonic_ms.cast_signed())
}

/// The middle one of those that vote; between two if there are two.
pub(super) fn middle(clocks: &BTreeMap<ReplicaId, i64>, members: &Members) -> i64 {
    let votes = |(id, _): &(&ReplicaId, &i64)| members.voters.contains(id);
    let mut sorted: Vec<i64> = clocks.iter().filter(votes).map(|(_, ahead_ms)| *ahead_ms).collect();
    sorted.sort_unstable();
    match sorted.len() {
        0 => 0,
        count => i64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]),
    }
}

/// Does a majority of those that vote agree with the middle?
pub(super) fn agree(clocks: &BTreeMap<ReplicaId, i64>, members: &Members) -> bool {
    let agrees = |id: &&ReplicaId| clocks.get(id).is_some_and(|ahead_ms| ahead_ms.abs() < APART_MS);
    members.voters.iter().filter(agrees).count() > members.voters.len() / 2
}

/// The time by a majority's clocks. `expected_ms`: where the own clock would be without a jump since it was found to be `ahead_ms` ahead of those.
pub(super) fn corrected(wall_ms: u64, expected_ms: u64, ahead_ms: i64) -> u64 {
    let own_ms = if wall_ms.abs_diff(expected_ms) > JUMP_MS { expected_ms } else { wall_ms };
    match ahead_ms.abs() >= APART_MS {
        true => own_ms.saturating_add_signed(ahead_ms.saturating_neg()),
        false => own_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_counts_by_half_and_not_if_it_is_long() {
        let report = |asked_ms| Report { asked_ms, sync_us: 0, wall_ms: 5_000 };
        let heard = |asked_ms, monotonic_ms| Heard::of(&report(asked_ms), Now { monotonic_ms, wall_ms: 0 });
        assert_eq!(heard(900, 1_100), Some(Heard { ahead_ms: 4_000, at_ms: 1_100 }));
        assert_eq!(heard(900, 1_101), None);
        assert_eq!(heard(1_200, 1_100), None, "nobody was asked then");
    }

    #[test]
    fn a_jump_is_not_followed_and_what_is_apart_is_corrected() {
        assert_eq!(corrected(10_150, 10_000, 100), 10_150);
        assert_eq!(corrected(3_610_000, 10_000, 100), 10_000);
        assert_eq!(corrected(2_000, 10_000, 100), 10_000);
        assert_eq!(corrected(3_610_100, 3_610_000, 3_600_000), 10_100);
        assert_eq!(corrected(10_000, 10_000, -3_600_000), 3_610_000);
    }
}
