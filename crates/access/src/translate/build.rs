//! Short ways to write parts of rules.

use crate::rule::{AttributeSelector, Condition, Pattern, Place, Reach, Subject, Test};
use proto::filter_string::{self, FilterBuf};

pub(super) fn at(reach: Reach, dn: &str) -> Place {
    Place::At(reach, Pattern { each_below: false, dn: dn.to_owned() })
}

pub(super) fn named(description: &str, excluded: bool) -> AttributeSelector {
    AttributeSelector::Named { description: description.to_owned(), excluded }
}

pub(super) fn test(condition: Condition) -> Test {
    Test { condition, negated: false }
}

pub(super) fn anyone() -> Vec<Subject> {
    vec![Subject(vec![test(Condition::Anyone)])]
}

/// A filter, as text.
pub(super) fn filter(text: &str) -> Result<FilterBuf, String> {
    filter_string::parse(text.as_bytes()).map_err(|error| format!("`{text}`: {error}"))
}

/// Both filters.
pub(super) fn both(first: Option<FilterBuf>, second: Option<FilterBuf>) -> Option<FilterBuf> {
    match (first, second) {
        (Some(first), Some(second)) => {
            let text =
                format!("(&{}{})", crate::print::filter_text(&first), crate::print::filter_text(&second));
            filter_string::parse(text.as_bytes()).ok()
        }
        (first, second) => first.or(second),
    }
}
