//! What a replica may answer from: barriers, the lease of a leader, and what no majority has.

use super::*;

#[test]
fn a_barrier_at_a_follower_is_behind_all_that_was_committed() {
    let mut group = Group::of(5);
    group.steps(LONG);
    let leader = group.leader();
    let follower = group.others(leader)[0];
    let mut last = Ticket(0);
    for number in 0..20 {
        let at = group.propose(leader, &number.to_string()).unwrap();
        group.steps(3);
        assert_eq!(group.texts(leader).len(), number + 1);
        let barrier = group.log(follower).barrier();
        assert!(barrier > last && group.log(follower).passed().0 < barrier);
        last = barrier;
        group.steps(6);
        let (passed, index) = group.log(follower).passed();
        assert!(passed == barrier && index >= at.index);
    }
}

/// The disk of the leader has not yet the entry with which its term begins.
#[test]
fn a_leader_answers_no_question_before_its_term_has_begun() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let old = group.leader();
    let [follower, next] = group.others(old)[..] else { panic!("there are three") };
    group.propose(old, "all have it").unwrap();
    group.steps(20);
    group.log(old).control().ask(Request::Transfer(ReplicaId(next))).unwrap();
    let mut kept = None;
    loop {
        group.step(next, &mut kept);
        let log = group.log(next);
        if log.status().leads {
            break;
        }
        kept.take().into_iter().for_each(|job: SyncJob| log.sync_done(job.run()).unwrap());
    }
    group.kill(old);
    (0..10).for_each(|_| group.step(next, &mut kept));
    let status = group.log(next).status();
    assert!(status.leads && status.commit < status.last, "{status:?}");
    let barrier = group.log(follower).barrier();
    (0..20).for_each(|_| group.step(next, &mut kept));
    assert!(group.log(follower).passed().0 < barrier);
    let job = kept.take().expect("its entry is on its way to the disk");
    group.log(next).sync_done(job.run()).unwrap();
    group.steps(20);
    assert_eq!(group.log(follower).passed().0, barrier);
}

/// The other one may get the request to lead at any later time, and need not keep its promise then.
#[test]
fn a_leader_that_gave_up_a_transfer_has_no_lease() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let leader = group.leader();
    group.log(leader).set_read_mode(ReadMode { by_lease: true, ..ReadMode::default() });
    let lease = group.log(leader).lease().expect("a replica has one");
    let holds = |group: &mut Group| {
        group.log(leader).barrier();
        group.steps(20);
        lease.holds(group.now_ms * 1_000_000)
    };
    assert!(holds(&mut group), "a majority has answered");
    let to = group.others(leader)[0];
    group.cut_off(to);
    group.log(leader).control().ask(Request::Transfer(ReplicaId(to))).unwrap();
    let term = group.log(leader).status().term;
    for _ in 0..100 {
        assert!(!holds(&mut group));
    }
    let status = group.log(leader).status();
    assert!(status.leads && status.term == term, "{status:?}");
    assert!(group.propose(leader, "it has given that up").is_ok());
}

/// Two of five have an entry: the leader and a follower.
#[test]
fn a_follower_shows_nothing_that_no_majority_has() {
    let mut group = Group::of(5);
    group.steps(LONG);
    let leader = group.leader();
    let others = group.others(leader);
    let (follower, majority) = (others[0], &others[1..]);
    for id in majority {
        for one in [leader, follower] {
            group.network.cut(ReplicaId(one), ReplicaId(*id));
            group.network.cut(ReplicaId(*id), ReplicaId(one));
        }
    }
    let lost = group.propose(leader, "lost").unwrap();
    group.steps(20);
    assert_eq!(group.log(follower).control().view().durable.index, lost.index.0, "it has the entry");
    assert!((1..=5).all(|id| group.texts(id).is_empty()), "nobody shows it");
    group.steps(LONG);
    let new = group.leader();
    group.propose(new, "kept").unwrap();
    group.network.mend();
    group.steps(LONG);
    assert!((1..=5).all(|id| group.texts(id) == ["kept"]));
}

/// Sessions of it look at the clock, which does not stand still with it.
#[test]
fn a_leader_that_stands_still_has_no_lease_when_another_one_leads() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let old = group.leader();
    group.log(old).set_read_mode(ReadMode { by_lease: true, ..ReadMode::default() });
    let lease = group.log(old).lease().expect("a replica has one");
    let holds = |group: &Group| lease.holds(group.now_ms * 1_000_000);
    group.log(old).barrier();
    group.steps(20);
    assert!(holds(&group), "a majority has answered");
    let stopped = group.all[old as usize - 1].log.take();
    let other_leads =
        |group: &Group| group.all.iter().filter_map(|one| one.log.as_ref()).any(|log| log.status().leads);
    while !other_leads(&group) {
        group.steps(1);
    }
    assert!(!holds(&group), "it has not taken a step since");
    let new = group.leader();
    let later = group.propose(new, "later").unwrap();
    group.steps(20);
    assert_eq!(group.texts(new), ["later"]);
    // It goes on, and hears first what it was sent before it stood still.
    group.all[old as usize - 1].log = stopped;
    let barrier = group.log(old).barrier();
    while group.log(old).passed().0 < barrier {
        assert!(!holds(&group));
        group.steps(1);
    }
    assert!(group.log(old).passed().1 >= later.index);
}
