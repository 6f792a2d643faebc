//! Transactions (RFC 5805): several updates, all or none.

use super::super::form::Form;
use super::{Client, Entry, Lost, Update, done, post_read, result};
use model::ResultCode;
use proto::Response;
use proto::control::{Control, transaction_specification};
use proto::ext::end_transaction::{EndTransaction, EndTransactionResult};
use proto::ext::{end_transaction, start_transaction};
use proto::message::{Reply, Request};
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

/// Identifiers that a client chooses, in turn: each is used again after its transaction has ended.
const CHOSEN: [&[u8]; 3] = [b"a", b"the second", b"\0\xFF"];

impl Client {
    /// Does all of `updates` in a transaction. If the connection ends before the server is asked to commit, none happens.
    pub(in crate::run) fn transaction(
        &mut self,
        updates: &[Update],
        how: How,
        form: Form,
    ) -> Result<Ended, Lost> {
        let identifier = match self.begin(form) {
            Err(Lost::Connection | Lost::Silent) => return Ok(Ended::Nothing(ResultCode::Unavailable)),
            begun => begun?,
        };
        let ids = self.push_members(&identifier, updates, form);
        if !form.waits {
            return self.end_at_once(&identifier, &ids, how);
        }
        let refused = match self.look(&ids) {
            Err(Lost::Connection | Lost::Silent) => return Ok(Ended::Nothing(ResultCode::Unavailable)),
            looked => looked?,
        };
        match (how, refused) {
            (How::Leave, _) => {
                self.push_unbind();
                self.link.send();
                Ok(Ended::Nothing(ResultCode::Canceled))
            }
            (How::Commit, None) => {
                self.push_end(&identifier, true);
                self.committed(&ids)
            }
            (_, refused) => {
                self.push_end(&identifier, false);
                self.disregard(1);
                Ok(Ended::Nothing(refused.unwrap_or(ResultCode::Canceled)))
            }
        }
    }

    /// Sends the updates, which were pushed, and the end in one write.
    fn end_at_once(&mut self, identifier: &[u8], ids: &[i32], how: How) -> Result<Ended, Lost> {
        match how {
            How::Leave => self.push_unbind(),
            how => _ = self.push_end(identifier, how == How::Commit),
        }
        if how != How::Commit {
            self.disregard(ids.len() + usize::from(how == How::GiveUp));
            return Ok(Ended::Nothing(ResultCode::Canceled));
        }
        // From now on, whatever is lost, it may have happened.
        let refused = self.look(ids)?;
        match (self.committed(ids)?, refused) {
            (Ended::Committed(_), Some(code)) => {
                Err(Lost::Strange(format!("an update was refused with {code:?}, and the others committed")))
            }
            (Ended::Nothing(end), Some(code)) if end != code => {
                Err(Lost::Strange(format!("an update was refused with {code:?}, and the end with {end:?}")))
            }
            (ended, _) => Ok(ended),
        }
    }

    /// Begins one, or says what it will be called. Returns its identifier.
    fn begin(&mut self, form: Form) -> Result<Vec<u8>, Lost> {
        if !form.starts {
            self.chosen += 1;
            return Ok(CHOSEN[self.chosen % CHOSEN.len()].to_vec());
        }
        let start = Extended { oid: start_transaction::OID, value: None };
        self.link.push(|out, id| Request::Extended(start).encode(out, id, &[]));
        self.link.receive(|reply| match &reply.response {
            Response::Extended(answer) if result(reply) == ResultCode::Success => {
                Ok(answer.value.unwrap_or_default().to_vec())
            }
            _ if result(reply) == ResultCode::Busy => Err(Lost::Busy),
            _ => Err(Lost::Strange(format!("starting a transaction: {:?}", result(reply)))),
        })?
    }

    /// Puts the updates on their way. Returns the ids of their messages.
    fn push_members(&mut self, identifier: &[u8], updates: &[Update], form: Form) -> Vec<i32> {
        let membership = [transaction_specification::control(identifier)];
        let begins = |at| at == 0 && !form.starts;
        let controls = |at| -> &[Control<'_>] { if form.names || begins(at) { &membership } else { &[] } };
        updates.iter().enumerate().map(|(at, update)| self.push_update(update, controls(at))).collect()
    }

    /// Takes the answers to the updates. Returns why one of them was refused.
    fn look(&mut self, ids: &[i32]) -> Result<Option<ResultCode>, Lost> {
        let mut refused = None;
        for expected in ids {
            match self.link.receive(|reply| in_turn(reply, *expected).and_then(|()| done(reply)))?? {
                Ok(read) if read.is_empty() => {}
                Ok(read) => return Err(Lost::Strange(format!("read before the commit: {read:?}"))),
                Err(code) => _ = refused.get_or_insert(code),
            }
        }
        Ok(refused)
    }

    fn push_unbind(&mut self) {
        self.link.push(|out, id| Request::Unbind.encode(out, id, &[]));
    }

    fn push_end(&mut self, identifier: &[u8], commit: bool) -> i32 {
        let value = EndTransaction { commit, identifier }.encode();
        let end = Extended { oid: end_transaction::OID, value: Some(&value) };
        self.link.push(|out, id| Request::Extended(end).encode(out, id, &[]))
    }

    /// Takes the answer to the end of updates that shall happen.
    fn committed(&mut self, ids: &[i32]) -> Result<Ended, Lost> {
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

    /// Takes so many answers. Whatever they are: nothing happens.
    fn disregard(&mut self, answers: usize) {
        // An end of the connection is seen by the next request.
        let _ = (0..answers).try_for_each(|_| self.link.receive(|_| ()));
    }
}

/// Is this the answer that is due?
fn in_turn(reply: &Reply<'_>, expected: i32) -> Result<(), Lost> {
    match reply.id == expected {
        true => Ok(()),
        false => Err(Lost::Strange(format!("an answer to {} comes before that to {expected}", reply.id))),
    }
}
