//! Recovery: the last snapshot, then what the log says after it.

use super::dir::Data;
use super::entries::Tail;
use super::error::DataError;
use super::pass::{Maker, Pass, too_many};
use super::replay::Replay;
use super::rules_epochs::Decided;
use super::snapshot::{self, SnapshotStore};
use super::{Rules, SettingsFile, added, backup, settings};
use crate::commit::{Committer, Limits, LogEnd, Queue};
use consensus::Control;
use dsa::Dsa;
use dsa::chain::Differs;
use dsa::settings::Record;
use env::entropy::Entropy;
use schema::{ADDED_FILE, Schema, SchemaFile};
use std::io;
use std::sync::Arc;
use wal::snapshot::Snapshots;
use wal::{Cut, Index, LocalLog, Opened};

/// How far a recovery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bytes of the snapshot that were read, and all of them.
    Snapshot(u64, u64),
    /// Records of the log that were applied again.
    Log(u64),
}

/// A directory as it was.
pub struct Recovered {
    /// The directory. Its updates go to the committer.
    pub dsa: Arc<Dsa>,
    /// The one who writes it.
    pub committer: Committer,
    /// Its snapshots.
    pub snapshots: SnapshotStore,
    /// Records that were applied again.
    pub records: u64,
    /// The torn tail, if the last end was not a clean one and no pass before the last has cut it. It was reported.
    pub cut: Option<Cut>,
    /// What others see of a replica and ask of it, if the log has others.
    pub control: Option<Control>,
    /// Where the outcome is another than was answered, and was accepted: a snapshot holds what the log makes now.
    pub differences: Vec<Differs>,
}

/// What a directory is served with.
pub struct Wanted<'w> {
    /// Of the agent and its store.
    pub config: dsa::Config,
    /// The schema.
    pub schema: Arc<Schema>,
    /// Of the log.
    pub log: wal::Settings,
    /// Of the committer.
    pub limits: Limits,
    /// For the log.
    pub entropy: &'w mut dyn Entropy,
    /// Start also where a replay comes to another outcome than was answered.
    pub accept_difference: bool,
    /// What the start makes of the recorded settings; `None` leaves them as they are.
    pub settings: Option<Settled>,
}

/// What a start makes of the settings of the directory.
#[derive(Debug)]
pub struct Settled {
    /// Where the start found what was recorded.
    pub file: SettingsFile,
    /// What is recorded from now on.
    pub record: Record,
}

impl Data {
    /// Makes the directory that snapshot and log describe. All updates of its sessions go through the log from then on.
    ///
    /// # Errors
    /// See [`DataError`]; nothing is changed on the disk then but names of unfinished files, and the file `settings` where it is not what
    /// the log says ([`DataError::Settings`]). Where there are other rules, what was
    /// decided by them and is as it was answered may be in a snapshot by then, and the torn tail of the log be cut.
    pub fn recover(
        &self,
        wanted: Wanted<'_>,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Recovered, DataError> {
        let Wanted { mut config, schema, log, limits, entropy, accept_difference, settings } = wanted;
        let schema_time = self.schema_time(&schema, config.started_ms)?;
        config.schema_since_ms = schema_time.since_ms;
        if backup::Generation::read(&*self.disk, self.dir())?.is_some() {
            return Err(self.is_backup());
        }
        let mut rules =
            Rules::of(&schema, &config.store.suffixes, config.store.schema_check, self.versions.newest);
        let mut rules_text = self.text_of(&rules)?;
        let wall_ms = config.started_ms;
        let mut snapshots = SnapshotStore::new(self.snapshots()?);
        let log_dir = self.log_dir();
        let made = self.rules()?;
        if made.is_some() {
            // The log was begun before the rules were written.
            wal::must_be_there(&*self.disk, &log_dir)?;
        }
        // What files tell of what was added to the schema.
        let known = made.as_ref().map(|made| self.added(made)).transpose()?.flatten();
        let known = known.map(|file| file.text).unwrap_or_default();
        let mut wanted = Maker { rules: rules.clone(), schema, config };
        let mut generation = wanted.schema.generation();
        let mut accepted = Accepted { accepts: accept_difference, differences: Vec::new(), records: 0 };
        let (mut is_settled, mut is_read, mut found_ms) = (false, false, None);
        let (Pass { dsa, mut replay }, Opened { writer, cut, .. }) = loop {
            let base = self.base_alone(snapshots.snapshots(), made.as_ref())?;
            let others = match self.rules_before(&base, &rules).filter(|_| !is_read) {
                Some(before) => before,
                None => {
                    if wanted.schema.generation() != generation {
                        // A pass that has ended early has added definitions to it.
                        wanted.schema = self.schema_of(&rules, &wanted.schema)?;
                        generation = wanted.schema.generation();
                    }
                    let mut pass =
                        self.begin_pass(&base, snapshots.snapshots(), wanted.clone(), on_progress)?;
                    accepted.begin(&mut pass.replay);
                    let disk = Arc::clone(&self.disk);
                    let opened = wal::open(disk, &log_dir, log, entropy, base.from, &mut |record| {
                        pass.replay.apply(record, on_progress)
                    });
                    match (opened, pass.next_rules(self, &rules)?) {
                        (Ok(opened), _) => break (pass, opened),
                        (Err(error), None) => return Err(pass.replay.reason(error.into(), &self.dir)),
                        (Err(_), Some(others)) => {
                            accepted.end(&mut pass.replay);
                            if pass.replay.stopped == Some(Decided::Otherwise) {
                                self.settle(&mut is_settled, log, entropy, base.from)?;
                                pass.keep(&mut snapshots)?;
                            }
                            // There is never more than one directory in memory: this one goes here.
                            others
                        }
                    }
                }
            };
            let maker = self.maker(&others, &wanted.schema, wanted.config.store.memory_bytes_max)?;
            let by_others = self.replay_by(maker, made.as_ref(), &snapshots, &mut accepted, on_progress)?;
            if by_others.replay.records > 0 {
                self.settle(&mut is_settled, log, entropy, base.from)?;
                by_others.keep(&mut snapshots)?;
            }
            is_read = by_others.replay.stopped.is_none();
            let reached = by_others.replay.epochs.rules();
            if let Some(text) = added::served(&added::text(reached), &known, is_read) {
                wanted.schema = self.schema_now(reached, text, (&rules, &wanted.schema))?;
                found_ms = Some(by_others.replay.time_ms);
                rules = rules.with_schema(&wanted.schema);
                rules_text = self.text_of(&rules)?;
                wanted.rules = rules.clone();
                generation = wanted.schema.generation();
            }
        };
        cut.iter().for_each(tell_cut);
        accepted.end(&mut replay);
        let Replay { applier, epochs, time_ms, settings: found, extended_ms, .. } = replay;
        // What was added since, which no file has.
        let rules = match extended_ms.map(|_| rules.with_schema(dsa.shard().schema())) {
            Some(extended) => {
                // It must have room in the file.
                self.text_of(&extended)?;
                extended
            }
            None => rules,
        };
        // Before settings are copied that may name it.
        found_ms = extended_ms.or(found_ms);
        found_ms.map_or(Ok(()), |since_ms| self.added_file().write(dsa.shard().schema(), since_ms))?;
        let found = found.as_deref().map(|text| self.settings_of(text)).transpose()?.zip(found);
        if let (Some(settled), Some((found, _))) = (&settings, &found)
            && settled.file.record() != *found
        {
            settled.file.write(found.clone())?;
            return Err(DataError::Settings);
        }
        applier.forget_operations();
        dsa.shard().writer().find_free_ids();
        // What a prepared write that was given up has left.
        snapshots.snapshots().remove_unnamed(&mut |_, _| ())?;
        if found_ms.is_none() {
            self.keep_schema_time(&schema_time)?;
        }
        make_room(&dsa);
        let queue = Arc::new(Queue::default());
        assert_eq!(
            writer.log().safe().0,
            applier.chain().last().0,
            "the directory holds all that is in the log"
        );
        let mut committer = Committer::new(
            Arc::clone(&dsa),
            applier,
            LogEnd {
                time_ms,
                rules: rules.clone(),
                behaviour: epochs.rules().behaviour(),
                versions: self.versions,
                settings: found.as_ref().map(|(_, text)| Arc::clone(text)),
            },
            Box::new(LocalLog::new(writer)),
            Arc::clone(&queue),
            limits,
        );
        // The command is durable before anything is decided by it, and before the file says that there is one.
        if !epochs.rules().is_recorded_as(&rules) {
            committer.change_rules(wall_ms).map_err(io::Error::other)?;
            rules.changes(epochs.rules()).iter().for_each(|change| tracing::warn!("{change}"));
        }
        // Never what the log has added since: without a snapshot the log begins by the rules of the file.
        if !made.is_some_and(|made| made.is_recorded_as(&wanted.rules) && made.are_whole()) {
            self.write_rules(&rules_text)?;
        }
        committer.copy_additions_to(self.added_file());
        if let Some(Settled { file, record }) = settings {
            if found.is_none_or(|(found, _)| found != record) {
                committer.change_settings(&record, wall_ms).map_err(io::Error::other)?;
            }
            file.write(record)?;
            committer.copy_settings_to(file);
        }
        let Accepted { accepts, differences, records } = accepted;
        assert!(accepts || differences.is_empty(), "a directory that differs is not served unasked");
        if !differences.is_empty() {
            // The next start must not come to the difference again.
            write_snapshot(&mut committer, &mut snapshots)?;
        }
        dsa.journal_to(queue);
        Ok(Recovered { dsa, committer, snapshots, records, cut, control: None, differences })
    }

    /// Why a backup is not served.
    pub(super) fn is_backup(&self) -> DataError {
        let text = "this is a backup, not to be changed; `pando restore` makes a data directory of it";
        DataError::Facts(self.dir.clone(), text.to_owned())
    }

    pub(super) fn settings_of(&self, text: &str) -> Result<Record, DataError> {
        settings::parse(text).map_err(|what| DataError::Facts(self.dir.join("log"), what))
    }

    /// The schema that a start goes by instead of the one that it wanted, of these rules: what was added has this text, for the log came to `reached`.
    ///
    /// # Errors
    /// Where the start names other files: what the next one reads of what was added is what the log has.
    fn schema_now(
        &self,
        reached: &Rules,
        added: String,
        (wanted, like): (&Rules, &Schema),
    ) -> Result<Arc<Schema>, DataError> {
        if !reached.have_files_of(wanted) {
            let files = reached.files().unwrap_or_default();
            added::write(&*self.disk, &self.dir, files)?;
            self.write_rules(&self.text_of(reached)?)?;
            let what = "definitions were added to the schema, changed or removed just before the server ended, and this start has another schema: start again";
            return Err(DataError::Facts(self.log_dir(), what.to_owned()));
        }
        let added = SchemaFile { name: ADDED_FILE.into(), text: added.into() };
        // What the log lacks may not fit what it has.
        reached.schema_with(like, Some(added)).or_else(|_| self.schema_of(reached, like))
    }

    /// Makes the log after record `from` durable, before a snapshot has something of it: a process that was killed, or whose disk
    /// failed, may have left records that were never synced, and that power loss takes from the log alone. A torn tail is cut. Once is enough.
    fn settle(
        &self,
        is_settled: &mut bool,
        log: wal::Settings,
        entropy: &mut dyn Entropy,
        from: Index,
    ) -> Result<(), DataError> {
        if std::mem::replace(is_settled, true) {
            return Ok(());
        }
        let disk = Arc::clone(&self.disk);
        let opened = wal::open(disk, &self.log_dir(), log, entropy, from, &mut |_| Ok(()))?;
        // At once: whatever this start comes to, no later one finds it again.
        opened.cut.iter().for_each(tell_cut);
        Ok(())
    }

    /// Applies what was decided by other rules than those that are wanted, in a directory that is made by them. Nothing is changed
    /// on the disk: the next pass begins with a snapshot of what this returns.
    fn replay_by(
        &self,
        maker: Maker,
        of_file: Option<&Rules>,
        snapshots: &SnapshotStore,
        accepted: &mut Accepted,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Pass, DataError> {
        let base = self.base_alone(snapshots.snapshots(), of_file)?;
        let mut pass = self.begin_pass(&base, snapshots.snapshots(), maker, on_progress)?;
        accepted.begin(&mut pass.replay);
        self.run_pass(&mut pass, base.from, Tail::Committed, on_progress)?;
        accepted.end(&mut pass.replay);
        let records = pass.replay.records;
        tracing::info!(records, "changes were replayed by the rules that were in force when they were made");
        Ok(pass)
    }

    /// The directory as the last snapshot has it; empty without one.
    pub(super) fn restore(
        &self,
        snapshots: &Snapshots,
        config: dsa::Config,
        schema: &Arc<Schema>,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Arc<Dsa>, DataError> {
        let settings = config.store.clone();
        let mut on_bytes = |done, all| on_progress(Stage::Snapshot(done, all));
        match snapshot::restore(&self.snapshot_dir(), snapshots, settings, schema, &mut on_bytes)? {
            Some(shard) => Ok(Dsa::over(shard, config)?),
            None => Ok(Dsa::new(config, Arc::clone(schema))?),
        }
    }
}

/// Makes what a committer has applied the last snapshot; returns the record that it goes up to.
///
/// # Errors
/// When the log failed, there are too many readers, or the disk refuses.
pub(crate) fn write_snapshot(
    committer: &mut Committer,
    snapshots: &mut SnapshotStore,
) -> Result<Index, DataError> {
    let taken = committer.checkpoint().map_err(io::Error::other)?;
    let (point, index) = taken.ok_or_else(too_many)?;
    snapshots.write(point, index)?;
    Ok(index)
}

fn tell_cut(cut: &Cut) {
    let (path, offset) = (cut.path.display(), cut.offset);
    tracing::warn!(%path, offset, "the server was not stopped cleanly; the record that was being written is discarded");
}

/// What all passes came to.
struct Accepted {
    accepts: bool,
    differences: Vec<Differs>,
    records: u64,
}

impl Accepted {
    fn begin(&self, replay: &mut Replay) {
        replay.accepts = self.accepts;
    }

    fn end(&mut self, replay: &mut Replay) {
        assert!(
            self.accepts || replay.differences.len() <= 1,
            "a replay that accepts no difference ends with the first"
        );
        self.differences.append(&mut replay.differences);
        self.records += replay.records;
    }
}

/// A start takes the memory that it needs, and cleans when it has it all. Above the limit it goes on, and says so.
pub(super) fn make_room(dsa: &Dsa) {
    let bytes_max = dsa.shard().memory_bytes_max();
    dsa.shard().measure();
    if dsa.shard().memory().total() > bytes_max && !dsa.shard().writer().make_room(bytes_max) {
        let (bytes, live) = (dsa.shard().memory().total(), dsa.shard().memory().live);
        tracing::warn!(
            bytes,
            live,
            bytes_max,
            "the directory exceeds memory-max: adds are refused until entries are deleted or memory-max is raised"
        );
    }
}
