//! A replica: its disk and its clock, and the process, if it runs.

use crate::clock::SimClock;
use crate::disk::SimDisk;
use crate::node::Node;
use crate::random::Random;
use consensus::{Control, Members, ReplicaId};
use dsa::behaviour::Versions;
use node::data::Data;
use node::data::snapshot::Writing;
use node::transfer::Transfer;
use wal::Index;

/// A snapshot that a replica writes.
pub(super) struct Written {
    pub(super) writing: Box<Writing>,
    /// The last entry that it holds, and the last record that is not needed with it.
    pub(super) index: Index,
    pub(super) record: Index,
}

/// A server that fetches its first snapshot.
pub(super) struct Joining {
    pub(super) transfer: Transfer,
    pub(super) from: ReplicaId,
    /// It holds the directory.
    pub(super) _data: Data,
}

/// Whether the directory of a replica is another than that of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Damage {
    /// It is the same.
    #[default]
    None,
    /// It is another, and the replica does not know that.
    Unknown,
    /// It has left service, with the snapshot of this generation.
    Found(u64),
}

/// See the module.
pub(super) struct Replica {
    pub(super) id: ReplicaId,
    pub(super) disk: SimDisk,
    pub(super) clock: SimClock,
    /// What the program knows that starts next.
    pub(super) versions: Versions,
    /// Of 1,000: how many nanoseconds its clock passes for as many of the world.
    rate: u64,
    pub(super) node: Option<Node>,
    /// What sends and fetches snapshots, of the process.
    pub(super) transfer: Option<Transfer>,
    /// The snapshot that it writes.
    pub(super) written: Option<Written>,
    /// The last entry of the snapshot with which it last started.
    pub(super) snapshot: u64,
    /// When it last wrote what it has seen of others, by its clock.
    pub(super) seen_ms: u64,
    /// The last entry at which it was compared with the model.
    pub(super) seen: u64,
    /// Whether its directory is another than that of the others.
    pub(super) damage: Damage,
    /// It has a snapshot with which it starts.
    pub(super) has_started: bool,
    /// It fetches that.
    pub(super) joining: Option<Joining>,
    /// It is not started for so long.
    pub(super) away_ns: u64,
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
        Replica {
            id,
            disk,
            clock,
            versions: Versions::THIS,
            rate,
            node: None,
            transfer: None,
            written: None,
            snapshot: 0,
            seen_ms: 0,
            seen: 0,
            damage: Damage::default(),
            has_started: false,
            joining: None,
            away_ns: 0,
            paused_ns: 0,
            is_frozen: false,
        }
    }

    /// One that has the directory with which all begin.
    pub(super) fn of_member(id: ReplicaId, disk: SimDisk, random: &mut Random) -> Replica {
        Replica { has_started: true, ..Replica::new(id, disk, random) }
    }

    /// What is asked of it, if it runs.
    pub(super) fn control(&self) -> Option<Control> {
        self.node.as_ref().and_then(|node| node.recovered.control.clone())
    }

    /// The members as it sees them, if it runs.
    pub(super) fn members(&self) -> Option<Members> {
        self.control().map(|control| control.view().members)
    }

    pub(super) fn pass_ns(&mut self, ns: u64) {
        let is_frozen = self.is_frozen && self.takes_pause();
        self.clock.pass_ns(if is_frozen { 0 } else { ns * self.rate / 1000 });
        self.paused_ns = self.paused_ns.saturating_sub(ns);
        self.away_ns = self.away_ns.saturating_sub(ns);
    }

    /// Does it not run, and may somebody start it?
    pub(super) fn may_start(&self) -> bool {
        self.node.is_none() && self.has_started && self.away_ns == 0
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
