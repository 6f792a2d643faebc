//! When nothing goes wrong any more, a cluster has a leader before long, and all replicas have everything.

use super::replica::{Damage, Replica};
use super::{Cluster, SESSIONS, broken};
use crate::disk::Faults;
use crate::properties::{self, Situation};
use crate::world::Violation;
use consensus::{Members, ReplicaId};

/// Turns within which all is well: sixteen seconds of the simulated time, as a turn takes two milliseconds. Clients of a replica that was
/// removed wait ten seconds for an outcome, and then three for a barrier.
const CALM_WITHIN: usize = 8_000;

/// What holds of each replica in a calm: not that its counters are those of its clients' last reads, for they read elsewhere too.
const OF_EACH: [&str; 6] = [
    "no acknowledged write is lost",
    "no delete is undone",
    "no entry is without its superior",
    "the state is the model's",
    properties::INDEXES,
    properties::VOID,
];

impl Cluster {
    /// All is mended and started, and nothing is sent. When all replicas have the same, everything is looked at.
    pub(super) fn calm(&mut self) -> Result<(), Violation> {
        self.trace.note(format_args!("a calm"));
        self.network.mend();
        for at in 0..self.replicas.len() {
            self.replicas[at].paused_ns = 0;
            self.replicas[at].disk.set_faults(Faults::default());
            if self.replicas[at].node.is_none() {
                self.start(at)?;
            }
        }
        for _ in 0..CALM_WITHIN {
            self.pass_time();
            self.replace_old()?;
            let at = self.random.below(self.replicas.len() as u64) as usize;
            self.join(at)?;
            if self.random.chance(50) {
                self.keep_up(at)?;
            }
            self.step(at)?;
            if self.replicas[at].node.is_none() {
                // It had failed before all was mended, and has ended now.
                self.start(at)?;
            }
            if self.workload.has_transactions() {
                // What is open is given up before long.
                (0..SESSIONS).for_each(|session| self.take_notices(at, session));
            }
            if self.has_unknown_damage() && self.random.chance(20) {
                // It is found when something is applied.
                self.client_sends()?;
            }
            if self.is_doubted(at) && self.random.chance(5) {
                // The third lacks entries that nobody has any more. An operator starts one of the two again: it reads its log anew.
                self.end_by(at, false);
                self.start(at)?;
            }
            let is_calm =
                self.is_calm() && self.has_same_members() && !self.has_damage() && !self.has_old_image();
            if is_calm && self.undone().is_none() && self.look_at_votes().is_ok() {
                return self.look_at_all();
            }
        }
        if let Some(members) = self.members().filter(Members::is_joint) {
            return Err(broken(properties::LEFT)(format!("the members are {members:?}")));
        }
        if let Some(Replica { id, damage, .. }) = self.damaged(|damage| damage != Damage::None) {
            return Err(broken(properties::REBUILT)(format!("the damage of replica {id} is {damage:?}")));
        }
        self.look_at_votes()?;
        if let Some(undone) = self.undone().filter(|_| self.is_calm()) {
            return Err(broken(properties::DONE)(undone));
        }
        if self.is_calm() {
            return Err(broken(properties::MEMBERS)(self.differing_members()));
        }
        let ends: Vec<_> =
            self.replicas.iter().map(|replica| replica.node.as_ref().map(|node| node.applied())).collect();
        Err(broken(properties::LEARNED)(format!("replicas have {ends:?} of {} entries", self.ledger.last())))
    }

    /// Is there a leader that has begun its term, and has every replica everything?
    fn is_calm(&mut self) -> bool {
        let last = self.ledger.last();
        let Some(members) = self.members() else { return false };
        let has_all =
            |node: &crate::node::Node| node.applied() == last && node.recovered.committer.is_settled();
        let of = |id| self.replicas.iter().find(|replica| replica.id == id);
        let all: Vec<_> = members.all().filter_map(of).collect();
        let no_answer = self.sent.iter().all(Option::is_none);
        let have_all = all.iter().all(|replica| replica.node.as_ref().is_some_and(has_all));
        no_answer && have_all && !members.is_joint()
    }

    /// Does every member see the members that the leader sees?
    fn has_same_members(&self) -> bool {
        let Some(members) = self.members() else { return false };
        let mut all = self.replicas.iter().filter(|replica| members.has(replica.id));
        all.all(|replica| replica.members().as_ref() == Some(&members))
    }

    /// Who votes, and who learns, as each member sees it.
    fn differing_members(&self) -> String {
        let of = |replica: &Replica| {
            let members = replica.members()?;
            let numbers = |ids: &[ReplicaId]| ids.iter().map(|id| id.0).collect::<Vec<_>>();
            let (voters, learners) = (numbers(&members.voters), numbers(&members.learners));
            Some(format!("replica {} has {voters:?} and {learners:?}", replica.id))
        };
        self.replicas.iter().filter_map(of).collect::<Vec<_>>().join(", ")
    }

    fn look_at_all(&mut self) -> Result<(), Violation> {
        let members = self.members().unwrap_or_default();
        for at in 0..self.replicas.len() {
            let id = self.replicas[at].id;
            // What has left the group is behind.
            if !members.has(id) {
                continue;
            }
            self.look_at_settings(at)?;
            let view = self.read_everything(at)?;
            // A read takes steps, and a leader may have begun a term in them.
            let end = self.oracle.at();
            let (model, free_ids) = (self.oracle.digest(), self.oracle.free_ids());
            let Some(node) = &mut self.replicas[at].node else { continue };
            let applied = node.applied();
            let situation = Situation {
                node,
                view: &view,
                clients: &self.clients,
                promised: self.promised,
                end,
                model,
                free_ids: &free_ids,
            };
            for (property, holds) in properties::PROPERTIES.iter().filter(|(name, _)| OF_EACH.contains(name))
            {
                let of_replica = |what| Violation { property, what: format!("replica {id}: {what}") };
                holds(&situation).map_err(of_replica)?;
            }
            if self.copies.chance(200) {
                self.back_up(at, applied)?;
            }
            self.workload.check(&view).map_err(broken(self.workload.property()))?;
        }
        self.tally.calms += 1;
        let end = self.oracle.at();
        self.trace.note(format_args!("calm: {end} entries"));
        Ok(())
    }
}
