//! Flags of settings: those of `pando serve`, one for each key of the table that stands in no section, and those that other commands
//! share with it.

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use dsa::settings::Values;
use server::config::{Config, Key, keys};
use std::marker::PhantomData;

/// Where the help has the flags of transactions.
const TRANSACTIONS: &str = "Transactions (each can be changed in cn=config while the server runs)";
/// Where the help has the flags of access control.
const ACCESS: &str = "Access control (each but secrets can be changed in cn=config while the server runs)";
/// Keys of a section that are flags, with the flags.
const OF_ACCESS: [(&str, &str); 4] = [
    ("access.rule", "access-rule"),
    ("access.defaults", "access-defaults"),
    ("access.refresh", "access-refresh"),
    ("access.secrets", "access-secrets"),
];

/// Which keys are flags of a command.
pub(crate) trait Which {
    /// Their names; `None` for all that stand in no section, and those of access control.
    const KEYS: Option<&'static [&'static str]>;
}

/// Those of `pando serve`.
#[derive(Clone, Debug, Default)]
pub(crate) struct All;

impl Which for All {
    const KEYS: Option<&'static [&'static str]> = None;
}

/// The flags that were given, by the name of their key. Those of other commands than `pando serve` go without `--url`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags<W> {
    pub(crate) given: Vec<(&'static str, Vec<String>)>,
    which: PhantomData<W>,
}

impl<W> Flags<W> {
    /// Sets what was given. Returns the key of each value that is bad, and what is wrong with it.
    pub(crate) fn set(&self, config: &mut Config) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        for (name, values) in &self.given {
            let bad = config.set(name, values).err().unwrap_or_default();
            faults.extend(bad.iter().map(|message| (*name, flag_fault(name, message))));
        }
        faults
    }
}

/// What is wrong with a flag.
pub(crate) fn flag_fault(name: &str, message: &str) -> String {
    format!("--{}: {message}", of_access(name).unwrap_or(name))
}

/// The flag of a key of access control.
fn of_access(key: &str) -> Option<&'static str> {
    OF_ACCESS.iter().find(|(name, _)| *name == key).map(|(_, flag)| *flag)
}

fn flagged<W: Which>() -> impl Iterator<Item = Key> {
    let is_flag = |key: &Key| match W::KEYS {
        None => key.section().is_empty() || of_access(key.name).is_some(),
        Some(names) => names.contains(&key.name),
    };
    keys().filter(is_flag)
}

fn flag<W: Which>(key: Key) -> Arg {
    let of_access = of_access(key.name);
    let of_transactions = key.name.starts_with("txn-").then_some(TRANSACTIONS);
    let heading = of_access.map(|_| ACCESS).or(of_transactions);
    let arg = Arg::new(key.name).long(of_access.unwrap_or(key.name));
    let arg = arg.value_name(key.form).help(help(&key));
    let arg = arg.help_heading(heading);
    let arg = if W::KEYS.is_some() { arg.conflicts_with("url") } else { arg };
    match key.values {
        Values::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("on"),
        Values::One => arg,
        Values::Each | Values::Tables => arg.action(ArgAction::Append),
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

impl<W: Which> Args for Flags<W> {
    fn augment_args(command: Command) -> Command {
        command.args(flagged::<W>().map(flag::<W>))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<W: Which> FromArgMatches for Flags<W> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let values = |key: Key| {
            let values = matches.get_many::<String>(key.name)?;
            Some((key.name, values.cloned().collect()))
        };
        Ok(Flags { given: flagged::<W>().filter_map(values).collect(), which: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
