//! Members come and go: an operator asks the leader for changes, and servers that join fetch a snapshot before they start.

use super::replica::{Joining, Replica};
use super::{Cluster, DIR};
use crate::disk::SimDisk;
use crate::world::Violation;
use consensus::links::Channel;
use consensus::{Change, Control, Members, ReplicaId, Request, WantedSnapshot};
use node::data::Data;
use node::transfer::Progress;
use std::path::Path;
use std::sync::Arc;
use wal::{Index, Position};

/// Replicas that a world has at most, with those that have gone.
const REPLICAS_MAX: usize = 8;

impl Cluster {
    /// The replica that leads and is not cut off for all that it knows, and what it may be asked for.
    pub(super) fn leading(&self) -> Option<(ReplicaId, Control)> {
        let leads =
            |replica: &&Replica| replica.node.as_ref().is_some_and(|node| node.recovered.committer.is_open());
        let term = |replica: &&Replica| replica.control().map_or(0, |control| control.view().term);
        let leader = self.replicas.iter().filter(leads).max_by_key(term)?;
        leader.control().map(|control| (leader.id, control))
    }

    /// The members, as the leader has applied them.
    pub(super) fn members(&self) -> Option<Members> {
        self.leading().map(|(_, control)| control.view().members)
    }

    /// The operator asks for a change of members, or for another leader.
    pub(super) fn change_members(&mut self) -> Result<(), Violation> {
        let Some((leader, control)) = self.leading() else { return Ok(()) };
        let now = control.view().members;
        let others: Vec<ReplicaId> = now.all().filter(|id| *id != leader).collect();
        let mut change = Change::of(&now);
        match self.random.below(6) {
            0..=1 if self.replicas.len() < REPLICAS_MAX => {
                let id = ReplicaId(self.replicas.len() as u64 + 1);
                let disk = SimDisk::new(self.random.number());
                self.replicas.push(Replica::new(id, disk, &mut self.random));
                change.learners.insert(id);
                change.facts.insert(id, format!("replica {id}").into_bytes());
            }
            // All that have come vote at once: never two alone.
            2..=3 if !now.learners.is_empty() => change.voters.extend(std::mem::take(&mut change.learners)),
            4 if !others.is_empty() => {
                let gone = *self.random.one_of(&others);
                change.voters.remove(&gone);
                change.learners.remove(&gone);
            }
            5 if !others.is_empty() => {
                let to = *self.random.one_of(&others);
                let _ = control.ask(Request::Transfer(to));
                return Ok(());
            }
            _ => return Ok(()),
        }
        self.trace.note(format_args!(
            "  replica {leader} is asked for {:?} and {:?}",
            change.voters, change.learners
        ));
        self.tally.changes += 1;
        // What is refused is asked for again some time.
        let _ = control.ask(Request::Change(change));
        Ok(())
    }

    /// A server without anything fetches a snapshot of the leader; when it has it, it starts.
    pub(super) fn join(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &mut self.replicas[at];
        if replica.node.is_some() || replica.has_started || replica.takes_pause() {
            return Ok(());
        }
        let (id, now_ms) = (replica.id, replica.clock.monotonic_ms());
        if replica.joining.is_none() {
            let Some((from, _)) = self.leading() else { return Ok(()) };
            let replica = &mut self.replicas[at];
            let Ok(data) = Data::open(Arc::new(replica.disk.clone()), Path::new(DIR)) else {
                self.end(at);
                return Ok(());
            };
            let transfer = data.transfer(self.network.links_of(id, Channel::Files));
            replica.joining = Some(Joining { transfer, from, _data: data });
        }
        let replica = &mut self.replicas[at];
        let Some(joining) = &mut replica.joining else { return Ok(()) };
        // Whatever snapshot the leader has.
        let wanted = WantedSnapshot { from: joining.from, at: Position { index: Index(0), term: 0 } };
        match joining.transfer.step(now_ms, Some(wanted)) {
            Progress::Idle | Progress::Sends | Progress::Goes => {}
            // It tries another.
            Progress::Failed => replica.joining = None,
            Progress::Done => {
                self.trace.note(format_args!("  replica {id} has what it joins with"));
                self.tally.fetched += 1;
                let replica = &mut self.replicas[at];
                (replica.joining, replica.has_started) = (None, true);
                return self.start(at);
            }
        }
        if self.replicas[at].disk.is_off() {
            self.end(at);
        }
        Ok(())
    }
}
