//! What a node does for others besides carrying messages. Called on a few threads that may wait.

use crate::id::RunId;
use crate::join::{JoinAnswer, JoinRequest};
use crate::token::Token;

/// A member that sends a command: its certificate says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The node; it may be this one.
    pub node: u64,
}

/// A run of a member that is about to be linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The node.
    pub node: u64,
    /// Its starts so far.
    pub boots: u64,
    /// Its run.
    pub run: RunId,
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

    /// A run of a member is about to be linked. What must be remembered of it is durable when this returns. Called for each connection of classes
    /// messages and files, by either end. Within one run of this server a lower number of starts than before is refused without it, and so is the
    /// same number of another run.
    ///
    /// # Errors
    /// Why no link with it is made.
    fn greet(&self, peer: Greeting) -> Result<(), String> {
        let _ = peer;
        Ok(())
    }
}
