//! What a server keeps of an entry for itself, and writes without changing the entry: who reads entryCSN or modifyTimestamp learns of a change
//! that a client made, and of nothing else.

use super::{Change, ChangeKind, Modify};
use crate::refused::Refused;
use crate::shard::Writer;
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
        let stamps = old.stamps();
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
