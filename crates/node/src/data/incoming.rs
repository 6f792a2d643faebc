//! A snapshot that a replica takes from another: where it comes, and how it becomes the one that counts. That happens before a start
//! and at no other time, so a replica that has got one starts again.

use super::dir::Data;
use super::error::DataError;
use super::snapshot::{self, Parts};
use super::{backup, current, settings};
use crate::faults;
use crate::transfer::Transfer;
use consensus::links::Links;
use consensus::{Recovery, SnapshotMark};
use env::disk::Disk;
use env::entropy::Entropy;
use env::planted;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wal::Index;
use wal::snapshot::{Manifest, SnapshotError, Snapshots, UnfinishedSnapshot};

impl Data {
    /// Takes the directory of a replica. If a snapshot from another replica is there as a whole, the directory goes on with that.
    ///
    /// # Errors
    /// See [`DataError`]. The directory goes on with the snapshot that it had, or with the other.
    pub fn open_replica(
        disk: Arc<dyn Disk>,
        dir: &Path,
        log: wal::Settings,
        entropy: &mut dyn Entropy,
    ) -> Result<Data, DataError> {
        let mut data = Data::open(disk, dir)?;
        data.install(log, entropy)?;
        if data.differs()?.entry.is_none() {
            data.forget_difference()?;
        }
        data.remove_old_generations()?;
        Ok(data)
    }

    /// What sends this directory's snapshot to other replicas, and fetches theirs.
    pub fn transfer(&self, links: Box<dyn Links>) -> Transfer {
        let incoming = match planted::is(faults::INCOMING_OVER_OWN_FILES) {
            true => self.snapshot_dir(),
            false => self.incoming_dir(),
        };
        Transfer::new(Arc::clone(&self.disk), self.snapshot_dir(), incoming, links)
    }

    /// The folder into which a snapshot from another replica comes.
    fn incoming_dir(&self) -> PathBuf {
        current::folder(&self.dir, self.generation + 1)
    }

    fn install(&mut self, log: wal::Settings, entropy: &mut dyn Entropy) -> Result<(), DataError> {
        let incoming = self.incoming_dir();
        let name = |dir: &Path| dir.file_name().map(|name| name.to_string_lossy().into_owned());
        if !self.disk.list_dirs(&self.dir)?.iter().any(|there| Some(there) == name(&incoming).as_ref()) {
            return Ok(());
        }
        let mut received = match Snapshots::open(Arc::clone(&self.disk), &incoming) {
            Err(SnapshotError::Damaged(damage)) => {
                tracing::warn!("a snapshot from another server is of no use, and is fetched again: {damage}");
                return Ok(backup::remove_folder(&*self.disk, &incoming)?);
            }
            opened => opened?,
        };
        // A part of one: the fetch goes on with it.
        let Some(manifest) = received.latest().cloned() else { return Ok(()) };
        let parts = snapshot::parts(&incoming, &manifest.meta)?;
        let Some(mark) = self.adopted(&manifest, &parts, log, entropy)? else {
            return Ok(backup::remove_folder(&*self.disk, &incoming)?);
        };
        let Parts { state, rules, settings, store, .. } = parts;
        if let Some(text) = settings {
            let record = settings::parse(text);
            let record =
                record.map_err(|what| DataError::Facts(incoming.join(wal::snapshot::MANIFEST), what))?;
            // They may be later than what this directory has. A start puts those of its own log in force after them.
            self.settings()?.write(record)?;
        }
        let meta = state.join(rules.unwrap_or_default(), settings, &mark.encode(), store);
        let unfinished = all_of(&received, &manifest);
        received.commit(unfinished, manifest.index, meta)?;
        current::write(&*self.disk, &self.dir, self.generation + 1)?;
        self.generation += 1;
        tracing::info!(entry = manifest.index.0, "this server goes on with a snapshot from another one");
        Ok(())
    }

    /// How the log of this directory goes on after the snapshot that came; `None` if it has all that is in there, and is not wrong.
    fn adopted(
        &self,
        manifest: &Manifest,
        parts: &Parts<'_>,
        log: wal::Settings,
        entropy: &mut dyn Entropy,
    ) -> Result<Option<SnapshotMark>, DataError> {
        let unread = |dir: &Path, what| DataError::Facts(dir.join(wal::snapshot::MANIFEST), what);
        let came = SnapshotMark::decode(manifest.index.0, parts.mark);
        let base = came.map_err(|what| unread(&self.incoming_dir(), what))?.base;
        let own = self.snapshots()?;
        let Some(latest) = own.latest() else {
            // A server that joins has nothing yet.
            let (record, term, vote) = (Index(0), base.term, 0);
            return Ok(Some(SnapshotMark { base, record, term, vote }));
        };
        let dir = self.snapshot_dir();
        let own = SnapshotMark::decode(latest.index.0, snapshot::parts(&dir, &latest.meta)?.mark);
        let own = own.map_err(|what| unread(&dir, what))?;
        let mut recovery = Recovery::default();
        let disk = Arc::clone(&self.disk);
        wal::open(disk, &self.log_dir(), log, entropy, own.record, &mut |record| {
            recovery.take(record.index, record.kind, record.payload)
        })?;
        let is_wrong = self.differs()?.entry.is_some();
        recovery.adopt(base, own, is_wrong).map_err(|what| DataError::Facts(self.log_dir(), what))
    }

    /// Removes the snapshots that counted before the last one did.
    fn remove_old_generations(&self) -> io::Result<()> {
        let there = self.disk.list_dirs(&self.dir)?;
        let is_old =
            |name: &&String| current::generation(name).is_some_and(|number| number < self.generation);
        let mut old = there.iter().filter(is_old);
        old.try_for_each(|name| backup::remove_folder(&*self.disk, &self.dir.join(name)))
    }
}

/// The same files again.
fn all_of(snapshots: &Snapshots, manifest: &Manifest) -> UnfinishedSnapshot {
    let mut unfinished = snapshots.unfinished();
    for file in &manifest.files {
        let is_there = unfinished.keep(file.id);
        assert!(is_there, "the manifest names it");
    }
    unfinished
}
