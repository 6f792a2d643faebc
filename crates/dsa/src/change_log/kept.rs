//! Which changes are kept, which of them goes next, and what content synchronisation asks of them.
//!
//! A change is kept in one of two forms: as bytes, or as an entry in the shard of the server's own. The oldest are entries, up to one behind which none is.
//!
//! ```text
//! gone              entries that are to be deleted     [`Kept::next_step`], before another change is stored
//! changes[..stored]   entries                            their bytes are dropped when the entries are visible ([`Kept::settle`])
//! changes[stored..]   bytes                              until somebody reads the change log
//! ```

use super::entry::Recent;
use crate::offer::Offer;
use crate::system::{ROOT_DSES, Update};
use model::Csn;
use std::collections::VecDeque;
use std::sync::Arc;

/// Attributes of the root DSE: the bounds of what is kept.
pub(super) const FIRST: &str = "firstChangeNumber";
pub(super) const LAST: &str = "lastChangeNumber";

/// Entries of changes that are gone, and their share of the bytes that may be kept, from which on they are deleted without a reader.
const GONE_MAX: usize = 64;
const GONE_SHARE: u64 = 16;

/// A change.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) number: u64,
    pub(super) wall_ms: u64,
    /// What it counts, in either form: what its entry takes, which is more.
    pub(super) bytes: u64,
    /// What its entry will have ([`super::record`]); `None` once that is there.
    pub(super) values: Option<Arc<[u8]>>,
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
    /// So many of them, from the oldest on, are entries.
    stored: usize,
    /// Entries of changes that are not kept any more: number and bytes.
    gone: VecDeque<(u64, u64)>,
    gone_bytes: u64,
    /// Changes up to this number are not kept.
    pub(super) behind: u64,
    /// No change that is not kept was made at a later CSN.
    pub(super) behind_csn: Csn,
    /// Nor was one that is not listed, later than this.
    pub(super) unlisted: Csn,
    /// First and last number, as each root DSE shows them.
    pub(super) shown: [(u64, u64); Offer::COUNT],
    /// For the next change: memory for its bytes, and what it may have in common with the last.
    pub(super) spare: (Vec<u8>, Recent),
}

/// What brings the entries closer to what is kept.
#[derive(Debug)]
pub(super) enum Step {
    /// The entry of this change is to be deleted.
    Delete(u64),
    /// This change is to be stored, with these values.
    Store(u64, Arc<[u8]>),
}

impl Kept {
    /// Nothing of what was changed up to this number, and up to this CSN.
    pub(super) fn begin_behind(&mut self, behind: u64, behind_csn: Csn) {
        self.drop_oldest(|_, _| true);
        (self.behind, self.behind_csn, self.unlisted) = (behind, behind_csn, behind_csn);
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

    /// Drops the oldest changes, as long as each is one that goes, given the bytes of all.
    pub(super) fn drop_oldest(&mut self, goes: impl Fn(&Change, u64) -> bool) {
        while self.changes.front().is_some_and(|oldest| goes(oldest, self.bytes)) {
            let Some(oldest) = self.changes.pop_front() else { return };
            self.bytes -= oldest.bytes;
            self.behind = oldest.number;
            self.behind_csn = self.behind_csn.max(oldest.csn);
            if self.stored > 0 {
                self.stored -= 1;
                self.gone.push_back((oldest.number, oldest.bytes));
                self.gone_bytes += oldest.bytes;
            }
        }
    }

    /// What is to be done next, so that changes up to this number are entries, and none that is gone. It counts as done from now on. In the role of
    /// the writer of the server's own entries.
    ///
    /// What is gone goes first: so the entries that are there always follow each other.
    pub(super) fn next_step(&mut self, until: u64) -> Option<Step> {
        if let Some(number) = self.next_gone() {
            return Some(Step::Delete(number));
        }
        let next = self.changes.get(self.stored).filter(|change| change.number <= until)?;
        self.stored += 1;
        let values = next.values.as_ref().expect("it is no entry yet");
        Some(Step::Store(next.number, Arc::clone(values)))
    }

    /// An entry that is to be deleted. It counts as deleted from now on.
    pub(super) fn next_gone(&mut self) -> Option<u64> {
        let (number, bytes) = self.gone.pop_front()?;
        self.gone_bytes -= bytes;
        Some(number)
    }

    /// Are there so many entries to be deleted that this cannot wait for a reader?
    pub(super) fn is_much_gone(&self, bytes_max: u64) -> bool {
        self.gone.len() >= GONE_MAX || self.gone_bytes > bytes_max / GONE_SHARE
    }

    /// All entries that were to be stored are visible: their changes are not kept twice. In the role of the writer.
    pub(super) fn settle(&mut self) {
        // Those before the last that has no bytes were settled before.
        let stored = self.changes.range_mut(..self.stored).rev();
        stored.map_while(|change| change.values.take()).for_each(drop);
    }

    /// Are all changes up to this number entries that are visible, and no others?
    pub(super) fn is_stored(&self, until: u64) -> bool {
        let is_settled = |last: usize| self.changes[last].values.is_none();
        self.gone.is_empty()
            && self.changes.get(self.stored).is_none_or(|next| next.number > until)
            && self.stored.checked_sub(1).is_none_or(is_settled)
    }

    /// How many are entries, with those that are gone.
    pub(super) fn entries(&self) -> usize {
        self.stored + self.gone.len()
    }
}
