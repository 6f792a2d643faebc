//! A server as a node of a cluster: what it knows of the others, how it answers joins and commands, and what goes on beside the log.

mod commands;
mod facts;
mod lags;
mod node;
mod runtime;
mod standing;

pub use facts::{Facts, linked};
pub use node::{JoinBody, Node};
pub use runtime::Runtime;

use ::node::transfer::Transfer;
use peers::Peers;
use std::sync::Arc;

/// What a server has beside its directory if it is a node.
pub struct Beside {
    /// What the links call.
    pub node: Arc<Node>,
    /// The links to the others.
    pub links: Peers,
    /// What sends and fetches snapshots.
    pub transfer: Transfer,
}
