use super::*;
use crate::dn_cache::DnCache;
use crate::search::evaluate::Evaluator;
use crate::search::{Compiled, Cursor, Scopes, Step};
use crate::shard::Shard;
use crate::shard::reader::Reader;
use crate::shard::tests::shard_with;
use model::filter::{Assertion, Filter};
use model::{Entry, ResultCode, Scope};
use std::sync::Arc;

pub(crate) fn stamp(writer: &mut Writer<'_>) -> Stamp {
    Stamp { csn: writer.stamp(1_767_323_045_000), actor: 0 }
}

pub(crate) fn add(shard: &Shard, dn: &str, attributes: &[(&str, &[&str])]) -> Result<EntryId, Refused> {
    let mut entry = Entry::new();
    for (name, values) in attributes {
        entry.push_attribute(shard.schema.intern_description(name.as_bytes()).expect("a known type"));
        values.iter().for_each(|value| entry.push_value(value.as_bytes()));
    }
    let mut writer = shard.writer();
    let stamp = stamp(&mut writer);
    let outcome = writer.add(Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: false }, stamp);
    writer.publish();
    outcome
}

pub(crate) fn change(
    shard: &Shard,
    dn: &str,
    kind: ChangeKind,
    name: &str,
    values: &[&str],
) -> Result<EntryId, Refused> {
    let description = shard.schema.intern_description(name.as_bytes()).expect("a known type");
    let values = values.iter().map(|v| v.as_bytes()).collect();
    let changes = [Change { kind, description, values }];
    let mut writer = shard.writer();
    let stamp = stamp(&mut writer);
    let modify = Modify {
        dn: dn.as_bytes(),
        changes: &changes,
        keep_operational: false,
        is_permissive: false,
        is_relaxed: false,
        known: None,
    };
    let outcome = writer.modify(modify, stamp);
    writer.publish();
    outcome
}

pub(crate) fn delete(shard: &Shard, dn: &str) -> Result<EntryId, Refused> {
    let mut writer = shard.writer();
    let outcome = writer.delete(dn.as_bytes());
    writer.publish();
    outcome
}

fn rename(
    shard: &Shard,
    dn: &str,
    new_rdn: &str,
    delete_old_rdn: bool,
    superior: Option<&str>,
) -> Result<EntryId, Refused> {
    let mut writer = shard.writer();
    let stamp = stamp(&mut writer);
    let new_superior = superior.map(str::as_bytes);
    let modify_dn = ModifyDn { dn: dn.as_bytes(), new_rdn: new_rdn.as_bytes(), delete_old_rdn, new_superior };
    let outcome = writer.modify_dn(modify_dn, stamp);
    writer.publish();
    outcome
}

fn code<T>(outcome: Result<T, Refused>) -> ResultCode {
    outcome.err().map_or(ResultCode::Success, |refused| refused.result_code())
}

/// DNs that a search finds, sorted.
pub(crate) fn find(shard: &Arc<Shard>, base: &str, scope: Scope, filter: &Filter<'_>) -> Vec<String> {
    let mut reader = Reader::register(shard).expect("a slot is free");
    let pin = reader.pin();
    let point = pin.read_point();
    let mut evaluator = Evaluator::default();
    let base = point.resolve(base.as_bytes(), &mut evaluator.cache).expect("the base exists");
    let compiled = Compiled::new(filter, shard, &|_| true);
    let mut cursor = Cursor::open(point, Scopes::new(base, scope), compiled, None);
    let mut found = Vec::new();
    loop {
        match cursor.step(point, &mut evaluator, &mut 1000) {
            Step::Entry(entry) => {
                let mut dn = Vec::new();
                point.write_dn(&entry, &mut evaluator.cache, &mut dn);
                found.push(String::from_utf8(dn).expect("a DN is text"));
            }
            Step::Pause => {}
            Step::End => break,
        }
    }
    found.sort();
    found
}

pub(crate) fn equality<'f>(attribute: &'f str, value: &'f str) -> Filter<'f> {
    Filter::Equality(Assertion { attribute: attribute.as_bytes(), value: value.as_bytes() })
}

const PERSON: [(&str, &[&str]); 2] = [("objectClass", &["inetOrgPerson"]), ("sn", &["x"])];

fn indexed() -> Arc<Shard> {
    let indexes = ["cn:eq,pres,sub", "uid:eq,pres", "member:eq,pres", "uidNumber:eq,pres,ord"];
    shard_with(indexes.map(|text| text.parse().expect("it is of the form")).into())
}

fn populated() -> Arc<Shard> {
    let shard = indexed();
    add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    add(&shard, "ou=a,dc=com", &[("objectClass", &["organizationalUnit"])]).unwrap();
    add(&shard, "ou=b,dc=com", &[("objectClass", &["organizationalUnit"])]).unwrap();
    for n in 0..20 {
        let dn = format!("cn=Person {n},ou=a,dc=com");
        add(&shard, &dn, &[PERSON[0], PERSON[1], ("uid", &[&format!("p{n}")])]).unwrap();
    }
    shard
}

#[test]
fn what_is_added_is_found() {
    let shard = populated();
    assert_eq!(
        find(&shard, "dc=com", Scope::Subtree, &equality("cn", "person  7")),
        ["cn=Person 7,ou=a,dc=com"]
    );
    assert_eq!(find(&shard, "DC=COM", Scope::Subtree, &equality("UID", "P3")).len(), 1);
    assert_eq!(find(&shard, "ou=a,dc=com", Scope::One, &Filter::And(vec![])).len(), 20);
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &Filter::Present(b"objectClass")).len(), 23);
    assert_eq!(find(&shard, "dc=com", Scope::Subordinates, &equality("objectClass", "person")).len(), 20);
    assert_eq!(find(&shard, "dc=com", Scope::One, &equality("hasSubordinates", "TRUE")), ["ou=a,dc=com"]);
    assert_eq!(find(&shard, "dc=com", Scope::One, &equality("numSubordinates", "20")), ["ou=a,dc=com"]);
}

#[test]
fn adds_are_refused_for_good_reasons() {
    let shard = populated();
    assert_eq!(code(add(&shard, "cn=person 1,ou=a,dc=com", &PERSON)), ResultCode::EntryAlreadyExists);
    assert_eq!(code(add(&shard, "cn=x,ou=none,dc=com", &PERSON)), ResultCode::NoSuchObject);
    assert_eq!(code(add(&shard, "cn=x,dc=org", &PERSON)), ResultCode::NoSuchObject);
    assert_eq!(code(add(&shard, "nope=x,dc=com", &PERSON)), ResultCode::InvalidDnSyntax);
    assert_eq!(code(add(&shard, "cn=x,dc=com", &[PERSON[0]])), ResultCode::ObjectClassViolation);
    assert_eq!(shard.entries(), 23);
}

#[test]
fn modify_keeps_indexes_in_step() {
    let shard = populated();
    let dn = "cn=Person 1,ou=a,dc=com";
    change(&shard, dn, ChangeKind::Replace, "uid", &["new"]).unwrap();
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", "p1")).len(), 0);
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", "new")), [dn]);
    change(&shard, dn, ChangeKind::Add, "uid", &["p1", "other"]).unwrap();
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", "p1")), [dn]);
    assert_eq!(
        code(change(&shard, dn, ChangeKind::Add, "uid", &["OTHER"])),
        ResultCode::AttributeOrValueExists
    );
    assert_eq!(code(change(&shard, dn, ChangeKind::Delete, "uid", &["none"])), ResultCode::NoSuchAttribute);
    assert_eq!(code(change(&shard, dn, ChangeKind::Delete, "cn", &[])), ResultCode::NotAllowedOnRdn);
    assert_eq!(code(change(&shard, dn, ChangeKind::Delete, "sn", &[])), ResultCode::ObjectClassViolation);
    assert_eq!(
        code(change(&shard, dn, ChangeKind::Replace, "entryUUID", &["x"])),
        ResultCode::ConstraintViolation
    );
    change(&shard, dn, ChangeKind::Delete, "uid", &[]).unwrap();
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", "new")).len(), 0);
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &Filter::Present(b"uid")).len(), 19);
}

#[test]
fn a_subtree_moves_with_its_root() {
    let shard = populated();
    rename(&shard, "ou=a,dc=com", "ou=c", true, Some("ou=b,dc=com")).unwrap();
    assert_eq!(
        find(&shard, "dc=com", Scope::Subtree, &equality("uid", "p3")),
        ["cn=Person 3,ou=c,ou=b,dc=com"]
    );
    assert_eq!(find(&shard, "ou=b,dc=com", Scope::Subtree, &Filter::And(vec![])).len(), 22);
    assert_eq!(find(&shard, "dc=com", Scope::One, &Filter::And(vec![])), ["ou=b,dc=com"]);
    assert_eq!(
        code(rename(&shard, "ou=b,dc=com", "ou=b", true, Some("ou=c,ou=b,dc=com"))),
        ResultCode::UnwillingToPerform
    );
    assert_eq!(code(delete(&shard, "ou=b,dc=com")), ResultCode::NotAllowedOnNonLeaf);
    let mut cache = DnCache::default();
    assert!(shard.unpinned().resolve(b"ou=a,dc=com", &mut cache).is_err());
}

#[test]
fn renames_keep_or_drop_the_old_value() {
    let shard = populated();
    rename(&shard, "cn=Person 1,ou=a,dc=com", "cn=One", false, None).unwrap();
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("cn", "Person 1")), ["cn=One,ou=a,dc=com"]);
    rename(&shard, "cn=One,ou=a,dc=com", "cn=Two+uid=two", true, None).unwrap();
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("cn", "One")).len(), 0);
    let both = find(&shard, "dc=com", Scope::Subtree, &equality("uid", "two"));
    assert_eq!(both, ["cn=Two+uid=two,ou=a,dc=com"]);
    change(&shard, "UID=TWO+cn=two,ou=a,dc=com", ChangeKind::Replace, "sn", &["y"]).unwrap();
    assert_eq!(
        code(rename(&shard, "cn=Person 2,ou=a,dc=com", "cn=person 3", true, None)),
        ResultCode::EntryAlreadyExists
    );
    rename(&shard, "cn=Person 2,ou=a,dc=com", "cn=PERSON 2", true, None).unwrap();
    assert_eq!(
        find(&shard, "dc=com", Scope::Subtree, &equality("cn", "person 2")),
        ["cn=PERSON 2,ou=a,dc=com"]
    );
}

#[test]
fn deleted_entries_are_gone_and_their_ids_come_back() {
    let shard = populated();
    let id = delete(&shard, "cn=Person 5,ou=a,dc=com").unwrap();
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", "p5")).len(), 0);
    let again = add(&shard, "cn=Person 5,ou=a,dc=com", &[PERSON[0], PERSON[1], ("uid", &["p5"])]).unwrap();
    assert_eq!(id, again);
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", "p5")).len(), 1);
    assert_eq!(shard.entries(), 23);
}

#[test]
fn big_sets_grow_and_shrink() {
    let shard = populated();
    let members: Vec<String> = (0..5000).map(|n| format!("cn=Member {n},ou=x,dc=com")).collect();
    let refs: Vec<&str> = members.iter().map(String::as_str).collect();
    let group = "cn=group,dc=com";
    add(&shard, group, &[("objectClass", &["groupOfNames"]), ("member", &refs)]).unwrap();
    let count = |n: usize| {
        find(&shard, "dc=com", Scope::Subtree, &equality("member", &format!("CN=member {n},ou=X,dc=com")))
            .len()
    };
    assert_eq!((count(0), count(4999), count(5000)), (1, 1, 0));
    assert_eq!(
        code(change(&shard, group, ChangeKind::Add, "member", &[refs[17]])),
        ResultCode::AttributeOrValueExists
    );
    change(&shard, group, ChangeKind::Add, "member", &["cn=Member 5000,ou=x,dc=com"]).unwrap();
    change(&shard, group, ChangeKind::Delete, "member", &[refs[0], refs[4999]]).unwrap();
    assert_eq!((count(0), count(4999), count(5000)), (0, 0, 1));
    assert_eq!(
        code(change(&shard, group, ChangeKind::Delete, "member", &[refs[0]])),
        ResultCode::NoSuchAttribute
    );
    change(&shard, group, ChangeKind::Replace, "description", &["still a group"]).unwrap();
    assert_eq!(count(77), 1);
    assert_eq!(
        code(change(&shard, group, ChangeKind::Delete, "member", &[])),
        ResultCode::ObjectClassViolation
    );
    change(&shard, group, ChangeKind::Replace, "member", &[refs[3]]).unwrap();
    assert_eq!((count(3), count(77), count(5000)), (1, 0, 0));
    delete(&shard, group).unwrap();
    assert_eq!(count(3), 0);
}

#[test]
fn numbers_are_incremented_and_ordered() {
    let shard = populated();
    let posix = [
        ("objectClass", &["account", "posixAccount"][..]),
        ("cn", &["u"]),
        ("gidNumber", &["1"]),
        ("homeDirectory", &["/"]),
    ];
    for n in [5, 50, 500] {
        let number = n.to_string();
        let mut attributes = posix.to_vec();
        let values: [&str; 1] = [&number];
        attributes.push(("uidNumber", &values));
        add(&shard, &format!("uid=u{n},dc=com"), &attributes).unwrap();
    }
    let at_least =
        |n: &'static str| Filter::GreaterOrEqual(Assertion { attribute: b"uidNumber", value: n.as_bytes() });
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &at_least("50")).len(), 2);
    change(&shard, "uid=u5,dc=com", ChangeKind::Increment, "uidNumber", &["100"]).unwrap();
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &at_least("50")).len(), 3);
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uidNumber", "105")).len(), 1);
    assert_eq!(
        code(change(&shard, "uid=u5,dc=com", ChangeKind::Increment, "cn", &["1"])),
        ResultCode::ConstraintViolation
    );
}

#[test]
fn memory_has_a_limit() {
    let shard = populated();
    let value = "x".repeat(60_000);
    let outcome = (0..100_000).try_for_each(|n| {
        let dn = format!("cn=big {n},dc=com");
        add(&shard, &dn, &[PERSON[0], PERSON[1], ("description", &[&value])]).map(|_| ())
    });
    assert_eq!(code(outcome), ResultCode::AdminLimitExceeded);
    assert!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", "p5")).len() == 1);
}

/// A full directory takes nothing more, but can be changed and shrunk: then there is room again.
#[test]
fn a_full_directory_can_be_changed_and_shrunk() {
    let shard = populated();
    let (long, same) = ("x".repeat(20_000), "y".repeat(20_000));
    let fill = |from: usize| {
        let big = |n: &usize| {
            let dn = format!("cn=big {n},dc=com");
            code(add(&shard, &dn, &[PERSON[0], PERSON[1], ("description", &[&long])])) == ResultCode::Success
        };
        (from..100_000).take_while(big).count()
    };
    let count = fill(0);
    let give = |n: usize, value: &str| {
        code(change(&shard, &format!("cn=big {n},dc=com"), ChangeKind::Replace, "description", &[value]))
    };
    // Three times as much is written as there is room for.
    for n in 0..3 * count {
        assert_eq!(
            give(n % count, if n / count % 2 == 0 { &same } else { &long }),
            ResultCode::Success,
            "{n}"
        );
    }
    assert_eq!(give(0, &"z".repeat(40_000)), ResultCode::AdminLimitExceeded);
    assert_eq!(code(rename(&shard, "cn=big 1,dc=com", "cn=bug 1", true, None)), ResultCode::Success);
    delete(&shard, "cn=bug 1,dc=com").unwrap();
    for n in 2..count {
        delete(&shard, &format!("cn=big {n},dc=com")).unwrap();
    }
    // Refused ones ask for the cleaner.
    let again = (0..1000).map(|_| fill(count)).find(|added| *added > 0).expect("there is room");
    assert!(again > count / 2, "{again} of {count}");
}

#[test]
fn a_change_outdates_imported_stamps() {
    let shard = populated();
    let mut entry = Entry::new();
    let stamps = [
        ("modifyTimestamp", "20010101000000Z"),
        ("modifiersName", "cn=old,dc=com"),
        ("createTimestamp", "20000101000000Z"),
    ];
    for (name, value) in
        [("objectClass", "inetOrgPerson"), ("sn", "x"), ("cn", "old")].into_iter().chain(stamps)
    {
        entry.push_attribute(shard.schema.intern_description(name.as_bytes()).expect("a known type"));
        entry.push_value(value.as_bytes());
    }
    let mut writer = shard.writer();
    let at = stamp(&mut writer);
    writer.add(Add { dn: b"cn=old,dc=com", entry: &mut entry, keep_operational: true }, at).unwrap();
    writer.publish();
    let has = |name: &str, value: &str| find(&shard, "dc=com", Scope::One, &equality(name, value)).len();
    assert_eq!((has("modifyTimestamp", "20010101000000Z"), has("modifiersName", "cn=old,dc=com")), (1, 1));
    change(&shard, "cn=old,dc=com", ChangeKind::Replace, "sn", &["y"]).unwrap();
    assert_eq!((has("modifyTimestamp", "20010101000000Z"), has("modifiersName", "cn=old,dc=com")), (0, 0));
    assert_eq!(
        (has("modifyTimestamp", "20260102030405Z"), has("createTimestamp", "20000101000000Z")),
        (3, 1)
    );
}

/// Only the plain description names an entry, so only its values must lie in the record.
#[test]
fn a_big_set_with_options_does_not_forbid_a_name() {
    let shard = populated();
    let many: Vec<String> = (0..70).map(|n| format!("Name {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let dn = "cn=Person 5,ou=a,dc=com";
    change(&shard, dn, ChangeKind::Add, "cn;lang-en", &many).unwrap();
    rename(&shard, dn, "cn=Somebody", true, None).unwrap();
    assert_eq!(
        find(&shard, "dc=com", Scope::Subtree, &equality("cn;lang-en", "name 69")),
        ["cn=Somebody,ou=a,dc=com"]
    );
    change(&shard, "cn=Somebody,ou=a,dc=com", ChangeKind::Add, "sn", &many).unwrap();
    let refused = rename(&shard, "cn=Somebody,ou=a,dc=com", "sn=Name 1", false, None);
    assert_eq!(code(refused), ResultCode::NamingViolation);
}

/// Makes the DN hash refuse anything under this tag.
fn fill_dn_table(shard: &Shard, tag: u32) {
    let mut writer = shard.writer();
    let full = (1u32..1 << 20).any(|n| {
        let near = tag & !0xfff | n & 0xfff;
        shard.dn_table.put(&mut writer.state.dn, &shard.readers, near, None, n).is_err()
    });
    assert!(full, "a segment cannot be split for ever");
    writer.publish();
}

fn dn_tag(shard: &Arc<Shard>, dn: &str) -> u32 {
    let mut reader = Reader::register(shard).expect("a slot is free");
    let (pin, mut keys) = (reader.pin(), Vec::new());
    let target = pin.read_point().target(dn.as_bytes(), &mut DnCache::default(), &mut keys);
    target.expect("its superior exists").tag
}

#[test]
fn an_add_that_cannot_be_linked_leaves_nothing() {
    let shard = populated();
    let (before, person) = (shard.entries(), [PERSON[0], PERSON[1], ("uid", &["new"][..])]);
    let found = |uid| find(&shard, "dc=com", Scope::Subtree, &equality("uid", uid)).len();
    fill_dn_table(&shard, dn_tag(&shard, "cn=new,ou=a,dc=com"));
    assert_eq!(code(add(&shard, "cn=new,ou=a,dc=com", &person)), ResultCode::AdminLimitExceeded);
    assert_eq!((found("new"), shard.entries()), (0, before));
    let uid = shard.schema.find_type(b"uid").expect("known");
    let hash = {
        let mut normal = Vec::new();
        shard.schema.normalise_equality(uid, b"new", &mut normal).unwrap();
        shard.value_hash(&normal)
    };
    assert_eq!(shard.unpinned().equality_candidates(uid, hash).expect("uid is indexed").len(), 0);
    let siblings = find(&shard, "ou=a,dc=com", Scope::One, &Filter::Present(b"objectClass")).len();
    add(&shard, "cn=other,ou=a,dc=com", &person).unwrap();
    assert_eq!((found("new"), shard.entries()), (1, before + 1));
    assert_eq!(find(&shard, "ou=a,dc=com", Scope::One, &Filter::Present(b"objectClass")).len(), siblings + 1);
}

#[test]
fn a_rename_that_cannot_be_linked_leaves_the_entry_where_it_is() {
    let shard = populated();
    fill_dn_table(&shard, dn_tag(&shard, "cn=new,ou=a,dc=com"));
    let dn = "cn=Person 5,ou=a,dc=com";
    assert_eq!(code(rename(&shard, dn, "cn=new", true, None)), ResultCode::AdminLimitExceeded);
    assert_eq!(find(&shard, dn, Scope::Base, &equality("cn", "Person 5")).len(), 1);
    assert_eq!(code(rename(&shard, dn, "cn=newer", true, None)), ResultCode::Success);
}

/// RFC 4525 section 3: integers, and nothing that only looks like them.
#[test]
fn only_integers_are_incremented() {
    let shard = populated();
    let dn = "cn=Person 5,ou=a,dc=com";
    change(&shard, dn, ChangeKind::Replace, "description", &["5"]).unwrap();
    let refused = change(&shard, dn, ChangeKind::Increment, "description", &["1"]);
    assert_eq!(code(refused), ResultCode::ConstraintViolation);
}

/// More values than a record can count, of an attribute that must lie in the record.
#[test]
fn too_many_values_of_a_naming_attribute_are_refused() {
    let shard = populated();
    let many: Vec<String> = (0..70_000).map(|n| format!("Name {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let names = [PERSON[0], PERSON[1], ("cn", &many[..])];
    assert_eq!(code(add(&shard, "cn=Name 1,ou=a,dc=com", &names)), ResultCode::AdminLimitExceeded);
    let dn = "cn=Person 5,ou=a,dc=com";
    assert_eq!(code(change(&shard, dn, ChangeKind::Add, "cn", &many)), ResultCode::AdminLimitExceeded);
    assert_eq!(find(&shard, dn, Scope::Base, &equality("cn", "Name 1")).len(), 0);
    change(&shard, dn, ChangeKind::Add, "cn", &many[..60_000]).unwrap();
    assert_eq!(find(&shard, dn, Scope::Base, &equality("cn", "Name 59999")).len(), 1);
}

/// A replacement of one attribute, prepared at what is published.
fn prepared_write(
    shard: &Arc<Shard>,
    dn: &str,
    name: &str,
    value: &str,
    prepared_writes: &mut Vec<u8>,
) -> Option<PreparedWrite> {
    let mut reader = Reader::register(shard).expect("a slot is free");
    let (pin, mut cache, mut keys) = (reader.pin(), DnCache::default(), Vec::new());
    let point = pin.read_point();
    let target = point.target(dn.as_bytes(), &mut cache, &mut keys).ok()?;
    let known = Known { target, keys: &keys, sequence: point.sequence() };
    let description = shard.schema.find_description(name.as_bytes()).expect("a known type");
    let replacement = Replacement { description, value: value.as_bytes() };
    point.prepare(&known, &[replacement], &mut cache, prepared_writes)
}

fn install(shard: &Shard, ready: &PreparedWrite, prepared_writes: &mut [u8]) -> bool {
    let mut writer = shard.writer();
    writer.reserve(prepared_writes.len()).expect("there is room");
    let stamp = stamp(&mut writer);
    let is_installed = writer.install(ready, prepared_writes, stamp);
    writer.publish();
    is_installed
}

#[test]
fn a_prepared_write_is_installed_unless_the_entry_changed() {
    let shard = shard_with(Vec::new());
    add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    let person = [PERSON[0], PERSON[1], ("description", &["old"]), ("title", &["a", "b"])];
    for name in ["a", "b"] {
        add(&shard, &format!("cn={name},dc=com"), &person).unwrap();
    }
    let holds = |name: &str, value: &str| find(&shard, "dc=com", Scope::One, &equality(name, value)).len();
    let mut prepared_writes = Vec::new();
    let mut ready = |name: &str, value: &str| {
        prepared_writes.clear();
        (prepared_write(&shard, "cn=a,dc=com", name, value, &mut prepared_writes), prepared_writes.clone())
    };
    let (first, mut bytes) = ready("description", "new");
    assert!(install(&shard, &first.unwrap(), &mut bytes));
    assert_eq!((holds("description", "new"), holds("sn", "x")), (1, 2));
    assert!(!install(&shard, &first.unwrap(), &mut bytes), "it was prepared from a version that is gone");
    let times = equality("modifyTimestamp", "20260102030405Z");
    assert_eq!(
        find(&shard, "dc=com", Scope::One, &times).len(),
        2,
        "the one that was not changed has its creation"
    );

    // Another attribute of the entry changes in between: the prepared write would undo that.
    let (stale, mut bytes) = ready("description", "newer");
    change(&shard, "cn=a,dc=com", ChangeKind::Replace, "sn", &["y"]).unwrap();
    assert!(!install(&shard, &stale.unwrap(), &mut bytes));
    assert_eq!((holds("description", "new"), holds("sn", "y")), (1, 1));

    // Another entry has the name by now.
    let (stale, mut bytes) = ready("description", "newest");
    rename(&shard, "cn=a,dc=com", "cn=c", true, None).unwrap();
    assert!(!install(&shard, &stale.unwrap(), &mut bytes));
    rename(&shard, "cn=b,dc=com", "cn=a", true, None).unwrap();
    assert!(!install(&shard, &stale.unwrap(), &mut bytes));

    // What is refused, or more than a value in another's place, is not prepared.
    for (name, value) in [("cn", "z"), ("title", "c"), ("mail", "m"), ("sn", ""), ("entryUUID", "x")] {
        assert!(ready(name, value).0.is_none(), "{name}");
    }
    assert!(ready("description", &"x".repeat(70_000)).0.is_none(), "a long record is the writer's");
    assert!(ready("description", "x").0.is_some());
    let mut none = Vec::new();
    assert!(prepared_write(&shard, "cn=missing,dc=com", "sn", "x", &mut none).is_none());
}

#[test]
fn prepared_writes_without_room_are_not_installed() {
    let shard = shard_with(Vec::new());
    add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    add(&shard, "cn=a,dc=com", &PERSON).unwrap();
    let mut prepared_writes = Vec::new();
    let ready = prepared_write(&shard, "cn=a,dc=com", "sn", "y", &mut prepared_writes).unwrap();
    let mut writer = shard.writer();
    let stamp = stamp(&mut writer);
    assert!(!writer.install(&ready, &mut prepared_writes, stamp), "nothing was reserved");
    let limit = shard.settings().memory_bytes_max as usize;
    assert!(writer.reserve(limit).is_err());
    writer.reserve(prepared_writes.len()).unwrap();
    assert!(writer.install(&ready, &mut prepared_writes, stamp));
    assert!(!writer.install(&ready, &mut prepared_writes, stamp), "the room is used up");
    writer.publish();
}

/// What is there stays under a lower limit; it can be made less, and what would be more is refused.
#[test]
fn another_memory_limit_holds_from_the_next_update_on() {
    let shard = shard_with(Vec::new());
    add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    add(&shard, "cn=a,dc=com", &PERSON).unwrap();
    let more = || add(&shard, "cn=b,dc=com", &PERSON);
    let limit = shard.memory_bytes_max();
    assert!(limit <= shard.memory_bytes_reserved());
    shard.limit_memory(1 << 10);
    assert!(matches!(more(), Err(Refused::MemoryLimit { bytes_max: 0x400 })));
    assert_eq!(shard.entries(), 2);
    shard.limit_memory(limit);
    more().unwrap();
    // There is no address space for more.
    shard.limit_memory(u64::MAX);
    assert_eq!(shard.memory_bytes_max(), shard.memory_bytes_reserved());
}

/// A name that is spelled as its values takes no byte; another takes as many as it has, while it is spelled otherwise.
#[test]
fn bytes_of_names() {
    let shard = populated();
    let bytes = |dn: &str| {
        let id = shard.unpinned().resolve(dn.as_bytes(), &mut DnCache::default()).expect("it is there");
        shard.unpinned().entry(id).expect("it is there").len()
    };
    let given = [("objectClass", &["account"][..]), ("uid", &["a1234567"]), ("description", &["12345678"])];
    add(&shard, "uid=a1234567,dc=com", &given).unwrap();
    assert_eq!(bytes("uid=a1234567,dc=com"), 15 + 9 + 9);
    let given = [("objectClass", &["account"][..]), ("uid", &["b1234567"]), ("description", &["12345678"])];
    add(&shard, "uid=B1234567,dc=com", &given).unwrap();
    assert_eq!(bytes("uid=b1234567,dc=com"), 15 + 9 + 9 + 9);
    // Both are changed: a time and a name more.
    for (value, spelling) in [("B1234567", 0), ("b1234567", 9), ("B1234567", 0)] {
        change(&shard, "uid=b1234567,dc=com", ChangeKind::Replace, "uid", &[value]).unwrap();
        assert_eq!(bytes("uid=b1234567,dc=com"), 15 + 11 + 9 + 9 + spelling);
    }
}
