//! What the values of `pandoAccess` may be: access rules that the schema knows all names of. They are looked at when they are written, so
//! that an administrator learns of a fault in one, and not the users that it was meant for.

use crate::access::{RULES_OF_ENTRIES, checked_rule_of_entry, may_be_access_rule};
use crate::outcome::Refusal;
use model::ResultCode;
use model::attribute::split_options;
use model::limits::ACCESS_ENTRY_RULES_MAX;
use proto::message::Request;
use proto::op::ModifyKind;
use schema::Schema;
use std::collections::BTreeSet;

/// Is this the attribute, with options or without?
pub(crate) fn is_access_rule(schema: &Schema, description: &[u8]) -> bool {
    may_be_access_rule(description)
        && schema.is_named(schema.well_known().access_rule, split_options(description).0)
}

/// Why the rules that an update brings are not taken. `present`: how many there are in the directory.
pub(super) fn unfit(schema: &Schema, request: &Request<'_>, present: usize) -> Option<Refusal> {
    let (mut count, mut names) = (0, BTreeSet::new());
    let mut look = |description: &[u8], values: &mut dyn Iterator<Item = &[u8]>| {
        if !is_access_rule(schema, description) {
            return None;
        }
        // Rules with a tag of a language would be rules for nobody.
        if description.contains(&b';') {
            return Some((ResultCode::ConstraintViolation, format!("{RULES_OF_ENTRIES} has no options")));
        }
        for value in values {
            count += 1;
            let text = match checked_rule_of_entry(schema, value) {
                Ok(rule) if names.insert(rule.name.clone()) => continue,
                Ok(rule) => format!("another rule is called `{}`; names are unique", rule.name),
                Err(reason) => reason,
            };
            return Some((ResultCode::ConstraintViolation, format!("{RULES_OF_ENTRIES}: {text}")));
        }
        let text = "there are as many access rules in entries as there may be; a rule with a star in its place is one \
                    for many entries";
        (present + count > ACCESS_ENTRY_RULES_MAX).then(|| (ResultCode::AdminLimitExceeded, text.to_owned()))
    };
    match request {
        Request::Add(add) => add.attributes.iter().find_map(|a| look(a.description, &mut a.values.iter())),
        Request::Modify(modify) => {
            modify.changes.iter().filter(|change| change.kind != ModifyKind::Delete).find_map(|change| {
                look(change.modification.description, &mut change.modification.values.iter())
            })
        }
        _ => None,
    }
}

/// Does an update bring or take away rules?
pub(crate) fn changes_rules(schema: &Schema, request: &Request<'_>) -> bool {
    match request {
        Request::Add(add) => add.attributes.iter().any(|a| is_access_rule(schema, a.description)),
        Request::Modify(modify) => {
            modify.changes.iter().any(|change| is_access_rule(schema, change.modification.description))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_known_by_name_number_and_with_options() {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        for description in [
            &b"pandoAccess"[..],
            b"PANDOACCESS",
            b"pandoaccess;lang-de",
            b"2.25.151871961327116869166242629268835769586",
            // What clients are shown.
            b"1.2.840.113556.1.8000.2554.29249.31182.15938.17149.44576.11435425.630002",
            b"1.2.840.113556.1.8000.2554.29249.31182.15938.17149.44576.11435425.630002;lang-de",
        ] {
            assert!(is_access_rule(&schema, description), "{description:?}");
        }
        for description in [&b"pandoAcces"[..], b"pager", b"p", b"", b"2.5.4.3", b"andoAccess"] {
            assert!(!is_access_rule(&schema, description), "{description:?}");
        }
    }
}
