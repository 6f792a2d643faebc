//! The entries of a replicated log, as the records of its files say which of them are committed: for those that read a log without being
//! one of its replicas.

use crate::record::{HardState, parts_of_entry};
use std::collections::VecDeque;
use wal::{Flow, Kind, Place, Record};

/// Takes what is known to be committed, in order. Each record has the index of its entry, and is of kind [`Kind::Parcel`], or of kind
/// [`Kind::Checkpoint`], which says nothing, where the entry has no commands.
pub type Taker<'a> = &'a mut dyn FnMut(Record<'_>) -> Result<Flow, String>;

/// Takes the records of the files of one replica, in order. An entry is handed out when a later record says that it is committed: another one
/// may take its place until then. What waits is as much as a leader proposes before anything of it is committed.
#[derive(Debug)]
pub struct CommittedEntries {
    /// The last entry that was handed out.
    last: u64,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    kind: Kind,
    payload: Vec<u8>,
    place: Place,
}

impl CommittedEntries {
    /// Of the records behind those that are not needed with a snapshot up to entry `last`.
    pub fn new(last: u64) -> CommittedEntries {
        CommittedEntries { last, waiting: VecDeque::new() }
    }

    /// Takes a record.
    ///
    /// # Errors
    /// In words, why no replica can have written it there, or what `take` says.
    pub fn record(&mut self, record: &Record<'_>, take: Taker<'_>) -> Result<Flow, String> {
        match record.kind {
            Kind::Entry => self.entry(record).map(|()| Flow::On),
            Kind::HardState => self.up_to(HardState::decode(record.payload)?.commit, take),
            kind => Err(format!("a record of kind {kind:?} is none of a replicated log")),
        }
    }

    fn entry(&mut self, record: &Record<'_>) -> Result<(), String> {
        let (index, _, payload) = parts_of_entry(record.payload)?;
        let next = self.last + 1 + self.waiting.len() as u64;
        if index > next {
            return Err(format!(
                "entry {index} follows entry {}: in between this node has taken a snapshot from another one, and its log has not what \
                 that holds. A backup of later is needed",
                next - 1
            ));
        }
        let at = index.checked_sub(self.last + 1);
        let at = at.ok_or_else(|| format!("entry {index} comes after entry {} was committed", self.last))?;
        // It replaces the one that has its index, and all behind that.
        self.waiting.truncate(at as usize);
        let kind = if payload.is_empty() { Kind::Checkpoint } else { Kind::Parcel };
        self.waiting.push_back(Waiting { kind, payload: payload.to_vec(), place: record.place });
        Ok(())
    }

    /// Hands out what is there up to entry `commit`, which is known to be committed at this place of the files.
    ///
    /// # Errors
    /// What `take` says.
    pub fn up_to(&mut self, commit: u64, take: Taker<'_>) -> Result<Flow, String> {
        while self.last < commit
            && let Some(Waiting { kind, payload, place }) = self.waiting.pop_front()
        {
            let index = wal::Index(self.last + 1);
            if take(Record { index, kind, payload: &payload, place })? == Flow::Enough {
                self.waiting.push_front(Waiting { kind, payload, place });
                return Ok(Flow::Enough);
            }
            self.last += 1;
        }
        Ok(Flow::On)
    }

    /// The last entry that was handed out.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Entries that were not handed out.
    pub fn left(&self) -> u64 {
        self.waiting.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record as Written;
    use raft::eraftpb::{Entry, EntryType};
    use wal::Index;

    /// What was handed out, and how many were not.
    type Read = (Vec<(u64, Vec<u8>)>, u64);

    /// Reads entries, each an index and a term, and commit indexes, behind entry 4; the payload of an entry is its term.
    fn read(all: &[Result<(u64, u64), u64>], enough: u64) -> Result<Read, String> {
        let (mut entries, mut taken) = (CommittedEntries::new(4), Vec::new());
        for one in all {
            let written = match *one {
                Ok((index, term)) => {
                    let data = vec![term as u8; usize::from(term != 9)];
                    let mut entry = Entry { index, term, data: data.into(), ..Entry::default() };
                    if term == 8 {
                        entry.set_entry_type(EntryType::EntryConfChangeV2);
                    }
                    Written::Entry(entry)
                }
                Err(commit) => Written::HardState(HardState { term: 9, vote: 0, commit }),
            };
            let mut payload = Vec::new();
            written.encode(&mut payload);
            let (index, place) = (Index(100), Place::default());
            let record = Record { index, kind: written.kind(), payload: &payload, place };
            let mut take = |record: Record<'_>| {
                if record.index.0 > enough {
                    return Ok(Flow::Enough);
                }
                assert_eq!(record.payload.is_empty(), record.kind == Kind::Checkpoint);
                taken.push((record.index.0, record.payload.to_vec()));
                Ok(Flow::On)
            };
            if entries.record(&record, &mut take)? == Flow::Enough {
                break;
            }
        }
        assert_eq!(entries.last(), taken.last().map_or(4, |(index, _)| *index));
        Ok((taken, entries.left()))
    }

    #[test]
    fn an_entry_is_handed_out_when_it_is_committed_and_the_last_of_its_index_counts() {
        let all = [
            Ok((5, 1)),
            Ok((6, 1)),
            Ok((7, 1)),
            Err(5),
            Ok((6, 2)),
            Ok((7, 9)),
            Ok((8, 8)),
            Ok((9, 2)),
            Err(8),
        ];
        let taken = vec![(5, vec![1]), (6, vec![2]), (7, vec![]), (8, vec![])];
        assert_eq!(read(&all, 99), Ok((taken.clone(), 1)));
        assert_eq!(read(&all[..3], 99), Ok((vec![], 3)), "nothing says that one is committed");
        assert_eq!(read(&all, 6), Ok((taken[..2].to_vec(), 3)));
    }

    #[test]
    fn what_no_replica_writes_is_refused() {
        assert!(
            read(&[Ok((5, 1)), Ok((7, 1))], 99)
                .unwrap_err()
                .contains("has taken a snapshot from another one")
        );
        assert!(
            read(&[Ok((5, 1)), Err(5), Ok((5, 2))], 99).unwrap_err().contains("after entry 5 was committed")
        );
        assert_eq!(
            read(&[Err(4), Err(7)], 99),
            Ok((vec![], 0)),
            "a hard state may be of what a snapshot has"
        );
    }
}
