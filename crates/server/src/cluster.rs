//! A server as a node of a cluster: what it knows of the others, how it answers joins and commands, and what goes on beside the log.

mod announce;
mod arguments;
mod commands;
mod drain;
mod facts;
mod lags;
mod moves;
mod node;
mod remove;
mod renewal;
mod replace;
mod runtime;
mod standing;
mod status;
mod step_down;
#[cfg(test)]
mod tests;
mod upgrade;

pub use facts::{Facts, until_s};
pub use node::{JoinBody, Node, ReadsAlone};
pub use runtime::Runtime;

use ::node::transfer::Transfer;
use peers::Peers;
use std::path::PathBuf;
use std::sync::Arc;

/// What a server has beside its directory if it is a node.
pub struct Beside {
    /// What the links call.
    pub node: Arc<Node>,
    /// Where the files of the node are.
    pub folder: PathBuf,
    /// The links to the others.
    pub links: Peers,
    /// What sends and fetches snapshots.
    pub transfer: Transfer,
}
