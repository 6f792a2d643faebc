//! Filters on plain strings, three-valued: `None` is undefined.

use super::directory::{Directory, Name, Node};
use super::{Kind, answers, kind, normal};
use model::Scope;
use model::filter::{Assertion, Filter as Real, Substrings};
use std::collections::BTreeSet;

/// A search filter.
#[derive(Clone, Debug)]
pub(crate) enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Equal(String, String),
    Present(String),
    AtLeast(String, String),
    AtMost(String, String),
    Parts { attribute: String, initial: Option<String>, any: Vec<String>, last: Option<String> },
}

impl Filter {
    /// As a client would send it.
    pub(crate) fn real(&self) -> Real<'_> {
        match self {
            Filter::And(parts) => Real::And(parts.iter().map(Filter::real).collect()),
            Filter::Or(parts) => Real::Or(parts.iter().map(Filter::real).collect()),
            Filter::Not(part) => Real::Not(Box::new(part.real())),
            Filter::Equal(a, v) => Real::Equality(pair(a, v)),
            Filter::AtLeast(a, v) => Real::GreaterOrEqual(pair(a, v)),
            Filter::AtMost(a, v) => Real::LessOrEqual(pair(a, v)),
            Filter::Present(a) => Real::Present(a.as_bytes()),
            Filter::Parts { attribute, initial, any, last } => Real::Substrings(Substrings {
                attribute: attribute.as_bytes(),
                initial: initial.as_deref().map(str::as_bytes),
                any: any.iter().map(|part| part.as_bytes()).collect(),
                last: last.as_deref().map(str::as_bytes),
            }),
        }
    }

    fn truth(&self, node: &Node) -> Option<bool> {
        match self {
            Filter::And(parts) => fold(parts, node, false),
            Filter::Or(parts) => fold(parts, node, true),
            Filter::Not(part) => part.truth(node).map(|is| !is),
            Filter::Equal(a, v) => on_values(a, node, |value| normal(a, value) == normal(a, v)),
            Filter::Present(a) => on_values(a, node, |_| true),
            Filter::AtLeast(a, v) => on_values(a, node, |value| order(a, value) >= order(a, v)),
            Filter::AtMost(a, v) => on_values(a, node, |value| order(a, value) <= order(a, v)),
            Filter::Parts { attribute, initial, any, last } => on_values(attribute, node, |value| {
                has_parts(&normal(attribute, value), initial.as_deref(), any, last.as_deref())
            }),
        }
    }
}

fn pair<'f>(attribute: &'f str, value: &'f str) -> Assertion<'f> {
    Assertion { attribute: attribute.as_bytes(), value: value.as_bytes() }
}

/// `decisive` if any part is; else undefined if any part is.
fn fold(parts: &[Filter], node: &Node, decisive: bool) -> Option<bool> {
    let truths: Vec<Option<bool>> = parts.iter().map(|part| part.truth(node)).collect();
    if truths.contains(&Some(decisive)) {
        return Some(decisive);
    }
    if truths.contains(&None) { None } else { Some(!decisive) }
}

fn on_values(attribute: &str, node: &Node, passes: impl Fn(&str) -> bool) -> Option<bool> {
    if attribute == "unknownAttribute" {
        return None;
    }
    let mut looked_at = node.attributes.iter().filter(|(description, _)| answers(description, attribute));
    Some(looked_at.any(|(_, values)| values.iter().any(|value| passes(value))))
}

/// Numbers compare as numbers, text as its normal form.
fn order(attribute: &str, value: &str) -> (i128, String) {
    match kind(attribute) {
        Kind::Number => (value.parse().expect("numbers are written as such"), String::new()),
        Kind::Text => (0, normal(attribute, value)),
    }
}

fn has_parts(value: &str, initial: Option<&str>, any: &[String], last: Option<&str>) -> bool {
    let lower = |part: &str| part.to_ascii_lowercase();
    let Some(mut rest) = value.strip_prefix(&lower(initial.unwrap_or(""))[..]) else { return false };
    for part in any {
        match rest.find(&lower(part)) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(&lower(last.unwrap_or("")))
}

/// The names that a search finds.
pub(crate) fn search(directory: &Directory, top: &Name, scope: Scope, filter: &Filter) -> BTreeSet<Name> {
    let in_scope = |name: &Name| match scope {
        Scope::Base => name == top,
        Scope::One => name.len() == top.len() + 1,
        Scope::Subtree => true,
        Scope::Subordinates => name != top,
    };
    let found =
        directory.subtree(top).filter(|(name, node)| in_scope(name) && filter.truth(node) == Some(true));
    found.map(|(name, _)| name.clone()).collect()
}
