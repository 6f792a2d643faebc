//! `pando cluster remove`: nodes are taken out for ever.

use super::arguments::nodes;
use super::node::Node;
use consensus::upkeep::NotRemoved;
use consensus::{ReplicaId, View};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Within this time a leader that has just begun has heard of others, if they are there.
const HEARS_WITHIN: Duration = Duration::from_secs(2);

impl Node {
    /// Takes nodes out, all in one change. An odd number votes afterwards. If this node is one of them, another one leads first, and does it.
    pub(super) fn remove(&self, command: &Value) -> Result<Value, String> {
        let (gone, are_dead) = (nodes(command)?, command["dead"] == true);
        self.await_others(&gone, are_dead);
        let mut was_member = false;
        let removal = self.change(|view| {
            if !gone.iter().any(|id| view.members.has(*id)) {
                return Ok(None);
            }
            let change = self.with_upkeep(view, |upkeep| upkeep.without(&gone, are_dead));
            let change = change.map_err(|why| not_removed(why, &gone))?;
            if gone.contains(&self.id()) {
                return Ok(None);
            }
            was_member = true;
            Ok(Some(change))
        })?;
        if gone.contains(&self.id()) && removal.members.has(self.id()) {
            return self.step_down(&gone, command);
        }
        if was_member {
            tracing::info!(nodes = ?gone.iter().map(|id| id.0).collect::<Vec<_>>(), "nodes were removed from the cluster");
        }
        Ok(json!({ "removed": command["nodes"] }))
    }

    /// Waits until this node, if it leads, has heard of a majority of those that would be left; or gives that up.
    fn await_others(&self, gone: &BTreeSet<ReplicaId>, are_dead: bool) {
        let hears = |view: &View| {
            let change = || self.with_upkeep(view, |upkeep| upkeep.without(gone, are_dead));
            view.leader != Some(self.id()) || !matches!(change(), Err(NotRemoved::NoMajority))
        };
        // What is still so then is said by who removes them.
        let _ = self.await_view(HEARS_WITHIN, hears, || None);
    }
}

fn not_removed(why: NotRemoved, gone: &BTreeSet<ReplicaId>) -> String {
    let gone = gone.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    match why {
        NotRemoved::Heard(id) => format!("node {id} is heard of: it is not dead"),
        NotRemoved::Even(0) => "no node that votes would be left".to_owned(),
        NotRemoved::Even(votes) => format!(
            "without node {gone} there would be {votes} votes: join another node first, which takes its place"
        ),
        NotRemoved::NoMajority => {
            format!("without node {gone} no majority of the nodes that vote would be there")
        }
    }
}
