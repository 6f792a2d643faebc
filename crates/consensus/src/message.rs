//! Messages between replicas, to the byte: `docs/formats/peers.md`. All numbers are little-endian. The checksum is made where a
//! message begins and looked at where it ends, so it holds whatever carries the message.

use crate::record::{entry_type, u32_at, u64_at};
use bytes::Bytes;
use raft::eraftpb::{Entry, Message, MessageType};

/// Bytes before the context and the entries.
const HEAD_BYTES: usize = 96;
/// Bytes before the data of an entry.
const ENTRY_BYTES: usize = 24;
/// Bytes that a message has at most: one entry as long as a record of the log may be, and its heads.
pub const BYTES_MAX: usize = (20 << 20) + (1 << 10);
/// Bytes of entries in one message to a follower, if it has more than one.
pub(crate) const ENTRIES_BYTES: u64 = 1 << 20;
/// Messages with entries on their way to a follower.
pub(crate) const MESSAGES_ON_THEIR_WAY: usize = 64;
/// Bytes that name a question after the end of the log ([`crate::reads`]).
pub(crate) const QUESTION_BYTES: usize = 24;
/// Bytes of a context at most.
const CONTEXT_BYTES_MAX: usize = 64;

/// What is wrong with a message. It is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It is too short or too long, or its lengths do not add up.
    Length,
    /// Its checksum is wrong.
    Checksum,
    /// It is of no type that one replica sends to another.
    Type,
    /// It has an entry of a type that this version does not know.
    Entry,
    /// No replica says that: a term of 0, entries that do not follow each other, a question without a context.
    Content,
}

/// The types that one replica sends to another, by their numbers in a message.
const TYPES: [(u8, MessageType); 13] = [
    (1, MessageType::MsgAppend),
    (2, MessageType::MsgAppendResponse),
    (3, MessageType::MsgRequestVote),
    (4, MessageType::MsgRequestVoteResponse),
    (5, MessageType::MsgRequestPreVote),
    (6, MessageType::MsgRequestPreVoteResponse),
    (7, MessageType::MsgHeartbeat),
    (8, MessageType::MsgHeartbeatResponse),
    (9, MessageType::MsgTimeoutNow),
    (10, MessageType::MsgReadIndex),
    (11, MessageType::MsgReadIndexResp),
    (12, MessageType::MsgSnapshot),
    (13, MessageType::MsgSnapStatus),
];

/// The bytes of a message, in a buffer that `buffer` gives for their number; `None` if it is of a type that is not sent.
pub fn encode(message: &Message, buffer: impl FnOnce(usize) -> Vec<u8>) -> Option<Vec<u8>> {
    let (code, _) = TYPES.into_iter().find(|(_, kind)| *kind == message.get_msg_type())?;
    let entries: usize = message.entries.iter().map(|entry| ENTRY_BYTES + entry.data.len()).sum();
    let bytes = HEAD_BYTES + message.context.len() + entries;
    let mut out = buffer(bytes);
    assert!(out.is_empty(), "a buffer holds nothing");
    out.reserve_exact(bytes);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[code, u8::from(message.reject), 0, 0]);
    let (log_term, index) = match message.get_msg_type() {
        MessageType::MsgSnapshot => {
            let metadata = message.get_snapshot().get_metadata();
            (metadata.term, metadata.index)
        }
        _ => (message.log_term, message.index),
    };
    let numbers = [
        message.from,
        message.to,
        message.term,
        log_term,
        index,
        message.commit,
        message.commit_term,
        message.reject_hint,
        message.request_snapshot,
        message.priority as u64,
    ];
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    assert!(message.context.len() <= CONTEXT_BYTES_MAX, "contexts are those of this program or of the core");
    out.extend_from_slice(&(message.context.len() as u32).to_le_bytes());
    out.extend_from_slice(&(message.entries.len() as u32).to_le_bytes());
    out.extend_from_slice(&message.context);
    for entry in &message.entries {
        out.extend_from_slice(&[entry.entry_type as u8, 0, 0, 0]);
        out.extend_from_slice(&(entry.data.len() as u32).to_le_bytes());
        out.extend_from_slice(&entry.term.to_le_bytes());
        out.extend_from_slice(&entry.index.to_le_bytes());
        out.extend_from_slice(&entry.data);
    }
    assert!(out.len() <= BYTES_MAX, "a message has one entry, or several that are short");
    let crc = crc32c::crc32c(&out[4..]);
    out[..4].copy_from_slice(&crc.to_le_bytes());
    Some(out)
}

/// The message that these bytes are. The data of its entries are not copied.
///
/// # Errors
/// See [`Malformed`].
pub fn decode(bytes: &Bytes) -> Result<Message, Malformed> {
    if !(HEAD_BYTES..=BYTES_MAX).contains(&bytes.len()) {
        return Err(Malformed::Length);
    }
    if bytes[..4] != crc32c::crc32c(&bytes[4..]).to_le_bytes() {
        return Err(Malformed::Checksum);
    }
    let (_, kind) = TYPES.into_iter().find(|(code, _)| *code == bytes[4]).ok_or(Malformed::Type)?;
    if bytes[5] > 1 || bytes[6..8] != [0, 0] {
        return Err(Malformed::Type);
    }
    let number = |at: usize| u64_at(bytes, 8 + 8 * at);
    let mut message = Message { from: number(0), to: number(1), term: number(2), ..Message::default() };
    message.set_msg_type(kind);
    message.reject = bytes[5] == 1;
    (message.log_term, message.index, message.commit) = (number(3), number(4), number(5));
    (message.commit_term, message.reject_hint) = (number(6), number(7));
    (message.request_snapshot, message.priority) = (number(8), number(9) as i64);
    let (context, count) = (u32_at(bytes, 88) as usize, u32_at(bytes, 92));
    let mut rest = bytes.slice(HEAD_BYTES..);
    if context > CONTEXT_BYTES_MAX || context > rest.len() {
        return Err(Malformed::Length);
    }
    message.context = rest.split_to(context);
    for _ in 0..count {
        message.entries.push(take_entry(&mut rest)?);
    }
    if !rest.is_empty() {
        return Err(Malformed::Length);
    }
    if kind == MessageType::MsgSnapshot {
        let (index, term) = (std::mem::take(&mut message.index), std::mem::take(&mut message.log_term));
        let to = message.to;
        let metadata = message.mut_snapshot().mut_metadata();
        (metadata.index, metadata.term) = (index, term);
        // The members stand in the snapshot itself. The core looks only whether the receiver is one of them.
        metadata.mut_conf_state().set_voters(vec![to]);
    }
    if makes_sense(&message) { Ok(message) } else { Err(Malformed::Content) }
}

/// Can a replica have said that? The core relies on it.
fn makes_sense(message: &Message) -> bool {
    let entries = &message.entries;
    match message.get_msg_type() {
        MessageType::MsgReadIndex | MessageType::MsgReadIndexResp => {
            let has_term = message.term > 0 || message.get_msg_type() == MessageType::MsgReadIndex;
            has_term && entries.len() == 1 && entries[0].data.len() == QUESTION_BYTES
        }
        MessageType::MsgAppend => {
            let follow =
                |(at, entry): (usize, &Entry)| Some(entry.index) == message.index.checked_add(at as u64 + 1);
            let terms = || [message.log_term].into_iter().chain(entries.iter().map(|entry| entry.term));
            message.term > 0
                && entries.iter().enumerate().all(follow)
                && terms().is_sorted()
                && terms().all(|term| term <= message.term)
                && entries.iter().all(|entry| entry.term > 0)
        }
        MessageType::MsgSnapshot => {
            let metadata = message.get_snapshot().get_metadata();
            (1..=message.term).contains(&metadata.term) && metadata.index > 0 && entries.is_empty()
        }
        _ => message.term > 0 && entries.is_empty(),
    }
}

fn take_entry(rest: &mut Bytes) -> Result<Entry, Malformed> {
    if rest.len() < ENTRY_BYTES {
        return Err(Malformed::Length);
    }
    let head = rest.split_to(ENTRY_BYTES);
    let kind = entry_type([head[0], head[1], head[2], head[3]]).ok_or(Malformed::Entry)?;
    let data = u32_at(&head, 4) as usize;
    if data > rest.len() {
        return Err(Malformed::Length);
    }
    let (term, index) = (u64_at(&head, 8), u64_at(&head, 16));
    let mut entry = Entry { term, index, data: rest.split_to(data), ..Entry::default() };
    entry.set_entry_type(kind);
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// With an entry for each of `entries`.
    fn message(kind: usize, numbers: [u64; 10], context: &[u8], entries: &[(u64, u64, Vec<u8>)]) -> Message {
        let [from, to, term, log_term, index, commit, commit_term, reject_hint, request_snapshot, priority] =
            numbers;
        let entry = |(term, index, data): &(u64, u64, Vec<u8>)| Entry {
            term: *term,
            index: *index,
            data: data.clone().into(),
            ..Entry::default()
        };
        let mut message = Message {
            from,
            to,
            term,
            log_term,
            index,
            commit,
            commit_term,
            reject_hint,
            request_snapshot,
            priority: priority as i64,
            reject: from % 2 == 0,
            context: context.to_vec().into(),
            entries: entries.iter().map(entry).collect::<Vec<_>>().into(),
            ..Message::default()
        };
        message.set_msg_type(TYPES[kind % TYPES.len()].1);
        message.term = message.term.max(1);
        match message.get_msg_type() {
            MessageType::MsgAppend => {
                message.index %= 1 << 60;
                message.log_term %= message.term;
                let (index, term, log_term) = (message.index, message.term, message.log_term);
                for (at, entry) in message.entries.iter_mut().enumerate() {
                    (entry.index, entry.term) =
                        (index + 1 + at as u64, if at == 0 { log_term.max(1) } else { term });
                }
            }
            MessageType::MsgReadIndex | MessageType::MsgReadIndexResp => {
                message.entries.truncate(0);
                let data = vec![7; QUESTION_BYTES].into();
                message.entries.push(Entry { data, ..Entry::default() });
            }
            MessageType::MsgSnapshot => {
                message.entries.clear();
                let (index, term) =
                    (std::mem::take(&mut message.index), std::mem::take(&mut message.log_term));
                let term = (term % message.term).max(1);
                let metadata = message.mut_snapshot().mut_metadata();
                (metadata.index, metadata.term) = (index.max(1), term);
                metadata.mut_conf_state().set_voters(vec![to]);
            }
            _ => message.entries.clear(),
        }
        message
    }

    proptest! {
        #[test]
        fn messages_come_back_and_any_flipped_bit_shows(
            kind: usize,
            numbers: [u64; 10],
            context in proptest::collection::vec(any::<u8>(), 0..CONTEXT_BYTES_MAX),
            entries: Vec<(u64, u64, Vec<u8>)>,
            flip: prop::sample::Index,
        ) {
            let message = message(kind, numbers, &context, &entries);
            let mut bytes = encode(&message, |_| Vec::new()).unwrap();
            prop_assert_eq!(decode(&bytes.clone().into()), Ok(message));
            let bit = flip.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(&bytes.into()).is_err());
        }

        #[test]
        fn any_bytes_with_a_checksum_are_read_without_a_panic(
            head in proptest::collection::vec(any::<u8>(), HEAD_BYTES),
            lengths: (u8, u8),
            rest in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = [head, rest].concat();
            (bytes[4], bytes[5]) = (1 + bytes[4] % 13, bytes[5] % 2);
            bytes[6..8].fill(0);
            bytes[88..96].copy_from_slice(&[lengths.0 % 80, 0, 0, 0, lengths.1 % 8, 0, 0, 0]);
            let crc = crc32c::crc32c(&bytes[4..]);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
            if let Ok(message) = decode(&bytes.clone().into()) {
                prop_assert_eq!(encode(&message, |_| Vec::new()), Some(bytes));
            }
        }
    }

    #[test]
    fn what_no_replica_says_is_refused() {
        let numbers = [1, 2, 5, 3, 10, 9, 0, 0, 0, 0];
        let append = message(0, numbers, &[], &[(0, 0, vec![1]), (0, 0, vec![2])]);
        let read = |message: &Message| {
            decode(&encode(message, |_| Vec::new()).expect("it is sent").into()).map(|_| ())
        };
        assert_eq!(read(&append), Ok(()));
        let changes: [fn(&mut Message); 7] = [
            |message| message.term = 0,
            |message| message.entries[0].index = 12,
            |message| message.entries[1].index = 13,
            |message| message.entries[1].term = 6,
            |message| message.entries[0].term = 2,
            |message| message.log_term = 6,
            |message| message.index = u64::MAX,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut wrong = append.clone();
            change(&mut wrong);
            assert_eq!(read(&wrong), Err(Malformed::Content), "change {number}");
        }
        let mut question = message(9, numbers, &[], &[]);
        assert_eq!(read(&question), Ok(()));
        question.entries[0].data = vec![7; QUESTION_BYTES + 1].into();
        assert_eq!(read(&question), Err(Malformed::Content));
        question.entries.clear();
        assert_eq!(read(&question), Err(Malformed::Content));
        let mut heartbeat = message(6, numbers, &[], &[]);
        heartbeat.entries.push(Entry::default());
        assert_eq!(read(&heartbeat), Err(Malformed::Content));
    }

    #[test]
    fn what_is_not_sent_has_no_bytes() {
        for kind in [MessageType::MsgPropose, MessageType::MsgTransferLeader, MessageType::MsgHup] {
            let mut message = Message::default();
            message.set_msg_type(kind);
            assert_eq!(encode(&message, |_| Vec::new()), None);
        }
    }
}
