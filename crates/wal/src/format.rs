//! The log's bytes, as `docs/formats/log.md` draws them. All numbers are little-endian.

use crate::place::{Index, Place};
use env::disk::SECTOR;

/// Bytes before a file's first block.
pub const FILE_HEADER_BYTES: usize = 4096;
/// Bytes of a file's header that mean something.
pub(crate) const FILE_HEADER_USED: usize = 64;
/// Bytes of a block's header.
pub(crate) const BLOCK_HEADER_BYTES: usize = 56;
/// Bytes before a record's payload.
pub(crate) const RECORD_HEADER_BYTES: usize = 8;

const FILE_MAGIC: [u8; 8] = *b"PandoLog";
const BLOCK_MAGIC: u32 = u32::from_le_bytes(*b"PBlk");
/// Version of the files that are written: 2 has parcels. Version 1 is read; nothing but the record kinds differs.
const VERSION: u32 = 2;
const VERSION_READ_MIN: u32 = 1;

/// What a record is, for those who read the log. Codes 8 to 11 are reserved for a replicated log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Commands, to be applied in order.
    Commands = 1,
    /// A snapshot up to here is whole. Says nothing about the data.
    Checkpoint = 2,
    /// Files that become part of the data at this place.
    Ingest = 3,
    /// Something becomes part of the data here that the log does not have, but the next snapshot: an earlier one and the
    /// log do not make what comes after.
    Import = 4,
    /// What decides the outcome of commands is another from here on; the payload tells what.
    Rules = 5,
    /// An entry of a replicated log: its payload says at which index of that log, and in which term it was proposed. Records
    /// of this kind and the next are numbered like all others, but the numbers of records are not the indexes of entries.
    Entry = 6,
    /// Term, vote and commit index of a replica.
    HardState = 7,
    /// Commands of several clients with one time, and what the applied ones came to.
    Parcel = 12,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Commands,
        Kind::Checkpoint,
        Kind::Ingest,
        Kind::Import,
        Kind::Rules,
        Kind::Entry,
        Kind::HardState,
        Kind::Parcel,
    ];

    /// Has only a replicated log such records?
    pub fn is_replicated(self) -> bool {
        matches!(self, Kind::Entry | Kind::HardState)
    }

    fn from_u8(code: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == code)
    }
}

/// What a log file says of itself. Written and synced before the file gets its name, so it is always whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// Also in its name. Never given twice.
    pub(crate) number: u32,
    /// Random, new for each use of the file: what an earlier use left in it is not taken for data.
    pub(crate) epoch: u64,
    /// Length of the file.
    pub(crate) bytes: u32,
    /// Format version.
    pub(crate) version: u32,
}

impl FileHeader {
    /// The header of a file that is made now.
    pub(crate) fn new(number: u32, epoch: u64, bytes: u32) -> FileHeader {
        FileHeader { number, epoch, bytes, version: VERSION }
    }

    /// The header with which a file of an earlier version takes records of this one; `None` if it is of this one. The
    /// checksums of its blocks stay what they are: the version has no part in their seed.
    pub(crate) fn upgraded(self) -> Option<FileHeader> {
        (self.version < VERSION).then_some(FileHeader { version: VERSION, ..self })
    }

    pub(crate) fn encode(self) -> [u8; FILE_HEADER_USED] {
        let mut out = [0; FILE_HEADER_USED];
        out[..8].copy_from_slice(&FILE_MAGIC);
        out[8..12].copy_from_slice(&self.version.to_le_bytes());
        out[16..20].copy_from_slice(&self.number.to_le_bytes());
        out[20..24].copy_from_slice(&self.bytes.to_le_bytes());
        out[24..32].copy_from_slice(&self.epoch.to_le_bytes());
        let crc = FileHeader::crc(&out);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Of all of it but the checksum itself.
    fn crc(bytes: &[u8; FILE_HEADER_USED]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..])
    }

    /// # Errors
    /// In words, what is wrong with it.
    pub(crate) fn decode(bytes: &[u8; FILE_HEADER_USED]) -> Result<FileHeader, String> {
        if bytes[..8] != FILE_MAGIC {
            return Err("the file header does not begin as that of a log file".to_owned());
        }
        let version = u32_at(bytes, 8);
        if !(VERSION_READ_MIN..=VERSION).contains(&version) {
            return Err(format!(
                "format version {version}; this program reads versions {VERSION_READ_MIN} to {VERSION}"
            ));
        }
        if u32_at(bytes, 12) != FileHeader::crc(bytes) {
            return Err("the checksum of the file header is wrong".to_owned());
        }
        let (number, bytes_max, epoch) = (u32_at(bytes, 16), u32_at(bytes, 20), u64_at(bytes, 24));
        Ok(FileHeader { number, bytes: bytes_max, epoch, version })
    }

    /// What all checksums of the file's blocks begin with.
    pub(crate) fn seed(self) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c(&self.number.to_le_bytes()), &self.epoch.to_le_bytes())
    }
}

/// What stands before the records of one group commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// Where it stands.
    pub(crate) place: Place,
    /// Everything before this place was known to be synced when this was written.
    pub(crate) mark: Place,
    /// Index of its first record; of the next block's first if it has none.
    pub(crate) first: Index,
    /// Random, new whenever the log is opened.
    pub(crate) run: u64,
    /// Bytes of its records.
    pub(crate) body_bytes: u32,
    /// Number of its records.
    pub(crate) records: u32,
    /// Checksum of its records.
    pub(crate) body_crc: u32,
    /// Checksum in the header of the block before, 0 for the first of all.
    pub(crate) previous: u32,
}

impl BlockHeader {
    /// The header, and its checksum, which names the block for the one that follows.
    pub(crate) fn encode(&self, seed: u32) -> ([u8; BLOCK_HEADER_BYTES], u32) {
        assert!(self.place.offset as usize >= FILE_HEADER_BYTES, "blocks stand behind the file's header");
        assert!((self.place.offset as usize).is_multiple_of(SECTOR), "no sector is written twice");
        assert!(self.mark <= self.place, "only what is written can be synced");
        assert!(self.first.0 > 0, "records are counted from 1");
        assert!(
            self.records as usize * RECORD_HEADER_BYTES <= self.body_bytes as usize,
            "each record has a header"
        );
        let mut out = [0; BLOCK_HEADER_BYTES];
        out[..4].copy_from_slice(&BLOCK_MAGIC.to_le_bytes());
        out[8..16].copy_from_slice(&self.place.to_u64().to_le_bytes());
        out[16..24].copy_from_slice(&self.mark.to_u64().to_le_bytes());
        out[24..32].copy_from_slice(&self.first.0.to_le_bytes());
        out[32..40].copy_from_slice(&self.run.to_le_bytes());
        out[40..44].copy_from_slice(&self.body_bytes.to_le_bytes());
        out[44..48].copy_from_slice(&self.records.to_le_bytes());
        out[48..52].copy_from_slice(&self.body_crc.to_le_bytes());
        out[52..56].copy_from_slice(&self.previous.to_le_bytes());
        let crc = crc32c::crc32c_append(seed, &out[8..]);
        out[4..8].copy_from_slice(&crc.to_le_bytes());
        (out, crc)
    }

    /// The header at `place` and its checksum; `None` when there is none, or not one of this use of the file.
    pub(crate) fn decode(bytes: &[u8], seed: u32, place: Place) -> Option<(BlockHeader, u32)> {
        let bytes = bytes.get(..BLOCK_HEADER_BYTES)?;
        let crc = u32_at(bytes, 4);
        if u32_at(bytes, 0) != BLOCK_MAGIC || crc != crc32c::crc32c_append(seed, &bytes[8..]) {
            return None;
        }
        let header = BlockHeader {
            place: Place::from_u64(u64_at(bytes, 8)),
            mark: Place::from_u64(u64_at(bytes, 16)),
            first: Index(u64_at(bytes, 24)),
            run: u64_at(bytes, 32),
            body_bytes: u32_at(bytes, 40),
            records: u32_at(bytes, 44),
            body_crc: u32_at(bytes, 48),
            previous: u32_at(bytes, 52),
        };
        (header.place == place).then_some((header, crc))
    }

    /// Whether bytes that are no header have what only the header of this place had: its place, the name of the block before,
    /// or the next index behind the magic number.
    pub(crate) fn resembles(bytes: &[u8], place: Place, next: Index, previous: u32) -> bool {
        let is_here = u64_at(bytes, 8) == place.to_u64();
        let follows = previous != 0 && u32_at(bytes, 52) == previous;
        let is_next = u32_at(bytes, 0) == BLOCK_MAGIC && u64_at(bytes, 24) == next.0;
        is_here || follows || is_next
    }

    /// Bytes from the beginning of this block to that of the next.
    pub(crate) fn stride(&self) -> usize {
        stride(self.body_bytes as usize)
    }

    /// Index of the first record after it.
    pub(crate) fn next(&self) -> Index {
        self.first.plus(u64::from(self.records))
    }
}

/// Bytes of a block whose records have `body_bytes`: whole sectors, so that no sector is written twice.
pub(crate) fn stride(body_bytes: usize) -> usize {
    (BLOCK_HEADER_BYTES + body_bytes).next_multiple_of(SECTOR)
}

/// The checksum of a block's records.
pub(crate) fn body_crc(seed: u32, body: &[u8]) -> u32 {
    crc32c::crc32c_append(seed, body)
}

/// Appends a record to a block, its payload written by `encode`.
pub(crate) fn push_record(out: &mut Vec<u8>, kind: Kind, encode: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    assert!(begin.is_multiple_of(8), "records begin at whole words");
    out.extend_from_slice(&(u64::from(kind as u8) << 32).to_le_bytes());
    encode(out);
    assert!(out.len() >= begin + RECORD_HEADER_BYTES, "an encoder appends only");
    let payload = out.len() - begin - RECORD_HEADER_BYTES;
    assert!(u32::try_from(payload).is_ok(), "the bound of a block keeps a record's length within its field");
    out[begin..begin + 4].copy_from_slice(&(payload as u32).to_le_bytes());
    out.resize(out.len().next_multiple_of(8), 0);
}

/// The records of a block's body.
pub(crate) struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Records<'a> {
        Records { rest: body }
    }

    /// Whether all was read.
    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next record; `None` at the end, and when the rest makes no sense.
    pub(crate) fn next(&mut self) -> Option<(Kind, &'a [u8])> {
        let header = self.rest.get(..RECORD_HEADER_BYTES)?;
        let len = u32_at(header, 0) as usize;
        let kind = Kind::from_u8(header[4]).filter(|_| header[5..8] == [0; 3])?;
        let whole = (RECORD_HEADER_BYTES + len).next_multiple_of(8);
        let record = self.rest.get(..whole)?;
        self.rest = &self.rest[whole..];
        Some((kind, &record[RECORD_HEADER_BYTES..RECORD_HEADER_BYTES + len]))
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

    const FILE: FileHeader =
        FileHeader { number: 7, epoch: 0x1122_3344_5566_7788, bytes: 64 << 20, version: VERSION };

    #[test]
    fn a_file_header_comes_back_and_any_flipped_bit_shows() {
        let bytes = FILE.encode();
        assert_eq!(FileHeader::decode(&bytes), Ok(FILE));
        for bit in 0..FILE_HEADER_USED * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(FileHeader::decode(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn an_upgraded_header_keeps_the_seed() {
        let old = FileHeader { version: 1, ..FILE };
        assert_eq!(FileHeader::decode(&old.encode()), Ok(old));
        let new = old.upgraded().expect("it is of an earlier version");
        assert_eq!((new, new.seed(), new.upgraded()), (FILE, old.seed(), None));
        for version in [0, VERSION + 1] {
            let other = FileHeader { version, ..FILE }.encode();
            assert!(FileHeader::decode(&other).unwrap_err().contains("this program reads versions 1 to 2"));
        }
    }

    #[test]
    fn a_block_header_of_another_use_or_place_is_none() {
        let place = Place { file: 7, offset: 4096 };
        let header = BlockHeader {
            place,
            mark: Place { file: 6, offset: 8192 },
            first: Index(9),
            run: 3,
            body_bytes: 24,
            records: 2,
            body_crc: 5,
            previous: 6,
        };
        let (bytes, crc) = header.encode(FILE.seed());
        assert_eq!(BlockHeader::decode(&bytes, FILE.seed(), place), Some((header, crc)));
        let other = FileHeader { epoch: FILE.epoch + 1, ..FILE };
        assert_eq!(BlockHeader::decode(&bytes, other.seed(), place), None);
        let later = Place { offset: 8192, ..place };
        assert_eq!(BlockHeader::decode(&bytes, FILE.seed(), later), None);
        for bit in 0..BLOCK_HEADER_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(BlockHeader::decode(&flipped, FILE.seed(), place), None, "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn records_come_back(payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let kinds = Kind::ALL;
            let mut body = Vec::new();
            for (at, payload) in payloads.iter().enumerate() {
                push_record(&mut body, kinds[at % kinds.len()], |out| out.extend_from_slice(payload));
            }
            prop_assert_eq!(body.len() % 8, 0);
            let mut records = Records::new(&body);
            for (at, payload) in payloads.iter().enumerate() {
                prop_assert_eq!(records.next(), Some((kinds[at % kinds.len()], payload.as_slice())));
            }
            prop_assert!(records.is_done());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut records = Records::new(&body);
            while records.next().is_some() {}
        }
    }
}
