//! What was recovered is what the commands of the log make of an empty directory, entryUUIDs and CSNs included; and
//! the same ids are free.

use super::Situation;
use crate::node::digest;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    let Situation { node, end, model, free_ids, .. } = situation;
    if node.applied() != *end {
        return Err(format!("{} records of {end} were recovered", node.applied()));
    }
    if digest(&node.recovered.dsa) != *model {
        return Err(format!("what was recovered is not what {end} records make"));
    }
    let free = node.recovered.dsa.shard().writer().free_ids();
    match free == *free_ids {
        true => Ok(()),
        false => Err(format!("{free:?} are free ids after {end} records, and should be {free_ids:?}")),
    }
}
