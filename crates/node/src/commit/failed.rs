//! Why a directory is written no more.

use dsa::ApplyError;
use dsa::chain::Differs;
use std::fmt;
use wal::{Index, Poisoned, Refused};

/// Why nothing can be written any more.
#[derive(Clone, Debug)]
pub enum Failed {
    /// The log failed.
    Log(Poisoned),
    /// The log does not take what must be in it.
    Refused(Refused),
    /// What is in the log could not be applied.
    Apply(Index, ApplyError),
    /// What was logged is none of what a log has: the reason.
    Record(Index, String),
    /// From this record on updates are applied by a version of the behaviour that this program does not know: what to do.
    Behaviour(Index, String),
    /// A majority of the replicas has come to another outcome.
    Outcome(Differs),
    /// A fault of this program: its own thread tells more.
    Panicked,
    /// Its task was dropped before its end: the links that had it ended, or something else could not start.
    Dropped,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Log(poisoned) => poisoned.fmt(f),
            Failed::Refused(refused) => refused.fmt(f),
            Failed::Apply(index, error) => write!(f, "record {index} of the log: {error}"),
            Failed::Record(index, reason) => write!(f, "record {index} of the log: {reason}"),
            Failed::Behaviour(index, what) => write!(f, "from record {index} of the log on {what}"),
            Failed::Outcome(differs) => differs.fmt(f),
            Failed::Panicked => f.write_str("the thread that writes the log panicked"),
            Failed::Dropped => f.write_str("the task that writes the log was dropped before its end"),
        }
    }
}

impl std::error::Error for Failed {}
