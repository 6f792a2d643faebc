//! `pando config`: the settings of a server that runs.

mod change;
mod diff;
mod get;
mod history;
mod place;
mod running;
mod set;
mod undo;

use crate::failed::Failed;
use clap::{Args as ClapArgs, Subcommand};
use diff::Between;
use place::Place;
use running::Whose;
use std::path::PathBuf;

/// Read, change and compare the settings of a running server.
///
/// Keys and values are those of the configuration file. A server shows them as attributes of `cn=config`, which any LDAP client can read and
/// modify; this command does no more. All of it needs the root DN.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print the settings that are in force
    ///
    /// Without a key: all that have a value, as lines of a configuration file. With a key: its values, one a line.
    Get {
        #[command(flatten)]
        place: Place,
        /// A key of the configuration file, such as limits.size
        #[arg(value_name = "KEY")]
        key: Option<String>,
    },

    /// Change a setting while the server runs
    ///
    /// Only keys that docs/configuration.md calls changeable can be changed. The change is in force, and durable, when the command returns.
    /// It holds after a restart too, whatever the configuration file says, until the file says something else than before. A key of the scope
    /// node is changed at the server of --url alone. Prints the line of the key as it was (-) and as it is (+).
    Set {
        #[command(flatten)]
        place: Place,
        /// A key of the configuration file
        #[arg(value_name = "KEY")]
        key: String,
        /// Its value; several for a key that takes an array. They replace all that it has
        #[arg(value_name = "VALUE", required_unless_present = "configured")]
        values: Vec<String>,
        /// Go back to what the file and the flags of the server say
        #[arg(long, conflicts_with = "values")]
        configured: bool,
        /// Let the server check the change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },

    /// Compare the settings in force with the defaults, with a configuration file, or with what they were
    ///
    /// Prints a line with - for what a key is by default or in the file, and one with + for what is in force. A key that the file does not
    /// name has its default there. With --from: a line with - for what it was after that change.
    Diff {
        #[command(flatten)]
        place: Place,
        /// A configuration file, named as the server's own was: relative names of files in it are relative to its folder
        #[arg(long, value_name = "FILE", conflicts_with = "from")]
        file: Option<PathBuf>,
        /// The settings after this change; the one before the first of `pando config history` is known too
        #[arg(long, value_name = "NUMBER")]
        from: Option<u64>,
        /// With --from: the settings after this change, not those in force
        #[arg(long, value_name = "NUMBER", requires = "from")]
        to: Option<u64>,
        /// With --from: the number is that of a change of settings of the server itself
        #[arg(long, requires = "from")]
        node: bool,
    },

    /// List the last changes: number, time, and who made them
    ///
    /// Lists what was changed while the server ran, and what a start with another file or other flags has changed. The server keeps the last 100
    /// values that were changed, or fewer of them if they are long, with the directory: nodes of a cluster and backups have them too.
    History {
        #[command(flatten)]
        place: Place,
        /// List the changes of settings of the server itself, which no other node and no backup has; they have numbers of their own
        #[arg(long)]
        node: bool,
    },

    /// Take back a change
    ///
    /// Gives the keys of the change the values that they had before it. That is a change too, which can be taken back. It is refused if one
    /// of them was changed again since.
    Undo {
        #[command(flatten)]
        place: Place,
        /// The number of a change; without it the last one
        #[arg(value_name = "NUMBER")]
        number: Option<u64>,
        /// The change is one of settings of the server itself
        #[arg(long)]
        node: bool,
        /// Let the server check the change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

const AFTER: &str = "\
EXAMPLES:
  pando config get --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password limits.rule
  pando config set --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password \\
      txn-age-max 5000 --dry-run
  pando config diff --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password \\
      --file /etc/pando/pando.toml
  The same with any LDAP client:
    ldapsearch: -s base -b cn=config pandoLimitsRule
    ldapmodify: dn: cn=config / changetype: modify / replace: pandoTxnAgeMax / pandoTxnAgeMax: 5000

EXIT CODES:
  0  done; with diff: there is no difference
  1  the server refuses or cannot be reached; with diff: there are differences
  2  the command line is wrong, the key or the value is, or the configuration file; with diff: the settings cannot be compared";

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    match &args.action {
        Action::Get { place, key } => get::run(place, key.as_deref()),
        Action::Set { place, key, values, configured, dry_run } => {
            set::run(place, key, (!configured).then_some(values), *dry_run)
        }
        Action::Diff { place, file, from, to, node } => {
            let with_file = file.as_deref().map_or(Between::Defaults, Between::File);
            diff::run(place, &from.map_or(with_file, |from| Between::Changes(Whose::of(*node), from, *to)))
        }
        Action::History { place, node } => history::run(place, Whose::of(*node)),
        Action::Undo { place, number, node, dry_run } => {
            undo::run(place, Whose::of(*node), *number, *dry_run)
        }
    }
}
