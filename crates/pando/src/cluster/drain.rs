//! `pando cluster drain`.

use super::target::Target;
use crate::failed::Failed;
use clap::Args as ClapArgs;
use serde_json::json;

/// Prepare a node for its end: another one leads, and `ready` says no. A start of the node ends that.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,

    /// The node
    #[arg(value_name = "NODE")]
    node: u64,

    /// The node is not to be stopped after all
    #[arg(long)]
    undo: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let command = json!({ "command": "drain", "node": args.node, "undo": args.undo });
    args.target.ask(&command).map(|_| ())
}
