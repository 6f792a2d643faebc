//! `pando cluster ready`.

use super::target::Target;
use crate::failed::Failed;
use clap::Args as ClapArgs;
use serde_json::json;

/// Exit with 0 if the node may serve clients, for probes.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let answer = args.target.ask(&json!({ "command": "ready" }))?;
    match answer["ready"].as_bool() {
        Some(true) => Ok(()),
        _ => {
            let why = answer["why"].as_str().unwrap_or("the node knows of no leader, or is no member");
            Err(Failed::at(args.target.data.display(), why))
        }
    }
}
