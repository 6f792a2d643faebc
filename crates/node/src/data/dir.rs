//! A data directory as a place: taken by one process, with files of facts.

use super::checksummed::Unread;
use super::current;
use super::error::DataError;
use super::facts::{read_text, unread, write_text};
use dsa::audit::Trail;
use dsa::behaviour::Versions;
use env::disk::{Disk, Lock};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A data directory that is ours as long as this exists.
#[derive(Debug)]
pub struct Data {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) dir: PathBuf,
    /// Which of its snapshots counts.
    pub(super) generation: u64,
    /// The trail of the changes that a recovery applies again, and of later ones.
    pub(super) trail: OnceLock<Arc<Trail>>,
    /// What the program knows.
    pub(super) versions: Versions,
    _lock: Box<dyn Lock>,
}

impl Data {
    /// Takes a directory, which is made if it is not there.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<Data, DataError> {
        disk.create_dir(dir)?;
        let lock = disk.lock_dir(dir).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => DataError::Taken(dir.to_owned()),
            _ => DataError::Disk(error),
        })?;
        let generation = current::read(&*disk, dir)?;
        Ok(Data {
            disk,
            dir: dir.to_owned(),
            generation,
            trail: OnceLock::new(),
            versions: Versions::THIS,
            _lock: lock,
        })
    }

    /// The versions of the behaviour that the program knows which uses this directory.
    pub fn versions(&self) -> Versions {
        self.versions
    }

    /// For a program that knows these.
    #[must_use]
    pub fn knowing(self, versions: Versions) -> Data {
        Data { versions, ..self }
    }

    /// Reports of the changes that a recovery applies again from now on, and of those that its directory makes.
    ///
    /// # Panics
    /// If there is a trail already.
    pub fn report_changes_to(&self, trail: Arc<Trail>) {
        assert!(self.trail.set(trail).is_ok(), "a data directory has one trail");
    }

    /// What to tell when others than the owner may look into the directory: it has passwords.
    ///
    /// # Errors
    /// What the disk says.
    pub fn open_to_others(&self) -> io::Result<Option<String>> {
        open_to_others(&*self.disk, &self.dir)
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of its log.
    pub(super) fn log_dir(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// The folder of its snapshots.
    pub(super) fn snapshot_dir(&self) -> PathBuf {
        current::folder(&self.dir, self.generation)
    }

    /// Reads a file of facts, if it is there.
    pub(super) fn facts<T, E: Into<Unread>>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, DataError> {
        let Some(text) = read_text(&*self.disk, &self.dir, name)? else { return Ok(None) };
        parse(&text).map(Some).map_err(|what| unread(self.dir.join(name), what))
    }

    /// Replaces a file of facts; durable when it returns.
    pub(super) fn write_facts(&self, name: &str, text: &str) -> io::Result<()> {
        write_text(&*self.disk, &self.dir, name, text)
    }
}

/// What to tell when others than its owner may look into a folder that holds passwords: a data directory, an archive, backups.
///
/// # Errors
/// What the disk says.
pub fn open_to_others(disk: &dyn Disk, dir: &Path) -> io::Result<Option<String>> {
    let mode = disk.open_to_others(dir)?;
    let dir = dir.display();
    Ok(mode.map(|mode| {
        format!("{dir}: users other than its owner can read it ({mode:03o}), and it holds passwords: chmod -R go= {dir}")
    }))
}
