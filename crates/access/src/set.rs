//! Rules that stand together: their names differ.

use crate::limit::LimitRule;
use crate::parse::limit::parse_limit;
use crate::parse::{Error, parse};
use crate::rule::Rule;
use model::limits::ACCESS_RULES_MAX;
use std::collections::BTreeSet;

/// Parses the rules of one place.
///
/// # Errors
/// Every text that is bad, by its position, and why.
pub fn parse_all(texts: &[String]) -> Result<Vec<Rule>, Bad> {
    all(texts, parse, |rule| &rule.name)
}

/// Parses the limits of one place, in their order.
///
/// # Errors
/// As of access rules.
pub fn parse_limits(texts: &[String]) -> Result<Vec<LimitRule>, Bad> {
    all(texts, parse_limit, |rule| &rule.name)
}

/// Texts that are bad, by their position, and why.
type Bad = Vec<(usize, String)>;

fn all<R>(
    texts: &[String],
    parse: impl Fn(&str) -> Result<R, Error>,
    name: impl Fn(&R) -> &String,
) -> Result<Vec<R>, Bad> {
    if texts.len() > ACCESS_RULES_MAX {
        let reason = format!("there are {ACCESS_RULES_MAX} rules at most; groups and subtrees need fewer");
        return Err(vec![(ACCESS_RULES_MAX, reason)]);
    }
    let (mut rules, mut bad, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (at, text) in texts.iter().enumerate() {
        match parse(text) {
            Ok(rule) if !names.insert(name(&rule).clone()) => {
                bad.push((at, format!("another rule is called `{}`; names are unique", name(&rule))));
            }
            Ok(rule) => rules.push(rule),
            Err(error) => bad.push((at, error.to_string())),
        }
    }
    if bad.is_empty() { Ok(rules) } else { Err(bad) }
}
