//! Substrings: the tags of the hashes of all runs of three bytes of the normalised value, with its ends marked.
//!
//! A value of n bytes has n keys, so such an index is as large as the values themselves several times over. Three bytes are few enough for
//! short parts to be found, and enough for lists that are much shorter than all entries.

use super::definition::{Assertion, Keys, Kind, Part, Probe, Structure};
use crate::index::key::Key;
use schema::AttributeType;
use smallvec::SmallVec;

/// Marks of the ends of a value among its trigrams. A normal form that has these bytes itself only makes more candidates.
const START: u8 = 1;
const END: u8 = 2;

/// `(a=b*c*d)`: every part's trigrams are in the value, so the shortest list of any of them has all candidates.
pub(super) struct Substring;

impl Kind for Substring {
    const TEXT: &'static str = "sub";
    const STRUCTURE: Structure = Structure::Postings;
    const IS_OF_EACH_BYTE: bool = true;

    fn missing_rule(definition: &AttributeType) -> Option<&'static str> {
        definition.substring.is_none().then_some("substring")
    }

    fn each_key(keys: Keys<'_>, value: &[u8], normal: &mut Vec<u8>, each: &mut impl FnMut(Key)) {
        // The normal form of the substring rule: a filter's parts are brought into the same one.
        let schema = keys.schema;
        if let Some(rule) = schema.attribute_type(keys.attribute_type).substring
            && rule.normalise_value(schema, value, normal).is_ok()
        {
            let at = |n: usize| match n {
                0 => START,
                n if n == normal.len() + 1 => END,
                n => normal[n - 1],
            };
            for n in 0..normal.len() {
                each(Key::Tag(keys.tag(&[at(n), at(n + 1), at(n + 2)])));
            }
        }
    }

    /// Parts of less than three bytes, their ends of the value included, have no trigram: they tell nothing.
    fn probe(keys: Keys<'_>, assertion: &Assertion<'_>) -> Option<Probe> {
        let Assertion::Substrings(parts) = assertion else { return None };
        let mut tags = SmallVec::new();
        for part in parts {
            push_tags(keys, part, &mut tags);
        }
        (!tags.is_empty()).then_some(Probe::Tags(tags))
    }
}

/// The tags of the trigrams that a value must have to contain this part.
fn push_tags(keys: Keys<'_>, part: &Part<'_>, tags: &mut SmallVec<[u32; 8]>) {
    let mut text: SmallVec<[u8; 64]> = SmallVec::new();
    text.extend(part.is_initial.then_some(START));
    text.extend_from_slice(part.bytes);
    text.extend(part.is_final.then_some(END));
    tags.extend(text.windows(3).map(|three| keys.tag(three)));
}
