//! One file of a snapshot: its content from offset 0 on, then a checksum for each piece of 64 KiB.

use super::{FileId, FileRecord, NEW, SnapshotError};
use crate::error::Damage;
use crate::faults;
use env::disk::{Disk, File};
use env::planted;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of content under one checksum: what can be read and checked alone.
pub const PIECE_BYTES: usize = 64 << 10;
/// Bytes read at once: whole pieces.
const TOGETHER_BYTES: usize = 16 * PIECE_BYTES;

/// Length of a file with so much content.
pub(super) fn file_bytes(content: u64) -> u64 {
    content + content.div_ceil(PIECE_BYTES as u64) * 4
}

/// Writes a file, from its beginning to its end. It gets its name when it is whole.
#[derive(Debug)]
pub struct FileWriter {
    disk: Arc<dyn Disk>,
    file: Arc<dyn File>,
    path: PathBuf,
    id: FileId,
    bytes: u64,
    /// Of the pieces that are whole.
    crcs: Vec<u8>,
    /// Of the piece that is not.
    crc: u32,
    whole: bool,
}

impl FileWriter {
    pub(super) fn create(disk: Arc<dyn Disk>, dir: &Path, id: FileId) -> io::Result<FileWriter> {
        let path = dir.join(id.name());
        let file = disk.create(&dir.join([&*id.name(), NEW].concat()))?;
        let crc = id.seed();
        Ok(FileWriter { disk, file, path, id, bytes: 0, crcs: Vec::new(), crc, whole: false })
    }

    /// Writes what comes next.
    ///
    /// # Errors
    /// What the disk says; the file cannot be finished then and must be dropped.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(bytes, self.bytes)?;
        self.add(bytes);
        Ok(())
    }

    /// As [`FileWriter::write`], past the system's cache where that is possible: [`File::write_uncached_at`].
    ///
    /// # Errors
    /// As [`FileWriter::write`].
    pub fn write_uncached(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_uncached_at(bytes, self.bytes)?;
        self.add(bytes);
        Ok(())
    }

    /// Takes bytes that are written into the checksums.
    fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = PIECE_BYTES - (self.bytes % PIECE_BYTES as u64) as usize;
            let (piece, later) = rest.split_at(room.min(rest.len()));
            self.crc = crc32c::crc32c_append(self.crc, piece);
            self.bytes += piece.len() as u64;
            if piece.len() == room {
                self.end_piece();
            }
            rest = later;
        }
        let whole = self.bytes / PIECE_BYTES as u64;
        assert!(self.crcs.len() as u64 == 4 * whole, "each piece that is whole has a checksum");
    }

    fn end_piece(&mut self) {
        assert!(self.bytes > 0, "no piece is empty");
        self.crcs.extend_from_slice(&self.crc.to_le_bytes());
        self.crc = self.id.seed();
    }

    /// Writes the checksums, makes everything durable and gives the file its name.
    ///
    /// # Errors
    /// What the disk says.
    pub fn finish(mut self) -> io::Result<FileRecord> {
        if !self.bytes.is_multiple_of(PIECE_BYTES as u64) {
            self.end_piece();
        }
        let pieces = self.bytes.div_ceil(PIECE_BYTES as u64);
        assert!(self.crcs.len() as u64 == 4 * pieces, "each piece has a checksum");
        self.file.write_at(&self.crcs, self.bytes)?;
        if !planted::is(faults::SNAPSHOT_NOT_SYNCED) {
            self.file.sync_data()?;
        }
        self.disk.rename(self.file.path(), &self.path)?;
        self.whole = true;
        let crc = crc32c::crc32c_append(self.id.seed(), &self.crcs);
        Ok(FileRecord { id: self.id, bytes: self.bytes, crc })
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if !self.whole {
            // Its space is of more use free. Should this fail too, the next snapshot removes it.
            let _ = self.disk.remove(self.file.path());
        }
    }
}

/// A file that is read. Several threads may read different pieces.
#[derive(Debug)]
pub struct SnapshotFile {
    file: Arc<dyn File>,
    record: FileRecord,
    crcs: Vec<u8>,
}

impl SnapshotFile {
    /// Opens a file of a snapshot in the folder `dir`.
    ///
    /// # Errors
    /// `Damaged` when its list of checksums is.
    pub fn open(disk: &dyn Disk, dir: &Path, record: &FileRecord) -> Result<SnapshotFile, SnapshotError> {
        let file = disk.open(&dir.join(record.id.name()))?;
        let mut crcs = vec![0; (file_bytes(record.bytes) - record.bytes) as usize];
        file.read_at(&mut crcs, record.bytes)?;
        if crc32c::crc32c_append(record.id.seed(), &crcs) != record.crc {
            let what = "the checksums of its pieces are not what the manifest says";
            return Err(Damage::at(file.path(), record.bytes, what).into());
        }
        Ok(SnapshotFile { file, record: *record, crcs })
    }

    /// What the manifest says of it.
    pub fn record(&self) -> &FileRecord {
        &self.record
    }

    /// Reads and checks content from `offset`, a multiple of [`PIECE_BYTES`], on. `bytes` has whole pieces, or ends where the
    /// content does.
    ///
    /// # Errors
    /// `Damaged` with the offset of the piece whose checksum is wrong.
    ///
    /// # Panics
    /// When `offset` or the length of `bytes` is another.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), SnapshotError> {
        let end = offset + bytes.len() as u64;
        let whole = |at: u64| at.is_multiple_of(PIECE_BYTES as u64);
        assert!(whole(offset) && (whole(end) || end == self.record.bytes), "whole pieces are read");
        assert!(end <= self.record.bytes, "what is read lies in the file");
        self.file.read_at(bytes, offset)?;
        let first = offset as usize / PIECE_BYTES;
        for (n, piece) in bytes.chunks(PIECE_BYTES).enumerate() {
            let crc = crc32c::crc32c_append(self.record.id.seed(), piece);
            let is_right = crc.to_le_bytes() == self.crcs[(first + n) * 4..][..4];
            if !is_right && !planted::is(faults::SNAPSHOT_CHECKSUM_SKIPPED) {
                let offset = ((first + n) * PIECE_BYTES) as u64;
                let what = "the checksum of the piece that begins there is wrong";
                return Err(Damage::at(self.file.path(), offset, what).into());
            }
        }
        Ok(())
    }

    /// Reads and checks all of it, and hands it out piece by piece.
    ///
    /// # Errors
    /// As [`SnapshotFile::read`], or what `take` says.
    pub fn read_pieces(
        &self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let mut bytes = vec![0; TOGETHER_BYTES.min(self.record.bytes as usize)];
        let mut at = 0;
        while at < self.record.bytes {
            let piece = TOGETHER_BYTES.min((self.record.bytes - at) as usize);
            self.read(&mut bytes[..piece], at)?;
            take(&bytes[..piece])?;
            at += piece as u64;
        }
        Ok(())
    }

    /// Reads and checks all of it.
    ///
    /// # Errors
    /// As [`SnapshotFile::read`].
    pub fn verify(&self) -> Result<(), SnapshotError> {
        self.read_pieces(&mut |_| Ok(()))
    }

    /// Reads and checks all of it into `bytes`, which has its length.
    ///
    /// # Errors
    /// As [`SnapshotFile::read`].
    pub fn read_all(&self, bytes: &mut [u8]) -> Result<(), SnapshotError> {
        assert_eq!(bytes.len() as u64, self.record.bytes, "the buffer has the file's length");
        self.read(bytes, 0)
    }
}
