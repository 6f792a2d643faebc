//! Unbind (RFC 4511 section 4.3): the client leaves, and waits for nothing.

use crate::session::{Phase, Session};

/// Ends the session; searches under way are given up. There is no answer.
pub(crate) fn run(session: &mut Session) {
    session.underway.clear();
    session.phase = Phase::Closing;
}
