//! `pando cluster remove`.

use super::target::Target;
use crate::failed::Failed;
use clap::Args as ClapArgs;
use serde_json::json;

/// Take nodes out of the cluster for ever, all in one step. An odd number of nodes votes afterwards.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,

    /// The nodes
    #[arg(value_name = "NODE", required = true, num_args = 1..=6)]
    nodes: Vec<u64>,

    /// They are refused if one of them is heard of. If an even number would vote, another node gives its vote up, and stays; three votes are
    /// left at least
    #[arg(long)]
    dead: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let command = json!({ "command": "remove", "nodes": args.nodes, "dead": args.dead });
    args.target.ask(&command).map(|_| ())
}
