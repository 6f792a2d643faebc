//! Replicas, who of them votes, and the point of a log from which they go on.

use crate::record::u64_at;
use raft::eraftpb::ConfState;
use std::collections::BTreeMap;
use std::fmt;

/// Replicas that vote, at most.
pub const VOTERS_MAX: usize = 7;
/// Replicas of which something is known, at most; those that are gone stay known.
pub const KNOWN_MAX: usize = 256;
/// Bytes that are known of a replica, at most.
pub const FACTS_BYTES_MAX: usize = 1 << 10;
/// Bytes of members before their lists.
const HEAD_BYTES: usize = 8;

/// Names a replica for ever: no number is given twice. Not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaId(pub u64);

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which replicas there are. All lists are in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Replicas that vote.
    pub voters: Vec<ReplicaId>,
    /// In a joint state, the replicas that voted before it: then a majority of both is needed. Else none.
    pub outgoing: Vec<ReplicaId>,
    /// Replicas that have the log and do not vote.
    pub learners: Vec<ReplicaId>,
    /// Of those that voted before a joint state: the ones that are learners after it.
    pub learners_next: Vec<ReplicaId>,
    /// What is known of replicas, also of those that are gone: bytes that the log does not look into.
    pub facts: BTreeMap<ReplicaId, Vec<u8>>,
}

impl Members {
    /// Of a group in which these vote.
    pub fn of_voters(voters: impl IntoIterator<Item = ReplicaId>) -> Members {
        Members { voters: voters.into_iter().collect(), ..Members::default() }
    }

    /// Are these in between two sets of voters?
    pub fn is_joint(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// All that have the log.
    pub fn all(&self) -> impl Iterator<Item = ReplicaId> {
        let mut all: Vec<ReplicaId> =
            [&self.voters, &self.outgoing, &self.learners].into_iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }

    /// Has this replica the log?
    pub fn has(&self, id: ReplicaId) -> bool {
        [&self.voters, &self.outgoing, &self.learners].iter().any(|some| some.contains(&id))
    }

    /// In the core's words.
    pub(crate) fn conf_state(&self) -> ConfState {
        let numbers = |ids: &[ReplicaId]| ids.iter().map(|id| id.0).collect();
        ConfState {
            voters: numbers(&self.voters),
            voters_outgoing: numbers(&self.outgoing),
            learners: numbers(&self.learners),
            learners_next: numbers(&self.learners_next),
            ..ConfState::default()
        }
    }

    /// The same replicas as the core says, with the facts that these have.
    pub(crate) fn with(&self, state: &ConfState) -> Members {
        let ids = |numbers: &[u64]| {
            let mut ids: Vec<ReplicaId> = numbers.iter().copied().map(ReplicaId).collect();
            ids.sort_unstable();
            ids
        };
        Members {
            voters: ids(&state.voters),
            outgoing: ids(&state.voters_outgoing),
            learners: ids(&state.learners),
            learners_next: ids(&state.learners_next),
            facts: self.facts.clone(),
        }
    }

    /// Appends their bytes: `docs/formats/manifest.md`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let lists = self.lists();
        assert!(
            lists.iter().all(|list| list.len() <= VOTERS_MAX),
            "a group has no more replicas than it may"
        );
        assert!(self.facts.len() <= KNOWN_MAX, "no more are known than may be");
        out.extend(lists.iter().map(|list| list.len() as u8));
        out.extend_from_slice(&(self.facts.len() as u32).to_le_bytes());
        lists.into_iter().flatten().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
        encode_facts(&self.facts, out);
    }

    /// Reads all of `bytes`.
    ///
    /// # Errors
    /// In words, what is wrong with them.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Members, String> {
        let short = || "the list of members is too short".to_owned();
        let (head, mut rest) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or_else(short)?;
        let mut lists: [Vec<ReplicaId>; 4] = Default::default();
        for (list, count) in lists.iter_mut().zip(&head[..4]) {
            let ids;
            (ids, rest) = rest.split_at_checked(usize::from(*count) * 8).ok_or_else(short)?;
            *list = ids.chunks(8).map(|id| ReplicaId(u64_at(id, 0))).collect();
            let is_sound = list.len() <= VOTERS_MAX && list.is_sorted_by(|one, next| one < next);
            if !is_sound || list.first().is_some_and(|id| id.0 == 0) {
                return Err("the members are in no order, or too many".to_owned());
            }
        }
        let count = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let facts = take_facts(count as usize, &mut rest).ok_or("what is known of members cannot be read")?;
        let [voters, outgoing, learners, learners_next] = lists;
        if voters.is_empty() || !rest.is_empty() {
            return Err("the list of members makes no sense".to_owned());
        }
        Ok(Members { voters, outgoing, learners, learners_next, facts })
    }

    fn lists(&self) -> [&Vec<ReplicaId>; 4] {
        [&self.voters, &self.outgoing, &self.learners, &self.learners_next]
    }
}

/// Appends what is known of replicas.
pub(crate) fn encode_facts(facts: &BTreeMap<ReplicaId, Vec<u8>>, out: &mut Vec<u8>) {
    for (id, bytes) in facts {
        assert!(bytes.len() <= FACTS_BYTES_MAX, "no more is known of a replica than may be");
        out.extend_from_slice(&id.0.to_le_bytes());
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    }
}

/// Reads what is known of so many replicas. `None` if that is not there.
pub(crate) fn take_facts(count: usize, rest: &mut &[u8]) -> Option<BTreeMap<ReplicaId, Vec<u8>>> {
    let mut facts = BTreeMap::new();
    for _ in 0..if count <= KNOWN_MAX { count } else { return None } {
        let (head, behind) = rest.split_first_chunk::<12>()?;
        let length = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let bytes;
        (bytes, *rest) = behind.split_at_checked(length)?;
        let is_new = facts.insert(ReplicaId(u64_at(head, 0)), bytes.to_vec()).is_none();
        if !is_new || length > FACTS_BYTES_MAX {
            return None;
        }
    }
    Some(facts)
}

/// A point of a replicated log up to which a snapshot has everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Index of the last entry that the snapshot has.
    pub index: u64,
    /// Term of that entry.
    pub term: u64,
    /// The members at that entry.
    pub members: Members,
}
