//! Which changes are kept. Their entries are in the shard of the server's own; here is what says which of them goes next, and what content synchronisation
//! asks of them.

use crate::offer::Offer;
use crate::system::{ROOT_DSES, Update};
use model::Csn;
use std::collections::VecDeque;

/// Attributes of the root DSE: the bounds of what is kept.
pub(super) const FIRST: &str = "firstChangeNumber";
pub(super) const LAST: &str = "lastChangeNumber";

/// A change, without what its entry has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) number: u64,
    pub(super) wall_ms: u64,
    pub(super) bytes: u64,
    /// The last CSN that was given when it was made. A delete has none of its own.
    pub(super) csn: Csn,
    /// The commit sequence with which it became visible; 0 of one that an earlier start has made.
    pub(super) sequence: u64,
    /// The entryUUID of its entry, if it has one.
    pub(super) uuid: Option<[u8; 16]>,
    /// Did it give names to other entries than its own?
    pub(super) is_rename: bool,
    /// Is its entry gone?
    pub(super) is_delete: bool,
}

/// The changes that are kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) changes: VecDeque<Change>,
    pub(super) bytes: u64,
    /// Changes up to this number are not kept.
    pub(super) behind: u64,
    /// No change that is not kept was made at a later CSN.
    pub(super) behind_csn: Csn,
    /// Nor was one that is not listed, later than this.
    pub(super) unlisted: Csn,
    /// First and last number, as each root DSE shows them.
    pub(super) shown: [(u64, u64); Offer::COUNT],
}

impl Kept {
    /// Nothing of what was changed up to this number, and up to this CSN.
    pub(super) fn none_up_to(behind: u64, behind_csn: Csn) -> Kept {
        Kept { behind, behind_csn, unlisted: behind_csn, ..Kept::default() }
    }

    /// The least number that a change which is not there cannot have.
    fn first(&self) -> u64 {
        self.behind + 1
    }

    /// The number of the newest change; where none is kept, the greatest that one which is gone may have.
    pub(super) fn last(&self) -> u64 {
        self.changes.back().map_or(self.behind, |change| change.number)
    }

    /// First and last number.
    fn bounds(&self) -> (u64, u64) {
        (self.first(), self.last())
    }

    /// Does the root DSE with this number show the bounds, and does no change go? Then there is nothing to be brought up to date.
    pub(super) fn is_shown(&self, offer: usize, goes: impl FnOnce(&Change, u64) -> bool) -> bool {
        let none_goes = !self.changes.front().is_some_and(|oldest| goes(oldest, self.bytes));
        none_goes && self.shown[offer] == self.bounds()
    }

    /// Shows the bounds in the root DSE with this number, if they have changed. No first number is 0.
    pub(super) fn show(&mut self, update: &mut Update<'_>, offer: usize) {
        let (first, last) = self.bounds();
        if std::mem::replace(&mut self.shown[offer], (first, last)) != (first, last) {
            let bounds = [(FIRST, vec![first.to_string()]), (LAST, vec![last.to_string()])];
            update.replace(ROOT_DSES[offer], bounds);
        }
    }

    /// Keeps a change, which is the newest.
    pub(super) fn push(&mut self, change: Change) {
        assert!(self.last() < change.number, "changes are put in the order of the log");
        self.bytes += change.bytes;
        self.changes.push_back(change);
    }

    /// Drops the oldest, if it is to go.
    pub(super) fn pop_if(&mut self, goes: impl FnOnce(&Change, u64) -> bool) -> Option<u64> {
        let oldest = *self.changes.front().filter(|oldest| goes(oldest, self.bytes))?;
        self.changes.pop_front();
        (self.bytes, self.behind) = (self.bytes - oldest.bytes, oldest.number);
        self.behind_csn = self.behind_csn.max(oldest.csn);
        Some(oldest.number)
    }
}
