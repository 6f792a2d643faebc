//! Consumers of content synchronisation that do not read, or read slowly: what they may hold, and how they are sent away.

use super::rfc4533_content_sync::{ALL, PEOPLE, of, person, rooted, take_some};
use crate::common::Client;
use crate::common::consumer::Consumer;
use model::ResultCode::{Busy, Success, SyncRefreshRequired};
use proto::op::ModifyKind;

/// What is changed while nobody takes it is kept up to a bound.
#[test]
fn who_falls_behind_begins_anew() {
    let mut config = crate::common::config();
    config.settings.configured.followers.bytes = 64 << 10;
    let mut writer = Client::with(config);
    writer.bind_root();
    let mut reader = Client::of(&writer.dsa);
    reader.bind_root();
    let mut consumer = Consumer::default();
    let id = reader.begin_sync(&of(PEOPLE, ALL, true), &mut consumer);
    let long = "x".repeat(250);
    let above = format!("ou={long},{PEOPLE}");
    writer.must_add(&above, &[("objectClass", &["organizationalUnit"])]);
    // Each deletion keeps a DN.
    for _ in 0..3 {
        let mut dn = above.clone();
        let mut made = Vec::new();
        for _ in 0..15 {
            dn = format!("ou={long},{dn}");
            writer.must_add(&dn, &[("objectClass", &["organizationalUnit"])]);
            made.push(dn.clone());
        }
        made.iter().rev().for_each(|dn| _ = writer.delete(dn));
    }
    reader.follow(id, &mut consumer);
    assert_eq!(consumer.code(), Some(SyncRefreshRequired));
}

fn modify_people(writer: &mut Client, people: std::ops::Range<usize>, sn: &str) {
    for n in people {
        let dn = format!("uid=n{n},{PEOPLE}");
        assert_eq!(writer.modify(&dn, &[(ModifyKind::Replace, "sn", &[sn])]).code, Success);
    }
}

/// While it waits for its client it holds no read point, and goes on at another one. What was changed meanwhile comes with the next batch.
#[test]
fn who_does_not_read_holds_no_old_versions() {
    let (mut writer, mut reader) = rooted();
    crate::common::add_people(&mut writer, 3000);
    let asked = of("dc=example", ALL, true);
    let mut consumer = Consumer::default();
    let id = reader.begin_sync(&asked, &mut consumer);
    let shard = std::sync::Arc::clone(writer.dsa.shard());
    modify_people(&mut writer, 0..3000, "two");
    consumer.said.clear();
    assert!(take_some(&mut reader, id, &mut consumer), "it is in the middle of a batch");
    assert!(!shard.has_revocable_readers());
    let first = consumer.said.len();
    assert!((1..2900).contains(&first), "{first} were sent");
    // Of those that were sent and of those that were not: deleted, changed, out of the scope and in it again; and a new one.
    for at in [1, 2997] {
        assert_eq!(writer.delete(&format!("uid=n{at},{PEOPLE}")).code, Success);
        modify_people(&mut writer, at + 1..at + 2, "three");
    }
    assert_eq!(writer.delete(&format!("uid=n2996,{PEOPLE}")).code, Success);
    person(&mut writer, "new", "new");
    let cookie = consumer.cookie.clone();
    while take_some(&mut reader, id, &mut consumer) {}
    let rest: Vec<_> = consumer.said[first..].iter().filter(|said| !said.starts_with("modify")).collect();
    assert!(rest.is_empty(), "what came later is of the next batch: {rest:?}");
    assert_ne!(consumer.cookie, cookie, "it came to the end of the batch");
    // From that cookie on it gets what the batch has left out.
    let mut other = Consumer {
        content: consumer.content.clone(),
        cookie: consumer.cookie.clone(),
        ..Consumer::default()
    };
    let mut again = Client::of(&writer.dsa);
    again.bind_root();
    again.begin_sync(&asked, &mut other);
    writer.is_synchronous(&asked, &other);
    consumer.said.clear();
    reader.follow(id, &mut consumer);
    writer.is_synchronous(&asked, &consumer);
    let mut said = consumer.said.clone();
    said.sort();
    let modified = [2, 2998].map(|at| format!("modify uid=n{at},{PEOPLE}"));
    assert_eq!(said[1..], [vec!["gone".to_owned(); 3], modified.to_vec()].concat());
    assert_eq!(said[0], format!("add cn=new,{PEOPLE}"));
}

/// What many clients that do not read cost is bounded, and each is sent away when it reads again.
#[test]
fn many_that_do_not_read_are_sent_away() {
    const CONSUMERS: usize = 20;
    let mut config = crate::common::config();
    config.settings.configured.followers.bytes = 64 << 10;
    let mut writer = Client::with(config);
    writer.bind_root();
    crate::common::add_people(&mut writer, 3000);
    let memory = std::sync::Arc::clone(writer.dsa.client_memory());
    let mut readers: Vec<_> = (0..CONSUMERS)
        .map(|_| {
            let (mut reader, mut consumer) = (Client::of(&writer.dsa), Consumer::default());
            reader.bind_root();
            let id = reader.begin_sync(&of("dc=example", ALL, true), &mut consumer);
            (reader, consumer, id)
        })
        .collect();
    modify_people(&mut writer, 0..1900, "two");
    for (reader, consumer, id) in &mut readers {
        assert!(take_some(reader, *id, consumer), "there is more than a client takes at once");
    }
    modify_people(&mut writer, 0..3000, "three");
    let (kept, held) = (memory.bytes(), writer.dsa.shard().bytes_held());
    assert!(kept <= (CONSUMERS as u64) << 20 && held == 0, "{kept} bytes kept, {held} of old versions");
    for (reader, consumer, id) in &mut readers {
        reader.follow(*id, consumer);
        assert_eq!(consumer.code(), Some(SyncRefreshRequired));
        assert_eq!(reader.begin_sync(&of("dc=example", ALL, true), consumer), *id + 1);
    }
    let (_, consumer, _) = &readers[0];
    writer.is_synchronous(&of("dc=example", ALL, true), consumer);
}

/// A batch whose read point was taken away for want of memory is no state that a client may go on from.
#[test]
fn who_loses_its_read_point_begins_anew() {
    let (mut writer, mut reader) = rooted();
    crate::common::add_people(&mut writer, 3000);
    let mut consumer = Consumer::default();
    let id = reader.begin_sync(&of("dc=example", ALL, true), &mut consumer);
    modify_people(&mut writer, 0..3000, "two");
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    let mut out = Vec::new();
    reader.session.poll_notices(&reader.worker, cx, &mut out);
    assert_eq!(reader.session.step(&mut reader.worker, &mut out), dsa::State::Busy);
    assert_eq!(writer.dsa.shard().revoke_before(u64::MAX).len(), 1);
    consumer.take(&out, id);
    reader.follow(id, &mut consumer);
    assert_eq!(consumer.code(), Some(SyncRefreshRequired));
}

/// What a search keeps is memory of its client. Where there is no more, it is refused, or ends when it would keep more.
#[test]
fn a_follower_keeps_no_more_than_there_is_room_for() {
    let mut config = crate::common::config();
    config.settings.configured.limits.clients.memory_bytes_max = Some(64 << 10);
    let mut writer = Client::with(config);
    let mut reader = Client::of(&writer.dsa);
    reader.bind_root();
    let memory = std::sync::Arc::clone(writer.dsa.client_memory());
    let mut consumer = Consumer::default();
    let id = reader.begin_sync(&of("dc=example", ALL, true), &mut consumer);
    assert_eq!((consumer.code(), memory.bytes()), (None, 0), "so little is not counted");
    crate::common::add_people(&mut writer, 6000);
    reader.follow(id, &mut consumer);
    assert_eq!(consumer.code(), None);
    let kept = memory.bytes();
    assert!(
        (6000 * 2..64 << 10).contains(&kept),
        "{kept} bytes, two for each entry and not those of the batch"
    );
    let mut other = dsa::client_memory::Kept::new(&memory);
    other.set(60 << 10, true);
    // All is renamed with the one above it: the batch has to know all of it.
    assert_eq!(writer.rename(PEOPLE, "ou=folk", true, None).code, Success);
    reader.follow(id, &mut consumer);
    assert_eq!(consumer.code(), Some(Busy));
    assert_eq!((memory.bytes(), writer.dsa.shard().followers()), (60 << 10, 0));
    // A filter is kept as long as the search stays.
    let long = format!("(|{})", "(description=some text that nobody has)".repeat(400));
    reader.begin_sync(&of("dc=example", &long, true), &mut consumer);
    assert_eq!(consumer.code(), Some(Busy));
}

/// A smaller limit ends no search that follows by then.
#[test]
fn how_many_may_follow_is_a_setting() {
    let (mut writer, mut reader) = rooted();
    let mut limit = |name: &str, most: &str| {
        let changes: &[(ModifyKind, &str, &[&str])] = &[(ModifyKind::Replace, name, &[most])];
        assert_eq!(writer.modify("cn=config", changes).code, Success);
    };
    let mut code = || {
        let mut consumer = Consumer::default();
        reader.begin_sync(&of(PEOPLE, ALL, true), &mut consumer);
        consumer.code()
    };
    limit("pandoLimitsFollowersPerConnection", "2");
    assert_eq!([code(), code(), code()], [None, None, Some(Busy)]);
    limit("pandoLimitsFollowersPerConnection", "8");
    limit("pandoLimitsFollowers", "3");
    assert_eq!([code(), code()], [None, Some(Busy)]);
    limit("pandoLimitsFollowers", "1");
    assert_eq!(code(), Some(Busy));
}
