//! Taking a backup, of a directory that may be served meanwhile. Nothing is asked of the server and nothing is written to
//! its directory: files of a snapshot never change, and stay readable once they are open; files of the log are copied in
//! one go, and it is looked afterwards whether they still were what they are called.

use super::generation::{Backups, Generation, facts, remove_tree};
use super::{BackupError, folder, hold, log_dir, snapshot_dir};
use crate::data::current;
use crate::data::entries::{last_record, mark, read_entries};
use crate::data::error::DataError;
use crate::data::facts::write_text;
use consensus::SnapshotMark;
use env::disk::Disk;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use wal::snapshot::{FileId, FileRecord, Held, SnapshotError, SnapshotFile, Snapshots};
use wal::{Copied, Index};

/// How often it is tried to copy a log while its files are used again. Each time a snapshot must have been finished
/// meanwhile, and more written than a log file holds.
const ATTEMPTS: usize = 10;

/// What was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBackup {
    /// The backup.
    pub generation: Generation,
    /// Bytes that were written.
    pub bytes: u64,
    /// Bytes of files that an earlier backup has too.
    pub shared_bytes: u64,
    /// Older backups that were removed.
    pub removed: usize,
    /// Entries of a node's log in it of which nothing says that they are committed: no restore has them.
    pub uncommitted: u64,
}

/// Takes a backup of the data directory `data` into the folder `backups`. With `keep` the oldest are removed until so many
/// are left. `on_bytes` is called with how many bytes of the snapshot were dealt with, of how many. `now_ms` is the time. `committed` is the
/// last entry that a node which serves this directory has said to have applied; 0 if none has.
///
/// # Errors
/// See [`BackupError`]. Earlier backups are as they were.
pub fn take(
    disk: &Arc<dyn Disk>,
    data: &Path,
    backups: &Path,
    keep: Option<usize>,
    now_ms: u64,
    committed: u64,
    on_bytes: &mut dyn FnMut(u64, u64),
) -> Result<TakenBackup, BackupError> {
    let backups = Backups::new(Arc::clone(disk), backups);
    facts(&**disk, data)?;
    let _lock = backups.begin(data)?;
    backups.remove_unfinished()?;
    let (all, _) = backups.all()?;
    let (new, place) = backups.place(now_ms);
    if all.iter().any(|generation| generation.dir == place) {
        return Err(folder(&place, "a backup of the same millisecond exists"));
    }
    let work = Work { disk, data, new: &new, known: all.last(), committed };
    let mut taken = work.run(now_ms, on_bytes).inspect_err(|_| {
        // Its room is of more use free. What cannot be removed now is removed by the next backup.
        let _ = remove_tree(&**disk, &new);
    })?;
    disk.rename(&new, &place)?;
    disk.sync_dir(&backups.dir)?;
    taken.generation.dir = place;
    let superfluous = (all.len() + 1).saturating_sub(keep.unwrap_or(usize::MAX).max(1));
    for old in &all[..superfluous] {
        backups.remove(old)?;
        taken.removed += 1;
    }
    Ok(taken)
}

struct Work<'a> {
    disk: &'a Arc<dyn Disk>,
    data: &'a Path,
    /// Where the backup is written.
    new: &'a Path,
    /// The backup before.
    known: Option<&'a Generation>,
    /// See [`take`].
    committed: u64,
}

/// What decides what the backup holds; the rest is copied at leisure.
struct Caught {
    facts: Vec<(&'static str, String)>,
    snapshot: Option<Held>,
    /// How the log of a replica goes on after it.
    mark: Option<SnapshotMark>,
    log: Copied,
}

impl Work<'_> {
    fn run(&self, begun_ms: u64, on_bytes: &mut dyn FnMut(u64, u64)) -> Result<TakenBackup, BackupError> {
        let Caught { facts, snapshot, mark, log } = self.catch()?;
        let index = snapshot.as_ref().map_or(Index(0), |held| held.manifest.index);
        let (mut bytes, mut shared_bytes) = (log.bytes, log.shared_bytes);
        if let Some(held) = snapshot {
            let (written, shared) = copy_snapshot(self.disk, held, self.new, self.known, on_bytes)?;
            (bytes, shared_bytes) = (bytes + written, shared_bytes + shared);
        }
        for (name, text) in &facts {
            write_text(&**self.disk, self.new, name, text)?;
        }
        verify(self.disk, self.new, log.last)?;
        let (mut committed, mut uncommitted) = (0, 0);
        if let Some(mark) = mark {
            let read =
                read_entries(&**self.disk, &log_dir(self.new), &mark, self.committed, &mut |_| Ok(()))?;
            (committed, uncommitted) = (read.1.last(), read.1.left());
        }
        let dir = self.new.to_owned();
        let generation = Generation { dir, begun_ms, snapshot: index, last: log.last, committed };
        generation.write(&**self.disk, self.new)?;
        Ok(TakenBackup { generation, bytes, shared_bytes, removed: 0, uncommitted })
    }

    /// Opens the last snapshot and copies the log behind it, again if either was replaced meanwhile.
    fn catch(&self) -> Result<Caught, BackupError> {
        let mut last: Option<String> = None;
        for _ in 0..ATTEMPTS {
            match self.catch_once() {
                Ok(Some(caught)) => return Ok(caught),
                Ok(None) => {}
                Err(error) if is_race(&error) => {}
                // What comes up twice in the same words does not come from files being replaced.
                Err(error) if may_pass(&error) && last.as_ref() != Some(&error.to_string()) => {
                    last = Some(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        let text = format!(
            "log files were reused while they were copied, {ATTEMPTS} times; try again when fewer changes are made{}",
            last.map_or(String::new(), |error| format!(" ({error})"))
        );
        Err(folder(self.data, text))
    }

    fn catch_once(&self) -> Result<Option<Caught>, BackupError> {
        let disk = &**self.disk;
        if super::exists(disk, self.new) {
            remove_tree(disk, self.new)?;
        }
        let log_copy = log_dir(self.new);
        disk.create_dir(&log_copy)?;
        let before = facts(disk, self.data)?;
        let folder = current::snapshot_dir(disk, self.data)?;
        let snapshot = hold(disk, &folder)?;
        let manifest = snapshot.as_ref().map(|held| &held.manifest);
        let mark = manifest.map(|manifest| mark(&folder, manifest)).transpose()?.flatten();
        let from = last_record(&folder, manifest)?;
        let known_log = self.known.map(|known| log_dir(&known.dir));
        let log = wal::copy_log(disk, &log_dir(self.data), from, &log_copy, known_log.as_deref())?;
        disk.sync_dir(&log_copy)?;
        // Rules change only at a start with nothing in the log that is not in the snapshot. A note of it may have been copied that
        // the file comes after: then no command does.
        let facts = facts(disk, self.data)?;
        // A node that starts again may have taken another one's snapshot.
        let is_same = facts == before && folder == current::snapshot_dir(disk, self.data)?;
        Ok(is_same.then_some(Caught { facts, snapshot, mark, log }))
    }
}

/// Copies the files of a snapshot into the directory `to`, or links those that the backup `known` has; bytes that were written,
/// and those that were not.
pub(super) fn copy_snapshot(
    disk: &Arc<dyn Disk>,
    held: Held,
    to: &Path,
    known: Option<&Generation>,
    on_bytes: &mut dyn FnMut(u64, u64),
) -> Result<(u64, u64), BackupError> {
    let known_dir = known.map(|known| snapshot_dir(&known.dir)).unwrap_or_default();
    // A backup whose snapshot is damaged has no files.
    let known = known.and_then(|_| Snapshots::hold(&**disk, &known_dir).ok().flatten());
    let known = known.into_iter().flat_map(|held| held.manifest.files);
    let known: BTreeMap<FileId, FileRecord> = known.map(|record| (record.id, record)).collect();
    let mut snapshots = Snapshots::open(Arc::clone(disk), &snapshot_dir(to))?;
    let mut unfinished = snapshots.unfinished();
    let total = held.manifest.files.iter().map(|record| record.bytes).sum();
    let (mut written, mut shared) = (0, 0);
    for file in &held.files {
        let record = file.record();
        // What an earlier backup has may have suffered since; then it is copied anew.
        let is_known = known.get(&record.id) == Some(record)
            && SnapshotFile::open(&**disk, &known_dir, record).is_ok_and(|known| known.verify().is_ok());
        if is_known && unfinished.link(&known_dir, record) {
            shared += record.bytes;
        } else {
            unfinished.copy(file)?;
            written += record.bytes;
        }
        on_bytes(written + shared, total);
    }
    assert!(written + shared == total, "each file of the snapshot was copied or linked, and once");
    snapshots.commit(unfinished, held.manifest.index, held.manifest.meta)?;
    Ok((written, shared))
}

/// Compares every checksum of a copy, and that its log, or else its snapshot, ends with record `last`.
pub(super) fn verify(disk: &Arc<dyn Disk>, dir: &Path, last: Index) -> Result<(), BackupError> {
    let snapshots = Snapshots::open(Arc::clone(disk), &snapshot_dir(dir))?;
    snapshots.verify()?;
    let index = last_record(&snapshot_dir(dir), snapshots.latest())?;
    let read = wal::read(&**disk, &log_dir(dir), &mut |_| Ok(()))?;
    let end = read.and_then(|found| found.indexes).map_or(index, |(_, next)| Index(next.0 - 1).max(index));
    if end != last {
        let text = format!(
            "the copy ends with record {end}, but {last} was copied: the disk does not keep what it is given"
        );
        return Err(folder(dir, text));
    }
    Ok(())
}

/// Were files used again while they were read?
fn is_race(error: &BackupError) -> bool {
    matches!(error, BackupError::Data(DataError::Log(wal::OpenError::Io(error))) if error.kind() == io::ErrorKind::Interrupted)
}

/// May the error have come from files being replaced?
fn may_pass(error: &BackupError) -> bool {
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match error {
        BackupError::Data(DataError::Log(wal::OpenError::Io(error))) => is_gone(error),
        BackupError::Data(DataError::Log(error)) => {
            matches!(error, wal::OpenError::Damaged(_) | wal::OpenError::Missing { .. })
        }
        BackupError::Data(DataError::Snapshot(SnapshotError::Io(error)) | DataError::Disk(error)) => {
            is_gone(error)
        }
        _ => false,
    }
}
