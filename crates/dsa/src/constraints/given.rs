//! The values that an entry got when it was added: defaults, and numbers of sequences.

use super::InForce;
use super::in_force::Sequence;
use crate::faults;
use env::planted;
use model::{Description, Entry};

/// What one entry got.
#[derive(Clone, Default)]
pub(crate) struct Given {
    /// Places of the defaults.
    pub(super) defaults: Vec<usize>,
    /// Each with the place of its sequence.
    pub(super) numbers: Vec<(usize, u64)>,
}

impl Given {
    /// Gives an entry the same.
    pub(super) fn put(&self, entry: &mut Entry, in_force: &InForce) {
        for place in &self.defaults {
            let default = &in_force.defaults[*place];
            put(entry, default.of.attribute, &default.value);
        }
        for (place, number) in &self.numbers {
            put(entry, in_force.sequences[*place].of.attribute, number.to_string().as_bytes());
        }
    }

    /// Where the counters go on: for each its DN, its attribute, and the next number.
    pub(crate) fn next(self, in_force: &InForce) -> impl Iterator<Item = (&[u8], Description, String)> {
        self.numbers.into_iter().map(|(place, number)| {
            let Sequence { counter, next, .. } = &in_force.sequences[place];
            let after = if planted::is(faults::NUMBER_GIVEN_AGAIN) { number } else { number + 1 };
            (&counter[..], Description::plain(*next), after.to_string())
        })
    }
}

/// Gives an entry a value of an attribute that it has not.
pub(super) fn put(entry: &mut Entry, attribute: model::TypeId, value: &[u8]) {
    entry.push_attribute(Description::plain(attribute));
    entry.push_value(value);
}
