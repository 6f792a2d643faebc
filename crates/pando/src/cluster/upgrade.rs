//! `pando cluster upgrade`.

use super::target::Target;
use crate::failed::Failed;
use crate::output::print;
use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;

/// Complete an upgrade of all nodes.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Finish(Finish),
}

/// From now on apply updates as the newer program does that all nodes have by now. An older program cannot be used any more then.
#[derive(ClapArgs)]
struct Finish {
    #[command(flatten)]
    target: Target,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let Command::Finish(Finish { target }) = &args.command;
    let answer = target.ask(&json!({ "command": "upgrade-finish" }))?;
    let (before, now) = (&answer["before"], &answer["behaviour"]);
    print(&match before == now {
        true => format!("nothing to do: behaviour {now} is in force, and no node knows a later one\n"),
        false => format!("behaviour {now} is in force; it was {before}\n"),
    })
}
