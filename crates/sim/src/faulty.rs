//! A disk that works, but for one kind of operation on some files, as long as somebody wants that.

use env::disk::{Disk, File, Lock, fault};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A file is made.
    Create,
    /// Bytes are written.
    Write,
    /// A file is synced.
    Sync,
    /// Space is claimed.
    Reserve,
    /// A file gets another name.
    Rename,
    /// A file is removed.
    Remove,
    /// The names in a folder are synced.
    SyncFolder,
}

/// What fails.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Which operation.
    pub operation: Operation,
    /// On files, or the folder, of these names; of a rename, the old one.
    pub is_meant: fn(&str) -> bool,
    /// Operations of that kind that succeed before.
    pub skip: u32,
    /// The error of the system.
    pub errno: i32,
}

/// See the module. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct Faulty {
    disk: Arc<dyn Disk>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    rule: Option<Rule>,
    hits: u64,
}

impl Faulty {
    /// `disk`, of which nothing fails yet.
    pub fn new(disk: Arc<dyn Disk>) -> Faulty {
        Faulty { disk, state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this fails, or nothing. Returns how often the rule before has hit.
    pub fn set(&self, rule: Option<Rule>) -> u64 {
        let state = &mut *self.state();
        state.rule = rule;
        std::mem::take(&mut state.hits)
    }

    fn allow(&self, operation: Operation, path: &Path, what: &'static str) -> io::Result<()> {
        let state = &mut *self.state();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(rule) = &mut state.rule else { return Ok(()) };
        if rule.operation != operation || !(rule.is_meant)(name) {
            return Ok(());
        }
        if rule.skip > 0 {
            rule.skip -= 1;
            return Ok(());
        }
        state.hits += 1;
        Err(fault(io::Error::from_raw_os_error(rule.errno), path, what, None))
    }

    fn opened(&self, file: io::Result<Arc<dyn File>>) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(FaultyFile { disk: self.clone(), file: file? }))
    }
}

impl Disk for Faulty {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.allow(Operation::Create, path, "create")?;
        self.opened(self.disk.create(path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.opened(self.disk.open(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.allow(Operation::Rename, from, "rename")?;
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.allow(Operation::Remove, path, "remove")?;
        self.disk.remove(path)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.allow(Operation::SyncFolder, dir, "sync the folder")?;
        self.disk.sync_dir(dir)
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Box<dyn Lock>> {
        self.disk.lock_dir(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free_bytes(dir)
    }
}

#[derive(Debug)]
struct FaultyFile {
    disk: Faulty,
    file: Arc<dyn File>,
}

impl File for FaultyFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.disk.allow(Operation::Write, self.path(), "write")?;
        self.file.write_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.allow(Operation::Sync, self.path(), "sync")?;
        self.file.sync_data()
    }

    fn reserve(&self, len: u64) -> io::Result<()> {
        self.disk.allow(Operation::Reserve, self.path(), "reserve space")?;
        self.file.reserve(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }
}
