//! What a server keeps of an entry for itself, and writes without changing the entry: who reads entryCSN or modifyTimestamp learns of a change
//! that a client made, and of nothing else.

use super::{Change, ChangeKind, Modify};
use crate::faults::holes;
use crate::refused::Refused;
use crate::shard::Writer;
use crate::stream::EntryChangeKind;
use env::planted;
use model::EntryId;

impl Writer<'_> {
    /// Gives attributes of an entry other values, or none. It is written like a modify, but for its CSN, its times and their names, which stay.
    ///
    /// # Errors
    /// As of a modify; also without such an entry.
    pub fn keep(&mut self, id: EntryId, changes: &[Change<'_>]) -> Result<(), Refused> {
        assert!(
            changes.iter().all(|change| change.kind == ChangeKind::Replace),
            "what a server keeps is said whole, so that it may be said twice"
        );
        let old = self.view().entry(id).ok_or(Refused::NoSuchObject { matched: None })?;
        let mut stamps = old.stamps();
        if planted::is(holes::KEPT_IS_A_CHANGE) {
            stamps.modified = Some((self.last_csn(), stamps.creator));
        }
        if planted::is(holes::KEPT_IS_AN_EVENT) {
            self.note_change(id, EntryChangeKind::Modify);
        }
        self.change(
            &old,
            &Modify {
                dn: b"",
                changes,
                keep_operational: false,
                is_permissive: false,
                is_relaxed: false,
                known: None,
            },
            stamps,
            None,
        )
    }
}
