use crate::apply::ChangeKind;
use crate::apply::tests::{add, change, delete};
use crate::index::kind::{Assertion, IndexKind, Part};
use crate::index::settings::IndexSettings;
use crate::shard::Shard;
use crate::shard::tests::{shard_of, standard_with};
use crate::tree::From;
use std::sync::Arc;

const TYPES: &str = "
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'xText' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch
  SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
";
const ENTRY: &str = "ou=a,dc=com";

fn shard() -> Arc<Shard> {
    let index = IndexSettings::of("xText", IndexKind::ALL);
    let shard = shard_of(standard_with(TYPES), vec![index]);
    add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    let classes = ["organizationalUnit", "extensibleObject"];
    add(&shard, ENTRY, &[("objectClass", &classes[..]), ("xText", &texts('a', 200)[..])]).unwrap();
    shard
}

/// Values `a000 ...` that share few trigrams with those of another letter.
fn texts(letter: char, count: usize) -> Vec<&'static str> {
    (0..count).map(|n| &*format!("{letter}{letter}{n:03}{letter}{letter}").leak()).collect()
}

/// Lets all removals run that are due.
fn settle(shard: &Shard) {
    shard.writer().publish();
}

/// How many entries presence holds, and how many keys the ordering index does.
fn held(shard: &Shard) -> (u32, usize) {
    let attribute_type = shard.schema.find_type(b"xText").expect("known");
    let index = |kind| shard.unpinned().indexes().answering(attribute_type, kind).expect("as asked");
    let (mut keys, mut last) = (0, None);
    let root = index(IndexKind::Ordering).tree_root().expect("it was built");
    let view = shard.unpinned();
    loop {
        let from = last.map_or(From::START, From::After);
        let more = view.tree(root).next_leaf(from, |item| {
            keys += 1;
            last = Some(item);
        });
        if !more {
            return (index(IndexKind::Presence).ids().expect("as asked").len(), keys);
        }
    }
}

/// Candidates for `(xText=*part*)`.
fn candidates(shard: &Shard, part: &str) -> usize {
    let x_text = shard.schema.find_type(b"xText").expect("known");
    let index = shard.unpinned().indexes().answering(x_text, IndexKind::Substring).expect("it is indexed");
    let part = Part { bytes: part.as_bytes(), is_initial: false, is_final: false };
    let probe = index
        .name
        .kind
        .probe(shard.keys(index.name.attribute_type), &Assertion::Substrings([part].into_iter().collect()));
    index.candidates(shard.unpinned(), &probe.expect("it is long enough")) as usize
}

#[test]
fn a_dropped_set_leaves_no_keys() {
    for is_deleted in [false, true] {
        let shard = shard();
        assert_eq!((held(&shard), candidates(&shard, "aa0")), ((1, 200), 1));
        match is_deleted {
            true => drop(delete(&shard, ENTRY).unwrap()),
            false => drop(change(&shard, ENTRY, ChangeKind::Delete, "xText", &[]).unwrap()),
        }
        settle(&shard);
        assert_eq!((held(&shard), candidates(&shard, "aa0")), ((0, 0), 0), "deleted: {is_deleted}");
    }
}

#[test]
fn a_replaced_set_keeps_only_the_keys_it_has() {
    let shard = shard();
    change(&shard, ENTRY, ChangeKind::Replace, "xText", &texts('b', 100)).unwrap();
    settle(&shard);
    settle(&shard);
    assert_eq!((held(&shard), candidates(&shard, "aa0"), candidates(&shard, "bb0")), ((1, 100), 0, 1));
    change(&shard, ENTRY, ChangeKind::Replace, "xText", &["c"]).unwrap();
    settle(&shard);
    assert_eq!((held(&shard), candidates(&shard, "bb0")), ((1, 1), 0));
}

#[test]
fn keys_of_single_values_go_with_the_set_at_the_latest() {
    let shard = shard();
    let all = texts('a', 200);
    for value in &all[..100] {
        change(&shard, ENTRY, ChangeKind::Delete, "xText", &[value]).unwrap();
    }
    let (_, keys) = held(&shard);
    assert!((100..130).contains(&keys), "{keys} keys of 100 values");
    assert_eq!(candidates(&shard, "aa1"), 1);
    change(&shard, ENTRY, ChangeKind::Add, "xText;lang-de", &["x"]).unwrap();
    change(&shard, ENTRY, ChangeKind::Delete, "xText", &[]).unwrap();
    settle(&shard);
    assert_eq!((held(&shard), candidates(&shard, "aa0")), ((1, 1), 0));
    assert!(shard.writer().state.stale_keys.keys.is_empty());
}

#[test]
fn a_key_that_another_value_has_stays() {
    let shard = shard();
    let long: Vec<&str> = (0..100).map(|n| &*format!("the same eight bytes {n}").leak()).collect();
    change(&shard, ENTRY, ChangeKind::Replace, "xText", &long).unwrap();
    change(&shard, ENTRY, ChangeKind::Delete, "xText", &long[1..]).unwrap();
    settle(&shard);
    settle(&shard);
    assert_eq!((held(&shard), candidates(&shard, "same")), ((1, 1), 1));
}
