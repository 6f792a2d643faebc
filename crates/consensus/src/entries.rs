//! The entries of a replicated log as the core sees them: those after the snapshot, in memory. What is here may not be on the
//! disk yet; that is for [`crate::RaftLog`] to know.

use crate::member::Base;
use crate::record::HardState;
use raft::eraftpb::{ConfState, Entry, Snapshot};
use raft::storage::GetEntriesContext;
use raft::{Error, RaftState, Result, Storage, StorageError};
use std::collections::VecDeque;

/// Bytes that an entry counts besides its data, where bytes of entries are limited.
const ENTRY_BYTES: u64 = 32;

#[derive(Debug)]
pub(crate) struct Entries {
    base: Base,
    /// The first has the index after `base`.
    entries: VecDeque<Entry>,
    pub(crate) hard_state: HardState,
}

impl Entries {
    /// Of a log that goes on after `base` with `entries`.
    pub(crate) fn new(base: Base, entries: VecDeque<Entry>, hard_state: HardState) -> Entries {
        assert!(
            entries.front().is_none_or(|first| first.index == base.index + 1),
            "entries follow the snapshot without a gap"
        );
        let entries = Entries { base, entries, hard_state };
        assert!(entries.last() >= hard_state.commit, "what is committed is there");
        entries
    }

    /// Index of the last entry.
    pub(crate) fn last(&self) -> u64 {
        self.base.index + self.entries.len() as u64
    }

    /// Appends entries; they replace those from their first index on.
    pub(crate) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first().map(|entry| entry.index) else { return };
        assert!(first > self.base.index && first <= self.last() + 1, "entries follow those that are there");
        self.entries.truncate((first - self.base.index - 1) as usize);
        self.entries.extend(entries.iter().cloned());
    }

    fn at(&self, index: u64) -> Result<&Entry> {
        let at = index.checked_sub(self.base.index + 1).ok_or(Error::Store(StorageError::Compacted))?;
        self.entries.get(at as usize).ok_or(Error::Store(StorageError::Unavailable))
    }
}

impl Storage for Entries {
    fn initial_state(&self) -> Result<RaftState> {
        let HardState { term, vote, commit } = self.hard_state;
        let hard_state = raft::eraftpb::HardState { term, vote, commit, ..Default::default() };
        let voters = self.base.members.voters.iter().map(|id| id.0).collect();
        Ok(RaftState { hard_state, conf_state: ConfState { voters, ..ConfState::default() } })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        self.at(low)?;
        assert!(high <= self.last() + 1, "only entries that are there are read");
        let mut left = max_size.into().unwrap_or(u64::MAX);
        let begin = (low - self.base.index - 1) as usize;
        let taken = self.entries.iter().skip(begin).take((high - low) as usize).take_while(|entry| {
            let bytes = entry.data.len() as u64 + ENTRY_BYTES;
            // The first in any case.
            let fits = bytes <= left || entry.index == low;
            left = left.saturating_sub(bytes);
            fits
        });
        Ok(taken.cloned().collect())
    }

    fn term(&self, index: u64) -> Result<u64> {
        if index == self.base.index {
            return Ok(self.base.term);
        }
        self.at(index).map(|entry| entry.term)
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.base.index + 1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.last())
    }

    /// None is sent: all entries after the first snapshot are kept.
    fn snapshot(&self, _: u64, _: u64) -> Result<Snapshot> {
        Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::{Members, ReplicaId};

    fn entry(index: u64, term: u64) -> Entry {
        Entry { index, term, data: vec![0; 10].into(), ..Entry::default() }
    }

    fn some() -> Entries {
        let base = Base { index: 5, term: 2, members: Members { voters: vec![ReplicaId(1)] } };
        Entries::new(base, [entry(6, 2), entry(7, 3)].into(), HardState { term: 3, vote: 1, commit: 6 })
    }

    #[test]
    fn later_entries_replace_earlier_ones() {
        let mut entries = some();
        entries.append(&[entry(8, 3), entry(9, 3)]);
        entries.append(&[entry(7, 4)]);
        assert_eq!((entries.last(), entries.term(7).unwrap(), entries.term(5).unwrap()), (7, 4, 2));
        assert_eq!(entries.term(4), Err(Error::Store(StorageError::Compacted)));
        assert_eq!(entries.term(8), Err(Error::Store(StorageError::Unavailable)));
        let state = entries.initial_state().unwrap();
        assert_eq!((state.hard_state.commit, state.conf_state.voters), (6, vec![1]));
    }

    #[test]
    fn a_limit_of_bytes_leaves_one_entry_at_least() {
        let entries = some();
        let count =
            |max: Option<u64>| entries.entries(6, 8, max, GetEntriesContext::empty(false)).unwrap().len();
        assert_eq!([count(Some(0)), count(Some(83)), count(Some(84)), count(None)], [1, 1, 2, 2]);
    }
}
