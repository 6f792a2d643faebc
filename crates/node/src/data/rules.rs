//! What decides the outcome of an update besides the directory and the update itself. What is in the log was decided by
//! the rules that are written down beside it, so it can only be carried out again by the same.

use super::sealed::{seal, table, unseal};
use super::{Data, DataError, missing, unknown};
use schema::{DefinitionKind, Schema};
use std::io;
use toml::Value;

pub(super) const NAME: &str = "rules";
/// Raised whenever this program comes to another outcome for the same update.
const BEHAVIOUR: i64 = 2;
const ADVICE: &str = "the log holds changes made before; start it once more as it was, end it with SIGTERM, which leaves a \
                      snapshot, then change it";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    behaviour: i64,
    suffixes: Vec<String>,
    schema_check: bool,
    /// A hash of all definitions.
    schema: String,
}

impl Rules {
    /// The rules of this program with this schema and these settings.
    pub fn of(schema: &Schema, suffixes: &[String], schema_check: bool) -> Rules {
        Rules { behaviour: BEHAVIOUR, suffixes: suffixes.to_vec(), schema_check, schema: hash(schema) }
    }

    /// The naming contexts.
    pub(super) fn suffixes(&self) -> &[String] {
        &self.suffixes
    }

    /// Are entries held to the schema?
    pub(super) fn schema_check(&self) -> bool {
        self.schema_check
    }

    /// What is not as it was.
    pub(super) fn differs(&self, made: &Rules) -> Option<DataError> {
        let pairs = [
            ("suffix", made.suffixes.join(" "), self.suffixes.join(" ")),
            ("schema-check", made.schema_check.to_string(), self.schema_check.to_string()),
            ("schema", made.schema.clone(), self.schema.clone()),
            ("behaviour", made.behaviour.to_string(), self.behaviour.to_string()),
        ];
        let (key, made, wanted) = pairs.into_iter().find(|(_, made, wanted)| made != wanted)?;
        Some(DataError::Differs { key, made, wanted, advice: ADVICE })
    }

    /// What the file says.
    pub(super) fn text(&self) -> String {
        let suffixes = Value::Array(self.suffixes.iter().cloned().map(Value::String).collect());
        seal(format!(
            "# What the changes in the log were decided by.\n\
             behaviour = {}\nsuffix = {suffixes}\nschema-check = {}\nschema = \"{}\"\n",
            self.behaviour, self.schema_check, self.schema
        ))
    }

    /// What a note in the log says: since when they hold, in milliseconds since 1970, and the text of the file.
    pub(super) fn note(&self, wall_ms: u64) -> Vec<u8> {
        [&wall_ms.to_le_bytes(), self.text().as_bytes()].concat()
    }

    /// Reads a note: since when they hold, and what they are.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn of_note(payload: &[u8]) -> Result<(u64, Rules), String> {
        let wrong = |what: &str| format!("the note of what decides changes from here on {what}");
        let (ms, text) = payload.split_first_chunk::<8>().ok_or_else(|| wrong("is too short"))?;
        let text = std::str::from_utf8(text).map_err(|error| wrong(&error.to_string()))?;
        let unread = |what: String| wrong(&format!("cannot be read: {what}"));
        if unseal(text).map_err(unread)?.len() == text.len() {
            return Err(unread(missing("checksum")));
        }
        let rules = Rules::parse(text).map_err(unread)?;
        Ok((u64::from_le_bytes(*ms), rules))
    }

    pub(super) fn parse(text: &str) -> Result<Rules, String> {
        let table = table(text)?;
        let suffixes = table.get("suffix").and_then(Value::as_array).ok_or_else(|| missing("suffix"))?;
        let suffixes: Option<Vec<String>> =
            suffixes.iter().map(|suffix| suffix.as_str().map(str::to_owned)).collect();
        let behaviour = table.get("behaviour").and_then(Value::as_integer);
        let schema_check = table.get("schema-check").and_then(Value::as_bool);
        let schema = table.get("schema").and_then(Value::as_str);
        if table.len() > 4 {
            return Err(unknown());
        }
        Ok(Rules {
            behaviour: behaviour.ok_or_else(|| missing("behaviour"))?,
            suffixes: suffixes.ok_or_else(|| missing("suffix"))?,
            schema_check: schema_check.ok_or_else(|| missing("schema-check"))?,
            schema: schema.ok_or_else(|| missing("schema"))?.to_owned(),
        })
    }
}

impl Data {
    /// The rules that the log was written by; `None` in a new directory.
    pub(super) fn rules(&self) -> Result<Option<Rules>, DataError> {
        self.facts(NAME, Rules::parse)
    }

    /// From now on these hold. Only while nothing is in the log that others decided.
    pub(super) fn write_rules(&self, rules: &Rules) -> io::Result<()> {
        self.write_facts(NAME, &rules.text())
    }
}

/// FNV-1a of the definitions as the files have them: it shows that something was changed, by mistake or not.
pub(super) fn hash(schema: &Schema) -> String {
    hash_of(|kind, each| schema.write_as_defined(kind, each))
}

/// FNV-1a of definitions, each with its end.
pub(super) fn hash_of(write: impl Fn(DefinitionKind, &mut dyn FnMut(&str))) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let kinds = [
        DefinitionKind::LdapSyntaxes,
        DefinitionKind::MatchingRules,
        DefinitionKind::AttributeTypes,
        DefinitionKind::ObjectClasses,
    ];
    for kind in kinds {
        write(kind, &mut |text: &str| {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        });
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::Builder;

    fn rules() -> Rules {
        let schema = Builder::new().standard().build().expect("it is sound");
        Rules::of(&schema, &["dc=com".to_owned(), "o=\"x\"".to_owned()], true)
    }

    #[test]
    fn rules_come_back() {
        assert_eq!(Rules::parse(&rules().text()), Ok(rules()));
        let text = rules().text();
        let text = unseal(&text).unwrap();
        assert_eq!(Rules::parse(text), Ok(rules()), "as earlier versions wrote it");
        for line in text.lines().skip(1) {
            let without: String = text.lines().filter(|l| *l != line).collect::<Vec<_>>().join("\n");
            assert!(Rules::parse(&without).is_err(), "without {line}");
        }
    }

    #[test]
    fn a_note_of_any_version_is_read() {
        let text = "# What the changes in the log were decided by.\nbehaviour = 2\nsuffix = [\"dc=x\"]\n\
                    schema-check = true\nschema = \"0123456789abcdef\"\nchecksum = \"3afd5448\"\n";
        let payload = [&[0x7b, 1, 0, 0, 0, 0, 0, 0], text.as_bytes()].concat();
        let (suffixes, schema) = (vec!["dc=x".to_owned()], "0123456789abcdef".to_owned());
        let rules = Rules { behaviour: 2, suffixes, schema_check: true, schema };
        assert_eq!(rules.note(0x17b), payload, "docs/formats/log.md has it");
        assert_eq!(Rules::of_note(&payload), Ok((0x17b, rules)));
    }

    #[test]
    fn each_difference_is_told() {
        let with = |change: fn(&mut Rules)| {
            let mut other = rules();
            change(&mut other);
            rules().differs(&other).map(|error| error.to_string())
        };
        assert_eq!(with(|_| ()), None);
        assert!(with(|r| r.suffixes.truncate(1)).unwrap().starts_with("`suffix` is dc=com in this"));
        assert!(with(|r| r.schema_check = false).unwrap().contains("`schema-check` is false"));
        assert!(with(|r| r.behaviour = 0).unwrap().contains("end it with SIGTERM"));
        let more =
            Builder::new().standard().builtin("dvtds").expect("it is built in").build().expect("sound");
        let more = Rules { schema: hash(&more), ..rules() };
        assert!(rules().differs(&more).unwrap().to_string().contains("`schema`"));
    }
}
