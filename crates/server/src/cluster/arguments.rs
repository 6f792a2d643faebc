//! What commands are about.

use consensus::ReplicaId;
use serde_json::Value;
use std::collections::BTreeSet;

/// The node that a command is about.
///
/// # Errors
/// There is none.
pub(super) fn node(command: &Value) -> Result<ReplicaId, String> {
    command["node"].as_u64().map(ReplicaId).ok_or("which node?".to_owned())
}

/// The nodes that a command is about.
///
/// # Errors
/// There are none.
pub(super) fn nodes(command: &Value) -> Result<BTreeSet<ReplicaId>, String> {
    let nodes = command["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let nodes: Option<BTreeSet<_>> = nodes.iter().map(|node| node.as_u64().map(ReplicaId)).collect();
    nodes.filter(|nodes| !nodes.is_empty()).ok_or("which nodes?".to_owned())
}
