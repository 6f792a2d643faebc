//! A client of an LDAP server that runs: one connection, and questions and changes that need no more than that.

mod indexes;
mod link;
mod monitor;
mod values;

pub use indexes::{IndexLine, Indexes};
pub use link::{Link, refusal};
pub use monitor::durability;
pub use values::{Attributes, EVERYTHING, entry, values};

use std::fmt;
use std::io;

/// A server, and the identity with which to ask it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Name and password of a simple bind; without them the client stays anonymous.
    pub credentials: Option<(String, Vec<u8>)>,
}

/// Why a server gives no answer, or no better one.
#[derive(Debug)]
pub enum ClientError {
    /// The network says so.
    Io(io::Error),
    /// It closed the connection, or said that it will.
    Closed(String),
    /// What it sent is no LDAP, or no answer to what was asked.
    Malformed(&'static str),
    /// It refused: name and number of the result code, what it says.
    Refused(String),
    /// Nothing came for so many seconds.
    Silent(u64),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Io(error) => error.fmt(f),
            ClientError::Closed(why) => write!(f, "the server closed the connection{why}"),
            ClientError::Malformed(what) => write!(f, "the server sent {what}"),
            ClientError::Refused(why) => f.write_str(why),
            ClientError::Silent(seconds) => write!(f, "the server does not answer for {seconds} s"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> ClientError {
        ClientError::Io(error)
    }
}
