//! Bytes that go from their place in memory to the disk, without a copy in the system's memory (O_DIRECT).

use crate::disk::UNCACHED_ALIGN;
use rustix::fs::OFlags;
use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens `file`, which has the name `path`, once more. `None` where the file system cannot, or when the name is another
/// file's by now: then everything goes the usual way.
pub(super) fn open(file: &fs::File, path: &Path) -> Option<fs::File> {
    let flags = OFlags::DIRECT.bits() as i32;
    let uncached = fs::OpenOptions::new().write(true).custom_flags(flags).open(path).ok()?;
    let same = |a: fs::Metadata, b: fs::Metadata| a.dev() == b.dev() && a.ino() == b.ino();
    same(file.metadata().ok()?, uncached.metadata().ok()?).then_some(uncached)
}

/// Writes what is aligned at the beginning of `bytes`, and returns how much that was: what is left goes another way.
///
/// # Errors
/// What the system says, but for bytes that it does not take like this.
pub(super) fn write(file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    let is_aligned =
        bytes.as_ptr().align_offset(UNCACHED_ALIGN) == 0 && offset.is_multiple_of(UNCACHED_ALIGN as u64);
    let whole = if is_aligned { bytes.len() - bytes.len() % UNCACHED_ALIGN } else { 0 };
    let mut written = 0;
    while written < whole && written.is_multiple_of(UNCACHED_ALIGN) {
        match file.write_at(&bytes[written..whole], offset + written as u64) {
            Ok(0) => break,
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use crate::disk::{Disk, RealDisk, UNCACHED_ALIGN};

    /// Whatever is aligned and whatever is not, the file has the bytes in the end, among what is written the usual way.
    #[test]
    fn bytes_written_past_the_cache_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut memory = vec![0u8; 20 * UNCACHED_ALIGN];
        let aligned = memory.as_ptr().align_offset(UNCACHED_ALIGN);
        let memory = &mut memory[aligned..];
        memory.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 31 / 7) as u8);
        for (from, len, at) in [
            (0, 10 * UNCACHED_ALIGN, 0),
            (0, 10 * UNCACHED_ALIGN + 77, 0),
            (UNCACHED_ALIGN, 3 * UNCACHED_ALIGN, 5 * UNCACHED_ALIGN),
            (1, 3 * UNCACHED_ALIGN, 0),
            (0, 3 * UNCACHED_ALIGN, 9),
            (0, 100, 0),
            (0, 0, 0),
        ] {
            let file = RealDisk.create(&path).unwrap();
            let bytes = &memory[from..from + len];
            file.write_uncached_at(bytes, at as u64).unwrap();
            file.write_at(b"behind", (at + len) as u64).unwrap();
            file.sync_data().unwrap();
            let mut read = vec![9; len + 6];
            RealDisk.open(&path).unwrap().read_at(&mut read, at as u64).unwrap();
            assert!(read[..len] == *bytes && read[len..] == *b"behind", "{from} {len} {at}");
            assert_eq!(file.len().unwrap(), (at + len + 6) as u64);
        }
    }

    /// A file that is not what its name says any more is written all the same, and the other is not.
    #[test]
    fn a_file_whose_name_is_another_files_is_written_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let first = RealDisk.create(&path).unwrap();
        RealDisk.rename(&path, &dir.path().join("b")).unwrap();
        let second = RealDisk.create(&path).unwrap();
        first.write_uncached_at(&[7; 2 * UNCACHED_ALIGN], 0).unwrap();
        assert_eq!((first.len().unwrap(), second.len().unwrap()), (2 * UNCACHED_ALIGN as u64, 0));
    }
}
