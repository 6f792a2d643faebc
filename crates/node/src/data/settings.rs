//! The record of settings: those of the directory's scope as they hold, whether they were configured or changed while it was
//! served. A start that does not name one goes by it.

use super::checksummed::{table, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::write_text;
use dsa::settings::{Keeper, ONLINE, Record, Texts};
use env::disk::Disk;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use toml::{Table, Value};

pub(super) const NAME: &str = "settings";
/// The key of what the configuration file said.
const FILE: &str = "file";

/// The file of the record.
pub struct SettingsFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    record: Mutex<Record>,
    flags: BTreeSet<&'static str>,
}

impl Data {
    /// The record of settings. It is there after the next start too: a process whose sync failed, and which was killed then, may
    /// have left a file whose name is not safe.
    ///
    /// # Errors
    /// When the file is damaged or of another version, or its name cannot be synced.
    pub fn settings(&self) -> Result<SettingsFile, DataError> {
        let found = self.facts(NAME, parse)?;
        if found.is_some() {
            self.disk.sync_dir(&self.dir)?;
        }
        Ok(SettingsFile {
            disk: Arc::clone(&self.disk),
            dir: self.dir.clone(),
            record: Mutex::new(found.unwrap_or_default()),
            flags: BTreeSet::new(),
        })
    }
}

pub(super) fn parse(text: &str) -> Result<Record, String> {
    let mut table = table(text)?;
    let file = match table.remove(FILE) {
        None => None,
        Some(Value::Table(file)) => Some(texts(&file)?),
        Some(_) => return Err(format!("`{FILE}` is no table")),
    };
    Ok(Record { values: texts(&table)?, file })
}

fn texts(table: &Table) -> Result<Texts, String> {
    let of = |(name, values): (&String, &Value)| {
        let values =
            values.as_array().map(|values| values.iter().map(|text| text.as_str().map(str::to_owned)));
        let values: Option<Vec<String>> = values.and_then(Iterator::collect);
        Ok((name.clone(), values.ok_or_else(|| format!("`{name}` is not a list of texts"))?))
    };
    table.iter().map(of).collect()
}

fn text(record: &Record) -> String {
    let list = |values: &Vec<String>| Value::Array(values.iter().cloned().map(Value::String).collect());
    let table = |texts: &Texts| -> Table {
        texts.iter().map(|(name, values)| (name.clone(), list(values))).collect()
    };
    let mut all = table(&record.values);
    all.extend(record.file.iter().map(|file| (FILE.to_owned(), Value::Table(table(file)))));
    let lines = format!(
        "# Settings of this directory as they hold; a start that does not name one goes by this. `file` is what the\n\
         # configuration file said when they were recorded.\n{all}"
    );
    with_checksum(lines)
}

impl SettingsFile {
    /// What is recorded.
    pub fn record(&self) -> Record {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records what a start comes to, if it is not what is recorded. Durable when it returns.
    ///
    /// # Errors
    /// What the disk says.
    pub fn write(&self, record: Record) -> io::Result<()> {
        let mut now = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        if record != *now {
            write_text(&*self.disk, &self.dir, NAME, &text(&record))?;
            *now = record;
        }
        Ok(())
    }

    /// Warns of a change of one of these, which flags give, that the next start with the flag changes it again.
    #[must_use]
    pub fn warning_of(mut self, flags: BTreeSet<&'static str>) -> SettingsFile {
        self.flags = flags;
        self
    }
}

impl Keeper for SettingsFile {
    fn keep(&self, changed: &Texts) -> io::Result<()> {
        let mut record = self.record();
        record.values.retain(|name, _| ONLINE.iter().all(|key| key.name != name));
        record.values.extend(changed.clone());
        self.write(record)?;
        tracing::info!(?changed, "settings were changed");
        for key in changed.keys().filter(|key| self.flags.contains(&***key)) {
            tracing::warn!(key, "this setting is given by a flag, which a start goes by first");
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
        Record { file: Some(Texts::from([("write-dn".to_owned(), Vec::new())])), values }
    }

    #[test]
    fn what_was_recorded_is_there_after_a_start_and_a_change_on_line_leaves_the_rest() {
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
        file.keep(&Texts::from([("txn-open-max".to_owned(), vec!["3".to_owned()])])).unwrap();
        let kept = data.settings().unwrap().record();
        assert_eq!(kept.file, record().file);
        assert_eq!(kept.values.keys().collect::<Vec<_>>(), ["limits.size", "txn-open-max"]);
    }

    #[test]
    fn what_an_earlier_version_wrote_is_read() {
        let read = parse("txn-open-max = [\"22\"]\n").unwrap();
        assert_eq!(read.values, Texts::from([("txn-open-max".to_owned(), vec!["22".to_owned()])]));
        assert_eq!(read.file, None);
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
