//! Since when the schema is what it is: the subschema's modifyTimestamp, by which clients know whether what they remember of it
//! still holds.

use super::checksummed::{table, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::{missing, read_text, unknown, write_text};
use super::rules;
use env::disk::Disk;
use schema::Schema;
use std::io;
use std::path::Path;
use toml::Value;

pub(super) const NAME: &str = "schema-since";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchemaTime {
    /// Which schema.
    hash: String,
    /// Unix time in milliseconds.
    pub(super) since_ms: u64,
}

impl Data {
    /// Since when this schema holds: `now_ms` if another one did, or if nobody knows. A damaged file is one that nobody knows: clients then
    /// read the schema once more, which is no reason to refuse a start.
    pub(super) fn schema_time(&self, schema: &Schema, now_ms: u64) -> Result<SchemaTime, DataError> {
        let hash = rules::hash_of_shown(schema);
        let found = read(&*self.disk, &self.dir)?.map(|(_, found)| found);
        Ok(found.filter(|found| found.hash == hash).unwrap_or(SchemaTime { hash, since_ms: now_ms }))
    }

    /// Writes it down, unless it is there.
    pub(super) fn keep_schema_time(&self, time: &SchemaTime) -> io::Result<()> {
        let text = time.text();
        match read_text(&*self.disk, &self.dir, NAME) {
            Ok(Some(found)) if found == text => Ok(()),
            _ => self.write_facts(NAME, &text),
        }
    }
}

/// The file's text and what it says, if it can be understood.
pub(super) fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<(String, SchemaTime)>, DataError> {
    match read_text(disk, dir, NAME) {
        Ok(text) => Ok(text.and_then(|text| parse(&text).ok().map(|time| (text, time)))),
        Err(DataError::Facts(..)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl SchemaTime {
    /// Of a schema with this hash ([`rules::hash_of_shown`]).
    pub(super) fn new(hash: String, since_ms: u64) -> SchemaTime {
        SchemaTime { hash, since_ms }
    }

    /// Writes it down. Durable when it returns.
    pub(super) fn write(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        write_text(disk, dir, NAME, &self.text())
    }

    fn text(&self) -> String {
        let SchemaTime { hash, since_ms } = self;
        with_checksum(format!(
            "# Since when the schema is this.\nschema = \"{hash}\"\nsince-ms = {since_ms}\n"
        ))
    }
}

fn parse(text: &str) -> Result<SchemaTime, String> {
    let table = table(text)?;
    if table.len() > 2 {
        return Err(unknown());
    }
    let hash = table.get("schema").and_then(Value::as_str).ok_or_else(|| missing("schema"))?;
    let since_ms = table.get("since-ms").and_then(Value::as_integer).and_then(|ms| u64::try_from(ms).ok());
    Ok(SchemaTime { hash: hash.to_owned(), since_ms: since_ms.ok_or_else(|| missing("since-ms"))? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::RealDisk;
    use schema::Builder;
    use std::sync::Arc;

    #[test]
    fn it_moves_with_the_schema_only() {
        let one = Builder::new().standard().build().expect("it is sound");
        let other =
            Builder::new().standard().builtin("dvtds").expect("it is built in").build().expect("sound");
        let folder = tempfile::tempdir().expect("there is room");
        let data = Data::open(Arc::new(RealDisk), folder.path()).expect("nobody else has it");
        let start = |schema: &Schema, now_ms| {
            let time = data.schema_time(schema, now_ms).expect("the disk is well");
            data.keep_schema_time(&time).expect("the disk is well");
            time.since_ms
        };
        assert_eq!((start(&one, 5), start(&one, 7), start(&other, 8), start(&other, 9)), (5, 5, 8, 8));
        assert_eq!(start(&one, 10), 10);
        for damaged in [&b"schema = 3\n"[..], b"\xff", b"", &[b'x'; 1 << 20]] {
            std::fs::write(folder.path().join(NAME), damaged).expect("there is room");
            assert_eq!((start(&one, 11), start(&one, 12)), (11, 11));
        }
    }
}
