//! A data directory: what a directory is made with, its snapshot and its log.
//!
//! ```text
//! DIR/founding     what never changes: format, keys of the hashes and entryUUIDs, site, operational attributes
//! DIR/rules        what decides the outcome of updates, as the last start had it: suffixes, schema
//! DIR/indexes      indexes that were made while it was served, or by `pando index`
//! DIR/settings     the record of the settings that are the directory's
//! DIR/snapshot/    the last snapshot
//! DIR/log/         the write-ahead log
//! DIR/lock         held by the one process that uses the directory
//! ```
//!
//! [`backup`] copies one, and makes one of copies.

pub mod backup;
mod checksummed;
pub mod dump;
mod examine;
mod indexes;
mod pass;
mod recover;
mod replay;
mod rules;
mod rules_epochs;
mod schema_time;
mod settings;
pub mod snapshot;
mod superblock;

pub use examine::{Contents, Examined, View};
pub use indexes::{IndexFile, Nowhere};
pub use recover::{Recovered, Stage, Wanted};
pub use rules::Rules;
pub use settings::SettingsFile;
pub use superblock::Superblock;

use crate::faults;
use checksummed::Unread;
use env::disk::{Disk, Lock};
use env::planted;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wal::snapshot::SnapshotError;

/// Bytes that a file of facts may have. The longest is that of rules, which has all definitions of the schema.
const FACTS_BYTES_MAX: u64 = 16 << 20;

/// Why a data directory cannot be used.
#[derive(Debug)]
pub enum DataError {
    /// The disk says so.
    Disk(io::Error),
    /// Another process has it.
    Taken(PathBuf),
    /// The log is damaged or does not fit: see the text.
    Log(wal::OpenError),
    /// The snapshot is damaged.
    Snapshot(SnapshotError),
    /// The snapshot does not make a directory.
    Restore(PathBuf, store::RestoreError),
    /// A file that says what the directory is made with is not what Pando wrote, or of a later version.
    Facts(PathBuf, String),
    /// The log comes to another outcome than was answered.
    Outcome(dsa::chain::Differs),
    /// What is configured is not what the directory is made with.
    Differs {
        /// The key.
        key: &'static str,
        /// What the directory has.
        made: String,
        /// What was asked for.
        wanted: String,
        /// What to do.
        advice: &'static str,
    },
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Disk(error) => error.fmt(f),
            DataError::Taken(dir) => write!(f, "{}: another process uses this data directory", dir.display()),
            DataError::Log(error) => error.fmt(f),
            DataError::Snapshot(error) => error.fmt(f),
            DataError::Restore(path, error) => write!(f, "{}: {error}", path.display()),
            DataError::Facts(path, what) => write!(f, "{}: {what}", path.display()),
            DataError::Outcome(differs) => write!(
                f,
                "{differs}. This is a fault of the program or of the machine; nothing was changed. `pando dump` shows the \
                 commands. Restore a backup, or start once with --accept-difference, which goes on from what the log makes now"
            ),
            DataError::Differs { key, made, wanted, advice } => {
                write!(f, "`{key}` is {made} in this data directory, but {wanted} is configured: {advice}")
            }
        }
    }
}

impl std::error::Error for DataError {}

impl From<io::Error> for DataError {
    fn from(error: io::Error) -> DataError {
        DataError::Disk(error)
    }
}

impl From<SnapshotError> for DataError {
    fn from(error: SnapshotError) -> DataError {
        DataError::Snapshot(error)
    }
}

/// A data directory that is ours as long as this lives.
#[derive(Debug)]
pub struct Data {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
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
        Ok(Data { disk, dir: dir.to_owned(), _lock: lock })
    }

    /// Takes back what a first start made, of which nothing has come: whoever comes next may choose again what is chosen once.
    /// The one who writes the directory must have ended.
    ///
    /// # Errors
    /// What the disk says. A second attempt, or a start, goes on from whatever is left.
    pub fn roll_back_init(&self) -> io::Result<()> {
        let (snapshot, manifest) = (self.dir.join("snapshot"), wal::snapshot::MANIFEST);
        if self.disk.list_dirs(&self.dir)?.iter().any(|name| name == "snapshot")
            && self.disk.list(&snapshot)?.iter().any(|name| name == manifest)
        {
            // It must not outlive what it names.
            self.disk.remove(&snapshot.join(manifest))?;
            self.disk.sync_dir(&snapshot)?;
        }
        // Where there are rules there is a log.
        if self.disk.list(&self.dir)?.iter().any(|name| name == rules::NAME) {
            self.disk.remove(&self.dir.join(rules::NAME))?;
            self.disk.sync_dir(&self.dir)?;
        }
        for sub in
            self.disk.list_dirs(&self.dir)?.iter().filter(|name| ["log", "snapshot"].contains(&&***name))
        {
            let sub = self.dir.join(sub);
            self.disk.list(&sub)?.iter().try_for_each(|name| self.disk.remove(&sub.join(name)))?;
            self.disk.remove_dir(&sub)?;
        }
        // Last of all what the others cannot be read without.
        let own = [schema_time::NAME, superblock::NAME];
        let there = self.disk.list(&self.dir)?;
        for name in own.into_iter().filter(|name| there.iter().any(|other| other == name)) {
            self.disk.remove(&self.dir.join(name))?;
            self.disk.sync_dir(&self.dir)?;
        }
        Ok(())
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

    /// What the directory was made with, as settings; `None` if its first start did not come to its end.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn made(&self) -> Result<Option<Made>, DataError> {
        let Some(rules) = self.rules()? else { return Ok(None) };
        Ok(Some(Made {
            suffixes: rules.suffixes().to_vec(),
            schema_check: rules.schema_check(),
            operational_attributes: self.superblock()?.operational_attributes,
        }))
    }

    /// Reads a file of facts, if it is there.
    fn facts<T, E: Into<Unread>>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, DataError> {
        let Some(text) = read_text(&*self.disk, &self.dir, name)? else { return Ok(None) };
        parse(&text).map(Some).map_err(|what| unread(self.dir.join(name), what))
    }

    /// Replaces a file of facts; durable when it returns.
    fn write_facts(&self, name: &str, text: &str) -> io::Result<()> {
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

/// Settings of a directory that was served or filled before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The naming contexts.
    pub suffixes: Vec<String>,
    /// Are entries held to the schema?
    pub schema_check: bool,
    /// Are entryUUID, times and names kept?
    pub operational_attributes: bool,
}

/// A file of facts cannot be read.
fn unread(path: PathBuf, what: impl Into<Unread>) -> DataError {
    DataError::Facts(path, what.into().to_string())
}

/// Reads a short file of text, if it is there.
fn read_text(disk: &dyn Disk, dir: &Path, name: &str) -> Result<Option<String>, DataError> {
    if !disk.list(dir)?.iter().any(|other| other == name) {
        return Ok(None);
    }
    let path = dir.join(name);
    let file = disk.open(&path)?;
    let len = file.len()?;
    if len > FACTS_BYTES_MAX {
        return Err(DataError::Facts(path, "it is longer than Pando writes it".to_owned()));
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8(bytes).map(Some);
    text.map_err(|error| unread(path, format!("at offset {}: no text", error.utf8_error().valid_up_to())))
}

/// Replaces a file of text; durable when it returns.
fn write_text(disk: &dyn Disk, dir: &Path, name: &str, text: &str) -> io::Result<()> {
    let new = dir.join(format!("{name}.new"));
    let file = disk.create(&new)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync_data()?;
    disk.rename(&new, &dir.join(name))?;
    if planted::is(faults::INDEX_NOT_KEPT) && name == indexes::NAME {
        return Ok(());
    }
    disk.sync_dir(dir)
}

/// A key that no version has written, or that a changed byte has made of another.
fn unknown() -> String {
    "it has an unknown key".to_owned()
}

/// What is missing in, or wrong with, a file of facts.
fn missing(name: &str) -> String {
    format!("`{name}` is missing or of another kind")
}
