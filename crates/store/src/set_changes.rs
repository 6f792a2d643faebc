//! The last changes of the largest sets of names, as the members of a group are: which values came and went. Who remembers something of such a
//! set looks at these, and not at a million values. Changes of other sets are not kept: those are looked through.
//!
//! They are kept beside the directory and are no part of it. Whether all that a reader asks for are still here is told by what a set has after
//! the last of them; if not, it looks through the set.

use crate::record::ValueSet;
use crate::shard::{ReadPoint, Shard};
use crate::sync::lock;
use model::TypeId;
use schema::Rule;
use std::collections::VecDeque;

/// Sets of fewer values are looked through as fast.
const VALUES_MIN: u32 = 4_096;
/// Changes that are kept.
const CHANGES_MAX: usize = 4_096;
/// Bytes of their values.
const BYTES_MAX: usize = 1 << 20;

/// A change of a set.
struct Changed {
    sequence: u64,
    /// The set as it is then.
    set: ValueSet,
    /// What came, and what went.
    values: Vec<Box<[u8]>>,
}

/// The last changes, by rising sequence.
#[derive(Default)]
pub(crate) struct SetChanges {
    kept: VecDeque<Changed>,
    bytes: usize,
    /// Changes of this sequence and of earlier ones may have been dropped.
    dropped_up_to: u64,
}

impl SetChanges {
    fn put(&mut self, changed: Changed) {
        self.bytes += changed.bytes();
        self.kept.push_back(changed);
        while self.kept.len() > CHANGES_MAX || self.bytes > BYTES_MAX {
            let Some(dropped) = self.kept.pop_front() else { break };
            self.bytes -= dropped.bytes();
            self.dropped_up_to = dropped.sequence;
        }
    }

    /// What came or went between two states of a set. `None` if it is not known.
    fn between(
        &self,
        (before, since): (&ValueSet, u64),
        (now, until): (&ValueSet, u64),
    ) -> Option<Vec<Box<[u8]>>> {
        if self.dropped_up_to > since || before.root != now.root || before.count < VALUES_MIN {
            return None;
        }
        let is_between = |changed: &&Changed| {
            changed.set.root == now.root && changed.sequence > since && changed.sequence <= until
        };
        let mut last = before;
        let mut values = Vec::new();
        for changed in self.kept.iter().filter(is_between) {
            // From a smaller set on there may be changes that are not here.
            if changed.set.count < VALUES_MIN {
                return None;
            }
            last = &changed.set;
            values.extend(changed.values.iter().cloned());
        }
        (last == now).then_some(values)
    }
}

impl Changed {
    fn bytes(&self) -> usize {
        let values = self.values.iter().map(|value| value.len() + size_of::<Box<[u8]>>());
        size_of::<Changed>() + values.sum::<usize>()
    }
}

impl Shard {
    /// A set of an attribute was changed by a batch that is not published yet; it has no values if it is gone.
    pub(crate) fn note_set_change<'v>(
        &self,
        sequence: u64,
        attribute_type: TypeId,
        (before, set): (&ValueSet, ValueSet),
        values: impl Iterator<Item = &'v [u8]>,
    ) {
        let rule = self.schema.attribute_type(attribute_type).equality;
        let is_of_names = matches!(rule, Some(Rule::DistinguishedName | Rule::UniqueMember));
        if is_of_names && before.count.max(set.count) >= VALUES_MIN {
            let values = values.map(Box::from).collect();
            lock(&self.set_changes).put(Changed { sequence, set, values });
        }
    }
}

impl ReadPoint<'_> {
    /// The values that came to a set or went from it since an earlier read point, at which it was `before`. `None` if that is not known: then the
    /// set is to be looked through.
    pub fn changed_values(self, before: &ValueSet, since: u64, now: &ValueSet) -> Option<Vec<Box<[u8]>>> {
        lock(&self.shard.set_changes).between((before, since), (now, self.sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::ChangeKind;
    use crate::apply::tests::{add, change};
    use crate::record::Values;
    use crate::shard::reader::Reader;
    use crate::shard::tests::small_shard;
    use model::EntryId;
    use std::sync::Arc;

    fn set_of(shard: &Arc<Shard>, id: EntryId) -> (ValueSet, u64) {
        let mut reader = Reader::register(shard).unwrap();
        let pin = reader.pin();
        let entry = pin.read_point().entry(id).unwrap();
        let found = entry.slots().find_map(|values| match values {
            Values::Set(set) => Some(set),
            Values::Inline(_) => None,
        });
        (found.unwrap(), pin.read_point().sequence())
    }

    #[test]
    fn changes_of_large_sets_of_names_are_known_for_a_while() {
        let shard = small_shard();
        add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
        let names: Vec<String> = (0..VALUES_MIN).map(|number| format!("cn=m{number},dc=com")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let given = &[("objectClass", &["groupOfNames"][..]), ("member", &names)];
        let id = add(&shard, "cn=g,dc=com", given).unwrap();
        let (first, since) = set_of(&shard, id);
        let known = |before: (ValueSet, u64)| {
            let mut reader = Reader::register(&shard).unwrap();
            let pin = reader.pin();
            let (now, _) = set_of(&shard, id);
            let found = pin.read_point().changed_values(&before.0, before.1, &now);
            found.map(|values| {
                values.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
            })
        };
        let changed = |kind, values: &[&str]| change(&shard, "cn=g,dc=com", kind, "member", values).unwrap();
        assert_eq!(known((first, since)), Some(Vec::<String>::new()));
        changed(ChangeKind::Add, &["cn=x,dc=com", "cn=y,dc=com"]);
        changed(ChangeKind::Delete, &["CN=x,dc=com"]);
        let all = ["cn=x,dc=com", "cn=y,dc=com", "cn=x,dc=com"].map(str::to_owned).to_vec();
        assert_eq!(known((first, since)), Some(all));
        let (second, middle) = set_of(&shard, id);
        assert_eq!(known((second, middle)), Some(Vec::new()));
        // Of a state that was never, or is no longer known, nothing is said.
        assert_eq!(known((ValueSet { count: 1, ..first }, since)), None);
        assert_eq!(known((ValueSet { root: first.root + 1, ..first }, since)), None);
        for number in 0..CHANGES_MAX {
            changed(ChangeKind::Add, &[&format!("cn=n{number},dc=com")]);
        }
        assert_eq!(known((first, since)), None);
        assert_eq!(known((second, middle)).map(|values| values.len()), Some(CHANGES_MAX));
        // A set that is replaced is another one.
        let (last, since) = set_of(&shard, id);
        changed(ChangeKind::Replace, &names);
        assert_eq!(known((last, since)), None);
    }
}
