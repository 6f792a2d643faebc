//! What makes an import last: it goes past the log, so a snapshot has to hold it, and a note in the log tells of it.

use crate::commit::Committer;
use crate::data::snapshot::SnapshotStore;
use crate::data::{DataError, write_snapshot};
use std::io;
use wal::Index;

/// Leaves a note in the log and makes all that is in the directory its last snapshot: durable when it returns, and before
/// that nothing of it is. Returns the record that the snapshot goes up to. Nothing else may be in progress.
///
/// # Errors
/// When the log cannot take the note, or the snapshot cannot be taken or written. The directory on the disk is what it was before.
pub fn keep(
    committer: &mut Committer,
    snapshots: &mut SnapshotStore,
    wall_ms: u64,
) -> Result<Index, DataError> {
    committer.note_import(wall_ms).map_err(io::Error::other)?;
    write_snapshot(committer, snapshots)
}

/// As [`keep`], where nobody serves the directory: then the log ends too. Files of it that the snapshot replaces stay, for
/// the one that serves the directory archives them before they are used again.
///
/// # Errors
/// As [`keep`].
pub fn keep_and_close(
    mut committer: Committer,
    snapshots: &mut SnapshotStore,
    wall_ms: u64,
    monotonic_ms: u64,
) -> Result<(), DataError> {
    keep(&mut committer, snapshots, wall_ms)?;
    if let Err(error) = committer.close(wall_ms, monotonic_ms) {
        tracing::warn!(%error, "the import is kept, but the log has no clean end");
    }
    Ok(())
}
