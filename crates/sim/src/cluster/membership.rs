//! Members come and go: an operator asks the leader for changes, and servers that join fetch a snapshot before they start.

use super::replica::{Joining, Replica};
use super::votes::{DRAINED, REPLACES, facts, wishes};
use super::{Cluster, DIR, votes};
use crate::disk::SimDisk;
use crate::world::Violation;
use consensus::links::Channel;
use consensus::upkeep::Upkeep;
use consensus::{Change, Control, Members, ReplicaId, Request, View, WantedSnapshot};
use node::data::Data;
use node::transfer::Progress;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use wal::{Index, Position};

/// Replicas that a world has at most, with those that have gone.
pub(super) const REPLICAS_MAX: usize = 8;
/// A replica has caught up that lacks no more entries than this.
const CAUGHT_UP: u64 = 4;

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

    /// Is a replica not to lead?
    pub(super) fn is_drained(&self, members: &Members, id: ReplicaId) -> bool {
        wishes(members).drained.contains(&id)
    }

    /// The operator asks for a change of members, or for another leader.
    pub(super) fn change_members(&mut self) -> Result<(), Violation> {
        let Some((leader, control)) = self.leading() else { return Ok(()) };
        let view = control.view();
        let now = &view.members;
        let others: Vec<ReplicaId> = now.all().filter(|id| *id != leader).collect();
        let mut change = Change::of(now);
        match self.random.below(10) {
            kind @ (0..=1 | 6..=7) if self.replicas.len() < REPLICAS_MAX => {
                let id = ReplicaId(self.replicas.len() as u64 + 1);
                let disk = SimDisk::new(self.random.number());
                self.replicas.push(Replica::new(id, disk, &mut self.random));
                change.learners.insert(id);
                let mut facts = format!("replica {id}");
                if kind >= 6 {
                    let old = self.random.one_of(&now.all().collect::<Vec<_>>()).0;
                    facts.push_str(&format!("{REPLACES}{old}"));
                }
                change.facts.insert(id, facts.into_bytes());
            }
            // All that have come vote at once: never two alone.
            2..=3 if !now.learners.is_empty() => {
                let replaces = wishes(now).replaces;
                let (waiting, next) = change.learners.iter().partition(|id| replaces.contains_key(id));
                change.learners = waiting;
                change.voters.extend::<BTreeSet<ReplicaId>>(next);
            }
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
            8 => {
                let id = *self.random.one_of(&now.all().collect::<Vec<_>>());
                let known = facts(now, id);
                let other = known.strip_suffix(DRAINED).map_or(format!("{known}{DRAINED}"), str::to_owned);
                change.facts.insert(id, other.into_bytes());
            }
            9 if others.len() >= 2 => {
                let gone = [*self.random.one_of(&others), *self.random.one_of(&others)].into();
                let are_dead = self.random.chance(500);
                let without = with_upkeep(leader, &view, |upkeep| upkeep.without(&gone, are_dead));
                let Ok(without) = without else { return Ok(()) };
                change = without;
            }
            _ => return Ok(()),
        }
        self.trace.note(format_args!(
            "  replica {leader} is asked for {:?} and {:?}",
            change.voters, change.learners
        ));
        self.tally.changes += 1;
        self.changed_ns = self.now_ns;
        // What is refused is asked for again some time.
        let _ = control.ask(Request::Change(change, view.members_index));
        Ok(())
    }

    /// A replica that leads, as it thinks, does what is wanted of members.
    ///
    /// # Errors
    /// When an even number would vote by that, where an odd number does.
    pub(super) fn keep_up(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &self.replicas[at];
        let Some(control) = replica.control().filter(|_| !replica.takes_pause()) else { return Ok(()) };
        let (id, view) = (replica.id, control.view());
        if let Some(next) = with_upkeep(id, &view, |upkeep| upkeep.next()) {
            self.trace.note(format_args!("  replica {id} wants {next:?}"));
            votes::look_at_wanted(&view.members, &next)?;
            self.tally.kept_up += 1;
            self.changed_ns = self.now_ns;
            let _ = control.ask(next);
        }
        Ok(())
    }

    /// What is wanted of members, and is not done by the one that leads; none where all is done.
    pub(super) fn undone(&self) -> Option<String> {
        let (leader, control) = self.leading()?;
        with_upkeep(leader, &control.view(), |upkeep| upkeep.next()).map(|next| format!("{next:?}"))
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
            if self.images.are_taken {
                let Some(guard) = self.count_start(at)? else {
                    self.end(at);
                    return Ok(());
                };
                self.network.begin(guard);
            }
            let replica = &mut self.replicas[at];
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

fn with_upkeep<T>(own: ReplicaId, view: &View, decide: impl FnOnce(Upkeep<'_>) -> T) -> T {
    let has = |other: &&consensus::Other| {
        let is_wrong = view.compared.wrong.contains(&other.id);
        other.is_active && !other.fetches && !is_wrong && other.matched + CAUGHT_UP >= view.commit
    };
    let caught_up: BTreeSet<ReplicaId> =
        view.others.iter().filter(has).map(|other| other.id).chain([own]).collect();
    decide(Upkeep { own, view, wishes: &wishes(&view.members), caught_up: &caught_up })
}
