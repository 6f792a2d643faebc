//! The entry that somebody is.

use model::{Csn, EntryId};
use store::{EntryRef, ReadPoint};

/// One entry, whatever its name is: an id is given again, but not with the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnEntry {
    id: EntryId,
    created: Csn,
}

impl OwnEntry {
    pub(crate) fn of(entry: &EntryRef<'_>) -> OwnEntry {
        OwnEntry { id: entry.id, created: entry.stamps().created }
    }

    /// May it be the entry with this id?
    #[inline]
    pub(crate) fn has(self, id: EntryId) -> bool {
        self.id == id
    }

    /// Is it this entry? Nearly always the id says no.
    #[inline]
    pub(crate) fn is(self, entry: &EntryRef<'_>) -> bool {
        self.id == entry.id && self.created == entry.stamps().created
    }

    /// The entry, under whatever name it is there now. `None` if it is gone: one that was added under its name since is another.
    pub(crate) fn find<'r>(self, read_point: ReadPoint<'r>) -> Option<EntryRef<'r>> {
        read_point.entry(self.id).filter(|entry| entry.stamps().created == self.created)
    }
}
