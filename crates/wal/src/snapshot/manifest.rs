//! The manifest: what belongs to a snapshot. All numbers are little-endian; see `docs/formats/manifest.md`.

use crate::format::{u32_at, u64_at};
use crate::place::Index;

const MAGIC: [u8; 8] = *b"PandoSnp";
/// Version 2 says that the caller's metadata may be what earlier programs do not know. Version 1 is read.
const VERSION: u32 = 2;
const VERSION_READ_MIN: u32 = 1;
const HEADER_BYTES: usize = 40;
const RECORD_BYTES: usize = 32;

/// Which file: what it is for, its number among those, and a generation that is new for each content. The caller gives
/// the meaning; the same id is always the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// What it is for.
    pub kind: u8,
    /// Its number.
    pub number: u32,
    /// Which content.
    pub generation: u64,
}

impl FileId {
    /// Its name in the folder.
    pub fn name(self) -> String {
        format!("{:02x}-{:08x}-{:016x}.snap", self.kind, self.number, self.generation)
    }

    /// Whether a name is that of such a file.
    pub(super) fn is_name(name: &str) -> bool {
        let parse = || {
            let mut parts = name.strip_suffix(".snap")?.split('-');
            let kind = u8::from_str_radix(parts.next()?, 16).ok()?;
            let number = u32::from_str_radix(parts.next()?, 16).ok()?;
            let generation = u64::from_str_radix(parts.next()?, 16).ok()?;
            Some(FileId { kind, number, generation })
        };
        parse().is_some_and(|id: FileId| id.name() == name)
    }

    /// What all checksums of the file begin with, so that one file does not pass for another.
    pub(super) fn seed(self) -> u32 {
        let seed = crc32c::crc32c(&u32::from(self.kind).to_le_bytes());
        let seed = crc32c::crc32c_append(seed, &self.number.to_le_bytes());
        crc32c::crc32c_append(seed, &self.generation.to_le_bytes())
    }
}

/// A file of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// Which.
    pub id: FileId,
    /// Bytes of its content.
    pub bytes: u64,
    /// Checksum of its list of checksums.
    pub crc: u32,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// It holds what the log says up to this record.
    pub index: Index,
    /// Its files, sorted by id.
    pub files: Vec<FileRecord>,
    /// What the caller gave.
    pub meta: Vec<u8>,
}

impl Manifest {
    /// Its bytes, as they stand in its file.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + self.files.len() * RECORD_BYTES + self.meta.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.index.0.to_le_bytes());
        out.extend_from_slice(&(self.files.len() as u64).to_le_bytes());
        out.extend_from_slice(&(self.meta.len() as u64).to_le_bytes());
        for file in &self.files {
            out.extend_from_slice(&u32::from(file.id.kind).to_le_bytes());
            out.extend_from_slice(&file.id.number.to_le_bytes());
            out.extend_from_slice(&file.id.generation.to_le_bytes());
            out.extend_from_slice(&file.bytes.to_le_bytes());
            out.extend_from_slice(&file.crc.to_le_bytes());
            out.extend_from_slice(&[0; 4]);
        }
        out.extend_from_slice(&self.meta);
        assert!(self.files.is_sorted_by(|a, b| a.id < b.id), "files are sorted, and each is named once");
        assert!(
            out.len() == HEADER_BYTES + self.files.len() * RECORD_BYTES + self.meta.len(),
            "what is written has the length that a reader expects"
        );
        let crc = Manifest::crc(&out);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Of all of it but the checksum itself.
    fn crc(bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..])
    }

    /// Reads the bytes of one.
    ///
    /// # Errors
    /// Where, and in words what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Manifest, (usize, String)> {
        if bytes.len() < HEADER_BYTES {
            return Err((bytes.len(), "it ends too early".to_owned()));
        }
        if bytes[..8] != MAGIC {
            return Err((0, "it does not begin as a manifest".to_owned()));
        }
        if !(VERSION_READ_MIN..=VERSION).contains(&u32_at(bytes, 8)) {
            let text = format!(
                "format version {}; this program reads versions {VERSION_READ_MIN} to {VERSION}",
                u32_at(bytes, 8)
            );
            return Err((8, text));
        }
        if u32_at(bytes, 12) != Manifest::crc(bytes) {
            return Err((12, "the checksum is wrong".to_owned()));
        }
        let rest = (bytes.len() - HEADER_BYTES) as u64;
        let (files, meta) = (u64_at(bytes, 24), u64_at(bytes, 32));
        if files.checked_mul(RECORD_BYTES as u64).and_then(|list| list.checked_add(meta)) != Some(rest) {
            return Err((24, "its lengths do not add up".to_owned()));
        }
        let record = |n: usize| {
            let at = HEADER_BYTES + n * RECORD_BYTES;
            let kind =
                u8::try_from(u32_at(bytes, at)).map_err(|_| (at, "a file of no known kind".to_owned()))?;
            let id = FileId { kind, number: u32_at(bytes, at + 4), generation: u64_at(bytes, at + 8) };
            Ok(FileRecord { id, bytes: u64_at(bytes, at + 16), crc: u32_at(bytes, at + 24) })
        };
        let files = (0..files as usize).map(record).collect::<Result<Vec<_>, _>>()?;
        let meta = bytes[bytes.len() - meta as usize..].to_vec();
        Ok(Manifest { index: Index(u64_at(bytes, 16)), files, meta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn manifest(files: u64, meta: Vec<u8>) -> Manifest {
        let record = |n: u64| FileRecord {
            id: FileId { kind: n as u8, number: n as u32 * 3, generation: n << 40 },
            bytes: n * n,
            crc: n as u32,
        };
        Manifest { index: Index(77), files: (0..files).map(record).collect(), meta }
    }

    proptest! {
        #[test]
        fn it_comes_back(files in 0u64..50, meta in proptest::collection::vec(any::<u8>(), 0..100)) {
            let manifest = manifest(files, meta);
            prop_assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
        }

        #[test]
        fn any_change_shows(files in 0u64..5, at in any::<prop::sample::Index>(), bit in 0..8u8, cut in any::<bool>()) {
            let mut bytes = manifest(files, b"meta".to_vec()).encode();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            prop_assert!(Manifest::decode(&bytes).is_err());
        }
    }

    #[test]
    fn names_are_known_again() {
        let id = FileId { kind: 1, number: 2, generation: 3 };
        assert!(FileId::is_name(&id.name()));
        for name in ["manifest", "01-2-3.snap", "01-00000002-0000000000000003.snap.new", "lock"] {
            assert!(!FileId::is_name(name), "{name}");
        }
    }
}
