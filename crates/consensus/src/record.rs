//! What a replica writes into its write-ahead log, to the byte: `docs/formats/log.md`. All numbers are little-endian.
//!
//! A later entry with the index of an earlier one replaces that one and all behind it, so nothing is ever cut from the files.

use bytes::Bytes;
use raft::eraftpb::{Entry, EntryType};
use wal::Kind;

/// The one group of replicas that there is; records name it, so that there may be more.
pub const GROUP: u32 = 1;
/// Bytes before the payload of an entry.
pub const ENTRY_HEAD_BYTES: usize = 24;
const HARD_STATE_BYTES: usize = 32;

/// What must survive besides the entries (the persistent state of the Raft paper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardState {
    /// The last term that this replica knows of.
    pub term: u64,
    /// The replica that it voted for in this term; 0 if none.
    pub vote: u64,
    /// The last entry that it knows to be committed. It may be late.
    pub commit: u64,
}

/// A record on its way to the write-ahead log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    Entry(Entry),
    HardState(HardState),
}

impl Record {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Record::Entry(_) => Kind::Entry,
            Record::HardState(_) => Kind::HardState,
        }
    }

    /// Appends its payload.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Record::Entry(entry) => encode_entry(entry, out),
            Record::HardState(state) => state.encode(out),
        }
    }

    /// Bytes of its payload.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Record::Entry(entry) => ENTRY_HEAD_BYTES + entry.data.len(),
            Record::HardState(_) => HARD_STATE_BYTES,
        }
    }
}

fn encode_entry(entry: &Entry, out: &mut Vec<u8>) {
    out.extend_from_slice(&GROUP.to_le_bytes());
    out.extend_from_slice(&[entry.entry_type as u8, 0, 0, 0]);
    out.extend_from_slice(&entry.term.to_le_bytes());
    out.extend_from_slice(&entry.index.to_le_bytes());
    out.extend_from_slice(&entry.data);
}

/// Reads the payload of a record of kind [`Kind::Entry`].
///
/// # Errors
/// In words, what is wrong with it.
pub(crate) fn decode_entry(payload: &[u8]) -> Result<Entry, String> {
    let (head, data) =
        payload.split_first_chunk::<ENTRY_HEAD_BYTES>().ok_or("it is shorter than the head of an entry")?;
    must_be_of_group(head)?;
    let kind = entry_type([head[4], head[5], head[6], head[7]])
        .ok_or_else(|| format!("an entry of type {} is none that this version knows", head[4]))?;
    let (term, index) = (u64_at(head, 8), u64_at(head, 16));
    if term == 0 || index == 0 {
        return Err(format!("no entry has term {term} and index {index}"));
    }
    let mut entry = Entry { term, index, data: Bytes::copy_from_slice(data), ..Entry::default() };
    entry.set_entry_type(kind);
    Ok(entry)
}

/// The type that a record or a message says an entry has, if there is such a type.
pub(crate) fn entry_type(bytes: [u8; 4]) -> Option<EntryType> {
    [EntryType::EntryNormal, EntryType::EntryConfChangeV2]
        .into_iter()
        .find(|kind| bytes == [*kind as u8, 0, 0, 0])
}

/// What an entry of the log says that a record has: its index, its term, and the payload that was proposed. Empty is the payload with
/// which a term begins, and that of an entry that changes the members.
///
/// # Errors
/// In words, what is wrong with it.
pub fn parts_of_entry(payload: &[u8]) -> Result<(u64, u64, &[u8]), String> {
    let entry = decode_entry(payload)?;
    let payload = match entry.get_entry_type() {
        EntryType::EntryNormal => &payload[ENTRY_HEAD_BYTES..],
        _ => &[],
    };
    Ok((entry.index, entry.term, payload))
}

impl HardState {
    /// Appends the payload of a record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&GROUP.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for number in [self.term, self.vote, self.commit] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Reads the payload of a record of kind [`Kind::HardState`].
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn decode(payload: &[u8]) -> Result<HardState, String> {
        let bytes: &[u8; HARD_STATE_BYTES] =
            payload.try_into().map_err(|_| "it has not the length of a hard state")?;
        must_be_of_group(bytes)?;
        Ok(HardState { term: u64_at(bytes, 8), vote: u64_at(bytes, 16), commit: u64_at(bytes, 24) })
    }
}

fn must_be_of_group(bytes: &[u8]) -> Result<(), String> {
    match u32_at(bytes, 0) {
        GROUP => Ok(()),
        other => Err(format!("it is of group {other}, and this server has group {GROUP} only")),
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back(term in 1u64.., index in 1u64.., vote: u64, data: Vec<u8>) {
            let entry = Entry { term, index, data: data.clone().into(), ..Entry::default() };
            let (entry, state) = (Record::Entry(entry), HardState { term, vote, commit: index });
            let [mut of_entry, mut of_state] = [Vec::new(), Vec::new()];
            entry.encode(&mut of_entry);
            Record::HardState(state).encode(&mut of_state);
            prop_assert_eq!((entry.bytes(), Record::HardState(state).bytes()), (of_entry.len(), of_state.len()));
            prop_assert_eq!(decode_entry(&of_entry).map(Record::Entry), Ok(entry));
            prop_assert_eq!(parts_of_entry(&of_entry), Ok((index, term, &data[..])));
            prop_assert_eq!(HardState::decode(&of_state), Ok(state));
            of_entry[0] = 2;
            of_state[0] = 2;
            prop_assert!(decode_entry(&of_entry).is_err() && HardState::decode(&of_state).is_err());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = (decode_entry(&bytes), HardState::decode(&bytes));
        }
    }

    #[test]
    fn an_entry_of_another_type_is_refused() {
        let mut bytes = Vec::new();
        encode_entry(&Entry { term: 1, index: 1, ..Entry::default() }, &mut bytes);
        bytes[4] = EntryType::EntryConfChangeV2 as u8;
        assert!(decode_entry(&bytes).is_ok());
        bytes[4] = EntryType::EntryConfChange as u8;
        assert_eq!(
            decode_entry(&bytes),
            Err("an entry of type 1 is none that this version knows".to_owned())
        );
    }
}
