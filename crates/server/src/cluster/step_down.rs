//! Another node leads in place of this one: when a command wants it, and when this one ends.

use super::node::{CHANGE_WITHIN, Node};
use consensus::{ReplicaId, Request, View};
use env::task;
use serde_json::Value;
use std::collections::BTreeSet;

/// Milliseconds that an end waits for another node to lead.
const ENDS_WITHIN_MS: u64 = 1_000;
/// Milliseconds between two looks meanwhile.
const LOOK_MS: u64 = 1;

impl Node {
    /// Has this node lead, which has a vote.
    ///
    /// # Errors
    /// In words, why it does not.
    pub(super) fn transfer(&self, to: ReplicaId) -> Result<(), String> {
        let (control, _) = self.leading()?;
        let asked = control.ask(Request::Transfer(to)).map_err(|_| "too much is asked for".to_owned())?;
        self.wake();
        let refusal = || control.refusal(asked).map(|_| "this node does not lead any more".to_owned());
        self.await_view(CHANGE_WITHIN, |view| view.leader == Some(to), refusal).map(|_| ())
    }

    /// Has another node lead that is not in `besides`, and is not drained, and passes a command on to it.
    ///
    /// # Errors
    /// In words, why there is none, or what it says.
    pub(super) fn step_down(&self, besides: &BTreeSet<ReplicaId>, command: &Value) -> Result<Value, String> {
        if let Ok((control, view)) = self.leading() {
            let next =
                self.with_upkeep(&view, |upkeep| upkeep.successor(&(besides | &upkeep.wishes.drained)));
            let next = next.ok_or("no other node that votes has caught up: none can lead")?;
            // If that is refused, another one leads already.
            let _ = control.ask(Request::Transfer(next));
            self.wake();
        }
        let another = |view: &View| view.leader.is_some_and(|leader| leader != self.id());
        let view = self.await_view(CHANGE_WITHIN, another, || None)?;
        let leader = view.leader.unwrap_or(self.id());
        let answer = self.pass_on(&view, leader, command);
        answer.ok_or_else(|| format!("node {leader} leads now, and does not answer: try again"))
    }

    /// Before the end of this server: another node leads, if one can. Waits for it, a second at most.
    pub(crate) async fn step_down_at_end(&self) {
        let Ok((control, view)) = self.leading() else { return };
        let next = self.with_upkeep(&view, |upkeep| upkeep.successor(&upkeep.wishes.drained));
        let Some(next) = next else { return };
        // What is refused is no harm: the others elect one.
        let _ = control.ask(Request::Transfer(next));
        self.wake();
        for _ in 0..ENDS_WITHIN_MS / LOOK_MS {
            if control.view().leader.is_some_and(|leader| leader != self.id()) {
                return;
            }
            task::sleep_ms(LOOK_MS).await;
        }
        tracing::warn!(to = next.0, "this server ends, and no other node leads yet");
    }
}
