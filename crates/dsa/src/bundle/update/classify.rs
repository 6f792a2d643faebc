//! First stage: what an update is. It is decoded here, with its controls, once for all stages before the log.

use super::super::group::Pending;
use super::Refused;
use crate::control::{self, ControlError, Requested};
use crate::engine::Dsa;
use crate::op::own_password;
use proto::DecodeError;
use proto::message::{self, Message};

/// An update that was decoded.
pub(in crate::bundle) struct Request<'a> {
    pub(in crate::bundle) message: Message<'a>,
    /// Its controls, or why they cannot be honoured.
    controls: Result<Requested<'a>, ControlError<'a>>,
    pub(in crate::bundle) kind: Kind<'a>,
    /// The whole message.
    pub(in crate::bundle) frame: &'a [u8],
}

impl<'a> Request<'a> {
    /// Its controls.
    ///
    /// # Errors
    /// If they cannot be honoured.
    pub(in crate::bundle) fn requested(&self) -> Result<&Requested<'a>, Refused<'a>> {
        self.controls.as_ref().map_err(|error| Refused::Control(*error))
    }
}

/// What kind of update it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bundle) enum Kind<'a> {
    /// A password modify, with its value.
    Password(Option<&'a [u8]>),
    /// A modify that changes passwords and nothing else, and gives a new one: perhaps a user's change of its own.
    OwnPassword,
    /// Of the server's configuration.
    Config,
    /// Of an entry.
    Entry,
}

/// Decodes an update.
///
/// # Errors
/// If it is malformed.
pub(in crate::bundle) fn classify<'a>(dsa: &Dsa, update: &Pending<'a>) -> Result<Request<'a>, DecodeError> {
    let message = update.decode()?;
    let controls = control::requested(&message.request, message.controls);
    let kind = match &message.request {
        message::Request::Extended(extended) => Kind::Password(extended.value),
        _ if update.is_about_config() && is_config(dsa, update) => Kind::Config,
        message::Request::Modify(_) if own_password::asked(dsa.shard.schema(), &message).is_some() => {
            Kind::OwnPassword
        }
        _ => Kind::Entry,
    };
    Ok(Request { message, controls, kind, frame: update.frame() })
}

/// Does an update change the configuration, and no entry of the directory that happens to be called so?
fn is_config(dsa: &Dsa, update: &Pending<'_>) -> bool {
    let dn = update.outline.as_ref().map_or(&[][..], |outline| outline.dn);
    !dsa.shard.holds(dn) && dsa.system.is_below_config(dn)
}
