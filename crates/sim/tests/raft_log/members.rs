//! Changes of the members, and a replica that is removed before it knows that it is.

use super::*;

/// Three, of which one has its own removal in its log, and does not know that this is committed. The one that led is killed. Returns that, the
/// one that is removed, and the third.
fn removed_without_its_knowledge() -> (Group, u64, u64, u64) {
    let mut group = Group::of(3);
    group.steps(LONG);
    let old = group.leader();
    let [removed, other] = group.others(old)[..] else { panic!("there are three") };
    group.network.cut(ReplicaId(old), ReplicaId(other));
    let control = group.log(old).control();
    let view = control.view();
    let mut change = Change::of(&view.members);
    change.voters.remove(&ReplicaId(removed));
    control.ask(Request::Change(change, view.members_index)).unwrap();
    let last = group.log(removed).status().last;
    while group.log(removed).status().last == last {
        group.steps(1);
    }
    // It has the entry, and nobody lets it know that it is committed.
    group.network.cut(ReplicaId(old), ReplicaId(removed));
    group.steps(10);
    assert!(!control.view().members.voters.contains(&ReplicaId(removed)));
    group.kill(old);
    group.network.mend();
    (group, old, removed, other)
}

#[test]
fn a_replica_that_learns_as_leader_that_it_was_removed_lets_another_one_lead() {
    let (mut group, old, removed, other) = removed_without_its_knowledge();
    group.steps(2 * LONG);
    group.start(old);
    group.steps(4 * LONG);
    let leader = group.leader();
    assert_ne!(leader, removed);
    group.propose(leader, "it goes on").unwrap();
    group.steps(LONG);
    assert_eq!((group.texts(old), group.texts(other)), (vec!["it goes on"], vec!["it goes on"]));
}

/// Its own entry is committed by the others, and its removal with that, before its disk has the entry.
#[test]
fn a_leader_that_was_removed_hears_of_its_disk_later() {
    let (mut group, old, removed, _) = removed_without_its_knowledge();
    group.start(old);
    let (mut kept, mut is_removed) = (None, false);
    for _ in 0..4 * LONG {
        group.step(removed, &mut kept);
        if group.log(removed).role() == Role::Follower {
            let log = group.log(removed);
            kept.take().into_iter().for_each(|job: SyncJob| log.sync_done(job.run()).unwrap());
            continue;
        }
        is_removed = !group.members(removed).voters.contains(&ReplicaId(removed));
        if is_removed {
            break;
        }
    }
    assert!(is_removed, "it leads, and has applied its removal");
    let job = kept.expect("it begins its term with an entry that its disk has not");
    group.log(removed).sync_done(job.run()).unwrap();
    group.steps(4 * LONG);
    assert_ne!(group.leader(), removed);
}

/// Where one voter is left the core answers the question of any leader at once.
#[test]
fn a_leader_that_was_removed_answers_no_reads() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let voter = group.leader();
    let [one, two] = group.others(voter)[..] else { panic!("there are three") };
    let control = group.log(voter).control();
    let view = control.view();
    let mut change = Change::of(&view.members);
    change.voters = [ReplicaId(voter)].into();
    control.ask(Request::Change(change, view.members_index)).unwrap();
    while !group.members(voter).is_joint() {
        group.steps(1);
    }
    // Another one leads, and leaves the joint state.
    group.kill(voter);
    group.steps(2 * LONG);
    group.start(voter);
    let has_left = |group: &mut Group, id: u64| {
        group.log(id).status().leads && group.members(id) == Members::of_voters([ReplicaId(voter)])
    };
    let removed = (0..2 * LONG).find_map(|_| {
        group.steps(1);
        [one, two].into_iter().find(|id| has_left(&mut group, *id))
    });
    let removed = removed.expect("it leads, and has applied its removal");
    // It stands still until the one that is left leads.
    let stopped = group.all[removed as usize - 1].log.take();
    group.steps(2 * LONG);
    assert_eq!(group.leader(), voter);
    let later = group.propose(voter, "later").unwrap();
    group.steps(2);
    assert_eq!(group.texts(voter), ["later"]);
    group.all[removed as usize - 1].log = stopped;
    let barrier = group.log(removed).barrier();
    group.steps(LONG);
    let (passed, index) = group.log(removed).passed();
    assert!(passed < barrier || index >= later.index, "{passed:?} {index:?}");
}

/// Each of them is made of the members that there were before.
#[test]
fn of_several_changes_of_the_same_members_one_is_made() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let leader = group.leader();
    let control = group.log(leader).control();
    let view = control.view();
    let with = |id: u64| {
        let mut change = Change::of(&view.members);
        change.learners.insert(ReplicaId(id));
        Request::Change(change, view.members_index)
    };
    let asked = [4, 5].map(|id| control.ask(with(id)).unwrap());
    group.steps(40);
    assert_eq!(asked.map(|number| control.refusal(number)), [None, Some(Refusal::OtherChange)]);
    // The first one is done by now.
    let late = control.ask(with(6)).unwrap();
    group.steps(40);
    assert_eq!(control.refusal(late), Some(Refusal::OtherChange));
    assert!((1..=3).all(|id| group.members(id).learners == [ReplicaId(4)]));
}
