//! The settings that were changed while the directory was served: a start goes by them before the configuration file.

use super::checksummed::{table, with_checksum};
use super::{Data, DataError, write_text};
use dsa::settings::{self, Changes, Keeper};
use env::disk::Disk;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use toml::Value;

pub(super) const NAME: &str = "settings";

/// The file of settings that were changed.
pub struct SettingsFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    found: Changes,
    flags: BTreeSet<&'static str>,
}

impl Data {
    /// The settings that were changed. They hold after the next start too: a process whose sync failed, and which was
    /// killed then, may have left a file whose name is not safe.
    ///
    /// # Errors
    /// When the file is damaged or of another version, or its name cannot be synced.
    pub fn settings(&self) -> Result<SettingsFile, DataError> {
        let found = self.facts(NAME, parse)?;
        if found.is_some() {
            self.disk.sync_dir(&self.dir)?;
        }
        let found = found.unwrap_or_default();
        Ok(SettingsFile {
            disk: Arc::clone(&self.disk),
            dir: self.dir.clone(),
            found,
            flags: BTreeSet::new(),
        })
    }
}

pub(super) fn parse(text: &str) -> Result<Changes, String> {
    let table = table(text)?;
    let mut changes = Changes::new();
    for (name, values) in &table {
        let key =
            settings::find(name).ok_or_else(|| format!("`{name}` is no setting that can be changed"))?;
        let values = values.as_array().into_iter().flatten().map(|value| value.as_str().map(str::to_owned));
        let values: Option<Vec<String>> = values.collect();
        let values = values.filter(|values| !values.is_empty());
        changes.insert(key.name, values.ok_or_else(|| format!("`{name}` is not a list of texts"))?);
    }
    settings::check(&changes).map(|()| changes)
}

fn text(changes: &Changes) -> String {
    let mut lines = String::from(
        "# Settings that were changed in cn=config while the directory was served; they go before the configuration file.\n",
    );
    for (name, values) in changes {
        let list = Value::Array(values.iter().cloned().map(Value::String).collect());
        lines += &format!("{name} = {list}\n");
    }
    with_checksum(lines)
}

impl SettingsFile {
    /// What was changed in earlier runs.
    pub fn found(&self) -> &Changes {
        &self.found
    }

    /// Tells whoever changes one of these from now on that the next start will not go by it.
    #[must_use]
    pub fn warning_of(mut self, flags: &BTreeSet<&'static str>) -> SettingsFile {
        self.flags = flags.clone();
        self
    }
}

impl Keeper for SettingsFile {
    fn keep(&self, changed: &Changes) -> io::Result<()> {
        write_text(&*self.disk, &self.dir, NAME, &text(changed))?;
        tracing::info!(?changed, "settings were changed");
        for key in changed.keys().filter(|key| self.flags.contains(*key)) {
            tracing::warn!(key, "this setting is given by a flag, which a start goes by first");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::RealDisk;

    fn changes() -> Changes {
        Changes::from([
            ("txn-implicit-begin", vec!["on".to_owned()]),
            ("txn-precedence", ["1:dc=\"a\"", "2:dc=b"].map(str::to_owned).into()),
        ])
    }

    #[test]
    fn what_was_changed_is_there_after_a_start() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::open(Arc::new(RealDisk), dir.path()).unwrap();
        let file = data.settings().unwrap();
        assert!(file.found().is_empty());
        file.keep(&changes()).unwrap();
        assert_eq!(data.settings().unwrap().found(), &changes());
        file.keep(&Changes::new()).unwrap();
        assert!(data.settings().unwrap().found().is_empty());
    }

    #[test]
    fn a_file_of_another_make_is_refused() {
        let refused = |lines: &str| parse(&with_checksum(lines.to_owned())).unwrap_err();
        assert!(refused("colour = [\"red\"]\n").contains("colour"));
        assert!(refused("txn-age-max = [\"0\"]\n").contains("from 1 to"));
        assert!(refused("txn-age-max = 5\n").contains("list of texts"));
        assert!(parse(&text(&changes()).replace("on", "off")).unwrap_err().contains("checksum"));
    }

    #[test]
    fn a_changed_bit_shows_or_changes_nothing() {
        let bytes = text(&changes()).into_bytes();
        for at in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            let read = String::from_utf8(changed).map_or(Err(String::new()), |text| parse(&text));
            assert!(read.as_ref().map_or(true, |read| *read == changes()), "bit {at}: {read:?}");
        }
    }
}
