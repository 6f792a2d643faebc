//! Why a server gives no answer.

use std::fmt;
use std::io;

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
    /// TLS fails: the server is not known to be who it should be, above all.
    Tls(String),
    /// Nothing came for so many seconds.
    Silent(u64),
    /// It has not said all in so many seconds.
    Late(u64),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Io(error) => error.fmt(f),
            ClientError::Closed(why) => write!(f, "the server closed the connection{why}"),
            ClientError::Malformed(what) => write!(f, "the server sent {what}"),
            ClientError::Refused(why) => f.write_str(why),
            ClientError::Tls(why) => write!(f, "TLS: {why}"),
            ClientError::Silent(seconds) => write!(f, "the server does not answer for {seconds} s"),
            ClientError::Late(seconds) => write!(f, "the server has not said all in {seconds} s"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> ClientError {
        ClientError::Io(error)
    }
}
