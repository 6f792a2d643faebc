//! A replica: its disk and its clock, and the process, if it runs.

use super::{Cluster, DIR, SESSIONS, Violation, broken};
use crate::clock::SimClock;
use crate::disk::{Faults, SimDisk};
use crate::node::{self, Node};
use crate::random::Random;
use ::node::data::DataError;
use consensus::ReplicaId;
use std::path::Path;
use std::sync::Arc;
use wal::Ticket;

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
    /// Who waits for which barrier, and the entry that must be there when it is passed.
    pub(super) barriers: Vec<(Ticket, u64)>,
}

impl Replica {
    pub(super) fn new(id: ReplicaId, disk: SimDisk, random: &mut Random) -> Replica {
        let mut clock = SimClock::default();
        clock.set_wall(random.below(2000) as i64 - 1000);
        let rate = 990 + random.below(21);
        Replica { id, disk, clock, rate, node: None, seen: 0, paused_ns: 0, barriers: Vec::new() }
    }

    pub(super) fn pass_ns(&mut self, ns: u64) {
        self.clock.pass_ns(ns * self.rate / 1000);
        self.paused_ns = self.paused_ns.saturating_sub(ns);
    }

    /// Does it stand still, as a process that is stopped?
    pub(super) fn takes_pause(&self) -> bool {
        self.paused_ns > 0
    }
}

impl Cluster {
    /// Starts the process of a replica. What its disk says then may end it at once.
    pub(super) fn start(&mut self, at: usize) -> Result<(), Violation> {
        let Replica { id, disk, clock, .. } = &self.replicas[at];
        let (id, disk, clock, dir) = (*id, Arc::new(disk.clone()), *clock, Path::new(DIR));
        let (links, seed) = (self.network.links_of(id), self.random.number());
        let started = node::start_replica(disk, dir, self.log, seed, SESSIONS, &clock, (id, links));
        let node = match started {
            Ok(node) => node,
            Err(DataError::Disk(_) | DataError::Log(wal::OpenError::Io(_))) => return Ok(self.end(at)),
            Err(DataError::Snapshot(wal::snapshot::SnapshotError::Io(_))) => return Ok(self.end(at)),
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
        let replica = &mut self.replicas[at];
        (replica.node, replica.seen, replica.paused_ns) = (Some(node), 0, 0);
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
        replica.node = None;
        replica.barriers.clear();
        match loses_power {
            true => replica.disk.lose_power_keeping(self.plan.sectors_kept()),
            false => replica.disk.kill(),
        }
        replica.disk.set_faults(Faults::default());
        let id = replica.id;
        self.trace.note(format_args!("  replica {id} ends, by the power: {loses_power}"));
        self.network.on_end_of(id);
        self.forget_sent_to(at);
    }
}
