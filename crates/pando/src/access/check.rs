//! `pando access check`: rules that are faulty, or cannot mean what they say.

use super::source::{self, Source};
use crate::failed::Failed;
use crate::output::print;
use access::Name;
use access::lint::{self, Remark};
use clap::Args as ClapArgs;
use serde_json::json;

/// Find faults of rules
///
/// Reports names that the schema does not know, rules that never decide, subjects that never fit, rights that the target of a rule does not
/// have, rules that give secrets away, and groups and entries that do not exist.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(super) struct Args {
    #[command(flatten)]
    source: source::Args,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "\
EXAMPLES:
  pando access check --rules pando.toml
  pando access check --rules new.toml --data people.pando

EXIT CODES:
  0  nothing was found
  1  something was found; it is on standard output
  2  the command line is wrong, or a rule cannot be read";

/// Runs it.
pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let source = args.source.load()?;
    let found = findings(&source);
    source.ended()?;
    if args.json {
        let line = |(at, text): &(usize, String)| json!({ "rule": source.rules[*at].rule.name, "where": source.places[*at], "what": text });
        print(format!("{}\n", json!(found.iter().map(line).collect::<Vec<_>>())))?;
    } else {
        let line = |(at, text): &(usize, String)| format!("{}: {text}\n", source.places[*at]);
        print(found.iter().map(line).collect::<String>())?;
    }
    if found.is_empty() { Ok(()) } else { Err(Failed::printed()) }
}

/// What is wrong, by the number of the rule.
fn findings(source: &Source) -> Vec<(usize, String)> {
    let schema = source.world.schema();
    let is_faulty = |at: usize| source.faults.iter().any(|(other, _)| *other == at);
    let mut found = source.faults.clone();
    let of_rules = lint::remarks(&source.rules, schema).into_iter().filter(|remark| !is_faulty(remark.rule));
    found.extend(
        of_rules
            .map(|Remark { rule, text }| (rule, format!("rule `{}`: {text}", source.rules[rule].rule.name))),
    );
    // Without entries there is nothing to compare names with.
    let has_entries = source.rules.iter().any(|placed| names_something(source, placed));
    for (at, placed) in source.rules.iter().enumerate().filter(|(at, _)| has_entries && !is_faulty(*at)) {
        for (what, dn) in lint::names(&placed.rule) {
            let Some(name) = Name::parse(schema, dn.as_bytes()) else { continue };
            // The server's own entries are not among those of a directory.
            let is_own = ["", "cn=config", "cn=monitor", "cn=subschema"]
                .iter()
                .any(|own| dn.to_ascii_lowercase().ends_with(own) && (!own.is_empty() || dn.is_empty()));
            if !is_own && source.world.entry(&name).is_none() && source.root.as_ref() != Some(&name) {
                found.push((at, format!("rule `{}`: there is no {what} {dn}", placed.rule.name)));
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found
}

/// Is one of the entries that a rule names there?
fn names_something(source: &Source, placed: &access::decide::Placed) -> bool {
    let name = |dn: &str| Name::parse(source.world.schema(), dn.as_bytes());
    lint::names(&placed.rule)
        .iter()
        .any(|(_, dn)| name(dn).is_some_and(|name| source.world.entry(&name).is_some()))
}
