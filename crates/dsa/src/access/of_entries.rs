//! The rules that entries have, as values of `pandoAccess`: read at a read point, and made part of the rule set like any other.
//!
//! They were checked when they were written ([`crate::admission`]). What came in another way, by an import or under another schema, and is no
//! rule here denies everything in its place: a rule that was meant to deny must not allow for want of understanding it.

use super::candidate::each_value;
use super::rules::{Origin, RuleSet};
use ::access::{Rule, parse, parse_of_entry};
use model::EntryId;
use model::attribute::split_options;
use model::limits::ACCESS_ENTRY_RULES_MAX;
use schema::Schema;
use store::{DnCache, ReadPoint};

/// The attribute whose values are rules.
pub(crate) const ATTRIBUTE: &str = "pandoAccess";

/// A rule, and the entry that has it.
#[derive(Debug)]
pub(super) struct OfEntry {
    pub(super) rule: Rule,
    pub(super) id: EntryId,
    /// Name of the entry when it was read. It may have another one by now.
    pub(super) dn: String,
}

/// All of them, by entry and value. Of an entry beyond the bound the rules are not read, and it is closed like one whose rule is none:
/// only what does not come by an update can bring as many.
pub(super) fn read(read_point: ReadPoint<'_>, cache: &mut DnCache) -> Vec<OfEntry> {
    let schema = read_point.shard().schema();
    let mut all: Vec<OfEntry> = Vec::new();
    for id in read_point.with_access_rules(usize::MAX) {
        let Some(entry) = read_point.entry(id) else { continue };
        let dn = String::from_utf8_lossy(&read_point.dn(&entry, cache)).into_owned();
        let mut values = Vec::new();
        each_value(&entry, schema.well_known().access_rule, read_point, &mut |value| {
            values.push(value.to_vec());
        });
        // The order of values in an entry is no one's choice.
        values.sort_unstable();
        let has_room = all.len() + values.len() <= ACCESS_ENTRY_RULES_MAX;
        let rules: Option<Vec<Rule>> = values.iter().map(|value| rule(schema, value)).collect();
        let rules = rules.filter(|_| has_room).unwrap_or_else(|| vec![closed()]);
        all.extend(rules.into_iter().map(|rule| OfEntry { rule, id, dn: dn.clone() }));
    }
    all
}

/// The rule of one value, if it is one.
fn rule(schema: &Schema, value: &[u8]) -> Option<Rule> {
    let rule = checked(schema, value).ok()?;
    // By itself, so that one that cannot be made ready closes its entry, and not all of the directory.
    RuleSet::new(schema, &[], [(&rule, Origin::Configured)]).ok()?;
    // What explanations call it: the same name may be that of a rule of the configuration.
    Some(Rule { name: format!("{} ({ATTRIBUTE})", rule.name), ..rule })
}

/// May a description be that of rules? Each update comes here: it is one look at its length and first letters, or a number.
#[inline]
pub(crate) fn may_be_access_rule(description: &[u8]) -> bool {
    match description {
        [b'p' | b'P', ..] => {
            let name = split_options(description).0;
            name.eq_ignore_ascii_case(ATTRIBUTE.as_bytes())
        }
        [first, ..] => first.is_ascii_digit(),
        [] => false,
    }
}

/// The rule that a value is.
///
/// # Errors
/// Why it is none under the schema.
pub(crate) fn checked(schema: &Schema, value: &[u8]) -> Result<Rule, String> {
    let text = std::str::from_utf8(value).map_err(|_| "it is not UTF-8".to_owned())?;
    let rule = parse_of_entry(text).map_err(|error| error.to_string())?;
    ::access::check(&rule, schema).map(|()| rule)
}

/// Denies everything.
fn closed() -> Rule {
    let rule =
        parse("closed: all attrs=entry,**; anyone; deny=all,proxy,manage rank=9").expect("it is a rule");
    Rule { name: format!("no rule ({ATTRIBUTE})"), ..rule }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::access::Right;

    #[test]
    fn the_rule_that_closes_denies_every_right() {
        let closed = closed();
        // Controls and extended operations are no matter of entries.
        let rights = Right::ALL.into_iter().filter(|right| *right != Right::Use);
        assert!(rights.into_iter().all(|right| closed.deny.has(right)));
    }
}
