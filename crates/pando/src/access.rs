//! `pando access`: why something is allowed or denied, what is wrong with rules, and rules of other servers.

mod check;
mod explain;
mod question;
mod source;
mod test;
mod translate;
mod words;
mod world;

use crate::failed::Failed;
use clap::{Args as ClapArgs, Subcommand};

/// Explain, check, test and translate access rules.
///
/// The rules and entries are those of a data directory that is not being served, of a running server, or of files. docs/access.md has the
/// language of the rules.
#[derive(ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Explain(explain::Args),
    Check(check::Args),
    Test(test::Args),
    Translate(translate::Args),
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    match &args.action {
        Action::Explain(args) => explain::run(args),
        Action::Check(args) => check::run(args),
        Action::Test(args) => test::run(args),
        Action::Translate(args) => translate::run(args),
    }
}
