//! What `cn=config` of a server says, by the keys of the configuration file.

use super::change::Change;
use super::place::Place;
use crate::failed::Failed;
use crate::index::known_texts;
use client::{Attributes, Settings};
use server::config::{Key, keys, line};
use server::directory::IndexSettings;
use std::collections::BTreeMap;

/// Values of keys, in the order in which they are shown. A key without a value is not there.
pub(super) type Texts = BTreeMap<&'static str, Vec<String>>;

/// The attribute of `cn=config` that has the last changes.
const CHANGE: &str = "pandoConfigChange";

/// Whose changes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of settings of the directory.
    Directory,
    /// Those of settings of the server itself.
    Node,
}

impl Whose {
    /// As the flag says.
    pub(super) fn of(is_node: bool) -> Whose {
        if is_node { Whose::Node } else { Whose::Directory }
    }
}

/// What a server says of its settings.
pub(super) struct Running {
    /// Those that are in force.
    pub(super) texts: Texts,
    /// The last changes, the oldest first.
    pub(super) changes: Vec<Change>,
}

/// Reads the settings that are in force, and the last changes.
///
/// # Errors
/// When the server does not answer, or does not show them to this client.
pub(super) fn read(place: &Place, settings: &mut Settings, whose: Whose) -> Result<Running, Failed> {
    let found = settings.read().map_err(|error| Failed::at(&place.url, error))?;
    let found = found.ok_or_else(|| Failed::at(&place.url, "only the root DN can read cn=config"))?;
    let of_node = match whose {
        Whose::Directory => None,
        Whose::Node => {
            let of_node = settings.read_node().map_err(|error| Failed::at(&place.url, error))?;
            let none = "this server has no entry with changes of its own settings";
            Some(of_node.ok_or_else(|| Failed::at(&place.url, none))?)
        }
    };
    let of = |found: &Attributes, attribute: &str| {
        let of_attribute = found.iter().filter(|(name, _)| name.eq_ignore_ascii_case(attribute));
        let values = of_attribute.flat_map(|(_, values)| values);
        values.map(|value| String::from_utf8_lossy(value).into_owned()).collect::<Vec<_>>()
    };
    let mut texts = Texts::new();
    keys().for_each(|key| put(&mut texts, key, of(&found, &key.attribute())));
    let lines = of(of_node.as_ref().unwrap_or(&found), CHANGE);
    let mut changes: Vec<Change> = lines.iter().filter_map(|text| Change::parse(text)).collect();
    changes.sort_by_key(|change| change.number);
    Ok(Running { texts, changes })
}

/// Puts the values of a key among others, if it has some.
pub(super) fn put(texts: &mut Texts, key: Key, values: Vec<String>) {
    let values = if key.name == "index" { indexes(&values) } else { values };
    if !values.is_empty() {
        texts.insert(key.name, values);
    }
}

/// An index is a value for each kind where a server shows it, and one for each attribute in a file. Here it is as in a file.
fn indexes(values: &[String]) -> Vec<String> {
    let parsed = |texts: &[String]| -> Option<Vec<IndexSettings>> {
        texts.iter().map(|text| text.parse().ok()).collect()
    };
    let named = parsed(values).and_then(|indexes| known_texts(&indexes).ok());
    let Some(indexes) = named.and_then(|texts| parsed(&texts)) else { return values.to_vec() };
    let mut kinds: BTreeMap<String, IndexSettings> = BTreeMap::new();
    for index in indexes {
        let all =
            kinds.entry(index.attribute.clone()).or_insert_with(|| IndexSettings::of(&index.attribute, []));
        all.kinds.extend(index.kinds);
    }
    kinds.values().map(IndexSettings::to_string).collect()
}

/// The lines in which two texts differ, key by key: `-` before those of the first, `+` before those of the second.
pub(super) fn differences(first: &Texts, second: &Texts) -> String {
    let mut out = String::new();
    for key in keys() {
        let (before, after) = (first.get(key.name), second.get(key.name));
        if before != after {
            let of = |sign: &str, values: Option<&Vec<String>>| {
                values.map(|values| format!("{sign} {}\n", line(key, values))).unwrap_or_default()
            };
            out += &of("-", before);
            out += &of("+", after);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::config::known;

    fn texts(of: &[(&str, &[&str])]) -> Texts {
        let mut texts = Texts::new();
        for (name, values) in of {
            let key = known(name).expect("it is a key");
            put(&mut texts, key, values.iter().map(|value| (*value).to_owned()).collect());
        }
        texts
    }

    #[test]
    fn what_differs_is_shown_from_both_sides() {
        let first =
            texts(&[("limits.size", &["5"]), ("write-dn", &["cn=a"]), ("archive", &[]), ("threads", &["1"])]);
        let second = texts(&[("limits.size", &["7"]), ("proxy-dn", &["cn=b", "cn=c"]), ("threads", &["1"])]);
        let expected = "- write-dn = [\"cn=a\"]\n+ proxy-dn = [\"cn=b\", \"cn=c\"]\n\
                        - limits.size = \"5\"\n+ limits.size = \"7\"\n";
        assert_eq!(differences(&first, &second), expected);
        assert_eq!(differences(&first, &first), "");
    }

    #[test]
    fn indexes_are_compared_kind_by_kind() {
        let first = texts(&[("index", &["userid:sub,eq", "cn:eq"])]);
        assert_eq!(first, texts(&[("index", &["cn:eq", "uid:eq", "uid:sub"])]));
    }
}
