//! What the operator does: backups while the server runs; restores, exports and imports between its incarnations, which the
//! power, a kill or the disk may end at any step.

use super::{DIR, SESSIONS, Violation, World};
use crate::disk::Faults;
use crate::node::Node;
use crate::operator::{self, BACKUPS, TARGET, digest_of, look};
use crate::oracle::Held;
use crate::properties;
use node::data::Recovered;
use node::data::backup::Until;
use std::io;
use std::path::{Path, PathBuf};
use wal::{Index, Mode};

/// Operations of the disk within which a restore or an import is ended, at most; most of them have fewer.
const OPERATIONS: u64 = 80;

fn violation(property: &'static str) -> impl Fn(String) -> Violation {
    move |what| Violation { property, what }
}

impl World {
    /// Takes a backup. While its files are copied the committer goes on, and may replace the snapshot.
    pub(super) fn back_up(&mut self, node: &mut Node) -> Result<(), Violation> {
        let Some(mut operator) = self.operator.take() else { return Ok(()) };
        let held =
            self.oracle.held_now(&self.disk, Path::new(DIR)).map_err(violation("the log can be read"))?;
        let may_fail = self.disk.may_fail();
        let (clock, goes_on) = (self.clock, self.random.below(4));
        let mut on_bytes = |_, _| {
            // Whether it failed is seen by the log.
            // One snapshot at a time.
            let may_replace = goes_on < 1 && node.writing.is_none();
            if goes_on < 2 && node.step(&clock).is_ok() && may_replace {
                let Recovered { committer, snapshots, .. } = &mut node.recovered;
                let taken = committer.checkpoint().ok().flatten();
                // One that fails leaves the one before.
                let _ = taken.map(|(checkpoint, index)| snapshots.write(checkpoint, index));
            }
        };
        let taken = operator.back_up(&self.disk, Path::new(DIR), held, &mut on_bytes);
        self.operator = Some(operator);
        let what = taken.as_ref().map(|taken| taken.generation.last).map_err(ToString::to_string);
        self.trace.note(format_args!("  a backup: {what:?}"));
        self.note_applied(node);
        for session in 0..SESSIONS {
            self.take_answers(node, session)?;
        }
        match taken {
            Ok(taken) => {
                self.tally.backups += 1;
                properties::backup(&taken, held).map_err(violation(properties::BACKUP))
            }
            Err(_) if may_fail || self.disk.is_off() => {
                self.tally.ended += 1;
                Ok(())
            }
            Err(error) => Err(violation(properties::BACKUP)(error.to_string())),
        }
    }

    /// What is done between two incarnations, if anybody does.
    pub(super) fn operate(&mut self, dir: &Path) -> Result<(), Violation> {
        let Some(operator) = self.operator.take() else { return Ok(()) };
        let found = properties::backups(&self.disk, &operator).map_err(violation(properties::BACKUP))?;
        let done = self.operate_on(dir, &operator, &found);
        self.operator = Some(operator);
        done
    }

    fn operate_on(
        &mut self,
        dir: &Path,
        operator: &operator::Operator,
        found: &[PathBuf],
    ) -> Result<(), Violation> {
        if !found.is_empty() && self.random.chance(600) {
            let backup = self.random.one_of(found).clone();
            let held = operator.ever[&backup];
            if self.random.chance(self.plan.starts.flipped_bit) {
                let stopped = properties::flipped_backup(&self.disk, &backup, held, &mut self.random);
                self.tally.stopped += stopped.map_err(violation(properties::FLIPPED_BACKUP))?;
            }
            self.restore(dir, &backup, Until::End, held, false)?;
            self.tally.restores += 1;
        }
        // In other modes what a backup has may be gone from the log, and another history goes on.
        let first = operator.must.first().filter(|_| self.log.mode == Mode::Always);
        let first = first.map(|backup| operator.ever[backup].last);
        if let Some(first) = first.filter(|first| *first <= self.oracle.at() && self.random.chance(400)) {
            let point = first + self.random.below(self.oracle.at() - first + 1);
            let held = self.oracle.held_at(point);
            // A clock that is set goes back; and the point is where the time passes.
            let ms = self.oracle.ms_between(point).filter(|_| self.plan.clock.set == 0);
            let until =
                ms.filter(|_| self.random.chance(500)).map_or(Until::Sequence(Index(point)), Until::Time);
            // None leads through an import.
            let import = self.oracle.last_import(point);
            let leads = operator.must.iter().map(|backup| operator.ever[backup].last);
            let leads = leads.filter(|last| (import..=point).contains(last)).count() > 0;
            self.restore(dir, Path::new(BACKUPS), until, held, !leads)?;
            self.tally.points += 1;
        }
        if self.random.chance(200) {
            self.import(dir)?;
            self.tally.imports += 1;
        }
        if self.log.mode == Mode::Always && self.oracle.at() > 0 && self.random.chance(150) {
            self.import_here(dir)?;
            self.tally.imports += 1;
        }
        Ok(())
    }

    /// Restores; what comes of it is whole, or is not there, and whatever it is made of stays what it is.
    /// `may_lack` says that there may be no backup after an import on the way.
    fn restore(
        &mut self,
        dir: &Path,
        from: &Path,
        until: Until,
        held: Held,
        may_lack: bool,
    ) -> Result<(), Violation> {
        let before = [dir, Path::new(BACKUPS)].map(|dir| self.disk.tree(dir));
        let is_disturbed = self.disturb();
        let restored = operator::restored(&self.disk, from, dir, until, self.random.number());
        let restored = restored.map(|restored| restored.last.0).map_err(|error| error.to_string());
        self.trace.note(format_args!("  restoring {until:?} of {}: {restored:?}", from.display()));
        let is_power_lost = self.settle();
        let property = match until {
            Until::End => properties::RESTORED,
            _ => properties::POINT,
        };
        let found = digest_of(&self.disk, Path::new(TARGET)).map_err(violation(property))?;
        match (&restored, found) {
            (Err(what), None) if may_lack && what.contains("an import bypassed the log") => return Ok(()),
            (Err(what), _) if !is_disturbed => return Err(violation(property)(what.clone())),
            (Err(_), _) => self.tally.ended += 1,
            (Ok(_), None) => return Err(violation(property)("it was reported and is not there".to_owned())),
            (Ok(_), Some(_)) => {}
        }
        if found.is_some_and(|found| found != held.digest) || restored.is_ok_and(|last| last != held.last) {
            return Err(violation(property)(format!("it is not what record {} made", held.last)));
        }
        let after = [dir, Path::new(BACKUPS)].map(|dir| self.disk.tree(dir));
        if !is_power_lost {
            let compared = before.iter().zip(&after).try_for_each(|(b, a)| properties::unchanged(b, a));
            compared.map_err(violation(properties::SOURCE))?;
        }
        self.disk.discard(Path::new(TARGET));
        Ok(())
    }

    /// Exports the directory and imports that elsewhere, a part of it first: all of an import is there, or nothing.
    fn import(&mut self, dir: &Path) -> Result<(), Violation> {
        let wrong = violation(properties::IMPORTED);
        let text = self.oracle.export();
        let records: Vec<&str> = text.split_inclusive("\n\n").collect();
        let first = self.random.below(records.len() as u64 + 1) as usize;
        let (first, rest) = (records[..first].concat(), records[first..].concat());
        let before = self.disk.tree(dir);
        let target = Path::new(TARGET);
        operator::import(&self.disk, target, self.log, &first, self.random.number()).map_err(&wrong)?;
        let is_disturbed = self.disturb();
        let done = operator::import(&self.disk, target, self.log, &rest, self.random.number());
        self.trace.note(format_args!("  an import of {} records: {done:?}", records.len()));
        let is_power_lost = self.settle();
        let view = look(&self.disk, target).map_err(&wrong)?;
        let found = view.map_or(String::new(), |view| operator::ldif(&view.dsa));
        match done {
            Ok(()) if found != text => return Err(wrong(format!("of\n{text}\ncame\n{found}"))),
            Ok(()) => {}
            Err(what) if !is_disturbed => return Err(wrong(what)),
            Err(_) if found != text && found != first => {
                return Err(wrong(format!("half of it is there:\n{found}")));
            }
            Err(_) => self.tally.ended += 1,
        }
        if !is_power_lost {
            let compared = properties::unchanged(&before, &self.disk.tree(dir));
            compared.map_err(violation(properties::SOURCE))?;
        }
        self.disk.discard(target);
        Ok(())
    }

    /// Imports into the directory itself.
    fn import_here(&mut self, dir: &Path) -> Result<(), Violation> {
        let wrong = violation(properties::IMPORTED);
        let number = self.tally.imports;
        let text = format!("dn: cn=imported {number},dc=x\nobjectClass: device\ncn: imported {number}\n\n");
        self.oracle.follow(&self.disk, dir, u64::MAX).map_err(violation("the log can be read"))?;
        let done = operator::import(&self.disk, dir, self.log, &text, self.random.number());
        self.trace.note(format_args!("  an import into the directory: {done:?}"));
        self.disk.kill();
        done.map_err(wrong)?;
        self.oracle.import(&text);
        (self.applied, self.promised) =
            (self.applied.max(self.oracle.at()), self.promised.max(self.oracle.at()));
        Ok(())
    }

    /// Sometimes something goes wrong with what comes next.
    fn disturb(&mut self) -> bool {
        let at = self.disk.operations() + 1 + self.random.below(OPERATIONS);
        let faults = match self.random.below(10) {
            0..=2 => Faults { power_at: Some(at), ..Faults::default() },
            3 => Faults { fail_at: Some((at, io::ErrorKind::Other)), ..Faults::default() },
            4 => Faults { fail_at: Some((at, io::ErrorKind::StorageFull)), ..Faults::default() },
            _ => return false,
        };
        self.trace.note(format_args!("  {faults:?}"));
        self.disk.set_faults(faults);
        true
    }

    /// The power comes back, or another process begins. True if something unsynced was lost.
    fn settle(&mut self) -> bool {
        // A kill has left things unsynced that a mode without syncs promises to keep.
        // Also when all went well: what was reported outlives it.
        let chance = if self.disk.is_off() { 700 } else { 300 };
        let loses = self.log.mode == Mode::Always && self.random.chance(chance);
        match loses {
            true => self.disk.lose_power_keeping(self.plan.sectors_kept()),
            false => self.disk.kill(),
        }
        self.disk.set_faults(Faults::default());
        loses
    }
}
