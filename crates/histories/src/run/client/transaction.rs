//! Transactions (RFC 5805): several updates, all or none.

use super::{Client, Entry, Lost, Update, done, post_read, result};
use model::ResultCode;
use proto::Response;
use proto::control::transaction_specification;
use proto::ext::end_transaction::{EndTransaction, EndTransactionResult};
use proto::ext::{end_transaction, start_transaction};
use proto::message::Request;
use proto::op::extended::Extended;

/// How a transaction is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum How {
    /// Its updates shall happen.
    Commit,
    /// They shall not.
    GiveUp,
    /// The client leaves, and says nothing.
    Leave,
}

/// What became of a transaction.
#[derive(Debug)]
pub(in crate::run) enum Ended {
    /// All its updates happened, and this was read after each.
    Committed(Vec<Entry>),
    /// None did, or will.
    Nothing(ResultCode),
}

impl Client {
    /// Does all of `updates` in a transaction. If the connection ends before the server is asked to commit, none happens.
    pub(in crate::run) fn transaction(&mut self, updates: &[Update], how: How) -> Result<Ended, Lost> {
        let prepared = match self.prepare(updates) {
            Err(Lost::Connection) => return Ok(Ended::Nothing(ResultCode::Unavailable)),
            prepared => prepared?,
        };
        let (identifier, ids, refused) = prepared;
        match (how, refused) {
            (How::Leave, _) => {
                self.link.push(|out, id| Request::Unbind.encode(out, id, &[]));
                self.link.send();
                Ok(Ended::Nothing(ResultCode::Canceled))
            }
            (How::Commit, None) => self.commit(&identifier, &ids),
            (_, refused) => {
                self.give_up(&identifier);
                Ok(Ended::Nothing(refused.unwrap_or(ResultCode::Canceled)))
            }
        }
    }

    /// Starts a transaction and sends its updates. Returns its identifier, the ids of the updates' messages, and why one of
    /// them was refused.
    #[allow(clippy::type_complexity)]
    fn prepare(&mut self, updates: &[Update]) -> Result<(Vec<u8>, Vec<i32>, Option<ResultCode>), Lost> {
        let start = Extended { oid: start_transaction::OID, value: None };
        self.link.push(|out, id| Request::Extended(start).encode(out, id, &[]));
        let identifier = self.link.receive(|reply| match &reply.response {
            Response::Extended(answer) if result(reply) == ResultCode::Success => {
                Ok(answer.value.unwrap_or_default().to_vec())
            }
            _ => Err(Lost::Strange(format!("starting a transaction: {:?}", result(reply)))),
        })??;
        let membership = [transaction_specification::control(&identifier)];
        let ids: Vec<i32> = updates.iter().map(|update| self.push_update(update, &membership)).collect();
        let mut refused = None;
        for _ in updates {
            match self.link.receive(done)?? {
                Ok(read) if read.is_empty() => {}
                Ok(read) => return Err(Lost::Strange(format!("read before the commit: {read:?}"))),
                Err(code) => _ = refused.get_or_insert(code),
            }
        }
        Ok((identifier, ids, refused))
    }

    fn push_end(&mut self, identifier: &[u8], commit: bool) {
        let value = EndTransaction { commit, identifier }.encode();
        let end = Extended { oid: end_transaction::OID, value: Some(&value) };
        self.link.push(|out, id| Request::Extended(end).encode(out, id, &[]));
    }

    fn commit(&mut self, identifier: &[u8], ids: &[i32]) -> Result<Ended, Lost> {
        self.push_end(identifier, true);
        self.link.receive(|reply| {
            let Response::Extended(answer) = &reply.response else {
                return Err(Lost::Strange("no answer to the end of a transaction".to_owned()));
            };
            match result(reply) {
                ResultCode::Success => {}
                ResultCode::Unavailable => return Err(Lost::Connection),
                code => return Ok(Ended::Nothing(code)),
            }
            let found =
                answer.value.map_or(Ok(EndTransactionResult::default()), EndTransactionResult::decode);
            let found =
                found.map_err(|_| Lost::Strange("an end of a transaction that is none".to_owned()))?;
            let read = |id: &i32| match found.updates.iter().find(|(of, _)| of == id) {
                Some((_, controls)) => post_read(*controls),
                None => Ok(Entry::new()),
            };
            ids.iter().map(read).collect::<Result<_, _>>().map(Ended::Committed)
        })?
    }

    /// Whatever comes of it: nothing happens.
    fn give_up(&mut self, identifier: &[u8]) {
        self.push_end(identifier, false);
        // An end of the connection is seen by the next request.
        let _ = self.link.receive(|_| ());
    }
}
