//! Settings of this server in `cn=config`: who has them changes them, at the server that the request came to. No log has that, and nothing is
//! forwarded.

use super::setting::apply;
use crate::engine::Dsa;
use crate::node_settings::{KeyChange, NodeKey, NodeSettings};
use crate::outcome::{Refusal, unwilling};
use crate::settings::Author;
use proto::op::modify::Modify;
use std::sync::Arc;

/// Can this setting be changed here?
pub(super) fn has(dsa: &Dsa, name: &str) -> bool {
    dsa.node_settings.get().is_some_and(|settings| settings.keys().iter().any(|key| key.name == name))
}

/// Changes settings of this server, all that a request names or none. `None` if it names none of them.
pub(super) fn change(
    dsa: &Dsa,
    modify: &Modify<'_>,
    author: Author<'_>,
    is_checked_only: bool,
) -> Option<Result<(), Refusal>> {
    let settings = dsa.node_settings.get()?;
    let named: Vec<Option<usize>> = modify
        .changes
        .iter()
        .map(|change| find(dsa, settings.keys(), change.modification.description))
        .collect();
    if named.iter().all(Option::is_none) {
        return None;
    }
    if named.contains(&None) {
        let own = named.iter().flatten().map(|at| settings.keys()[*at].attribute.as_str());
        let own = own.collect::<Vec<_>>().join(", ");
        return Some(Err(unwilling(format!(
            "one request can change settings of this server ({own}) or of the directory, not both"
        ))));
    }
    let named: Vec<usize> = named.into_iter().flatten().collect();
    Some(asked(settings, modify, &named).and_then(|asked| settings.change(author, &asked, is_checked_only)))
}

fn find(dsa: &Dsa, keys: &[NodeKey], description: &[u8]) -> Option<usize> {
    let schema = dsa.shard.schema();
    let wanted = schema.find_type(description)?;
    keys.iter().position(|key| schema.find_type(key.attribute.as_bytes()) == Some(wanted))
}

/// What is asked of each setting: the changes of a request in their order.
fn asked(
    settings: &Arc<dyn NodeSettings>,
    modify: &Modify<'_>,
    named: &[usize],
) -> Result<Vec<KeyChange>, Refusal> {
    let values = settings.values();
    let mut asked: Vec<KeyChange> = Vec::new();
    for (change, &key) in modify.changes.iter().zip(named) {
        let at = asked.iter().position(|other| other.key == key).unwrap_or_else(|| {
            let before = values[key].clone();
            asked.push(KeyChange { key, after: before.clone(), before });
            asked.len() - 1
        });
        let NodeKey { attribute, is_many, .. } = &settings.keys()[key];
        apply((attribute, *is_many), &|value| settings.shown(key, value), &change, &mut asked[at].after)?;
    }
    Ok(asked)
}
