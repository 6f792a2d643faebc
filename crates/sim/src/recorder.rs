//! A disk that works and keeps a record of everything that is done to it, so that the power can be cut at any point
//! later: see [`crate::disk::SimDisk::of_trace`].

use env::disk::{Disk, File, Lock};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something that was done. Syncs stand where they were done, everything else where it began.
#[derive(Clone, Debug)]
pub enum Event {
    /// A folder was made; it is durable.
    Folder(PathBuf),
    /// A file was made, with a number of its own.
    Created(PathBuf, u64),
    /// Bytes were written at an offset.
    Written(u64, u64, Vec<u8>),
    /// The length was changed.
    Resized(u64, u64),
    /// Of all that was done to the bytes of the file, so many operations are durable.
    Synced(u64, usize),
    /// A file has another name.
    Renamed(PathBuf, PathBuf),
    /// A file has no name any more.
    Removed(PathBuf),
    /// Of all changes of names in a folder, so many are durable.
    FolderSynced(PathBuf, usize),
    /// Not the disk's: a client sent its bundle of this number.
    Sent(usize, u64),
    /// Not the disk's: a client was told that its bundle of this number is done.
    Told(usize, u64),
}

/// See the module. Clones have one record.
#[derive(Clone, Debug)]
pub struct Recorder {
    disk: Arc<dyn Disk>,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug, Default)]
struct Record {
    events: Vec<Event>,
    numbers: BTreeMap<PathBuf, u64>,
    next_number: u64,
    /// Operations on the bytes of each file so far.
    operations: BTreeMap<u64, usize>,
    /// Changes of names in each folder so far.
    changes: BTreeMap<PathBuf, usize>,
}

impl Record {
    fn change(&mut self, path: &Path, event: Event) {
        *self.changes.entry(folder(path)).or_default() += 1;
        self.events.push(event);
    }

    fn operate(&mut self, file: u64, event: Event) {
        *self.operations.entry(file).or_default() += 1;
        self.events.push(event);
    }
}

fn folder(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

impl Recorder {
    /// Keeps a record of what is done to `disk`, on which nothing is open yet.
    pub fn new(disk: Arc<dyn Disk>) -> Recorder {
        Recorder { disk, record: Arc::default() }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // Whole after every statement.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what is not the disk's.
    pub fn note(&self, event: Event) {
        self.record().events.push(event);
    }

    /// Everything so far.
    pub fn events(&self) -> Vec<Event> {
        self.record().events.clone()
    }

    fn opened(&self, file: Arc<dyn File>, number: u64) -> Arc<dyn File> {
        Arc::new(Recorded { recorder: self.clone(), file, number })
    }
}

// Operations other than syncs are done under the lock, so that the record has them in their order.
impl Disk for Recorder {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let record = &mut *self.record();
        let file = self.disk.create(path)?;
        if let Some(&number) = record.numbers.get(path) {
            record.operate(number, Event::Resized(number, 0));
            return Ok(self.opened(file, number));
        }
        record.next_number += 1;
        let number = record.next_number;
        record.numbers.insert(path.to_owned(), number);
        record.change(path, Event::Created(path.to_owned(), number));
        Ok(self.opened(file, number))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path)?;
        let number = self.record().numbers.get(path).copied();
        Ok(self.opened(file, number.expect("the record began when there were no files")))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let record = &mut *self.record();
        self.disk.rename(from, to)?;
        if let Some(number) = record.numbers.remove(from) {
            record.numbers.insert(to.to_owned(), number);
        }
        record.change(from, Event::Renamed(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let record = &mut *self.record();
        self.disk.remove(path)?;
        record.numbers.remove(path);
        record.change(path, Event::Removed(path.to_owned()));
        Ok(())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)?;
        self.note(Event::Folder(dir.to_owned()));
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let covered = self.record().changes.get(dir).copied().unwrap_or(0);
        self.disk.sync_dir(dir)?;
        self.note(Event::FolderSynced(dir.to_owned(), covered));
        Ok(())
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Box<dyn Lock>> {
        self.disk.lock_dir(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free_bytes(dir)
    }
}

#[derive(Debug)]
struct Recorded {
    recorder: Recorder,
    file: Arc<dyn File>,
    number: u64,
}

impl File for Recorded {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut record = self.recorder.record();
        self.file.write_at(bytes, offset)?;
        record.operate(self.number, Event::Written(self.number, offset, bytes.to_vec()));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let covered = self.recorder.record().operations.get(&self.number).copied().unwrap_or(0);
        self.file.sync_data()?;
        self.recorder.note(Event::Synced(self.number, covered));
        Ok(())
    }

    fn reserve(&self, len: u64) -> io::Result<()> {
        let mut record = self.recorder.record();
        let before = self.file.len()?;
        self.file.reserve(len)?;
        if before < len {
            record.operate(self.number, Event::Resized(self.number, len));
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut record = self.recorder.record();
        self.file.truncate(len)?;
        record.operate(self.number, Event::Resized(self.number, len));
        Ok(())
    }
}
