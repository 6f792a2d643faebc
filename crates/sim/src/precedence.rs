//! Who gives way to whom, in the plainest words: what the open transaction of each session is about, by name.

use crate::answers::Answer;
use crate::requests::{Bundle, Sent};
use model::ResultCode;
use std::collections::BTreeSet;

/// See the module. What the server answers must be what this says.
#[derive(Debug)]
pub struct Precedence {
    sessions: Vec<Session>,
    /// Transactions that were given up for another's sake.
    pub preempted: u64,
    /// Updates that were answered with a request to try again.
    pub gave_way: u64,
}

#[derive(Clone, Debug, Default)]
struct Session {
    rank: u8,
    /// Names of the entries that its open transaction is about.
    held: BTreeSet<String>,
    state: State,
    /// What it sent last: the first has the message id 1.
    asked: Vec<Awaited>,
}

/// What became of a session's transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// It holds an entry that a transaction with higher precedence needs.
    Preempted,
    /// It is over, and its client knows.
    Over,
}

#[derive(Clone, Debug)]
enum Awaited {
    /// An update of the transaction, of entries with these names.
    Member(Vec<String>),
    /// An update by itself, and whether it has to give way.
    Alone(bool),
    Commit,
    /// The session begins anew: nothing is reported of the transaction from then on.
    Bind,
    Other,
}

impl Precedence {
    /// So many sessions, none of which has precedence over another.
    pub fn new(sessions: usize) -> Precedence {
        Precedence { sessions: vec![Session::default(); sessions], preempted: 0, gave_way: 0 }
    }

    /// A new incarnation of the server: nothing is open. The one that has the higher rank has precedence over.
    pub fn begin(&mut self, ranks: &[u8]) {
        for (session, rank) in self.sessions.iter_mut().zip(ranks) {
            *session = Session { rank: *rank, ..Session::default() };
        }
    }

    /// Must the open transaction of a session come to nothing?
    pub fn is_over(&self, session: usize) -> bool {
        self.sessions[session].state != State::Open
    }

    /// A session sends a bundle.
    pub fn on_sent(&mut self, session: usize, bundle: &Bundle) {
        let mut asked = Vec::new();
        for (sent, about) in bundle.sent.iter().zip(&bundle.about) {
            asked.push(match sent {
                Sent::Commit => Awaited::Commit,
                Sent::Bind => Awaited::Bind,
                _ if about.names.is_empty() => Awaited::Other,
                // Whether it is looked at depends on what is open by then: its answer, which comes at once, tells.
                _ if about.is_member => Awaited::Member(about.names.clone()),
                _ => Awaited::Alone(!self.touch(session, &about.names, false)),
            });
        }
        self.sessions[session].asked = asked;
    }

    /// A session gets answers.
    ///
    /// # Errors
    /// In words: they are not what its precedence gives it.
    pub fn on_answers(&mut self, session: usize, answers: &[Answer]) -> Result<(), String> {
        for answer in answers {
            match answer {
                Answer::Done(id, code) => self.on_done(session, *id, *code)?,
                Answer::Extended(id, code, _) => self.on_extended(session, *id, *code)?,
                Answer::Aborted(identifier, code) => {
                    let this = &mut self.sessions[session];
                    match (this.state, code) {
                        (State::Preempted, ResultCode::Busy)
                        | (State::Open, ResultCode::TimeLimitExceeded) => {}
                        (state, code) => {
                            let identifier = String::from_utf8_lossy(identifier);
                            return Err(format!(
                                "session {session} is answered {code:?} for its transaction {identifier}, which is {state:?}"
                            ));
                        }
                    }
                    (this.state, this.held) = (State::Over, BTreeSet::new());
                }
                Answer::Entry(..) | Answer::Age(..) => {}
            }
        }
        // Whose end was asked for is in nobody's way any more.
        let this = &mut self.sessions[session];
        if this.asked.iter().any(|asked| matches!(asked, Awaited::Commit)) {
            this.held.clear();
        }
        Ok(())
    }

    fn on_done(&mut self, session: usize, id: usize, code: ResultCode) -> Result<(), String> {
        let is_busy = code == ResultCode::Busy;
        let (names, must_be_busy) = match self.asked(session, id) {
            Awaited::Alone(must_be_busy) => (Vec::new(), must_be_busy),
            // Nothing is open that it could belong to, or it has no room.
            Awaited::Member(_) if matches!(code, ResultCode::Canceled | ResultCode::AdminLimitExceeded) => {
                return Ok(());
            }
            Awaited::Member(names) => {
                self.expect_notified(session)?;
                let must_be_busy = !self.touch(session, &names, true);
                (names, must_be_busy)
            }
            Awaited::Bind => {
                let this = &mut self.sessions[session];
                (this.state, this.held) = (State::Over, BTreeSet::new());
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.gave_way += u64::from(is_busy);
        match is_busy == must_be_busy {
            true => Ok(()),
            false => Err(format!(
                "session {session} is answered {code:?} to {id} {names:?}; does one have higher precedence? {must_be_busy}"
            )),
        }
    }

    fn on_extended(&mut self, session: usize, id: usize, code: ResultCode) -> Result<(), String> {
        if !matches!(self.asked(session, id), Awaited::Commit) {
            return Ok(());
        }
        self.expect_notified(session)?;
        let this = &mut self.sessions[session];
        if this.state == State::Over && code != ResultCode::Canceled {
            return Err(format!(
                "the transaction of session {session} is over, and its end answered {code:?}"
            ));
        }
        (this.state, this.held) = (State::Open, BTreeSet::new());
        Ok(())
    }

    fn expect_notified(&self, session: usize) -> Result<(), String> {
        match self.sessions[session].state {
            State::Preempted => {
                Err(format!("session {session} is not notified that its transaction was given up"))
            }
            State::Open | State::Over => Ok(()),
        }
    }

    fn asked(&self, session: usize, id: usize) -> Awaited {
        self.sessions[session].asked.get(id.wrapping_sub(1)).cloned().unwrap_or(Awaited::Other)
    }

    /// A session updates entries. `false` if it has to give way.
    fn touch(&mut self, session: usize, names: &[String], is_member: bool) -> bool {
        let rank = self.sessions[session].rank;
        for name in names {
            let mut others: Vec<&mut Session> = self.sessions.iter_mut().collect();
            let this = others.remove(session);
            others.retain(|other| other.state == State::Open && other.held.contains(name));
            if others.iter().any(|other| other.rank > rank) {
                return false;
            }
            for other in others.into_iter().filter(|other| other.rank < rank) {
                other.state = State::Preempted;
                self.preempted += 1;
            }
            if is_member {
                this.held.insert(name.clone());
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::op::ModifyKind;

    const ENTRY: &str = "cn=a,dc=x";

    fn update(identifier: Option<&str>) -> Bundle {
        let transaction = identifier.map(|text| text.as_bytes().to_vec());
        let mut bundle = Bundle { transaction, ..Bundle::default() };
        bundle.modify(ENTRY, ModifyKind::Replace, "cn", &["a"], Sent::Member);
        bundle
    }

    /// Two sessions, the second of which has a transaction open that is about the entry.
    fn two(ranks: [u8; 2]) -> Precedence {
        let mut precedence = Precedence::new(2);
        precedence.begin(&ranks);
        precedence.on_sent(1, &update(Some("1")));
        assert_eq!(precedence.on_answers(1, &[Answer::Done(1, ResultCode::Success)]), Ok(()));
        precedence
    }

    /// What is said of the answer to an update of the first session, in a transaction or not.
    fn says(ranks: [u8; 2], identifier: Option<&str>, code: ResultCode) -> (bool, bool) {
        let mut precedence = two(ranks);
        precedence.on_sent(0, &update(identifier));
        let is_right = precedence.on_answers(0, &[Answer::Done(1, code)]).is_ok();
        (is_right, precedence.is_over(1))
    }

    #[test]
    fn an_answer_that_precedence_does_not_give_is_noticed() {
        for identifier in [None, Some("7")] {
            assert_eq!(says([1, 1], identifier, ResultCode::Success), (true, false));
            assert_eq!(says([1, 1], identifier, ResultCode::Busy), (false, false));
            assert_eq!(says([2, 1], identifier, ResultCode::NoSuchObject), (true, true));
            assert!(!says([2, 1], identifier, ResultCode::Busy).0);
            assert_eq!(says([1, 2], identifier, ResultCode::Busy), (true, false));
            assert_eq!(says([1, 2], identifier, ResultCode::Success), (false, false));
        }
    }

    #[test]
    fn a_preempted_transaction_that_is_committed_or_not_reported_is_noticed() {
        let end = |ranks, answers: &[Answer]| {
            let mut precedence = two(ranks);
            precedence.on_sent(0, &update(None));
            let mut bundle = Bundle::default();
            bundle.end(b"1", true);
            precedence.on_sent(1, &bundle);
            precedence.on_answers(1, answers).is_ok()
        };
        let notice = |code| Answer::Aborted(b"1".to_vec(), code);
        let ended = |code| Answer::Extended(1, code, None);
        let (busy, canceled) = (notice(ResultCode::Busy), ended(ResultCode::Canceled));
        assert!(end([2, 1], &[busy.clone(), canceled.clone()]));
        assert!(!end([2, 1], std::slice::from_ref(&canceled)), "it was not notified");
        assert!(!end([2, 1], &[busy.clone(), ended(ResultCode::Success)]));
        assert!(!end([2, 1], &[ended(ResultCode::Success)]));
        assert!(end([1, 1], &[ended(ResultCode::Success)]));
        assert!(!end([1, 1], &[busy, canceled.clone()]), "it was in nobody's way");
        assert!(end([1, 1], &[notice(ResultCode::TimeLimitExceeded), canceled]));
    }
}
