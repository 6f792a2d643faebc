//! The entry that somebody is.
//!
//! Rights that come of being somebody hang on the entry and not on its name. Names are given again when an entry is gone; so are ids,
//! but never with the same time of creation. A session whose entry was deleted is nobody's self any more, also if another one has its
//! name and its id by then.

use crate::faults::holes;
use env::planted;
use model::{Csn, EntryId};
use store::{EntryRef, ReadPoint};

/// One entry, whatever its name is: an id is given again, but not with the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnEntry {
    id: EntryId,
    created: Csn,
}

impl OwnEntry {
    /// At the bind, whose read point has the entry.
    pub(crate) fn of(entry: &EntryRef<'_>) -> OwnEntry {
        OwnEntry { id: entry.id, created: entry.stamps().created }
    }

    /// It in octets, for a hash.
    pub(crate) fn octets(self) -> Vec<u8> {
        [&self.id.0.to_be_bytes()[..], &self.created.0.to_be_bytes()].concat()
    }

    /// May it be the entry with this id?
    #[inline]
    pub(crate) fn has(self, id: EntryId) -> bool {
        self.id == id
    }

    /// Is it this entry? Nearly always the id says no.
    #[inline]
    pub(crate) fn is(self, entry: &EntryRef<'_>) -> bool {
        self.id == entry.id && (self.created == entry.stamps().created || planted::is(holes::ID_GIVEN_AGAIN))
    }

    /// The entry, under whatever name it is there now. `None` if it is gone: one that was added under its name since is another.
    pub(crate) fn find<'r>(self, read_point: ReadPoint<'r>) -> Option<EntryRef<'r>> {
        read_point.entry(self.id).filter(|entry| entry.stamps().created == self.created)
    }
}
