//! Processes of replicas: they start, and they end.

use super::{Cluster, DIR, SESSIONS, TRANSACTION_MS, broken};
use crate::disk::Faults;
use crate::followers::COPIED;
use crate::node::{self, StartOptions};
use crate::world::{CHANGES_BYTES, Violation};
use ::node::data::{DataError, Replication};
use consensus::links::Channel;
use dsa::settings::Texts;
use std::path::Path;
use std::sync::Arc;

impl Cluster {
    /// Starts the process of a replica. What its disk says then may end it at once.
    pub(super) fn start(&mut self, at: usize) -> Result<(), Violation> {
        if !self.replicas[at].has_started {
            return Ok(());
        }
        if self.copies.chance(200) {
            self.back_up(at, 0)?;
        }
        if self.copies.chance(100) {
            self.begin_anew(at)?;
        }
        let guard = match self.images.are_taken {
            false => None,
            true => match self.count_start(at)? {
                Some(guard) => Some(guard),
                None => {
                    self.end(at);
                    return Ok(());
                }
            },
        };
        let super::replica::Replica { id, disk, clock, versions, .. } = &self.replicas[at];
        let (id, disk, clock, versions) = (*id, Arc::new(disk.clone()), *clock, *versions);
        let dir = Path::new(DIR);
        let [links, updates] =
            [Channel::Consensus, Channel::Updates].map(|channel| self.network.links_of(id, channel));
        let asked = StartOptions {
            seed: self.random.number(),
            reads: self.reads,
            transaction_ms: Some(TRANSACTION_MS),
            settings: self.settings.are_changed.then(Texts::new),
            versions,
            access: &[COPIED],
            // Those of clusters without consumers are as they were.
            changes: if self.followers.count() > 0 { CHANGES_BYTES } else { 0 },
            ..StartOptions::default()
        };
        let replication = Replication { id, links, retention: self.retention };
        // One more looks at everything in a calm.
        let sessions = SESSIONS + 1;
        let started =
            node::start_replica(disk, dir, self.log, asked, sessions, &clock, (replication, updates));
        let node = match started {
            Ok(node) => node,
            Err(error) if node::is_of_disk(&error) => {
                self.end(at);
                return Ok(());
            }
            Err(DataError::Behaviour(..)) if self.gets_newer(at, versions.newest) => return self.start(at),
            Err(error) => {
                let what = format!("replica {id}: {error}");
                return Err(broken("a start without damage succeeds")(what));
            }
        };
        self.trace.note(format_args!("  replica {id} starts with {} records", node.recovered.records));
        self.tally.cuts += u64::from(node.recovered.cut.is_some());
        let ledger = self.ledger.clone();
        let mut node = node.map(|recovered| ::node::data::Recovered {
            committer: recovered.committer.over(|log| ledger.watch(id, log)),
            ..recovered
        });
        node.sync_beside(self.random.number());
        let transfer = node.transfer(self.network.links_of(id, Channel::Files));
        let begun = guard.map(|guard| guard.with(node.recovered.control.clone()));
        begun.into_iter().for_each(|guard| self.network.begin(guard));
        let replica = &mut self.replicas[at];
        (replica.node, replica.seen, replica.paused_ns) = (Some(node), 0, 0);
        replica.transfer = Some(transfer);
        self.announce(at);
        self.must_not_go_back(at)?;
        self.look_at_start(at)?;
        self.look_at(at)
    }

    /// The process of a replica ends, by a kill or with the power of its machine.
    pub(super) fn end(&mut self, at: usize) {
        let loses_power = self.replicas[at].disk.is_off() || self.random.chance(500);
        self.end_by(at, loses_power);
    }

    /// As [`Cluster::end`], by one of them.
    pub(super) fn end_by(&mut self, at: usize, loses_power: bool) {
        let replica = &mut self.replicas[at];
        (replica.node, replica.transfer, replica.written, replica.joining) = (None, None, None, None);
        match loses_power {
            true => replica.disk.lose_power_keeping(self.plan.sectors_kept()),
            false => replica.disk.kill(),
        }
        replica.disk.set_faults(Faults::default());
        let id = replica.id;
        self.trace.note(format_args!("  replica {id} ends, by the power: {loses_power}"));
        self.network.on_end_of(id);
        self.followers.disconnect(at);
        if loses_power {
            self.network.with_guards(|guards, _| guards.on_power_loss_of(id));
        }
        self.forget_sent_to(at);
    }
}
