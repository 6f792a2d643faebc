//! Recovery: the last snapshot, then what the log says after it.

use super::course::Course;
use super::snapshot::{self, Keeper};
use super::{Data, DataError, Rules, backup};
use crate::commit::{Committer, Limits, Queue};
use dsa::journal::Command;
use dsa::{Applier, Dsa};
use env::entropy::Entropy;
use env::planted::{self, Fault};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use store::Settings;
use wal::snapshot::Snapshots;
use wal::{Cut, Index, LocalLog, Opened};

/// How far a recovery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bytes of the snapshot that were read, and all of them.
    Snapshot(u64, u64),
    /// Records of the log that were carried out again.
    Log(u64),
}

/// A directory as it was.
pub struct Recovered {
    /// The directory. Its updates go to the committer.
    pub dsa: Arc<Dsa>,
    /// The one who writes it.
    pub committer: Committer,
    /// Its snapshots.
    pub snapshots: Keeper,
    /// Records that were carried out again.
    pub records: u64,
    /// The torn tail, if the last end was not a clean one.
    pub cut: Option<Cut>,
}

/// What a directory is served with.
pub struct Wanted<'w> {
    /// Of the agent and its store. `memory_bytes_max` of the store is that of the committer: the one cleans to keep it, the other
    /// refuses.
    pub config: dsa::Config,
    /// The schema.
    pub schema: Arc<schema::Schema>,
    /// Of the log.
    pub log: wal::Settings,
    /// Of the committer.
    pub limits: Limits,
    /// For the log.
    pub entropy: &'w mut dyn Entropy,
}

impl Data {
    /// Makes the directory that snapshot and log describe. All updates of its sessions go through the log from then on.
    ///
    /// # Errors
    /// See [`DataError`]; nothing is changed on the disk then but names of unfinished files.
    pub fn recover(
        &self,
        wanted: Wanted<'_>,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Recovered, DataError> {
        let Wanted { mut config, schema, log, limits, entropy } = wanted;
        let schema_time = self.schema_time(&schema, config.started_ms)?;
        config.schema_since_ms = schema_time.since_ms;
        if backup::Generation::read(&*self.disk, self.dir())?.is_some() {
            let text = "this is a backup, not to be changed; `pando restore` makes a data directory of it";
            return Err(DataError::Facts(self.dir.clone(), text.to_owned()));
        }
        let rules = Rules::of(&schema, &config.store.suffixes, config.store.schema_check);
        let (made, wall_ms) = (self.rules()?, config.started_ms);
        let snapshots = Snapshots::open(Arc::clone(&self.disk), &self.snapshot_dir())?;
        let dsa = self.restore(&snapshots, config, &schema, on_progress)?;
        let from = snapshots.latest().map_or(Index(0), |manifest| manifest.index);
        let changed = made.as_ref().and_then(|made| rules.differs(made));
        let too_many = || io::Error::other("there are too many readers");
        let applier = Applier::new(&dsa).ok_or_else(too_many)?;
        let course = Course::new(made.clone().unwrap_or_else(|| rules.clone()));
        let mut replay = Replay::new(applier, course, changed);
        let opened =
            wal::open(Arc::clone(&self.disk), &self.dir.join("log"), log, entropy, from, &mut |record| {
                replay.carry_out(record, on_progress)
            });
        let Opened { writer, cut, .. } = opened.map_err(|error| replay.refusal(DataError::Log(error)))?;
        let Replay { applier, course, records, .. } = replay;
        applier.forget_operations();
        dsa.shard().writer().find_free_ids();
        // What a draft that was given up has left.
        snapshots.remove_unnamed(&mut |_, _| ())?;
        self.keep_schema_time(&schema_time)?;
        make_room(&dsa, limits.memory_bytes_max);
        let queue = Arc::new(Queue::default());
        let mut committer = Committer::new(
            Arc::clone(&dsa),
            applier,
            Box::new(LocalLog::new(writer)),
            Arc::clone(&queue),
            limits,
        );
        // The note is durable before anything is decided by it, and before the file says that there is one.
        if course.last() != &rules {
            let noted = committer.note(wal::Kind::Rules, &rules.note(wall_ms));
            noted.map_err(|failed| io::Error::other(failed.to_string()))?;
        }
        if made.as_ref() != Some(&rules) {
            self.write_rules(&rules)?;
        }
        dsa.journal_to(queue);
        Ok(Recovered { dsa, committer, snapshots: Keeper::new(snapshots), records, cut })
    }

    pub(super) fn snapshot_dir(&self) -> PathBuf {
        self.dir.join("snapshot")
    }

    /// The directory as the last snapshot has it; empty without one.
    pub(super) fn restore(
        &self,
        snapshots: &Snapshots,
        config: dsa::Config,
        schema: &Arc<schema::Schema>,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Arc<Dsa>, DataError> {
        let settings: Settings = config.store.clone();
        let mut on_bytes = |done, all| on_progress(Stage::Snapshot(done, all));
        match snapshot::restore(&self.snapshot_dir(), snapshots, settings, schema, &mut on_bytes)? {
            Some(shard) => Ok(Dsa::over(shard, config)?),
            None => Ok(Dsa::new(config, Arc::clone(schema))?),
        }
    }
}

/// A start takes the memory that it needs, and cleans when it has it all. Above the limit it goes on, and says so.
fn make_room(dsa: &Dsa, bytes_max: u64) {
    dsa.shard().measure();
    if dsa.shard().memory().total() > bytes_max && !dsa.shard().writer().make_room(bytes_max) {
        let (bytes, live) = (dsa.shard().memory().total(), dsa.shard().memory().live);
        tracing::warn!(
            bytes,
            live,
            bytes_max,
            "the directory takes more memory than it may have: adds are refused until something is deleted or memory-max is \
             larger"
        );
    }
}

/// Carries records out again.
pub(super) struct Replay {
    applier: Applier,
    answers: Vec<u8>,
    course: Course,
    records: u64,
    /// Why nothing may be carried out.
    refusal: Option<DataError>,
    /// Something was not carried out for that.
    refused: bool,
}

impl Replay {
    /// With a refusal no record is carried out.
    pub(super) fn new(applier: Applier, course: Course, refusal: Option<DataError>) -> Replay {
        Replay { applier, answers: Vec::new(), course, records: 0, refusal, refused: false }
    }

    /// Why the records were not carried out, if that was for a refusal; else the error.
    pub(super) fn refusal(&mut self, error: DataError) -> DataError {
        self.refusal.take().filter(|_| self.refused).unwrap_or(error)
    }

    pub(super) fn carry_out(
        &mut self,
        record: wal::Record<'_>,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<(), String> {
        self.records += 1;
        if record.kind == wal::Kind::Rules {
            // Alone it decides nothing: a start that was stopped before it was through has left it.
            return self.course.note(&record).map(|_| ());
        }
        self.course.command().map_err(|noted| {
            format!(
                "it was decided by another schema or other settings ({}) than those in the file `rules`: they do not belong \
                 together. Keep a copy of the directory and restore a backup",
                noted.place()
            )
        })?;
        if let Some(refusal) = &self.refusal {
            self.refused = true;
            return Err(refusal.to_string());
        }
        match record.kind {
            wal::Kind::Commands => {
                self.answers.clear();
                let mut command = Command::decode(record.payload)?;
                if planted::is(Fault::IdsChosenAgain) {
                    command.ids = Cow::Borrowed(&[]);
                }
                let applied = planted::replay(|| self.applier.apply(&command, &mut self.answers));
                applied.map_err(|error| error.to_string())?;
                on_progress(Stage::Log(self.records));
                Ok(())
            }
            // Of an import that did not come to its snapshot nothing became.
            wal::Kind::Checkpoint | wal::Kind::Import | wal::Kind::Rules => Ok(()),
            wal::Kind::Ingest => Err("this version knows no ingested files".to_owned()),
        }
    }
}
