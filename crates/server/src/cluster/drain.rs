//! `pando cluster drain`: a node leads no more, and clients are to go elsewhere, so that it can be stopped.

use super::arguments::node;
use super::facts::{self, Facts};
use super::node::{CHANGE_WITHIN, Node};
use consensus::{ReplicaId, View};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long it is waited for a sign of the others.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

impl Node {
    /// Drains a node, or undoes that. Returns when the node does not lead, and the others can go on without it.
    pub(super) fn drain(&self, command: &Value) -> Result<Value, String> {
        let (id, is_drained) = (node(command)?, command["undo"] != true);
        let done = json!({ "drained": is_drained.then_some(id.0) });
        if is_drained {
            // One that has just begun to lead has not heard of the others yet. If it hears of none, the change is refused.
            let goes_on = |view: &View| self.must_go_on_without(id, view).is_ok();
            let _ = self.await_view(HEARD_WITHIN, goes_on, || self.leading().err());
        }
        let mut has_changed = false;
        self.change(|view| {
            if !view.members.has(id) {
                return Err(format!("node {id} is no member"));
            }
            let change = facts::edited(&view.members, id, |facts| Facts { drained: is_drained, ..facts });
            if change.is_some() && is_drained {
                self.must_go_on_without(id, view)?;
            }
            has_changed |= change.is_some();
            Ok(change)
        })?;
        if has_changed {
            tracing::info!(node = id.0, is_drained, "a node is drained, or is not any more");
        }
        if !is_drained {
            return Ok(done);
        }
        if id == self.id() {
            return self.step_down(&BTreeSet::new(), command);
        }
        self.await_view(
            CHANGE_WITHIN,
            |view| self.must_go_on_without(id, view).is_ok(),
            || self.leading().err(),
        )?;
        Ok(done)
    }

    /// A majority would be left without a node.
    ///
    /// # Errors
    /// In words, what is missing.
    fn must_go_on_without(&self, id: ReplicaId, view: &View) -> Result<(), String> {
        let is_down = view.others.iter().any(|other| other.id == id && !other.is_active);
        if is_down {
            return Err(format!("node {id} is down"));
        }
        let goes_on = self.with_upkeep(view, |upkeep| upkeep.goes_on_without(id));
        let votes = view.members.voters.len();
        goes_on.then_some(()).ok_or_else(|| {
            let what = "have caught up, are not drained and would be left";
            format!(
                "the cluster cannot go on without node {id}: too few of the {votes} nodes that vote {what}"
            )
        })
    }
}
