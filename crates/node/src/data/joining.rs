//! What a server that joins a cluster needs besides a snapshot: the files that say what a directory is made with.

use super::checksummed::Unread;
use super::dir::Data;
use super::error::DataError;
use super::facts::{read_text, unread};
use super::{Rules, Superblock, rules, superblock};
use consensus::Members;
use std::io;

/// Their texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinFiles {
    /// Of the file that never changes.
    pub superblock: String,
    /// Of the file of suffixes and schema.
    pub rules: String,
}

impl Data {
    /// Those of this directory.
    ///
    /// # Errors
    /// One is not there: the directory was never served.
    pub fn join_files(&self) -> Result<JoinFiles, DataError> {
        let read = |name: &str| -> Result<String, DataError> {
            let missing = || DataError::Facts(self.dir.join(name), "it is not there".to_owned());
            read_text(&*self.disk, &self.dir, name)?.ok_or_else(missing)
        };
        Ok(JoinFiles { superblock: read(superblock::NAME)?, rules: read(rules::NAME)? })
    }

    /// Makes this directory one of the same: durable when it returns.
    ///
    /// # Errors
    /// The texts are not what a server writes, or what the disk says.
    pub fn join(&self, files: &JoinFiles) -> Result<(), DataError> {
        let wrong = |name: &str, what: Unread| unread(self.dir.join(name), what);
        Superblock::parse(&files.superblock).map_err(|what| wrong(superblock::NAME, what))?;
        Rules::parse(&files.rules).map_err(|what| wrong(rules::NAME, what.into()))?;
        let write = |name: &str, text: &str| -> io::Result<()> { self.write_facts(name, text) };
        write(superblock::NAME, &files.superblock)?;
        Ok(write(rules::NAME, &files.rules)?)
    }

    /// Has this directory a snapshot, or does it wait for its first one?
    ///
    /// # Errors
    /// The snapshot is damaged.
    pub fn has_snapshot(&self) -> Result<bool, DataError> {
        Ok(self.snapshots()?.latest().is_some())
    }

    /// The members as the snapshot has them: later ones may be in the log. `None` if this directory belongs to no replica of a cluster, or
    /// has no snapshot yet.
    ///
    /// # Errors
    /// The snapshot is damaged.
    pub fn members(&self) -> Result<Option<Members>, DataError> {
        Ok(self.mark(&self.snapshots()?)?.map(|mark| mark.base.members))
    }
}
