//! A data directory: what a directory is made with, its snapshot and its log.
//!
//! ```text
//! DIR/founding     what never changes: format, keys of the hashes and entryUUIDs, site, operational attributes
//! DIR/rules        what decides the outcome of updates, as the last start had it: suffixes, schema
//! DIR/schema-added  a copy of what was added to the schema while it was served
//! DIR/indexes      indexes that were made while it was served, or by `pando index`
//! DIR/settings     a copy of the last settings of the directory in the log
//! DIR/snapshot/    the last snapshot
//! DIR/snapshot-N/  in its place: one that a replica took from another, or takes
//! DIR/current      which of them counts; without it, the first
//! DIR/differs      a majority has another directory: this one is for nobody until another snapshot counts
//! DIR/log/         the write-ahead log
//! DIR/lock         held by the one process that uses the directory
//! ```
//!
//! [`backup`] copies one, and makes one of copies.

mod accept_loss;
mod added;
pub mod backup;
mod checksummed;
mod current;
mod differs;
mod dir;
pub mod dump;
mod entries;
mod error;
mod examine;
mod facts;
mod incoming;
mod indexes;
mod joining;
mod pass;
mod recover;
mod replay;
mod replica;
mod rules;
mod rules_epochs;
mod schema_time;
pub(crate) mod settings;
pub mod snapshot;
mod superblock;

pub use accept_loss::Remains;
pub use added::AddedFile;
pub(crate) use differs::DiffersFile;
pub use dir::{Data, open_to_others};
pub use entries::LogRead;
pub use error::DataError;
pub use examine::{Examined, View};
pub use indexes::{IndexFile, Nowhere};
pub use joining::JoinFiles;
pub(crate) use recover::write_snapshot;
pub use recover::{Recovered, Settled, Stage, Wanted};
pub use replica::Replication;
pub use rules::Rules;
pub use settings::{SettingsFile, parse as settings_record};
pub use superblock::Superblock;

use schema::{ADDED_FILE, SchemaFile};

use std::io;
use std::path::Path;

impl Data {
    /// Takes back what a first start made, of which nothing has come: the one that comes next may choose again what is chosen once.
    /// The one who writes the directory must have ended.
    ///
    /// # Errors
    /// What the disk says. A second attempt, or a start, goes on from whatever is left.
    pub fn roll_back_init(&self) -> io::Result<()> {
        let mut folders = vec![self.log_dir(), self.snapshot_dir()];
        let there = self.disk.list_dirs(&self.dir)?;
        folders.retain(|folder| there.iter().any(|name| self.dir.join(name) == *folder));
        if folders.contains(&self.snapshot_dir()) {
            // It must not outlive what it names.
            self.remove_if_there(&self.snapshot_dir(), wal::snapshot::MANIFEST)?;
        }
        // Where there are rules there is a log.
        self.remove_if_there(&self.dir, rules::NAME)?;
        folders.iter().try_for_each(|folder| backup::remove_folder(&*self.disk, folder))?;
        // Last of all what the others cannot be read without.
        self.remove_if_there(&self.dir, added::NAME)?;
        self.remove_if_there(&self.dir, schema_time::NAME)?;
        self.remove_if_there(&self.dir, superblock::NAME)
    }

    /// Removes a file, if it is there. Durable when it returns.
    fn remove_if_there(&self, dir: &Path, name: &str) -> io::Result<()> {
        if self.disk.list(dir)?.iter().any(|other| other == name) {
            self.disk.remove(&dir.join(name))?;
            self.disk.sync_dir(dir)?;
        }
        Ok(())
    }

    /// What the directory was made with, as settings; `None` if its first start did not come to its end.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn made(&self) -> Result<Option<Made>, DataError> {
        // A server that joins a cluster begins with a snapshot.
        let rules = self.rules()?.map_or_else(|| self.rules_of_snapshot(), |rules| Ok(Some(rules)))?;
        let Some(rules) = rules else { return Ok(None) };
        let added = self.added(&rules)?;
        let files = |files: &[SchemaFile]| {
            let others = files.iter().filter(|file| &*file.name != ADDED_FILE).cloned();
            others.chain(added.clone()).collect()
        };
        Ok(Some(Made {
            suffixes: rules.suffixes().to_vec(),
            schema_check: rules.schema_check(),
            schema_files: rules.files().map(files),
            operational_attributes: self.superblock()?.operational_attributes,
        }))
    }
}

/// Settings of a directory that was served or filled before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The naming contexts.
    pub suffixes: Vec<String>,
    /// Are entries held to the schema?
    pub schema_check: bool,
    /// The files that its schema has beyond the standard ones; `None` if an earlier version served it last.
    pub schema_files: Option<Vec<SchemaFile>>,
    /// Are entryUUID, times and names kept?
    pub operational_attributes: bool,
}
