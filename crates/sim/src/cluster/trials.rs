//! Trials of leases: another replica leads while one has a lease. Each needs several things to happen within a second, which seldom do by
//! chance.

use super::replica::Replica;
use super::{Cluster, TURN_NS_MAX};
use crate::world::Violation;
use consensus::{MessageType, ReplicaId, Request};
use env::clock::Clock as _;

/// Turns in a second of the simulated time, on average.
const TURNS_PER_S: usize = 2_000_000_000 / TURN_NS_MAX as usize;
/// Turns within which a leader has a lease, and something is on its way.
const LEASED_WITHIN: usize = 800;
const SENT_WITHIN: usize = 300;
/// Milliseconds within which another one leads and has a lease, when the former leader has none that holds.
const OTHER_LEADS_WITHIN: usize = 900;
/// Milliseconds after which a transfer has certainly been given up.
const GIVEN_UP_WITHIN: usize = 1_200;

impl Cluster {
    /// See the module. All is well before.
    pub(super) fn try_leases(&mut self) -> Result<(), Violation> {
        if self.replicas.len() < 3 || !self.pass_until(LEASED_WITHIN, |cluster| cluster.leased().is_some())? {
            return Ok(());
        }
        match self.random.below(4) {
            0 => self.hear_late(),
            1 => self.transfer_unheard(),
            2 => self.transfer_late(),
            _ => self.stand_still(),
        }
    }

    /// The leader stands still and takes answers later than others keep their promise.
    fn hear_late(&mut self) -> Result<(), Violation> {
        let Some((leader, others)) = self.leased() else { return Ok(()) };
        let id = self.replicas[leader].id;
        let is_answer = |kind: MessageType| kind == MessageType::MsgHeartbeatResponse;
        if !self.pass_until(SENT_WITHIN, |cluster| cluster.network.has_on_way(id, &is_answer))? {
            return Ok(());
        }
        self.trace.note(format_args!("  replica {id}, which leads, stands still and takes answers late"));
        let ms = 1_000 + self.random.below(400);
        self.replicas[leader].pause(ms * 1_000_000, false);
        for other in others {
            self.network.cut(id, other);
            self.network.cut_what_follows(other, id);
        }
        self.pass_ms(ms as usize + OTHER_LEADS_WITHIN)
    }

    /// The leader does not hear that the one leads that it asked to.
    fn transfer_unheard(&mut self) -> Result<(), Violation> {
        let Some((leader, others)) = self.leased() else { return Ok(()) };
        let id = self.replicas[leader].id;
        if self.ask_to_lead(leader)?.is_none() {
            return Ok(());
        }
        self.trace.note(format_args!("  replica {id}, which let another lead, hears nothing"));
        others.iter().for_each(|other| self.network.cut(*other, id));
        self.pass_ms(OTHER_LEADS_WITHIN)
    }

    /// The other hears of it when the leader has given it up.
    fn transfer_late(&mut self) -> Result<(), Violation> {
        let Some((leader, others)) = self.leased() else { return Ok(()) };
        let id = self.replicas[leader].id;
        let Some(other) = self.ask_to_lead(leader)? else { return Ok(()) };
        self.trace.note(format_args!("  replica {} stands still and is to lead", self.replicas[other].id));
        self.replicas[other].pause(u64::MAX, false);
        self.pass_ms(GIVEN_UP_WITHIN)?;
        self.pass_until(LEASED_WITHIN, |cluster| cluster.leased().is_some_and(|(at, _)| at == leader))?;
        self.replicas[other].pause(0, false);
        others.iter().for_each(|other| self.network.cut(*other, id));
        self.pass_ms(OTHER_LEADS_WITHIN)
    }

    /// All but the leader stand still for longer than they keep a promise, and then hear it once more.
    fn stand_still(&mut self) -> Result<(), Violation> {
        let Some((leader, others)) = self.leased() else { return Ok(()) };
        let id = self.replicas[leader].id;
        self.trace.note(format_args!("  all but replica {id}, which leads, stand still"));
        let ms = 1_100 + self.random.below(400);
        for replica in self.replicas.iter_mut().filter(|replica| replica.id != id) {
            replica.pause(ms * 1_000_000, false);
        }
        self.pass_ms(ms as usize)?;
        self.pass_until(SENT_WITHIN, |cluster| cluster.leased().is_some_and(|(at, _)| at == leader))?;
        self.trace.note(format_args!("  replica {id} is cut off"));
        for other in others {
            self.network.cut(id, other);
            self.network.cut(other, id);
        }
        self.pass_ms(OTHER_LEADS_WITHIN)
    }

    /// The leader asks another voter to lead, which does not know that yet. Returns the other.
    fn ask_to_lead(&mut self, leader: usize) -> Result<Option<usize>, Violation> {
        let Some(control) = self.replicas[leader].control() else { return Ok(None) };
        let is_leader = |id: ReplicaId| id == self.replicas[leader].id;
        let voters = control.view().members.voters;
        let others: Vec<ReplicaId> = voters.iter().copied().filter(|id| !is_leader(*id)).collect();
        if others.is_empty() {
            return Ok(None);
        }
        let to = *self.random.one_of(&others);
        let _ = control.ask(Request::Transfer(to));
        let asks = |kind: MessageType| kind == MessageType::MsgTimeoutNow;
        let is_asked = self.pass_until(SENT_WITHIN, |cluster| cluster.network.has_on_way(to, &asks))?;
        Ok(self.replicas.iter().position(|replica| replica.id == to).filter(|_| is_asked))
    }

    /// The replica that leads and has a lease, and the others.
    fn leased(&self) -> Option<(usize, Vec<ReplicaId>)> {
        let has = |replica: &Replica| {
            replica.node.is_some() && self.ledger.has_lease(replica.id, replica.clock.monotonic_ns())
        };
        let leader = self.replicas.iter().position(has)?;
        let ids = self.replicas.iter().map(|replica| replica.id);
        Some((leader, ids.filter(|id| *id != self.replicas[leader].id).collect()))
    }

    pub(super) fn pass_ms(&mut self, ms: usize) -> Result<(), Violation> {
        self.pass_until(ms * TURNS_PER_S / 1_000, |_| false).map(|_| ())
    }

    /// Turns in which nothing goes wrong besides, until something is so. Returns whether it is.
    pub(super) fn pass_until(
        &mut self,
        turns: usize,
        is_so: impl Fn(&Cluster) -> bool,
    ) -> Result<bool, Violation> {
        for _ in 0..turns {
            if is_so(self) {
                return Ok(true);
            }
            self.pass_time();
            self.look_at_leases()?;
            match self.random.chance(140) {
                true => self.client_sends()?,
                false => {
                    let at = self.random.below(self.replicas.len() as u64) as usize;
                    self.step(at)?;
                }
            }
        }
        Ok(false)
    }
}
