//! What a leader does about members by itself: learners that have caught up get votes, a replica that joined in place of another one gets its
//! vote, and a replica that is not to lead has another one lead. And how members are removed, so that an odd number votes afterwards.
//!
//! Nothing is remembered here: what an operator wants stands in the log with the members, and any leader goes on with it.

use crate::change::Change;
use crate::control::{Request, View};
use crate::faults;
use crate::member::{ReplicaId, VOTERS_MAX};
use env::planted;
use std::collections::{BTreeMap, BTreeSet};

/// Votes that are left at least where one is taken from a replica that is heard of.
const VOTES_LEFT_MIN: usize = 3;

/// What an operator wants of replicas, as it stands in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Replicas that are not to lead.
    pub drained: BTreeSet<ReplicaId>,
    /// Replicas that joined in place of another one each.
    pub replaces: BTreeMap<ReplicaId, ReplicaId>,
}

/// What a leader decides by.
#[derive(Clone, Copy, Debug)]
pub struct Upkeep<'v> {
    /// The replica that leads.
    pub own: ReplicaId,
    /// What it sees.
    pub view: &'v View,
    /// What is wanted.
    pub wishes: &'v Wishes,
    /// Replicas that have nearly all that it has, itself included.
    pub caught_up: &'v BTreeSet<ReplicaId>,
}

/// Why members are not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRemoved {
    /// This one was to be dead, and is heard of.
    Heard(ReplicaId),
    /// So many would vote, and no learner that has caught up can vote besides.
    Even(usize),
    /// Of those that would vote too few are heard of.
    NoMajority,
}

impl Upkeep<'_> {
    /// What is to be done now, if anything.
    pub fn next(&self) -> Option<Request> {
        if self.view.leader != Some(self.own) || self.view.members.is_joint() {
            return None;
        }
        let change = |change| Request::Change(change, self.view.members_index);
        if let Some((new, old)) = self.replacement() {
            return match old == self.own {
                true => self.successor(&BTreeSet::from([old])).map(Request::Transfer),
                false => Some(change(self.replaced(new, old))),
            };
        }
        if self.wishes.drained.contains(&self.own)
            && !planted::is(faults::DRAINED_LEADS_AGAIN)
            && let Some(next) = self.successor(&self.wishes.drained)
        {
            return Some(Request::Transfer(next));
        }
        if let Some(next) = self.better() {
            return Some(Request::Transfer(next));
        }
        self.votes().map(change)
    }

    /// A replica that is to lead because the disk or the clock of this one is worse.
    pub fn better(&self) -> Option<ReplicaId> {
        let better = &self.view.conditions.better;
        let is_worse = |id: &ReplicaId| !better.contains(id) || self.wishes.drained.contains(id);
        let worse = self.view.members.all().filter(is_worse).collect();
        if better.is_empty() { None } else { self.successor(&worse) }
    }

    /// Of the others that vote and have caught up, the one that has most of the log; none of `besides`.
    pub fn successor(&self, besides: &BTreeSet<ReplicaId>) -> Option<ReplicaId> {
        let may_lead = |id: &ReplicaId| {
            self.view.members.voters.contains(id) && self.caught_up.contains(id) && !besides.contains(id)
        };
        let others = self.view.others.iter().filter(|other| may_lead(&other.id));
        others.max_by_key(|other| (other.matched, other.id)).map(|other| other.id)
    }

    /// Is there a majority without this replica, of those that vote, have caught up and may lead?
    pub fn goes_on_without(&self, id: ReplicaId) -> bool {
        let voters = &self.view.members.voters;
        let stays = |other: &&ReplicaId| {
            **other != id && self.caught_up.contains(other) && !self.wishes.drained.contains(other)
        };
        !voters.contains(&id) || voters.iter().filter(stays).count() > voters.len() / 2
    }

    /// The members without those in `gone`, of whom none leads. Learners that have caught up get their votes. An even number never votes:
    /// if `are_dead`, one that is heard of gives its vote up instead, where three votes are left.
    ///
    /// # Errors
    /// Why not.
    pub fn without(&self, gone: &BTreeSet<ReplicaId>, are_dead: bool) -> Result<Change, NotRemoved> {
        if let Some(id) = gone.iter().find(|id| are_dead && self.is_heard(**id)) {
            return Err(NotRemoved::Heard(*id));
        }
        let mut change = Change::of(&self.view.members);
        change.learners.retain(|id| !gone.contains(id));
        let votes = change.voters.len();
        change.voters.retain(|id| !gone.contains(id));
        let free = votes - change.voters.len();
        let replaces_one_of =
            |id: &ReplicaId| self.wishes.replaces.get(id).is_some_and(|old| gone.contains(old));
        let mut next: Vec<ReplicaId> = self.learners().filter(|id| !gone.contains(id)).collect();
        next.sort_by_key(|id| !replaces_one_of(id));
        next.truncate(free);
        if (change.voters.len() + next.len()).is_multiple_of(2) && next.pop().is_none() {
            let least = self.view.others.iter().filter(|other| change.voters.contains(&other.id));
            let least = least.min_by_key(|other| (other.matched, std::cmp::Reverse(other.id)));
            match least.filter(|_| are_dead && change.voters.len() > VOTES_LEFT_MIN) {
                Some(least) => {
                    change.voters.remove(&least.id);
                    change.learners.insert(least.id);
                }
                None => return Err(NotRemoved::Even(change.voters.len())),
            }
        }
        next.into_iter().for_each(|id| change.give_vote(id));
        if self.has_majority(&change.voters) { Ok(change) } else { Err(NotRemoved::NoMajority) }
    }

    /// A member that has caught up, and the member in place of which it joined.
    fn replacement(&self) -> Option<(ReplicaId, ReplicaId)> {
        let members = &self.view.members;
        let is_due = |(new, old): &(&ReplicaId, &ReplicaId)| {
            members.learners.contains(new) && self.caught_up.contains(new) && members.has(**old)
        };
        let (new, old) = self.wishes.replaces.iter().find(is_due)?;
        self.has_majority(&self.replaced(*new, *old).voters).then_some((*new, *old))
    }

    /// The members with `new` in place of `old`.
    fn replaced(&self, new: ReplicaId, old: ReplicaId) -> Change {
        let mut change = Change::of(&self.view.members);
        change.learners.remove(&old);
        if change.voters.remove(&old) {
            change.give_vote(new);
            if planted::is(faults::REPLACED_KEEPS_VOTE) {
                change.voters.insert(old);
            }
        }
        change
    }

    /// Votes for learners that have caught up, if an odd number votes then: two votes are worse than one.
    fn votes(&self) -> Option<Change> {
        let mut change = Change::of(&self.view.members);
        let mut next: Vec<ReplicaId> = self.learners().collect();
        let is_even = (change.voters.len() + next.len()).is_multiple_of(2);
        if is_even && !planted::is(faults::TWO_VOTERS) {
            next.pop();
        }
        if next.is_empty() || change.voters.len() + next.len() > VOTERS_MAX {
            return None;
        }
        next.into_iter().for_each(|id| change.give_vote(id));
        self.has_majority(&change.voters).then_some(change)
    }

    /// Learners that have caught up, and wait for no certain member's place.
    fn learners(&self) -> impl Iterator<Item = ReplicaId> {
        let members = &self.view.members;
        let waits = |id: &ReplicaId| self.wishes.replaces.get(id).is_some_and(|old| members.has(*old));
        let learners = members.learners.iter().copied();
        learners.filter(move |id| self.caught_up.contains(id) && !waits(id))
    }

    fn is_heard(&self, id: ReplicaId) -> bool {
        id == self.own || self.view.others.iter().any(|other| other.id == id && other.is_active)
    }

    /// Is a majority of these heard of? Otherwise a joint state could not be left.
    fn has_majority(&self, voters: &BTreeSet<ReplicaId>) -> bool {
        voters.iter().filter(|id| self.is_heard(**id)).count() > voters.len() / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Other;
    use crate::member::Members;

    fn ids(numbers: &[u64]) -> BTreeSet<ReplicaId> {
        numbers.iter().copied().map(ReplicaId).collect()
    }

    /// As replica 1 sees it, which leads. Those in `up` are heard of and have caught up, and those with higher numbers have more of the log.
    fn view(voters: &[u64], learners: &[u64], up: &[u64]) -> View {
        let mut members = Members::of_voters(ids(voters));
        members.learners = ids(learners).into_iter().collect();
        let others = members.all().filter(|id| id.0 != 1);
        let other =
            |id: ReplicaId| Other { id, matched: id.0, is_active: up.contains(&id.0), fetches: false };
        let others = others.map(other).collect();
        View { members, others, leader: Some(ReplicaId(1)), members_index: 7, ..View::default() }
    }

    fn with<T>(view: &View, wishes: &Wishes, decide: impl FnOnce(Upkeep<'_>) -> T) -> T {
        let up = view.others.iter().filter(|other| other.is_active).map(|other| other.id);
        let caught_up = up.chain([ReplicaId(1)]).collect();
        decide(Upkeep { own: ReplicaId(1), view, wishes, caught_up: &caught_up })
    }

    fn change(voters: &[u64], learners: &[u64]) -> Option<Request> {
        let change = Change { voters: ids(voters), learners: ids(learners), ..Change::default() };
        Some(Request::Change(change, 7))
    }

    #[test]
    fn votes_are_given_in_odd_numbers() {
        let next = |view: &View| with(view, &Wishes::default(), |upkeep| upkeep.next());
        assert_eq!(next(&view(&[1], &[2], &[2])), None);
        assert_eq!(next(&view(&[1], &[2, 3], &[2])), None);
        assert_eq!(next(&view(&[1], &[2, 3], &[2, 3])), change(&[1, 2, 3], &[]));
        assert_eq!(next(&view(&[1, 2, 3], &[4], &[2, 3, 4])), None);
        assert_eq!(next(&view(&[1, 2], &[4], &[2, 4])), change(&[1, 2, 4], &[]));
    }

    #[test]
    fn a_replica_takes_the_place_of_another() {
        let replaces =
            |new, old| Wishes { replaces: [(ReplicaId(new), ReplicaId(old))].into(), ..Wishes::default() };
        let next = |view: &View, wishes| with(view, &wishes, |upkeep| upkeep.next());
        assert_eq!(next(&view(&[1, 2, 3], &[4], &[2, 4]), replaces(4, 3)), change(&[1, 2, 4], &[]));
        assert_eq!(next(&view(&[1, 2, 3], &[4], &[2]), replaces(4, 3)), None, "it has not caught up");
        assert_eq!(
            next(&view(&[1, 2, 3], &[4], &[2, 3, 4]), replaces(4, 1)),
            Some(Request::Transfer(ReplicaId(3)))
        );
        assert_eq!(next(&view(&[1, 2, 3], &[4, 5], &[2, 3, 4, 5]), replaces(5, 4)), change(&[1, 2, 3], &[5]));
        // One that waits for a place takes no other.
        assert_eq!(next(&view(&[1, 2], &[4], &[2]), replaces(4, 2)), None);
        assert_eq!(next(&view(&[1, 2, 3], &[4, 5], &[2, 3, 5]), replaces(4, 2)), None);
        // The place is gone: it is a learner as any other.
        assert_eq!(next(&view(&[1, 2], &[4], &[2, 4]), replaces(4, 3)), change(&[1, 2, 4], &[]));
        // Without a majority a joint state could not be left.
        assert_eq!(next(&view(&[1, 2, 3, 5, 6], &[4], &[4]), replaces(4, 3)), None);
    }

    #[test]
    fn a_drained_replica_lets_another_one_lead() {
        let drained = |numbers| Wishes { drained: ids(numbers), ..Wishes::default() };
        let three = view(&[1, 2, 3], &[], &[2, 3]);
        let next = |wishes| with(&three, &wishes, |upkeep| upkeep.next());
        assert_eq!(next(drained(&[1])), Some(Request::Transfer(ReplicaId(3))));
        assert_eq!(next(drained(&[1, 3])), Some(Request::Transfer(ReplicaId(2))));
        assert_eq!(next(drained(&[1, 2, 3])), None, "nobody else can");
        assert_eq!(next(drained(&[2])), None);
        let goes_on = |up: &[u64], drained, id| {
            let (view, wishes) =
                (view(&[1, 2, 3], &[4], up), Wishes { drained: ids(drained), ..Wishes::default() });
            with(&view, &wishes, |upkeep| upkeep.goes_on_without(ReplicaId(id)))
        };
        assert!(goes_on(&[2, 3], &[], 3) && goes_on(&[2, 3], &[3], 3) && goes_on(&[2], &[], 4));
        assert!(!goes_on(&[2], &[], 2) && !goes_on(&[2, 3], &[3], 2));
    }

    #[test]
    fn a_replica_that_is_better_leads() {
        let next = |up: &[u64], better: &[u64], drained: &[u64]| {
            let mut view = view(&[1, 2, 3], &[4], up);
            view.conditions.better = ids(better).into_iter().collect();
            with(&view, &Wishes { drained: ids(drained), ..Wishes::default() }, |upkeep| upkeep.next())
        };
        assert_eq!(next(&[2, 3], &[], &[]), None);
        assert_eq!(next(&[2, 3], &[2], &[]), Some(Request::Transfer(ReplicaId(2))));
        assert_eq!(next(&[2, 3], &[2, 3], &[3]), Some(Request::Transfer(ReplicaId(2))));
        assert_eq!(next(&[3], &[2], &[]), None, "it has not caught up");
        assert_eq!(next(&[2, 3], &[3], &[3]), None, "it is drained");
        assert_eq!(next(&[2, 3, 4], &[4], &[]), None, "it has no vote");
    }

    #[test]
    fn an_odd_number_votes_after_a_removal() {
        let without = |view: &View, gone: &[u64], are_dead| {
            let removed = with(view, &Wishes::default(), |upkeep| upkeep.without(&ids(gone), are_dead));
            removed.map(|change| Some(Request::Change(change, 7)))
        };
        let five = view(&[1, 2, 3, 4, 5], &[], &[2, 3, 4]);
        assert_eq!(without(&five, &[4, 5], false), Ok(change(&[1, 2, 3], &[])));
        assert_eq!(without(&five, &[5], false), Err(NotRemoved::Even(4)));
        assert_eq!(without(&five, &[5], true), Ok(change(&[1, 3, 4], &[2])));
        assert_eq!(without(&five, &[4], true), Err(NotRemoved::Heard(ReplicaId(4))));
        assert_eq!(without(&five, &[2, 3, 4, 5], false), Ok(change(&[1], &[])));
        assert_eq!(without(&five, &[1, 2, 3, 4, 5], false), Err(NotRemoved::Even(0)));
        assert_eq!(
            without(&view(&[1, 2, 3, 4, 5], &[], &[2, 3]), &[2, 3], false),
            Err(NotRemoved::NoMajority)
        );
        let three = view(&[1, 2, 3], &[], &[2]);
        assert_eq!(without(&three, &[3], true), Err(NotRemoved::Even(2)), "two votes are worse than three");
        assert_eq!(without(&view(&[1, 2, 3], &[4], &[2, 4]), &[3], true), Ok(change(&[1, 2, 4], &[])));
        assert_eq!(without(&view(&[1, 2, 3], &[4], &[2]), &[4], false), Ok(change(&[1, 2, 3], &[])));
        assert_eq!(
            without(&view(&[1, 2, 3, 4, 5], &[6], &[2, 3, 6]), &[4, 5], true),
            Ok(change(&[1, 2, 3], &[6]))
        );
    }
}
