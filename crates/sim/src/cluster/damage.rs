//! The directory of one replica becomes another by itself, as if its machine had made a mistake. The others go on, whichever leads, and that one is
//! made anew.

use super::replica::{Damage, Replica};
use super::{Cluster, DIR, broken};
use crate::disk::{Faults, SimDisk};
use crate::properties;
use crate::requests::{Bundle, ROOT, SUFFIX, Sent};
use crate::world::Violation;
use consensus::Standing;
use dsa::Applier;
use dsa::journal::Command;
use env::clock::Clock as _;
use env::disk::Disk as _;
use proto::op::ModifyKind;
use std::borrow::Cow;
use std::path::Path;

/// Nanoseconds after a change of members was asked for in which nothing is damaged: one against one would be left, or none.
pub(super) const APART_NS: u64 = 3_000_000_000;

/// Milliseconds by which a change that no entry has made is in the future.
const LATER_MS: u64 = 100_000_000;

impl Cluster {
    /// Something is changed in the directory of one replica that no entry of the log has changed: of the leader as often as of any other.
    pub(super) fn damage(&mut self) {
        let Some((leader, control)) = self.leading() else { return };
        let members = control.view().members;
        let is_quiet = self.now_ns >= self.changed_ns + APART_NS && self.undone().is_none();
        if members.voters.len() < 3
            || members.is_joint()
            || !is_quiet
            || self.has_damage()
            || self.has_old_image()
        {
            return;
        }
        let runs = |replica: &Replica| replica.node.is_some() && members.has(replica.id);
        let at = match self.damages.chance(500) {
            true => self.replicas.iter().position(|replica| replica.id == leader),
            false => Some(self.damages.below(self.replicas.len() as u64) as usize),
        };
        let Some(at) = at.filter(|at| runs(&self.replicas[*at])) else { return };
        let replica = &mut self.replicas[at];
        // All that comes after has other CSNs, or nothing.
        let wall_ms = if self.damages.chance(500) { replica.clock.wall_ms() + LATER_MS } else { 0 };
        let id = replica.id;
        let Some(node) = &mut replica.node else { return };
        // No client changes that value.
        let mut bundle = Bundle::default();
        let value = format!("damage {}", self.damages.number());
        bundle.modify(SUFFIX, ModifyKind::Replace, "st", &[&value], Sent::Other);
        let command = Command {
            wall_ms,
            actor: ROOT.as_bytes(),
            ids: Cow::Borrowed(&[]),
            messages: &bundle.updates,
            is_transaction: false,
        };
        let mut applier = Applier::new(&node.recovered.dsa).expect("there are few readers");
        let applied = applier.apply(&command, &mut Vec::new());
        applied.expect("there is room for one value");
        // What it writes now would have the damage.
        (replica.written, replica.damage) = (None, Damage::Unknown);
        self.tally.damages += 1;
        self.trace.note(format_args!("  the directory of replica {id} is damaged, in time {wall_ms}"));
    }

    /// Is a member damaged, or not made anew?
    pub(super) fn has_damage(&self) -> bool {
        self.damaged(|damage| damage != Damage::None).is_some()
    }

    /// Does a member not know that it is damaged?
    pub(super) fn has_unknown_damage(&self) -> bool {
        self.damaged(|damage| damage == Damage::Unknown).is_some()
    }

    /// A member whose damage is such. One that was removed gets nothing of a leader any more, so it is never made anew. Nobody waits for that, but it
    /// stays damaged, and has to stay out of service.
    pub(super) fn damaged(&self, is_such: impl Fn(Damage) -> bool) -> Option<&Replica> {
        let mut damaged = self.replicas.iter().filter(|replica| is_such(replica.damage)).peekable();
        damaged.peek()?;
        let members = self.members();
        damaged.find(|replica| members.as_ref().is_none_or(|members| members.has(replica.id)))
    }

    /// Does a replica know that it is another than the others, and not whether it is wrong?
    pub(super) fn is_doubted(&self, at: usize) -> bool {
        let control = self.replicas[at].control();
        control.is_some_and(|control| control.view().compared.standing == Standing::Doubted)
    }

    /// A replica that leaves service is one that is damaged, and comes back with another directory only.
    pub(super) fn look_at_standing(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &mut self.replicas[at];
        let Some(node) = &replica.node else { return Ok(()) };
        let is_wrong = node.recovered.committer.is_wrong();
        match (replica.damage, is_wrong) {
            (Damage::None, true) => {
                let what = format!("replica {} has left service, and is not damaged", replica.id);
                return Err(broken(properties::LEAVES)(what));
            }
            // The power failed while it wrote that down: its next start says whether its disk has it.
            (Damage::Unknown, true) if !replica.disk.is_off() => {
                replica.damage = Damage::Found(generation(&replica.disk));
                let id = replica.id;
                self.trace.note(format_args!("  replica {id} has left service"));
            }
            (Damage::Found(_), false) => {
                let what = format!("replica {} serves again the directory that is damaged", replica.id);
                return Err(broken(properties::LEAVES)(what));
            }
            _ => {}
        }
        Ok(())
    }

    /// The process of a replica has started. If the power failed at the end of a fetch the snapshot may be there as a whole, though nobody was notified of
    /// that: a start goes on with it too.
    pub(super) fn look_at_start(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &mut self.replicas[at];
        match replica.damage {
            // It was in memory only; but that it was found may be on the disk.
            Damage::Unknown
                if !replica.node.as_ref().is_some_and(|node| node.recovered.committer.is_wrong()) =>
            {
                replica.damage = Damage::None;
            }
            Damage::Found(before) if generation(&replica.disk) > before => {
                replica.damage = Damage::None;
                self.tally.rebuilt += 1;
            }
            Damage::None | Damage::Unknown | Damage::Found(_) => {}
        }
        self.look_at_standing(at)
    }
}

/// How many snapshots of other replicas a replica has gone on with. Each has a folder of its own, and the start that goes on with it removes those
/// before. A part of the next one may be there.
fn generation(disk: &SimDisk) -> u64 {
    let disk = disk.copy();
    disk.kill();
    disk.set_faults(Faults::default());
    let of = |name: &String| match name.strip_prefix("snapshot")? {
        "" => Some(0),
        rest => rest.strip_prefix('-')?.parse().ok(),
    };
    disk.list_dirs(Path::new(DIR)).unwrap_or_default().iter().filter_map(of).min().unwrap_or(0)
}
