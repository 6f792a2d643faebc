//! What the snapshot of a replica says of its log ([`wal::Mark`]), to the byte: `docs/formats/manifest.md`.

use crate::member::{Base, Members, ReplicaId};
use crate::record::u64_at;
use wal::Index;

/// Bytes before the voters.
const HEAD_BYTES: usize = 40;
/// Replicas of a group, at most.
const VOTERS_MAX: usize = 7;

/// How a log goes on after a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotMark {
    /// Up to where the snapshot has everything.
    pub base: Base,
    /// The last record of the files that is not needed with it. It is a number of this replica: another one's files have
    /// other numbers.
    pub record: Index,
    /// The term that the replica knew of when this was made, or a later one. Files that are released take what they say of it along.
    pub term: u64,
    /// The replica that it had voted for in that term; 0 if none.
    pub vote: u64,
}

impl SnapshotMark {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let voters = &self.base.members.voters;
        assert!((1..=VOTERS_MAX).contains(&voters.len()), "a group has a replica, and no more than it may");
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 8 * voters.len());
        for number in [self.base.term, self.record.0, self.term, self.vote, voters.len() as u64] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        voters.iter().for_each(|id| bytes.extend_from_slice(&id.0.to_le_bytes()));
        bytes
    }

    /// Reads the mark of a snapshot that goes up to entry `index`.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn decode(index: u64, bytes: &[u8]) -> Result<SnapshotMark, String> {
        let head = bytes.get(..HEAD_BYTES).ok_or("the mark of the log is too short")?;
        let number = |at: usize| u64_at(head, 8 * at);
        let (term_there, record, count) = (number(0), Index(number(1)), number(4));
        let (term, vote) = (number(2), number(3));
        let ids = &bytes[HEAD_BYTES..];
        if count == 0 || count > VOTERS_MAX as u64 || ids.len() as u64 != count * 8 || term_there == 0 {
            return Err("the mark of the log makes no sense".to_owned());
        }
        let voters: Vec<ReplicaId> = ids.chunks(8).map(|id| ReplicaId(u64_at(id, 0))).collect();
        if voters[0].0 == 0 || !voters.is_sorted_by(|one, next| one < next) {
            return Err("the members in the mark of the log are in no order".to_owned());
        }
        let base = Base { index, term: term_there, members: Members { voters } };
        Ok(SnapshotMark { base, record, term, vote })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_and_any_other_is_refused() {
        let voters = vec![ReplicaId(1), ReplicaId(2), ReplicaId(9)];
        let base = Base { index: 7, term: 3, members: Members { voters } };
        let mark = SnapshotMark { base, record: Index(12), term: 4, vote: 2 };
        let bytes = mark.encode();
        assert_eq!(SnapshotMark::decode(7, &bytes), Ok(mark));
        for len in 0..bytes.len() {
            assert!(SnapshotMark::decode(7, &bytes[..len]).is_err(), "{len} bytes");
        }
        for (at, byte) in [(0, 0), (32, 0), (32, 8), (40, 0), (40, 2), (48, 9)] {
            let mut wrong = bytes.clone();
            wrong[at] = byte;
            assert!(SnapshotMark::decode(7, &wrong).is_err(), "byte {at}");
        }
    }
}
