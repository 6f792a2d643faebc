//! Updates become what another server is sent of them, and are made of it again there.

use super::remote::{Forwarded, Remote, Replacement, What};
use super::{Outcome, Returns, Submission, Updates, messages};
use crate::parcel::{Condition, Front};
use crate::settings::SettingsChange;
use proto::outline::Outline;
use proto::tag;

/// Bytes that a transaction may take: no server has made one that takes more, and sums of them do not overflow.
const TRANSACTION_BYTES_MAX: u64 = 1 << 40;

impl Updates {
    /// What the server that leads must know of them. Prepared writes are not sent, nor who reads entries that answers bring: the
    /// server that took them from its client answers those itself ([`Updates::are_answered_by_log`]).
    pub fn forwarded(&self) -> Forwarded<'_> {
        let Submission { messages, conditions, actor, origin, settings, end, is_schema, .. } =
            self.submission();
        let what = match (end, settings) {
            (Some(end), _) => What::Transaction { end: *end, bytes: self.bytes_together() },
            (None, Some(change)) => {
                let (base, record) = (change.base().clone(), change.record().clone());
                What::Settings(Box::new(Replacement { base, record }))
            }
            (None, None) if *is_schema => What::Schema,
            (None, None) => What::Updates,
        };
        Forwarded { what, actor, messages, conditions, origin: origin.clone() }
    }

    /// Bytes of memory that a transaction takes, as this server knows it.
    fn bytes_together(&self) -> u64 {
        let Submission { prepared_writes, bytes_together, .. } = self.submission();
        (*bytes_together).max(prepared_writes.bytes() as u64).min(TRANSACTION_BYTES_MAX)
    }

    /// Can nobody answer them but this server, when its log has brought them? Their answers have entries as their client may read
    /// them (RFC 4527), reads stand between them, or indexes are asked for here when settings hold.
    pub fn are_answered_by_log(&self) -> bool {
        let Submission { reader, settings, marks, .. } = self.submission();
        reader.is_some() || settings.is_some() || !marks.is_empty()
    }

    /// The updates that were forwarded by another server; what becomes of them goes to `returns`.
    ///
    /// # Errors
    /// In words, what is wrong with them: no server forwards that.
    pub fn received(forwarded: &Forwarded<'_>, front: Front, returns: &Returns) -> Result<Updates, String> {
        let Forwarded { what, actor, messages, conditions, origin } = forwarded;
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
        let (mut end, mut bytes_together, mut settings) = (None, 0, None);
        match what {
            What::Updates => {}
            What::Transaction { bytes, .. } if *bytes > TRANSACTION_BYTES_MAX => {
                return Err("it takes more memory than a transaction may".to_owned());
            }
            What::Transaction { end: id, bytes } => (end, bytes_together) = (Some(*id), *bytes),
            What::Settings(_) | What::Schema if self::messages(messages).count() != 1 || adds > 0 => {
                return Err("a change of settings or of the schema is one modify".to_owned());
            }
            What::Schema => {}
            What::Settings(replacement) => {
                let Replacement { base, record } = (**replacement).clone();
                settings = Some(Box::new(SettingsChange::received(record, base)));
            }
        }
        let submission = Submission {
            messages: messages.to_vec(),
            adds,
            is_schema: *what == What::Schema,
            conditions: conditions.to_vec(),
            actor: actor.to_vec(),
            origin: origin.clone(),
            remote: Some(Box::new(Remote { front, returns: returns.clone() })),
            end,
            bytes_together,
            settings,
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
    use crate::settings::Record;
    use proto::Request;

    const FRONT: Front = Front { node: 7, number: 3 };

    fn forwarded(messages: &[u8]) -> Forwarded<'_> {
        Forwarded {
            what: What::Updates,
            actor: b"cn=a",
            messages,
            conditions: &[],
            origin: Origin::default(),
        }
    }

    #[test]
    fn what_becomes_of_them_goes_back() {
        let (mut messages, returns) = (Vec::new(), Returns::default());
        Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
        Request::Delete(b"cn=b").encode(&mut messages, 2, &[]);
        let received = || Updates::received(&forwarded(&messages), FRONT, &returns).unwrap();
        assert_eq!((received().front(), received().count(), received().adds()), (Some(FRONT), 2, 0));
        assert_eq!(received().forwarded(), forwarded(&messages));
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

    /// The memory of a transaction is that which its server says, for it has no prepared writes.
    #[test]
    fn transactions_and_settings_come_with_what_belongs_to_them() {
        let (mut messages, returns) = (Vec::new(), Returns::default());
        Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
        let received = |what| Updates::received(&Forwarded { what, ..forwarded(&messages) }, FRONT, &returns);
        let what = What::Transaction { end: 7, bytes: 1000 };
        let transaction = received(what.clone()).unwrap();
        assert_eq!(transaction.forwarded().what, what);
        assert_eq!(transaction.bytes_needed(), 1000 + 2 * messages.len() as u64);
        assert!(transaction.command(0).is_transaction && !transaction.are_answered_by_log());
        transaction.refuse(model::ResultCode::Busy, "not now");
        let [(_, Outcome::Refused(answer))] = &returns.take()[..] else { panic!("it was refused") };
        let outline = Outline::of(answer).expect("its end is answered");
        assert_eq!((outline.id, outline.op_tag), (7, tag::EXTENDED_RESPONSE));
        assert!(received(What::Transaction { end: 7, bytes: u64::MAX }).is_err());
        let record = Record { flags: [("a".to_owned(), Vec::new())].into(), ..Record::default() };
        let what = What::Settings(Box::new(Replacement { base: Record::default(), record: record.clone() }));
        let settings = received(what.clone()).unwrap();
        assert_eq!((settings.settings(), settings.are_answered_by_log()), (Some(&record), true));
        assert_eq!(settings.forwarded().what, what);
        let schema = received(What::Schema).unwrap();
        assert!(schema.is_schema() && schema.forwarded().what == What::Schema);
        assert!(!received(What::Updates).unwrap().is_schema());
        Request::Delete(b"cn=b").encode(&mut messages, 2, &[]);
        for what in [what, What::Schema] {
            let two = Updates::received(&Forwarded { what, ..forwarded(&messages) }, FRONT, &returns);
            assert!(two.is_err());
        }
        drop((settings, schema));
        returns.take();
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
