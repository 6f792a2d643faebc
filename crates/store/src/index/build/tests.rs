use crate::apply::ChangeKind;
use crate::apply::tests::{add, change, delete, equality, find};
use crate::index::build::{IndexBuild, IndexDrop, IndexRefused};
use crate::index::kind::IndexKind;
use crate::index::settings::{IndexName, IndexSettings};
use crate::refused::Refused;
use crate::search::evaluate::Evaluator;
use crate::search::{Compiled, Cursor, Scopes, Step};
use crate::shard::Shard;
use crate::shard::reader::Reader;
use crate::shard::tests::{shard_of, shard_with, standard_with};
use model::Scope;
use std::sync::Arc;

const BYTES_MAX: u64 = 1 << 30;

fn name(shard: &Shard, attribute: &str, kind: IndexKind) -> IndexName {
    IndexName { attribute_type: shard.schema.find_type(attribute.as_bytes()).expect("known"), kind }
}

fn people(shard: &Shard, count: usize) {
    add(shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    for n in 0..count {
        let (dn, uid) = (format!("uid=u{n},dc=com"), format!("u{n}"));
        let attributes: [(&str, &[&str]); 3] =
            [("objectClass", &["account"]), ("uid", &[&uid]), ("l", &[["Rome", "Oslo"][n % 2]])];
        add(shard, &dn, &attributes).unwrap();
    }
}

fn begin(shard: &Shard, attribute: &str, kind: IndexKind) -> IndexBuild {
    let mut writer = shard.writer();
    let build = writer.index_begin(name(shard, attribute, kind)).unwrap();
    writer.publish();
    build
}

/// Takes a step; are all in?
fn step(shard: &Shard, build: &mut IndexBuild) -> bool {
    let mut writer = shard.writer();
    let all = writer.index_step(build, 1, BYTES_MAX).unwrap();
    writer.publish();
    all
}

fn build(shard: &Shard, attribute: &str, kind: IndexKind) {
    let mut build = begin(shard, attribute, kind);
    while !step(shard, &mut build) {}
    assert!(shard.writer().index_ready(&build));
}

fn drop_index(shard: &Shard, name: IndexName) -> Option<IndexDrop> {
    let mut writer = shard.writer();
    let dropped = writer.index_drop(name);
    writer.publish();
    dropped
}

fn give_up(shard: &Shard, build: IndexBuild) -> IndexDrop {
    let mut writer = shard.writer();
    let dropped = writer.index_give_up(build);
    writer.publish();
    dropped
}

fn is_clean(shard: &Shard) {
    assert_eq!(shard.writer().check(10), []);
}

#[test]
fn an_index_that_is_built_answers_and_one_that_is_dropped_does_not() {
    let shard = shard_with(vec![]);
    people(&shard, 600);
    let uid = name(&shard, "uid", IndexKind::Equality);
    let is_answering =
        || shard.unpinned().indexes().answering(uid.attribute_type, IndexKind::Equality).is_some();
    let mut build = begin(&shard, "uid", IndexKind::Equality);
    assert!(!step(&shard, &mut build) && !shard.writer().index_ready(&build) && !is_answering());
    // What changes meanwhile is in, before and behind the place where the build is.
    delete(&shard, "uid=u3,dc=com").unwrap();
    change(&shard, "uid=u7,dc=com", ChangeKind::Add, "uid", &["seven"]).unwrap();
    change(&shard, "uid=u590,dc=com", ChangeKind::Add, "uid", &["late"]).unwrap();
    is_clean(&shard);
    while !step(&shard, &mut build) {}
    assert!(!is_answering() && build.entries() > 590);
    assert!(shard.writer().index_ready(&build) && is_answering());
    is_clean(&shard);
    for (value, dns) in [("seven", vec!["uid=u7,dc=com"]), ("late", vec!["uid=u590,dc=com"]), ("u3", vec![])]
    {
        assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", value)), dns);
    }
    assert_eq!(shard.unpinned().index_report().len(), 1);
    let index_drop = drop_index(&shard, uid).expect("it answers");
    assert!(!is_answering() && drop_index(&shard, uid).is_none());
    is_clean(&shard);
    assert!(shard.writer().index_free(&index_drop, 1));
    assert_eq!(find(&shard, "dc=com", Scope::Subtree, &equality("uid", "seven")), ["uid=u7,dc=com"]);
}

#[test]
fn an_index_waits_for_older_readers() {
    let shard = shard_with(vec![]);
    people(&shard, 10);
    let mut reader = Reader::register(&shard).unwrap();
    let old = reader.pin();
    change(&shard, "uid=u1,dc=com", ChangeKind::Replace, "l", &["Kyiv"]).unwrap();
    let mut build = begin(&shard, "l", IndexKind::Equality);
    while !step(&shard, &mut build) {}
    assert!(!shard.writer().index_ready(&build), "the old reader would miss what was Rome or Oslo");
    drop(old);
    assert!(shard.writer().index_ready(&build));
}

#[test]
fn a_search_in_progress_outlives_its_index() {
    let index = IndexSettings::of("l", [IndexKind::Equality]);
    let shard = shard_with(vec![index]);
    people(&shard, 1000);
    let mut reader = Reader::register(&shard).unwrap();
    let pin = reader.pin();
    let point = pin.read_point();
    let filter = Compiled::new(&equality("l", "rome"), &shard, &|_| true);
    let base = point.resolve(b"dc=com", &mut crate::DnCache::default()).unwrap();
    let mut cursor = Cursor::open(point, Scopes::new(base, Scope::Subtree), filter, None);
    let (mut evaluator, mut found) = (Evaluator::default(), 0);
    let mut take = |count: &mut usize, max: usize| {
        while *count < max {
            match cursor.step(point, &mut evaluator, &mut 50) {
                Step::Entry(_) => *count += 1,
                Step::Pause => {}
                Step::End => break,
            }
        }
    };
    take(&mut found, 5);
    let index_drop = drop_index(&shard, name(&shard, "l", IndexKind::Equality)).unwrap();
    assert!(!shard.writer().index_free(&index_drop, 10), "a reader may look at it");
    // Its number is not given to another, and changes go past it.
    build_beside(&shard);
    for n in (0..1000).step_by(2) {
        change(&shard, &format!("uid=u{n},dc=com"), ChangeKind::Replace, "l", &["Lima"]).unwrap();
    }
    take(&mut found, usize::MAX);
    assert_eq!(found, 500);
}

fn build_beside(shard: &Shard) {
    let mut build = begin(shard, "uid", IndexKind::Equality);
    while !step(shard, &mut build) {}
    let given_up = give_up(shard, build);
    drop(given_up);
}

#[test]
fn a_big_set_takes_several_steps() {
    let shard = shard_of(standard_with(TYPES), vec![]);
    add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    let values: Vec<String> = (0..3000).map(|n| format!("{n:05} value")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let classes = ["organizationalUnit", "extensibleObject"];
    let attributes: [(&str, &[&str]); 3] =
        [("objectClass", &classes), ("xText", &values), ("xText;lang-de", &values[..500])];
    add(&shard, "ou=a,dc=com", &attributes).unwrap();
    for kind in IndexKind::ALL {
        let mut build = begin(&shard, "xText", kind);
        let mut steps = 1;
        while !step(&shard, &mut build) {
            steps += 1;
            // Ahead of the build, and behind it.
            let (gone, come) = (values[values.len() - steps], format!("new {kind} {steps}"));
            let _ = change(&shard, "ou=a,dc=com", ChangeKind::Delete, "xText", &[gone]);
            change(&shard, "ou=a,dc=com", ChangeKind::Add, "xText", &[&come]).unwrap();
        }
        assert!(steps > 10 || kind == IndexKind::Presence, "{steps}");
        assert!(shard.writer().index_ready(&build));
        is_clean(&shard);
    }
    for kind in IndexKind::ALL {
        let index_drop = drop_index(&shard, name(&shard, "xText", kind)).unwrap();
        let mut pieces = 1;
        loop {
            is_clean(&shard);
            let mut writer = shard.writer();
            let is_free = writer.index_free(&index_drop, 5);
            writer.publish();
            if is_free {
                break;
            }
            pieces += 1;
        }
        assert!(pieces > 3 || kind != IndexKind::Ordering);
    }
    is_clean(&shard);
    assert_eq!(shard.unpinned().index_report(), []);
}

const TYPES: &str = "
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'xText' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch
  SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
";

#[test]
fn what_cannot_be_is_refused_and_memory_comes_back() {
    let index = IndexSettings::of("uid", [IndexKind::Equality]);
    let shard = shard_with(vec![index]);
    people(&shard, 5000);
    let refused =
        |attribute: &str, kind| shard.writer().index_begin(name(&shard, attribute, kind)).unwrap_err();
    assert_eq!(refused("uid", IndexKind::Equality), IndexRefused::Exists);
    assert_eq!(refused("member", IndexKind::Ordering), IndexRefused::NoRule("ordering"));
    shard.measure();
    let before = shard.memory().total();
    let mut build = begin(&shard, "l", IndexKind::Substring);
    let too_much = shard.writer().index_step(&mut build, 1, before);
    assert!(matches!(too_much, Err(Refused::MemoryLimit { bytes_max }) if bytes_max == before));
    let given_up = give_up(&shard, build);
    assert!(shard.writer().index_free(&given_up, 1));
    shard.measure();
    assert_eq!(shard.memory().total(), before);
    is_clean(&shard);
    build_and_drop_many(&shard);
    shard.measure();
    assert_eq!(shard.memory().indexes, shard.unpinned().index_report().iter().map(|r| r.bytes).sum::<u64>());
    assert_eq!(shard.memory().total(), before);
}

/// More than there may be at once.
fn build_and_drop_many(shard: &Arc<Shard>) {
    for _ in 0..model::limits::INDEXES_MAX + 10 {
        let build = begin(shard, "l", IndexKind::Presence);
        let given_up = give_up(shard, build);
        let mut writer = shard.writer();
        assert!(writer.index_free(&given_up, 1));
        writer.publish();
    }
    build(shard, "l", IndexKind::Presence);
    let index_drop = drop_index(shard, name(shard, "l", IndexKind::Presence)).unwrap();
    assert!(shard.writer().index_free(&index_drop, 1));
}
