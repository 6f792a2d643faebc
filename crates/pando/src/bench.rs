//! `pando bench`: load, and its limit.

mod null;
mod workload;

use clap::ValueEnum;
use clap::{Args as ClapArgs, Subcommand};
use loadgen::bench::{Style, Workload};
use std::process::ExitCode;

/// Measure a server: send operations as fast as it answers, check every answer, report rate and latency.
///
/// Any LDAPv3 server will do. The directory is expected to hold the entries RDN=0 to RDN=N-1 below one parent, as
/// `pando gen --template dvtds` makes them; keys are drawn at random from the whole range, or from the part that --entries names.
///
/// Every report says how durable the server's writes are, as cn=Monitor has it for those who may read it: its sync mode, `memory`, or
/// `unknown`. At the end every session is ended with an unbind.
///
/// Of every answer are checked: the message id, the operation, the result code, that a search has exactly one entry,
/// its DN to the byte, and that it has attributes if some were asked for and none otherwise. Anything else is counted as
/// an error, and the exit status is then 1.
///
/// The figures of a machine mean little without its limit: `pando bench null` is the smallest possible responder, to
/// be measured in turn with the server by the same client.
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
    /// A connection looks at all answers to the updates of a transaction before it commits, unless --at-once. A strict one's start
    /// is sent with the commit of the one before. The styles `named` and `implied` need the server's settings
    /// txn-implicit-begin, and txn-implicit-membership for the latter.
    Transaction {
        /// How much of the protocol is said
        #[arg(long, value_enum, default_value_t = StyleName::Strict)]
        style: StyleName,
        /// Send the end together with the updates
        #[arg(long)]
        at_once: bool,
        #[command(flatten)]
        args: workload::Args,
    },
    /// Simple binds as the entries, all with the password --user-password; one under way on each connection
    Bind(workload::Args),
    /// Be the smallest possible LDAP responder: the limit of this kernel and machine
    Null(null::Args),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StyleName {
    /// As RFC 5805 has it: a start, and a control with every update
    Strict,
    /// The first update begins the transaction, under a name that the client chose
    Named,
    /// The same, and the other updates do not name it
    Implied,
}

impl From<StyleName> for Style {
    fn from(name: StyleName) -> Style {
        match name {
            StyleName::Strict => Style::Strict,
            StyleName::Named => Style::Named,
            StyleName::Implied => Style::Implied,
        }
    }
}

/// Runs the subcommand: 0; 1 when there were errors or it could not run.
pub(crate) fn run(args: Args) -> ExitCode {
    match args.command {
        Command::SearchBase(args) => workload::run(Workload::SearchBase, &args),
        Command::SearchEq(args) => workload::run(Workload::SearchEquality, &args),
        Command::Modify(args) => workload::run(Workload::Modify, &args),
        Command::Mixed { modify_share, args } => workload::run(Workload::Mixed { modify_share }, &args),
        Command::Transaction { style, at_once, args } => {
            workload::run(Workload::Transaction { style: style.into(), at_once }, &args)
        }
        Command::Bind(args) => workload::run(Workload::Bind, &args),
        Command::Null(args) => null::run(&args),
    }
}
