//! The node that a command goes to.

use crate::failed::Failed;
use clap::Args as ClapArgs;
use env::disk::RealDisk;
use peers::Identity;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// See the module.
#[derive(ClapArgs)]
pub(super) struct Target {
    /// Data directory of a running node
    #[arg(long, value_name = "DIR")]
    pub(super) data: PathBuf,
}

impl Target {
    /// The number of the node.
    pub(super) fn node(&self) -> Result<u64, Failed> {
        identity(&self.data).map(|identity| identity.node())
    }

    /// What the node answers to a command.
    pub(super) fn ask(&self, command: &Value) -> Result<Value, Failed> {
        ask(&self.data, command)
    }
}

/// What the running node whose data directory is `data` answers to a command.
pub(crate) fn ask(data: &Path, command: &Value) -> Result<Value, Failed> {
    let identity = identity(data)?;
    let body = command.to_string();
    let mut last = None;
    // It may not reach itself where others reach it.
    let listens = identity.listens().peer.iter();
    let reached = identity.peer_addresses().iter();
    for address in
        listens.clone().chain(reached.filter(|address| !listens.clone().any(|own| own == *address)))
    {
        match peers::client::command(&identity, address, body.as_bytes()) {
            Ok(answer) => {
                let answer: Value =
                    serde_json::from_slice(&answer).map_err(|error| Failed::at(address, error))?;
                return match answer["error"].as_str() {
                    Some(error) => Err(Failed::at(address, error)),
                    None => Ok(answer),
                };
            }
            Err(error) => last = Some(Failed::at(address, error)),
        }
    }
    Err(last.unwrap_or_else(|| Failed::at(data.display(), "this node has no address for others")))
}

fn identity(data: &Path) -> Result<Identity, Failed> {
    Identity::load(&RealDisk, &peers::folder(data)).map_err(|error| {
        let what = if data.is_dir() { error.to_string() } else { "there is no such directory".to_owned() };
        Failed::at(data.display(), format!("this is not the directory of a node: {what}"))
    })
}
