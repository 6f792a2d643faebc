//! `pando cluster`: the nodes of a cluster.

mod drain;
mod move_leader;
mod ready;
mod recover;
mod remove;
mod replace;
mod status;
mod target;
mod token;
mod upgrade;

pub(crate) use recover::finish as finish_recovery;
pub(crate) use target::ask;

use crate::failed::Failed;
use clap::{Args as ClapArgs, Subcommand};

/// Show and change the nodes of a cluster.
///
/// A command goes to the running node whose data directory is named: with the certificate in it, by the address at which other nodes
/// reach it. What only the leader can do that node passes on. `recover` alone is for the directory of a node that is stopped.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "\
EXAMPLES:
  Three nodes:
    pando serve --data n1 --suffix dc=com --listen ldap://127.0.0.1:3891 --peer 127.0.0.1:4891 --init-cluster \\
        --root-dn cn=admin,dc=com --root-password-file root.password
    pando cluster token --data n1 -o token2
    pando serve --data n2 --listen ldap://127.0.0.1:3892 --peer 127.0.0.1:4892 --join token2
    pando cluster token --data n1 -o token3
    pando serve --data n3 --listen ldap://127.0.0.1:3893 --peer 127.0.0.1:4893 --join token3
    pando cluster status --data n1

EXIT CODES:
  0  done
  1  it could not be done, or the node does not answer
  2  the command line is wrong";

#[derive(Subcommand)]
enum Command {
    Status(status::Args),
    Token(token::Args),
    MoveLeader(move_leader::Args),
    Drain(drain::Args),
    Remove(remove::Args),
    Replace(replace::Args),
    Upgrade(upgrade::Args),
    Ready(ready::Args),
    Recover(recover::Args),
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    match &args.command {
        Command::Status(args) => status::run(args),
        Command::Token(args) => token::run(args),
        Command::MoveLeader(args) => move_leader::run(args),
        Command::Drain(args) => drain::run(args),
        Command::Remove(args) => remove::run(args),
        Command::Replace(args) => replace::run(args),
        Command::Upgrade(args) => upgrade::run(args),
        Command::Ready(args) => ready::run(args),
        Command::Recover(args) => recover::run(args),
    }
}
