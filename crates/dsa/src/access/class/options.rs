//! The options of attributes that rules name. An attribute with some may be hidden where the attribute itself is not, and need not be one of an entry
//! here: of what another server has nobody here knows.

use super::{Class, Covered};
use schema::WantedOptions;
use std::collections::BTreeSet;

/// Bytes of all options together, so that they may stand behind those of a filter.
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
        let mut sets: BTreeSet<String> = of_rules.flatten().filter_map(WantedOptions::described).collect();
        let all: Vec<&str> = sets.iter().map(String::as_str).collect();
        let all = all.join(";");
        // No value has more options than that.
        sets.extend((!all.is_empty() && all.len() <= ALL_LEN_MAX).then_some(all));
        sets
    }
}
