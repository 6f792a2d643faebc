//! What content synchronisation asks of the change log: which entries were changed since a cookie, and so may have left a content.
//!
//! The cursor of a refresh finds what is in the content now. What has left it was changed, or deleted, so it is among the changes; those who may read everything may also learn of
//! one that was never in the content. A rename gives other names to entries that no change names, so behind one nobody knows.

use super::{ChangeLog, Kept};
use model::Csn;
use model::limits::TOUCHED_MAX;
use std::sync::atomic::Ordering;

/// A moment up to which all changes of published commands are in the change log when it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Complete(u64);

/// What was changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// The entries, some of them more than once.
    Entries(Vec<[u8; 16]>),
    /// The changes of a command are not there yet.
    NotYet,
    /// It is not known any more.
    Unknown,
}

impl Kept {
    /// Does it know which entries were changed since a CSN? Of those that were changed at that CSN itself it must know too: deletes have none of their own.
    fn reaches(&self, since: Csn) -> bool {
        self.behind_csn < since && self.unlisted < since
    }
}

impl ChangeLog {
    /// When all changes that a read point of before shows will be here.
    pub(crate) fn complete(&self) -> Complete {
        let commands = self.commands.load(Ordering::Acquire);
        Complete(commands + (commands & 1))
    }

    /// Does it know what was changed since a state, by now?
    pub(crate) fn reaches(&self, since: Csn) -> bool {
        self.is_on() && !matches!(self.since(since, u64::MAX), Touched::Unknown)
    }

    /// The entries that were changed since a state, up to a commit sequence. A change of just behind that may be among them, while an index is built.
    pub(crate) fn touched(&self, since: Csn, sequence: u64, complete: Complete) -> Touched {
        match self.commands.load(Ordering::Acquire) < complete.0 {
            true => Touched::NotYet,
            false => self.since(since, sequence),
        }
    }

    fn since(&self, since: Csn, sequence: u64) -> Touched {
        let kept = self.kept();
        let first = kept.changes.partition_point(|change| change.csn < since);
        let count = kept.changes.len() - first;
        if !self.is_on() || !kept.reaches(since) || count > TOUCHED_MAX {
            return Touched::Unknown;
        }
        let mut entries = Vec::with_capacity(count);
        let shown = kept.changes.range(first..).take_while(|change| change.sequence <= sequence);
        // The client has the change with the CSN of its state, and perhaps not the deletes behind it.
        for change in shown.filter(|change| change.csn > since || change.is_delete) {
            match change.uuid.filter(|_| !change.is_rename) {
                Some(uuid) => entries.push(uuid),
                None => return Touched::Unknown,
            }
        }
        Touched::Entries(entries)
    }
}
