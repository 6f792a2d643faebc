//! Import into, and export of, a server that runs, and its indexes: over LDAP, with what clients may do.

mod add;
mod index;
mod link;
mod read;
mod told;

pub use add::{Ways, add};
pub use index::{IndexLine, Indexes};
pub use link::Link;
pub use read::read;
pub use told::durability;

use std::fmt;
use std::io;

/// Which server, and who asks.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Name and password of a simple bind; without it nobody is bound.
    pub credentials: Option<(String, Vec<u8>)>,
}

/// Why nothing more can be had of a server.
#[derive(Debug)]
pub enum RemoteError {
    /// The network says so.
    Io(io::Error),
    /// It closed the connection, or told that it will.
    Closed(String),
    /// What it sent is no LDAP, or no answer to what was asked.
    Malformed(&'static str),
    /// It refused: name and number of the result code, what it says.
    Refused(String),
    /// Nothing came for so many seconds.
    Silent(u64),
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteError::Io(error) => error.fmt(f),
            RemoteError::Closed(why) => write!(f, "the server closed the connection{why}"),
            RemoteError::Malformed(what) => write!(f, "the server sent {what}"),
            RemoteError::Refused(why) => f.write_str(why),
            RemoteError::Silent(seconds) => write!(f, "the server does not answer for {seconds} s"),
        }
    }
}

impl std::error::Error for RemoteError {}

impl From<io::Error> for RemoteError {
    fn from(error: io::Error) -> RemoteError {
        RemoteError::Io(error)
    }
}
