//! What a replica writes down when a majority has another directory than it has: so that no start serves its own before a snapshot of
//! another replica has replaced it. It names the snapshot that counted then; when another one does, the directory is a new one.

use super::checksummed::{table, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::{missing, unknown, write_text};
use env::disk::Disk;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use toml::Value;

const NAME: &str = "differs";
const SNAPSHOT: &str = "snapshot";
const ENTRY: &str = "entry";

/// The file, for the one that applies entries.
#[derive(Debug)]
pub(crate) struct DiffersFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    generation: u64,
    /// The last entry that was applied when the directory was found to be wrong, if it was.
    pub(crate) entry: Option<u64>,
}

impl DiffersFile {
    /// Of a directory that is not known to be wrong.
    #[cfg(test)]
    pub(crate) fn none(dir: &std::path::Path) -> DiffersFile {
        DiffersFile { disk: Arc::new(env::disk::RealDisk), dir: dir.to_owned(), generation: 0, entry: None }
    }

    /// The directory is wrong, with everything up to this entry. Durable when it returns.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn write(&self, entry: u64) -> io::Result<()> {
        write_text(&*self.disk, &self.dir, NAME, &text(self.generation, entry))
    }
}

impl Data {
    /// Whether the directory is known to be wrong.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn differs(&self) -> Result<DiffersFile, DataError> {
        let found = self.facts(NAME, parse)?;
        let entry = found.filter(|(generation, _)| *generation == self.generation).map(|(_, entry)| entry);
        let (disk, dir) = (Arc::clone(&self.disk), self.dir.clone());
        Ok(DiffersFile { disk, dir, generation: self.generation, entry })
    }

    /// Another snapshot counts, or all is taken as it is: the directory is not wrong any more.
    pub(super) fn forget_difference(&self) -> io::Result<()> {
        self.remove_if_there(&self.dir, NAME)
    }
}

fn text(generation: u64, entry: u64) -> String {
    with_checksum(format!("{SNAPSHOT} = {generation}\n{ENTRY} = {entry}\n"))
}

fn parse(text: &str) -> Result<(u64, u64), String> {
    let table = table(text)?;
    if table.len() > 2 {
        return Err(unknown());
    }
    let number = |key: &str| {
        let number = table.get(key).and_then(Value::as_integer).and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| missing(key))
    };
    Ok((number(SNAPSHOT)?, number(ENTRY)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_and_a_change_shows() {
        assert_eq!(parse(&text(3, 1 << 40)), Ok((3, 1 << 40)));
        assert!(parse(&text(3, 7).replace('7', "8")).is_err());
        assert!(parse("snapshot = 3\n").is_err() && parse("snapshot = 0\nentry = -1\n").is_err());
    }
}
