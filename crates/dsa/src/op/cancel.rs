//! Cancel (RFC 3909): a search that is active ends with canceled, and the cancel is answered. Nothing else is active while a request of the same
//! session is run: updates and binds are answered first, so there is nothing of theirs to cancel.

use crate::faults::holes;
use crate::identity::Identity;
use crate::op::search::SuspendedSearch;
use crate::outcome;
use env::planted;
use model::ResultCode;
use proto::ext::cancel;
use proto::tag::EXTENDED_RESPONSE;
use std::collections::VecDeque;

/// Ends the search that the request names. Its last message comes before the answer to the request (RFC 3909 section 2).
/// `session` is as whom the session is bound, `acting` as whom the request is made, if it says so (RFC 4370). A search of another user goes on
/// (section 4).
pub(crate) fn run(
    searches: &mut VecDeque<SuspendedSearch>,
    (session, acting): (&Identity, Option<&Identity>),
    id: i32,
    value: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let Some(Ok(target)) = value.map(cancel::decode) else {
        let text = "the value of a cancel is the message id of an operation";
        return outcome::say(out, id, EXTENDED_RESPONSE, ResultCode::ProtocolError, text);
    };
    let found = searches.iter().position(|search| search.message_id() == target);
    let user = &acting.unwrap_or(session).dn;
    let is_anothers = found.is_some_and(|at| searches[at].user(session) != user);
    if is_anothers && !planted::is(holes::CANCEL_NOT_JUDGED) {
        let text = "the operation belongs to another user";
        return outcome::say(out, id, EXTENDED_RESPONSE, ResultCode::CannotCancel, text);
    }
    match found.and_then(|at| searches.remove(at)) {
        Some(search) => {
            search.cancel(out);
            outcome::succeed(out, id, EXTENDED_RESPONSE);
        }
        None => {
            let text = "no active operation has this message id";
            outcome::say(out, id, EXTENDED_RESPONSE, ResultCode::NoSuchOperation, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;
    use crate::op::abandon::tests::{searching, send};
    use crate::system::tests::Fixture;
    use proto::Request;
    use proto::message::{Frame, Reply, Response, frame};
    use proto::op::Extended;

    /// Message ids and codes of what ends operations.
    fn ends(mut out: &[u8]) -> Vec<(i32, ResultCode)> {
        let mut ends = Vec::new();
        while let Ok(Frame::Complete { len }) = frame(out) {
            let reply = Reply::decode(&out[..len]).expect("it is an answer");
            match reply.response {
                Response::Done(_, result) => ends.push((reply.id, result.result_code().unwrap())),
                Response::Extended(response) => ends.push((reply.id, response.result.result_code().unwrap())),
                _ => {}
            }
            out = &out[len..];
        }
        ends
    }

    /// RFC 3909 section 2: "the Cancel operation [...] requires that the operation be responded to", with canceled, and so is the cancel.
    #[test]
    fn rfc3909_s2_a_canceled_search_and_the_cancel_are_answered() {
        let mut fixture = Fixture::new();
        let (mut session, _) = searching(&mut fixture);
        let mut ask = |value: Option<&[u8]>| {
            let (state, out) =
                send(&mut fixture, &mut session, Request::Extended(Extended { oid: cancel::OID, value }));
            (state, ends(&out))
        };
        let refused = |code| (State::Busy, vec![(6, code)]);
        for wrong in [None, Some(&b""[..]), Some(&[2, 1, 5])] {
            assert_eq!(ask(wrong), refused(ResultCode::ProtocolError), "{wrong:?}");
        }
        // "noSuchOperation [...] the server has no knowledge of the operation": not even of the cancel itself.
        for other in [4, 6] {
            assert_eq!(ask(Some(&cancel::encode(other))), refused(ResultCode::NoSuchOperation));
        }
        let both = vec![(5, ResultCode::Canceled), (6, ResultCode::Success)];
        assert_eq!(ask(Some(&cancel::encode(5))), (State::Idle, both));
        assert_eq!(
            ask(Some(&cancel::encode(5))),
            (State::Idle, vec![(6, ResultCode::NoSuchOperation)]),
            "it has ended"
        );
        let mut out = Vec::new();
        assert_eq!((session.step(&mut fixture.worker, &mut out), out.len()), (State::Idle, 0));
    }
}
