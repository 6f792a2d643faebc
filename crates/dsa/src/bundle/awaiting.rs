//! Requests that look at the change log, and are run again when what they are to find is there ([`crate::op::awaited_changes`]).

use super::{Pending, ReadBatch};
use crate::change_log::awaited::{Awaited, Changes};
use crate::session::Session;

impl ReadBatch<'_> {
    /// Runs a request. `false` if it is to be run again, at another read point: what it looks for is not at this one.
    #[inline]
    pub(super) fn run(&mut self, session: &mut Session, pending: &Pending<'_>, out: &mut Vec<u8>) -> bool {
        if session.awaited == Awaited::Stored {
            self.scratch.changes = Changes::Stored;
        }
        self.run_once(session, pending, out);
        self.scratch.changes == Changes::Unasked || self.is_done(session)
    }

    /// Is a request done that looks at the change log? Else it may be run again at a new read point, or its session waits until it may.
    #[cold]
    fn is_done(&mut self, session: &mut Session) -> bool {
        let is_wanted = std::mem::take(&mut self.scratch.changes) == Changes::Wanted;
        let (log, last) = (&self.dsa.change_log, self.dsa.change_log.last());
        session.awaited = match is_wanted && !session.is_closing() {
            false => Awaited::Nothing,
            true if log.is_stored(last, self.now) => Awaited::Stored,
            true => Awaited::UpTo(last),
        };
        session.pauses |= session.awaited.is_pending();
        session.awaited == Awaited::Nothing
    }

    /// Is the request run again, so that it was counted before?
    #[inline]
    pub(super) fn is_again(&self) -> bool {
        self.scratch.passwords.is_again() || self.scratch.changes != Changes::Unasked
    }
}
