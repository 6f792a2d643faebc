//! The sessions of a thread have turns: how much the searches of one may do in its turn.
//!
//! A session that has the thread to itself does a third of a millisecond at a time, so that what a turn costs is nothing beside it. Where another
//! one had the turn before, its client waits as long, so a turn is short. It gets longer as long as nobody else comes.

use crate::faults::holes;
use env::planted;

/// Units of work in the shortest slice, about 80 microseconds ([`store::search::work`]), and in the longest, four times as much. A turn has two at most:
/// one of searches that go on, and one of requests that wait behind them.
/// Work is counted, not timed: a clock read for each candidate would cost more than most candidates, and a count is the same in a simulation.
const WORK_MIN: u64 = 1 << 13;
const WORK_MAX: u64 = 1 << 15;

/// Units that must be left of a slice for another search to begin: most need less.
pub(crate) const LEAST_WORK: u64 = WORK_MIN / 8;

/// Turns of a thread.
#[derive(Default)]
pub(crate) struct Turns {
    /// How many sessions it has had.
    sessions: u64,
    /// The number of the session that had the last turn, and how much work its slices have.
    last: u64,
    work: u64,
    /// It is over: what that session does next is another turn.
    is_over: bool,
}

impl Turns {
    /// The number of a new session.
    pub(crate) fn join(&mut self) -> u64 {
        self.sessions += 1;
        self.sessions
    }

    /// The turn is over.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }

    /// Begins or goes on with the turn of a session: how many units of work a slice has in it.
    #[inline]
    pub(crate) fn slice_work(&mut self, session: u64) -> u64 {
        self.work = match self.last == session {
            false => WORK_MIN,
            true if self.is_over => (2 * self.work).min(WORK_MAX),
            true => self.work,
        };
        (self.last, self.is_over) = (session, false);
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
        let mut turn = |session| {
            let work = turns.slice_work(session);
            assert_eq!(turns.slice_work(session), work, "it is one turn");
            turns.end();
            work / WORK_MIN
        };
        assert_eq!([one, one, one, one].map(&mut turn), [1, 2, 4, 4]);
        assert_eq!([two, one, one, two, two].map(&mut turn), [1, 1, 2, 1, 2]);
    }
}
