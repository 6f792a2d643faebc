//! The superior of every entry is there.

use super::Situation;
use crate::requests::SUFFIX;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    let entries = &situation.view.entries;
    let is_orphan = |dn: &&String| {
        // Names in simulated directories have no commas of their own.
        **dn != SUFFIX && dn.split_once(',').is_none_or(|(_, superior)| !entries.contains_key(superior))
    };
    match entries.keys().find(is_orphan) {
        Some(dn) => Err(format!("{dn} is there without its superior")),
        None => Ok(()),
    }
}
