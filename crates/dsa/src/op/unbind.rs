//! Unbind (RFC 4511 section 4.3): the client leaves, and waits for nothing.

use crate::session::Session;

/// Ends the session; searches under way are given up. There is no answer.
pub(crate) fn run(session: &mut Session) {
    session.end();
}
