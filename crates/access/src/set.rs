//! Rules that stand together: their names differ.

use crate::parse::parse;
use crate::rule::Rule;
use model::limits::ACCESS_RULES_MAX;
use std::collections::BTreeSet;

/// Parses the rules of one place.
///
/// # Errors
/// Every text that is bad, by its position, and why.
pub fn parse_all(texts: &[String]) -> Result<Vec<Rule>, Vec<(usize, String)>> {
    if texts.len() > ACCESS_RULES_MAX {
        let reason = format!("there are {ACCESS_RULES_MAX} rules at most; groups and subtrees need fewer");
        return Err(vec![(ACCESS_RULES_MAX, reason)]);
    }
    let (mut rules, mut bad, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (at, text) in texts.iter().enumerate() {
        match parse(text) {
            Ok(rule) if !names.insert(rule.name.clone()) => {
                bad.push((at, format!("another rule is called `{}`; names are unique", rule.name)));
            }
            Ok(rule) => rules.push(rule),
            Err(error) => bad.push((at, error.to_string())),
        }
    }
    if bad.is_empty() { Ok(rules) } else { Err(bad) }
}
