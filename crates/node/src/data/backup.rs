//! Backups of a data directory, taken while it is served or not, and directories made of them.
//!
//! ```text
//! BACKUP/20261121T192054.123Z/    a whole backup, called after the time at which it was begun: a data directory that
//!                                 is not served, with one file more, `backup`, which says what it holds
//! BACKUP/20261121T202054.456Z/    a later one; files of the snapshot that both have are there once, with two names
//! BACKUP/....new/                 being written; removed by the next backup
//! BACKUP/lock                     held by the one process that writes here
//! ```
//!
//! Why it is so: `docs/decisions/0018-backups-are-data-directories.md`.

mod generation;
mod restore;
mod take;
mod until;

pub(super) use generation::remove_folder;
pub use generation::{Backups, Generation};
pub use restore::{Restored, restore};
pub use take::{TakenBackup, take};
pub use until::Until;

use super::error::DataError;
use env::disk::Disk;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use wal::snapshot::{Held, Snapshots};

/// Name of the file that says what a backup holds. A folder that has it is not served.
pub(super) const MARKER: &str = "backup";

/// Why there is no backup, or no directory made of one. What was there before is as it was.
#[derive(Debug)]
pub enum BackupError {
    /// A data directory or a backup is damaged, or the disk refuses.
    Data(DataError),
    /// A folder is not what it should be.
    Folder(PathBuf, String),
    /// The point in time that was asked for cannot be reached: why, and what is missing.
    Point(String),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupError::Data(error) => error.fmt(f),
            BackupError::Folder(path, what) => write!(f, "{}: {what}", path.display()),
            BackupError::Point(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for BackupError {}

impl<E> From<E> for BackupError
where
    DataError: From<E>,
{
    fn from(error: E) -> BackupError {
        BackupError::Data(error.into())
    }
}

/// A folder that is not what it should be.
fn folder(path: &Path, what: impl Into<String>) -> BackupError {
    BackupError::Folder(path.to_owned(), what.into())
}

/// The folder of a data directory that has its snapshot.
fn snapshot_dir(dir: &Path) -> PathBuf {
    dir.join("snapshot")
}

/// The folder of a data directory that has its log.
fn log_dir(dir: &Path) -> PathBuf {
    dir.join("log")
}

/// The last snapshot in a folder, if there is one.
fn hold(disk: &dyn Disk, dir: &Path) -> Result<Option<Held>, DataError> {
    match exists(disk, dir) {
        true => Ok(Snapshots::hold(disk, dir)?),
        false => Ok(None),
    }
}

/// Is there anything by that name? One that may not be looked at is taken for something.
pub(super) fn exists(disk: &dyn Disk, dir: &Path) -> bool {
    !matches!(disk.list(dir), Err(error) if error.kind() == io::ErrorKind::NotFound)
}
