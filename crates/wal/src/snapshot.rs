//! Snapshots: files that never change once they are whole, and a manifest that names those which belong together.
//!
//! A new snapshot keeps the files that it shares with the last one and writes the others; then the manifest is replaced at
//! once, and what no manifest names is removed. Whatever happens in between, the last snapshot stays whole. One process
//! at a time, one prepared write at a time. Formats: `docs/formats/manifest.md`.

mod file;
mod manifest;

pub use file::{FileWriter, PIECE_BYTES, SnapshotFile};
pub use manifest::{FileId, FileRecord, Manifest};

use crate::error::Damage;
use crate::faults;
use crate::place::Index;
use env::disk::Disk;
use env::planted;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the manifest.
pub const MANIFEST: &str = "manifest";
/// What names end in until their files are whole.
const NEW: &str = ".new";

/// Why a snapshot was not read or written.
#[derive(Debug)]
pub enum SnapshotError {
    /// The operating system refused; the message names the file. The last snapshot is as it was.
    Io(io::Error),
    /// What was whole once is damaged.
    Damaged(Damage),
}

impl From<io::Error> for SnapshotError {
    fn from(error: io::Error) -> SnapshotError {
        SnapshotError::Io(error)
    }
}

impl From<Damage> for SnapshotError {
    fn from(damage: Damage) -> SnapshotError {
        SnapshotError::Damaged(damage)
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::Io(error) => error.fmt(f),
            SnapshotError::Damaged(damage) => {
                write!(f, "{damage}. Keep a copy of the directory and restore a backup")
            }
        }
    }
}

impl std::error::Error for SnapshotError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SnapshotError::Io(error) => Some(error),
            SnapshotError::Damaged(_) => None,
        }
    }
}

/// The snapshots of a folder: the last one, and how the next comes about.
#[derive(Debug)]
pub struct Snapshots {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    latest: Option<Manifest>,
    /// The manifest on the disk may be a later one than `latest`: nothing may be removed.
    unsure: bool,
}

impl Snapshots {
    /// Opens the folder, which is made if it is not there, reads the manifest and looks that its files are there and of
    /// their length. The caller holds the folder's lock.
    ///
    /// # Errors
    /// `Damaged` if the manifest is, or a file that it names is missing or shorter.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<Snapshots, SnapshotError> {
        disk.create_dir(dir)?;
        let latest = read_manifest(&*disk, dir)?;
        // The process before may have ended between the manifest's new name and its being durable. The one that relies on it
        // releases the log, so it must not go back.
        disk.sync_dir(dir)?;
        let snapshots = Snapshots { disk, dir: dir.to_owned(), latest, unsure: false };
        snapshots.records().try_for_each(|record| snapshots.check_length(record))?;
        Ok(snapshots)
    }

    /// Reads the manifest of a folder that somebody else may write, and opens its files: they stay what they are, and
    /// readable, whatever happens to their names. `None` without a manifest.
    ///
    /// # Errors
    /// As [`Snapshots::open`]; `Io` of kind `NotFound` when a snapshot was replaced meanwhile: try again.
    pub fn hold(disk: &dyn Disk, dir: &Path) -> Result<Option<Held>, SnapshotError> {
        let Some(manifest) = read_manifest(disk, dir)? else { return Ok(None) };
        let open = |record| SnapshotFile::open(disk, dir, record);
        let files = manifest.files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Held { manifest, files }))
    }

    fn check_length(&self, record: &FileRecord) -> Result<(), SnapshotError> {
        let path = self.dir.join(record.id.name());
        let len = match self.disk.open(&path) {
            Ok(file) => file.len()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let what = "the manifest names it, but there is no such file";
                return Err(Damage::at(&path, 0, what).into());
            }
            Err(error) => return Err(error.into()),
        };
        let expected = file::file_bytes(record.bytes);
        if len != expected {
            return Err(Damage::at(&path, len, format!("it should have {expected} bytes")).into());
        }
        Ok(())
    }

    /// The files of the last snapshot.
    fn records(&self) -> impl Iterator<Item = &FileRecord> {
        self.latest.iter().flat_map(|manifest| &manifest.files)
    }

    /// The last snapshot.
    pub fn latest(&self) -> Option<&Manifest> {
        self.latest.as_ref()
    }

    /// Opens a file of the last snapshot for reading.
    ///
    /// # Errors
    /// `Damaged` when its list of checksums is.
    pub fn file(&self, record: &FileRecord) -> Result<SnapshotFile, SnapshotError> {
        SnapshotFile::open(&*self.disk, &self.dir, record)
    }

    /// Reads and checks every byte of the last snapshot.
    ///
    /// # Errors
    /// The first damage.
    pub fn verify(&self) -> Result<(), SnapshotError> {
        self.records().try_for_each(|record| self.file(record)?.verify())
    }

    /// Begins the next snapshot.
    pub fn unfinished(&self) -> UnfinishedSnapshot {
        UnfinishedSnapshot {
            disk: self.disk.clone(),
            dir: self.dir.clone(),
            known: self.records().map(|record| (record.id, *record)).collect(),
            files: BTreeMap::new(),
        }
    }

    /// As [`Snapshots::replace`]; what the snapshot before had and this one does not is removed.
    ///
    /// # Errors
    /// As [`Snapshots::replace`].
    pub fn commit(
        &mut self,
        unfinished: UnfinishedSnapshot,
        index: Index,
        meta: Vec<u8>,
    ) -> Result<&Manifest, SnapshotError> {
        self.replace(unfinished, index, meta)?;
        // What cannot be removed now is removed after the next snapshot, or at the next start.
        let _ = self.remove_unnamed(&mut |_, _| ());
        Ok(self.latest.as_ref().expect("it was just set"))
    }

    /// Makes the prepared write the last snapshot: it holds everything up to record `index` of the log, and `meta`, which only the
    /// caller understands. The log must be synced up to `index` before. Returns when it is durable; afterwards the log
    /// may be released up to `index`. [`Snapshots::remove_unnamed`] is to follow.
    ///
    /// # Errors
    /// What the disk says: the last snapshot is still whole.
    pub fn replace(
        &mut self,
        unfinished: UnfinishedSnapshot,
        index: Index,
        meta: Vec<u8>,
    ) -> Result<(), SnapshotError> {
        assert!(self.latest.as_ref().is_none_or(|last| last.index <= index), "snapshots go forward");
        assert!(unfinished.dir == self.dir, "a snapshot is finished in its own folder");
        let manifest = Manifest { index, files: unfinished.files.into_values().collect(), meta };
        // The files got their names after their bytes were synced; now the names are.
        self.disk.sync_dir(&self.dir)?;
        let path = self.dir.join(MANIFEST);
        let new = self.dir.join([MANIFEST, NEW].concat());
        let file = self.disk.create(&new)?;
        file.write_at(&manifest.encode(), 0)?;
        if !planted::is(faults::MANIFEST_NOT_SYNCED) {
            file.sync_data()?;
        }
        self.unsure = true;
        self.disk.rename(&new, &path)?;
        self.disk.sync_dir(&self.dir)?;
        self.unsure = false;
        self.latest = Some(manifest);
        Ok(())
    }

    /// Removes the files that the last snapshot does not name, such as those of a prepared write that was given up. Nothing when it
    /// is not certain which one is the last. `on_removed` is called after each file with how many are removed, of how many, and
    /// may take its time: there must be no prepared write meanwhile.
    ///
    /// # Errors
    /// What the disk says.
    pub fn remove_unnamed(&self, on_removed: &mut dyn FnMut(u64, u64)) -> io::Result<()> {
        if self.unsure {
            return Ok(());
        }
        let named: BTreeSet<String> = self.records().map(|record| record.id.name()).collect();
        let stays = |name: &String| match name.strip_suffix(NEW).unwrap_or(name) {
            MANIFEST => name == MANIFEST,
            ours => !FileId::is_name(ours) || named.contains(name),
        };
        let mut names = self.disk.list(&self.dir)?;
        names.retain(|name| !stays(name));
        for (number, name) in names.iter().enumerate() {
            self.disk.remove(&self.dir.join(name))?;
            on_removed(number as u64 + 1, names.len() as u64);
        }
        Ok(())
    }
}

/// A snapshot of which nothing can be taken away.
#[derive(Debug)]
pub struct Held {
    /// What belongs to it.
    pub manifest: Manifest,
    /// Its files.
    pub files: Vec<SnapshotFile>,
}

/// A snapshot that is being written. Dropped without [`Snapshots::commit`] it leaves files that nothing names.
#[derive(Debug)]
pub struct UnfinishedSnapshot {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    known: BTreeMap<FileId, FileRecord>,
    files: BTreeMap<FileId, FileRecord>,
}

impl UnfinishedSnapshot {
    /// Takes a file over from the last snapshot. False if that does not have it: then it must be written.
    pub fn keep(&mut self, id: FileId) -> bool {
        let Some(record) = self.known.get(&id) else { return false };
        self.files.insert(id, *record);
        true
    }

    /// Begins to write a file. Files may be written at the same time by several threads.
    ///
    /// # Errors
    /// What the disk says.
    pub fn create(&self, id: FileId) -> io::Result<FileWriter> {
        FileWriter::create(self.disk.clone(), &self.dir, id)
    }

    /// Copies a file of another snapshot, comparing its checksums, and adds it.
    ///
    /// # Errors
    /// `Damaged` when the other one is, or what the disk says.
    pub fn copy(&mut self, from: &SnapshotFile) -> Result<(), SnapshotError> {
        let record = *from.record();
        let mut to = self.create(record.id)?;
        from.read_pieces(&mut |bytes| to.write(bytes).map_err(SnapshotError::from))?;
        let written = to.finish()?;
        assert_eq!(written, record, "what was read had the checksums that are written");
        self.add(written);
        Ok(())
    }

    /// Adds a file that another snapshot, in the folder `from`, has: its bytes get one more name, and are not to be
    /// changed under either. False where the file system cannot do that.
    pub fn link(&mut self, from: &Path, record: &FileRecord) -> bool {
        let name = record.id.name();
        let linked = self.disk.link(&from.join(&name), &self.dir.join(&name)).is_ok();
        if linked {
            self.add(*record);
        }
        linked
    }

    /// Adds a file that [`FileWriter::finish`] has made.
    pub fn add(&mut self, record: FileRecord) {
        let other = self.files.insert(record.id, record);
        assert!(other.is_none(), "a file is added once");
    }
}

/// The manifest of a folder, if there is one.
fn read_manifest(disk: &dyn Disk, dir: &Path) -> Result<Option<Manifest>, SnapshotError> {
    if !disk.list(dir)?.iter().any(|name| name == MANIFEST) {
        return Ok(None);
    }
    let path = dir.join(MANIFEST);
    let file = disk.open(&path)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(&mut bytes, 0)?;
    let manifest = Manifest::decode(&bytes).map(Some);
    Ok(manifest.map_err(|(offset, what)| Damage::at(&path, offset as u64, what))?)
}
