//! End Transaction (RFC 5805 section 2.3).
//! Whatever the end comes to, the transaction is closed by it: it was taken out before anything is answered.

use crate::extension::{Bound, Extension, Role};
use crate::journal::Buffers;
use crate::outcome::{self, FixedRefusal};
use crate::transaction::{AbortReason, Holding, Transaction, Transactions};
use model::ResultCode;
use proto::control::{Controls, proxied_authorization};
use proto::ext::end_transaction::{EndTransaction, OID, UpdatesControls, encode_culprit};
use proto::message::{Message, Reply, Response};
use proto::op::extended::{Extended, ExtendedResponse};
use proto::tag::EXTENDED_RESPONSE;
use proto::{LdapResult, Outline};

pub(super) const EXTENSION: Extension =
    Extension { oid: OID, controls: &[proxied_authorization::OID], role: Role::Bounds(Bound::End) };

/// Said of a transaction that was preempted.
pub(crate) const PREEMPTED: FixedRefusal = (
    ResultCode::Busy,
    "the transaction was preempted: a client with higher precedence updates one of its entries",
);

/// Takes the transaction out that is to be committed. Every other end is answered: a rollback, and what cannot be committed.
pub(crate) fn run(
    transactions: &mut Transactions,
    message: &Message<'_>,
    request: &Extended<'_>,
    buffers: &mut Buffers,
    out: &mut Vec<u8>,
) -> Option<Transaction> {
    let decoded = request.value.ok_or("the end of a transaction has a request value");
    let decoded = decoded.and_then(|value| EndTransaction::decode(value).map_err(|error| error.reason));
    // The transaction that it meant stays open.
    let end = match decoded {
        Ok(end) => end,
        Err(reason) => {
            outcome::say(out, message.id, EXTENDED_RESPONSE, ResultCode::ProtocolError, reason);
            return None;
        }
    };
    // An end of an aborted transaction is how its client says that it has taken notice: the name is free again.
    let Some(transaction) = transactions.take(end.identifier) else {
        let (code, text) = unknown(transactions, end.identifier);
        transactions.forget_aborted(end.identifier);
        outcome::say(out, message.id, EXTENDED_RESPONSE, code, text);
        return None;
    };
    // A commit of no updates is a success that needs no log.
    if end.commit && transaction.abort_reason.is_none() && transaction.updates > 0 {
        if transaction.holding.as_ref().is_none_or(Holding::end) {
            return Some(transaction);
        }
        // It was given up this moment: its end is its notice.
        let (code, text) = PREEMPTED;
        outcome::say(out, message.id, EXTENDED_RESPONSE, code, text);
        return None;
    }
    // A rollback succeeds in any case.
    match transaction.abort_reason.as_ref().filter(|_| end.commit) {
        Some(abort_reason) => fail(message.id, abort_reason, out),
        None => outcome::succeed(out, message.id, EXTENDED_RESPONSE),
    }
    // For the next transaction of this thread.
    buffers.put(transaction.submission);
    None
}

/// Why an identifier names no open transaction.
/// Which of the two it is matters to the client: one it must begin anew, the other it has named wrongly.
pub(crate) fn unknown(transactions: &Transactions, identifier: &[u8]) -> FixedRefusal {
    let text = match transactions.was_aborted(identifier) {
        true => "the server has aborted this transaction",
        false => "the session has no open transaction with this identifier",
    };
    // As OpenDJ answers; the RFC only says that it is no success.
    (ResultCode::Canceled, text)
}

/// Answers that all updates were done, with the controls that theirs, whole messages, bring.
/// Reads that updates asked for come with this answer (RFC 5805 section 2.3), each under the message id of its update.
pub(crate) fn succeed(id: i32, answers: &[u8], out: &mut Vec<u8>) {
    let mut updates = UpdatesControls::default();
    for answer in crate::journal::messages(answers) {
        if let Some(outline) = Outline::of(answer).filter(|outline| !outline.after.is_empty()) {
            updates.push(outline.id, Controls::of(answer));
        }
    }
    let value = updates.finish();
    let result = LdapResult::new(ResultCode::Success);
    ExtendedResponse { result, oid: None, value: value.as_deref() }.encode(out, id, &[]);
}

/// Answers that none was done, and which one stood against it.
/// The result is that of the update which stood against it, so the client sees why.
pub(crate) fn fail(id: i32, abort_reason: &AbortReason, out: &mut Vec<u8>) {
    let reply = Reply::decode(&abort_reason.answer).expect("the agent's own answer");
    let result = match reply.response {
        Response::Done(_, result) => result,
        Response::Extended(response) => response.result,
        _ => unreachable!("updates have plain answers"),
    };
    let culprit = (abort_reason.culprit != 0).then(|| encode_culprit(abort_reason.culprit));
    ExtendedResponse { result, oid: None, value: culprit.as_deref() }.encode(out, id, &[]);
}
