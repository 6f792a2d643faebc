//! Why a data directory cannot be used.

use std::path::PathBuf;
use std::{fmt, io};
use wal::snapshot::SnapshotError;

/// Of a record, or a directory, that a server by itself does not have.
pub(in crate::data) const OF_A_CLUSTER: &str =
    "it belongs to a replica of a cluster, and cannot be replayed by itself";

/// Why a data directory cannot be used.
#[derive(Debug)]
pub enum DataError {
    /// The disk says so.
    Disk(io::Error),
    /// Another process has it.
    Taken(PathBuf),
    /// The log is damaged or does not fit: see the text.
    Log(wal::OpenError),
    /// The snapshot is damaged.
    Snapshot(SnapshotError),
    /// The snapshot does not make a directory.
    Restore(PathBuf, store::RestoreError),
    /// A file that says what the directory is made with is not what Pando wrote, or of a later version.
    Facts(PathBuf, String),
    /// Updates are applied by a version of the behaviour that this program does not know: where, and what to do.
    Behaviour(PathBuf, String),
    /// The log has other settings than the file `settings`, which has them now: a start that went by the file is to begin again.
    Settings,
    /// The log comes to another outcome than was answered.
    Outcome(dsa::chain::Differs),
    /// What is configured is not what the directory is made with.
    Differs {
        /// The key.
        key: &'static str,
        /// What the directory has.
        made: String,
        /// What was asked for.
        wanted: String,
        /// What to do.
        advice: &'static str,
    },
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Disk(error) => error.fmt(f),
            DataError::Taken(dir) => write!(f, "{}: another process uses this data directory", dir.display()),
            DataError::Log(error) => error.fmt(f),
            DataError::Snapshot(error) => error.fmt(f),
            DataError::Restore(path, error) => write!(f, "{}: {error}", path.display()),
            DataError::Facts(path, what) | DataError::Behaviour(path, what) => {
                write!(f, "{}: {what}", path.display())
            }
            DataError::Settings => f.write_str("the settings of the directory are other ones: start again"),
            DataError::Outcome(differs) => write!(
                f,
                "{differs}. This is a fault of the program or of the machine; nothing was changed. `pando dump` shows the \
                 commands. Restore a backup, or start once with --accept-difference, which goes on from what the log makes now"
            ),
            DataError::Differs { key, made, wanted, advice } => {
                write!(f, "`{key}` is {made} in this data directory, but {wanted} is configured: {advice}")
            }
        }
    }
}

impl std::error::Error for DataError {}

impl From<io::Error> for DataError {
    fn from(error: io::Error) -> DataError {
        DataError::Disk(error)
    }
}

impl From<SnapshotError> for DataError {
    fn from(error: SnapshotError) -> DataError {
        DataError::Snapshot(error)
    }
}

impl From<wal::OpenError> for DataError {
    fn from(error: wal::OpenError) -> DataError {
        DataError::Log(error)
    }
}
