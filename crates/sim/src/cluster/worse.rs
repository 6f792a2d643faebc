//! The disk of the replica that leads becomes slow for long, or its clock is set wrong: another one leads before long, and nothing is lost. Nothing
//! else goes wrong meanwhile. It happens at the end of a world, by chances of its own, so it changes nothing of what was before.

use super::replica::Replica;
use super::{Cluster, TURN_NS_MAX, broken};
use crate::properties;
use crate::random::Random;
use crate::world::Violation;
use consensus::ReplicaId;
use env::clock::Clock as _;

/// Of 1,000 worlds with several replicas, those in which it happens.
const WORSE: u64 = 300;
/// Turns in a second of the simulated time, on average.
const TURNS_PER_S: u64 = 2_000_000_000 / TURN_NS_MAX;
/// Seconds within which another one leads: ten, unless all others have led within the last minute. And those after that in which the former is not
/// to lead again.
const OTHER_LEADS_WITHIN_S: u64 = 90;
const STAYS_S: u64 = 5;
/// Milliseconds that a sync of the slow disk takes at least: several times as long as those of others, which take some turns.
const SLOW_MS: u64 = 800;
const SLOWER_MS_MAX: u64 = 2_400;
const HOUR_MS: i64 = 3_600_000;

impl Cluster {
    /// See the module. All is well before.
    pub(super) fn make_worse(&mut self) -> Result<(), Violation> {
        let mut chance = Random::new(self.seed.rotate_left(16));
        let Some(leader) = self.leader_with_others().filter(|_| chance.chance(WORSE)) else { return Ok(()) };
        self.end_strangers();
        self.set_clocks_right(None, false);
        let is_disk = chance.chance(700);
        let slow_ms = SLOW_MS + chance.below(SLOWER_MS_MAX);
        self.trace.note(format_args!("  replica {leader}, which leads, gets worse, its disk: {is_disk}"));
        let Some(replica) = self.replicas.iter_mut().find(|replica| replica.id == leader) else {
            return Ok(());
        };
        match is_disk {
            true => replica.node.iter_mut().for_each(|node| node.slow_down_syncs(slow_ms)),
            false => replica.clock.set_wall(if chance.chance(500) { HOUR_MS } else { -HOUR_MS }),
        }
        let wrong_clock = (!is_disk).then_some(leader);
        self.tally.worse += 1;
        let another = |cluster: &Cluster| cluster.leading().is_some_and(|(id, _)| id != leader);
        if !self.pass_worse(OTHER_LEADS_WITHIN_S * TURNS_PER_S, wrong_clock, another)? {
            let what = format!("replica {leader} leads after {OTHER_LEADS_WITHIN_S} s; its disk: {is_disk}");
            return Err(broken(properties::WORSE)(what));
        }
        let again = |cluster: &Cluster| cluster.leading().is_some_and(|(id, _)| id == leader);
        if self.pass_worse(STAYS_S * TURNS_PER_S, wrong_clock, again)? {
            return Err(broken(properties::WORSE)(format!("replica {leader} leads again")));
        }
        self.replicas
            .iter_mut()
            .flat_map(|replica| &mut replica.node)
            .for_each(|node| node.slow_down_syncs(0));
        self.set_clocks_right(wrong_clock, false);
        self.calm()
    }

    /// The replica that leads, if another one that votes may.
    fn leader_with_others(&self) -> Option<ReplicaId> {
        let (leader, control) = self.leading()?;
        let members = control.view().members;
        let may_lead = |id: &&ReplicaId| **id != leader && !self.is_drained(&members, **id);
        (members.voters.len() >= 3 && members.voters.iter().any(|id| may_lead(&id))).then_some(leader)
    }

    /// Replicas that were removed end: clients that wait there for long would send too little to the others for the time of a sync to be known.
    fn end_strangers(&mut self) {
        let Some(members) = self.members() else { return };
        for at in 0..self.replicas.len() {
            if !members.has(self.replicas[at].id) && self.replicas[at].node.is_some() {
                self.end_by(at, false);
            }
        }
    }

    /// All wall clocks are that of the first replica whose clock is not wrong. Does the wrong one stay as it is?
    fn set_clocks_right(&mut self, wrong: Option<ReplicaId>, stays: bool) {
        let is_right = |replica: &Replica| Some(replica.id) != wrong;
        let right = self.replicas.iter().find(|replica| is_right(replica));
        let Some(right_ms) = right.map(|replica| replica.clock.wall_ms()) else { return };
        for replica in self.replicas.iter_mut().filter(|replica| !stays || is_right(replica)) {
            let ahead_ms = replica.clock.wall_ms() as i64 - right_ms as i64;
            replica.clock.set_wall(-ahead_ms);
        }
    }

    /// Turns in which nothing else goes wrong, until something is so. Returns whether it is.
    ///
    /// Clocks but the wrong one are set right every second, as by NTP. By themselves they drift apart by up to 20 ms a second, and others that have led
    /// within the last minute lead again only after it. By then no majority would have the same time, or the clock of the only one that may
    /// lead would be known to be wrong. Nothing is promised of who leads then.
    fn pass_worse(
        &mut self,
        turns: u64,
        wrong_clock: Option<ReplicaId>,
        is_so: impl Fn(&Cluster) -> bool,
    ) -> Result<bool, Violation> {
        for turn in 0..turns {
            if is_so(self) {
                return Ok(true);
            }
            if turn.is_multiple_of(TURNS_PER_S) {
                self.set_clocks_right(wrong_clock, true);
            }
            self.pass_time();
            self.look_at_leases()?;
            match self.random.below(100) {
                0..=13 => self.client_sends()?,
                kind => {
                    let at = self.random.below(self.replicas.len() as u64) as usize;
                    if kind < 18 {
                        self.keep_up(at)?;
                    }
                    self.step(at)?;
                }
            }
        }
        Ok(false)
    }
}
