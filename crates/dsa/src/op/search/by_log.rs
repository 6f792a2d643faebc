//! A refresh that says what is gone, and not what is unchanged (RFC 4533 section 3.3.2): the change log knows which entries were changed since the cookie.
//!
//! ```text
//! changed since, in the content now       sent, as in any refresh
//! changed since or deleted, not in it     its entryUUID is said to be gone, whether the client has it or not
//! not changed                             not named
//! ```
//! That names entries that the client was never sent. So it is for those who may read everything, as the change log itself is. For all others, and behind
//! a rename, which moves entries that no change names, the entries that are unchanged are named instead.

use super::batch::Lost;
use super::follow::Following;
use crate::change_log::{ChangeLog, Complete, Touched};
use crate::engine::Dsa;
use model::limits::TOUCHED_MAX;
use proto::control::content_sync::SyncInfo;
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

impl Following {
    /// The client has a state of before, and its requester may read everything: goes by the change log if that reaches as far. The read point of the
    /// refresh was taken before.
    pub(super) fn go_by_log(&mut self, log: &ChangeLog) {
        let Some(since) = self.since.filter(|_| !self.has_all) else { return };
        let complete = log.complete();
        if log.reaches(since) {
            self.by_log = Some(Box::new(ByLog { complete, sent: BTreeSet::new() }));
        }
    }

    /// All of the content was sent that has changed: says what is gone. `false` if that is not known yet, but before long.
    ///
    /// # Errors
    /// When it is not known any more.
    pub(super) fn say_gone(
        &mut self,
        dsa: &Dsa,
        (message_id, read_point): (i32, ReadPoint<'_>),
        out: &mut Vec<u8>,
    ) -> Result<bool, Lost> {
        let (Some(since), Some(by_log)) = (self.since, &self.by_log) else { return Ok(true) };
        let uuids = match dsa.change_log.touched(since, read_point.sequence(), by_log.complete) {
            Touched::Entries(uuids) => uuids,
            Touched::NotYet => return Ok(false),
            Touched::Unknown => return Err(Lost),
        };
        let gone: BTreeSet<[u8; 16]> = uuids.into_iter().filter(|uuid| !by_log.sent.contains(uuid)).collect();
        if !gone.is_empty() {
            let uuids: Vec<[u8; 16]> = gone.into_iter().collect();
            // In one message, as at the end of a batch.
            let cookie = self.cookie(read_point.shard(), self.reached);
            SyncInfo::IdSet { deletes: true, cookie: Some(&cookie), uuids: &uuids }.encode(out, message_id);
        }
        Ok(true)
    }
}
