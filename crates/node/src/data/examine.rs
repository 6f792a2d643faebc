//! Looks through a data directory that nobody serves: every byte that has a checksum, every command of the log, and all
//! that the directory they make must hold to. Changes nothing.

use super::Rules;
use super::dir::Data;
use super::error::DataError;
use super::pass::Maker;
use super::recover::Stage;
use super::rules_epochs::Decided;
use dsa::config::SearchLimits;
use dsa::{Anonymous, Dsa};
use env::disk::Disk;
use schema::Schema;
use std::io;
use std::path::Path;
use std::sync::Arc;
use store::IndexSettings;
use wal::snapshot::{Manifest, Snapshots};
use wal::{Found, Index, Record};

/// What there is.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Entries that snapshot and log make.
    pub entries: u64,
    /// Last record in the last snapshot; `None` without one.
    pub snapshot: Option<Index>,
    /// Bytes of the snapshot's files.
    pub snapshot_bytes: u64,
    /// The log; `None` if there is no file of it.
    pub log: Option<Found>,
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
    /// The log; `None` if there is no file of it.
    pub log: Option<Found>,
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
    /// `memory_bytes_max` is what the directory may take meanwhile; `findings_max` bounds what is reported.
    ///
    /// # Errors
    /// Damage, or what cannot be read: the first. Also a schema that lacks what entries are made of.
    pub fn examine(
        &self,
        schema: Arc<Schema>,
        configured: Vec<IndexSettings>,
        memory_bytes_max: u64,
        findings_max: usize,
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
        let snapshots = self.snapshots()?;
        let Some(mut rules) = self.rules()? else { return Ok(None) };
        let snapshot = snapshots.latest().map(|manifest| manifest.index);
        let snapshot_bytes = snapshots.latest().iter().flat_map(|m| &m.files).map(|file| file.bytes).sum();
        let (mut base, from) = (self.base_alone(&snapshots, Some(&rules))?, snapshot.unwrap_or_default());
        let mut others = None;
        let (dsa, log) = loop {
            // As a start makes it with this schema, with the naming contexts that were served last.
            let wanted = rules.with_schema(schema);
            let maker = match others.take() {
                Some(others) => self.maker(&others, schema, memory_bytes_max)?,
                None => Maker {
                    config: self.agent(&wanted, memory_bytes_max, indexes)?,
                    schema: Arc::clone(schema),
                    rules: wanted.clone(),
                },
            };
            let is_wanted = maker.rules.agree(&wanted);
            let mut pass = self.begin_pass(&base, &snapshots, maker, on_progress)?;
            let log = self.run_pass(&mut pass, base.from, on_progress)?;
            others = pass.next_rules(self, &wanted)?;
            let (epochs, stopped) = (&pass.replay.epochs, pass.replay.stopped);
            rules = epochs.rules().clone();
            if stopped.is_none() && is_wanted && rules.with_schema(schema).agree(&wanted) {
                break (pass.dsa, log);
            }
            if stopped != Some(Decided::First) {
                base = pass.held()?;
            }
        };
        if let Some((first, next)) = log.and_then(|log| log.indexes)
            && (first > from.plus(1) || next <= from)
        {
            let (wanted, last) = (from.plus(1), Some(Index(next.0 - 1)));
            return Err(wal::OpenError::Missing { wanted, first, last }.into());
        }
        dsa.shard().writer().find_free_ids();
        Ok(Some(View { dsa, snapshot, snapshot_bytes, log }))
    }

    /// What the last snapshot is made of.
    ///
    /// # Errors
    /// When its manifest is damaged.
    pub fn contents(&self) -> Result<Option<Manifest>, DataError> {
        Ok(self.snapshots()?.latest().cloned())
    }

    /// Hands out every record of the log, also those that the snapshot holds.
    ///
    /// # Errors
    /// Damage.
    pub fn read_log(
        &self,
        visit: &mut dyn FnMut(Record<'_>) -> Result<(), String>,
    ) -> Result<Option<Found>, DataError> {
        let from = self.snapshots()?.latest().map_or(Index(0), |manifest| manifest.index);
        match wal::read_after(&*self.disk, &self.log_dir(), from, visit) {
            Err(wal::OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => Ok(read?),
        }
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
            proxies: Vec::new(),
            writers: Vec::new(),
            password_schemes: vec![dsa::config::Scheme::SaltedSha1],
            anonymous: Anonymous::None,
            security: Default::default(),
            peers: Default::default(),
            certificates: Vec::new(),
            user: Default::default(),
            tokens: None,
            principals: None,
            limits: SearchLimits::default(),
            clients: Default::default(),
            queue_length_oid: None,
            settings: Default::default(),
            version: String::new(),
            started_ms: 0,
            schema_since_ms: 0,
        })
    }
}
