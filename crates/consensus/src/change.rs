//! Changes of members, as entries of the log. The core proposes them in its own bytes, those of protobuf; what is read of them
//! is read here, whatever the bytes are.

use crate::member::{Members, ReplicaId, encode_facts, take_facts};
use raft::eraftpb::{ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2};
use std::collections::{BTreeMap, BTreeSet};

/// Steps of one change, at most.
const STEPS_MAX: usize = 32;
/// Field numbers and wire types of the core's bytes.
const TRANSITION: u64 = 1 << 3;
const STEP: u64 = (2 << 3) | 2;
const CONTEXT: u64 = (3 << 3) | 2;
const STEP_KIND: u64 = 1 << 3;
const STEP_ID: u64 = 2 << 3;

/// What members are to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Replicas that vote.
    pub voters: BTreeSet<ReplicaId>,
    /// Replicas that have the log and do not vote.
    pub learners: BTreeSet<ReplicaId>,
    /// What is newly known of replicas.
    pub facts: BTreeMap<ReplicaId, Vec<u8>>,
}

impl Change {
    /// Nothing else than there is.
    pub fn of(members: &Members) -> Change {
        let set = |ids: &[ReplicaId]| ids.iter().copied().collect();
        Change { voters: set(&members.voters), learners: set(&members.learners), facts: BTreeMap::new() }
    }

    /// A learner is to vote.
    pub(crate) fn give_vote(&mut self, id: ReplicaId) {
        self.learners.remove(&id);
        self.voters.insert(id);
    }

    /// The step by which a replica becomes what it is to be.
    fn kind(&self, id: &ReplicaId) -> ConfChangeType {
        match (self.voters.contains(id), self.learners.contains(id)) {
            (true, _) => ConfChangeType::AddNode,
            (false, true) => ConfChangeType::AddLearnerNode,
            (false, false) => ConfChangeType::RemoveNode,
        }
    }

    /// The change in the core's words. More than one step at a time goes by a joint state, which is left by another change.
    pub(crate) fn steps(&self, now: &Members) -> ConfChangeV2 {
        let before = Change::of(now);
        let all: BTreeSet<ReplicaId> =
            self.voters.iter().chain(&self.learners).copied().chain(now.all()).collect();
        let mut steps: Vec<_> = all.iter().filter(|id| self.kind(id) != before.kind(id)).collect();
        if steps.is_empty() {
            // Without any step it would mean that a joint state is left.
            steps.extend(now.voters.first());
        }
        let mut change = ConfChangeV2::default();
        change.set_transition(match steps.len() {
            1 => ConfChangeTransition::Auto,
            _ => ConfChangeTransition::Explicit,
        });
        for id in steps {
            let mut step = ConfChangeSingle { node_id: id.0, ..ConfChangeSingle::default() };
            step.set_change_type(self.kind(id));
            change.changes.push(step);
        }
        let mut context = (self.facts.len() as u32).to_le_bytes().to_vec();
        encode_facts(&self.facts, &mut context);
        change.context = context.into();
        change
    }
}

/// Reads the payload of an entry that changes members, and what it newly says of them. `None` if it is none.
pub(crate) fn decode(payload: &[u8]) -> Option<(ConfChangeV2, BTreeMap<ReplicaId, Vec<u8>>)> {
    let (mut change, mut facts, mut rest) = (ConfChangeV2::default(), BTreeMap::new(), payload);
    while !rest.is_empty() {
        match take_number(&mut rest)? {
            TRANSITION => change.set_transition(match take_number(&mut rest)? {
                0 => ConfChangeTransition::Auto,
                2 => ConfChangeTransition::Explicit,
                _ => return None,
            }),
            STEP if change.changes.len() < STEPS_MAX => change.changes.push(step(take_bytes(&mut rest)?)?),
            CONTEXT => {
                let context = take_bytes(&mut rest)?;
                let (count, mut list) = context.split_first_chunk::<4>()?;
                facts =
                    take_facts(u32::from_le_bytes(*count) as usize, &mut list).filter(|_| list.is_empty())?;
                change.context = context.to_vec().into();
            }
            _ => return None,
        }
    }
    Some((change, facts))
}

fn step(mut rest: &[u8]) -> Option<ConfChangeSingle> {
    let mut step = ConfChangeSingle::default();
    while !rest.is_empty() {
        match take_number(&mut rest)? {
            STEP_KIND => step.set_change_type(match take_number(&mut rest)? {
                0 => ConfChangeType::AddNode,
                1 => ConfChangeType::RemoveNode,
                2 => ConfChangeType::AddLearnerNode,
                _ => return None,
            }),
            STEP_ID => step.node_id = take_number(&mut rest)?,
            _ => return None,
        }
    }
    (step.node_id != 0).then_some(step)
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use raft::Config;
    use raft::RawNode;
    use raft::storage::MemStorage;

    /// The payload that the core makes of a change.
    fn payload(change: &ConfChangeV2) -> Vec<u8> {
        let storage = MemStorage::new_with_conf_state((vec![1], vec![]));
        let config = Config { id: 1, ..Config::default() };
        let mut core = RawNode::new(&config, storage, &crate::trace::logger()).unwrap();
        core.campaign().unwrap();
        loop {
            let mut ready = core.ready();
            core.mut_store().wl().append(&ready.take_entries()).unwrap();
            let _ = core.advance(ready);
            core.advance_apply();
            if !core.has_ready() {
                break;
            }
        }
        core.propose_conf_change(Vec::new(), change.clone()).unwrap();
        core.ready().entries().last().unwrap().data.to_vec()
    }

    proptest! {
        #[test]
        fn what_the_core_writes_is_read(
            voters in proptest::collection::btree_set((1u64..9).prop_map(ReplicaId), 1..6),
            learners in proptest::collection::btree_set((1u64..1 << 40).prop_map(ReplicaId), 0..6),
            facts in proptest::collection::btree_map((1u64..9).prop_map(ReplicaId), any::<Vec<u8>>(), 0..3),
        ) {
            let learners = learners.difference(&voters).copied().collect();
            let change = Change { voters, learners, facts: facts.clone() };
            let now = Members::of_voters([1, 2, 300].map(ReplicaId));
            let steps = change.steps(&now);
            let payload = payload(&steps);
            prop_assert_eq!(decode(&payload), Some((steps, facts)));
            for length in 0..payload.len() {
                let _ = decode(&payload[..length]);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn one_step_is_simple_and_more_are_joint() {
        let now = Members::of_voters([ReplicaId(1)]);
        let mut change = Change::of(&now);
        assert_eq!(change.steps(&now).changes.len(), 1, "none at all would leave a joint state");
        change.learners.insert(ReplicaId(2));
        assert_eq!(change.steps(&now).get_transition(), ConfChangeTransition::Auto);
        change.voters.extend([ReplicaId(3), ReplicaId(2)]);
        change.learners.clear();
        assert_eq!(change.steps(&now).get_transition(), ConfChangeTransition::Explicit);
        assert_eq!(decode(&[]), Some((ConfChangeV2::default(), BTreeMap::new())), "a joint state is left");
    }
}
