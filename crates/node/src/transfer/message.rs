//! Messages of the channel of files, to the byte: `docs/formats/peers.md`. All numbers are little-endian.

use bytes::Bytes;
use wal::snapshot::FileId;

/// Bytes of a file in one message, at most.
pub(super) const PIECE_BYTES_MAX: usize = 128 << 10;
/// Bytes before what a piece has.
const HEAD_BYTES: usize = 48;

/// The manifest, which is asked for like a file.
pub(super) const MANIFEST: FileId = FileId { kind: 0, number: 0, generation: 0 };

/// A part of a file of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The snapshot is the one up to this entry. Where the manifest is wanted: up to it, or a later one.
    pub(super) index: u64,
    pub(super) file: FileId,
    pub(super) offset: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A piece is wanted, from there on.
    Want(Place),
    /// A piece. The number is that of the bytes of the whole file.
    Piece(Place, u64, Bytes),
    /// There is no such snapshot, or not any more.
    Gone(Place),
}

impl Message {
    pub(super) fn encode(&self) -> Vec<u8> {
        let (code, place, total, data) = match self {
            Message::Want(place) => (1, place, 0, &[][..]),
            Message::Piece(place, total, data) => (2, place, *total, &data[..]),
            Message::Gone(place) => (3, place, 0, &[][..]),
        };
        assert!(data.len() <= PIECE_BYTES_MAX, "a piece has its bound");
        let Place { index, file, offset } = place;
        let mut out = Vec::with_capacity(HEAD_BYTES + data.len());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&[code, file.kind, 0, 0]);
        out.extend_from_slice(&index.to_le_bytes());
        out.extend_from_slice(&file.generation.to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&total.to_le_bytes());
        out.extend_from_slice(&file.number.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(data);
        let crc = crc32c::crc32c(&out[4..]);
        out[..4].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// `None` if it is none of these messages.
    pub(super) fn decode(bytes: &Bytes) -> Option<Message> {
        let (head, data) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let number = |at: usize| u64::from_le_bytes(*head[at..].first_chunk().expect("it has its length"));
        let word = |at: usize| u32::from_le_bytes(*head[at..].first_chunk().expect("it has its length"));
        if word(0) != crc32c::crc32c(&bytes[4..]) || head[6..8] != [0; 2] || head[44..] != [0; 4] {
            return None;
        }
        let file = FileId { kind: head[5], number: word(40), generation: number(16) };
        let (place, total) = (Place { index: number(8), file, offset: number(24) }, number(32));
        match head[4] {
            1 if data.is_empty() && total == 0 => Some(Message::Want(place)),
            2 if data.len() <= PIECE_BYTES_MAX => {
                let end = place.offset.checked_add(data.len() as u64)?;
                (end <= total).then(|| Message::Piece(place, total, bytes.slice(HEAD_BYTES..)))
            }
            3 if data.is_empty() && total == 0 => Some(Message::Gone(place)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_come_back_and_any_flipped_bit_shows(
            kind: u8,
            number: u32,
            generation: u64,
            index: u64,
            offset: u32,
            data in proptest::collection::vec(any::<u8>(), 0..100),
            flip: prop::sample::Index,
        ) {
            let place = Place { index, file: FileId { kind, number, generation }, offset: offset.into() };
            let piece = Message::Piece(place, u64::from(offset) + data.len() as u64, data.into());
            for message in [Message::Want(place), Message::Gone(place), piece] {
                let mut bytes = message.encode();
                prop_assert_eq!(Message::decode(&bytes.clone().into()), Some(message));
                let bit = flip.index(bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
                prop_assert_eq!(Message::decode(&bytes.into()), None);
            }
        }

        #[test]
        fn any_bytes_with_a_checksum_are_read_without_a_panic(
            bytes in proptest::collection::vec(any::<u8>(), HEAD_BYTES..200),
            code in 1u8..4,
        ) {
            let mut bytes = bytes;
            bytes[4] = code;
            (bytes[6], bytes[7]) = (0, 0);
            bytes[44..48].fill(0);
            let crc = crc32c::crc32c(&bytes[4..]);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
            if let Some(message) = Message::decode(&bytes.clone().into()) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
