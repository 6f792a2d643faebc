//! A replica that lacks entries which the others have released goes on with a snapshot.

use super::*;

/// A group in which the leader has a snapshot and none of its entries, and a replica lacks some of those. Returns that and the leader.
fn behind() -> (Group, u64, u64) {
    let mut group = Group::of(3);
    group.retention = Retention { bytes: 0, bytes_for_followers: 4000 };
    (1..=3).for_each(|id| {
        group.kill(id);
        group.start(id);
    });
    group.steps(LONG);
    let leader = group.leader();
    let follower = group.others(leader)[0];
    group.propose(leader, "all have it").unwrap();
    group.steps(4);
    group.kill(follower);
    group.cut_off(follower);
    for text in ["a", "b", "c"] {
        group.propose(leader, text).unwrap();
    }
    // The leader has noticed that it is away.
    group.steps(LONG);
    let last = group.all[leader as usize - 1].committed.last().unwrap().0.index;
    group.log(leader).snapshot_done(last);
    group.propose(leader, "after the snapshot").unwrap();
    group.steps(LONG);
    group.network.mend();
    group.start(follower);
    (group, leader, follower)
}

#[test]
fn a_replica_that_lacks_what_was_released_goes_on_with_a_snapshot() {
    let (mut group, leader, follower) = behind();
    group.steps(200);
    let wanted = group.wanted(follower).expect("it lacks entries");
    assert_eq!(wanted.from, ReplicaId(leader));
    group.kill(follower);
    let (disk, own) = {
        let one = &group.all[follower as usize - 1];
        (one.disk.clone(), one.mark.clone())
    };
    let mark = group.log(leader).mark(wanted.at.index);
    let base = SnapshotMark::decode(wanted.at.index.0, &mark.bytes).unwrap().base;
    let (recovery, _) = recover(&disk, own.record, group.settings);
    let adopted = recovery.adopt(base, own, false).unwrap().expect("it lacks what the snapshot has");
    group.all[follower as usize - 1].mark = adopted;
    // Again and again it goes on there.
    for _ in 0..2 {
        group.start(follower);
        group.steps(LONG);
        assert_eq!(group.texts(follower), ["after the snapshot"]);
        assert_eq!(group.wanted(follower), None);
        group.kill(follower);
    }
    group.start(follower);
    group.propose(leader, "last").unwrap();
    group.steps(LONG);
    assert_eq!(group.texts(follower), ["after the snapshot", "last"]);
}

#[test]
fn a_leader_waits_for_a_replica_that_fetches_and_tells_it_again_of_the_snapshot() {
    let (mut group, leader, follower) = behind();
    group.steps(200);
    let text = "x".repeat(1000);
    let mut proposed = 0;
    while group.propose(leader, &text).is_ok() {
        group.steps(2);
        group.fetch(follower, Fetch::Goes);
        proposed += 1;
        assert!(proposed < 20, "entries after the snapshot are kept in memory");
    }
    assert!(proposed > 1);
    group.fetch(follower, Fetch::Failed);
    group.steps(1);
    assert_eq!(group.wanted(follower), None);
    group.steps(200);
    assert!(group.wanted(follower).is_some(), "it hears of it again");
    // One that is gone is not waited for.
    group.kill(follower);
    group.steps(3 * LONG);
    group.propose(leader, &text).unwrap();
}
