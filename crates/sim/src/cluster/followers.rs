//! Consumers of content synchronisation that go from one replica to the other with their cookies.

use super::replica::{Damage, Replica};
use super::{Cluster, broken};
use crate::properties;
use crate::world::Violation;

/// Of 1,000 turns, those at which a consumer does something.
const ACTS_OF_1000: u64 = 40;

impl Cluster {
    /// What becomes of consumers in a turn.
    pub(super) fn follow_changes(&mut self) -> Result<(), Violation> {
        for number in 0..self.followers.count() {
            if !self.followers.chance(ACTS_OF_1000) {
                continue;
            }
            let at = self.followers.place(number, self.replicas.len());
            let Replica { node, clock, damage, paused_ns, .. } = &mut self.replicas[at];
            let (Some(node), Damage::None, 0) = (node, *damage, *paused_ns) else { continue };
            let acted = self.followers.act(number, at, node, clock);
            acted.map_err(broken(properties::COPIED))?;
        }
        Ok(())
    }

    /// A replica took a step. What it answered is of that moment: another step may change it.
    pub(super) fn look_at_followed(&mut self, at: usize) -> Result<(), Violation> {
        let Replica { node: Some(node), clock, damage, .. } = &mut self.replicas[at] else { return Ok(()) };
        if *damage != Damage::None {
            self.followers.disconnect(at);
            return Ok(());
        }
        for number in 0..self.followers.count() {
            if self.followers.waits(number, at) {
                self.followers.take(number, node, clock).map_err(broken(properties::COPIED))?;
            }
        }
        Ok(())
    }
}
