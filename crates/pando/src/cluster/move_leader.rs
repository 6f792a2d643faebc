//! `pando cluster move-leader`.

use super::target::Target;
use crate::failed::Failed;
use clap::Args as ClapArgs;
use serde_json::json;

/// Let another node lead, without waiting for an election.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,

    /// The node that is to lead
    #[arg(value_name = "NODE")]
    node: u64,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    args.target.ask(&json!({ "command": "move-leader", "node": args.node })).map(|_| ())
}
