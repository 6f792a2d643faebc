//! Abandon (RFC 4511 section 4.11): the client does not want the rest of an answer. There is no answer to that.

use crate::session::Session;

/// Gives up the search with this message id, if it is under way. One that has written a part of a message goes on:
/// the client could not make sense of what follows.
pub(crate) fn run(session: &mut Session, target: i32) {
    session.underway.retain(|search| search.message_id() != target || search.is_in_message());
}
