//! Looks through a data directory that nobody serves: every byte that has a checksum, every command of the log, and all
//! that the directory they make must hold to. Changes nothing.

use super::backup::Generation;
use super::dir::Data;
use super::entries::{self, LogRead, Tail};
use super::error::DataError;
use super::pass::{Maker, Pass};
use super::recover::Stage;
use super::rules_epochs::Decided;
use super::{Rules, added};
use consensus::SnapshotMark;
use dsa::Dsa;
use env::disk::Disk;
use schema::Schema;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use store::IndexSettings;
use wal::snapshot::{Manifest, Snapshots};
use wal::{Index, Visitor};

/// What there is.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Entries that snapshot and log make.
    pub entries: u64,
    /// Last record in the last snapshot; `None` without one.
    pub snapshot: Option<Index>,
    /// Bytes of the snapshot's files.
    pub snapshot_bytes: u64,
    /// The log.
    pub log: LogRead,
    /// What does not hold, in words: entries that no index leads to, wrong counts and the like. Empty if all is well.
    pub findings: Vec<String>,
}

/// A directory as snapshot and log have it, in memory. What becomes of it there does not reach the disk.
pub struct View {
    /// The directory.
    pub dsa: Arc<Dsa>,
    /// Last record in the last snapshot; `None` without one.
    pub snapshot: Option<Index>,
    /// Bytes of the snapshot's files.
    pub snapshot_bytes: u64,
    /// The log.
    pub log: LogRead,
}

impl Data {
    /// Takes a directory that is there.
    ///
    /// # Errors
    /// See [`DataError`]; among them that there is none.
    pub fn existing(disk: Arc<dyn Disk>, dir: &Path) -> Result<Data, DataError> {
        if !disk.list(dir)?.iter().any(|name| name == super::superblock::NAME) {
            return Err(DataError::Facts(dir.to_owned(), "this is not a data directory of Pando".to_owned()));
        }
        Data::open(disk, dir)
    }

    /// Reads and checks everything, with the indexes that were made and those `configured`, as a start makes them.
    /// `memory_bytes_max` is what the directory may take meanwhile; `findings_max` bounds what is reported. `with_constraints`: whether entries that violate constraints in force are, too.
    ///
    /// # Errors
    /// Damage, or what cannot be read: the first. Also a schema that lacks what entries are made of.
    pub fn examine(
        &self,
        schema: Arc<Schema>,
        configured: Vec<IndexSettings>,
        memory_bytes_max: u64,
        findings_max: usize,
        with_constraints: bool,
    ) -> Result<Examined, DataError> {
        self.snapshots()?.verify()?;
        let mut indexes = configured;
        let lost = self.indexes()?.add_to(&mut indexes, &schema);
        let Some(view) = self.view_with(&schema, memory_bytes_max, &indexes, &mut |_| ())? else {
            // Its first start did not come to its end.
            let log = self.read_log(&mut |_| Ok(()))?;
            let nothing = Examined { entries: 0, snapshot: None, snapshot_bytes: 0, log, findings: vec![] };
            return Ok(nothing);
        };
        wal::must_be_there(&*self.disk, &self.log_dir())?;
        let View { dsa, snapshot, snapshot_bytes, log } = view;
        let mut findings: Vec<String> =
            dsa.shard().writer().check(findings_max).iter().map(ToString::to_string).collect();
        findings.extend(lost.iter().map(|index| {
            format!("index {index}: the schema no longer has what it needs; a start does without it")
        }));
        if with_constraints {
            dsa.faults_of_constraints(&mut |fault| match findings.len() < findings_max {
                true => {
                    findings.push(fault);
                    ControlFlow::Continue(())
                }
                false => ControlFlow::Break(()),
            });
        }
        Ok(Examined { entries: dsa.shard().entries(), snapshot, snapshot_bytes, log, findings })
    }

    /// The directory that snapshot and log make, without indexes. `memory_bytes_max` is what it may take. `None` if its first
    /// start did not come to its end: then it has no entries.
    ///
    /// # Errors
    /// As [`Data::examine`], but that the files of the snapshot are read once only.
    pub fn view(
        &self,
        schema: &Arc<Schema>,
        memory_bytes_max: u64,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Option<View>, DataError> {
        self.view_with(schema, memory_bytes_max, &[], on_progress)
    }

    /// As [`Data::view`], with indexes.
    ///
    /// # Errors
    /// As [`Data::view`].
    pub fn view_with(
        &self,
        schema: &Arc<Schema>,
        memory_bytes_max: u64,
        indexes: &[IndexSettings],
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Option<View>, DataError> {
        let replayed = self.replay_to(Tail::Committed, schema, memory_bytes_max, indexes, on_progress)?;
        let Some((Pass { dsa, .. }, log)) = replayed else { return Ok(None) };
        let snapshots = self.snapshots()?;
        let snapshot = snapshots.latest().map(|manifest| manifest.index);
        let snapshot_bytes = snapshots.latest().iter().flat_map(|m| &m.files).map(|file| file.bytes).sum();
        dsa.shard().writer().find_free_ids();
        Ok(Some(View { dsa, snapshot, snapshot_bytes, log }))
    }

    /// The last pass over snapshot and log, that of a replica up to `tail`. Nothing is changed on the disk. `None` as [`Data::view`].
    ///
    /// # Errors
    /// As [`Data::view`].
    pub(super) fn replay_to(
        &self,
        tail: Tail,
        schema: &Arc<Schema>,
        memory_bytes_max: u64,
        indexes: &[IndexSettings],
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Option<(Pass, LogRead)>, DataError> {
        let snapshots = self.snapshots()?;
        let Some(mut rules) = self.rules()? else { return Ok(None) };
        let mut base = self.base(&snapshots, Some(&rules))?;
        let (mut others, mut schema) =
            (self.rules_before(&base, &rules.with_schema(schema)), Arc::clone(schema));
        let (pass, log) = loop {
            // As a start makes it with this schema, with the naming contexts that were served last.
            let wanted = rules.with_schema(&schema);
            let maker = match others.take() {
                Some(others) => self.maker(&others, &schema, memory_bytes_max)?,
                None => Maker {
                    config: self.agent(&wanted, memory_bytes_max, indexes)?,
                    schema: Arc::clone(&schema),
                    rules: wanted.clone(),
                },
            };
            let is_wanted = maker.rules.agree(&wanted);
            let mut pass = self.begin_pass(&base, &snapshots, maker, on_progress)?;
            let log = self.run_pass(&mut pass, base.from, tail, on_progress)?;
            others = pass.next_rules(self, &wanted)?;
            let (epochs, stopped) = (&pass.replay.epochs, pass.replay.stopped);
            rules = epochs.rules().clone();
            // What was added to the schema is in it, as it was added in place.
            let is_same = rules.extend(&wanted) || rules.with_schema(&schema).agree(&wanted);
            if stopped.is_none() && is_wanted && is_same {
                break (pass, log);
            }
            let is_other = || {
                let (reached, known) = (added::text(&rules), added::text(&wanted));
                rules.have_files_of(&wanted) && added::served(&reached, &known, stopped.is_none()).is_some()
            };
            if rules.add_to(&wanted) || is_other() {
                schema = self.schema_of(&rules, &schema)?;
            }
            if stopped != Some(Decided::First) {
                base = pass.held()?;
            }
        };
        let from = entries::last_record(&self.snapshot_dir(), snapshots.latest())?;
        if let Some((first, next)) = log.found.and_then(|log| log.indexes)
            && (first > from.plus(1) || next <= from)
        {
            let (wanted, last) = (from.plus(1), Some(Index(next.0 - 1)));
            return Err(wal::OpenError::Missing { wanted, first, last }.into());
        }
        Ok(Some((pass, log)))
    }

    /// What the last snapshot is made of.
    ///
    /// # Errors
    /// When its manifest is damaged.
    pub fn contents(&self) -> Result<Option<Manifest>, DataError> {
        Ok(self.snapshots()?.latest().cloned())
    }

    /// The mark of the last snapshot; `None` if this directory has no replicas, or no snapshot yet.
    ///
    /// # Errors
    /// The snapshot is damaged.
    pub(super) fn mark(&self, snapshots: &Snapshots) -> Result<Option<SnapshotMark>, DataError> {
        let mark =
            snapshots.latest().map(|manifest| entries::mark(&self.snapshot_dir(), manifest)).transpose()?;
        Ok(mark.flatten())
    }

    /// The group whose log this directory has, as names of commands have it: 0 if it is that of a server by itself.
    ///
    /// # Errors
    /// The snapshot is damaged.
    pub fn group(&self) -> Result<u32, DataError> {
        Ok(self.mark(&self.snapshots()?)?.map_or(0, |_| consensus::record::GROUP))
    }

    /// Hands out every record of the log, also those that the snapshot holds. Of a replica's log it hands out entries, those behind the
    /// snapshot that are known to be committed, as records with their indexes.
    ///
    /// # Errors
    /// Damage.
    pub fn read_log(&self, visit: Visitor<'_>) -> Result<LogRead, DataError> {
        self.read_log_to(Tail::Committed, visit)
    }

    /// As [`Data::read_log`], of a replica's log up to a place.
    ///
    /// # Errors
    /// As there.
    pub(super) fn read_log_to(&self, tail: Tail, visit: Visitor<'_>) -> Result<LogRead, DataError> {
        let snapshots = self.snapshots()?;
        let Some(mark) = self.mark(&snapshots)? else {
            let from = snapshots.latest().map_or(Index(0), |manifest| manifest.index);
            return Ok(LogRead {
                found: entries::read_files(&*self.disk, &self.log_dir(), from, visit)?,
                uncommitted: 0,
            });
        };
        let known = match tail {
            Tail::Committed => {
                Generation::read(&*self.disk, self.dir())?.map_or(0, |backup| backup.committed)
            }
            Tail::Whole => u64::MAX,
        };
        let (found, read) = entries::read_entries(&*self.disk, &self.log_dir(), &mark, known, visit)?;
        Ok(LogRead { found, uncommitted: read.left() })
    }

    pub(super) fn snapshots(&self) -> Result<Snapshots, DataError> {
        Ok(Snapshots::open(Arc::clone(&self.disk), &self.snapshot_dir())?)
    }

    /// An agent that nobody can bind to.
    pub(super) fn agent(
        &self,
        rules: &Rules,
        memory_bytes_max: u64,
        indexes: &[IndexSettings],
    ) -> Result<dsa::Config, DataError> {
        let superblock = self.superblock()?;
        Ok(dsa::Config {
            store: store::Settings {
                suffixes: rules.suffixes().to_vec(),
                indexes: indexes.to_vec(),
                memory_bytes_max,
                removals_max: store::REMOVALS_MAX,
                operational_attributes: superblock.operational_attributes,
                schema_check: rules.schema_check(),
                initial_owner: superblock.initial_owner,
                key: superblock.key,
                site: superblock.site,
            },
            root_dn: None,
            root_password: None,
            offers_tls: false,
            peers: Default::default(),
            tokens: None,
            principals: None,
            queue_length_oid: None,
            settings: Default::default(),
            version: String::new(),
            started_ms: 0,
            schema_since_ms: 0,
        })
    }
}
