//! `pando cluster remove`.

use super::target::Target;
use crate::failed::Failed;
use clap::Args as ClapArgs;
use serde_json::json;

/// Take a node out of the cluster for ever.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,

    /// The node
    #[arg(value_name = "NODE")]
    node: u64,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    args.target.ask(&json!({ "command": "remove", "node": args.node })).map(|_| ())
}
