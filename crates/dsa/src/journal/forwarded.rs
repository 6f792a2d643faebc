//! Updates become what another server is sent of them, and are made of it again there.

use super::remote::{Forwarded, Remote};
use super::{Outcome, Returns, Submission, Updates, messages};
use crate::parcel::{Condition, Front};
use model::ResultCode;
use proto::outline::Outline;
use proto::tag;

/// Why updates cannot be forwarded.
const TRANSACTION: &str =
    "this server does not lead the cluster: a transaction is ended at the one that does";
const SETTINGS: &str = "this server does not lead the cluster: settings are changed at the one that does";
const READS: &str = "this server does not lead the cluster: entries before and after an update (RFC 4527) are read at the one that does";

impl Updates {
    /// What the server that leads must know of them.
    ///
    /// # Errors
    /// Code and text of their refusal: more belongs to them than can be forwarded.
    pub fn forwarded(&self) -> Result<Forwarded<'_>, (ResultCode, &'static str)> {
        let Submission { messages, conditions, actor, origin, settings, reader, end, marks, .. } =
            self.submission();
        assert!(marks.is_empty(), "no reads stand between updates where the log is replicated");
        let refusal = match (end, settings, reader) {
            (Some(_), ..) => TRANSACTION,
            (_, Some(_), _) => SETTINGS,
            (.., Some(_)) => READS,
            _ => return Ok(Forwarded { actor, messages, conditions, origin: origin.clone() }),
        };
        Err((ResultCode::UnwillingToPerform, refusal))
    }

    /// The updates that were forwarded by another server; what becomes of them goes to `returns`.
    ///
    /// # Errors
    /// In words, what is wrong with them: no server forwards that.
    pub fn received(forwarded: &Forwarded<'_>, front: Front, returns: &Returns) -> Result<Updates, String> {
        let Forwarded { actor, messages, conditions, origin } = forwarded;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Waking;
    use crate::audit::Origin;
    use proto::Request;

    const FRONT: Front = Front { node: 7, number: 3 };

    fn forwarded(messages: &[u8]) -> Forwarded<'_> {
        Forwarded { actor: b"cn=a", messages, conditions: &[], origin: Origin::default() }
    }

    #[test]
    fn what_becomes_of_them_goes_back() {
        let (mut messages, returns) = (Vec::new(), Returns::default());
        Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
        Request::Delete(b"cn=b").encode(&mut messages, 2, &[]);
        let received = || Updates::received(&forwarded(&messages), FRONT, &returns).unwrap();
        assert_eq!((received().front(), received().count(), received().adds()), (Some(FRONT), 2, 0));
        assert_eq!(received().forwarded(), Ok(forwarded(&messages)));
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
    fn what_no_server_forwards_is_refused() {
        let (mut messages, returns) = (Vec::new(), Returns::default());
        Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
        let refused = |forwarded: &Forwarded<'_>| Updates::received(forwarded, FRONT, &returns).is_err();
        assert!(!refused(&forwarded(&messages)));
        assert!(refused(&forwarded(&[])) && refused(&forwarded(&messages[..messages.len() - 1])));
        assert!(refused(&Forwarded { conditions: &[1], ..forwarded(&messages) }));
        Request::Unbind.encode(&mut messages, 2, &[]);
        assert!(refused(&forwarded(&messages)));
        returns.take();
    }
}
