use super::*;
use crate::apply::ChangeKind;
use crate::apply::tests::{add, change, delete};
use crate::index::kind::IndexKind;
use crate::index::settings::IndexSettings;
use crate::shard::Shard;
use crate::shard::reader::Reader;
use crate::shard::tests::{shard_of, standard_with};

const TYPES: &str = "
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'xText' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch
  SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
";
const CLASSES: [&str; 2] = ["organizationalUnit", "extensibleObject"];

/// A shard with an index of each kind on xText: entries, some with values in common, and one with a big set.
fn shard() -> Arc<Shard> {
    let all = IndexSettings::of("xText", IndexKind::ALL);
    let shard = shard_of(standard_with(TYPES), vec![all]);
    add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
    for n in 0..40 {
        let own = format!("value {n}");
        let attributes: [(&str, &[&str]); 2] = [("objectClass", &CLASSES), ("xText", &[&own, "common"])];
        add(&shard, &format!("ou=e{n},dc=com"), &attributes).unwrap();
    }
    let values: Vec<String> = (0..2000).map(|n| format!("{n:05} member")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    add(&shard, "ou=big,dc=com", &[("objectClass", &CLASSES), ("xText", &values)]).unwrap();
    shard
}

fn name(shard: &Shard, kind: IndexKind) -> IndexName {
    IndexName { attribute_type: shard.schema.find_type(b"xText").expect("known"), kind }
}

fn begin(shard: &Arc<Shard>, kind: IndexKind) -> IndexVerify {
    let mut reader = Reader::register(shard).unwrap();
    let pin = reader.pin();
    IndexVerify::begin(pin.read_point(), name(shard, kind)).expect("it answers")
}

/// A step, and what is to be settled.
fn step(shard: &Arc<Shard>, verify: &mut IndexVerify, keys_max: usize) -> Verified {
    let mut reader = Reader::register(shard).unwrap();
    let verified = verify.step(reader.pin().read_point(), keys_max);
    if verified == Verified::Doubts {
        let mut writer = shard.writer();
        writer.index_settle(verify);
        writer.publish();
    }
    verified
}

fn run(shard: &Arc<Shard>, verify: &mut IndexVerify) -> Verified {
    for _ in 0..10_000 {
        match step(shard, verify, 50) {
            Verified::More | Verified::Doubts => {}
            end => return end,
        }
    }
    panic!("it comes to no end");
}

#[test]
fn nothing_is_found_while_entries_change_between_the_steps() {
    for kind in IndexKind::ALL {
        let shard = shard();
        let mut verify = begin(&shard, kind);
        let (mut steps, mut reader) = (0, Reader::register(&shard).unwrap());
        // What entries lose stays in the index for this one.
        let mut old = Some(reader.pin());
        while step(&shard, &mut verify, if steps < 60 { 1 } else { 200 }) != Verified::All {
            steps += 1;
            if steps == 90 {
                drop(old.take());
            }
            let (dn, text) = (format!("ou=e{},dc=com", steps % 40), format!("new {steps}"));
            let _ = change(&shard, &dn, ChangeKind::Replace, "xText", &[&text, "common", "other"]);
            let _ = change(
                &shard,
                "ou=big,dc=com",
                ChangeKind::Delete,
                "xText",
                &[&format!("{:05} member", steps * 3)],
            );
            let _ = change(&shard, "ou=big,dc=com", ChangeKind::Add, "xText", &[&text]);
            let _ = delete(&shard, &format!("ou=e{},dc=com", steps % 97));
            let _ = add(&shard, &dn, &[("objectClass", &CLASSES), ("xText", &["back", "common"])]);
        }
        assert_eq!(verify.findings(), [], "{kind}");
        assert!(
            verify.entries() > 30 && verify.keys() > 30,
            "{kind}: {} {}",
            verify.entries(),
            verify.keys()
        );
        assert!(steps > 30, "{kind}: {steps}");
        assert_eq!(shard.writer().check(9), [], "{kind}");
    }
}

#[test]
fn what_is_lacking_and_what_is_too_much_is_found() {
    for kind in IndexKind::ALL {
        let shard = shard();
        let number =
            shard.unpinned().indexes().number_answering(name(&shard, kind).attribute_type, kind).unwrap();
        {
            let mut writer = shard.writer();
            let (mut keys, index) = (Vec::new(), begin(&shard, kind).index);
            index.push_keys(writer.view(), b"value 7", &mut keys);
            keys.extend(index.name.kind.attribute_key());
            // Entry 9 is ou=e7; 5,000 is none, and 3 is ou=e1.
            let lacking = *keys.last().unwrap();
            match lacking {
                Key::Prefix(prefix) => _ = writer.remove_prefix(number, prefix, 9),
                key => writer.take_key(number, key, 9),
            }
            writer.add_key(number, lacking, 5000).unwrap();
            keys.clear();
            index.push_keys(writer.view(), b"never", &mut keys);
            if let Some(key) = keys.last() {
                writer.add_key(number, *key, 3).unwrap();
            }
            writer.publish();
        }
        let mut verify = begin(&shard, kind);
        assert_eq!(run(&shard, &mut verify), Verified::All);
        let mut found: Vec<String> = verify.findings().iter().map(ToString::to_string).collect();
        found.sort();
        let not_its = format!("the {kind} index on xText has it under a value that it does not have");
        let mut expected = vec![
            format!("entry 5000 \"\": {not_its}"),
            format!("entry 9 \"ou=e7,dc=com\": the {kind} index on xText lacks it"),
        ];
        if kind != IndexKind::Presence {
            expected.insert(0, format!("entry 3 \"ou=e1,dc=com\": {not_its}"));
        }
        assert_eq!(found, expected, "{kind}");
        assert_eq!(verify.found(), expected.len() as u64);
    }
}

#[test]
fn it_ends_with_the_index_and_bounds_what_it_tells() {
    let shard = shard();
    let mut verify = begin(&shard, IndexKind::Equality);
    let number =
        shard.unpinned().indexes().number_answering(verify.name.attribute_type, IndexKind::Equality).unwrap();
    let mut writer = shard.writer();
    for n in 0..1000 {
        writer.add_key(number, Key::Tag(n << 12), 3).unwrap();
    }
    writer.publish();
    assert_eq!(run(&shard, &mut verify), Verified::All);
    assert_eq!((verify.found(), verify.findings().len()), (1000, FINDINGS_MAX));
    let mut other = begin(&shard, IndexKind::Ordering);
    let mut writer = shard.writer();
    let dropped = writer.index_drop(name(&shard, IndexKind::Ordering));
    writer.publish();
    assert_eq!(step(&shard, &mut other, 50), Verified::Gone);
    assert!(dropped.is_some());
}

#[test]
fn doubts_wait_while_too_much_is_due() {
    let shard = shard();
    let mut reader = Reader::register(&shard).unwrap();
    let old = reader.pin();
    for n in 0..DUE_MAX / 4 {
        let values: Vec<String> = (0..3).map(|k| format!("{n} {k}")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        change(&shard, "ou=e1,dc=com", ChangeKind::Replace, "xText", &values).unwrap();
    }
    let mut verify = begin(&shard, IndexKind::Equality);
    let settled = |verify: &mut IndexVerify| {
        let mut writer = shard.writer();
        let settled = writer.index_settle(verify);
        writer.publish();
        settled
    };
    let mut other = Reader::register(&shard).unwrap();
    while verify.step(other.pin().read_point(), 50) != Verified::Doubts {}
    assert_eq!(settled(&mut verify), Settled::Later);
    drop(old);
    // The first empty batch makes some of the removals.
    while settled(&mut verify) == Settled::Later {}
    assert_eq!(run(&shard, &mut verify), Verified::All);
    assert_eq!(verify.findings(), []);
}
