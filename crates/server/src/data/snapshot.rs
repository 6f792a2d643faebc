//! A checkpoint of the directory as files of a snapshot, and back. What the files hold: `docs/formats/segment.md`.

use super::DataError;
use env::disk::Disk;
use env::planted::{self, Fault};
use env::task;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::{Checkpoint, Meta, Restore, Segment, Settings, Shard};
use wal::snapshot::{FileId, FileRecord, Manifest, SnapshotError, Snapshots};
use wal::{Index, Log, OpenError};

/// Files of segments: their number is the bytes, their generation the segment's id.
const SEGMENT: u8 = 1;
/// The file of the slot map.
const SLOTS: u8 = 2;
/// Bytes of a snapshot from which on threads are worth their start.
const THREADS_FROM_BYTES: u64 = 4 << 20;
/// Addresses of the slot map that are written at once.
const SLOTS_TOGETHER: usize = 1 << 17;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of files that the snapshot before does not have.
    pub bytes: u64,
    /// Files of segments, and of those the ones kept from the snapshot before.
    pub segments: usize,
    /// See `segments`.
    pub kept: usize,
}

/// The snapshots of a data directory, and what the next one's files are called.
#[derive(Debug)]
pub struct Keeper {
    snapshots: Snapshots,
    /// Generation of the next slot map. Never given twice, also not after a failure: it may not be certain then which
    /// snapshot is the last, and files of both must stay what they are.
    next: u64,
    /// Where files of the log go before they are used again.
    archive: Option<(Arc<dyn Disk>, PathBuf)>,
}

impl Keeper {
    /// Of opened snapshots.
    pub fn new(snapshots: Snapshots) -> Keeper {
        let last = snapshots.latest().and_then(slots_file).map_or(0, |record| record.id.generation);
        Keeper { snapshots, next: last + 1, archive: None }
    }

    /// From now on files of the log are copied to a folder before they are used again, and stay if they cannot be.
    pub fn archive_to(&mut self, disk: Arc<dyn Disk>, dir: &Path) {
        self.archive = Some((disk, dir.to_owned()));
    }

    /// Are they?
    pub fn archives(&self) -> bool {
        self.archive.is_some()
    }

    /// Frees the files of the log that hold nothing after `index`, which a snapshot holds; `on_archived` is told the last
    /// record that the archive has.
    ///
    /// # Errors
    /// What the disk says, of the log or of the archive. What was not freed is freed by the next release.
    pub fn release(&self, log: &Log, index: Index, on_archived: &mut dyn FnMut(Index)) -> io::Result<()> {
        let mut keep = |file: &Path| {
            let archive = self.archive.as_ref().filter(|_| !planted::is(Fault::ReleasedBeforeArchived));
            let Some((disk, dir)) = archive else { return Ok(()) };
            let archived = wal::archive_file(&**disk, file, dir).map_err(|error| match error {
                OpenError::Io(error) => error,
                error => io::Error::other(error),
            });
            archived.map(|(_, last)| on_archived(last))
        };
        log.release_after(index, &mut keep).map(|_| ())
    }

    /// The last snapshot.
    pub fn latest(&self) -> Option<&Manifest> {
        self.snapshots.latest()
    }

    /// Makes a checkpoint the last snapshot: it holds what the log says up to `index`, which is synced. Durable when it
    /// returns.
    ///
    /// # Errors
    /// What the disk says. The snapshot before is whole then, and what was written takes no room, if that could be told
    /// apart.
    pub fn write(&mut self, checkpoint: Checkpoint, index: Index) -> Result<Written, SnapshotError> {
        self.write_files(checkpoint, index).inspect_err(|_| {
            // The log may want the room. What cannot be removed now is removed after the next snapshot.
            let _ = self.snapshots.remove_unnamed();
        })
    }

    fn write_files(&mut self, checkpoint: Checkpoint, index: Index) -> Result<Written, SnapshotError> {
        let mut draft = self.snapshots.draft();
        let mut written = Written::default();
        let mut file = draft.create(FileId { kind: SLOTS, number: 0, generation: self.next })?;
        self.next += 1;
        let (mut from, mut bytes) = (0, Vec::new());
        while from < checkpoint.slots() {
            bytes.clear();
            checkpoint.push_slots(from, SLOTS_TOGETHER, &mut bytes);
            file.write(&bytes)?;
            written.bytes += bytes.len() as u64;
            from += SLOTS_TOGETHER as u64;
        }
        let (meta, segments) = (checkpoint.meta(), checkpoint.into_segments());
        let slots = file.finish()?;
        written.segments = segments.count();
        segments.write_each(|segment, bytes| -> Result<(), SnapshotError> {
            let id = segment_file(segment);
            if draft.keep(id) {
                written.kept += 1;
                return Ok(());
            }
            let mut file = draft.create(id)?;
            file.write(bytes)?;
            written.bytes += bytes.len() as u64;
            draft.add(file.finish()?);
            Ok(())
        })?;
        draft.add(slots);
        self.snapshots.commit(draft, index, meta)?;
        Ok(written)
    }
}

fn segment_file(segment: Segment) -> FileId {
    FileId { kind: SEGMENT, number: segment.len, generation: segment.id }
}

fn slots_file(manifest: &Manifest) -> Option<&FileRecord> {
    manifest.files.iter().find(|record| record.id.kind == SLOTS)
}

/// Makes a shard of the last snapshot, if there is one. `on_bytes` is told how many bytes were read, of how many, now
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
    let meta = Meta::read(&manifest.meta).map_err(does_not_fit)?;
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
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Runs a job for each number below `jobs`, on all cores.
fn on_all_cores(jobs: usize, job: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                taken if taken < jobs => job(taken),
                _ => return,
            }
        }
    };
    task::run_with_workers(task::cores().min(jobs.max(1)) - 1, |_| work(), work);
}
