//! In which values two entries differ.

use super::entries::Side;
use super::rules::Rules;
use proto::list::Attributes;
use std::collections::BTreeMap;

/// One difference between two entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A value that one of them has: attribute description and value.
    Only(Side, Vec<u8>, Vec<u8>),
    /// Values of this attribute differ and are secrets.
    Secret(Vec<u8>),
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// One server alone has this entry.
    Only(Side, Vec<u8>),
    /// Both have it, with other values.
    Differs(Vec<u8>, Vec<Change>),
}

/// What one entry has, by normal forms.
#[derive(Default)]
struct Normal {
    attributes: BTreeMap<Vec<u8>, NormalAttribute>,
}

struct NormalAttribute {
    description: Vec<u8>,
    is_secret: bool,
    /// Values by normal form.
    values: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Normal {
    fn of(rules: &Rules<'_>, attributes: Attributes<'_>) -> Normal {
        let mut normal = Normal::default();
        for attribute in attributes.iter() {
            let Some(compared) = rules.compared(attribute.description) else { continue };
            let (description, is_secret) = (attribute.description.to_vec(), compared.is_secret);
            let entry = normal.attributes.entry(compared.key.clone());
            let of = entry.or_insert(NormalAttribute { description, is_secret, values: BTreeMap::new() });
            rules.each_value(&compared, &attribute, &mut |form, value| {
                of.values.insert(form.to_vec(), value.to_vec());
            });
        }
        // A search may return a type without values.
        normal.attributes.retain(|_, attribute| !attribute.values.is_empty());
        normal
    }
}

/// Compares two entries, attribute by attribute in the order of their names; nothing if they are the same.
pub(crate) fn changes(rules: &Rules<'_>, entries: [Attributes<'_>; 2]) -> Vec<Change> {
    let [first, second] = entries.map(|attributes| Normal::of(rules, attributes).attributes);
    let keys = first.keys().chain(second.keys().filter(|key| !first.contains_key(*key)));
    let mut keys: Vec<&Vec<u8>> = keys.collect();
    keys.sort();
    let mut changes = Vec::new();
    for key in keys {
        let sides =
            [(Side::First, first.get(key), second.get(key)), (Side::Second, second.get(key), first.get(key))];
        for (side, own, other) in sides {
            let Some(own) = own else { continue };
            let is_other = |form: &Vec<u8>| other.is_some_and(|other| other.values.contains_key(form));
            for (_, value) in own.values.iter().filter(|(form, _)| !is_other(form)) {
                let change = match own.is_secret {
                    true => Change::Secret(own.description.clone()),
                    false => Change::Only(side, own.description.clone(), value.clone()),
                };
                // One line stands for all values that are secrets.
                if !is_same_secret(changes.last(), &change) {
                    changes.push(change);
                }
            }
        }
    }
    changes
}

fn is_same_secret(last: Option<&Change>, change: &Change) -> bool {
    matches!((last, change), (Some(Change::Secret(a)), Change::Secret(b)) if a.eq_ignore_ascii_case(b))
}
