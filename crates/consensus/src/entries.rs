//! The entries of a replicated log as the core sees them, in memory: those after the last snapshot, and some before it for
//! replicas that are behind. What is here may not be on the disk yet; that is for [`crate::RaftLog`] to know.

use crate::member::{Base, Members, ReplicaId};
use crate::record::HardState;
use raft::eraftpb::{ConfChangeV2, Entry, Snapshot};
use raft::storage::GetEntriesContext;
use raft::{Error, RaftState, RawNode, Result, Storage, StorageError};
use std::collections::{BTreeMap, VecDeque};
use wal::Index;

/// Bytes that an entry counts besides its data, where bytes of entries are limited.
const ENTRY_BYTES: u64 = 32;

/// Where an entry stands: in its log, and in the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    index: u64,
    term: u64,
    /// The number of its record in the files.
    record: Index,
}

#[derive(Debug)]
pub(crate) struct Entries {
    /// The entry before the first of `entries`.
    before: Place,
    /// The first has the index after `before`; each with its record in the files.
    entries: VecDeque<(Entry, Index)>,
    /// Bytes of those.
    bytes: u64,
    /// The last snapshot.
    snapshot: Base,
    /// The members after it: from which entry on, and which. The last are those that are applied.
    members: VecDeque<(u64, Members)>,
    pub(crate) hard_state: HardState,
}

fn bytes_of(entry: &Entry) -> u64 {
    entry.data.len() as u64 + ENTRY_BYTES
}

impl Entries {
    /// Of a log that goes on after a snapshot up to `base`, whose last entry is `record` of the files, with `entries`.
    pub(crate) fn new(
        base: Base,
        record: Index,
        entries: VecDeque<(Entry, Index)>,
        hard_state: HardState,
    ) -> Entries {
        assert!(
            entries.front().is_none_or(|(first, _)| first.index == base.index + 1),
            "entries follow the snapshot without a gap"
        );
        let before = Place { index: base.index, term: base.term, record };
        let bytes = entries.iter().map(|(entry, _)| bytes_of(entry)).sum();
        let entries =
            Entries { before, entries, bytes, snapshot: base, members: VecDeque::new(), hard_state };
        assert!(entries.last() >= hard_state.commit, "what is committed is there");
        entries
    }

    /// Index of the last entry.
    pub(crate) fn last(&self) -> u64 {
        self.before.index + self.entries.len() as u64
    }

    /// Bytes of all entries that are in memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The last snapshot.
    pub(crate) fn snapshot(&self) -> &Base {
        &self.snapshot
    }

    /// Appends an entry, which is `record` of the files; it replaces the one of its index and all behind it.
    pub(crate) fn append(&mut self, entry: Entry, record: Index) {
        assert!(
            entry.index > self.before.index && entry.index <= self.last() + 1,
            "entries follow those that are there"
        );
        while self.last() >= entry.index
            && let Some((replaced, _)) = self.entries.pop_back()
        {
            self.bytes -= bytes_of(&replaced);
        }
        self.bytes += bytes_of(&entry);
        self.entries.push_back((entry, record));
    }

    /// There is a snapshot up to entry `index`.
    ///
    /// # Panics
    /// If that entry is not in memory.
    pub(crate) fn snapshot_done(&mut self, index: u64) {
        assert!(index >= self.snapshot.index, "snapshots go forward");
        self.snapshot.term = self.place(index).expect("what is behind the last snapshot is in memory").term;
        self.snapshot.index = index;
        while let Some((_, members)) = self.members.front().filter(|(at, _)| *at <= index).cloned() {
            self.members.pop_front();
            self.snapshot.members = members;
        }
    }

    /// The members that are applied, and the entry that made them so.
    pub(crate) fn members(&self) -> (u64, &Members) {
        self.members.back().map_or((self.snapshot.index, &self.snapshot.members), |(at, last)| (*at, last))
    }

    /// Entry `index`, which is applied, has made the members these.
    pub(crate) fn on_members(&mut self, index: u64, members: Members) {
        assert!(index > self.snapshot.index, "what a snapshot has is applied already");
        self.members.push_back((index, members));
    }

    /// Gives up entries that the last snapshot has, the earliest first, as long as there are more bytes than `kept_bytes`; none after
    /// entry `until`.
    pub(crate) fn release(&mut self, kept_bytes: u64, until: u64) {
        let until = until.min(self.snapshot.index);
        while self.bytes > kept_bytes
            && self.before.index < until
            && let Some((entry, record)) = self.entries.pop_front()
        {
            self.bytes -= bytes_of(&entry);
            self.before = Place { index: entry.index, term: entry.term, record };
        }
    }

    /// All that are in memory.
    pub(crate) fn all_entries(&self) -> Vec<Entry> {
        self.entries.iter().map(|(entry, _)| entry.clone()).collect()
    }

    fn at(&self, index: u64) -> Result<&(Entry, Index)> {
        let at = index.checked_sub(self.before.index + 1).ok_or(Error::Store(StorageError::Compacted))?;
        self.entries.get(at as usize).ok_or(Error::Store(StorageError::Unavailable))
    }

    fn place(&self, index: u64) -> Result<Place> {
        if index == self.before.index {
            return Ok(self.before);
        }
        self.at(index).map(|(entry, record)| Place { index, term: entry.term, record: *record })
    }

    /// The record of the files that is entry `index`; none after it is needed for what comes before that entry.
    pub(crate) fn record(&self, index: u64) -> Result<Index> {
        self.place(index).map(|place| place.record)
    }
}

impl Storage for Entries {
    fn initial_state(&self) -> Result<RaftState> {
        let HardState { term, vote, commit } = self.hard_state;
        let hard_state = raft::eraftpb::HardState { term, vote, commit, ..Default::default() };
        Ok(RaftState { hard_state, conf_state: self.snapshot.members.conf_state() })
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
        let (begin, end) = ((low - self.before.index - 1) as usize, (high - self.before.index - 1) as usize);
        let taken = self.entries.range(begin..end).map(|(entry, _)| entry).take_while(|entry| {
            // The first in any case.
            let fits = bytes_of(entry) <= left || entry.index == low;
            left = left.saturating_sub(bytes_of(entry));
            fits
        });
        Ok(taken.cloned().collect())
    }

    fn term(&self, index: u64) -> Result<u64> {
        self.place(index).map(|place| place.term)
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.before.index + 1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.last())
    }

    /// What a replica gets that needs entries which are not in memory any more. It fetches the files by itself.
    fn snapshot(&self, at_least: u64, _: u64) -> Result<Snapshot> {
        if self.snapshot.index < at_least {
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (self.snapshot.index, self.snapshot.term);
        metadata.set_conf_state(self.snapshot.members.conf_state());
        Ok(snapshot)
    }
}

/// The members after a change by entry `index`, which makes `facts` known. `None` if it does not fit.
pub(crate) fn changed(
    core: &mut RawNode<Entries>,
    index: u64,
    change: &ConfChangeV2,
    facts: BTreeMap<ReplicaId, Vec<u8>>,
) -> Option<Members> {
    let state = match core.apply_conf_change(change) {
        Ok(state) => state,
        Err(error) => {
            tracing::error!(entry = index, %error, "a change of members does not fit; nothing is changed");
            return None;
        }
    };
    let mut members = core.store().members().1.with(&state);
    members.facts.extend(facts);
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, term: u64) -> Entry {
        Entry { index, term, data: vec![0; 10].into(), ..Entry::default() }
    }

    fn some() -> Entries {
        let base = Base { index: 5, term: 2, members: Members::of_voters([ReplicaId(1)]) };
        let entries = [(entry(6, 2), Index(3)), (entry(7, 3), Index(5))].into();
        Entries::new(base, Index(2), entries, HardState { term: 3, vote: 1, commit: 6 })
    }

    #[test]
    fn later_entries_replace_earlier_ones() {
        let mut entries = some();
        entries.append(entry(8, 3), Index(6));
        entries.append(entry(9, 3), Index(7));
        assert_eq!(entries.bytes(), 4 * 42);
        entries.append(entry(7, 4), Index(8));
        assert_eq!((entries.bytes(), entries.record(7).unwrap()), (2 * 42, Index(8)));
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

    #[test]
    fn what_a_snapshot_has_is_kept_as_far_as_there_is_room() {
        let mut entries = some();
        entries.release(0, 7);
        assert_eq!(entries.first_index(), Ok(6), "there is no snapshot of them");
        entries.append(entry(8, 3), Index(6));
        entries.snapshot_done(7);
        entries.release(3 * 42, 7);
        assert_eq!(entries.first_index(), Ok(6), "there is room");
        entries.release(0, 6);
        assert_eq!((entries.first_index(), entries.record(6)), (Ok(7), Ok(Index(3))), "one is behind");
        entries.release(0, 8);
        assert_eq!((entries.first_index(), entries.bytes()), (Ok(8), 42));
        assert_eq!((entries.term(7), entries.term(6)), (Ok(3), Err(Error::Store(StorageError::Compacted))));
        let snapshot = Storage::snapshot(&entries, 7, 2).unwrap();
        assert_eq!((snapshot.get_metadata().index, snapshot.get_metadata().term), (7, 3));
        assert!(Storage::snapshot(&entries, 8, 2).is_err());
    }
}
