//! A replica: its disk and its clock, and the process, if it runs.

use crate::clock::SimClock;
use crate::disk::SimDisk;
use crate::node::Node;
use crate::random::Random;
use consensus::ReplicaId;

/// See the module.
pub(super) struct Replica {
    pub(super) id: ReplicaId,
    pub(super) disk: SimDisk,
    pub(super) clock: SimClock,
    /// Of 1,000: how many nanoseconds its clock passes for as many of the world.
    rate: u64,
    pub(super) node: Option<Node>,
    /// The last entry at which it was compared with the model.
    pub(super) seen: u64,
    /// It takes no step for so long.
    pub(super) paused_ns: u64,
    /// Its clock stands still with it, as that of a virtual machine that is stopped.
    pub(super) is_frozen: bool,
}

impl Replica {
    pub(super) fn new(id: ReplicaId, disk: SimDisk, random: &mut Random) -> Replica {
        let mut clock = SimClock::default();
        clock.set_wall(random.below(2000) as i64 - 1000);
        let rate = 990 + random.below(21);
        Replica { id, disk, clock, rate, node: None, seen: 0, paused_ns: 0, is_frozen: false }
    }

    pub(super) fn pass_ns(&mut self, ns: u64) {
        let is_frozen = self.is_frozen && self.takes_pause();
        self.clock.pass_ns(if is_frozen { 0 } else { ns * self.rate / 1000 });
        self.paused_ns = self.paused_ns.saturating_sub(ns);
    }

    /// It stands still, and its clock with it or not.
    pub(super) fn pause(&mut self, ns: u64, is_frozen: bool) {
        (self.paused_ns, self.is_frozen) = (ns, is_frozen);
    }

    /// Does it stand still, as a process that is stopped?
    pub(super) fn takes_pause(&self) -> bool {
        self.paused_ns > 0
    }
}
