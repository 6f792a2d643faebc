//! What a snapshot has of the change log: files with the changes of some records each, one behind the other up to the record of the snapshot
//! (`docs/formats/changes.md`).
//!
//! Each snapshot writes one file more, with what was changed since the one before. It takes in the last of the earlier files as long as these are
//! not larger than twice what is written. So a change is written again when its file has doubled, and not with each snapshot, and there are few files.

use crate::data::error::DataError;
use dsa::Dsa;
use std::io;
use std::path::Path;
use wal::Index;
use wal::snapshot::{FileId, FileRecord, Manifest, SnapshotError, Snapshots, UnfinishedSnapshot};

/// Files of changes for the change log: their generation is the last record that they have changes of, their number that of a slot map.
const CHANGES: u8 = 3;

/// A file before is written again, with what is new, unless it is larger than so many times that.
const LARGER: u64 = 2;

/// The files that a snapshot has, in the order of their records.
pub(super) fn of(manifest: Option<&Manifest>) -> Vec<FileRecord> {
    let all = manifest.into_iter().flat_map(|manifest| &manifest.files);
    let mut files: Vec<FileRecord> = all.filter(|record| record.id.kind == CHANGES).copied().collect();
    files.sort_unstable_by_key(|record| record.id.generation);
    files
}

/// Adds what the next snapshot has of the changes, up to the record `index`. `known` are the files of the one before, `number` is that of a new file.
/// Returns the bytes that were written.
///
/// # Errors
/// What the disk says, or that there are too many readers.
pub(super) fn add(
    unfinished: &mut UnfinishedSnapshot,
    dsa: &Dsa,
    known: &[FileRecord],
    (number, index): (u32, Index),
) -> io::Result<u64> {
    if !dsa.keeps_changes() {
        return Ok(0);
    }
    let begin = dsa.changes_begin_behind();
    // What is kept in memory has no gap: a file whose changes are there, or a part of them, leads up to it.
    let mut kept: Vec<FileRecord> =
        known.iter().filter(|record| record.id.generation > begin).copied().collect();
    let mut bytes = dsa.change_bytes_behind(end_of(&kept, begin));
    while let Some(before) = kept.pop_if(|before| before.bytes <= LARGER * bytes) {
        bytes += before.bytes;
    }
    let from = end_of(&kept, begin);
    for record in &kept {
        assert!(unfinished.keep(record.id), "the last snapshot has the file");
    }
    let mut file = unfinished.create(FileId { kind: CHANGES, number, generation: index.0 })?;
    dsa.write_changes((from, index.0), &mut |bytes| file.write(bytes))?;
    let record = file.finish()?;
    unfinished.add(record);
    Ok(record.bytes)
}

/// The last record of some files.
fn end_of(files: &[FileRecord], begin: u64) -> u64 {
    files.last().map_or(begin, |record| record.id.generation)
}

/// Takes the changes that the last snapshot has, if any are kept. Without all of them the change log begins behind the snapshot.
///
/// # Errors
/// When a file is damaged.
pub(in crate::data) fn load(
    dir: &Path,
    snapshots: &Snapshots,
    dsa: &Dsa,
    wall_ms: u64,
) -> Result<(), DataError> {
    let Some(manifest) = snapshots.latest() else { return Ok(()) };
    let Some(mut loading) = dsa.load_changes(manifest.index.0, wall_ms) else { return Ok(()) };
    for record in of(Some(manifest)) {
        let damaged = |what| DataError::Facts(dir.join(record.id.name()), what);
        let mut wrong = Ok(());
        let read = snapshots.file(&record)?.read_pieces(&mut |bytes| {
            if wrong.is_ok() {
                wrong = loading.take(bytes);
            }
            Ok::<(), SnapshotError>(())
        });
        read?;
        wrong.and_then(|()| loading.end_file()).map_err(damaged)?;
    }
    loading.finish();
    Ok(())
}
