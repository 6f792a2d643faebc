//! Abandon (RFC 4511 section 4.11): the client does not want the rest of an answer. There is no answer to that.
//! An update that was submitted is not abandoned: it is in the log, or on its way there, and nobody knows how far.

use crate::op::search::SuspendedSearch;
use std::collections::VecDeque;

/// Gives up the search with this message id, if it is active. One that has written a part of a message goes on:
/// the client could not make sense of what follows.
pub(crate) fn run(searches: &mut VecDeque<SuspendedSearch>, target: i32) {
    searches.retain(|search| search.message_id() != target || search.is_in_message());
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::system::tests::Fixture;
    use crate::{Session, State};
    use proto::Request;

    /// A session with a suspended search (message id 5) that has more to look at than one slice.
    pub(crate) fn searching(fixture: &mut Fixture) -> (Session, Vec<u8>) {
        for number in 0..1100 {
            let person = [("objectClass", &["person"][..]), ("sn", &["x"])];
            fixture.add(&format!("cn={number},dc=com"), &person);
        }
        let mut session = Session::new(&mut fixture.worker);
        session.identity = fixture.identity.clone();
        let search = proto::op::Search::unlimited(
            b"dc=com",
            model::Scope::Subtree,
            model::Filter::Present(b"sn"),
            proto::Octets::EMPTY,
        );
        let (mut input, mut out) = (Vec::new(), Vec::new());
        Request::Search(search).encode(&mut input, 5, &[]);
        assert_eq!(session.feed(&mut fixture.worker, &input, &mut out).state, State::Busy);
        (session, out)
    }

    /// Sends a request with message id 6.
    pub(crate) fn send(
        fixture: &mut Fixture,
        session: &mut Session,
        request: Request<'_>,
    ) -> (State, Vec<u8>) {
        let (mut input, mut out) = (Vec::new(), Vec::new());
        request.encode(&mut input, 6, &[]);
        (session.feed(&mut fixture.worker, &input, &mut out).state, out)
    }

    #[test]
    fn an_abandoned_search_says_nothing_more() {
        let mut fixture = Fixture::new();
        let (mut session, _) = searching(&mut fixture);
        assert_eq!(
            send(&mut fixture, &mut session, Request::Abandon(4)),
            (State::Busy, vec![]),
            "of another"
        );
        assert_eq!(send(&mut fixture, &mut session, Request::Abandon(5)), (State::Idle, vec![]));
        let mut out = Vec::new();
        assert_eq!((session.step(&mut fixture.worker, &mut out), out.len()), (State::Idle, 0));
    }

    #[test]
    fn unbind_ends_the_session_without_a_word() {
        let mut fixture = Fixture::new();
        let (mut session, _) = searching(&mut fixture);
        assert_eq!(send(&mut fixture, &mut session, Request::Unbind), (State::Close, vec![]));
        assert!(session.searches.is_empty());
    }
}
