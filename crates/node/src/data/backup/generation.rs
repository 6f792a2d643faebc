//! The backups of a folder: which there are, what each says of itself, how one goes away.

use super::{BackupError, MARKER, folder, log_dir, snapshot_dir};
use crate::data::checksummed::{verified, with_checksum};
use crate::data::error::DataError;
use crate::data::facts::{missing, read_text, unread, write_text};
use crate::data::{Rules, Superblock, indexes, rules, schema_time, settings, superblock};
use env::disk::{Disk, Lock};
use model::timestamp;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wal::Index;

/// What names end in until a backup is whole.
pub(super) const NEW: &str = ".new";
const FORMAT: i64 = 1;
/// The same of a node of a cluster.
const FORMAT_OF_NODE: i64 = 2;

/// A folder of backups.
#[derive(Debug)]
pub struct Backups {
    disk: Arc<dyn Disk>,
    pub(super) dir: PathBuf,
}

/// A whole backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Where it is.
    pub dir: PathBuf,
    /// Unix time in milliseconds at which it was begun: what was answered before that is in it.
    pub begun_ms: u64,
    /// Last record that its snapshot holds, or last entry if it is of a node of a cluster; 0 without one.
    pub snapshot: Index,
    /// Last record that it holds.
    pub last: Index,
    /// Of a node of a cluster: the last entry that was known to be committed, besides what the log itself says; else 0.
    pub committed: u64,
}

impl Generation {
    /// Its name.
    pub fn name(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Reads what the backup in `dir` says of itself; `None` if there is none.
    ///
    /// # Errors
    /// When that file is not as it was written.
    pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<Generation>, DataError> {
        let Some(text) = read_text(disk, dir, MARKER)? else { return Ok(None) };
        Generation::parse(dir, &text).map(Some).map_err(|what| DataError::Facts(dir.join(MARKER), what))
    }

    /// Writes that down.
    pub(super) fn write(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        write_text(disk, dir, MARKER, &self.text())
    }

    fn text(&self) -> String {
        let (format, committed) = match self.committed {
            0 => (FORMAT, String::new()),
            entry => (FORMAT_OF_NODE, format!("committed = {entry}\n")),
        };
        with_checksum(format!(
            "# A whole backup. `pando restore` makes a data directory of it; it is not to be served or changed.\n\
             format = {format}\n# {}\nbegun = {}\nsnapshot = {}\nlast = {}\n{committed}",
            timestamp(self.begun_ms),
            self.begun_ms,
            self.snapshot,
            self.last
        ))
    }

    fn parse(dir: &Path, text: &str) -> Result<Generation, String> {
        let table: toml::Table =
            verified(text)?.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let format = table.get("format").and_then(toml::Value::as_integer);
        match format {
            Some(FORMAT | FORMAT_OF_NODE) => {}
            Some(other) => return Err(format!("format {other} is of another version of Pando")),
            None => return Err(missing("format")),
        }
        let number = |name: &str| {
            let number = table.get(name).and_then(toml::Value::as_integer);
            number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| missing(name))
        };
        let (snapshot, last) = (Index(number("snapshot")?), Index(number("last")?));
        let committed = if format == Some(FORMAT_OF_NODE) { number("committed")? } else { 0 };
        let generation =
            Generation { dir: dir.to_owned(), begun_ms: number("begun")?, snapshot, last, committed };
        if generation.text() != text {
            return Err("it is not as Pando wrote it".to_owned());
        }
        Ok(generation)
    }
}

/// What a backup is called that was begun then: sorted as they follow in time.
pub(super) fn name(begun_ms: u64) -> String {
    timestamp(begun_ms).replace(['-', ':'], "")
}

fn is_name(name: &str) -> bool {
    name.len() == 20 && name.starts_with(|c: char| c.is_ascii_digit()) && name.ends_with('Z')
}

impl Backups {
    /// The backups in `dir`.
    pub fn new(disk: Arc<dyn Disk>, dir: &Path) -> Backups {
        Backups { disk, dir: dir.to_owned() }
    }

    /// Makes the folder, unless it is there, for this process alone to write to.
    pub(super) fn begin(&self, data: &Path) -> Result<Box<dyn Lock>, BackupError> {
        if self.dir.starts_with(data) {
            let text = "backups cannot lie in the data directory that they are made of";
            return Err(folder(&self.dir, text));
        }
        self.disk.create_dir(&self.dir)?;
        if self.disk.list(&self.dir)?.iter().any(|name| name == superblock::NAME || name == MARKER) {
            let text = "this is a data directory; backups go into a folder of their own";
            return Err(folder(&self.dir, text));
        }
        self.disk.lock_dir(&self.dir).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => folder(&self.dir, "another process writes a backup here"),
            _ => error.into(),
        })
    }

    /// All that are whole, the oldest first; and what is wrong with others.
    ///
    /// # Errors
    /// What the disk says.
    pub fn all(&self) -> io::Result<(Vec<Generation>, Vec<DataError>)> {
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        for name in self.disk.list_dirs(&self.dir)?.iter().filter(|name| is_name(name)) {
            match Generation::read(&*self.disk, &self.dir.join(name)) {
                Ok(generation) => all.extend(generation),
                Err(error) => wrong.push(error),
            }
        }
        Ok((all, wrong))
    }

    /// Removes what backups that were not finished have left.
    pub(super) fn remove_unfinished(&self) -> io::Result<()> {
        for name in self.disk.list_dirs(&self.dir)? {
            if name.strip_suffix(NEW).is_some_and(is_name) {
                self.remove_dead(&self.dir.join(name))?;
            }
        }
        Ok(())
    }

    /// Removes what counts as no backup any more by its name. That may not be durable, should a sync have failed or the
    /// process been killed: so first of all it counts as none by what is in it.
    fn remove_dead(&self, dead: &Path) -> io::Result<()> {
        if self.disk.list(dead)?.iter().any(|name| name == MARKER) {
            self.disk.remove(&dead.join(MARKER))?;
        }
        self.disk.sync_dir(dead)?;
        remove_tree(&*self.disk, dead)
    }

    /// Removes a whole backup. It stops being one before anything of it goes.
    pub(super) fn remove(&self, generation: &Generation) -> io::Result<()> {
        let dead = self.dir.join([&*generation.name(), NEW].concat());
        self.disk.rename(&generation.dir, &dead)?;
        self.disk.sync_dir(&self.dir)?;
        self.remove_dead(&dead)
    }

    /// Where the next one goes.
    pub(super) fn place(&self, begun_ms: u64) -> (PathBuf, PathBuf) {
        let name = name(begun_ms);
        (self.dir.join([&*name, NEW].concat()), self.dir.join(name))
    }
}

/// Removes a data directory, or a part of one. A folder that has something else in it stays, and is an error.
pub(super) fn remove_tree(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    for inner in disk.list_dirs(dir)? {
        let inner = dir.join(inner);
        if inner == log_dir(dir) || inner == snapshot_dir(dir) {
            remove_folder(disk, &inner)?;
        }
    }
    remove_folder(disk, dir)
}

/// Removes a folder of files.
pub(in crate::data) fn remove_folder(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    disk.list(dir)?.iter().try_for_each(|name| disk.remove(&dir.join(name)))?;
    disk.remove_dir(dir)
}

/// The texts of the files that tell how a data directory is to be read, checked; and of those of its indexes
/// and its settings, if it has them.
pub(super) fn facts(disk: &dyn Disk, dir: &Path) -> Result<Vec<(&'static str, String)>, DataError> {
    let read = |name: &'static str, text: &str| -> Result<(&'static str, String), DataError> {
        let found = read_text(disk, dir, name)?;
        Ok((name, found.ok_or_else(|| DataError::Facts(dir.to_owned(), text.to_owned()))?))
    };
    let superblock = read(superblock::NAME, "this is not a data directory of Pando")?;
    Superblock::parse(&superblock.1).map_err(|what| unread(dir.join(superblock.0), what))?;
    let rules = read(rules::NAME, "the first start of this data directory did not complete")?;
    Rules::parse(&rules.1).map_err(|what| unread(dir.join(rules.0), what))?;
    let mut facts = vec![superblock, rules];
    if let Some(text) = read_text(disk, dir, indexes::NAME)? {
        indexes::parse(&text).map_err(|what| unread(dir.join(indexes::NAME), what))?;
        facts.push((indexes::NAME, text));
    }
    if let Some(text) = read_text(disk, dir, settings::NAME)? {
        settings::parse(&text).map_err(|what| unread(dir.join(settings::NAME), what))?;
        facts.push((settings::NAME, text));
    }
    if let Some((text, _)) = schema_time::read(disk, dir)? {
        facts.push((schema_time::NAME, text));
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_backup_says_of_itself_comes_back_and_a_change_shows() {
        let (dir, begun_ms) = (PathBuf::from("b"), 1_700_000_000_123);
        for committed in [0, 7] {
            let (snapshot, last) = (Index(5), Index(9));
            let generation = Generation { dir: dir.clone(), begun_ms, snapshot, last, committed };
            let text = generation.text();
            assert_eq!(Generation::parse(&dir, &text), Ok(generation));
            assert!(Generation::parse(&dir, &text.replace("last = 9", "last = 8")).is_err());
            let format = if committed == 0 { "format = 1" } else { "format = 2" };
            let later = with_checksum(verified(&text).unwrap().replace(format, "format = 3"));
            assert!(Generation::parse(&dir, &later).unwrap_err().contains("version"));
            assert!(Generation::parse(&dir, verified(&text).unwrap()).is_err(), "without its checksum");
        }
    }

    #[test]
    fn names_are_in_the_order_of_time() {
        let names: Vec<String> = [0, 999, 1_700_000_000_123, 1_700_000_001_000].map(name).into();
        assert!(names.is_sorted() && names.iter().all(|name| is_name(name)), "{names:?}");
        assert!(!is_name("lost+found") && !is_name("20261121T192054.123Z.new"));
    }
}
