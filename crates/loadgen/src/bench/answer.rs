//! Answers, and what can be wrong with them.

use super::request::{KeyFormat, Operation};
use super::{Selection, Settings};
use crate::wire::{Short, Span, digits, element, number, tagged};
use proto::tag;
use std::fmt;

/// What was wrong with an answer, or with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Not an LDAPMessage, or none of the expected form.
    Malformed,
    /// A message id that is not in progress.
    UnknownId,
    /// An answer to another operation than the one asked for.
    WrongOperation,
    /// A result code other than success.
    Code(u32),
    /// A search was done and had found nothing.
    NoEntry,
    /// A search had more than one entry.
    SecondEntry,
    /// An entry with another DN than the one asked for.
    WrongDn,
    /// An entry with attributes although none were asked for, or without although some were.
    WrongAttributes,
    /// The server closed the connection.
    Closed,
    /// A request that was never answered.
    Lost,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Malformed => "malformed answer",
            Fault::UnknownId => "unknown message id",
            Fault::WrongOperation => "answer to another operation",
            Fault::Code(number) => {
                let name = model::ResultCode::from_number(*number).map_or("unknown code", |code| code.name());
                return write!(f, "result code {name} ({number})");
            }
            Fault::NoEntry => "no entry found",
            Fault::SecondEntry => "more than one entry",
            Fault::WrongDn => "an entry that was not asked for",
            Fault::WrongAttributes => "attributes other than asked for",
            Fault::Closed => "connection closed by the server",
            Fault::Lost => "request never answered",
        })
    }
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// An entry: the content of the SearchResultEntry.
    Entry(Span),
    /// A result for this operation.
    Done(Operation, u32),
    /// The result of an extended operation: its content, and the code.
    Extended(Span, u32),
    /// A reference, an intermediate response: to be passed over.
    Other,
}

/// What every entry is compared with.
pub(super) struct Expected {
    before: Short,
    after: Short,
    key: KeyFormat,
    /// Whether an entry must have attributes; `None` when that depends on the entry.
    attributes: Option<bool>,
}

impl Expected {
    /// `None` when a DN has parts of more than 64 bytes around its key.
    pub(super) fn new(settings: &Settings) -> Option<Expected> {
        let KeyFormat { before, after, .. } = &settings.key;
        let parent = if settings.base.is_empty() { String::new() } else { format!(",{}", settings.base) };
        Some(Expected {
            before: Short::new(format!("{}={before}", settings.rdn).as_bytes())?,
            after: Short::new(format!("{after}{parent}").as_bytes())?,
            key: settings.key.clone(),
            attributes: match settings.attributes {
                Selection::None => Some(false),
                Selection::All => Some(true),
                Selection::List(_) => None,
            },
        })
    }

    /// Compares the content of a SearchResultEntry with what was asked for.
    #[inline(always)]
    pub(super) fn check(&self, buffer: &[u8], entry: Span, key: u64) -> Result<(), Fault> {
        let dn = tagged(buffer, entry.start, entry.end, tag::OCTET_STRING).ok_or(Fault::Malformed)?;
        let list = tagged(buffer, dn.end, entry.end, tag::SEQUENCE).ok_or(Fault::Malformed)?;
        if list.end != entry.end {
            return Err(Fault::Malformed);
        }
        let (before, after) = (self.before.as_bytes(), self.after.as_bytes());
        let text = dn.of(buffer);
        let wanted = self.key.digits(key);
        if text.len() != before.len() + wanted + after.len()
            || !text.starts_with(before)
            || !text.ends_with(after)
        {
            return Err(Fault::WrongDn);
        }
        if digits(&text[before.len()..before.len() + wanted]) != Some(key) {
            return Err(Fault::WrongDn);
        }
        let wrong = self.attributes.is_some_and(|some| some == (list.len() == 0));
        if wrong { Err(Fault::WrongAttributes) } else { Ok(()) }
    }
}

/// Understands the content of an LDAPMessage: its id and what it says.
#[inline(always)]
pub(super) fn parse(buffer: &[u8], message: Span) -> Option<(u32, Answer)> {
    let id = tagged(buffer, message.start, message.end, tag::INTEGER)?;
    let operation = element(buffer, id.end, message.end)?;
    let answered = match buffer[id.end] {
        tag::SEARCH_ENTRY => return Some((number(buffer, id)?, Answer::Entry(operation))),
        tag::SEARCH_DONE => Operation::Search,
        tag::MODIFY_RESPONSE => Operation::Modify,
        tag::BIND_RESPONSE => Operation::Bind,
        tag::EXTENDED_RESPONSE => {
            let code = tagged(buffer, operation.start, operation.end, tag::ENUMERATED)?;
            return Some((number(buffer, id)?, Answer::Extended(operation, number(buffer, code)?)));
        }
        _ => return Some((number(buffer, id)?, Answer::Other)),
    };
    let code = tagged(buffer, operation.start, operation.end, tag::ENUMERATED)?;
    Some((number(buffer, id)?, Answer::Done(answered, number(buffer, code)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], key: u64) -> Result<(), Fault> {
        let mut buffer = bytes.to_vec();
        buffer.resize(bytes.len() + 128, 0);
        let message = element(&buffer, 0, bytes.len()).unwrap();
        let Some((5, Answer::Entry(entry))) = parse(&buffer, message) else { panic!("an entry with id 5") };
        Expected::new(&Settings::default()).unwrap().check(&buffer, entry, key)
    }

    #[test]
    fn an_entry_is_compared_to_the_byte() {
        let bytes = b"\x30\x16\x02\x01\x05\x64\x11\x04\x0duid=42,dc=com\x30\x00";
        assert_eq!(check(bytes, 42), Ok(()));
        assert_eq!(check(bytes, 43), Err(Fault::WrongDn));
        assert_eq!(check(bytes, 4), Err(Fault::WrongDn));
        assert_eq!(
            check(b"\x30\x16\x02\x01\x05\x64\x11\x04\x0duid=42,dc=net\x30\x00", 42),
            Err(Fault::WrongDn)
        );
        let bytes = b"\x30\x18\x02\x01\x05\x64\x13\x04\x0duid=42,dc=com\x30\x02\x30\x00";
        assert_eq!(check(bytes, 42), Err(Fault::WrongAttributes));
    }

    #[test]
    fn results_are_distinguished() {
        let parsed = |bytes: &[u8]| parse(bytes, element(bytes, 0, bytes.len()).unwrap());
        let bytes = b"\x30\x0c\x02\x01\x07\x67\x07\x0a\x01\x20\x04\x00\x04\x00";
        assert_eq!(parsed(bytes), Some((7, Answer::Done(Operation::Modify, 32))));
        assert_eq!(parsed(b"\x30\x03\x02\x01\x07"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0usize..30, bytes in proptest::collection::vec(0u8.., 0..12)) {
            let mut buffer = b"\x30\x16\x02\x01\x05\x64\x11\x04\x0duid=42,dc=com\x30\x00".to_vec();
            let end = (at + bytes.len()).min(buffer.len());
            buffer.splice(at.min(end)..end, bytes);
            let end = buffer.len();
            buffer.resize(end + crate::wire::PAD, 0);
            if let Ok(Some(message)) = crate::wire::message(&buffer, 0, end)
                && let Some((_, Answer::Entry(entry))) = parse(&buffer, message)
            {
                let _ = Expected::new(&Settings::default()).expect("short").check(&buffer, entry, 42);
            }
        }
    }
}
