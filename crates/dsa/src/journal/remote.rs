//! Updates that another server of the cluster took from its client: what is handed to the one that leads, and where what became
//! of them goes.

use super::{Reply, Submission, Updates, messages};
use crate::audit::Origin;
use crate::parcel::{Condition, Front};
use model::ResultCode;
use proto::outline::Outline;
use proto::tag;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a server hands to the one that leads of updates whose rights it has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed<'a> {
    /// DN of who is recorded for them.
    pub actor: &'a [u8],
    /// Whole LDAPMessages with updates.
    pub messages: &'a [u8],
    /// What must be true when they are applied ([`Condition`]), encoded.
    pub conditions: &'a [u8],
    /// Where they came from.
    pub origin: Origin,
}

/// What became of updates that were handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They are applied: the answers.
    Applied(Vec<u8>),
    /// They were refused, or nobody knows: the answers. They are not proposed again here.
    Refused(Vec<u8>),
    /// They are not in the log, and will not be.
    NotProposed,
}

/// Where outcomes of updates of other servers are put, in the order in which they become known. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Returns(Arc<Mutex<Vec<(Front, Outcome)>>>);

impl Returns {
    fn lock(&self) -> MutexGuard<'_, Vec<(Front, Outcome)>> {
        // It is pushed to, or taken as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was put here since the last call.
    pub fn take(&self) -> Vec<(Front, Outcome)> {
        std::mem::take(&mut self.lock())
    }
}

/// Of a submission that came from another server.
#[derive(Debug)]
pub(super) struct Remote {
    front: Front,
    returns: Returns,
}

impl Remote {
    pub(super) fn put(self, outcome: Outcome) {
        self.returns.lock().push((self.front, outcome));
    }
}

/// Why updates cannot be handed over.
const TRANSACTION: &str =
    "this server does not lead the cluster: a transaction is ended at the one that does";
const SETTINGS: &str = "this server does not lead the cluster: settings are changed at the one that does";
const READS: &str = "this server does not lead the cluster: entries before and after an update (RFC 4527) are read at the one that does";

impl Updates {
    /// What the server that leads must know of them.
    ///
    /// # Errors
    /// Code and text of their refusal: more belongs to them than can be handed over.
    pub fn handed(&self) -> Result<Handed<'_>, (ResultCode, &'static str)> {
        let Submission { messages, conditions, actor, origin, settings, reader, end, marks, .. } =
            self.submission();
        assert!(marks.is_empty(), "no reads stand between updates where the log is replicated");
        let refusal = match (end, settings, reader) {
            (Some(_), ..) => TRANSACTION,
            (_, Some(_), _) => SETTINGS,
            (.., Some(_)) => READS,
            _ => return Ok(Handed { actor, messages, conditions, origin: origin.clone() }),
        };
        Err((ResultCode::UnwillingToPerform, refusal))
    }

    /// The updates that were handed over by another server; what becomes of them goes to `returns`.
    ///
    /// # Errors
    /// In words, what is wrong with them: no server hands that over.
    pub fn received(handed: &Handed<'_>, front: Front, returns: &Returns) -> Result<Updates, String> {
        let Handed { actor, messages, conditions, origin } = handed;
        let (mut bytes, mut adds) = (0, 0);
        for message in self::messages(messages) {
            let op_tag = Outline::of(message).map(|outline| outline.op_tag);
            if !matches!(op_tag, Some(tag::ADD | tag::DELETE | tag::MODIFY | tag::MODIFY_DN)) {
                return Err("it has a message that is no update".to_owned());
            }
            bytes += message.len();
            adds += usize::from(op_tag == Some(tag::ADD));
        }
        if bytes == 0 || bytes != messages.len() {
            return Err("it does not end with a whole message".to_owned());
        }
        Condition::all(conditions).try_for_each(|condition| condition.map(|_| ()))?;
        let submission = Submission {
            messages: messages.to_vec(),
            adds,
            conditions: conditions.to_vec(),
            actor: actor.to_vec(),
            origin: origin.clone(),
            remote: Some(Box::new(Remote { front, returns: returns.clone() })),
            ..Submission::default()
        };
        Ok(Updates(Some(Box::new(submission))))
    }

    /// Who took them from their client, if that was another server.
    pub fn front(&self) -> Option<Front> {
        self.submission().remote.as_ref().map(|remote| remote.front)
    }

    /// They are not in the log, and will not be: the server that they came from sends them again.
    ///
    /// # Panics
    /// If they came from a session here.
    pub fn return_unproposed(mut self) {
        let submission = self.0.take().expect("they are answered once");
        let remote = submission.remote.expect("they came from another server");
        remote.put(Outcome::NotProposed);
    }
}

/// Where answers go.
pub(super) enum Way {
    Session(Arc<Reply>),
    Server(Box<Remote>),
}

impl Submission {
    pub(super) fn take_way(&mut self) -> Way {
        match (self.reply.take(), self.remote.take()) {
            (Some(reply), None) => Way::Session(reply),
            (None, Some(remote)) => Way::Server(remote),
            _ => unreachable!("answers go one way, which was set when they were submitted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Waking;
    use proto::Request;

    const FRONT: Front = Front { node: 7, number: 3 };

    fn handed(messages: &[u8]) -> Handed<'_> {
        Handed { actor: b"cn=a", messages, conditions: &[], origin: Origin::default() }
    }

    #[test]
    fn what_becomes_of_them_goes_back() {
        let (mut messages, returns) = (Vec::new(), Returns::default());
        Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
        Request::Delete(b"cn=b").encode(&mut messages, 2, &[]);
        let received = || Updates::received(&handed(&messages), FRONT, &returns).unwrap();
        assert_eq!((received().front(), received().count(), received().adds()), (Some(FRONT), 2, 0));
        assert_eq!(received().handed(), Ok(handed(&messages)));
        let unknown = returns.take();
        assert!(
            unknown
                .iter()
                .all(|(_, outcome)| matches!(outcome, Outcome::Refused(answers) if !answers.is_empty()))
        );
        received().answer(vec![1], &mut Waking::default());
        received().return_unproposed();
        let expected = [(FRONT, Outcome::Applied(vec![1])), (FRONT, Outcome::NotProposed)];
        assert_eq!(returns.take(), expected);
    }

    #[test]
    fn what_no_server_hands_over_is_refused() {
        let (mut messages, returns) = (Vec::new(), Returns::default());
        Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
        let refused = |handed: &Handed<'_>| Updates::received(handed, FRONT, &returns).is_err();
        assert!(!refused(&handed(&messages)));
        assert!(refused(&handed(&[])) && refused(&handed(&messages[..messages.len() - 1])));
        assert!(refused(&Handed { conditions: &[1], ..handed(&messages) }));
        Request::Unbind.encode(&mut messages, 2, &[]);
        assert!(refused(&handed(&messages)));
        returns.take();
    }
}
