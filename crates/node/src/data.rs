//! A data directory: what a directory is made with, its snapshot and its log.
//!
//! ```text
//! DIR/founding     what never changes: format, keys of the hashes and entryUUIDs, site, operational attributes
//! DIR/rules        what decides the outcome of updates, as the last start had it: suffixes, schema
//! DIR/indexes      indexes that were made while it was served, or by `pando index`
//! DIR/settings     a copy of the last settings of the directory in the log
//! DIR/snapshot/    the last snapshot
//! DIR/log/         the write-ahead log
//! DIR/lock         held by the one process that uses the directory
//! ```
//!
//! [`backup`] copies one, and makes one of copies.

pub mod backup;
mod checksummed;
mod dir;
pub mod dump;
mod error;
mod examine;
mod facts;
mod indexes;
mod pass;
mod recover;
mod replay;
mod rules;
mod rules_epochs;
mod schema_time;
pub(crate) mod settings;
pub mod snapshot;
mod superblock;

pub use dir::{Data, open_to_others};
pub use error::DataError;
pub use examine::{Contents, Examined, View};
pub use indexes::{IndexFile, Nowhere};
pub use recover::{Recovered, Settled, Stage, Wanted};
pub use rules::Rules;
pub use settings::SettingsFile;
pub use superblock::Superblock;

use schema::SchemaFile;

use std::io;

impl Data {
    /// Takes back what a first start made, of which nothing has come: the one that comes next may choose again what is chosen once.
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

    /// What the directory was made with, as settings; `None` if its first start did not come to its end.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn made(&self) -> Result<Option<Made>, DataError> {
        let Some(rules) = self.rules()? else { return Ok(None) };
        Ok(Some(Made {
            suffixes: rules.suffixes().to_vec(),
            schema_check: rules.schema_check(),
            schema_files: rules.files().map(<[SchemaFile]>::to_vec),
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
