//! What is wrong with the controls of a request, and how it is answered.

use model::ResultCode;
use proto::control::Control;
use proto::error::{Error, Kind};
use proto::message::Message;
use proto::result::encode_result;
use proto::tag;

/// Why controls stand against an operation.
/// Each names the control, so that the diagnostic message can. [`refuse`] maps it to a result code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlError<'a> {
    /// A critical control that this operation does not know (RFC 4511 section 4.1.11).
    UnavailableCritical(&'a [u8]),
    /// A control that the operation knows, and that cannot be honoured with this update: it is critical, or changes too much to be ignored.
    Unavailable(&'a [u8]),
    /// A control whose value cannot be understood.
    Malformed(&'a [u8]),
    /// A control that may be there once and is there twice.
    Twice(&'a [u8]),
    /// A control of a search that follows changes by another control already.
    Follows(&'a [u8]),
    /// A control that must be critical and is not.
    NotCritical(&'a [u8]),
    /// A control that must not be critical and is.
    Critical(&'a [u8]),
    /// A control that stands where it has no place.
    NotHere(&'a [u8]),
    /// A control that asks for more than a bound allows.
    Limit(&'a [u8]),
    /// A critical control that would bring a longer entry than an answer may have.
    TooLong(&'a [u8]),
}

/// For controls that must have a value; those without one never ask.
pub(super) fn value_of<'a>(control: &Control<'a>) -> Result<&'a [u8], ControlError<'a>> {
    control.value.ok_or(ControlError::Malformed(control.oid))
}

/// For controls that have none.
pub(super) fn no_value<'a>(control: &Control<'a>) -> Result<(), ControlError<'a>> {
    match control.value {
        None => Ok(()),
        Some(_) => Err(ControlError::Malformed(control.oid)),
    }
}

/// Whether a control is the first with its OID: a request that says something twice is not to be understood.
/// RFC 4511 section 4.1.11 has no rule for it; refusing is what cannot be wrong.
pub(super) fn once<'a, T>(oid: &'a [u8], before: Option<T>) -> Result<bool, ControlError<'a>> {
    if before.is_some() { Err(ControlError::Twice(oid)) } else { Ok(true) }
}

/// As [`once`], of a control of which nothing is kept but that it is there.
pub(super) fn first<'a>(oid: &'a [u8], is_there: &mut bool) -> Result<bool, ControlError<'a>> {
    once(oid, std::mem::replace(is_there, true).then_some(()))
}

/// A limit that is exceeded is no malformed value: the client can send less.
pub(super) fn unfit<'a>(oid: &'a [u8], error: &Error) -> ControlError<'a> {
    match error.kind {
        Kind::Limit => ControlError::Limit(oid),
        _ => ControlError::Malformed(oid),
    }
}

/// Answers a request whose controls stand against it.
/// Abandon and unbind have no answer, so there is nothing to say for them.
#[cold]
pub(crate) fn refuse(message: &Message<'_>, error: ControlError<'_>, out: &mut Vec<u8>) {
    let Some(response) = tag::response_to(message.request.tag()) else { return };
    let name = crate::outcome::shortened;
    let (code, text) = match error {
        ControlError::UnavailableCritical(oid) => (
            ResultCode::UnavailableCriticalExtension,
            format!("the critical control {} is not known for this operation", name(oid)),
        ),
        ControlError::Unavailable(oid) => (
            ResultCode::UnavailableCriticalExtension,
            format!("control {} is not available with this update", name(oid)),
        ),
        ControlError::Malformed(oid) => {
            (ResultCode::ProtocolError, format!("the value of control {} is malformed", name(oid)))
        }
        ControlError::Twice(oid) => {
            (ResultCode::ProtocolError, format!("control {} occurs more than once", name(oid)))
        }
        ControlError::Follows(oid) => (
            ResultCode::ProtocolError,
            format!("control {} comes with another by which a search follows changes", name(oid)),
        ),
        ControlError::NotCritical(oid) => {
            (ResultCode::ProtocolError, format!("control {} must be critical", name(oid)))
        }
        ControlError::Critical(oid) => {
            (ResultCode::ProtocolError, format!("control {} must not be critical", name(oid)))
        }
        ControlError::NotHere(oid) => {
            (ResultCode::ProtocolError, format!("control {} is not allowed here", name(oid)))
        }
        ControlError::TooLong(oid) => (
            ResultCode::UnavailableCriticalExtension,
            format!("the result of the critical control {} is too long for one answer", name(oid)),
        ),
        ControlError::Limit(oid) => {
            (ResultCode::AdminLimitExceeded, format!("control {} exceeds a limit", name(oid)))
        }
    };
    encode_result(out, message.id, response, code, b"", &text, &[]);
}
