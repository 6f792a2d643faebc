use crate::apply::ChangeKind;
use crate::apply::tests::{add, change, equality, find};
use crate::hash::tag;
use crate::index::kind::IndexKind;
use crate::index::settings::IndexSettings;
use crate::shard::tests::shard_with;
use model::Scope;
use std::collections::BTreeMap;

/// Two values of an entry may have one key: an index keeps no more than 32 bits of a hash. When one of them goes, the other
/// must be found.
#[test]
fn a_key_stays_while_another_value_has_it() {
    let index = IndexSettings::of("description", [IndexKind::Equality]);
    let shard = shard_with(vec![index]);
    add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    let many: Vec<String> = (0..2000).map(|n| format!("{n:05} member")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (dn, values) in [("ou=few,dc=com", &many[..2]), ("ou=many,dc=com", &many)] {
        add(&shard, dn, &[("objectClass", &["organizationalUnit"]), ("description", values)]).unwrap();
    }
    let description = shard.schema.find_type(b"description").unwrap();
    let mut by_tag = BTreeMap::new();
    let same = (0..400_000).find_map(|n| {
        let value = format!("v{n}");
        let mut normal = Vec::new();
        shard.schema.normalise_equality(description, value.as_bytes(), &mut normal).unwrap();
        let key = tag(shard.value_hash(&normal));
        by_tag.insert(key, value.clone()).map(|other| [other, value])
    });
    let [gone, stays] = same.expect("there are two among so many");
    for dn in ["ou=few,dc=com", "ou=many,dc=com"] {
        change(&shard, dn, ChangeKind::Add, "description", &[&gone, &stays]).unwrap();
        change(&shard, dn, ChangeKind::Delete, "description", &[&gone]).unwrap();
    }
    for _ in 0..3 {
        shard.writer().publish();
    }
    let mut found = find(&shard, "dc=com", Scope::Subtree, &equality("description", &stays));
    found.sort();
    assert_eq!(found, ["ou=few,dc=com", "ou=many,dc=com"]);
    assert_eq!(shard.writer().check(9), []);
}
