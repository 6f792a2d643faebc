//! A refresh that says what is gone, and not what is unchanged (RFC 4533 section 3.3.2): the change log knows which entries were changed since the cookie.
//!
//! ```text
//! changed since, in the content now       sent, as in any refresh
//! changed since or deleted, not in it     its entryUUID is said to be gone, whether the client has it or not
//! not changed                             not named
//! ```
//! Who falls behind what is kept has the other form of a refresh, which is longer and never wrong: it names each entry of the content.
//! What was sent is remembered until the refresh ends, up to a bound; beyond it nothing is said to be gone that might be there.
//! Nothing of this is kept for the next refresh, which asks the change log again from the cookie that this one ends with.
//! So a restart in between costs the client nothing.
//! A search without a cookie has no state of before and comes here never.
//! That names entries that the client was never sent. So it is for those who may read everything, as the change log itself is. For all others, and behind
//! a rename, which moves entries that no change names, the entries that are unchanged are named instead.

use super::batch::Lost;
use crate::change_log::ChangeLog;
use crate::change_log::touched::{Complete, Touched};
use crate::engine::Dsa;
use model::Csn;
use model::limits::TOUCHED_MAX;
use std::collections::BTreeSet;
use store::ReadPoint;

/// See the module.
pub(super) struct ByLog {
    /// When all changes are in the change log that the read point shows.
    complete: Complete,
    /// What was sent: it was changed, and is in the content.
    sent: BTreeSet<[u8; 16]>,
}

impl ByLog {
    /// `None` if the change log does not reach back to the state that the client has. The read point of the refresh was taken before.
    pub(super) fn begin(log: &ChangeLog, since: Csn) -> Option<Box<ByLog>> {
        let complete = log.complete();
        log.reaches(since).then(|| Box::new(ByLog { complete, sent: BTreeSet::new() }))
    }

    /// What was changed since and was not sent, so that it is gone. `None` if that is not known yet, but before long.
    ///
    /// # Errors
    /// When it is not known any more.
    pub(super) fn gone(
        &self,
        dsa: &Dsa,
        since: Csn,
        read_point: ReadPoint<'_>,
    ) -> Result<Option<Vec<[u8; 16]>>, Lost> {
        let uuids = match dsa.change_log.touched(since, read_point.sequence(), self.complete) {
            Touched::Entries(uuids) => uuids,
            Touched::NotYet => return Ok(None),
            Touched::Unknown => return Err(Lost),
        };
        let gone: BTreeSet<[u8; 16]> = uuids.into_iter().filter(|uuid| !self.sent.contains(uuid)).collect();
        Ok(Some(gone.into_iter().collect()))
    }

    /// An entry is sent.
    pub(super) fn note_sent(&mut self, uuid: [u8; 16]) {
        // More than can have been changed: then it is not known any more what was.
        if self.sent.len() <= TOUCHED_MAX {
            self.sent.insert(uuid);
        }
    }

    /// Bytes that it takes, about.
    pub(super) fn heap_bytes(&self) -> usize {
        self.sent.len() * 2 * size_of::<[u8; 16]>()
    }
}
