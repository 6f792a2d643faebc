//! The indexes that were made while the directory was served, or by `pando index`: those that a start has beyond the
//! configured ones.

use super::checksummed::{table, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::{missing, unknown};
use crate::faults;
use dsa::indexing::IndexKeeper;
use env::disk::{Disk, replace_file};
use env::planted;
use model::limits::INDEXES_MAX;
use schema::Schema;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use store::{IndexKind, IndexName, IndexSettings};
use toml::Value;

pub(super) const NAME: &str = "indexes";

/// The file of indexes that were made. What is in it is there after the next start.
#[derive(Clone)]
pub struct IndexFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// `ATTR:KIND`, one of each.
    made: BTreeSet<String>,
}

impl Data {
    /// The indexes that were made. They are there after the next start too: a process whose sync failed, and which was
    /// killed then, may have left a file whose name is not safe.
    ///
    /// # Errors
    /// When the file is damaged, or its name cannot be synced.
    pub fn indexes(&self) -> Result<IndexFile, DataError> {
        let made = self.facts(NAME, parse)?;
        if made.is_some() {
            self.disk.sync_dir(&self.dir)?;
        }
        let made = made.unwrap_or_default();
        Ok(IndexFile { disk: Arc::clone(&self.disk), dir: self.dir.clone(), made })
    }
}

pub(super) fn parse(text: &str) -> Result<BTreeSet<String>, String> {
    let table = table(text)?;
    if table.len() > 1 {
        return Err(unknown());
    }
    let texts = table.get("index").and_then(Value::as_array).ok_or_else(|| missing("index"))?;
    let made: Option<BTreeSet<String>> = texts.iter().map(|text| text.as_str().map(str::to_owned)).collect();
    let made = made.filter(|made| made.iter().all(|text| split(text).is_some()));
    made.ok_or_else(|| "`index` is not a list of ATTR:KIND".to_owned())
}

fn split(text: &str) -> Option<(&str, IndexKind)> {
    let (attribute, kind) = text.split_once(':')?;
    Some((attribute, IndexKind::find(kind)?))
}

impl IndexFile {
    /// What is in it, `ATTR:KIND`.
    pub fn listed(&self) -> &BTreeSet<String> {
        &self.made
    }

    /// Adds what was made to the indexes that are configured. Returns what cannot be: a schema that was changed may
    /// lack an attribute, or a matching rule.
    pub fn add_to(&self, settings: &mut Vec<IndexSettings>, schema: &Schema) -> Vec<String> {
        let mut there = BTreeSet::new();
        for configured in settings.iter() {
            if let Some(attribute_type) = schema.find_type(configured.attribute.as_bytes()) {
                there.extend(configured.kinds.iter().map(|&kind| IndexName { attribute_type, kind }));
            }
        }
        let mut lost = Vec::new();
        for (attribute, kind) in self.made.iter().filter_map(|text| split(text)) {
            let found = schema.find_type(attribute.as_bytes());
            let name = found.map(|attribute_type| IndexName { attribute_type, kind });
            match name.filter(|name| name.missing_rule(schema).is_none()) {
                Some(name) if there.insert(name) => settings.push(IndexSettings::of(attribute, [kind])),
                Some(_) => {}
                None => lost.push(format!("{attribute}:{kind}")),
            }
        }
        lost
    }

    fn replace(&mut self, made: BTreeSet<String>) -> io::Result<()> {
        if made == self.made {
            return Ok(());
        }
        if made.len() > INDEXES_MAX {
            return Err(io::Error::other(format!("there are {INDEXES_MAX} others already")));
        }
        let list = Value::from(made.iter().cloned().collect::<Vec<_>>());
        let text = with_checksum(format!(
            "# Indexes that were made while the directory was served, or by `pando index`, beyond those configured.\n\
             index = {list}\n"
        ));
        replace_file(&*self.disk, &self.dir, NAME, text.as_bytes())?;
        if !planted::is(faults::INDEX_NOT_KEPT) {
            self.disk.sync_dir(&self.dir)?;
        }
        self.made = made;
        Ok(())
    }

    /// Writes down that indexes were made, all at once.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn make(&mut self, indexes: impl IntoIterator<Item = String>) -> io::Result<()> {
        let mut made = self.made.clone();
        made.extend(indexes);
        self.replace(made)
    }

    /// Writes down that indexes are no longer to be there, all at once.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn unmake(&mut self, indexes: &[String]) -> io::Result<()> {
        let mut made = self.made.clone();
        made.retain(|text| !indexes.contains(text));
        self.replace(made)
    }
}

impl IndexKeeper for IndexFile {
    fn made(&mut self, index: &str) -> io::Result<()> {
        self.make([index.to_owned()])?;
        Nowhere.made(index)
    }

    fn dropped(&mut self, index: &str) -> io::Result<()> {
        self.unmake(&[index.to_owned()])?;
        Nowhere.dropped(index)
    }

    fn failed(&mut self, index: &str, why: &str) {
        Nowhere.failed(index, why);
    }

    fn verified(&mut self, index: &str, found: u64, first: Option<&str>) {
        Nowhere.verified(index, found, first);
    }
}

/// Where nothing outlives the process: only the server's log reports it.
pub struct Nowhere;

impl IndexKeeper for Nowhere {
    fn made(&mut self, index: &str) -> io::Result<()> {
        tracing::info!(index, "an index was built");
        Ok(())
    }

    fn dropped(&mut self, index: &str) -> io::Result<()> {
        tracing::info!(index, "an index was dropped");
        Ok(())
    }

    fn failed(&mut self, index: &str, why: &str) {
        tracing::warn!(index, why, "an index was neither built nor dropped");
    }

    fn verified(&mut self, index: &str, found: u64, first: Option<&str>) {
        match first {
            None => tracing::info!(index, "an index was verified"),
            Some(first) => tracing::error!(
                index,
                found,
                first,
                "an index differs from the entries: drop it and build it again, or restart the server"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::RealDisk;

    #[test]
    fn what_was_made_is_there_after_a_start_and_a_change_of_a_byte_shows() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::open(Arc::new(RealDisk), dir.path()).unwrap();
        let mut file = data.indexes().unwrap();
        file.made("uid:eq").unwrap();
        file.made("cn:sub").unwrap();
        file.made("uid:pres").unwrap();
        file.dropped("uid:eq").unwrap();
        file.dropped("sn:eq").unwrap();
        let file = data.indexes().unwrap();
        assert_eq!(file.listed().iter().collect::<Vec<_>>(), ["cn:sub", "uid:pres"]);
        let schema = schema::Builder::new().standard().build().unwrap();
        let mut settings = vec![IndexSettings::of("userid", [IndexKind::Presence])];
        assert!(file.add_to(&mut settings, &schema).is_empty());
        assert_eq!(settings.len(), 2);
        let path = dir.path().join(NAME);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("cn:sub", "sn:sub")).unwrap();
        assert!(matches!(data.indexes(), Err(DataError::Facts(..))));
    }

    #[test]
    fn a_changed_bit_shows_or_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::open(Arc::new(RealDisk), dir.path()).unwrap();
        let mut file = data.indexes().unwrap();
        file.make(["uid:eq", "cn:sub"].map(str::to_owned)).unwrap();
        let bytes = std::fs::read(dir.path().join(NAME)).unwrap();
        let mut shown = 0;
        for at in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            // One makes a comment of the checksum: then nothing else can have changed.
            let read = String::from_utf8(changed).map_or(Err(String::new()), |text| parse(&text));
            assert!(read.as_ref().map_or(true, |made| made == file.listed()), "bit {at}: {read:?}");
            shown += usize::from(read.is_err());
        }
        assert!(shown > bytes.len() * 7, "{shown}");
    }

    #[test]
    fn an_index_that_the_schema_no_longer_knows_is_reported() {
        let schema = schema::Builder::new().standard().build().unwrap();
        let made = ["taste:eq", "member:ord", "cn:eq"].map(str::to_owned).into();
        let file = IndexFile { disk: Arc::new(RealDisk), dir: PathBuf::new(), made };
        let mut settings = Vec::new();
        assert_eq!(file.add_to(&mut settings, &schema), ["member:ord", "taste:eq"]);
        assert_eq!(settings, [IndexSettings::of("cn", [IndexKind::Equality])]);
    }
}
