//! The sessions of a thread have turns: how much the searches of one may do in its turn.
//!
//! A session that has the thread to itself does a third of a millisecond at a time, so that what a turn costs is nothing beside it. Where another
//! one had the turn before, its client waits as long, so a turn is short. It gets longer as long as nobody else comes.

use crate::faults::holes;
use env::planted;

/// Units of work in the shortest turn, about 80 microseconds ([`store::search::work`]), and in the longest, four times as much.
/// Work is counted, not timed: a clock read for each candidate would cost more than most candidates, and a count is the same in a simulation.
const WORK_MIN: u64 = 1 << 13;
const WORK_MAX: u64 = 1 << 15;

/// Units that must be left of a turn's for another search to begin: most that end in one turn need less.
pub(crate) const LEAST_WORK: u64 = WORK_MIN / 8;

/// Turns of a thread.
#[derive(Default)]
pub(crate) struct Turns {
    /// How many sessions it has had.
    sessions: u64,
    /// The number of the session that had the last turn, and how much its searches were allowed.
    last: u64,
    work: u64,
}

impl Turns {
    /// The number of a new session.
    pub(crate) fn join(&mut self) -> u64 {
        self.sessions += 1;
        self.sessions
    }

    /// Begins a turn of a session: how many units of work its searches may do in it, all together.
    #[inline]
    pub(crate) fn begin(&mut self, session: u64) -> u64 {
        self.work = if self.last == session { (2 * self.work).min(WORK_MAX) } else { WORK_MIN };
        self.last = session;
        if planted::is(holes::SLICES_NOT_ENDED) { u64::MAX } else { self.work }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_short_where_others_have_theirs() {
        let mut turns = Turns::default();
        let (one, two) = (turns.join(), turns.join());
        let mut begin = |session| turns.begin(session) / WORK_MIN;
        assert_eq!([one, one, one, one].map(&mut begin), [1, 2, 4, 4]);
        assert_eq!([two, one, one, two, two].map(&mut begin), [1, 1, 2, 1, 2]);
    }
}
