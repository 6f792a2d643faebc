//! The entries that have access rules: which they are, and whether any of their rules has changed. What a rule says is not looked at here.
//!
//! There are few, so their ids are kept, as those of aliases are ([`crate::kinds`]); all of them are read when one has changed.

use crate::deferred::Later;
use crate::shard::{ReadPoint, Shard, Writer};
use model::EntryId;
use std::sync::atomic::Ordering;

impl Shard {
    /// Sequence of the last change of an access rule: they are the same at every read point from then on. It may be that
    /// of a batch that is not published yet.
    #[inline]
    pub fn access_rules_changed(&self) -> u64 {
        self.access_rules_changed.load(Ordering::Acquire)
    }
}

impl ReadPoint<'_> {
    /// The entries that have access rules, `max` at most, by rising id.
    pub fn with_access_rules(self, max: usize) -> Vec<EntryId> {
        let mut ids = Vec::new();
        self.shard.kinds.with_access_rules.push_from(0, max, self, &mut ids);
        let has_rules = |id: &u32| self.entry(EntryId(*id)).is_some_and(|entry| entry.shape.has_access_rules);
        ids.into_iter().filter(has_rules).map(EntryId).collect()
    }
}

impl Writer<'_> {
    /// An entry with access rules is about to be seen. One that had some before may have the same.
    pub(crate) fn note_access_rules(&mut self, id: u32) {
        let (shard, view) = (self.shard, self.view());
        if shard.kinds.with_access_rules.insert(id, view, &mut self.state.garbage) {
            self.access_rules_change();
        }
    }

    /// A rule has changed, has come or has gone. Not for other changes of an entry that has some: all rules are read for it.
    pub(crate) fn access_rules_change(&mut self) {
        self.shard.access_rules_changed.store(self.sequence, Ordering::Release);
    }

    /// An entry has no access rules any more, from this batch on.
    pub(crate) fn leave_access_rules(&mut self, id: u32) {
        self.access_rules_change();
        self.later(Later::AccessRules(id));
    }

    /// Forgets that an entry had access rules, unless a version that a reader may see has some.
    pub(crate) fn forget_access_rules(&mut self, id: u32, oldest: u64) {
        let (shard, view) = (self.shard, self.view());
        if !self.any_version(id, oldest, |_, entry| entry.shape.has_access_rules) {
            shard.kinds.with_access_rules.remove(id, view, &mut self.state.garbage);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::apply::ChangeKind;
    use crate::apply::tests::{add, change, delete};
    use crate::shard::reader::Reader;
    use crate::shard::tests::small_shard;

    #[test]
    fn entries_with_rules_are_known_and_changes_are_noted() {
        let shard = small_shard();
        add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
        assert_eq!(shard.access_rules_changed(), 0);
        let unit =
            &[("objectClass", &["organizationalUnit"][..]), ("pandoAccess", &["r: all; users; allow=see"])];
        let id = add(&shard, "ou=a,dc=com", unit).unwrap();
        let noted = shard.access_rules_changed();
        assert_eq!(noted, shard.sequence());
        let mut reader = Reader::register(&shard).unwrap();
        let with = |reader: &mut Reader| reader.pin().read_point().with_access_rules(9);
        assert_eq!(with(&mut reader), [id]);
        // The rules stay where something else of the entry changes.
        change(&shard, "ou=a,dc=com", ChangeKind::Add, "description", &["a", "b"]).unwrap();
        assert_eq!((shard.access_rules_changed(), with(&mut reader)), (noted, vec![id]));
        // Another entry, and the children of this one, have none.
        add(&shard, "ou=b,ou=a,dc=com", &[("objectClass", &["organizationalUnit"])]).unwrap();
        assert_eq!(shard.access_rules_changed(), noted);
        change(&shard, "ou=a,dc=com", ChangeKind::Replace, "pandoAccess", &["s: all; users; allow=see"])
            .unwrap();
        let changed = shard.access_rules_changed();
        assert!(changed > noted && with(&mut reader) == [id]);
        // So many that they are no part of the record, and one more.
        let many: Vec<String> = (0..300).map(|n| format!("r{n}: all; users; allow=see")).collect();
        for some in [&many[..299], &many[299..]] {
            let before = shard.access_rules_changed();
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            change(&shard, "ou=a,dc=com", ChangeKind::Add, "pandoAccess", &some).unwrap();
            assert!(shard.access_rules_changed() > before && with(&mut reader) == [id]);
        }
        let changed = shard.access_rules_changed();
        change(&shard, "ou=a,dc=com", ChangeKind::Delete, "pandoAccess", &[]).unwrap();
        assert!(shard.access_rules_changed() > changed && with(&mut reader).is_empty());
        let unit =
            &[("objectClass", &["organizationalUnit"][..]), ("pandoAccess", &["r: all; users; allow=see"])];
        let other = add(&shard, "ou=c,dc=com", unit).unwrap();
        assert_eq!(with(&mut reader), [other]);
        let before = shard.access_rules_changed();
        delete(&shard, "ou=c,dc=com").unwrap();
        assert!(shard.access_rules_changed() > before && with(&mut reader).is_empty());
    }
}
