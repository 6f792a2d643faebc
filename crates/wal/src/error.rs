//! What can go wrong, by who has to do something about it.

use crate::place::{Index, Place};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a record was not appended. Nothing of it is in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Too much waits to be written already, or the next file is not ready yet: come again when something is safe or a
    /// file is ready, which [`crate::Progress`] tells.
    Full,
    /// It is longer than a record may be.
    TooLong,
    /// The disk has no room for another log file, or cannot make one: the reason. Tried again by itself.
    NoSpace(Arc<str>),
    /// A write or a sync failed: nothing is appended until the log is opened anew.
    Poisoned(Poisoned),
    /// The log was closed.
    Closed,
    /// Another replica leads the log, or none does.
    NotLeader,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Full => f.write_str("too many changes are waiting for the disk"),
            Refused::TooLong => f.write_str("the change is too long for one log record"),
            Refused::NoSpace(reason) => write!(f, "no room for the log: {reason}"),
            Refused::Poisoned(poisoned) => poisoned.fmt(f),
            Refused::Closed => f.write_str("the log is closed"),
            Refused::NotLeader => f.write_str("this server does not lead the log; try again"),
        }
    }
}

impl std::error::Error for Refused {}

/// A write or a sync failed. What was waiting may or may not be durable; only opening the log anew tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poisoned(pub(crate) Arc<str>);

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the log failed: {}", self.0)
    }
}

impl std::error::Error for Poisoned {}

/// What to say and do where something that was stored safely is not what it was.
pub const DAMAGE_ADVICE: &str = "It was stored safely once, so the disk or something else changed it; nothing was repaired. \
                                 Keep a copy of the directory and restore a backup";

/// Bytes that were stored safely once and are not what they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Bytes from its beginning.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

impl Damage {
    pub(crate) fn at(path: &Path, offset: u64, what: impl Into<String>) -> Damage {
        Damage { path: path.to_owned(), offset, what: what.into() }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: damaged at offset {}: {}", self.path.display(), self.offset, self.what)
    }
}

/// Why a log was not opened. Nothing was changed.
#[derive(Debug)]
pub enum OpenError {
    /// The settings contradict themselves.
    Settings(String),
    /// The operating system refused; the message names file and offset.
    Io(io::Error),
    /// What was safe once is damaged.
    Damaged(Damage),
    /// Log files that must be there are not.
    Gone {
        /// The folder.
        dir: PathBuf,
        /// Which, and how that is known.
        what: String,
    },
    /// The first record that is needed is not there.
    Missing {
        /// The record that is needed.
        wanted: Index,
        /// The first that there is.
        first: Index,
        /// The last, if it was looked for.
        last: Option<Index>,
    },
    /// The reader of the records did not take one.
    Record {
        /// Which.
        index: Index,
        /// Where its block begins.
        place: Place,
        /// Why.
        reason: String,
    },
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Io(error)
    }
}

impl From<Damage> for OpenError {
    fn from(damage: Damage) -> OpenError {
        OpenError::Damaged(damage)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Settings(reason) => f.write_str(reason),
            OpenError::Io(error) => error.fmt(f),
            OpenError::Damaged(damage) => write!(f, "{damage}. {DAMAGE_ADVICE}"),
            OpenError::Gone { dir, what } => {
                let dir = dir.display();
                write!(f, "{dir}: {what}: changes that were answered would be lost. Nothing was changed. ")?;
                f.write_str("Is its disk mounted? Bring the files back, or restore a backup")
            }
            OpenError::Missing { wanted, first, last } => {
                write!(f, "the log should have record {wanted} but begins with {first}")?;
                if let Some(last) = last {
                    write!(f, " and ends with {last}")?;
                }
                f.write_str(": log files and snapshot do not belong together. Restore a backup")
            }
            OpenError::Record { index, place, reason } => write!(f, "log record {index} ({place}): {reason}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Io(error) => Some(error),
            _ => None,
        }
    }
}
