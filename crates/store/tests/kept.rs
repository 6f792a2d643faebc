//! What the server keeps of an entry for itself, as to those who follow its changes.

use model::Entry;
use std::sync::Arc;
use store::{Add, Change, ChangeKind, Reader, Settings, Shard, Stamp};

fn shard() -> Arc<Shard> {
    let settings = Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 256 << 20,
        removals_max: store::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    let schema = schema::Builder::new().standard().build().expect("it is sound");
    Shard::create(settings, Arc::new(schema)).expect("address space is plenty")
}

/// Row Y8: what the server keeps of an entry for itself is no change of it.
#[test]
fn y8_what_the_server_keeps_is_no_event() {
    let shard = shard();
    let mut writer = shard.writer();
    let mut entry = Entry::new();
    entry.push_attribute(shard.schema().intern_description(b"objectClass").expect("it is known"));
    entry.push_value(b"domain");
    let stamp = Stamp { csn: writer.stamp(1_767_323_045_000), actor: 0 };
    let add = Add { dn: b"dc=com", entry: &mut entry, keep_operational: false };
    let id = writer.add(add, stamp).expect("it is valid");
    writer.publish();

    let mut follower = shard.follow(1).expect("it is the only one");
    let reached = shard.reached();
    let description = shard.schema().intern_description(b"description").expect("it is known");
    let values = [&b"kept"[..]].into_iter().collect();
    let mut writer = shard.writer();
    writer.keep(id, &[Change { kind: ChangeKind::Replace, description, values }]).expect("it is valid");
    writer.publish();
    let mut reader = Reader::register(&shard).expect("there is room for one");
    let mut events = Vec::new();
    let all = follower.take(reader.pin().read_point(), usize::MAX, &mut events).expect("it is not behind");
    assert!(events.is_empty(), "nothing has changed");
    assert_eq!((all, shard.reached()), (Some(reached), reached));
}
