//! What the write-ahead log of a replica came to: its records, read in order after a snapshot.

use crate::entries::Entries;
use crate::faults;
use crate::member::Base;
use crate::record::{HardState, decode_entry};
use env::planted;
use raft::eraftpb::Entry;
use std::collections::VecDeque;
use wal::Kind;

/// Takes the records of a write-ahead log, in order.
#[derive(Debug, Default)]
pub struct Recovery {
    /// In the order of their indexes, without a gap.
    entries: VecDeque<Entry>,
    hard_state: HardState,
}

/// What a replica goes on with.
#[derive(Debug)]
pub struct Recovered(pub(crate) Entries);

impl Recovery {
    /// Takes a record.
    ///
    /// # Errors
    /// In words, why a replica cannot have written it there.
    pub fn take(&mut self, kind: Kind, payload: &[u8]) -> Result<(), String> {
        match kind {
            Kind::Entry => self.take_entry(decode_entry(payload)?),
            Kind::HardState => {
                let state = HardState::decode(payload)?;
                if state.term < self.hard_state.term {
                    return Err(format!("term {} follows term {}", state.term, self.hard_state.term));
                }
                self.hard_state = state;
                Ok(())
            }
            _ => Err(format!("a record of kind {kind:?} is none of a replicated log")),
        }
    }

    fn take_entry(&mut self, entry: Entry) -> Result<(), String> {
        let Some(first) = self.entries.front().map(|first| first.index) else {
            self.entries.push_back(entry);
            return Ok(());
        };
        let next = first + self.entries.len() as u64;
        if entry.index > next {
            return Err(format!("entry {} follows entry {}", entry.index, next - 1));
        }
        if entry.index < next && planted::is(faults::OVERWRITTEN_TAIL_KEPT) {
            return Ok(());
        }
        // It replaces the one that has its index, and all behind that.
        self.entries.truncate(entry.index.saturating_sub(first) as usize);
        self.entries.push_back(entry);
        Ok(())
    }

    /// Ends with what a replica goes on with that has a snapshot up to `base`.
    ///
    /// # Errors
    /// In words, what is missing.
    pub fn finish(self, base: Base) -> Result<Recovered, String> {
        let Recovery { mut entries, mut hard_state } = self;
        let first = entries.front().map_or(base.index + 1, |entry| entry.index);
        if first > base.index + 1 {
            return Err(format!(
                "the snapshot has the log up to entry {}, and the files go on with {first}",
                base.index
            ));
        }
        // Entries that the snapshot has. Behind it stand entries of its own history, or none.
        let held = (base.index + 1 - first) as usize;
        let term_there =
            held.checked_sub(1).map_or(Some(base.term), |at| entries.get(at).map(|entry| entry.term));
        match term_there == Some(base.term) {
            true => _ = entries.drain(..held),
            false => entries.clear(),
        }
        // The files may end between an entry and the hard state behind it. No vote was given in that term: it would have been written first.
        let last_term = entries.back().map_or(base.term, |entry| entry.term).max(base.term);
        if hard_state.term < last_term {
            (hard_state.term, hard_state.vote) = (last_term, 0);
        }
        hard_state.commit = hard_state.commit.max(base.index);
        let last = base.index + entries.len() as u64;
        if last < hard_state.commit {
            return Err(format!("entry {} was committed, and the log ends with {last}", hard_state.commit));
        }
        Ok(Recovered(Entries::new(base, entries, hard_state)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::{Members, ReplicaId};
    use crate::record::Record;
    use proptest::prelude::*;

    fn base(index: u64, term: u64) -> Base {
        Base { index, term, members: Members { voters: vec![ReplicaId(1)] } }
    }

    /// Recovers entries, each an index and a term, and a hard state.
    fn recovered(base: Base, all: &[(u64, u64)], state: HardState) -> Result<(u64, HardState), String> {
        let mut recovery = Recovery::default();
        for &(index, term) in all {
            let (mut payload, entry) = (Vec::new(), Entry { index, term, ..Entry::default() });
            Record::Entry(entry).encode(&mut payload);
            recovery.take(Kind::Entry, &payload)?;
        }
        let mut payload = Vec::new();
        state.encode(&mut payload);
        recovery.take(Kind::HardState, &payload)?;
        recovery.finish(base).map(|Recovered(entries)| (entries.last(), entries.hard_state))
    }

    #[test]
    fn the_last_entry_of_an_index_counts() {
        let state = HardState { term: 3, vote: 2, commit: 2 };
        let all = [(1, 1), (2, 1), (3, 1), (4, 1), (3, 3)];
        assert_eq!(recovered(base(0, 0), &all, state), Ok((3, state)));
        assert_eq!(recovered(base(2, 1), &all, state), Ok((3, state)));
        assert_eq!(recovered(base(2, 1), &all[2..], state), Ok((3, state)));
    }

    #[test]
    fn a_tail_of_another_history_is_void() {
        let state = HardState { term: 6, vote: 2, commit: 2 };
        let all = [(1, 5), (2, 5), (3, 6), (4, 6)];
        let raised = HardState { term: 7, vote: 0, commit: 3 };
        assert_eq!(recovered(base(3, 7), &all, state), Ok((3, raised)));
        let beyond = HardState { commit: 9, ..raised };
        assert_eq!(recovered(base(9, 7), &all, state), Ok((9, beyond)));
        // The snapshot has all that the files have.
        assert_eq!(recovered(base(4, 6), &all, state), Ok((4, HardState { commit: 4, ..state })));
    }

    #[test]
    fn files_may_end_between_an_entry_and_the_hard_state_of_its_term() {
        let state = HardState { term: 4, vote: 3, commit: 1 };
        let raised = HardState { term: 5, vote: 0, commit: 1 };
        assert_eq!(recovered(base(1, 4), &[(2, 4), (3, 5)], state), Ok((3, raised)));
        assert_eq!(recovered(base(1, 4), &[(2, 4), (3, 4)], state), Ok((3, state)));
    }

    #[test]
    fn what_is_missing_is_reported() {
        let state = HardState { term: 1, vote: 0, commit: 0 };
        let wrong = |base, all: &[(u64, u64)], state| recovered(base, all, state).unwrap_err();
        assert!(wrong(base(0, 0), &[(1, 1), (3, 1)], state).contains("entry 3 follows entry 1"));
        assert!(wrong(base(2, 1), &[(4, 1)], state).contains("go on with 4"));
        let committed = HardState { commit: 3, ..state };
        assert!(wrong(base(0, 0), &[(1, 1), (2, 1)], committed).contains("ends with 2"));
        let mut recovery = Recovery::default();
        assert!(recovery.take(Kind::Parcel, &[]).unwrap_err().contains("none of a replicated log"));
    }

    /// What a plain map makes of the same records.
    fn naive(first: u64, all: &[(u64, u64)]) -> Option<std::collections::BTreeMap<u64, u64>> {
        let mut map = std::collections::BTreeMap::new();
        for &(index, term) in all {
            if map.keys().next_back().is_some_and(|last| index > last + 1) {
                return None;
            }
            map.retain(|other, _| *other < index);
            map.insert(index, term);
        }
        map.keys().next().is_none_or(|lowest| *lowest <= first).then_some(map)
    }

    proptest! {
        /// Entries that replace others, in any order that a replica may have written or not.
        #[test]
        fn it_is_what_a_map_makes(
            all in proptest::collection::vec((1u64..8, 1u64..4), 0..12),
            at in 0u64..6,
            term_at in 1u64..4,
        ) {
            let state = HardState { term: 9, vote: 1, commit: 0 };
            let found = recovered(base(at, term_at), &all, state);
            let expected = naive(at + 1, &all).map(|map| {
                let is_same = match map.get(&at) {
                    Some(term) => *term == term_at,
                    None => map.keys().next() == Some(&(at + 1)),
                };
                if is_same { map.keys().next_back().copied().unwrap_or(at) } else { at }
            });
            prop_assert_eq!(found.map(|(last, _)| last).ok(), expected);
        }
    }
}
