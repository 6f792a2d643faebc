//! A record of the log, to the byte.

use proto::message::Frame;
use proto::outline::Outline;
use proto::{frame, tag};
use std::borrow::Cow;

/// A record of the log: updates of one identity. Applied on the same directory, it always has the same outcome: its
/// CSNs follow from the time in it and from those before, and new entries take their ids from it.
///
/// ```text
/// u64 time | u32 length of the actor's DN | u32 number of ids | the DN | u32 each id | LDAPMessages
/// ```
///
/// Numbers are little-endian, the time is in milliseconds since 1970. There are as many ids as adds. If the messages are a
/// transaction, the uppermost bit of the length of the DN is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// When it was given, in milliseconds since 1970.
    pub wall_ms: u64,
    /// DN of who gave it.
    pub actor: &'a [u8],
    /// Ids for the entries that it may add.
    pub ids: Cow<'a, [u32]>,
    /// Whole LDAPMessages.
    pub messages: &'a [u8],
    /// Do they happen all or not at all?
    pub is_transaction: bool,
}

/// Bytes before the actor's DN.
pub(super) const FIXED: usize = 16;
const TRANSACTION: u32 = 1 << 31;

impl<'a> Command<'a> {
    /// Reads a record.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn decode(record: &'a [u8]) -> Result<Command<'a>, String> {
        let number = |at: usize| {
            let bytes = record.get(at..at + 4).and_then(|bytes| bytes.first_chunk());
            bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or("a command is shorter than its fixed part")
        };
        let wall_ms = u64::from(number(0)?) | u64::from(number(4)?) << 32;
        let (name, ids) = (number(8)?, number(12)? as usize);
        let (is_transaction, name) = (name & TRANSACTION != 0, (name & !TRANSACTION) as usize);
        let rest = &record[FIXED..];
        let (actor, rest) = rest.split_at_checked(name).ok_or("a command ends within its actor's name")?;
        let (ids, messages) = rest.split_at_checked(ids * 4).ok_or("a command ends within its ids")?;
        if self::messages(messages).map(<[u8]>::len).sum::<usize>() != messages.len() {
            return Err("a command does not end with a whole message".to_owned());
        }
        let ids: Cow<'_, [u32]> =
            ids.chunks_exact(4).map(|id| u32::from_le_bytes(id.try_into().expect("four bytes"))).collect();
        if ids.len() != adds(messages) {
            return Err("a command has not as many ids as adds".to_owned());
        }
        Ok(Command { wall_ms, actor, ids, messages, is_transaction })
    }

    /// Appends the record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        assert!(
            self.actor.len() < TRANSACTION as usize,
            "the uppermost bit of the length says something else"
        );
        assert!(u32::try_from(self.ids.len()).is_ok(), "ids are counted in 32 bits");
        out.extend_from_slice(&self.wall_ms.to_le_bytes());
        let kind = if self.is_transaction { TRANSACTION } else { 0 };
        out.extend_from_slice(&(self.actor.len() as u32 | kind).to_le_bytes());
        out.extend_from_slice(&(self.ids.len() as u32).to_le_bytes());
        out.extend_from_slice(self.actor);
        self.ids.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
        out.extend_from_slice(self.messages);
    }
}

/// Is this the tag of a message's operation?
pub(super) fn is(message: &[u8], op_tag: u8) -> bool {
    Outline::of(message).is_some_and(|outline| outline.op_tag == op_tag)
}

/// How many of these messages are adds.
pub(crate) fn adds(bytes: &[u8]) -> usize {
    messages(bytes).filter(|message| is(message, tag::ADD)).count()
}

/// The whole messages at the front of `bytes`.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || match frame(bytes) {
        Ok(Frame::Complete { len }) => {
            let (message, rest) = bytes.split_at(len);
            bytes = rest;
            Some(message)
        }
        _ => None,
    })
}
