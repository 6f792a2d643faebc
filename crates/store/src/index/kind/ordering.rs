//! Ordering: the first bytes of the value's ordering key, as a number in the same order.
//!
//! An ordering key compares byte by byte as the values do by their rule. Its first eight bytes decide nearly always; what they leave open the filter
//! decides on the entry.

use super::definition::{Assertion, Keys, Kind, Probe, Structure};
use crate::index::key::Key;
use schema::AttributeType;

/// `(a>=b)` and `(a<=b)`: ids in a range of prefixes. Of an attribute without an ordering rule these are undefined: its keys, by its
/// equality rule, are for sorted searches alone ([`crate::search::InOrder`]).
pub(super) struct Ordering;

impl Kind for Ordering {
    const TEXT: &'static str = "ord";
    const STRUCTURE: Structure = Structure::Tree;

    fn missing_rule(definition: &AttributeType) -> Option<&'static str> {
        definition.order().is_none().then_some("ordering")
    }

    fn each_key(keys: Keys<'_>, value: &[u8], normal: &mut Vec<u8>, each: &mut impl FnMut(Key)) {
        let schema = keys.schema;
        if let Some(rule) = schema.attribute_type(keys.attribute_type).order()
            && rule.normalise_value(schema, value, normal).is_ok()
        {
            each(Key::Prefix(prefix(normal)));
        }
    }

    /// Values with the prefix of the bound may lie on either side of it, so the bound's own prefix is in the range.
    fn probe(_: Keys<'_>, assertion: &Assertion<'_>) -> Option<Probe> {
        match assertion {
            Assertion::AtLeast(key) => Some(Probe::Range(prefix(key), u64::MAX)),
            Assertion::AtMost(key) => Some(Probe::Range(0, prefix(key))),
            _ => None,
        }
    }
}

/// The first eight bytes as a number in the same order. A shorter key counts as if zeros followed it.
fn prefix(key: &[u8]) -> u64 {
    let mut word = [0; 8];
    let len = key.len().min(8);
    word[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(word)
}
