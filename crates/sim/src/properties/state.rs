//! What was recovered is what the commands of the log make of an empty directory, entryUUIDs and CSNs included.

use super::Situation;
use crate::node::digest;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    let Situation { node, end, model, .. } = situation;
    if node.applied() != *end {
        return Err(format!("{} records of {end} were recovered", node.applied()));
    }
    match digest(&node.recovered.dsa) == *model {
        true => Ok(()),
        false => Err(format!("what was recovered is not what {end} records make")),
    }
}
