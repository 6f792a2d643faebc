//! A disk whose operations go through a hook, which does them, notes them or lets them fail.

use env::disk::{Disk, File, Lock};
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Something that changes a disk, or makes changes durable.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// A file is made, or emptied.
    Create(&'a Path),
    /// A file gets one more name.
    Link(&'a Path, &'a Path),
    /// A file or folder gets another name.
    Rename(&'a Path, &'a Path),
    /// A file is removed.
    Remove(&'a Path),
    /// A folder that is not there is made.
    CreateFolder(&'a Path),
    /// A folder is removed.
    RemoveFolder(&'a Path),
    /// The names in a folder are synced.
    SyncFolder(&'a Path),
    /// Bytes are written at an offset.
    Write(Open<'a>, u64, &'a [u8]),
    /// A file is synced.
    Sync(Open<'a>),
    /// Space is claimed for a file that has so many bytes afterwards, if not more.
    Reserve(Open<'a>, u64),
    /// A file has so many bytes afterwards.
    Truncate(Open<'a>, u64),
}

/// A file that is open.
#[derive(Clone, Copy, Debug)]
pub struct Open<'a> {
    /// The name it was opened by.
    pub path: &'a Path,
    /// What [`Hook::number`] said when it was opened.
    pub number: u64,
}

/// Which operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "see `Operation`")]
pub enum Kind {
    Create,
    Link,
    Rename,
    Remove,
    CreateFolder,
    RemoveFolder,
    SyncFolder,
    Write,
    Sync,
    Reserve,
    Truncate,
}

impl Operation<'_> {
    /// Which it is, of what, and what that is called in an error.
    pub fn parts(&self) -> (Kind, &Path, &'static str) {
        match self {
            Operation::Create(path) => (Kind::Create, path, "create"),
            Operation::Link(from, _) => (Kind::Link, from, "link"),
            Operation::Rename(from, _) => (Kind::Rename, from, "rename"),
            Operation::Remove(path) => (Kind::Remove, path, "remove"),
            Operation::CreateFolder(dir) => (Kind::CreateFolder, dir, "create the folder"),
            Operation::RemoveFolder(dir) => (Kind::RemoveFolder, dir, "remove the folder"),
            Operation::SyncFolder(dir) => (Kind::SyncFolder, dir, "sync the folder"),
            Operation::Write(file, ..) => (Kind::Write, file.path, "write"),
            Operation::Sync(file) => (Kind::Sync, file.path, "sync"),
            Operation::Reserve(file, _) => (Kind::Reserve, file.path, "reserve space"),
            Operation::Truncate(file, _) => (Kind::Truncate, file.path, "change the length"),
        }
    }
}

/// Stands between a program and its disk.
pub trait Hook: Send + Sync + Debug {
    /// Does an operation, by calling `work` once, or not.
    ///
    /// # Errors
    /// What is to be sent to the program.
    fn around(&self, operation: Operation<'_>, work: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;

    /// A number for a file that was just made or opened.
    fn number(&self, _path: &Path) -> u64 {
        0
    }
}

/// `disk`, through a hook.
pub fn hooked(disk: Arc<dyn Disk>, hook: Arc<dyn Hook>) -> Arc<dyn Disk> {
    Arc::new(Hooked { disk, hook })
}

#[derive(Debug)]
struct Hooked {
    disk: Arc<dyn Disk>,
    hook: Arc<dyn Hook>,
}

impl Hooked {
    fn opened(&self, file: Arc<dyn File>, path: &Path) -> Arc<dyn File> {
        Arc::new(HookedFile { file, hook: Arc::clone(&self.hook), number: self.hook.number(path) })
    }
}

impl Disk for Hooked {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut file = None;
        self.hook.around(Operation::Create(path), &mut || {
            file = Some(self.disk.create(path)?);
            Ok(())
        })?;
        Ok(self.opened(file.expect("a hook that succeeds has done its work"), path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(self.opened(self.disk.open(path)?, path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list_dirs(dir)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.hook.around(Operation::Link(from, to), &mut || self.disk.link(from, to))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.hook.around(Operation::Rename(from, to), &mut || self.disk.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.hook.around(Operation::Remove(path), &mut || self.disk.remove(path))
    }

    /// Those above it, one by one, so that each is seen.
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        if dir.as_os_str().is_empty() || self.disk.list(dir).is_ok() {
            return Ok(());
        }
        dir.parent().map_or(Ok(()), |above| self.create_dir(above))?;
        self.hook.around(Operation::CreateFolder(dir), &mut || self.disk.create_dir(dir))
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.hook.around(Operation::RemoveFolder(dir), &mut || self.disk.remove_dir(dir))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.hook.around(Operation::SyncFolder(dir), &mut || self.disk.sync_dir(dir))
    }

    fn open_to_others(&self, dir: &Path) -> io::Result<Option<u32>> {
        self.disk.open_to_others(dir)
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Box<dyn Lock>> {
        self.disk.lock_dir(dir)
    }
}

#[derive(Debug)]
struct HookedFile {
    file: Arc<dyn File>,
    hook: Arc<dyn Hook>,
    number: u64,
}

impl HookedFile {
    fn open(&self) -> Open<'_> {
        Open { path: self.file.path(), number: self.number }
    }
}

impl File for HookedFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let write = Operation::Write(self.open(), offset, bytes);
        self.hook.around(write, &mut || self.file.write_at(bytes, offset))
    }

    fn write_uncached_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let write = Operation::Write(self.open(), offset, bytes);
        self.hook.around(write, &mut || self.file.write_uncached_at(bytes, offset))
    }

    fn drop_cached(&self) {
        self.file.drop_cached();
    }

    fn sync_data(&self) -> io::Result<()> {
        self.hook.around(Operation::Sync(self.open()), &mut || self.file.sync_data())
    }

    fn reserve(&self, len: u64) -> io::Result<()> {
        self.hook.around(Operation::Reserve(self.open(), len), &mut || self.file.reserve(len))
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.hook.around(Operation::Truncate(self.open(), len), &mut || self.file.truncate(len))
    }
}
