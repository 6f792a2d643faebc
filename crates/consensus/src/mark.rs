//! What the snapshot of a replica says of its log ([`wal::Mark`]), to the byte: `docs/formats/manifest.md`.

use crate::member::{Base, Members};
use crate::record::u64_at;
use wal::Index;

/// Bytes before the members.
const HEAD_BYTES: usize = 32;

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
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 64);
        for number in [self.base.term, self.record.0, self.term, self.vote] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.base.members.encode(&mut bytes);
        bytes
    }

    /// Reads the mark of a snapshot that goes up to entry `index`.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn decode(index: u64, bytes: &[u8]) -> Result<SnapshotMark, String> {
        let (head, members) = bytes.split_at_checked(HEAD_BYTES).ok_or("the mark of the log is too short")?;
        let number = |at: usize| u64_at(head, 8 * at);
        let members = Members::decode(members)?;
        let (term_there, record) = (number(0), Index(number(1)));
        if term_there == 0 || number(2) < term_there {
            return Err("the mark of the log makes no sense".to_owned());
        }
        let base = Base { index, term: term_there, members };
        Ok(SnapshotMark { base, record, term: number(2), vote: number(3) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::ReplicaId;

    #[test]
    fn a_mark_comes_back_and_any_other_is_refused() {
        let facts = [(ReplicaId(2), b"there".to_vec()), (ReplicaId(4), Vec::new())].into();
        let voters = [1, 2, 9].map(ReplicaId).to_vec();
        let (outgoing, learners) = (vec![ReplicaId(1), ReplicaId(5)], vec![ReplicaId(7)]);
        let learners_next = vec![ReplicaId(5)];
        let members = Members { voters, outgoing, learners, learners_next, facts };
        let base = Base { index: 7, term: 3, members };
        let mark = SnapshotMark { base, record: Index(12), term: 4, vote: 2 };
        let bytes = mark.encode();
        assert_eq!(SnapshotMark::decode(7, &bytes), Ok(mark));
        for len in 0..bytes.len() {
            assert!(SnapshotMark::decode(7, &bytes[..len]).is_err(), "{len} bytes");
        }
        assert!(SnapshotMark::decode(7, &[&bytes[..], &[0]].concat()).is_err());
        for (at, byte) in [(0, 0), (0, 5), (32, 0), (32, 8), (36, 3), (40, 0), (40, 2), (48, 9)] {
            let mut wrong = bytes.clone();
            wrong[at] = byte;
            assert!(SnapshotMark::decode(7, &wrong).is_err(), "byte {at}");
        }
    }
}
