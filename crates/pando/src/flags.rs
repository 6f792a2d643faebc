//! The flags of `pando serve`: one for each key of the table that stands in no section.

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use dsa::settings::Values;
use server::config::{Key, keys};

/// Where the help has the flags of transactions.
const TRANSACTIONS: &str = "Transactions (each can be changed in cn=config while the server runs)";

/// The flags that were given, by the name of their key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) given: Vec<(&'static str, Vec<String>)>,
}

fn flagged() -> impl Iterator<Item = Key> {
    keys().filter(|key| key.section().is_empty())
}

fn flag(key: Key) -> Arg {
    let arg = Arg::new(key.name).long(key.name).value_name(key.form).help(help(&key));
    let arg = arg.help_heading(key.name.starts_with("txn-").then_some(TRANSACTIONS));
    match key.values {
        Values::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("on"),
        Values::One => arg,
        Values::Each => arg.action(ArgAction::Append),
        Values::List => arg.action(ArgAction::Append).num_args(1..),
    }
}

/// The row's text without its markup, and the default.
fn help(key: &Key) -> String {
    let mut text = key.text.trim_end_matches('.').to_owned();
    while let Some((before, rest)) = text.split_once('[') {
        let (name, rest) = rest.split_once(']').unwrap_or((rest, ""));
        let rest =
            rest.strip_prefix('(').and_then(|link| link.split_once(')')).map_or(rest, |(_, rest)| rest);
        text = format!("{before}{name}{rest}");
    }
    let repeated = if key.many() { "; may be repeated" } else { "" };
    format!("{text}{repeated} [default: {}]", key.default).replace('`', "")
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        command.args(flagged().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Flags, Error> {
        let values = |key: Key| {
            let values = matches.get_many::<String>(key.name)?;
            Some((key.name, values.cloned().collect()))
        };
        Ok(Flags { given: flagged().filter_map(values).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}
