//! The record of settings: those of the directory's scope as they hold, whether they were configured or changed while it was
//! served. A start that does not name one goes by it. The log and its snapshots have it; the file is a copy, so that a start has rights
//! and limits before it reads the log.
//!
//! Beside it a node has a record of the same form of what was changed of its own settings. No log, snapshot or backup has that one.

use super::checksummed::{is_checksummed, table, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::write_text;
use dsa::settings::{Record, Texts};
use env::disk::Disk;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use toml::{Table, Value};

pub(super) const NAME: &str = "settings";
/// The record of a node.
const NODE_NAME: &str = "settings-of-node";
/// What the first lines of both say.
const HEAD: &str = "# Settings of this directory as they hold; a start that does not name one goes by this. `file` and `flags`\n\
                    # are what these said last.\n";
const NODE_HEAD: &str = "# Settings of this server that were changed while it ran, as they hold. `file` and `flags` are what these said then:\n\
                         # where they say something else, a start goes by them.\n";
/// The keys of what the configuration file and flags said last.
const FILE: &str = "file";
const FLAGS: &str = "flags";
/// The key of the last changes, among those of flags: a program that does not know it keeps it as it is, for there is no such flag.
const HISTORY: &str = "history";

/// The file of a record.
#[derive(Debug)]
pub struct SettingsFile {
    name: &'static str,
    head: &'static str,
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    record: Record,
    /// Has the file that? A write that failed may have replaced it.
    is_certain: bool,
}

impl Data {
    /// The record of settings. It is there after the next start too: a process whose sync failed, and which was killed then, may
    /// have left a file whose name is not safe.
    ///
    /// # Errors
    /// When the file is damaged or of another version, or its name cannot be synced.
    pub fn settings(&self) -> Result<SettingsFile, DataError> {
        self.settings_file((NAME, HEAD), parse)
    }

    /// The record of what was changed of the settings of this node alone. Nothing copies it to other places.
    ///
    /// # Errors
    /// As [`Data::settings`].
    pub fn node_settings(&self) -> Result<SettingsFile, DataError> {
        self.settings_file((NODE_NAME, NODE_HEAD), parse_whole)
    }

    fn settings_file(
        &self,
        (name, head): (&'static str, &'static str),
        parse: impl Fn(&str) -> Result<Record, String>,
    ) -> Result<SettingsFile, DataError> {
        let found = self.facts(name, parse)?;
        if found.is_some() {
            self.disk.sync_dir(&self.dir)?;
        }
        Ok(SettingsFile {
            name,
            head,
            disk: Arc::clone(&self.disk),
            dir: self.dir.clone(),
            held: Mutex::new(Held { record: found.unwrap_or_default(), is_certain: true }),
        })
    }
}

/// Reads the text of a record, of the file or of the log.
///
/// # Errors
/// In words, what is wrong with it.
pub fn parse(text: &str) -> Result<Record, String> {
    let mut table = table(text)?;
    let mut given = |name: &str| match table.remove(name) {
        None => Ok(None),
        Some(Value::Table(given)) => texts(&given).map(Some),
        Some(_) => Err(format!("`{name}` is no table")),
    };
    let (file, mut flags) = (given(FILE)?, given(FLAGS)?.unwrap_or_default());
    let history = flags.remove(HISTORY).unwrap_or_default();
    Ok(Record { values: texts(&table)?, file, flags, history })
}

/// The same of a file that no version has written without a checksum: one that lacks it was cut.
fn parse_whole(text: &str) -> Result<Record, String> {
    if is_checksummed(text) { parse(text) } else { Err("it has no checksum: its end is missing".to_owned()) }
}

fn texts(table: &Table) -> Result<Texts, String> {
    let of = |(name, values): (&String, &Value)| {
        let of_list = |list: &Vec<Value>| list.iter().map(|text| text.as_str().map(str::to_owned)).collect();
        let values = values.as_array().and_then(of_list);
        Ok((name.clone(), values.ok_or_else(|| format!("`{name}` is not a list of texts"))?))
    };
    table.iter().map(of).collect()
}

/// The text of the record of a directory.
pub(crate) fn text(record: &Record) -> String {
    text_of(HEAD, record)
}

fn text_of(head: &str, record: &Record) -> String {
    let table = |texts: &Texts| -> Table {
        texts.iter().map(|(name, values)| (name.clone(), Value::from(values.clone()))).collect()
    };
    let mut all = table(&record.values);
    all.extend(record.file.iter().map(|file| (FILE.to_owned(), Value::Table(table(file)))));
    let mut flags = record.flags.clone();
    if !record.history.is_empty() {
        flags.insert(HISTORY.to_owned(), record.history.clone());
    }
    if !flags.is_empty() {
        all.insert(FLAGS.to_owned(), Value::Table(table(&flags)));
    }
    with_checksum(format!("{head}{all}"))
}

impl SettingsFile {
    /// What is recorded.
    pub fn record(&self) -> Record {
        self.lock().record.clone()
    }

    /// Has the file what is recorded? After a write that failed it may have what was not written.
    pub fn is_certain(&self) -> bool {
        self.lock().is_certain
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the record, if it is another or the write before failed. Durable when it returns.
    ///
    /// # Errors
    /// What the disk says. The file may have the new record then.
    pub fn write(&self, record: Record) -> io::Result<()> {
        let mut held = self.lock();
        if record != held.record || !held.is_certain {
            held.is_certain = false;
            write_text(&*self.disk, &self.dir, self.name, &text_of(self.head, &record))?;
            *held = Held { record, is_certain: true };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::RealDisk;

    fn record() -> Record {
        let values = Texts::from([
            ("limits.size".to_owned(), vec!["7".to_owned()]),
            ("txn-implicit-begin".to_owned(), vec!["on".to_owned()]),
            ("txn-precedence".to_owned(), ["1:dc=\"a\"", "2:dc={b}"].map(str::to_owned).into()),
        ]);
        let flags = Texts::from([("limits.size".to_owned(), vec!["7".to_owned()])]);
        let history = vec!["{\"number\":7,\"by\":\"cn=\\\"a\\\"\"}".to_owned()];
        Record { file: Some(Texts::from([("write-dn".to_owned(), Vec::new())])), flags, values, history }
    }

    #[test]
    fn what_was_recorded_is_there_after_a_start() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::open(Arc::new(RealDisk), dir.path()).unwrap();
        let file = data.settings().unwrap();
        assert_eq!(file.record(), Record::default());
        file.write(record()).unwrap();
        assert_eq!(data.settings().unwrap().record(), record());
        let text = std::fs::read_to_string(dir.path().join(NAME)).unwrap();
        assert!(
            text.contains("\n\"limits.size\" = [\"7\"]\n") && text.contains("\n[file]\nwrite-dn = []\n"),
            "{text}"
        );
    }

    #[test]
    fn the_record_of_a_node_is_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::open(Arc::new(RealDisk), dir.path()).unwrap();
        let file = data.node_settings().unwrap();
        file.write(record()).unwrap();
        assert_eq!(data.node_settings().unwrap().record(), record());
        assert_eq!(data.settings().unwrap().record(), Record::default());
        let path = dir.path().join(NODE_NAME);
        let whole = std::fs::read(&path).unwrap();
        // A record is replaced by a rename, so one that is cut or has another bit was damaged: the error names the file.
        for at in 0..whole.len() - 1 {
            std::fs::write(&path, &whole[..at]).unwrap();
            let error = data.node_settings().expect_err("it is cut").to_string();
            assert!(error.contains(NODE_NAME) && error.contains("damaged"), "cut at {at}: {error}");
        }
    }

    #[test]
    fn what_an_earlier_version_wrote_is_read() {
        let read = parse("txn-open-max = [\"22\"]\n").unwrap();
        assert_eq!(read.values, Texts::from([("txn-open-max".to_owned(), vec!["22".to_owned()])]));
        assert_eq!(read.file, None);
        let read = parse("txn-open-max = [\"22\"]\n[file]\nwrite-dn = []\n").unwrap();
        assert_eq!(read.file, record().file);
    }

    #[test]
    fn a_file_of_another_make_is_refused() {
        let refused = |lines: &str| parse(&with_checksum(lines.to_owned())).unwrap_err();
        assert!(refused("txn-age-max = 5\n").contains("list of texts"));
        assert!(refused("file = 5\n").contains("no table"));
        assert!(parse(&text(&record()).replace("on", "off")).unwrap_err().contains("checksum"));
    }

    #[test]
    fn a_changed_bit_shows_or_changes_nothing() {
        let bytes = text(&record()).into_bytes();
        for at in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            let read = String::from_utf8(changed).map_or(Err(String::new()), |text| parse(&text));
            assert!(read.as_ref().map_or(true, |read| *read == record()), "bit {at}: {read:?}");
        }
    }
}
