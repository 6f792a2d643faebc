//! `pando cluster replace`.

use super::target::Target;
use super::token;
use crate::failed::Failed;
use clap::Args as ClapArgs;
use env::poll::pause;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Between two looks at how it fares.
const LOOK: Duration = Duration::from_millis(500);

/// Make a token for a node that takes the place of another one, dead or not, by itself when it has joined and caught up.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,

    /// The node that is to go
    #[arg(value_name = "NODE")]
    node: u64,

    /// File for the token. Only its owner can read it. Without this the token is printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Return when the node is gone
    #[arg(long)]
    wait: bool,

    /// The node stays after all
    #[arg(long, conflicts_with_all = ["output", "wait"])]
    undo: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    if args.wait && args.target.node()? == args.node {
        let text = "this is the node that is to go: name another one with --data, or leave out --wait";
        return Err(Failed::at(args.target.data.display(), text));
    }
    let command = json!({ "command": "replace", "node": args.node, "undo": args.undo });
    let answer = args.target.ask(&command)?;
    if !args.undo {
        token::give(&answer, args.output.as_deref())?;
    }
    while args.wait && is_there(args)? {
        pause(LOOK);
    }
    Ok(())
}

/// Is the node a member, and to be replaced?
fn is_there(args: &Args) -> Result<bool, Failed> {
    let status = args.target.ask(&json!({ "command": "status" }))?;
    let nodes = status["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let node: Option<&Value> = nodes.iter().find(|node| node["id"] == args.node);
    match node {
        Some(node) if node["is_replaced"] == false => {
            let text = "it was called off, or the token has expired, or the new node was removed";
            Err(Failed::at(format!("node {}", args.node), text))
        }
        node => Ok(node.is_some()),
    }
}
