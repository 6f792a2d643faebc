//! What the snapshot of a replica says of its log ([`wal::ShardLog::mark`]), to the byte: `docs/formats/manifest.md`.

use crate::member::{Base, Members, ReplicaId};
use crate::record::u64_at;
use wal::Index;

/// Bytes before the voters.
const HEAD_BYTES: usize = 24;
/// Replicas of a group, at most.
const VOTERS_MAX: usize = 7;

impl Base {
    /// The mark of a snapshot that goes up to here; `record` is the last record of the files that is not needed with it.
    pub fn mark(&self, record: Index) -> Vec<u8> {
        let voters = &self.members.voters;
        assert!((1..=VOTERS_MAX).contains(&voters.len()), "a group has a replica, and no more than it may");
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 8 * voters.len());
        for number in [self.term, record.0, voters.len() as u64] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        voters.iter().for_each(|id| bytes.extend_from_slice(&id.0.to_le_bytes()));
        bytes
    }

    /// Reads the mark of a snapshot that goes up to entry `index`, and the last record of the files that is not needed with it.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn of_mark(index: u64, bytes: &[u8]) -> Result<(Base, Index), String> {
        let head = bytes.get(..HEAD_BYTES).ok_or("the mark of the log is too short")?;
        let (term, record, count) = (u64_at(head, 0), Index(u64_at(head, 8)), u64_at(head, 16));
        let ids = &bytes[HEAD_BYTES..];
        if count == 0 || count > VOTERS_MAX as u64 || ids.len() as u64 != count * 8 || term == 0 {
            return Err("the mark of the log makes no sense".to_owned());
        }
        let voters: Vec<ReplicaId> = ids.chunks(8).map(|id| ReplicaId(u64_at(id, 0))).collect();
        if voters[0].0 == 0 || !voters.is_sorted_by(|one, next| one < next) {
            return Err("the members in the mark of the log are in no order".to_owned());
        }
        Ok((Base { index, term, members: Members { voters } }, record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_and_any_other_is_refused() {
        let voters = vec![ReplicaId(1), ReplicaId(2), ReplicaId(9)];
        let base = Base { index: 7, term: 3, members: Members { voters } };
        let bytes = base.mark(Index(12));
        assert_eq!(Base::of_mark(7, &bytes), Ok((base, Index(12))));
        for len in 0..bytes.len() {
            assert!(Base::of_mark(7, &bytes[..len]).is_err(), "{len} bytes");
        }
        for (at, byte) in [(0, 0), (16, 0), (16, 8), (24, 0), (24, 2), (32, 9)] {
            let mut wrong = bytes.clone();
            wrong[at] = byte;
            assert!(Base::of_mark(7, &wrong).is_err(), "byte {at}");
        }
    }
}
