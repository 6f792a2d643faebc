//! The options of attributes that rules name. An attribute with some may be hidden where the attribute itself is not, and need not be one of an entry
//! here: of what another server has nobody here knows.

use super::{Class, Covered};
use schema::WantedOptions;
use std::collections::BTreeSet;

/// Options and bytes of all sets together, so that they may stand behind those of a filter: half of what one description may have.
const ALL_MAX: usize = 16;
const ALL_LEN_MAX: usize = 512;

impl Class {
    /// The sets of options that its rules name, as values may have them, and what comes of all of them at once: a value that has the options of several rules
    /// may be hidden where those of one are not.
    pub(crate) fn options(&self) -> BTreeSet<String> {
        let rules = self.members.iter().map(|member| &self.set.rules[member.rule].items);
        let of_rules = rules.filter_map(|items| match items {
            Covered::Attributes(attributes) => Some(attributes.options()),
            Covered::Controls(_) | Covered::Extended(_) => None,
        });
        let mut sets: BTreeSet<String> = of_rules.flatten().flat_map(WantedOptions::described).collect();
        let all: BTreeSet<&str> = sets.iter().flat_map(|set| set.split(';')).collect();
        let joined = all.iter().copied().collect::<Vec<_>>().join(";");
        // Values of more are looked at by each set alone: they could not be described, and no filter at all would be sent on.
        let is_short = all.len() <= ALL_MAX && joined.len() <= ALL_LEN_MAX;
        sets.extend((!joined.is_empty() && is_short).then_some(joined));
        sets
    }
}
