//! What the write-ahead log of a replica came to: its records, read in order after a snapshot.

use crate::entries::{Entries, changed};
use crate::faults::{self, holes};
use crate::mark::SnapshotMark;
use crate::member::Base;
use crate::record::{HardState, decode_entry};
use crate::{change, trace};
use env::planted;
use raft::eraftpb::{Entry, EntryType};
use raft::{Config, RawNode, Storage as _};
use std::cmp::Ordering;
use std::collections::VecDeque;
use wal::{Index, Kind};

/// Takes the records of a write-ahead log, in order.
#[derive(Debug, Default)]
pub struct Recovery {
    /// In the order of their indexes, without a gap.
    entries: VecDeque<(Entry, Index)>,
    hard_state: HardState,
    /// The last record.
    last: Index,
}

/// What a replica goes on with.
#[derive(Debug)]
pub struct Recovered(pub(crate) Entries);

/// What the log of one replica comes to, if all of it is taken for committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeLog {
    /// The last entry that the replica knew to be committed.
    pub committed: u64,
    /// The last entry, its term, and the members there.
    pub base: Base,
    /// The last term that the replica knew of.
    pub term: u64,
}

impl Recovered {
    /// All of the log, also what other replicas may have replaced: for the one that is left of a group.
    ///
    /// # Panics
    /// Never: the core takes any entries that are without a gap.
    pub fn whole(self) -> WholeLog {
        let Recovered(entries) = self;
        let HardState { term, commit: committed, .. } = entries.hard_state;
        let (index, changes) = (entries.last(), entries.all_entries());
        let last_term = entries.term(index).expect("the last entry is there, or that of the snapshot");
        // Nothing is sent by it and nothing decided: it knows which changes of members fit.
        let config = Config { id: 1, ..Config::default() };
        let core = RawNode::new(&config, entries, &trace::logger());
        let mut core = core.expect("the configuration is sound, and the entries are in memory");
        for entry in changes.iter().filter(|entry| entry.get_entry_type() != EntryType::EntryNormal) {
            if let Some((change, facts)) = change::decode(&entry.data)
                && let Some(members) = changed(&mut core, entry.index, &change, facts)
            {
                core.mut_store().on_members(entry.index, members);
            }
        }
        let members = core.store().members().1.clone();
        WholeLog { committed, base: Base { index, term: last_term, members }, term }
    }
}

impl Recovery {
    /// Takes a record, which has the number `index` in the files.
    ///
    /// # Errors
    /// In words, why a replica cannot have written it there.
    pub fn take(&mut self, index: Index, kind: Kind, payload: &[u8]) -> Result<(), String> {
        self.last = index;
        match kind {
            Kind::Entry => self.take_entry(decode_entry(payload)?, index),
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

    fn take_entry(&mut self, entry: Entry, record: Index) -> Result<(), String> {
        let Some(first) = self.entries.front().map(|(first, _)| first.index) else {
            self.entries.push_back((entry, record));
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
        self.entries.push_back((entry, record));
        Ok(())
    }

    /// Ends with what a replica goes on with that has a snapshot with this mark. What was taken are the records after those that the
    /// mark says are not needed.
    ///
    /// # Errors
    /// In words, what does not fit.
    pub fn finish(self, mark: SnapshotMark) -> Result<Recovered, String> {
        let mut hard_state = self.hard_state_after(&mark);
        let (SnapshotMark { base, record, .. }, entries) = (mark, self.entries);
        if let Some((first, _)) = entries.front().filter(|(first, _)| first.index != base.index + 1) {
            let (index, first) = (base.index, first.index);
            return Err(format!(
                "the snapshot has the log up to entry {index}, and the files go on with {first}"
            ));
        }
        // The files may end between an entry and the hard state behind it. No vote was given in that term: it would have been written first.
        let last_term = entries.back().map_or(base.term, |(entry, _)| entry.term);
        if hard_state.term < last_term {
            (hard_state.term, hard_state.vote) = (last_term, 0);
        }
        hard_state.commit = hard_state.commit.max(base.index).max(committed_by_changes(&entries));
        let last = base.index + entries.len() as u64;
        if last < hard_state.commit {
            return Err(format!("entry {} was committed, and the log ends with {last}", hard_state.commit));
        }
        Ok(Recovered(Entries::new(base, record, entries, hard_state)))
    }

    /// How the log would go on after a snapshot of another replica, up to `base`, in place of the own one, which has the mark `own`.
    /// `None` if all that it has is committed in this log, and the own directory is not `wrong`; or if the log does not go back that far.
    /// Entries that follow what it has stay if they are of one history with it.
    ///
    /// # Errors
    /// As [`Recovery::finish`].
    pub fn adopt(
        self,
        base: Base,
        own: SnapshotMark,
        is_wrong: bool,
    ) -> Result<Option<SnapshotMark>, String> {
        let (own_record, own_index) = (own.record, own.base.index);
        let last = self.last.max(own_record);
        let Recovered(entries) = self.finish(own)?;
        let HardState { mut term, mut vote, commit } = entries.hard_state;
        let is_same = entries.term(base.index) == Ok(base.term);
        if commit >= base.index {
            if !is_wrong || base.index < own_index {
                return Ok(None);
            }
            if !is_same {
                let index = base.index;
                return Err(format!(
                    "entry {index} is committed, and the other snapshot has another one there"
                ));
            }
        }
        let is_kept = is_same || planted::is(holes::TAIL_OF_OTHER_HISTORY);
        let record = entries.record(base.index).ok().filter(|_| is_kept);
        if term < base.term {
            (term, vote) = (base.term, 0);
        }
        let record = record.unwrap_or(last);
        let record = if planted::is(faults::MANIFEST_DOES_NOT_WIN) { own_record } else { record };
        Ok(Some(SnapshotMark { base, record, term, vote }))
    }

    /// The hard state of the files; term and vote of the mark if those are later.
    fn hard_state_after(&self, mark: &SnapshotMark) -> HardState {
        let HardState { term, vote, commit } = self.hard_state;
        if planted::is(holes::HEADS_NOT_CARRIED_OVER) {
            return self.hard_state;
        }
        match term.cmp(&mark.term) {
            Ordering::Less => HardState { term: mark.term, vote: mark.vote, commit },
            Ordering::Equal => HardState { term, vote: vote.max(mark.vote), commit },
            Ordering::Greater => self.hard_state,
        }
    }
}

/// The last change of members but one, or 0: it is committed, and so is all in front of it, whatever the hard state says. For a change of members is
/// proposed only by a leader that has applied the one before. The files may end between such a change and the hard state behind it; the replica must
/// not want to lead with the votes of earlier members then.
fn committed_by_changes(entries: &VecDeque<(Entry, Index)>) -> u64 {
    let entries = entries.iter().rev().map(|(entry, _)| entry);
    let mut changes = entries.filter(|entry| entry.get_entry_type() != EntryType::EntryNormal);
    changes.nth(1).map_or(0, |change| change.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::{Members, ReplicaId};
    use crate::record::Record;
    use proptest::prelude::*;

    fn base(index: u64, term: u64) -> Base {
        Base { index, term, members: Members::of_voters([ReplicaId(1)]) }
    }

    /// The mark of a snapshot up to there.
    fn mark(index: u64, term: u64) -> SnapshotMark {
        SnapshotMark { base: base(index, term), record: Index(9), term, vote: 0 }
    }

    /// Takes entries, each an index and a term, and a hard state, as records from 10 on.
    fn taken(all: &[(u64, u64)], state: HardState) -> Result<Recovery, String> {
        let (mut recovery, mut record) = (Recovery::default(), Index(9));
        for &(index, term) in all {
            let (mut payload, entry) = (Vec::new(), Entry { index, term, ..Entry::default() });
            Record::Entry(entry).encode(&mut payload);
            record = record.plus(1);
            recovery.take(record, Kind::Entry, &payload)?;
        }
        let mut payload = Vec::new();
        state.encode(&mut payload);
        recovery.take(record.plus(1), Kind::HardState, &payload)?;
        Ok(recovery)
    }

    /// What is recovered of them: the last entry, and the hard state.
    fn recovered(
        mark: SnapshotMark,
        all: &[(u64, u64)],
        state: HardState,
    ) -> Result<(u64, HardState), String> {
        taken(all, state)?.finish(mark).map(|Recovered(entries)| (entries.last(), entries.hard_state))
    }

    #[test]
    fn the_last_entry_of_an_index_counts() {
        let state = HardState { term: 3, vote: 2, commit: 2 };
        let all = [(1, 1), (2, 1), (3, 1), (4, 1), (3, 3)];
        assert_eq!(recovered(mark(0, 1), &all, state), Ok((3, state)));
        assert_eq!(recovered(mark(2, 1), &all[2..], state), Ok((3, state)));
        assert!(recovered(mark(2, 1), &all, state).unwrap_err().contains("go on with 1"));
    }

    #[test]
    fn the_term_and_the_vote_of_a_mark_count_where_files_have_no_later_ones() {
        let of_mark = SnapshotMark { term: 5, vote: 7, ..mark(2, 1) };
        let state = |term, vote| HardState { term, vote, commit: 2 };
        let found = |found| recovered(of_mark.clone(), &[], found);
        assert_eq!(found(state(4, 1)), Ok((2, state(5, 7))));
        assert_eq!(found(state(5, 0)), Ok((2, state(5, 7))));
        assert_eq!(found(state(6, 0)), Ok((2, state(6, 0))));
        assert_eq!(Recovery::default().finish(of_mark).unwrap().0.hard_state, state(5, 7));
    }

    #[test]
    fn a_tail_of_another_history_is_void_behind_the_snapshot_of_another_replica() {
        let state = HardState { term: 6, vote: 2, commit: 2 };
        let all = [(1, 5), (2, 5), (3, 6), (4, 6)];
        let adopted = |index, term| {
            let adopted = taken(&all, state).unwrap().adopt(base(index, term), mark(0, 1), false).unwrap();
            adopted.map(|mark| (mark.record, mark.term, mark.vote))
        };
        assert_eq!(adopted(2, 5), None, "all of that is committed here");
        assert_eq!(adopted(3, 6), Some((Index(12), 6, 2)), "it goes on with the entry behind");
        assert_eq!(adopted(3, 7), Some((Index(14), 7, 0)), "nothing of it counts");
        assert_eq!(adopted(9, 6), Some((Index(14), 6, 2)));
        let none = Recovery::default().adopt(base(3, 7), mark(0, 1), false).unwrap();
        assert_eq!(
            none.map(|mark| mark.record),
            Some(Index(9)),
            "the files have nothing after the own snapshot"
        );
    }

    #[test]
    fn a_wrong_directory_is_replaced_and_what_the_log_has_promised_stays() {
        let state = HardState { term: 6, vote: 2, commit: 3 };
        let all = [(2, 5), (3, 6), (4, 6)];
        let adopted = |index, term, is_wrong| {
            taken(&all, state).unwrap().adopt(base(index, term), mark(1, 5), is_wrong)
        };
        assert_eq!(adopted(2, 5, false), Ok(None), "the own one is as good");
        let mark = adopted(2, 5, true).unwrap().expect("it replaces the own one");
        assert_eq!((mark.record, mark.term, mark.vote), (Index(10), 6, 2));
        let Recovered(entries) = taken(&all[1..], state).unwrap().finish(mark).unwrap();
        assert_eq!(
            (entries.last(), entries.hard_state),
            (4, state),
            "the log goes on behind it with all that it has"
        );
        let own = adopted(1, 5, true).unwrap().map(|mark| mark.record);
        assert_eq!(own, Some(Index(9)), "as far back as the own snapshot");
        let later = taken(&all[1..], state).unwrap().adopt(base(1, 5), self::mark(2, 5), true);
        assert_eq!(later, Ok(None), "the log does not go back that far");
        assert!(adopted(3, 5, true).unwrap_err().contains("another one there"));
    }

    #[test]
    fn files_may_end_between_an_entry_and_the_hard_state_of_its_term() {
        let state = HardState { term: 4, vote: 3, commit: 1 };
        let raised = HardState { term: 5, vote: 0, commit: 1 };
        assert_eq!(recovered(mark(1, 4), &[(2, 4), (3, 5)], state), Ok((3, raised)));
        assert_eq!(recovered(mark(1, 4), &[(2, 4), (3, 4)], state), Ok((3, state)));
    }

    #[test]
    fn all_of_a_log_has_its_last_entry_and_its_last_members() {
        // Replica 3 becomes a learner: see `docs/formats/log.md`.
        let data = vec![0x12, 4, 0x08, 2, 0x10, 3];
        let mut recovery = taken(&[(3, 4), (4, 5)], HardState { term: 6, vote: 2, commit: 3 }).unwrap();
        let mut entry = Entry { index: 5, term: 5, data: data.into(), ..Entry::default() };
        entry.set_entry_type(EntryType::EntryConfChangeV2);
        let mut payload = Vec::new();
        Record::Entry(entry).encode(&mut payload);
        recovery.take(Index(13), Kind::Entry, &payload).unwrap();
        let WholeLog { committed, base, term } = recovery.finish(mark(2, 4)).unwrap().whole();
        assert_eq!((committed, base.index, base.term, term), (3, 5, 5, 6));
        assert_eq!((base.members.voters, base.members.learners), (vec![ReplicaId(1)], vec![ReplicaId(3)]));
    }

    #[test]
    fn a_change_of_members_in_front_of_another_one_is_committed() {
        let state = HardState { term: 5, vote: 0, commit: 1 };
        let commit = |changes: &[u64]| {
            let mut recovery = Recovery::default();
            for index in 2..8 {
                let mut entry = Entry { index, term: 5, ..Entry::default() };
                if changes.contains(&index) {
                    entry.set_entry_type(EntryType::EntryConfChangeV2);
                }
                let mut payload = Vec::new();
                Record::Entry(entry).encode(&mut payload);
                recovery.take(Index(8 + index), Kind::Entry, &payload).unwrap();
            }
            recovery.hard_state = state;
            recovery.finish(mark(1, 5)).unwrap().0.hard_state.commit
        };
        assert_eq!(commit(&[]), 1);
        assert_eq!(commit(&[5]), 1, "it may be replaced");
        assert_eq!(commit(&[3, 5]), 3);
        assert_eq!(commit(&[2, 3, 7]), 3);
    }

    #[test]
    fn what_is_missing_is_reported() {
        let state = HardState { term: 1, vote: 0, commit: 0 };
        let wrong = |mark, all: &[(u64, u64)], state| recovered(mark, all, state).unwrap_err();
        assert!(wrong(mark(0, 1), &[(1, 1), (3, 1)], state).contains("entry 3 follows entry 1"));
        assert!(wrong(mark(2, 1), &[(4, 1)], state).contains("go on with 4"));
        let committed = HardState { commit: 3, ..state };
        assert!(wrong(mark(0, 1), &[(1, 1), (2, 1)], committed).contains("ends with 2"));
        let mut recovery = Recovery::default();
        assert!(recovery.take(Index(1), Kind::Parcel, &[]).unwrap_err().contains("none of a replicated log"));
    }

    /// What a plain map makes of the same records.
    fn naive(first: u64, all: &[(u64, u64)]) -> Option<u64> {
        let mut map = std::collections::BTreeMap::new();
        for &(index, term) in all {
            if map.keys().next_back().is_some_and(|last| index > last + 1) {
                return None;
            }
            map.retain(|other, _| *other < index);
            map.insert(index, term);
        }
        let last = map.keys().next_back().copied().unwrap_or(first - 1);
        map.keys().next().is_none_or(|lowest| *lowest == first).then_some(last)
    }

    proptest! {
        /// Entries that replace others, in any order that a replica may have written or not.
        #[test]
        fn it_is_what_a_map_makes(
            all in proptest::collection::vec((1u64..8, 1u64..4), 0..12),
            at in 0u64..6,
        ) {
            let state = HardState { term: 9, vote: 1, commit: 0 };
            let found = recovered(mark(at, 1), &all, state).map(|(last, _)| last).ok();
            prop_assert_eq!(found, naive(at + 1, &all));
        }
    }
}
