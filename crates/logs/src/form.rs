//! Forms of the access log: lines as JSON, as OpenLDAP's slapd writes them, and as 389 Directory Server does.

mod binary;
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
    /// Records, of which lines can be made later.
    Binary,
}

impl Form {
    /// All of them by their words.
    pub const WORDS: [(&str, Form); 4] =
        [("json", Form::Json), ("openldap", Form::Openldap), ("389", Form::Ds389), ("binary", Form::Binary)];

    /// Its lines. `has_connections`: connections have lines even if nothing happens on them.
    pub(crate) fn lines(self, origin: Origin, has_connections: bool) -> Box<dyn Lines> {
        match self {
            Form::Json => Box::new(json::Json::new(&origin, has_connections)),
            Form::Openldap => Box::new(openldap::Openldap::new(origin)),
            Form::Ds389 => Box::new(ds389::Ds389::new(origin)),
            Form::Binary => Box::new(binary::Binary::new(origin)),
        }
    }
}
