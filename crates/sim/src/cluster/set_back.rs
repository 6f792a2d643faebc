//! The disk of a replica is set back: a machine is started again from an image of an earlier state. The others refuse it, so it does not lead, and nobody's
//! acknowledgement is forgotten; an operator has another one take its place.
//!
//! A world does that only where every other replica knows better, on its disk: no more is promised (`docs/cluster.md`, "A lost disk"). It knows a later run
//! of the replica, or that its disk went further.

use super::images::{Image, Old};
use super::membership::REPLICAS_MAX;
use super::replica::{Damage, Replica};
use super::votes::{REPLACES, wishes};
use super::{Cluster, DIR, TRANSACTION_MS, broken};
use crate::disk::{Faults, SimDisk};
use crate::guards::{Guard, seen_of, starts};
use crate::network::Network;
use crate::node::{StartOptions, start_replica};
use crate::properties;
use crate::world::Violation;
use consensus::links::Channel;
use consensus::{Change, Extent, Members, ReplicaId, Request};
use dsa::settings::Texts;
use node::data::Replication;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Of 1,000 turns, those in which an image is taken or a disk set back, if that may be.
const ACTS: u64 = 20;
/// Of 1,000 such turns in which no disk may be set back to the image, those in which another one is taken.
const TAKES_ANOTHER: u64 = 50;
/// Of 1,000 turns, those in which an operator does something about a replica whose disk was set back.
const OPERATES: u64 = 4;
/// Of 1,000 rounds of worlds with images, those that begin with a trial of one, and of these trials, those of an image from before the last start.
const TRIED: u64 = 600;
const OF_START_BEFORE: u64 = 500;
/// Milliseconds in which replicas say hello to one that has started, and turns within which another one leads.
const HELLO_MS: usize = 200;
const LED_WITHIN: usize = 1_500;
/// Milliseconds in which a majority goes on with the one whose disk is to be set back, and in which the others elect a leader with it, if they admit it.
const GO_ON_MS: usize = 500;
const ELECT_MS: usize = 4_000;
/// Milliseconds between two times at which replicas write what they have seen, and leaders say what all have acknowledged: as servers do.
const SEEN_APART_MS: u64 = 1_000;

impl Cluster {
    /// Is a member one whose disk was set back?
    pub(super) fn has_old_image(&self) -> bool {
        self.images.old.is_some()
    }

    /// A process of a replica says hello to others. Returns whether its disk has counted the start.
    ///
    /// # Errors
    /// A file is damaged.
    pub(super) fn count_start(&mut self, at: usize) -> Result<Option<Guard>, Violation> {
        let run = self.images.random.number();
        let replica = &self.replicas[at];
        match Guard::start(&replica.disk, Path::new(DIR), replica.id, run) {
            Ok(guard) => Ok(Some(guard)),
            Err(peers::FileError::Disk(_)) => Ok(None),
            Err(error) => {
                Err(broken("a start without damage succeeds")(format!("replica {}: {error}", replica.id)))
            }
        }
    }

    /// A replica writes what it has seen of others, and a leader says what all have acknowledged, once a second.
    pub(super) fn keep_seen(&mut self, at: usize) {
        let replica = &mut self.replicas[at];
        let now_ms = replica.clock.monotonic_ms();
        let Some(control) = replica.control().filter(|_| now_ms >= replica.seen_ms + SEEN_APART_MS) else {
            return;
        };
        replica.seen_ms = now_ms;
        let (id, view) = (replica.id, control.view());
        self.network.with_guards(|guards, now_ns| {
            if view.leader == Some(id) {
                guards.say(id, now_ns, view.term, &view.acknowledged(id));
            }
            guards.save(id);
        });
    }

    /// In a world with images one is taken, or a disk set back, now and then.
    ///
    /// # Errors
    /// As [`Cluster::look_at_refused`] and [`Cluster::replace_old`].
    pub(super) fn act_on_images(&mut self) -> Result<(), Violation> {
        if !self.images.are_taken {
            return Ok(());
        }
        self.look_at_refused()?;
        self.replace_old()?;
        if self.has_old_image() || !self.images.random.chance(ACTS) {
            return Ok(());
        }
        let Some(Image { at, disk }) = self.images.taken.take() else {
            self.take_image();
            return Ok(());
        };
        if self.may_be_set_back(at, &disk) {
            return self.set_back(at, &disk);
        }
        if !self.images.random.chance(TAKES_ANOTHER) {
            self.images.taken = Some(Image { at, disk });
        }
        Ok(())
    }

    /// All is well, and a majority goes on without the others. Then the disk of one of that majority is set back, and it meets these others alone: what it
    /// has forgotten they never had.
    ///
    /// # Errors
    /// What does not hold meanwhile.
    pub(super) fn try_image(&mut self) -> Result<(), Violation> {
        if !self.images.are_taken || !self.images.random.chance(TRIED) {
            return Ok(());
        }
        if self.images.random.chance(OF_START_BEFORE) {
            self.images.taken = None;
            self.take_image();
            let Some(at) = self.images.taken.as_ref().map(|image| image.at) else { return Ok(()) };
            self.end_by(at, false);
            self.start(at)?;
            self.pass_ms(HELLO_MS)?;
            // It may have led.
            self.pass_until(LED_WITHIN, |cluster| cluster.leading().is_some())?;
        }
        let Some(Image { at, disk }) = self.images.taken.take() else { return Ok(()) };
        let (Some((leader, _)), Some(members)) = (self.leading(), self.members()) else { return Ok(()) };
        let id = self.replicas[at].id;
        if !members.voters.contains(&id) || !self.may_be_set_back(at, &disk) {
            return Ok(());
        }
        let others = members.voters.iter().filter(|other| **other != leader && **other != id);
        let first = [leader, id].into_iter().collect::<BTreeSet<_>>();
        let more = (members.voters.len() / 2 + 1).saturating_sub(first.len());
        let majority: BTreeSet<ReplicaId> = first.into_iter().chain(others.copied().take(more)).collect();
        self.trace.note(format_args!("  replicas {majority:?} go on without the others"));
        self.cut_off(&majority);
        self.pass_ms(GO_ON_MS)?;
        self.set_back(at, &disk)?;
        self.network.mend();
        self.cut_off(&majority.into_iter().filter(|other| *other != id).collect());
        self.pass_ms(ELECT_MS)?;
        self.network.mend();
        self.look_at_refused()
    }

    /// These have no links to others.
    fn cut_off(&mut self, these: &BTreeSet<ReplicaId>) {
        for other in self.replicas.iter().map(|replica| replica.id).filter(|id| !these.contains(id)) {
            for id in these {
                self.network.cut(*id, other);
                self.network.cut(other, *id);
            }
        }
    }

    /// An image is as what a machine has that stops at that moment: what was not synced may be there.
    fn take_image(&mut self) {
        let at = self.images.random.below(self.replicas.len() as u64) as usize;
        let replica = &self.replicas[at];
        if replica.node.is_none() || replica.damage != Damage::None {
            return;
        }
        let disk = replica.disk.copy();
        match self.images.random.chance(500) {
            true => disk.lose_power_keeping(self.plan.sectors_kept()),
            false => disk.kill(),
        }
        disk.set_faults(Faults::default());
        let id = replica.id;
        self.trace.note(format_args!("  an image of the disk of replica {id} is taken"));
        self.images.taken = Some(Image { at, disk });
    }

    /// Is the replica one that the others can do without, and does every other one know that its disk went further?
    fn may_be_set_back(&self, at: usize, image: &SimDisk) -> bool {
        let Some(members) = self.members() else { return false };
        let id = self.replicas[at].id;
        let is_spare = members.voters.len() >= 3 && members.has(id) && self.is_quiet(&members);
        if !is_spare || self.replicas[at].damage != Damage::None {
            return false;
        }
        let Some((boots, extent)) = self.start_of(at, image) else { return false };
        let knows = |other: &Replica| {
            let seen = seen_of(&other.disk, Path::new(DIR), id);
            let is_sure = self.network.with_guards(|guards, _| !guards.is_unsure(other.id));
            is_sure == Some(true) && seen.is_some_and(|(seen, went)| boots <= seen || extent < went)
        };
        self.replicas.iter().filter(|other| other.id != id && other.has_started).all(knows)
    }

    /// What a process says of itself that starts from an image: its starts, and how far its disk goes.
    fn start_of(&self, at: usize, image: &SimDisk) -> Option<(u64, Extent)> {
        let boots = starts(image, Path::new(DIR)).ok()?.0 + 1;
        let (Replica { id, versions, clock, .. }, disk, nobody) =
            (&self.replicas[at], image.copy(), Network::new(0));
        let asked = StartOptions {
            reads: self.reads,
            transaction_ms: Some(TRANSACTION_MS),
            settings: self.settings.are_changed.then(Texts::new),
            versions: *versions,
            ..StartOptions::default()
        };
        let [links, updates] =
            [Channel::Consensus, Channel::Updates].map(|channel| nobody.links_of(*id, channel));
        let replication = Replication { id: *id, links, retention: self.retention };
        let node =
            start_replica(Arc::new(disk), Path::new(DIR), self.log, asked, 1, clock, (replication, updates));
        // It may be of a program that is too old for what the log has now.
        Some((boots, node.ok()?.recovered.control?.view().started))
    }

    fn set_back(&mut self, at: usize, image: &SimDisk) -> Result<(), Violation> {
        if self.replicas[at].node.is_some() {
            let loses_power = self.images.random.chance(500);
            self.end_by(at, loses_power);
        }
        let replica = &mut self.replicas[at];
        self.trace.mix(replica.disk.trace());
        (replica.disk, replica.snapshot, replica.away_ns) = (image.copy(), 0, 0);
        let id = replica.id;
        self.trace.note(format_args!("  the disk of replica {id} is set back to an image"));
        self.tally.set_back += 1;
        self.images.old = Some(Old { id, known_by: self.replicas.len() as u64 });
        self.network.with_guards(|guards, _| guards.on_set_back(id));
        self.start(at)
    }

    /// An operator has another one take the place of a replica whose disk was set back, or removes it.
    ///
    /// # Errors
    /// Once that is done: one that knew better had admitted it. What comes of that is looked at before.
    pub(super) fn replace_old(&mut self) -> Result<(), Violation> {
        let Some(Old { id, known_by }) = self.images.old else { return Ok(()) };
        let Some((leader, control)) = self.leading() else { return Ok(()) };
        let view = control.view();
        let now = &view.members;
        if !now.has(id) && !now.is_joint() {
            self.trace.note(format_args!("  replica {id}, whose disk was set back, is no member any more"));
            self.images.old = None;
            let admitted = self.network.with_guards(|guards, _| guards.admitted(id)).unwrap_or_default();
            return match admitted.iter().find(|by| by.0 <= known_by) {
                Some(by) => {
                    let what =
                        format!("replica {by} has admitted {id}, whose disk was set back, and knew better");
                    Err(broken(properties::SET_BACK)(what))
                }
                None => Ok(()),
            };
        }
        let is_replaced = wishes(now).replaces.values().any(|old| *old == id);
        if !self.images.random.chance(OPERATES) || now.is_joint() || is_replaced {
            return Ok(());
        }
        let mut change = Change::of(now);
        if self.replicas.len() < REPLICAS_MAX && self.images.random.chance(700) {
            let new = ReplicaId(self.replicas.len() as u64 + 1);
            let disk = SimDisk::new(self.images.random.number());
            self.replicas.push(Replica::new(new, disk, &mut self.images.random));
            change.learners.insert(new);
            change.facts.insert(new, format!("replica {new}{REPLACES}{id}").into_bytes());
        } else {
            change.voters.remove(&id);
            change.learners.remove(&id);
        }
        self.trace.note(format_args!("  replica {leader} is asked to go on without replica {id}"));
        self.changed_ns = self.now_ns;
        // What is refused is asked for again some time.
        let _ = control.ask(Request::Change(change, view.members_index));
        Ok(())
    }

    /// Only a replica whose disk was set back is refused.
    ///
    /// # Errors
    /// Another one was.
    fn look_at_refused(&mut self) -> Result<(), Violation> {
        let found = self.network.with_guards(|guards, _| (guards.wrong(), guards.refused()));
        let Some((wrong, refused)) = found else { return Ok(()) };
        self.tally.links_refused = refused;
        wrong.map_or(Ok(()), |wrong| Err(broken(properties::SET_BACK)(wrong)))
    }

    /// Is nothing the matter with members, and has not been for a while?
    fn is_quiet(&self, members: &Members) -> bool {
        !members.is_joint()
            && self.now_ns >= self.changed_ns + super::damage::APART_NS
            && self.undone().is_none()
            && !self.has_damage()
    }
}
