//! The operating system's files: pread, pwrite, O_DIRECT, fdatasync, fallocate, flock.

mod uncached;

use super::{Disk, File, Lock, fault};
use rustix::fs::{Advice, FallocateFlags, FlockOperation, fadvise, fallocate, flock};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Files of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

/// Name of the file that [`Disk::lock_dir`] locks.
const LOCK_NAME: &str = "lock";
/// Permissions of what is made: nobody but the owner.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;
/// Permissions that others than the owner have.
const OTHERS: u32 = 0o077;

/// Gives a file of ours the permissions that it should have: an earlier version, or the umask, may have given it others. A
/// file system without permissions refuses, and has none to narrow.
fn narrow(file: &fs::File, mode: u32) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & 0o777 != mode {
        let _ = file.set_permissions(fs::Permissions::from_mode(mode));
    }
    Ok(())
}

impl RealDisk {
    fn file(path: &Path, create: bool) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(create).truncate(create).mode(FILE_MODE);
        let what = if create { "create" } else { "open" };
        let file = options.open(path).map_err(|error| fault(error, path, what, None))?;
        if create {
            narrow(&file, FILE_MODE).map_err(|error| fault(error, path, "give permissions", None))?;
        }
        Ok(Arc::new(RealFile { file, path: path.to_owned(), uncached: OnceLock::new() }))
    }
}

/// The names in a folder of what is of one kind. Names that are not UTF-8 are not ours.
fn names(dir: &Path, is_of_kind: impl Fn(fs::FileType) -> bool) -> io::Result<Vec<String>> {
    let read = || {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if is_of_kind(entry.file_type()?) {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    };
    read().map_err(|error| fault(error, dir, "list", None))
}

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        RealDisk::file(path, true)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        RealDisk::file(path, false)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        names(dir, |kind| kind.is_file())
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
        names(dir, |kind| kind.is_dir())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to).map_err(|error| fault(error, from, "link", None))
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir).map_err(|error| fault(error, dir, "remove the folder", None))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to).map_err(|error| fault(error, from, "rename", None))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path).map_err(|error| fault(error, path, "remove", None))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        if let Some(above) = dir.parent().filter(|above| !above.as_os_str().is_empty()) {
            self.create_dir(above)?;
        }
        let made = fs::DirBuilder::new().mode(DIR_MODE).create(dir);
        match made.and_then(|()| narrow(&fs::File::open(dir)?, DIR_MODE)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(fault(error, dir, "create the folder", None));
            }
            _ => {}
        }
        self.sync_dir(dir.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new(".")))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let sync = || fs::File::open(dir)?.sync_all();
        sync().map_err(|error| fault(error, dir, "sync the folder", None))
    }

    fn open_to_others(&self, dir: &Path) -> io::Result<Option<u32>> {
        let about = fs::metadata(dir).map_err(|error| fault(error, dir, "ask for permissions", None))?;
        let mode = about.permissions().mode() & 0o777;
        Ok((mode & OTHERS != 0).then_some(mode))
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Box<dyn Lock>> {
        let path = dir.join(LOCK_NAME);
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
        let open = options.open(&path).and_then(|file| narrow(&file, FILE_MODE).map(|()| file));
        let file = open.map_err(|error| fault(error, &path, "open", None))?;
        let folder = fs::File::open(dir).map_err(|error| fault(error, dir, "open the folder", None))?;
        let lock = |file: &fs::File| flock(file, FlockOperation::NonBlockingLockExclusive);
        let both = lock(&file).and_then(|()| match lock(&folder) {
            Err(Errno::WOULDBLOCK) => Err(Errno::WOULDBLOCK),
            // NFS locks only what is open for writing, which no folder is: the file has to do.
            _ => Ok(()),
        });
        match both {
            Ok(()) => Ok(Box::new(RealLock { _file: file, _folder: folder })),
            Err(Errno::WOULDBLOCK) => {
                let error = io::Error::new(io::ErrorKind::ResourceBusy, "another process uses this folder");
                Err(fault(error, &path, "lock", None))
            }
            Err(error) => Err(fault(error.into(), &path, "lock", None)),
        }
    }
}

/// Two flocks, which end with their descriptors, so with the process at the latest.
#[derive(Debug)]
struct RealLock {
    _file: fs::File,
    _folder: fs::File,
}

impl Lock for RealLock {}

#[derive(Debug)]
struct RealFile {
    file: fs::File,
    path: PathBuf,
    /// The same file past the system's cache, opened when that is first wanted; `None` where there is no such thing.
    uncached: OnceLock<Option<fs::File>>,
}

impl File for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset).map_err(|error| fault(error, &self.path, "read", Some(offset)))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset).map_err(|error| fault(error, &self.path, "write", Some(offset)))
    }

    fn write_uncached_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let uncached = self.uncached.get_or_init(|| uncached::open(&self.file, &self.path));
        let written = uncached.as_ref().map_or(Ok(0), |file| uncached::write(file, bytes, offset));
        let written =
            written.map_err(|error| fault(error, &self.path, "write past the cache", Some(offset)))?;
        assert!(written <= bytes.len(), "no more goes past the cache than there is");
        self.write_at(&bytes[written..], offset + written as u64)
    }

    fn drop_cached(&self) {
        // What the file system does not know is no loss.
        let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data().map_err(|error| fault(error, &self.path, "sync", None))
    }

    fn reserve(&self, len: u64) -> io::Result<()> {
        assert!(len > 0, "space is reserved for something");
        match fallocate(&self.file, FallocateFlags::empty(), 0, len) {
            Ok(()) => Ok(()),
            // File systems without it: the zeros that follow claim the space.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) if self.len()? >= len => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.truncate(len),
            Err(error) => Err(fault(error.into(), &self.path, "reserve space", None)),
        }
    }

    fn len(&self) -> io::Result<u64> {
        let metadata =
            self.file.metadata().map_err(|error| fault(error, &self.path, "ask for the length", None))?;
        Ok(metadata.len())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len).map_err(|error| fault(error, &self.path, "change the length", None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_names_change() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        RealDisk.create_dir(&inner).unwrap();
        RealDisk.create_dir(&inner).unwrap();
        let file = RealDisk.create(&inner.join("one")).unwrap();
        file.allocate(3 << 20).unwrap();
        file.write_at(b"hello", 100).unwrap();
        file.sync_data().unwrap();
        file.drop_cached();
        assert_eq!(file.len().unwrap(), 3 << 20);
        RealDisk.rename(&inner.join("one"), &inner.join("two")).unwrap();
        RealDisk.sync_dir(&inner).unwrap();
        assert_eq!(RealDisk.list(&inner).unwrap(), ["two"]);
        let mut bytes = [9; 7];
        RealDisk.open(&inner.join("two")).unwrap().read_at(&mut bytes, 99).unwrap();
        assert_eq!(&bytes, b"\0hello\0");
        RealDisk.remove(&inner.join("two")).unwrap();
        assert!(RealDisk.list(&inner).unwrap().is_empty());
    }

    #[test]
    fn folders_are_listed_renamed_and_removed_and_files_linked() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        RealDisk.create_dir(&one).unwrap();
        RealDisk.create(&one.join("a")).unwrap().write_at(b"x", 0).unwrap();
        RealDisk.link(&one.join("a"), &one.join("b")).unwrap();
        RealDisk.remove(&one.join("a")).unwrap();
        RealDisk.create_dir(&two).unwrap();
        RealDisk.rename(&one, &two).unwrap();
        assert_eq!(RealDisk.list_dirs(dir.path()).unwrap(), ["two"]);
        assert_eq!(
            (RealDisk.list(&two).unwrap(), RealDisk.list(dir.path()).unwrap()),
            (vec!["b".into()], vec![])
        );
        assert!(RealDisk.remove_dir(&two).is_err(), "it is not empty");
        RealDisk.remove(&two.join("b")).unwrap();
        RealDisk.remove_dir(&two).unwrap();
        assert!(RealDisk.list_dirs(dir.path()).unwrap().is_empty());
    }

    #[test]
    fn errors_name_file_and_offset_and_keep_their_kind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("short");
        let file = RealDisk.create(&path).unwrap();
        let error = file.read_at(&mut [0; 4], 8).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(error.to_string().contains("short: read at offset 8"), "{error}");
        let error = RealDisk.open(&dir.path().join("none")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_folder_is_locked_once() {
        let dir = tempfile::tempdir().unwrap();
        let lock = RealDisk.lock_dir(dir.path()).unwrap();
        let error = RealDisk.lock_dir(dir.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        std::fs::remove_file(dir.path().join(LOCK_NAME)).unwrap();
        let error = RealDisk.lock_dir(dir.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy, "the folder is locked without its file");
        drop(lock);
        RealDisk.lock_dir(dir.path()).unwrap();
    }

    #[test]
    fn what_is_made_is_for_its_owner_alone() {
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let dir = tempfile::tempdir().unwrap();
        let (above, inner) = (dir.path().join("a"), dir.path().join("a/b"));
        // As a process with umask 0 would have left it.
        fs::create_dir(&above).unwrap();
        let wide = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        wide(&above, 0o755);
        RealDisk.create_dir(&inner).unwrap();
        assert_eq!((mode(&above), mode(&inner)), (0o755, DIR_MODE), "what is there stays as it is");
        assert_eq!(RealDisk.open_to_others(&above).unwrap(), Some(0o755));
        assert_eq!(RealDisk.open_to_others(&inner).unwrap(), None);
        for name in ["one", LOCK_NAME] {
            fs::write(inner.join(name), "").unwrap();
            wide(&inner.join(name), 0o666);
        }
        RealDisk.create(&inner.join("one")).unwrap();
        RealDisk.create(&inner.join("two")).unwrap();
        let _lock = RealDisk.lock_dir(&inner).unwrap();
        assert_eq!(["one", "two", LOCK_NAME].map(|name| mode(&inner.join(name))), [FILE_MODE; 3]);
    }
}
