//! What replicas have said of one entry, and who of them is wrong by that.

use consensus::{Members, ReplicaId};
use std::collections::{BTreeMap, BTreeSet};

/// What a replica says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// What it has made of all entries up to there.
    Is(u64),
    /// Its directory is known to be wrong. It is made anew with a snapshot that has this entry at least.
    Rebuilt(u64),
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) index: u64,
    /// The members when it was asked.
    members: Members,
    values: BTreeMap<ReplicaId, Value>,
}

impl Round {
    pub(super) fn new(index: u64, members: Members) -> Round {
        Round { index, members, values: BTreeMap::new() }
    }

    /// A member says this.
    pub(super) fn note(&mut self, id: ReplicaId, value: Value) {
        if self.members.has(id) {
            self.values.insert(id, value);
        }
    }

    pub(super) fn others(&self, own: ReplicaId) -> impl Iterator<Item = ReplicaId> {
        self.members.all().filter(move |id| *id != own)
    }

    /// What a member has made of all entries up to there, if it has said so.
    pub(super) fn value(&self, id: ReplicaId) -> Option<u64> {
        match self.values.get(&id) {
            Some(Value::Is(value)) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn has_said(&self, id: ReplicaId) -> bool {
        self.values.contains_key(&id)
    }

    /// What a majority of those that vote has said: in a joint state, of both.
    pub(super) fn majority(&self) -> Option<u64> {
        let Members { voters, outgoing, .. } = &self.members;
        let has = |voters: &[ReplicaId], value: u64| {
            let with = voters.iter().filter(|id| self.values.get(id) == Some(&Value::Is(value)));
            with.count() > voters.len() / 2
        };
        let is_majority = |value: &u64| has(voters, *value) && (outgoing.is_empty() || has(outgoing, *value));
        self.said().into_iter().find(is_majority)
    }

    /// Have replicas said different things, and is none of them a majority's?
    pub(super) fn is_doubted(&self) -> bool {
        self.said().len() > 1 && self.majority().is_none()
    }

    /// Those that have said something else than `right`: which snapshot each needs.
    pub(super) fn wrong(&self, right: u64) -> impl Iterator<Item = (ReplicaId, u64)> {
        self.values.iter().filter_map(move |(id, value)| match value {
            Value::Is(value) if *value == right => None,
            Value::Is(_) => Some((*id, 0)),
            Value::Rebuilt(needs) => Some((*id, *needs)),
        })
    }

    fn said(&self) -> BTreeSet<u64> {
        let of = |value: &Value| match value {
            Value::Is(value) => Some(*value),
            Value::Rebuilt(_) => None,
        };
        self.values.values().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(ids: &[u64]) -> Vec<ReplicaId> {
        ids.iter().copied().map(ReplicaId).collect()
    }

    /// Of members that vote, that voted before, and that do not.
    fn round(voters: &[u64], outgoing: &[u64], learners: &[u64], values: &[(u64, Value)]) -> Round {
        let (outgoing, learners) = (ids(outgoing), ids(learners));
        let members = Members { outgoing, learners, ..Members::of_voters(ids(voters)) };
        let mut round = Round::new(9, members);
        values.iter().for_each(|(id, value)| round.note(ReplicaId(*id), *value));
        round
    }

    fn wrong(round: &Round) -> Option<Vec<u64>> {
        round.majority().map(|right| round.wrong(right).map(|(id, _)| id.0).collect())
    }

    use Value::{Is, Rebuilt};

    #[test]
    fn one_that_is_alone_among_three_is_wrong_whichever_leads() {
        let of = |values: &[(u64, Value)]| {
            let round = round(&[1, 2, 3], &[], &[], values);
            (wrong(&round), round.is_doubted())
        };
        assert_eq!(of(&[(1, Is(7)), (2, Is(7)), (3, Is(7))]), (Some(vec![]), false));
        assert_eq!(of(&[(1, Is(8)), (2, Is(7)), (3, Is(7))]), (Some(vec![1]), false));
        assert_eq!(of(&[(1, Is(7)), (2, Is(7)), (3, Is(8))]), (Some(vec![3]), false));
        assert_eq!(of(&[(1, Is(7)), (2, Is(7))]), (Some(vec![]), false), "one is away");
        assert_eq!(of(&[(1, Is(7)), (2, Is(8))]), (None, true), "one against one");
        assert_eq!(of(&[(1, Is(7)), (2, Is(8)), (3, Is(9))]), (None, true));
        assert_eq!(of(&[(1, Is(7))]), (None, false), "nobody has answered yet");
        assert_eq!(of(&[(1, Is(7)), (2, Is(7)), (3, Rebuilt(4))]), (Some(vec![3]), false));
        assert_eq!(of(&[(1, Is(7)), (3, Rebuilt(4))]), (None, false), "nobody is with the one that is left");
    }

    #[test]
    fn who_does_not_vote_has_no_voice_and_is_found() {
        let values = [(1, Is(7)), (4, Is(8)), (5, Is(8)), (9, Is(8))];
        assert_eq!(wrong(&round(&[1], &[], &[4, 5], &values)), Some(vec![4, 5]));
        let three = round(&[1, 2, 3], &[], &[4, 5], &values);
        assert_eq!((wrong(&three), three.is_doubted()), (None, true));
    }

    #[test]
    fn in_a_joint_state_both_sets_count() {
        let values = [(1, Is(7)), (2, Is(7)), (3, Is(8)), (4, Is(8)), (5, Is(8))];
        assert_eq!(wrong(&round(&[1, 2, 3], &[3, 4, 5], &[], &values)), None);
        assert_eq!(wrong(&round(&[1, 2, 3], &[1, 2, 4], &[], &values)), Some(vec![3, 4]));
    }

    proptest! {
        /// There is one majority at most, and it is one.
        #[test]
        fn no_majority_is_ever_wrong(voters in 1u64..8, said in proptest::collection::vec(0u64..3, 0..8)) {
            let voters: Vec<u64> = (1..=voters).collect();
            let values: Vec<(u64, Value)> = (1..).zip(said.iter().map(|value| Is(*value))).collect();
            let round = round(&voters, &[], &[], &values);
            if let Some(wrong) = wrong(&round) {
                prop_assert!(wrong.len() * 2 < voters.len());
            }
        }
    }
}
