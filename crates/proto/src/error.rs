//! Why bytes were refused, and how the server has to react (RFC 4511 section 4.1.1).

use std::fmt;

/// Who is at fault and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tags, lengths or order of elements are wrong: Notice of Disconnection with protocolError.
    Structure,
    /// The protocolOp is no request (or, for a client, no response): Notice of Disconnection with protocolError.
    Operation,
    /// Well formed, but a value is not allowed there: the operation is answered with protocolError.
    Value,
    /// A bound of [`model::limits`] is exceeded: the operation is answered with adminLimitExceeded.
    Limit,
}

/// What is wrong at which byte of the buffer that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What follows from it.
    pub kind: Kind,
    /// Offset of the element at fault.
    pub offset: usize,
    /// For the diagnosticMessage, in English.
    pub reason: &'static str,
}

impl Error {
    /// Tags, lengths or order are wrong.
    #[cold]
    pub fn structure(offset: usize, reason: &'static str) -> Error {
        Error { kind: Kind::Structure, offset, reason }
    }

    /// A value is not allowed there.
    #[cold]
    pub fn value(offset: usize, reason: &'static str) -> Error {
        Error { kind: Kind::Value, offset, reason }
    }

    /// A bound is exceeded.
    #[cold]
    pub fn limit(offset: usize, reason: &'static str) -> Error {
        Error { kind: Kind::Limit, offset, reason }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for Error {}

/// Why a message was refused, with as much as was understood of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The messageID, once it was read.
    pub message_id: Option<i32>,
    /// The tag of the protocolOp, once it was read, known or not.
    pub op_tag: Option<u8>,
    /// Offset in the message.
    pub offset: usize,
    /// For the diagnosticMessage, in English.
    pub reason: &'static str,
    /// What follows from it.
    pub kind: Kind,
}

impl DecodeError {
    /// Message id and response tag, if the operation can be answered and the session may go on; otherwise the
    /// session ends with a Notice of Disconnection. Unbind and abandon have no response: the tag is `None`.
    pub fn answerable(&self) -> Option<(i32, Option<u8>)> {
        match self.kind {
            Kind::Structure | Kind::Operation => None,
            Kind::Value | Kind::Limit => Some((self.message_id?, crate::tag::response_to(self.op_tag?))),
        }
    }

    /// Adds what was known when a part of the message was refused.
    pub(crate) fn new(error: Error, message_id: Option<i32>, op_tag: Option<u8>) -> DecodeError {
        DecodeError { message_id, op_tag, offset: error.offset, reason: error.reason, kind: error.kind }
    }
}

/// Of a part of a message; id and tag are added by who knows them.
impl From<Error> for DecodeError {
    #[cold]
    fn from(error: Error) -> DecodeError {
        DecodeError::new(error, None, None)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the message", self.reason, self.offset)
    }
}

impl std::error::Error for DecodeError {}
