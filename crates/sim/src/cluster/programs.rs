//! Replicas get a newer program, one after the other, and sometimes the older one back. An operator finishes the upgrade, sometimes too early.

use super::Cluster;
use crate::node::NEXT;
use crate::world::Violation;
use dsa::behaviour::{NEWEST, Versions};

/// Of 1,000 turns of a world with upgrades, those in which an operator does something.
const ACTS: u64 = 10;
/// Of 1,000 replicas that get another program, those that get the older one.
const GOES_BACK: u64 = 150;

impl Cluster {
    /// An operator does something about an upgrade, now and then.
    pub(super) fn upgrade(&mut self) -> Result<(), Violation> {
        if !self.upgrades.are_made || !self.upgrades.random.chance(ACTS) {
            return Ok(());
        }
        if self.upgrades.random.chance(300) {
            self.finish_upgrade();
            return Ok(());
        }
        let at = self.upgrades.random.below(self.replicas.len() as u64) as usize;
        let goes_back = self.upgrades.random.chance(GOES_BACK);
        let versions = if goes_back { Versions::THIS } else { NEXT };
        // It cannot be used any more, and the operator knows that. One that was down meanwhile may have it.
        if self.replicas[at].versions == versions || (goes_back && self.upgrades.asked > NEWEST) {
            return Ok(());
        }
        let id = self.replicas[at].id;
        self.trace.note(format_args!("  replica {id} gets the program that knows {versions}"));
        self.replicas[at].versions = versions;
        if self.replicas[at].node.is_some() && self.upgrades.random.chance(800) {
            let loses_power = self.upgrades.random.chance(200);
            self.end_by(at, loses_power);
            self.start(at)?;
        }
        Ok(())
    }

    /// An operator asks the leader for the latest version that all members know.
    fn finish_upgrade(&mut self) {
        let Some((leader, control)) = self.leading() else { return };
        let members = control.view().members;
        let said: Vec<_> = members.all().map(|id| (id, self.upgrades.announced.get(&id).copied())).collect();
        let Some(node) = self.replicas.iter().find(|one| one.id == leader).and_then(|one| one.node.as_ref())
        else {
            return;
        };
        let queue = node.recovered.committer.queue();
        let before = queue.status().behaviour();
        match node::upgrade::wanted(&said, before) {
            Err(why) => {
                self.tally.upgrades_refused += 1;
                self.trace.note(format_args!("  an upgrade is not finished: {why}"));
            }
            Ok(wanted) if wanted > before => {
                queue.raise_behaviour(wanted);
                self.upgrades.asked = wanted;
                self.trace.note(format_args!("  replica {leader} is asked to finish an upgrade"));
            }
            Ok(_) => {}
        }
    }

    /// The process of a replica has started.
    pub(super) fn announce(&mut self, at: usize) {
        let replica = &self.replicas[at];
        self.upgrades.announced.insert(replica.id, replica.versions.newest);
    }

    /// A replica does not know by what updates are applied now: `newest` is the latest that its process knows. An operator gives it the newer program, if
    /// that had the older one.
    pub(super) fn gets_newer(&mut self, at: usize, newest: u32) -> bool {
        let replica = &mut self.replicas[at];
        let is_older = self.upgrades.asked > newest;
        if is_older {
            let id = replica.id;
            replica.versions = NEXT;
            self.tally.outdated += 1;
            self.trace.note(format_args!("  replica {id} must have the newer program"));
        }
        is_older
    }
}
