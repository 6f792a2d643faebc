//! Requests between the steps of a SASL bind. A client waits for the end of its bind before it asks for anything else (RFC 4511 section
//! 4.2.1), so all but the next step is refused, and done by nobody.

use super::group;
use crate::outcome;
use crate::session::Session;
use crate::worker::Parts;
use model::ResultCode;
use proto::message::{Frame, Request, frame};
use proto::tag;

/// Answers requests that are no bind. Returns the bytes done with: the rest begins with a bind, or with a message that is not whole or cannot
/// be read.
#[cold]
pub(super) fn refuse_others(
    session: &mut Session,
    parts: &mut Parts<'_>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> usize {
    let mut at = 0;
    while let Ok(Frame::Complete { len }) = frame(&input[at..]) {
        let Ok(message) = group::decode(&input[at..at + len]) else { break };
        match message.request {
            Request::Bind(_) => break,
            Request::Unbind => {
                session.end();
                return at + len;
            }
            // There is nothing to abandon.
            Request::Abandon(_) => {}
            _ => {
                let response =
                    tag::response_to(message.request.tag()).expect("only those two have no answer");
                let text = "a SASL bind is in progress: its next step comes first";
                outcome::say(out, message.id, response, ResultCode::OperationsError, text);
            }
        }
        parts.counters.count_operation(&message.request);
        at += len;
    }
    at
}
