//! A change of a setting, as `cn=config` has it.

use serde_json::Value;

/// A change of the value of one key. Several keys that were changed together have one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) number: u64,
    pub(super) time: String,
    pub(super) author: String,
    pub(super) key: String,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
    /// Had a change or a start set it before? Else file, flags or the default decided.
    pub(super) was_set: bool,
}

impl Change {
    /// The change that a value of `cn=config` is about.
    pub(super) fn parse(text: &str) -> Option<Change> {
        let value: Value = serde_json::from_str(text).ok()?;
        let word = |name: &str| value[name].as_str().map(str::to_owned);
        let words = |name: &str| -> Option<Vec<String>> {
            value[name].as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        };
        Some(Change {
            number: value["number"].as_u64()?,
            time: word("time")?,
            author: word("by")?,
            key: word("key")?,
            before: words("from")?,
            after: words("to")?,
            was_set: value["was-set"].as_bool()?,
        })
    }
}
