//! The log of a replica, read by one that is no replica: its entries as records that are numbered as they are.

use super::error::DataError;
use super::snapshot;
use consensus::{CommittedEntries, SnapshotMark};
use env::disk::Disk;
use std::io;
use std::path::Path;
use wal::snapshot::{MANIFEST, Manifest};
use wal::{Flow, Found, Index, OpenError, Record, Visitor};

/// What was read of a log.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogRead {
    /// The log; `None` if there is no file of it.
    pub found: Option<Found>,
    /// Entries of a replica's log that were left out: nothing says that they are committed.
    pub uncommitted: u64,
}

/// Up to where the log of a replica is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Up to the last entry that is known to be committed.
    Committed,
    /// All of it.
    Whole,
}

/// The mark of a snapshot in the folder `dir`; `None` if it is of a directory that has no replicas.
///
/// # Errors
/// It is damaged.
pub(super) fn mark(dir: &Path, manifest: &Manifest) -> Result<Option<SnapshotMark>, DataError> {
    let bytes = snapshot::parts(dir, &manifest.meta)?.mark;
    let mark = (!bytes.is_empty()).then(|| SnapshotMark::decode(manifest.index.0, bytes));
    mark.transpose().map_err(|what| DataError::Facts(dir.join(MANIFEST), what))
}

/// The last record of the log that is not needed with a snapshot in the folder `dir`.
///
/// # Errors
/// It is damaged.
pub(super) fn last_record(dir: &Path, manifest: Option<&Manifest>) -> Result<Index, DataError> {
    let Some(manifest) = manifest else { return Ok(Index(0)) };
    Ok(mark(dir, manifest)?.map_or(manifest.index, |mark| mark.record))
}

/// Hands out the entries behind a snapshot with this mark that are known to be committed, by the log in the folder `dir` or because they are
/// not behind entry `known`. What it returns knows the last one, and how many are left.
///
/// # Errors
/// Damage, or what no replica writes.
pub(super) fn read_entries(
    disk: &dyn Disk,
    dir: &Path,
    mark: &SnapshotMark,
    known: u64,
    visit: Visitor<'_>,
) -> Result<(Option<Found>, CommittedEntries), DataError> {
    let mut entries = CommittedEntries::new(mark.base.index);
    let mut take = |record: Record<'_>| visit(record).map(|()| Flow::On);
    let mut on_record = |record: Record<'_>| match record.index > mark.record {
        true => entries.record(&record, &mut take).map(|_| ()),
        false => Ok(()),
    };
    let found = read_files(disk, dir, mark.record, &mut on_record)?;
    let place = found.map(|found| found.end).unwrap_or_default();
    let handed = entries.up_to(known, &mut take);
    handed.map_err(|reason| OpenError::Record { index: Index(entries.last() + 1), place, reason })?;
    Ok((found, entries))
}

/// Hands out the records of a log, also those that a snapshot up to record `from` holds, if there is a log.
///
/// # Errors
/// Damage.
pub(super) fn read_files(
    disk: &dyn Disk,
    dir: &Path,
    from: Index,
    visit: Visitor<'_>,
) -> Result<Option<Found>, DataError> {
    match wal::read_after(disk, dir, from, visit) {
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(read?),
    }
}
