//! What is logged, and where.

use super::destination::Destination;
use super::target::try_open;
use env::entropy::{Entropy, SystemEntropy};
use env::rotation::Rotation;
use logs::form::Form;
use logs::hide::{Hider, Values};
use logs::journal::Access;
use std::io;
use std::path::PathBuf;

/// What to do while the audit log cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnAuditFailure {
    /// Updates are taken; what finds no room until it can be written is named in the log.
    #[default]
    Continue,
    /// They are refused.
    ReadOnly,
}

/// What is logged, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which operations have a line; none: [`Settings::access`] says.
    pub access_asked: Option<Access>,
    /// What these lines look like.
    pub format: Form,
    /// Where they go; none: to standard error.
    pub access_file: Option<Destination>,
    /// Where events of the security log go; none: they are not written.
    pub security_file: Option<Destination>,
    /// Where changes go that were applied; none: they are not written.
    pub audit_file: Option<PathBuf>,
    /// What becomes of updates while they cannot be written.
    pub on_audit_failure: OnAuditFailure,
    /// When files are begun anew, and how many are kept. Those of the audit log are all kept.
    pub rotation: Rotation,
    /// Which values lines may have.
    pub values: Values,
}

impl Settings {
    /// Which operations have a line. Who names a file wants a log; on standard error, which is for the server itself, nobody expects a thousand
    /// lines a second.
    pub fn access(&self) -> Access {
        let of_file = if self.access_file.is_some() { Access::Sample } else { Access::Off };
        self.access_asked.unwrap_or(of_file)
    }

    /// Can lines go where those about operations go?
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn try_access_file(&self) -> io::Result<()> {
        try_open(self.access_file.as_ref())
    }
}

/// What stands for values in lines, with a key of its own.
pub(super) fn hider(settings: &Settings) -> Hider {
    let mut key = [0; 16];
    SystemEntropy.fill(&mut key);
    Hider::new(settings.values, key)
}
