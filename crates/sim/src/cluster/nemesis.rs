//! What goes wrong in a cluster.

use super::{Cluster, DIR};
use crate::network::Given;
use crate::world::Violation;
use dsa::reads::Reads;
use std::path::Path;

/// Nanoseconds that a replica stands still, at most.
const PAUSE_NS_MAX: u64 = 3_000_000_000;
/// Nanoseconds that a replica is away, at most: others have a snapshot by then, and not the entries that it lacks.
const AWAY_NS_MAX: u64 = 2_000_000_000;

impl Cluster {
    /// Something goes wrong, or is mended.
    pub(super) fn go_wrong(&mut self) -> Result<(), Violation> {
        let count = self.replicas.len() as u64;
        let (at, other) = (self.random.below(count) as usize, self.random.below(count) as usize);
        let (from, to) = (self.replicas[at].id, self.replicas[other].id);
        match self.random.below(26) {
            0..=2 if self.replicas[at].node.is_some() => self.end(at),
            3..=9 if self.replicas[at].may_start() => self.start(at)?,
            // With chances that this incarnation has of its own.
            10 => {
                let operations = self.replicas[at].disk.operations();
                let mut faults = self.plan.faults(&mut self.random, operations);
                // Of a disk that holds one directory.
                let used = self.replicas[at].disk.used(Path::new(DIR));
                faults.capacity = faults.capacity.map(|_| used + self.random.below(100_000));
                self.trace.note(format_args!("  replica {from}: {faults:?}"));
                self.replicas[at].disk.set_faults(faults);
            }
            11 => {
                let (ns, is_frozen) = (self.random.below(PAUSE_NS_MAX), self.random.chance(500));
                // A lease is for machines whose clock goes on, and so is the age of what is read.
                let is_frozen =
                    is_frozen && self.reads.reads == Reads::Quorum && !self.reads_without_quorum();
                self.replicas[at].pause(ns, is_frozen);
                self.trace.note(format_args!("  replica {from} stands still, its clock too: {is_frozen}"));
            }
            12 => {
                self.trace.note(format_args!("  the link from {from} to {to} is cut"));
                self.network.cut(from, to);
            }
            13 => {
                self.trace.note(format_args!("  replica {from} is cut off"));
                for other in &self.replicas {
                    self.network.cut(from, other.id);
                    self.network.cut(other.id, from);
                }
            }
            14 => self.network.slow_down(from, to),
            15..=17 => self.network.tear(from, to),
            18..=21 => self.network.mend(),
            22 if self.random.chance(200) => self.lose_all_power(),
            23 => {
                let forward_ms = self.random.below(7_200_000) as i64 - 3_600_000;
                self.trace.note(format_args!("  the wall clock of replica {from} is set by {forward_ms} ms"));
                self.replicas[at].clock.set_wall(forward_ms);
            }
            24 if self.random.chance(300) => {
                self.trace.note(format_args!("  replica {from} is away for long"));
                self.end(at);
                self.replicas[at].away_ns = self.random.below(AWAY_NS_MAX);
            }
            _ => {}
        }
        Ok(())
    }

    /// When somebody is to lead by one voice: those who did not hear of it do not, and the voter loses its power as soon as it has given it.
    /// A vote that is not on its disk by then it gives twice.
    pub(super) fn ambush(&mut self) -> Result<(), Violation> {
        let Some(given) = self.network.take_given().filter(|_| self.has_ambush) else { return Ok(()) };
        let Given { from, to, is_pre_vote } = given;
        for other in self.replicas.iter().map(|replica| replica.id).filter(|other| *other != from) {
            self.network.cut(to, other);
            self.network.cut(other, to);
        }
        self.trace.note(format_args!(
            "  {from} gives its voice to {to}, which is cut off from all others: {given:?}"
        ));
        let voter = self.replicas.iter().position(|replica| replica.id == from);
        if let Some(at) = voter.filter(|at| !is_pre_vote && self.replicas[*at].node.is_some()) {
            self.network.cut(to, from);
            self.network.cut(from, to);
            self.end_by(at, true);
            self.start(at)?;
        }
        Ok(())
    }

    /// The power of all machines fails at one moment.
    pub(super) fn lose_all_power(&mut self) {
        self.trace.note(format_args!("  the power of all machines fails"));
        self.tally.blackouts += 1;
        for at in 0..self.replicas.len() {
            if self.replicas[at].node.is_some() {
                self.end_by(at, true);
            }
        }
    }
}
