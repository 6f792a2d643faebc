//! A checkpoint of the directory as files of a snapshot, and back. What the files hold: `docs/formats/segment.md`.

mod changes;
mod held;
mod state;
mod writing;

pub(super) use changes::load as load_changes;
pub use held::Held;
pub(super) use state::Parts;
pub use state::{LogState, Point};
pub use writing::{Progress, Step, Way, Writing, Written};

use super::error::DataError;
use crate::faults;
use env::disk::Disk;
use env::planted;
use env::task;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::{Meta, Restore, Segment, Settings, Shard};
use wal::snapshot::{FileId, FileRecord, Manifest, Snapshots};

pub use wal::snapshot::SnapshotError;
use wal::{Index, Log, OpenError};

/// Files of segments: their number is the bytes, their generation the segment's id.
const SEGMENT: u8 = 1;
/// The file of the slot map.
const SLOTS: u8 = 2;
/// Bytes of a snapshot from which on threads are worth their start.
const THREADS_FROM_BYTES: u64 = 4 << 20;
/// The snapshots of a data directory, and what the next one's files are called.
#[derive(Debug)]
pub struct SnapshotStore {
    snapshots: Snapshots,
    /// Generation of the next slot map. Never given twice, also not after a failure: it may not be certain then which
    /// snapshot is the last, and files of both must stay what they are.
    next: u64,
    /// Where files of the log have precedence over they are used again.
    archive: Option<(Arc<dyn Disk>, PathBuf)>,
}

impl SnapshotStore {
    /// Of opened snapshots.
    pub fn new(snapshots: Snapshots) -> SnapshotStore {
        let last = snapshots.latest().and_then(slots_file).map_or(0, |record| record.id.generation);
        SnapshotStore { snapshots, next: last + 1, archive: None }
    }

    /// From now on files of the log are copied to a folder before they are used again, and stay if they cannot be.
    pub fn archive_to(&mut self, disk: Arc<dyn Disk>, dir: &Path) {
        self.archive = Some((disk, dir.to_owned()));
    }

    /// Are they?
    pub fn archives(&self) -> bool {
        self.archive.is_some()
    }

    /// Frees the files of the log that hold nothing after `index`, which a snapshot holds; `on_archived` is called with the last
    /// record that the archive has.
    ///
    /// # Errors
    /// What the disk says, of the log or of the archive. What was not freed is freed by the next release.
    pub fn release(&self, log: &Log, index: Index, on_archived: &mut dyn FnMut(Index)) -> io::Result<()> {
        let mut keep = |file: &Path| {
            let archive = self.archive.as_ref().filter(|_| !planted::is(faults::RELEASED_BEFORE_ARCHIVED));
            let Some((disk, dir)) = archive else { return Ok(()) };
            let archived = wal::archive_file(&**disk, file, dir).map_err(|error| match error {
                OpenError::Io(error) => error,
                error => io::Error::other(error),
            });
            archived.map(|(_, last)| on_archived(last))
        };
        log.release(index, &mut keep).map(|_| ())
    }

    /// Those that there are.
    pub(super) fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// The last snapshot.
    pub fn latest(&self) -> Option<&Manifest> {
        self.snapshots.latest()
    }

    /// Makes a checkpoint the last snapshot, at once: it holds what the log says up to `index`, which is synced. Durable when
    /// it returns.
    ///
    /// # Errors
    /// What the disk says. The snapshot before is whole then, and what was written takes no room, if that could be known
    /// apart.
    pub fn write(&mut self, point: Point, index: Index) -> Result<Written, SnapshotError> {
        let mut step = self.begin(point, index, Way::AtOnce)?;
        let written = loop {
            match step {
                Step::Written(written) => break written,
                Step::Goes(writing) => step = self.go_on(writing)?,
            }
        };
        self.clear(&mut |_, _| ());
        Ok(written)
    }

    /// Begins to make a checkpoint the last snapshot: writes the slot map, and releases all that needs no writing. What is
    /// held from then on are the segments that are not written. One at a time; one that is dropped was without effect.
    ///
    /// # Errors
    /// As [`SnapshotStore::write`].
    pub fn begin(&mut self, point: Point, index: Index, way: Way) -> Result<Step, SnapshotError> {
        let last = self.latest().and_then(slots_file).map_or(0, |record| record.id.generation);
        assert!(last < self.next, "no two slot maps have the same name");
        let slots = FileId { kind: SLOTS, number: 0, generation: self.next };
        self.next += 1;
        let known = changes::of(self.latest());
        let begun = Writing::begin((self.snapshots.unfinished(), known), slots, point, index, way);
        begun.map(|writing| Step::Goes(Box::new(writing))).inspect_err(|_| self.clear(&mut |_, _| ()))
    }

    /// Writes the next segment, or, after the last, what makes it the snapshot: [`SnapshotStore::clear`] is to follow then.
    ///
    /// # Errors
    /// As [`SnapshotStore::write`].
    pub fn go_on(&mut self, mut writing: Box<Writing>) -> Result<Step, SnapshotError> {
        let step = match writing.write_next() {
            Ok(true) => Ok(Step::Goes(writing)),
            Ok(false) => writing.commit(&mut self.snapshots).map(Step::Written),
            Err(error) => Err(error),
        };
        step.inspect_err(|_| self.clear(&mut |_, _| ()))
    }

    /// Removes the files that the last snapshot does not have. `on_removed` is called after each with how many are removed, of how many,
    /// and may take its time. What
    /// cannot be removed now is removed after the next snapshot, or at the next start. Not while one is being written.
    pub fn clear(&self, on_removed: &mut dyn FnMut(u64, u64)) {
        let _ = self.snapshots.remove_unnamed(on_removed);
    }
}

fn segment_file(segment: Segment) -> FileId {
    FileId { kind: SEGMENT, number: segment.len, generation: segment.id }
}

fn slots_file(manifest: &Manifest) -> Option<&FileRecord> {
    manifest.files.iter().find(|record| record.id.kind == SLOTS)
}

/// Makes a shard of the last snapshot, if there is one. `on_bytes` is called with how many bytes were read, of how many, now
/// and then.
///
/// # Errors
/// When something is damaged or does not fit the settings.
pub(super) fn restore(
    dir: &Path,
    snapshots: &Snapshots,
    settings: Settings,
    schema: &Arc<schema::Schema>,
    on_bytes: &mut dyn FnMut(u64, u64),
) -> Result<Option<Arc<Shard>>, DataError> {
    let Some(manifest) = snapshots.latest() else { return Ok(None) };
    let does_not_fit = |error| DataError::Restore(dir.join("manifest"), error);
    let meta = Meta::read(parts(dir, &manifest.meta)?.store).map_err(does_not_fit)?;
    let mut restore = Restore::begin(meta, settings, Arc::clone(schema)).map_err(does_not_fit)?;
    let records: BTreeMap<FileId, &FileRecord> = manifest.files.iter().map(|r| (r.id, r)).collect();
    let (segments, slots) = restore.memory();
    let mut jobs: Vec<(&FileRecord, &mut [u8])> = Vec::with_capacity(segments.len() + 1);
    for part in segments {
        let record = records.get(&segment_file(part.segment)).copied();
        jobs.push((record.ok_or_else(|| lacks(dir, "a segment"))?, part.bytes));
    }
    jobs.push((slots_file(manifest).ok_or_else(|| lacks(dir, "the slot map"))?, slots));
    read(dir, snapshots, jobs, on_bytes)?;
    restore.finish(&on_all_cores).map(Some).map_err(does_not_fit)
}

/// The parts of the metadata of a snapshot in the folder `dir`.
///
/// # Errors
/// When they are damaged.
pub(super) fn parts<'m>(dir: &Path, meta: &'m [u8]) -> Result<Parts<'m>, DataError> {
    Parts::of(meta).map_err(|what| DataError::Facts(dir.join("manifest"), what))
}

fn lacks(dir: &Path, what: &str) -> DataError {
    DataError::Facts(dir.join("manifest"), format!("it does not name the file of {what}"))
}

/// Reads each file into its place, on all cores.
fn read(
    dir: &Path,
    snapshots: &Snapshots,
    jobs: Vec<(&FileRecord, &mut [u8])>,
    on_bytes: &mut dyn FnMut(u64, u64),
) -> Result<(), DataError> {
    let total: u64 = jobs.iter().map(|(record, _)| record.bytes).sum();
    let threads = if total < THREADS_FROM_BYTES { 0 } else { task::cores() - 1 };
    let (done, failed) = (AtomicU64::new(0), Mutex::new(None));
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let one = |(record, bytes): (&FileRecord, &mut [u8])| {
        if record.bytes != bytes.len() as u64 {
            return Err(lacks(dir, "something of the right length"));
        }
        snapshots.file(record)?.read_all(bytes)?;
        done.fetch_add(record.bytes, Ordering::Relaxed);
        Ok(())
    };
    let work = |each: &mut dyn FnMut()| {
        while let Some(job) = next() {
            if let Err(error) = one(job) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                return;
            }
            each();
        }
    };
    task::run_with_workers(
        threads,
        |_| work(&mut || {}),
        || work(&mut || on_bytes(done.load(Ordering::Relaxed), total)),
    );
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(failed.is_some() || done.into_inner() == total, "each file was read, and once");
    failed.map_or(Ok(()), Err)
}

/// Runs a job for each number below `jobs`, on all cores.
fn on_all_cores(jobs: usize, job: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let number = || next.fetch_add(1, Ordering::Relaxed);
    let work = || std::iter::repeat_with(number).take_while(|number| *number < jobs).for_each(job);
    task::run_with_workers(task::cores().min(jobs.max(1)) - 1, |_| work(), work);
}
