//! What was added to the schema while the directory was served, as a later start must know it before it reads the log: settings may name
//! it. Log and snapshots have it; the file is a copy, and one that is older, or lost, costs nothing but that.

use super::checksummed::{table, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::{missing, unknown, write_text};
use super::rules::{Rules, hash_of_shown};
use super::schema_time::SchemaTime;
use env::disk::Disk;
use schema::{ADDED_FILE, Schema, SchemaFile, additions_of};
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

/// The text of what was added, of rules.
pub(super) fn text(of: &Rules) -> Arc<str> {
    added_of(of.files().unwrap_or_default()).unwrap_or_default()
}

/// What is served of what was added, if it is not what files tell, `known`: the log came to `reached`, at its end (`is_read`) or before.
///
/// It is what the log has, and additions that it lacks. The power can take these from a log that was not synced and leave them in the copy, which
/// is of use to settings that name them. A change or a removal that the log lacks was not made: entries may have what it takes away.
pub(super) fn served(reached: &str, known: &str, is_read: bool) -> Option<String> {
    let lost = known.strip_prefix(reached).map(additions_of).unwrap_or_default();
    let served = format!("{reached}{lost}");
    ((is_read || reached.starts_with(known)) && served != known).then_some(served)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_log_lacks_is_served_if_it_only_adds() {
        let define = |name: &str, arc: u32| format!("attributetype ( 1.2.3.{arc} NAME '{name}' SUP name )\n");
        let (a, b, c) = (define("a", 1), define("b", 2), define("c", 3));
        let (remove_a, remove_b, change_a) =
            ("removed-attributetype 1.2.3.1\n", "removed-attributetype 1.2.3.2\n", format!("changed-{a}"));
        let all = |parts: &[&str]| parts.concat();
        let cases = [
            (vec![&*a], vec![&*a], vec![&*a]),
            (vec![&a, &b], vec![&a], vec![&a, &b]),
            (vec![&a, &b], vec![&a, &b], vec![&a, &b]),
            (vec![&a], vec![&a, &b], vec![&a, &b]),
            // The log lacks a removal or a change.
            (vec![&a], vec![&a, remove_a], vec![&a]),
            (vec![&a], vec![&a, &change_a], vec![&a]),
            (vec![&a], vec![&a, &b, remove_b, &c], vec![&a, &c]),
            // What has the OID of one that was removed would be taken for that.
            (vec![&a], vec![&a, remove_a, &a, &c], vec![&a, &c]),
            // A removal was refused where it was applied, and the log goes on.
            (vec![&a, &c], vec![&a, remove_a, &c], vec![&a, &c]),
        ];
        for (reached, known, expected) in cases {
            let (reached, known, expected) = (all(&reached), all(&known), all(&expected));
            let found = served(&reached, &known, true).unwrap_or_else(|| known.clone());
            assert_eq!(found, expected, "{reached} {known}");
        }
        assert_eq!(served(&a, &all(&[&a, remove_a]), false), None, "the rest of the log may have it");
        assert_eq!(served(&all(&[&a, &b]), &a, false), Some(all(&[&a, &b])));
    }
}
