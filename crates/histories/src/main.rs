//! `pando-histories`: records what concurrent clients see of a real server, and checks it; or checks files.

mod check;
mod run;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Histories of concurrent clients: recorded from a server, and checked.
///
/// A history says what each client asked for, when, and what it was answered. It is right if some order of all that happened, in
/// which what had ended comes before what began later, explains every answer.
#[derive(Parser)]
#[command(name = "pando-histories", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Check(check::Args),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::run(args),
    }
}
