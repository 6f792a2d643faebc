//! The last changes of the largest sets of names, as readers ask for them and the writer notes them.

use super::{ReadPoint, Shard};
use crate::record::ValueSet;
use crate::set_changes::{Changed, VALUES_MIN};
use crate::sync::lock;
use model::TypeId;
use schema::Rule;

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
    use crate::set_changes::CHANGES_MAX;
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
