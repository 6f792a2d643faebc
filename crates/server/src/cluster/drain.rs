//! `pando cluster drain`: a node leads no more, and clients are to go elsewhere, so that it can be stopped.

use super::arguments::node;
use super::facts::{self, Facts};
use super::node::{LOOK, Node};
use consensus::{ReplicaId, View};
use env::clock::Clock as _;
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
            self.hear_of_others(|view| self.must_go_on_without(id, view).is_ok())?;
        }
        let mut has_changed = false;
        self.change(|view| {
            if !view.members.all().any(|member| member == id) {
                return Err(format!("node {id} is no member"));
            }
            let facts = Facts { drained: is_drained, ..Facts::of(&view.members, id) };
            if facts == Facts::of(&view.members, id) {
                return Ok(None);
            }
            if is_drained {
                self.must_go_on_without(id, view)?;
            }
            has_changed = true;
            Ok(Some(facts::change(&view.members, id, &facts)))
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
        self.await_view(|view| self.must_go_on_without(id, view).is_ok(), || self.leading().err())?;
        Ok(done)
    }

    /// Waits a moment for a view as wanted: one that has just begun to lead has not heard of the others yet.
    fn hear_of_others(&self, is_so: impl Fn(&View) -> bool) -> Result<(), String> {
        let until_ns = self.clock.monotonic_ns() + HEARD_WITHIN.as_nanos() as u64;
        while !is_so(&self.leading()?.1) && self.clock.monotonic_ns() < until_ns {
            env::poll::pause(LOOK);
        }
        Ok(())
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
