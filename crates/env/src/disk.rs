//! Files for data that must last. Everything durable goes through [`Disk`] and [`File`], so that a disk that fails,
//! or one that is made of memory and loses what was not synced, can stand in for the real one.
//!
//! What is promised, and no more: bytes are durable once [`File::sync_data`] has returned after they were written;
//! names are durable once [`Disk::sync_dir`] has returned after they were made, changed or removed. Until then a crash
//! may keep any part of them, in any order. After a failed sync nothing is known about what was written before it,
//! and a later sync that succeeds does not cover it.

mod real;

pub use real::RealDisk;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that a disk writes whole or not at all. Devices with larger sectors keep this promise too.
pub const SECTOR: usize = 512;

/// What bytes begin at in memory and in a file, and what their number is a multiple of, to go to the disk without a copy in
/// the system's memory: see [`File::write_uncached_at`].
pub const UNCACHED_ALIGN: usize = 4096;

/// Bytes that the system keeps or drops together in its copy of a file. A write that ends inside of such a page waits for
/// the page to be read from the disk, if it is not in memory; one that ends where a page does waits for nothing.
pub const CACHE_PAGE: usize = 4096;

/// Bytes of zeros written at once by [`File::allocate`].
const ZEROS: usize = 1 << 20;

/// A file system, as far as durable data needs one.
pub trait Disk: Send + Sync + Debug {
    /// A new file, for reading and writing; what was there under that name is emptied. Only its owner may use it, whatever
    /// the umask: it may hold passwords.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// A file that exists, for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// Names of the files in `dir`, not of folders, sorted.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Names of the folders in `dir`, sorted.
    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Gives the bytes of a file one more name, if the file system can: they must not be changed under either then.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a folder that is empty.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;

    /// Gives a file, or a folder with all that is in it, another name in the same folder; a file or an empty folder that
    /// had that name is gone. Atomic: a crash leaves one or the other.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes a folder, and those above it, unless it is there; durable when it returns. Only its owner may use it.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    /// Makes the names in `dir` durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// The permissions of a folder, if others than its owner may use it.
    fn open_to_others(&self, _dir: &Path) -> io::Result<Option<u32>> {
        Ok(None)
    }

    /// Takes `dir` for this process alone, until the lock is dropped. The folder itself is locked too, where the file system
    /// can: the file that stands for it may be removed.
    ///
    /// # Errors
    /// `ResourceBusy` when somebody else has it.
    fn lock_dir(&self, dir: &Path) -> io::Result<Box<dyn Lock>>;
}

/// A folder that is ours until this is dropped.
pub trait Lock: Send + Sync + Debug {}

/// An open file. All may use it at the same time; what overlapping writes leave is not said.
pub trait File: Send + Sync + Debug {
    /// The name it was opened by, for messages.
    fn path(&self) -> &Path;

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends before.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`. The file grows when it must.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// As [`File::write_at`], for bytes that no reader pins soon: where the system can, it keeps no copy of them, but for
    /// what is not aligned to [`UNCACHED_ALIGN`]. They are no more durable than others.
    fn write_uncached_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(bytes, offset)
    }

    /// No reader pins soon what was written and synced: the system may use the memory of its copy for something else. Advice, so
    /// it cannot fail.
    fn drop_cached(&self) {}

    /// Makes everything written so far durable, and the length.
    fn sync_data(&self) -> io::Result<()>;

    /// Claims space for the first `len` bytes, so that writing there does not find the disk full later. The file is at
    /// least that long afterwards.
    ///
    /// # Errors
    /// `StorageFull` when there is not enough.
    fn reserve(&self, len: u64) -> io::Result<()>;

    /// Bytes.
    fn len(&self) -> io::Result<u64>;

    /// Does it hold nothing?
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts it, or fills it up with zeros, to `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Claims space for `len` bytes and writes zeros to all of them, so that later writes change neither length nor
    /// extents: a sync then has nothing but data to write. Synced every few MiB, so that a sync of another file does not
    /// wait behind all of it.
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.reserve(len)?;
        let zeros = vec![0; ZEROS.min(usize::try_from(len).unwrap_or(ZEROS))];
        let mut at = 0;
        while at < len {
            let piece = zeros.len().min(usize::try_from(len - at).unwrap_or(ZEROS));
            self.write_at(&zeros[..piece], at)?;
            at += piece as u64;
            if at.is_multiple_of(4 * ZEROS as u64) || at == len {
                self.sync_data()?;
            }
        }
        Ok(())
    }
}

/// Replaces the file `name` in `dir`: a crash leaves the one or the other. Durable once `dir` is synced.
///
/// # Errors
/// What the disk says; then the file may still be what it was.
pub fn replace_file(disk: &dyn Disk, dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = dir.join(format!("{name}.new"));
    let file = disk.create(&new)?;
    file.write_at(bytes, 0)?;
    file.sync_data()?;
    disk.rename(&new, &dir.join(name))
}

/// An error with the file, the place in it and what was tried. The kind stays, so that a full disk is still seen as one.
pub fn fault(error: io::Error, path: &Path, what: &'static str, offset: Option<u64>) -> io::Error {
    let kind = error.kind();
    io::Error::new(kind, Fault { path: path.to_owned(), what, offset, source: error })
}

/// What [`fault`] puts into an error.
#[derive(Debug)]
struct Fault {
    path: PathBuf,
    what: &'static str,
    offset: Option<u64>,
    source: io::Error,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)?;
        if let Some(offset) = self.offset {
            write!(f, " at offset {offset}")?;
        }
        write!(f, ": {}", self.source)
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
