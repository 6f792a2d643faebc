//! Recovery: the last snapshot, then what the log says after it.

use super::course::Course;
use super::replay::Replay;
use super::snapshot::{self, Keeper};
use super::{Data, DataError, Rules, backup};
use crate::commit::{Committer, Limits, Queue};
use dsa::chain::Differs;
use dsa::{Applier, Dsa};
use env::entropy::Entropy;
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
    /// Where the outcome is another than was answered, and was accepted: a snapshot holds what the log makes now.
    pub differences: Vec<Differs>,
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
    /// Start also where a replay comes to another outcome than was answered.
    pub accept_difference: bool,
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
        let Wanted { mut config, schema, log, limits, entropy, accept_difference } = wanted;
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
        let state = snapshot::log_state(&self.snapshot_dir(), &snapshots)?;
        let mut replay = Replay::new(applier, (from, state), course, changed);
        if accept_difference {
            replay.accept_differences();
        }
        let log_dir = self.dir.join("log");
        if made.is_some() {
            // The log was begun before the rules were written.
            wal::must_be_there(&*self.disk, &log_dir).map_err(DataError::Log)?;
        }
        let opened = wal::open(Arc::clone(&self.disk), &log_dir, log, entropy, from, &mut |record| {
            replay.apply(record, on_progress)
        });
        let Opened { writer, cut, .. } = opened.map_err(|error| replay.reason(DataError::Log(error)))?;
        let Replay { applier, course, records, time_ms, differences, .. } = replay;
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
            time_ms,
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
        let mut snapshots = Keeper::new(snapshots);
        if !differences.is_empty() {
            // The next start must not come to the difference again.
            let taken = committer.checkpoint().map_err(|failed| io::Error::other(failed.to_string()))?;
            let (point, index) = taken.ok_or_else(too_many)?;
            snapshots.write(point, index)?;
        }
        dsa.journal_to(queue);
        Ok(Recovered { dsa, committer, snapshots, records, cut, differences })
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
