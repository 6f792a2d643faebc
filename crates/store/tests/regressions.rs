//! Faults that the comparison with the naive directory, or reading the code for it, has found. One test each.

use model::filter::{Assertion, Extensible, Filter, Substrings};
use model::{Entry, ResultCode, Scope};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::search::evaluate::Evaluator;
use store::search::{Compiled, Cursor, Scopes, Step};
use store::{
    Add, Change, ChangeKind, IndexKind, IndexSettings, Modify, ModifyDn, ReadPoint, Reader, Refused,
    Settings, Shard, Stamp, Writer,
};

const TYPES: &str = "
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'xText' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch
  SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
";

fn shard(suffixes: &[&str], indexes: &[&str]) -> Arc<Shard> {
    let schema = schema::Builder::new().standard().file("test", TYPES).build().expect("the schema is sound");
    let index = |name: &&str| {
        let mut index = IndexSettings::of(name, [IndexKind::Equality, IndexKind::Presence]);
        if *name == "xText" {
            index.kinds.insert(IndexKind::Ordering);
        }
        index
    };
    let settings = Settings {
        suffixes: suffixes.iter().map(|s| s.to_string()).collect(),
        indexes: indexes.iter().map(index).collect(),
        memory_bytes_max: 256 << 20,
        removals_max: store::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    Shard::create(settings, Arc::new(schema)).expect("address space is plenty")
}

fn stamp(writer: &mut Writer<'_>) -> Stamp {
    Stamp { csn: writer.stamp(1_767_323_045_000), actor: 0 }
}

fn add(writer: &mut Writer<'_>, shard: &Shard, dn: &str, attributes: &[(&str, &[&str])]) {
    let mut entry = Entry::new();
    let class = if dn.starts_with("dc=") { "domain" } else { "organizationalUnit" };
    entry.push_attribute(shard.schema().intern_description(b"objectClass").expect("known"));
    [class, "extensibleObject"].iter().for_each(|class| entry.push_value(class.as_bytes()));
    for (name, values) in attributes {
        entry.push_attribute(shard.schema().intern_description(name.as_bytes()).expect("known"));
        values.iter().for_each(|value| entry.push_value(value.as_bytes()));
    }
    let stamp = stamp(writer);
    writer
        .add(Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: false }, stamp)
        .expect("it can be added");
}

fn change(
    writer: &mut Writer<'_>,
    shard: &Shard,
    dn: &str,
    changes: &[(ChangeKind, &str, &[&str])],
) -> Result<(), Refused> {
    let changes: Vec<Change<'_>> = changes
        .iter()
        .map(|(kind, name, values)| Change {
            kind: *kind,
            description: shard.schema().intern_description(name.as_bytes()).expect("known"),
            values: values.iter().map(|value| value.as_bytes()).collect(),
        })
        .collect();
    let stamp = stamp(writer);
    writer
        .modify(
            Modify {
                dn: dn.as_bytes(),
                changes: &changes,
                keep_operational: false,
                is_permissive: false,
                is_relaxed: false,
                known: None,
            },
            stamp,
        )
        .map(|_| ())
}

fn rename(writer: &mut Writer<'_>, dn: &str, rdn: &str) {
    let stamp = stamp(writer);
    let modify_dn =
        ModifyDn { dn: dn.as_bytes(), new_rdn: rdn.as_bytes(), delete_old_rdn: true, new_superior: None };
    writer.modify_dn(modify_dn, stamp).expect("it can be renamed");
}

fn find(point: ReadPoint<'_>, filter: &Filter<'_>) -> BTreeSet<String> {
    let mut evaluator = Evaluator::default();
    let base = point.resolve(b"dc=com", &mut evaluator.cache).expect("the base exists");
    let compiled = Compiled::new(filter, point.shard(), &|_| true);
    let mut cursor = Cursor::open(point, Scopes::new(base, Scope::Subtree), compiled, None);
    let mut found = BTreeSet::new();
    loop {
        match cursor.step(point, &mut evaluator, &mut 1000) {
            Step::Entry(entry) => {
                let mut dn = Vec::new();
                point.write_dn(&entry, &mut evaluator.cache, &mut dn);
                found.insert(String::from_utf8(dn).expect("a DN is text"));
            }
            Step::Pause => {}
            Step::End => return found,
        }
    }
}

fn assertion<'f>(attribute: &'f str, value: &'f str) -> Assertion<'f> {
    Assertion { attribute: attribute.as_bytes(), value: value.as_bytes() }
}

fn publish<R>(shard: &Shard, work: impl FnOnce(&mut Writer<'_>) -> R) -> R {
    let mut writer = shard.writer();
    let outcome = work(&mut writer);
    writer.publish();
    outcome
}

/// A shard with `dc=com` and `ou=a` below it.
fn small(indexes: &[&str]) -> Arc<Shard> {
    let shard = shard(&["dc=com"], indexes);
    publish(&shard, |w| {
        add(w, &shard, "dc=com", &[]);
        add(w, &shard, "ou=a,dc=com", &[("xText", &["common start 1", "common start 2"])]);
    });
    shard
}

/// The writer remembered superiors beyond a rename in the same batch.
#[test]
fn a_rename_is_seen_by_the_rest_of_its_batch() {
    let shard = small(&[]);
    let outcome = publish(&shard, |w| {
        add(w, &shard, "ou=b,ou=a,dc=com", &[]);
        add(w, &shard, "ou=c,ou=a,dc=com", &[]);
        rename(w, "ou=a,dc=com", "ou=z");
        change(w, &shard, "ou=b,ou=a,dc=com", &[(ChangeKind::Replace, "description", &["x"])])
    });
    assert_eq!(outcome.expect_err("it has another name now").result_code(), ResultCode::NoSuchObject);
}

/// What was remembered at a newer read point was believed at an older one.
#[test]
fn a_cache_goes_back_in_time() {
    let shard = small(&[]);
    publish(&shard, |w| add(w, &shard, "ou=b,ou=a,dc=com", &[]));
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let old = reader.pin().look().extend().expect("a slot is free");
    publish(&shard, |w| rename(w, "ou=a,dc=com", "ou=z"));
    publish(&shard, |w| add(w, &shard, "ou=a,dc=com", &[]));
    let mut cache = store::DnCache::default();
    let pin = reader.pin();
    cache.refresh(pin.read_point());
    assert!(pin.read_point().resolve(b"ou=b,ou=z,dc=com", &mut cache).is_ok());
    cache.refresh(old.read_point());
    assert!(old.read_point().resolve(b"ou=b,ou=z,dc=com", &mut cache).is_err());
    assert!(old.read_point().resolve(b"ou=b,ou=a,dc=com", &mut cache).is_ok());
}

/// Two values of one entry had one key in an ordering index, and the key went with the first of them.
#[test]
fn an_ordering_key_stays_while_a_value_has_it() {
    let shard = small(&["xText"]);
    let at_least = Filter::GreaterOrEqual(assertion("xText", "common"));
    publish(&shard, |w| {
        change(w, &shard, "ou=a,dc=com", &[(ChangeKind::Add, "xText;lang-de", &["common start 3"])])
    })
    .unwrap();
    publish(&shard, |w| change(w, &shard, "ou=a,dc=com", &[(ChangeKind::Delete, "xText;lang-de", &[])]))
        .unwrap();
    let mut reader = Reader::register(&shard).expect("a slot is free");
    assert_eq!(find(reader.pin().read_point(), &at_least).len(), 1);
    let many: Vec<String> = (0..100).map(|n| format!("common start {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    publish(&shard, |w| change(w, &shard, "ou=a,dc=com", &[(ChangeKind::Replace, "xText", &many)])).unwrap();
    publish(&shard, |w| change(w, &shard, "ou=a,dc=com", &[(ChangeKind::Delete, "xText", &many[..30])]))
        .unwrap();
    assert_eq!(find(reader.pin().read_point(), &at_least).len(), 1);
    publish(&shard, |w| {
        change(w, &shard, "ou=a,dc=com", &[(ChangeKind::Replace, "xText", &["common start x"])])
    })
    .unwrap();
    assert_eq!(find(reader.pin().read_point(), &at_least).len(), 1);
    publish(&shard, |w| change(w, &shard, "ou=a,dc=com", &[(ChangeKind::Delete, "xText", &[])])).unwrap();
    assert_eq!(find(reader.pin().read_point(), &at_least).len(), 0);
}

/// A key that came back and went again was removed while a reader stood at the time between.
#[test]
fn a_key_stays_for_the_reader_between() {
    let shard = small(&["uid"]);
    let set = |values: &[&str]| {
        publish(&shard, |w| change(w, &shard, "ou=a,dc=com", &[(ChangeKind::Replace, "uid", values)]))
            .unwrap()
    };
    set(&["x"]);
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let oldest = reader.pin().look().extend().expect("a slot is free");
    set(&[]);
    set(&["x"]);
    let between = reader.pin().look().extend().expect("a slot is free");
    set(&[]);
    drop(oldest);
    set(&["y"]);
    assert_eq!(find(between.read_point(), &Filter::Equality(assertion("uid", "x"))).len(), 1);
    drop(between);
    set(&["z"]);
    assert_eq!(find(reader.pin().read_point(), &Filter::Equality(assertion("uid", "x"))).len(), 0);
}

/// The same for names and for the list of subordinates.
#[test]
fn a_name_stays_for_the_reader_between() {
    let shard = small(&[]);
    let rename = |dn: &str, rdn: &str| publish(&shard, |w| rename(w, dn, rdn));
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let oldest = reader.pin().look().extend().expect("a slot is free");
    rename("ou=a,dc=com", "ou=b");
    rename("ou=b,dc=com", "ou=a");
    let between = reader.pin().look().extend().expect("a slot is free");
    rename("ou=a,dc=com", "ou=b");
    drop(oldest);
    rename("ou=b,dc=com", "ou=c");
    assert!(between.read_point().resolve(b"ou=a,dc=com", &mut store::DnCache::default()).is_ok());
}

/// A reader older than the first value of an ordering index met a root that was not there for it.
#[test]
fn an_ordering_index_younger_than_the_reader_is_empty() {
    let shard = shard(&["dc=com"], &["xText"]);
    publish(&shard, |w| add(w, &shard, "dc=com", &[]));
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let old = reader.pin().look().extend().expect("a slot is free");
    publish(&shard, |w| add(w, &shard, "ou=a,dc=com", &[("xText", &["x"])]));
    assert_eq!(find(old.read_point(), &Filter::GreaterOrEqual(assertion("xText", "a"))).len(), 0);
}

/// Indexes on derived attributes hold stored values only, and `:dn:` looks beyond the entry.
#[test]
fn an_index_that_does_not_know_all_is_not_asked() {
    let shard = small(&["createTimestamp", "creatorsName", "ou", "cn"]);
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let pin = reader.pin();
    assert_eq!(find(pin.read_point(), &Filter::Present(b"createTimestamp")).len(), 2);
    assert_eq!(find(pin.read_point(), &Filter::Equality(assertion("creatorsName", "cn=root"))).len(), 2);
    drop(pin);
    publish(&shard, |w| add(w, &shard, "dc=b,ou=a,dc=com", &[]));
    let by_dn = Extensible { rule: None, attribute: Some(b"ou"), value: b"a", dn_attributes: true };
    assert_eq!(find(reader.pin().read_point(), &Filter::Extensible(by_dn)).len(), 2);
    let parts = Substrings { attribute: b"xText", initial: Some(b"common"), ..Substrings::default() };
    assert_eq!(find(reader.pin().read_point(), &Filter::Substrings(parts)).len(), 1);
}

/// A big set that a modify empties value by value has nothing more to be deleted.
#[test]
fn an_emptied_set_is_no_attribute() {
    let shard = small(&[]);
    let many: Vec<String> = (0..70).map(|n| format!("value {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    publish(&shard, |w| change(w, &shard, "ou=a,dc=com", &[(ChangeKind::Replace, "description", &many)]))
        .unwrap();
    let twice =
        [(ChangeKind::Delete, "description", &many[..]), (ChangeKind::Delete, "description", &[][..])];
    let outcome = publish(&shard, |w| change(w, &shard, "ou=a,dc=com", &twice));
    assert_eq!(outcome.expect_err("nothing is left").result_code(), ResultCode::NoSuchAttribute);
}

/// A remembered superior hid that a naming context begins below it.
#[test]
fn a_naming_context_below_another() {
    let shard = shard(&["dc=com", "ou=inner,dc=com"], &[]);
    publish(&shard, |w| {
        add(w, &shard, "dc=com", &[]);
        add(w, &shard, "ou=a,dc=com", &[]);
        add(w, &shard, "ou=inner,dc=com", &[]);
        add(w, &shard, "ou=b,ou=inner,dc=com", &[]);
    });
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let (pin, mut cache) = (reader.pin(), store::DnCache::default());
    for dn in ["ou=a,dc=com", "ou=inner,dc=com", "ou=b,ou=inner,dc=com"] {
        assert!(pin.read_point().resolve(dn.as_bytes(), &mut cache).is_ok(), "{dn}");
    }
    let root =
        pin.read_point().resolve(b"ou=inner,dc=com", &mut store::DnCache::default()).expect("it is there");
    assert_eq!(pin.read_point().entry(root).expect("it is there").parent().0, 0);
}

/// A checkpoint has room for 65,536 attributes of an entry, and a record names one of them by sixteen bits.
#[test]
fn an_entry_has_no_more_attributes_than_a_checkpoint_can_hold() {
    let shard = shard(&["dc=com"], &[]);
    let add = |count: usize| {
        let mut entry = Entry::new();
        let mut push = |name: &str, values: &[&str]| {
            entry.push_attribute(shard.schema().intern_description(name.as_bytes()).expect("known"));
            values.iter().for_each(|value| entry.push_value(value.as_bytes()));
        };
        push("objectClass", &["domain", "extensibleObject"]);
        (0..count - 1).for_each(|at| push(&format!("{};x-{}", ["cn", "sn"][at % 2], at / 2), &["v"]));
        let mut writer = shard.writer();
        let stamp = stamp(&mut writer);
        let added = writer.add(Add { dn: b"dc=com", entry: &mut entry, keep_operational: false }, stamp);
        writer.publish();
        added.map_err(|refused| refused.result_code())
    };
    assert_eq!(add((1 << 16) + 1), Err(ResultCode::AdminLimitExceeded));
    assert!(add(1 << 16).is_ok());
    let checkpoint = shard.checkpoint().expect("a reader is free");
    assert!(store::Meta::read(&checkpoint.meta()).is_ok());
}

#[test]
fn object_classes_name_no_entry() {
    let shard = shard(&["dc=com"], &[]);
    let mut writer = shard.writer();
    add(&mut writer, &shard, "dc=com", &[]);
    add(&mut writer, &shard, "ou=a,dc=com", &[]);
    let mut entry = Entry::new();
    for (name, value) in [("objectClass", "organizationalUnit"), ("ou", "x")] {
        entry.push_attribute(shard.schema().intern_description(name.as_bytes()).expect("known"));
        entry.push_value(value.as_bytes());
    }
    let (dn, stamp) = (b"objectClass=organizationalUnit,dc=com", stamp(&mut writer));
    let added = writer.add(Add { dn, entry: &mut entry, keep_operational: false }, stamp);
    assert_eq!(added.expect_err("it has no first value").result_code(), ResultCode::NamingViolation);
    let (dn, new_rdn) = (b"ou=a,dc=com", b"ou=a+objectClass=organizationalUnit");
    let renamed =
        writer.modify_dn(ModifyDn { dn, new_rdn, delete_old_rdn: false, new_superior: None }, stamp);
    assert_eq!(renamed.expect_err("as above").result_code(), ResultCode::NamingViolation);
    writer.publish();
}

#[test]
fn a_load_goes_on_with_the_trees_of_earlier_batches() {
    let shard = shard(&["dc=com"], &["xText"]);
    let mut writer = shard.writer();
    add(&mut writer, &shard, "dc=com", &[]);
    add(&mut writer, &shard, "ou=a,dc=com", &[("xText", &["a"])]);
    writer.publish();
    let mut writer = shard.writer();
    writer.load();
    add(&mut writer, &shard, "ou=b,dc=com", &[("xText", &["b"])]);
    writer.finish_load().expect("there is room");
    writer.publish();
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let filter = Filter::GreaterOrEqual(Assertion { attribute: b"xText", value: b"a" });
    assert_eq!(find(reader.pin().read_point(), &filter).len(), 2);
}

#[test]
fn a_tree_may_be_deeper_than_the_stack() {
    const CHAINS: usize = 400;
    const BELOW: usize = 100;
    let shard = shard(&["dc=com"], &[]);
    let mut writer = shard.writer();
    add(&mut writer, &shard, "dc=com", &[]);
    for chain in 0..CHAINS {
        let mut dn = format!("ou=c{chain},dc=com");
        add(&mut writer, &shard, &dn, &[]);
        for _ in 0..BELOW {
            dn.insert_str(0, "ou=a,");
            add(&mut writer, &shard, &dn, &[]);
        }
        if chain > 0 {
            let (stamp, last) = (stamp(&mut writer), format!("ou=c{},dc=com", chain - 1));
            let new_rdn = last.split(',').next().expect("an RDN");
            let move_it = ModifyDn {
                dn: last.as_bytes(),
                new_rdn: new_rdn.as_bytes(),
                delete_old_rdn: false,
                new_superior: Some(dn.as_bytes()),
            };
            writer.modify_dn(move_it, stamp).expect("no entry is there");
        }
    }
    writer.publish();
    // The second entry is the top of the first chain, which all the others are above by now.
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let pin = reader.pin();
    let (point, mut evaluator, mut dn) = (pin.read_point(), Evaluator::default(), Vec::new());
    for id in [2, 3, 2 + BELOW as u32] {
        let entry = point.entry(model::EntryId(id)).expect("it was added");
        dn.clear();
        point.write_dn(&entry, &mut evaluator.cache, &mut dn);
        let below = id as usize - 2;
        let rdns = (CHAINS - 1) * (BELOW + 1) + below + 1 + 1;
        assert_eq!(dn.split(|byte| *byte == b',').count(), rdns);
        assert!(dn.ends_with(b",ou=a,ou=c399,dc=com"));
    }
}
