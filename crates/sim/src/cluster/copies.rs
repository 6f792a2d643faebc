//! What becomes of a copy of a replica's disk: backups of it, what is restored of them, and a group of one that goes on alone. All of it happens
//! on the copy, with chances of its own, so a world is the same with it and without it.

use super::{Cluster, DIR, broken};
use crate::disk::{Faults, SimDisk};
use crate::node::{NEXT, digest, schema_in};
use crate::operator::{BACKUPS, MEMORY_BYTES_MAX, TARGET, look};
use crate::properties;
use crate::world::Violation;
use consensus::{Members, ReplicaId};
use env::disk::Disk;
use env::entropy::SeededEntropy;
use node::data::Data;
use node::data::backup::{Until, restore, take};
use std::path::Path;
use std::sync::Arc;

/// When backups are taken.
const NOW_MS: u64 = 1_700_000_000_000;
/// Steps that change something on the disk in one recovery, at most, of those at which the power fails.
const STEPS: u64 = 60;

impl Cluster {
    /// A backup of a replica whose process has ended, or that says that `applied` is the last entry that it has applied, is restored to the state
    /// at some entry that is committed.
    pub(super) fn back_up(&mut self, at: usize, applied: u64) -> Result<(), Violation> {
        let replica = &self.replicas[at];
        let disk = replica.disk.copy();
        disk.kill();
        disk.set_faults(Faults::default());
        let what = |what: String| format!("replica {}: {what}", replica.id);
        let view = look(&disk, Path::new(DIR)).map_err(what).map_err(broken(properties::BACKUP))?;
        // A server that joins has a snapshot before its first start is over.
        let Some(view) = view else { return Ok(()) };
        let last = restored(&disk, applied).map_err(what).and_then(|(last, found)| {
            let fault = match self.digests.get(&last) {
                _ if last < applied => "it lacks what was applied before",
                Some(model) if *model != found => "it is not what the entries make",
                Some(_) => return Ok((last, found)),
                // A leader may know of a commit by others before its own disk has the entry: then nobody has applied that yet.
                None if applied == 0 => return Ok((last, found)),
                None => "it has what is not committed",
            };
            Err(what(format!("{fault}, up to entry {last}")))
        });
        let (last, found) = last.map_err(broken(properties::BACKUP))?;
        // The directory itself is read to the same entry.
        if applied == 0 && digest(&view.dsa) != found {
            let text = what("it is read otherwise than its backup".to_owned());
            return Err(broken(properties::BACKUP)(text));
        }
        let other = match self.digests.contains_key(&last) {
            true => None,
            false => self.of_backups.insert(last, found).filter(|other| *other != found),
        };
        if other.is_some() {
            let text = what(format!("it is not what an earlier one was, up to entry {last}"));
            return Err(broken(properties::BACKUP)(text));
        }
        self.tally.backups += 1;
        Ok(())
    }

    /// In a calm all that is committed is applied, and so is what backups have.
    pub(super) fn look_at_backups(&self) -> Result<(), Violation> {
        let ahead = self
            .of_backups
            .keys()
            .next()
            .map(|last| format!("no replica has applied entry {last} of a backup"));
        ahead.map_or(Ok(()), |what| Err(broken(properties::BACKUP)(what)))
    }

    /// A replica whose process has ended becomes the first of another group. The power may fail meanwhile: then it is what it was, or that.
    pub(super) fn begin_anew(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &self.replicas[at];
        let disk = replica.disk.copy();
        disk.set_faults(Faults::default());
        let fault = |what: String| broken(properties::ANEW)(format!("replica {}: {what}", replica.id));
        let Some(before) = look(&disk, Path::new(DIR)).map_err(fault)? else { return Ok(()) };
        let before = digest(&before.dsa);
        let power_at = self.copies.chance(700).then(|| disk.operations() + 1 + self.copies.below(STEPS));
        disk.set_faults(Faults { power_at, ..Faults::default() });
        let begun = begin_anew(&disk, self.log, self.copies.number());
        let has_failed = disk.is_off();
        if has_failed {
            disk.lose_power_keeping(self.plan.sectors_kept());
        } else {
            disk.kill();
        }
        disk.set_faults(Faults::default());
        let members = members(&disk).map_err(fault)?;
        let found = look(&disk, Path::new(DIR)).map_err(fault)?.map(|view| digest(&view.dsa));
        let is_anew = members.as_ref() == Some(&alone());
        // A leader may know of a commit by others before its own disk has the entry: then nobody has applied that yet.
        let is_known = |found| Some(before) == found || self.digests.values().any(|one| Some(*one) == found);
        match begun {
            Ok(whole) if !is_anew || found != Some(whole) => {
                return Err(fault(format!("it has {members:?} afterwards, or not all of its log")));
            }
            Err(error) if !has_failed => return Err(fault(error)),
            Err(_) if !is_anew && !is_known(found) => {
                return Err(fault("it is neither what it was nor another group".to_owned()));
            }
            _ => {}
        }
        self.tally.anew += u64::from(is_anew);
        Ok(())
    }
}

/// Takes a backup and restores it; the last entry, and the digest of what there is.
fn restored(disk: &SimDisk, applied: u64) -> Result<(u64, u128), String> {
    let (backups, target) = (Path::new(BACKUPS), Path::new(TARGET));
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let taken = take(&shared, Path::new(DIR), backups, None, NOW_MS, applied, &mut |_, _| ());
    let taken = taken.map_err(|error| error.to_string())?;
    let mut entropy = SeededEntropy::new(NOW_MS);
    let restored = restore(&shared, backups, &[], Until::End, target, &mut entropy, &mut |_, _| ());
    let restored = restored.map_err(|error| error.to_string())?;
    let last = restored.last.0;
    if last != taken.generation.committed {
        return Err(format!("entry {last} is the last, and the backup says {}", taken.generation.committed));
    }
    let view = look(disk, target)?.ok_or("nothing was restored")?;
    Ok((last, digest(&view.dsa)))
}

/// As `pando cluster recover` does; the digest of what it holds, with all of its log.
fn begin_anew(disk: &SimDisk, log: wal::Settings, seed: u64) -> Result<u128, String> {
    let text = |error: node::data::DataError| error.to_string();
    let (shared, mut entropy) = (Arc::new(disk.clone()), SeededEntropy::new(seed));
    let data = Data::open_replica(shared, Path::new(DIR), log, &mut entropy).map_err(text)?.knowing(NEXT);
    let remains =
        data.remains(&schema_in(&data).map_err(text)?, MEMORY_BYTES_MAX, log, &mut entropy, &mut |_| ());
    let remains = remains.map_err(text)?;
    data.begin_anew(&remains, alone()).map_err(text)?;
    Ok(digest(remains.dsa()))
}

fn members(disk: &SimDisk) -> Result<Option<Members>, String> {
    let data = Data::existing(Arc::new(disk.clone()), Path::new(DIR)).map_err(|error| error.to_string())?;
    data.members().map_err(|error| error.to_string())
}

/// The members of the other group.
fn alone() -> Members {
    let mut members = Members::of_voters([ReplicaId(1)]);
    members.facts.insert(ReplicaId(1), b"another".to_vec());
    members
}
