//! Equality: the tag of the normalised value's hash.
//!
//! Thirty-two bits of a keyed hash are kept, not the value: a key takes eight bytes whatever the value's length, and the few candidates that have
//! the tag by chance are compared and dropped.

use super::definition::{Assertion, Keys, Kind, Probe, Structure};
use crate::index::key::Key;
use schema::AttributeType;
use smallvec::smallvec;

/// `(a=b)`.
pub(super) struct Equality;

impl Kind for Equality {
    const TEXT: &'static str = "eq";
    const STRUCTURE: Structure = Structure::Postings;
    const IS_OF_VALUE_HASH: bool = true;

    fn missing_rule(definition: &AttributeType) -> Option<&'static str> {
        definition.equality.is_none().then_some("equality")
    }

    #[inline]
    fn each_key(keys: Keys<'_>, value: &[u8], normal: &mut Vec<u8>, each: &mut impl FnMut(Key)) {
        // A value that its syntax does not take is found by no assertion, so it needs no key.
        if keys.schema.normalise_equality(keys.attribute_type, value, normal).is_ok() {
            each(Key::Tag(keys.tag(normal)));
        }
    }

    fn probe(keys: Keys<'_>, assertion: &Assertion<'_>) -> Option<Probe> {
        let Assertion::Equal(normal) = assertion else { return None };
        Some(Probe::Tags(smallvec![keys.tag(normal)]))
    }
}
