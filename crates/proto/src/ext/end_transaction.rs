//! End Transaction (RFC 5805 section 2.3): the updates of a transaction happen, all of them, or none does.

use crate::ber::{self, Reader};
use crate::control::Controls;
use crate::error::Error;
use crate::tag;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.1.21.3";

/// Tag that OpenLDAP writes for the controls of an update; the RFC's own is that of a sequence.
const MESSAGE_CONTROLS: u8 = tag::context_constructed(0);

/// Tag that the UnboundID SDK leaves on the identifier: it sends back the responseValue that brought it.
const RESPONSE_VALUE: u8 = tag::context(11);

/// txnEndReq
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTransaction<'a> {
    /// Shall the updates happen?
    pub commit: bool,
    /// The transaction.
    pub identifier: &'a [u8],
}

impl<'a> EndTransaction<'a> {
    /// Decodes a requestValue.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &'a [u8]) -> Result<EndTransaction<'a>, Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected the value of an end of transaction")?;
        let commit = match body.peek() {
            Some(tag::BOOLEAN) => body.boolean("expected whether to commit")?,
            _ => true,
        };
        let identifier = match body.optional(RESPONSE_VALUE)? {
            Some(identifier) => identifier,
            None => body.octets("expected a transaction identifier")?,
        };
        body.end()?;
        Ok(EndTransaction { commit, identifier })
    }

    /// The requestValue.
    pub fn encode(&self) -> Vec<u8> {
        ber::sequence(|out| {
            if !self.commit {
                ber::put_boolean(out, tag::BOOLEAN, false);
            }
            ber::put_octets(out, self.identifier);
        })
    }
}

/// txnEndRes with controls that updates bring back: those of each, with the id of its message.
#[derive(Debug)]
pub struct UpdatesControls {
    out: Vec<u8>,
    whole: ber::Mark,
    list: ber::Mark,
    is_empty: bool,
}

impl Default for UpdatesControls {
    fn default() -> UpdatesControls {
        let mut out = Vec::new();
        let whole = ber::begin(&mut out, tag::SEQUENCE);
        let list = ber::begin(&mut out, tag::SEQUENCE);
        UpdatesControls { out, whole, list, is_empty: true }
    }
}

impl UpdatesControls {
    /// Adds those of one update.
    pub fn push(&mut self, message_id: i32, controls: Controls<'_>) {
        let update = ber::begin(&mut self.out, tag::SEQUENCE);
        ber::put_integer(&mut self.out, i64::from(message_id));
        ber::put_tlv(&mut self.out, tag::SEQUENCE, controls.raw());
        ber::end(&mut self.out, update);
        self.is_empty = false;
    }

    /// The responseValue; `None` if no update brings anything.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        ber::end(&mut self.out, self.list);
        ber::end(&mut self.out, self.whole);
        (!self.is_empty).then_some(self.out)
    }
}

/// txnEndRes with the message that stood against the transaction.
pub fn encode_culprit(message_id: i32) -> Vec<u8> {
    ber::sequence(|out| ber::put_integer(out, i64::from(message_id)))
}

/// txnEndRes
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndTransactionResult<'a> {
    /// The message that stood against the transaction.
    pub culprit: Option<i32>,
    /// Controls that updates bring back, with the ids of their messages.
    pub updates: Vec<(i32, Controls<'a>)>,
}

impl<'a> EndTransactionResult<'a> {
    /// Decodes a responseValue.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &'a [u8]) -> Result<EndTransactionResult<'a>, Error> {
        let mut body =
            Reader::inside(value, tag::SEQUENCE, "expected the value of an end of transaction's response")?;
        let mut result = EndTransactionResult::default();
        if body.peek() == Some(tag::INTEGER) {
            result.culprit = Some(body.number(tag::INTEGER, i32::MAX, "expected a message id")?);
        }
        if body.peek() == Some(tag::SEQUENCE) {
            let mut list = body.enter(tag::SEQUENCE, "expected the controls of updates")?;
            while !list.is_empty() {
                let mut update = list.enter(tag::SEQUENCE, "expected the controls of an update")?;
                let id = update.number(tag::INTEGER, i32::MAX, "expected a message id")?;
                let controls_tag = match update.peek() {
                    Some(MESSAGE_CONTROLS) => MESSAGE_CONTROLS,
                    _ => tag::SEQUENCE,
                };
                result.updates.push((id, Controls::decode_tagged(&mut update, controls_tag)?));
            }
        }
        body.finish(&[])?;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Control, put_controls};

    #[test]
    fn requests_come_back() {
        for commit in [true, false] {
            let end = EndTransaction { commit, identifier: b"\0\xff" };
            assert_eq!(EndTransaction::decode(&end.encode()), Ok(end));
        }
        // A default may be written out.
        let written = [0x30, 6, 1, 1, 0xff, 4, 1, b'x'];
        assert_eq!(EndTransaction::decode(&written), Ok(EndTransaction { commit: true, identifier: b"x" }));
        // The UnboundID SDK's way.
        let identifier = &b"xy"[..];
        let commit = [0x30, 4, 0x8b, 2, b'x', b'y'];
        assert_eq!(EndTransaction::decode(&commit), Ok(EndTransaction { commit: true, identifier }));
        let roll_back = [0x30, 7, 1, 1, 0, 0x8b, 2, b'x', b'y'];
        assert_eq!(EndTransaction::decode(&roll_back), Ok(EndTransaction { commit: false, identifier }));
        for wrong in [
            &[][..],
            &[0x30, 6, 0x8b, 1, b'x', 4, 1, b'x'],
            &[0x30, 0],
            &[0x30, 3, 1, 1, 0],
            &[0x30, 5, 4, 1, b'x', 5, 0],
            &[4, 1, b'x'],
        ] {
            assert!(EndTransaction::decode(wrong).is_err(), "{wrong:x?}");
        }
    }

    #[test]
    fn controls_of_updates_come_back_under_either_tag() {
        let control = Control { oid: b"1.2", critical: false, value: Some(b"v") };
        let mut tagged = Vec::new();
        put_controls(&mut tagged, &[control]);
        let mut message = vec![0x30, tagged.len() as u8 + 6, 2, 1, 7, 0x4a, 1, b'a'];
        message.extend_from_slice(&tagged);
        let mut updates = UpdatesControls::default();
        updates.push(300, Controls::of(&message));
        let value = updates.finish().expect("there are some");
        let result = EndTransactionResult::decode(&value).expect("just encoded");
        assert_eq!((result.culprit, result.updates.len(), result.updates[0].0), (None, 1, 300));
        assert_eq!(result.updates[0].1.iter().collect::<Vec<_>>(), [control]);
        let at = value.len() - tagged.len();
        let mut other = value.clone();
        assert_eq!(std::mem::replace(&mut other[at], MESSAGE_CONTROLS), tag::SEQUENCE);
        assert_eq!(EndTransactionResult::decode(&other), Ok(result));
        assert_eq!(UpdatesControls::default().finish(), None);
    }

    #[test]
    fn the_culprit_comes_back() {
        let value = encode_culprit(77);
        assert_eq!(value, [0x30, 3, 2, 1, 77]);
        let result = EndTransactionResult { culprit: Some(77), updates: Vec::new() };
        assert_eq!(EndTransactionResult::decode(&value), Ok(result));
    }
}
