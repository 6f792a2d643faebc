//! A pass over snapshot and log with a directory that is made by one set of rules. Where others are in force it ends, and the next
//! begins with what it came to: a replay takes as many passes as there are rules by which commands were decided.

use super::dir::Data;
use super::entries::{LogRead, Tail};
use super::error::{DataError, OF_A_CLUSTER};
use super::recover::Stage;
use super::replay::Replay;
use super::rules_epochs::{Decided, RulesEpochs};
use super::snapshot::{self, Held, LogState, Point, SnapshotStore};
use super::{Rules, added};
use crate::faults;
use dsa::{Applier, Dsa};
use env::planted;
use schema::Schema;
use std::io;
use std::sync::Arc;
use store::Reader;
use wal::snapshot::Snapshots;
use wal::{Index, Mark};

/// What a pass begins with.
#[derive(Default)]
pub(super) struct Base {
    /// It holds all up to this record.
    pub(super) from: Index,
    pub(super) state: LogState,
    /// In force there; `None` in a new directory.
    pub(super) rules: Option<Rules>,
    /// The settings there, as text, if log or snapshot have any.
    pub(super) settings: Option<Arc<str>>,
    /// How the log goes on, if it is that of a replica; else empty.
    pub(super) mark: Vec<u8>,
    /// The directory, if it is not that of the snapshot.
    held: Option<Held>,
}

/// By what a directory is made.
#[derive(Clone)]
pub(super) struct Maker {
    /// What decides the outcome of commands.
    pub(super) rules: Rules,
    /// The schema of those.
    pub(super) schema: Arc<Schema>,
    /// The settings of those.
    pub(super) config: dsa::Config,
}

/// A pass.
pub(super) struct Pass {
    pub(super) dsa: Arc<Dsa>,
    pub(super) replay: Replay,
}

impl Data {
    /// What the first pass over a log that has one replica begins with: see [`Data::base`].
    ///
    /// # Errors
    /// As there, and when the log has others.
    pub(super) fn base_alone(
        &self,
        snapshots: &Snapshots,
        of_file: Option<&Rules>,
    ) -> Result<Base, DataError> {
        let base = self.base(snapshots, of_file)?;
        match base.mark.is_empty() {
            true => Ok(base),
            false => Err(DataError::Facts(self.dir.clone(), OF_A_CLUSTER.to_owned())),
        }
    }

    /// What a start begins with: the last snapshot. Snapshots of earlier versions have no rules: those are in the file,
    /// which says `of_file`.
    ///
    /// # Errors
    /// When something of it is damaged.
    pub(super) fn base(&self, snapshots: &Snapshots, of_file: Option<&Rules>) -> Result<Base, DataError> {
        let dir = self.snapshot_dir();
        let Some(manifest) = snapshots.latest() else {
            self.must_reach(of_file)?;
            return Ok(Base { rules: of_file.cloned(), ..Base::default() });
        };
        let parts = snapshot::parts(&dir, &manifest.meta)?;
        let unread = |what| DataError::Facts(dir.join("manifest"), what);
        let rules =
            parts.rules.map(Rules::of_verified).transpose().map_err(unread)?.or_else(|| of_file.cloned());
        self.must_reach(rules.as_ref())?;
        let settings = parts.settings.map(Arc::from);
        let mark = parts.mark.to_vec();
        Ok(Base { from: manifest.index, state: parts.state, rules, settings, mark, held: None })
    }

    /// These rules must not be of a later behaviour than this program knows. One that is too early matters only where something was decided by it.
    fn must_reach(&self, rules: Option<&Rules>) -> Result<(), DataError> {
        match rules.map(Rules::behaviour).filter(|behaviour| *behaviour > self.versions.newest) {
            Some(later) => self.must_know(later),
            None => Ok(()),
        }
    }

    /// The rules that the last snapshot has, if there is one that has some.
    ///
    /// # Errors
    /// When something of it is damaged.
    pub(super) fn rules_of_snapshot(&self) -> Result<Option<Rules>, DataError> {
        Ok(self.base(&self.snapshots()?, None)?.rules)
    }

    /// By what the first pass goes, where that is not what is wanted: by the rules of the snapshot, if what was added to the schema is another text
    /// there. The snapshot has entries of definitions that were removed since, which only the schema of its own rules knows. The log has the
    /// removal behind it, and that it came to pass.
    pub(super) fn rules_before(&self, base: &Base, wanted: &Rules) -> Option<Rules> {
        let rules = base.rules.as_ref().filter(|rules| rules.are_whole())?;
        let is_other = added::text(rules) != added::text(wanted) && !planted::is(faults::RULES_BY_RESTART);
        (is_other && self.must_know(rules.behaviour()).is_ok()).then(|| rules.clone())
    }

    /// Begins a pass with a directory that is made so.
    ///
    /// # Errors
    /// When that cannot be made.
    pub(super) fn begin_pass(
        &self,
        base: &Base,
        snapshots: &Snapshots,
        maker: Maker,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Pass, DataError> {
        let Maker { rules, schema, config } = maker;
        let started_ms = config.started_ms;
        let dsa = match &base.held {
            None => self.restore(snapshots, config, &schema, on_progress)?,
            Some(held) => {
                let does_not_fit = |error| DataError::Restore(self.dir.join("log"), error);
                let shard = held.restore(config.store.clone(), &schema).map_err(does_not_fit)?;
                Dsa::over(shard, config)?
            }
        };
        if let Some(trail) = self.trail.get() {
            dsa.report_changes_to(Arc::clone(trail));
        }
        let mut applier = Applier::new(&dsa).ok_or_else(too_many)?;
        let epochs = RulesEpochs::new(base.rules.clone().unwrap_or_else(|| rules.clone()));
        let base_settings = base.settings.clone();
        applier.behave(epochs.rules().behaviour());
        if let Some(text) =
            base_settings.as_ref().filter(|_| !planted::is(faults::CONSTRAINTS_NOT_IN_SNAPSHOT))
        {
            applier.constrain(&self.settings_of(text)?);
        }
        let replay =
            Replay::new(applier, (base.from, base.state), epochs, (rules, self.versions), base_settings);
        if base.held.is_none() {
            snapshot::load_changes(&self.snapshot_dir(), snapshots, &dsa, started_ms)?;
        }
        Ok(Pass { dsa, replay })
    }

    /// Applies what the log has after record `from`, and changes nothing on the disk: to its end, that of a replica up to `tail`, or to
    /// the first command by other rules.
    ///
    /// # Errors
    /// Damage, or what cannot be applied.
    pub(super) fn run_pass(
        &self,
        pass: &mut Pass,
        from: Index,
        tail: Tail,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<LogRead, DataError> {
        let Pass { replay, .. } = pass;
        let read = self.read_log_to(tail, &mut |record| match record.index > from {
            true => replay.apply(record, on_progress),
            false => Ok(()),
        });
        match read {
            Err(_) if replay.stopped.is_some() => Ok(LogRead::default()),
            read => read.map_err(|error| replay.reason(error, &self.dir)),
        }
    }

    /// The schema of rules that the log has, with the settings of another.
    ///
    /// # Errors
    /// When this program cannot use them.
    pub(super) fn schema_of(&self, rules: &Rules, like: &Schema) -> Result<Arc<Schema>, DataError> {
        let unusable = |what| {
            let what = format!("the rules that changes in it were decided by cannot be used: {what}");
            DataError::Facts(self.dir.join("log"), what)
        };
        rules.schema(like).map_err(unusable)
    }

    /// By what a directory is made to which commands can be applied that were decided by these rules. Nobody can bind to it,
    /// and it has no indexes.
    ///
    /// # Errors
    /// When this program cannot apply them.
    pub(super) fn maker(
        &self,
        rules: &Rules,
        like: &Schema,
        memory_bytes_max: u64,
    ) -> Result<Maker, DataError> {
        self.must_know(rules.behaviour())?;
        let schema = self.schema_of(rules, like)?;
        Ok(Maker { rules: rules.clone(), schema, config: self.agent(rules, memory_bytes_max, &[])? })
    }
}

impl Pass {
    /// What it came to, and the record up to which it did. The rules are those that are in force there.
    ///
    /// # Errors
    /// When there are too many readers.
    pub(super) fn point(&self) -> Result<(Point, Index), DataError> {
        let shard = self.dsa.shard();
        let reader = Reader::register(shard).ok_or_else(too_many)?;
        let checkpoint = shard.writer().checkpoint(reader);
        let (index, state) = self.replay.state();
        let rules = self.replay.epochs.rules().text().into();
        let settings = self.replay.settings.clone();
        Ok((
            Point {
                checkpoint,
                state,
                rules,
                settings,
                mark: Mark { bytes: Vec::new(), record: index },
                // A pass by other rules keeps none.
                changes: None,
            },
            index,
        ))
    }

    /// Makes what it came to the last snapshot, with which the next pass begins.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn keep(&self, snapshots: &mut SnapshotStore) -> Result<(), DataError> {
        // What a prepared write that was given up has left.
        snapshots.clear(&mut |_, _| ());
        let (point, index) = self.point()?;
        snapshots.write(point, index)?;
        Ok(())
    }

    /// What the next pass begins with, in memory.
    ///
    /// # Errors
    /// When there are too many readers.
    pub(super) fn held(&self) -> Result<Base, DataError> {
        let rules = Some(self.replay.epochs.rules().clone());
        let (Point { checkpoint, state, settings, .. }, from) = self.point()?;
        Ok(Base { from, state, rules, settings, mark: Vec::new(), held: Some(Held::of(checkpoint)) })
    }

    /// The rules at which it stopped, if it did.
    ///
    /// # Errors
    /// When only a hash of them is known; `rules` are those that were wanted.
    pub(super) fn next_rules(&self, data: &Data, rules: &Rules) -> Result<Option<Rules>, DataError> {
        let epochs = &self.replay.epochs;
        match (self.replay.stopped, epochs.noted()) {
            (None, _) => Ok(None),
            (Some(_), _) if epochs.rules().are_whole() => Ok(Some(epochs.rules().clone())),
            (Some(Decided::Otherwise), Some(noted)) => {
                let what = format!(
                    "its changes were decided by another schema or other settings ({}) than those in the file `rules`: they do \
                     not belong together. Keep a copy of the directory and restore a backup",
                    noted.place()
                );
                Err(DataError::Facts(data.dir.join("log"), what))
            }
            (Some(_), _) => Err(rules.differ(epochs.rules())),
        }
    }
}

/// There is no room for one reader more.
pub(super) fn too_many() -> io::Error {
    io::Error::other("there are too many readers")
}
