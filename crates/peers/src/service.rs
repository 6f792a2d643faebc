//! What a node does for others besides carrying messages. Called on a few threads that may wait.

use crate::join::{JoinAnswer, JoinRequest};
use crate::token::Token;

/// A member that sends a command: its certificate says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The node; it may be this one.
    pub node: u64,
}

/// Why a node does not do what it is asked for: in words, for an administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotDone {
    /// It may be otherwise within seconds: no node leads, another one does, or this one has not recovered its directory.
    Passing(String),
    /// It stays so, or nobody knows that it passes.
    Final(String),
}

impl From<NotDone> for String {
    fn from(why: NotDone) -> String {
        match why {
            NotDone::Passing(why) | NotDone::Final(why) => why,
        }
    }
}

/// Nobody says that it passes.
impl From<String> for NotDone {
    fn from(why: String) -> NotDone {
        NotDone::Final(why)
    }
}

/// Nobody says that it passes.
impl From<&str> for NotDone {
    fn from(why: &str) -> NotDone {
        NotDone::Final(why.to_owned())
    }
}

/// What answers joins and commands.
pub trait Service: Send + Sync {
    /// A node wants to become a member, with a token of this cluster that has not expired. Whether it was used already, and for which key, is to be
    /// found out here. The same key is to be given the same answer again.
    ///
    /// # Errors
    /// Why it is refused: for the administrator of the node; at most 1 KiB of it is sent. The node asks again for some seconds if that may pass.
    fn join(&self, token: &Token, request: JoinRequest) -> Result<JoinAnswer, NotDone>;

    /// A command of a member. The answer has at most [`crate::frame::ANSWER_BYTES_MAX`] bytes; a longer one ends the connection.
    fn command(&self, from: Caller, body: &[u8]) -> Vec<u8>;
}
