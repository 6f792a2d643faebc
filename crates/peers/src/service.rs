//! What a node does for others besides carrying messages. Called on a few threads that may wait.

use crate::join::{JoinAnswer, JoinRequest};
use crate::token::Token;

/// A member that sends a command: its certificate says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The node; it may be this one.
    pub node: u64,
}

/// What answers joins and commands.
pub trait Service: Send + Sync {
    /// A node wants to become a member, with a token of this cluster that has not expired. Whether it was used already, and for which key, is to be
    /// found out here. The same key is to be given the same answer again.
    ///
    /// # Errors
    /// Why it is refused: for the administrator of the node; at most 1 KiB of it is sent.
    fn join(&self, token: &Token, request: JoinRequest) -> Result<JoinAnswer, String>;

    /// A command of a member. The answer has at most [`crate::frame::ANSWER_BYTES_MAX`] bytes; a longer one ends the connection.
    fn command(&self, from: Caller, body: &[u8]) -> Vec<u8>;
}
