//! The superblock of a data directory, in the file `founding`: settings that cannot change after the directory was made.

use super::checksummed::{Unread, table, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::{missing, unknown};
use dsa::settings::value::on_off;

pub(super) const NAME: &str = "founding";
/// Key of the initial owner: data directories that are in use have this word.
const INITIAL_OWNER: &str = "founder";
const FORMAT: i64 = 1;

/// Settings that cannot change after the directory was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Keys of hashes and entryUUIDs.
    pub key: [u64; 4],
    /// Site number in CSNs.
    pub site: u8,
    /// Whether entries have entryUUID, entryCSN, times and names.
    pub operational_attributes: bool,
    /// Initial owner: the creator's name of entries without another known creator.
    pub initial_owner: String,
}

impl Data {
    /// The superblock of the directory. In a new directory it is written from `wanted`.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn initialise(&self, wanted: &Superblock) -> Result<Superblock, DataError> {
        let Some(made) = self.facts(NAME, Superblock::parse)? else {
            self.write_facts(NAME, &wanted.text())?;
            return Ok(wanted.clone());
        };
        if made.operational_attributes != wanted.operational_attributes {
            return Err(DataError::Differs {
                key: "operational-attributes",
                made: on_off(made.operational_attributes),
                wanted: on_off(wanted.operational_attributes),
                advice: "it was chosen when the directory was made and cannot be changed",
            });
        }
        Ok(made)
    }

    /// The superblock of the directory.
    pub(super) fn superblock(&self) -> Result<Superblock, DataError> {
        let nothing = || DataError::Facts(self.dir().join(NAME), "it is not there".to_owned());
        self.facts(NAME, Superblock::parse)?.ok_or_else(nothing)
    }
}

impl Superblock {
    fn text(&self) -> String {
        let key: Vec<String> = self.key.iter().map(|k| format!("\"{k:016x}\"")).collect();
        with_checksum(format!(
            "# What this directory was made with. It never changes, and the data cannot be read without it.\n\
             format = {FORMAT}\nkey = [{}]\nsite = {}\noperational-attributes = {}\n{INITIAL_OWNER} = {}\n",
            key.join(", "),
            self.site,
            self.operational_attributes,
            toml::Value::String(self.initial_owner.clone()),
        ))
    }

    pub(super) fn parse(text: &str) -> Result<Superblock, Unread> {
        let table = table(text)?;
        match table.get("format").and_then(toml::Value::as_integer) {
            Some(FORMAT) => {}
            Some(other) => {
                return Err(Unread::OtherVersion(format!("format {other} is of another version of Pando")));
            }
            None => return Err(missing("format").into()),
        }
        let keys = table.get("key").and_then(toml::Value::as_array).ok_or_else(|| missing("key"))?;
        let keys: Vec<u64> = keys.iter().filter_map(|k| u64::from_str_radix(k.as_str()?, 16).ok()).collect();
        let site = table.get("site").and_then(toml::Value::as_integer);
        let operational = table.get("operational-attributes").and_then(toml::Value::as_bool);
        let initial_owner = table.get(INITIAL_OWNER).and_then(toml::Value::as_str);
        if table.len() > 5 {
            return Err(unknown().into());
        }
        Ok(Superblock {
            key: keys.try_into().map_err(|_| missing("key"))?,
            site: site.and_then(|site| u8::try_from(site).ok()).ok_or_else(|| missing("site"))?,
            operational_attributes: operational.ok_or_else(|| missing("operational-attributes"))?,
            initial_owner: initial_owner.ok_or_else(|| missing(INITIAL_OWNER))?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::checksummed::verified;
    use super::*;

    #[test]
    fn what_a_directory_is_made_with_comes_back() {
        let initial_owner = "cn=\"a\\, b\",dc=x".to_owned();
        let superblock =
            Superblock { key: [1, u64::MAX, 3, 4], site: 7, operational_attributes: false, initial_owner };
        assert_eq!(Superblock::parse(&superblock.text()), Ok(superblock.clone()));
        let later = with_checksum(verified(&superblock.text()).unwrap().replace("format = 1", "format = 2"));
        assert!(Superblock::parse(&later).unwrap_err().to_string().contains("another version"));
        let text = superblock.text();
        let text = verified(&text).unwrap();
        assert_eq!(Superblock::parse(text), Ok(superblock), "as earlier versions wrote it");
        assert!(Superblock::parse(&format!("{text}bhecksum = \"00000000\"\n")).is_err());
        for line in text.lines().skip(1) {
            let without: String = text.lines().filter(|l| *l != line).collect::<Vec<_>>().join("\n");
            assert!(Superblock::parse(&without).is_err(), "without {line}");
        }
    }
}
