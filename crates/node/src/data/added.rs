//! What was added to the schema while the directory was served, as a later start must know it before it reads the log: settings may name
//! it. Log and snapshots have it; the file is a copy, and one that is older, or lost, costs nothing but that.

use super::checksummed::{table, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::{missing, unknown, write_text};
use super::rules::{Rules, hash_of_shown};
use super::schema_time::SchemaTime;
use env::disk::Disk;
use schema::{ADDED_FILE, Schema, SchemaFile};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Value;

pub(super) const NAME: &str = "schema-added";

/// Where it is written: this file, and the one that says since when the schema is what it is.
#[derive(Debug)]
pub struct AddedFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
}

impl AddedFile {
    /// Writes down what was added, the last at a time. Durable when it returns.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn write(&self, schema: &Schema, since_ms: u64) -> io::Result<()> {
        let time = SchemaTime::new(hash_of_shown(schema), since_ms);
        write(&*self.disk, &self.dir, &schema.files())?;
        time.write(&*self.disk, &self.dir)
    }
}

/// Writes down what was added, of the files of a schema.
pub(super) fn write(disk: &dyn Disk, dir: &Path, files: &[SchemaFile]) -> io::Result<()> {
    let text = added_of(files).map(|text| text.to_string()).unwrap_or_default();
    let text = Value::String(text);
    let lines = format!("# Definitions that were added to the schema while it was served.\nadded = {text}\n");
    write_text(disk, dir, NAME, &with_checksum(lines))
}

/// Bytes of the text of what was added, of rules.
pub(super) fn bytes(of: &Rules) -> usize {
    added_of(of.files().unwrap_or_default()).map_or(0, |text| text.len())
}

/// The text of what was added, of the files of a schema.
pub(super) fn added_of(files: &[SchemaFile]) -> Option<Arc<str>> {
    files.iter().find(|file| &*file.name == ADDED_FILE).map(|file| Arc::clone(&file.text))
}

impl Data {
    /// The file.
    pub(super) fn added_file(&self) -> AddedFile {
        AddedFile { disk: Arc::clone(&self.disk), dir: self.dir.clone() }
    }

    /// What was added to the schema, as far as files tell that can be read before the log. All of them have the beginning of what was
    /// added, and the longest has the most.
    pub(super) fn added(&self, of_rules: &Rules) -> Result<Option<SchemaFile>, DataError> {
        let of_file = self.facts(NAME, parse)?;
        let of_snapshot = self.rules_of_snapshot()?;
        let of = |rules: &Rules| added_of(rules.files().unwrap_or_default());
        let all = [of_file, of(of_rules), of_snapshot.as_ref().and_then(of)];
        let longest = all.into_iter().flatten().filter(|text| !text.is_empty()).max_by_key(|text| text.len());
        Ok(longest.map(|text| SchemaFile { name: ADDED_FILE.into(), text }))
    }
}

fn parse(text: &str) -> Result<Arc<str>, String> {
    let table = table(text)?;
    match (table.get("added").and_then(Value::as_str), table.len()) {
        (Some(text), 1) => Ok(text.into()),
        (None, _) => Err(missing("added")),
        _ => Err(unknown()),
    }
}
