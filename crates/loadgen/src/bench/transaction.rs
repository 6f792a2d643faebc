//! Modifies in transactions (RFC 5805): a connection's queue is one transaction after the other.

use super::answer::Fault;
use crate::wire::{Span, tagged};
use clap::ValueEnum;
use proto::control::{put_controls, transaction_specification};
use proto::ext::end_transaction::{self, EndTransaction};
use proto::ext::start_transaction;
use proto::message::Request;
use proto::op::Extended;
use proto::tag;

/// How much of RFC 5805 is said, and how much is understood without being said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// RFC 5805: a start, and a control with every update
    ///
    /// The answer to the start is awaited. The start of the next transaction is sent with the end of the last: an
    /// identifier is needed for the updates, not for the end.
    Strict,
    /// The first update begins the transaction, under a name that the client chose
    Named,
    /// As `named`, but only the first update has the control
    Implied,
}

/// The identifier that clients choose: it need only be unique within the session.
const IDENTIFIER: &[u8] = b"bench";

/// What a connection sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Start,
    Updates,
    End,
}

/// A request that is no update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Start,
    End,
}

impl Bound {
    /// Number of those that there are.
    pub(super) const COUNT: usize = 2;
}

/// A connection's transactions.
pub(super) struct Transactions {
    style: Style,
    /// Is the end sent with the updates, before their answers are known?
    at_once: bool,
    identifier: Vec<u8>,
    pub(super) step: Step,
    /// The control that names the transaction, with the tag of controls around it.
    controls: Vec<u8>,
}

impl Transactions {
    pub(super) fn new(style: Style, at_once: bool) -> Transactions {
        let mut transactions =
            Transactions { style, at_once, identifier: Vec::new(), step: Step::Start, controls: Vec::new() };
        if style != Style::Strict {
            transactions.name(IDENTIFIER);
        }
        transactions
    }

    /// The transaction that is open has this identifier: its updates are next.
    fn name(&mut self, identifier: &[u8]) {
        self.identifier = identifier.to_vec();
        self.controls.clear();
        put_controls(&mut self.controls, &[transaction_specification::control(identifier)]);
        self.step = Step::Updates;
    }

    /// The controls of an update, the first of its transaction or a later one.
    #[inline]
    pub(super) fn controls(&self, is_first: bool) -> &[u8] {
        if is_first || self.style != Style::Implied { &self.controls } else { &[] }
    }

    /// After the updates: is the end sent with them?
    pub(super) fn on_updates_sent(&mut self) -> bool {
        self.step = Step::End;
        self.at_once
    }

    /// What is to be sent now, when it is no update.
    pub(super) fn bounds(&mut self) -> &'static [Bound] {
        match (self.step, self.style) {
            (Step::Updates, _) => &[],
            (Step::Start, _) => &[Bound::Start],
            (Step::End, Style::Strict) => {
                // Should the start be refused, it is sent again.
                self.step = Step::Start;
                &[Bound::End, Bound::Start]
            }
            (Step::End, _) => {
                self.step = Step::Updates;
                &[Bound::End]
            }
        }
    }

    /// A start or an end.
    pub(super) fn request(&self, bound: Bound, id: u32) -> Vec<u8> {
        let value = match bound {
            Bound::Start => None,
            Bound::End => Some(EndTransaction { commit: true, identifier: &self.identifier }.encode()),
        };
        let oid = if value.is_some() { end_transaction::OID } else { start_transaction::OID };
        let mut out = Vec::new();
        Request::Extended(Extended { oid, value: value.as_deref() }).encode(&mut out, id as i32, &[]);
        out
    }

    /// A start or an end was answered.
    ///
    /// # Errors
    /// When it was refused, or the start brought no identifier.
    pub(super) fn on_answer(
        &mut self,
        bound: Bound,
        buffer: &[u8],
        result: Span,
        code: u32,
    ) -> Result<(), Fault> {
        if code != 0 {
            return Err(Fault::Code(code));
        }
        if bound == Bound::Start {
            let identifier = identifier(buffer, result).ok_or(Fault::Malformed)?;
            self.name(identifier);
        }
        Ok(())
    }
}

/// The responseValue of an ExtendedResponse.
fn identifier(buffer: &[u8], result: Span) -> Option<&[u8]> {
    let code = tagged(buffer, result.start, result.end, tag::ENUMERATED)?;
    let matched = tagged(buffer, code.end, result.end, tag::OCTET_STRING)?;
    let text = tagged(buffer, matched.end, result.end, tag::OCTET_STRING)?;
    Some(tagged(buffer, text.end, result.end, 0x8b)?.of(buffer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::PAD;
    use proto::control::Controls;
    use proto::message::Message;

    fn sent(transactions: &Transactions, bound: Bound) -> (Vec<u8>, Option<Vec<u8>>) {
        let bytes = transactions.request(bound, 0x01_0203);
        let message = Message::decode(&bytes).expect("it is a request");
        assert_eq!(message.id, 0x01_0203);
        let Request::Extended(request) = message.request else { panic!("it is an extended one") };
        (request.oid.to_vec(), request.value.map(<[u8]>::to_vec))
    }

    /// As the RFC has it: start, updates that name what the start brought, end, and with it the next start.
    #[test]
    fn a_strict_transaction() {
        let mut transactions = Transactions::new(Style::Strict, false);
        assert_eq!(transactions.bounds(), [Bound::Start]);
        let start = (proto::ext::start_transaction::OID.to_vec(), None);
        assert_eq!(sent(&transactions, Bound::Start), start);
        let mut answer = b"\x78\x0a\x0a\x01\x00\x04\x00\x04\x00\x8b\x01x".to_vec();
        answer.resize(answer.len() + PAD, 0);
        let result = Span { start: 2, end: 12 };
        assert_eq!(transactions.on_answer(Bound::Start, &answer, result, 0), Ok(()));
        assert_eq!((transactions.step, transactions.bounds()), (Step::Updates, &[][..]));
        let mut message = Vec::new();
        Request::Delete(b"cn=a").encode(&mut message, 1, &[transaction_specification::control(b"x")]);
        assert!(
            message.ends_with(transactions.controls(false)) && Controls::of(&message).iter().count() == 1
        );
        assert!(!transactions.on_updates_sent());
        assert_eq!(transactions.bounds(), [Bound::End, Bound::Start]);
        let (oid, value) = sent(&transactions, Bound::End);
        assert_eq!(oid, proto::ext::end_transaction::OID);
        let value = value.expect("it names the transaction");
        let end = EndTransaction { commit: true, identifier: b"x" };
        assert_eq!(EndTransaction::decode(&value), Ok(end));
        assert_eq!(transactions.on_answer(Bound::End, &answer, result, 80), Err(Fault::Code(80)));
        assert_eq!(transactions.on_answer(Bound::Start, &answer, result, 0), Ok(()));
        assert_eq!(transactions.step, Step::Updates);
    }

    #[test]
    fn a_start_that_was_refused_is_sent_again() {
        let mut transactions = Transactions::new(Style::Strict, false);
        transactions.name(b"x");
        transactions.on_updates_sent();
        assert_eq!(transactions.bounds(), [Bound::End, Bound::Start]);
        let refused = transactions.on_answer(Bound::Start, &[], Span { start: 0, end: 0 }, 51);
        assert_eq!((refused, transactions.bounds()), (Err(Fault::Code(51)), &[Bound::Start][..]));
    }

    #[test]
    fn what_need_not_be_said() {
        let named = Transactions::new(Style::Named, true);
        assert_eq!((named.step, named.controls(true)), (Step::Updates, named.controls(false)));
        let mut implied = Transactions::new(Style::Implied, true);
        assert!(!implied.controls(true).is_empty() && implied.controls(false).is_empty());
        assert!(implied.on_updates_sent());
        assert_eq!((implied.bounds(), implied.step), (&[Bound::End][..], Step::Updates));
    }
}
