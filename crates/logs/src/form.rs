//! Forms of the access log: lines as JSON, as OpenLDAP's slapd writes them, and as 389 Directory Server does.

mod ds389;
mod json;
mod openldap;
mod words;

pub use json::operation_of;

use crate::line::{Lines, Origin};

/// A form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// An object a line.
    #[default]
    Json,
    /// As slapd's log level `stats`.
    Openldap,
    /// As the access log of 389 Directory Server.
    Ds389,
}

impl Form {
    /// Its lines. `has_connections`: connections have lines even if nothing happens on them.
    pub(crate) fn lines(self, origin: Origin, has_connections: bool) -> Box<dyn Lines> {
        match self {
            Form::Json => Box::new(json::Json::new(&origin, has_connections)),
            Form::Openldap => Box::new(openldap::Openldap::new(origin)),
            Form::Ds389 => Box::new(ds389::Ds389::new(origin)),
        }
    }
}
