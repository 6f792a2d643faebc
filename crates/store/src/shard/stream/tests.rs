use super::*;
use crate::apply::ChangeKind;
use crate::apply::tests::{add, change};
use crate::shard::reader::Reader;
use crate::shard::tests::small_shard;
use crate::stream::Packed;
use model::limits::STREAM_BYTES_DEFAULT;

const TOP: &str = "dc=com";
const PERSON: &str = "cn=a,dc=com";

fn with_top() -> Arc<Shard> {
    let shard = small_shard();
    add(&shard, TOP, &[("objectClass", &["domain"])]).unwrap();
    shard
}

/// Takes events up to a read point of this moment.
fn take(follower: &mut Follower, max: usize) -> Result<(Vec<EntryChange>, Option<Reached>), Behind> {
    let mut reader = Reader::register(&follower.shard).unwrap();
    let pin = reader.pin();
    let mut events = Vec::new();
    let reached = follower.take(pin.read_point(), max, &mut events)?;
    Ok((events, reached))
}

fn kinds(follower: &mut Follower) -> Vec<EntryChangeKind> {
    let (events, reached) = take(follower, usize::MAX).unwrap();
    assert!(reached.is_some());
    events.iter().map(|event| event.kind).collect()
}

fn describe(shard: &Arc<Shard>, text: &str) {
    change(shard, PERSON, ChangeKind::Replace, "description", &[text]).unwrap();
}

#[test]
fn events_come_in_order_and_once() {
    let shard = with_top();
    let mut follower = shard.follow(1).unwrap();
    assert_eq!(kinds(&mut follower), []);
    let id = add(&shard, PERSON, &[("objectClass", &["person"]), ("sn", &["x"])]).unwrap();
    describe(&shard, "1");
    let mut writer = shard.writer();
    writer.delete(PERSON.as_bytes()).unwrap();
    writer.publish();
    let (mut events, reached) = take(&mut follower, 1).unwrap();
    assert_eq!(reached, None, "there are more");
    let (more, reached) = take(&mut follower, 2).unwrap();
    events.extend(more);
    assert_eq!(reached, Some(Reached { csn: shard.last_csn(), entries: 1 }));
    assert_eq!(reached, Some(shard.reached()));
    use EntryChangeKind::{Add, Delete, Modify};
    assert!(
        events.iter().map(|event| (event.id, event.kind)).eq([Add, Modify, Delete].map(|kind| (id, kind)))
    );
    assert_eq!(events[2].before.as_ref().unwrap().dn, PERSON.as_bytes());
    assert!(!follower.has_more() && kinds(&mut follower).is_empty());
}

#[test]
fn without_followers_nothing_is_noted() {
    let shard = with_top();
    add(&shard, PERSON, &[("objectClass", &["person"]), ("sn", &["x"])]).unwrap();
    assert!(!shard.stream.is_followed() && lock(&shard.stream.ring).events.is_empty());
    let follower = shard.follow(1).unwrap();
    assert!(shard.follow(1).is_none(), "there is one");
    drop(follower);
    // For a while there may be one again that wants to know.
    describe(&shard, "1");
    assert_eq!(lock(&shard.stream.ring).events.len(), 1);
    for round in 0..=STREAM_BYTES_DEFAULT / size_of::<Packed>() {
        if !shard.stream.is_followed() {
            assert!(round > 1000 && lock(&shard.stream.ring).events.is_empty());
            return;
        }
        let mut writer = shard.writer();
        (0..100).for_each(|_| writer.note_change(EntryId(1), EntryChangeKind::Modify));
        writer.publish();
    }
    assert!(!shard.stream.is_followed());
}

#[test]
fn who_is_too_late_learns_it() {
    let shard = with_top();
    let [mut slow, mut fast] = [(); 2].map(|()| shard.follow(2).unwrap());
    for _ in 0..STREAM_BYTES_DEFAULT / size_of::<Packed>() / 1000 + 1 {
        let mut writer = shard.writer();
        (0..1000).for_each(|_| writer.note_change(EntryId(1), EntryChangeKind::Modify));
        writer.publish();
        assert_eq!(kinds(&mut fast).len(), 1000);
    }
    assert_eq!(take(&mut slow, 1).err(), Some(Behind));
    assert!(lock(&shard.stream.ring).bytes <= STREAM_BYTES_DEFAULT);
}

#[test]
fn a_subtree_is_walked_up_to_a_bound() {
    let shard = with_top();
    let mut all = Vec::new();
    for above in 0..3 {
        let dn = format!("ou=o{above},dc=com");
        all.push(add(&shard, &dn, &[("objectClass", &["organizationalUnit"])]).unwrap().0);
        for below in 0..5 {
            let given = [("objectClass", &["organizationalUnit"][..])];
            all.push(add(&shard, &format!("ou=p{below},{dn}"), &given).unwrap().0);
        }
    }
    let mut reader = Reader::register(&shard).unwrap();
    let pin = reader.pin();
    let read_point = pin.read_point();
    // The second one lies below the first, and so does what is below it: nothing is found twice.
    let mut below = Below::new(vec![1, all[0]]);
    let (mut work, mut steps) = (0, 1);
    while !below.go_on(read_point, &mut work) {
        steps += 1;
    }
    assert!(steps > 10 && below.found() == all.len() - 1, "{steps} steps, {} found", below.found());
    assert!(below.into_ids().iter().eq(std::iter::once(1).chain(all)));
}

/// An event comes with the read point that shows its change, and no sooner.
#[test]
fn events_are_those_between_two_read_points() {
    let shard = with_top();
    let mut follower = shard.follow(1).unwrap();
    let [mut first, mut second] = [(); 2].map(|()| Reader::register(&shard).unwrap());
    add(&shard, PERSON, &[("objectClass", &["person"]), ("sn", &["x"])]).unwrap();
    let early = first.pin();
    describe(&shard, "1");
    let mut events = Vec::new();
    let reached = follower.take(early.read_point(), usize::MAX, &mut events).unwrap().unwrap();
    assert_eq!(events.drain(..).map(|event| event.kind).collect::<Vec<_>>(), [EntryChangeKind::Add]);
    assert!(reached.csn < shard.last_csn() && follower.has_more());
    assert_eq!(follower.take(early.read_point(), usize::MAX, &mut events), Ok(Some(reached)));
    assert!(events.is_empty());
    // One who begins at a read point has what it shows.
    drop(follower);
    let mut follower = shard.follow(1).unwrap();
    describe(&shard, "2");
    let late = second.pin();
    follower.begin_at(late.read_point()).unwrap();
    assert_eq!(follower.began_at().csn, shard.last_csn());
    describe(&shard, "3");
    assert_eq!(kinds(&mut follower), [EntryChangeKind::Modify]);
}

/// A delete gives no CSN, so behind one and behind another the CSN is the same. How many entries there were at a read point before the last
/// batch is not known, and such a state is not taken for another one.
#[test]
fn a_state_between_two_deletes_is_not_known() {
    let shard = with_top();
    for name in ["a", "b", "c"] {
        add(&shard, &format!("cn={name},dc=com"), &[("objectClass", &["person"]), ("sn", &["x"])]).unwrap();
    }
    let delete = |name: &str| {
        let mut writer = shard.writer();
        writer.delete(format!("cn={name},dc=com").as_bytes()).unwrap();
        writer.publish();
    };
    let mut follower = shard.follow(1).unwrap();
    let mut reader = Reader::register(&shard).unwrap();
    delete("a");
    let early = reader.pin();
    delete("b");
    follower.begin_at(early.read_point()).unwrap();
    let began = follower.began_at();
    assert_eq!((began.csn, began.known_entries()), (shard.last_csn(), None));
    assert_eq!(kinds(&mut follower), [EntryChangeKind::Delete]);
    assert_eq!(follower.reached.known_entries(), Some(2));
}

/// The name before and the name after of each rename, also of those of one batch.
#[test]
fn a_rename_has_both_names() {
    let shard = with_top();
    add(&shard, PERSON, &[("objectClass", &["person"]), ("sn", &["x"])]).unwrap();
    let mut follower = shard.follow(1).unwrap();
    let mut writer = shard.writer();
    for [from, to] in [["a", "b"], ["b", "c"]] {
        let (dn, new_rdn) = (format!("cn={from},dc=com"), format!("cn={to}"));
        let modify_dn = crate::apply::ModifyDn {
            dn: dn.as_bytes(),
            new_rdn: new_rdn.as_bytes(),
            delete_old_rdn: true,
            new_superior: None,
        };
        let stamp = crate::apply::tests::stamp(&mut writer);
        writer.modify_dn(modify_dn, stamp).unwrap();
    }
    assert!(!follower.has_more(), "it is not published yet");
    writer.publish();
    let (events, _) = take(&mut follower, usize::MAX).unwrap();
    let names = events.iter().map(|event| event.before.as_ref().unwrap());
    assert!(
        names
            .map(|before| [&before.dn[..], &before.new_dn])
            .eq([[&b"cn=a,dc=com"[..], b"cn=b,dc=com"], [b"cn=b,dc=com", b"cn=c,dc=com"]])
    );
}

/// Batches are forgotten whole, with the names that belong to them, and no others.
#[test]
fn what_is_kept_stays_as_it_was() {
    let shard = with_top();
    let kept = 2000;
    shard.keep_events(kept);
    let [mut slow, mut fast] = [(); 2].map(|()| shard.follow(2).unwrap());
    let describe =
        |event: &EntryChange| (event.id.0, event.kind, event.before.as_ref().map(|b| b.dn.clone()));
    let (mut reported, mut batches) = (Vec::new(), Vec::new());
    for round in 0..200 {
        let mut writer = shard.writer();
        let mut batch = Vec::new();
        for n in 0..round % 7 + 1 {
            let id = EntryId(round * 10 + n);
            let dn = format!("cn={n},dc={round}").into_bytes();
            let before = Box::new(Before { uuid: [0; 16], dn: dn.clone(), new_dn: Vec::new() });
            match (round + n) % 3 {
                0 => writer.state.noted.push_with(id, EntryChangeKind::Delete, before),
                kind => {
                    writer.note_change(id, [EntryChangeKind::Add, EntryChangeKind::Modify][kind as usize - 1])
                }
            }
            let (kind, dn) = match (round + n) % 3 {
                0 => (EntryChangeKind::Delete, Some(dn)),
                1 => (EntryChangeKind::Add, None),
                _ => (EntryChangeKind::Modify, None),
            };
            batch.push((id.0, kind, dn));
        }
        writer.publish();
        batches.push(batch.len());
        reported.extend(batch);
        // A few at a time, and not of all rounds.
        if round % 3 == 0 {
            let mut taken = Vec::new();
            while take(&mut fast, 2)
                .map(|(events, reached)| (taken.extend(events), reached.is_none()))
                .unwrap()
                .1
            {}
            assert!(taken.iter().map(describe).eq(reported.drain(..)), "round {round}");
        }
        assert!(lock(&shard.stream.ring).bytes <= kept);
    }
    assert_eq!(take(&mut slow, 1).err(), Some(Behind));
    let ring = lock(&shard.stream.ring);
    let (first, end) = (ring.first as usize, ring.end() as usize);
    assert_eq!(end, batches.iter().sum::<usize>());
    let begin: Vec<usize> =
        batches.iter().scan(0, |at, len| Some(std::mem::replace(at, *at + len))).collect();
    assert!(begin.contains(&first) && end > first, "whole batches");
    let mut all = Vec::new();
    ring.take(first as u64..end as u64, &mut all);
    let of_before = all.iter().filter_map(|event| event.before.as_ref()).map(|before| 16 + before.bytes());
    let of_events = ring.batches.len() * 24 + all.len() * 8;
    assert_eq!(ring.bytes, of_events + of_before.sum::<usize>());
    drop(ring);
    // One that is too large by itself leaves nothing behind, and who waited for it is notified.
    let mut writer = shard.writer();
    (0..1000).for_each(|id| writer.note_change(EntryId(id), EntryChangeKind::Modify));
    writer.publish();
    assert_eq!(take(&mut fast, 1).err(), Some(Behind));
    let ring = lock(&shard.stream.ring);
    assert_eq!((ring.bytes, ring.first, ring.batches.len()), (0, ring.end(), 0));
}
