//! `pando cluster upgrade finish`: updates are applied by the latest version of the behaviour that the programs of all members know. Until then newer
//! programs apply as the older ones do, so nodes are upgraded one after the other, and any of them can go back.

use super::facts::Facts;
use super::node::{CHANGE_WITHIN, LOOK, NOT_RECOVERED, Node};
use consensus::{Members, ReplicaId};
use dsa::behaviour::Versions;
use env::clock::Clock as _;
use node::upgrade::wanted;
use serde_json::{Value, json};

impl Node {
    /// The version of the behaviour that is in force here; 0 while the node reads its directory.
    pub(super) fn behaviour(&self) -> u32 {
        self.queue().map_or(0, |queue| queue.status().behaviour())
    }

    /// A program must know the behaviour that is in force, to join.
    ///
    /// # Errors
    /// In words, what to do.
    pub(super) fn must_be_known_by(&self, versions: Versions) -> Result<(), String> {
        versions.refusal(self.behaviour()).map_or(Ok(()), Err)
    }

    /// Raises the version of the behaviour to the latest that the programs of all members know.
    pub(super) fn finish_upgrade(&self, _: &Value) -> Result<Value, String> {
        // Who joins meanwhile must know it.
        let _one = self.lock_joins();
        let (_, view) = self.leading()?;
        let before = self.behaviour();
        let queue = self.queue().ok_or(NOT_RECOVERED)?;
        let wanted = wanted(&newest_of(&view.members), before)?;
        let done = json!({ "before": before, "behaviour": wanted });
        if wanted == before {
            return Ok(done);
        }
        tracing::info!(before, behaviour = wanted, "the upgrade is to be finished");
        let until_ns = self.clock.monotonic_ns() + CHANGE_WITHIN.as_nanos() as u64;
        while self.behaviour() < wanted {
            self.leading()?;
            if self.clock.monotonic_ns() >= until_ns {
                return Err("it was asked for, and not done within ten seconds: try again".to_owned());
            }
            queue.raise_behaviour(wanted);
            env::poll::pause(LOOK);
        }
        Ok(done)
    }
}

/// The latest version that the program of each member knows, as it has said when it last started.
fn newest_of(members: &Members) -> Vec<(ReplicaId, Option<u32>)> {
    members.all().map(|id| (id, Facts::of(members, id).newest)).collect()
}
