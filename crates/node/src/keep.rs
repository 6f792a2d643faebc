//! What makes an import last: it goes past the log, so a snapshot has to hold it, and a note in the log tells of it.

use crate::commit::{Committer, Failed};
use crate::data::snapshot::SnapshotStore;
use std::fmt;
use wal::Index;
use wal::snapshot::SnapshotError;

/// Why an import does not last. The directory on the disk is what it was before.
#[derive(Debug)]
pub enum KeepError {
    /// The log cannot take the note.
    Log(Failed),
    /// There are as many readers as there can be.
    TooManyReaders,
    /// The snapshot cannot be written.
    Snapshot(SnapshotError),
}

impl fmt::Display for KeepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeepError::Log(failed) => failed.fmt(f),
            KeepError::TooManyReaders => f.write_str("there are too many readers"),
            KeepError::Snapshot(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for KeepError {}

/// Leaves a note in the log and makes all that is in the directory its last snapshot: durable when it returns, and before
/// that nothing of it is. Returns the record that the snapshot goes up to. Nothing else may be in progress.
///
/// # Errors
/// See [`KeepError`].
pub fn keep(
    committer: &mut Committer,
    snapshots: &mut SnapshotStore,
    wall_ms: u64,
) -> Result<Index, KeepError> {
    committer.note_import(wall_ms).map_err(KeepError::Log)?;
    let taken = committer.checkpoint().map_err(KeepError::Log)?;
    let (checkpoint, index) = taken.ok_or(KeepError::TooManyReaders)?;
    snapshots.write(checkpoint, index).map_err(KeepError::Snapshot)?;
    Ok(index)
}

/// As [`keep`], where nobody serves the directory: then the log ends too. Files of it that the snapshot replaces stay, for
/// the one that serves the directory archives them before they are used again.
///
/// # Errors
/// See [`KeepError`].
pub fn keep_and_close(
    mut committer: Committer,
    snapshots: &mut SnapshotStore,
    wall_ms: u64,
    monotonic_ms: u64,
) -> Result<(), KeepError> {
    keep(&mut committer, snapshots, wall_ms)?;
    if let Err(error) = committer.close(wall_ms, monotonic_ms) {
        tracing::warn!(%error, "the import is kept, but the log has no clean end");
    }
    Ok(())
}
