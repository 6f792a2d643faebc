//! A disk that works and keeps a record of everything that is done to it, so that the power can be cut at any point
//! later: see [`crate::disk::SimDisk::of_trace`].

use crate::hooked::{Hook, Operation, hooked};
use env::disk::Disk;
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
    /// Space was claimed: the length is no less than that.
    Reserved(u64, u64),
    /// Of all that was done to the bytes of the file, so many operations are durable.
    Synced(u64, usize),
    /// A file has one more name.
    Linked(PathBuf, PathBuf),
    /// A file or folder has another name.
    Renamed(PathBuf, PathBuf),
    /// A file or folder has no name any more.
    Removed(PathBuf),
    /// Of all changes of names in a folder, so many are durable.
    FolderSynced(PathBuf, usize),
    /// Not the disk's: a client sent its bundle of this number.
    Sent(usize, u64),
    /// Not the disk's: an answer said to a client that its bundle of this number is done.
    Acknowledged(usize, u64),
    /// Not the disk's: an answer said to a client that nothing of its bundle of this number is done.
    Refused(usize, u64),
}

/// See the module. Clones have one record.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Record>>);

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

    fn created(&mut self, path: &Path) {
        if let Some(&number) = self.numbers.get(path) {
            return self.operate(number, Event::Resized(number, 0));
        }
        self.next_number += 1;
        let number = self.next_number;
        self.numbers.insert(path.to_owned(), number);
        self.change(path, Event::Created(path.to_owned(), number));
    }

    fn renamed(&mut self, from: &Path, to: &Path) {
        rekey(&mut self.numbers, from, to);
        rekey(&mut self.changes, from, to);
        self.change(from, Event::Renamed(from.to_owned(), to.to_owned()));
    }

    fn removed(&mut self, path: &Path) {
        self.numbers.remove(path);
        self.changes.remove(path);
        self.change(path, Event::Removed(path.to_owned()));
    }

    /// Takes down what was just done, but for syncs.
    fn note(&mut self, operation: Operation<'_>) {
        match operation {
            Operation::Create(path) => self.created(path),
            Operation::Link(from, to) => {
                let number = self.numbers.get(from).copied();
                let number = number.expect("the record began when there were no files");
                self.numbers.insert(to.to_owned(), number);
                self.change(to, Event::Linked(from.to_owned(), to.to_owned()));
            }
            Operation::Rename(from, to) => self.renamed(from, to),
            Operation::Remove(path) | Operation::RemoveFolder(path) => self.removed(path),
            Operation::CreateFolder(dir) => self.events.push(Event::Folder(dir.to_owned())),
            Operation::Write(file, offset, bytes) => {
                self.operate(file.number, Event::Written(file.number, offset, bytes.to_vec()));
            }
            Operation::Reserve(file, len) => self.operate(file.number, Event::Reserved(file.number, len)),
            Operation::Truncate(file, len) => self.operate(file.number, Event::Resized(file.number, len)),
            Operation::Sync(_) | Operation::SyncFolder(_) => {}
        }
    }
}

fn folder(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// What is known of `from`, and of what is in it, is known of `to` from now on.
fn rekey<V>(map: &mut BTreeMap<PathBuf, V>, from: &Path, to: &Path) {
    map.retain(|path, _| !path.starts_with(to));
    let moved: Vec<PathBuf> = map.keys().filter(|path| path.starts_with(from)).cloned().collect();
    for path in moved {
        let value = map.remove(&path).expect("it was just there");
        let rest = path.strip_prefix(from).expect("it begins so");
        let new = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
        map.insert(new, value);
    }
}

impl Recorder {
    /// `disk`, on which nothing is yet, with a record of what is done to it.
    pub fn over(&self, disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
        hooked(disk, Arc::new(self.clone()))
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // Whole after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what is not the disk's.
    pub fn note(&self, event: Event) {
        self.record().events.push(event);
    }

    /// Everything so far.
    pub fn events(&self) -> Vec<Event> {
        self.record().events.clone()
    }
}

impl Hook for Recorder {
    fn around(&self, operation: Operation<'_>, work: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        match operation {
            Operation::Sync(file) => {
                let covered = self.record().operations.get(&file.number).copied().unwrap_or(0);
                work()?;
                self.note(Event::Synced(file.number, covered));
            }
            Operation::SyncFolder(dir) => {
                let covered = self.record().changes.get(dir).copied().unwrap_or(0);
                work()?;
                self.note(Event::FolderSynced(dir.to_owned(), covered));
            }
            // Under the lock, so that the record has them in their order.
            operation => {
                let record = &mut *self.record();
                work()?;
                record.note(operation);
            }
        }
        Ok(())
    }

    fn number(&self, path: &Path) -> u64 {
        let number = self.record().numbers.get(path).copied();
        number.expect("the record began when there were no files")
    }
}
