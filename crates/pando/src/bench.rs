//! `pando bench`: load, and its limit.

mod null;
mod workload;

use crate::failed::Failed;
use clap::{Args as ClapArgs, Subcommand};
use loadgen::bench::{Style, Workload};
use std::process::ExitCode;

/// Measure a server: send operations as fast as it answers, check every answer, report rate and latency.
///
/// Any LDAPv3 server will do. The directory is expected to hold the entries RDN=0 to RDN=N-1 below one parent, as
/// `pando gen --template dvtds` makes them; keys are drawn at random from the whole range, or from the part that --entries names.
///
/// Every report has the durability of the server's writes, from cn=Monitor if the client may read it: the sync mode,
/// `memory`, or `unknown`. At the end every session is ended with an unbind.
///
/// Every answer is checked: the message id, the operation, the result code, that a search returns exactly one entry,
/// its DN to the byte, and that it has attributes if and only if some were requested. Anything else is counted as an
/// error, and the exit status is then 1.
///
/// A rate means little without the limit of the machine: `pando bench null` is the smallest possible responder.
/// Measure it in turn with the server, with the same client.
#[derive(ClapArgs, Debug)]
#[command(after_help = "EXAMPLES\n  \
    pando gen --template dvtds --count 1000000 -o dvtds.ldif\n  \
    pando serve --memory --suffix dc=com --schema dvtds --import dvtds.ldif --listen ldap://127.0.0.1:3389 ...\n  \
    pando bench search-base --url ldap://127.0.0.1:3389 --bind-dn uid=1,dc=com --password-file pw \\\n    \
    --entries 1000000 --queue 100\n  \
    pando bench null --listen 127.0.0.1:3390 --entries 1000000 &\n  \
    pando bench search-base --url ldap://127.0.0.1:3390 --entries 1000000 --queue 100")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read entries by their DN: searches with scope baseObject
    SearchBase(workload::Args),
    /// Find entries by a value: subtree searches with an equality filter on the RDN's attribute
    SearchEq(workload::Args),
    /// Replace one value of an entry by one of random length
    Modify(workload::Args),
    /// Searches with scope baseObject and modifies, in a given share
    Mixed {
        /// Percent of the operations that are modifies
        #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100))]
        modify_share: u8,
        #[command(flatten)]
        args: workload::Args,
    },
    /// Modifies in transactions (RFC 5805), as many in each as --queue says; only modifies are counted
    ///
    /// A connection checks all answers to the updates of a transaction before it commits, unless --at-once is given.
    /// The start of a strict transaction is sent with the commit of the one before. The styles `named` and `implied`
    /// need the server's setting txn-implicit-begin; `implied` needs txn-implicit-membership too.
    Transaction {
        /// Which form of the protocol is used
        #[arg(long, value_enum, default_value_t = Style::Strict)]
        style: Style,
        /// Send the end together with the updates
        #[arg(long)]
        at_once: bool,
        #[command(flatten)]
        args: workload::Args,
    },
    /// Simple binds as the entries, all with the password --user-password; one at a time on each connection
    Bind(workload::Args),
    /// Be the smallest possible LDAP responder: the limit of this kernel and machine
    Null(null::Args),
}

/// Runs it; 1 also when answers were wrong. A message names the workload too.
pub(crate) fn run(args: &Args) -> ExitCode {
    let (workload, args) = match &args.command {
        Command::SearchBase(args) => (Workload::SearchBase, args),
        Command::SearchEq(args) => (Workload::SearchEquality, args),
        Command::Modify(args) => (Workload::Modify, args),
        Command::Mixed { modify_share, args } => (Workload::Mixed { modify_share: *modify_share }, args),
        Command::Transaction { style, at_once, args } => {
            (Workload::Transaction { style: *style, at_once: *at_once }, args)
        }
        Command::Bind(args) => (Workload::Bind, args),
        Command::Null(args) => return Failed::exit(null::run(args), "bench null"),
    };
    Failed::exit(workload::run(workload, args), &format!("bench {}", workload.name()))
}
