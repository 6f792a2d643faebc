//! What decides the outcome of an update besides the directory and the update itself: the definitions of the schema, those
//! that are built in too, the naming contexts, whether entries are held to the schema, and what this program does with all that. A
//! snapshot has them, and a change of them is a command in the log, as text: so each command is applied again by those that
//! were in force where it stands.
//!
//! The server's own attributes, of monitor and settings, are no part of them: a later version may have more.

use super::checksummed::{table, verified, with_checksum};
use super::dir::Data;
use super::error::DataError;
use super::facts::{FACTS_BYTES_MAX, missing, unknown};
use dsa::settings::value::on_off;
use schema::{ADDED_FILE, Builder, DefinitionKind, Schema, SchemaFile};
use std::io;
use std::sync::Arc;
use toml::Value;

pub(super) const NAME: &str = "rules";
const ADVICE: &str = "the log holds changes of a version that did not write the whole schema down; start it once more as it \
                      was, end it with SIGTERM, which leaves a snapshot, then change it";

const OF_ALL_NODES: &str = "it is the same on all nodes. Leave it out of this start; definitions are added over LDAP, to the subschema, \
                            and all else takes a new cluster, made of an export";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Of [`dsa::behaviour`].
    behaviour: u32,
    suffixes: Vec<String>,
    schema_check: bool,
    /// A hash of all definitions: all that earlier versions wrote of them. Not known of those that were read.
    hash: Option<String>,
    /// The definitions ([`Schema::write_rules`]).
    definitions: Option<Arc<str>>,
    /// The files that the schema has beyond the standard ones: what a later start builds its schema of. Earlier versions did not
    /// record them. No outcome depends on them, only on the definitions.
    files: Option<Vec<SchemaFile>>,
}

impl Rules {
    /// Those of a schema and settings, by which updates are applied as in a version of the behaviour.
    pub fn of(schema: &Schema, suffixes: &[String], schema_check: bool, behaviour: u32) -> Rules {
        let mut definitions = String::new();
        schema.write_rules(&mut definitions);
        Rules {
            behaviour,
            suffixes: suffixes.to_vec(),
            schema_check,
            hash: Some(hash(schema)),
            definitions: Some(definitions.into()),
            files: Some(schema.files()),
        }
    }

    /// The same with this schema.
    pub(crate) fn with_schema(&self, schema: &Schema) -> Rules {
        Rules::of(schema, &self.suffixes, self.schema_check, self.behaviour)
    }

    /// The same with another version of the behaviour.
    #[must_use]
    pub(crate) fn by(self, behaviour: u32) -> Rules {
        Rules { behaviour, ..self }
    }

    /// The same with the version of the behaviour that a command in the log says, if that is later.
    #[must_use]
    pub(crate) fn raised(self, behaviour: u32) -> Rules {
        let behaviour = behaviour.max(self.behaviour);
        self.by(behaviour)
    }

    /// The version of the behaviour by which updates are applied.
    pub fn behaviour(&self) -> u32 {
        self.behaviour
    }

    /// The naming contexts.
    pub(super) fn suffixes(&self) -> &[String] {
        &self.suffixes
    }

    /// Are entries held to the schema?
    pub(super) fn schema_check(&self) -> bool {
        self.schema_check
    }

    /// The files of the schema beyond the standard ones; `None` if an earlier version wrote the rules.
    pub fn files(&self) -> Option<&[SchemaFile]> {
        self.files.as_deref()
    }

    /// Do both say the same, so that neither has to be recorded after the other?
    pub(super) fn is_recorded_as(&self, other: &Rules) -> bool {
        self.agree(other) && self.files == other.files
    }

    /// Are these the others with definitions that were added to the schema while it was served ([`schema::Schema::add`])?
    pub(super) fn extend(&self, others: &Rules) -> bool {
        self.add_to(others)
            && self.behaviour == others.behaviour
            && self.suffixes == others.suffixes
            && self.schema_check == others.schema_check
    }

    /// Has a schema the files of these, by their names and texts, apart from what was added while it was served? What a program has in files that
    /// are built in does not count.
    pub(super) fn names_files_of(&self, schema: &Schema) -> bool {
        let is_file = |file: &&SchemaFile| &*file.name != ADDED_FILE;
        let of = |files: &[SchemaFile]| files.iter().filter(is_file).cloned().collect::<Vec<_>>();
        self.files.as_ref().is_some_and(|files| of(files) == of(&schema.files()))
    }

    /// The same, whatever their naming contexts are, whether entries are held to the schema, and by which behaviour updates are applied.
    pub(super) fn add_to(&self, others: &Rules) -> bool {
        let is_added = |file: &&SchemaFile| &*file.name == ADDED_FILE;
        let split = |rules: &Rules| {
            let files = rules.files.clone().unwrap_or_default();
            let added: String = files.iter().filter(is_added).map(|file| &*file.text).collect();
            (files.into_iter().filter(|file| !is_added(&file)).collect::<Vec<_>>(), added)
        };
        let ((files, added), (files_before, added_before)) = (split(self), split(others));
        files == files_before && added.starts_with(&added_before)
    }

    /// Have they the same files, apart from what was added while they were served?
    pub(super) fn have_files_of(&self, others: &Rules) -> bool {
        let is_file = |file: &&SchemaFile| &*file.name != ADDED_FILE;
        let of = |rules: &Rules| rules.files.iter().flatten().filter(is_file).cloned().collect::<Vec<_>>();
        of(self) == of(others)
    }

    /// Are the definitions known, and not only a hash of them?
    pub(super) fn are_whole(&self) -> bool {
        self.definitions.is_some()
    }

    /// Does the same come of a command by both?
    pub(super) fn agree(&self, other: &Rules) -> bool {
        let definitions = match (&self.definitions, &other.definitions) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.hash.is_some() && self.hash == other.hash,
        };
        definitions
            && self.behaviour == other.behaviour
            && self.suffixes == other.suffixes
            && self.schema_check == other.schema_check
    }

    /// The schema that they are of, with the attributes of settings that another has.
    ///
    /// # Errors
    /// In words, why there is none.
    pub(super) fn schema(&self, like: &Schema) -> Result<Arc<Schema>, String> {
        self.schema_with(like, None)
    }

    /// The same with all that was added while it was served, of which these may have the beginning.
    ///
    /// # Errors
    /// As [`Rules::schema`].
    pub(super) fn schema_with(
        &self,
        like: &Schema,
        added: Option<SchemaFile>,
    ) -> Result<Arc<Schema>, String> {
        let definitions = self.definitions.as_ref().ok_or_else(|| missing("definitions"))?;
        let recorded = Builder::recorded(definitions)
            .settings(like.settings())
            .secrets(like.secret_names().iter().cloned())
            .listing(self.files.iter().flatten().cloned());
        added
            .into_iter()
            .fold(recorded, Builder::with_file)
            .build()
            .map(Arc::new)
            .map_err(|errors| errors.to_string())
    }

    /// The keys with other values than in `others`: those there, and those here.
    fn other_keys(&self, others: &Rules) -> impl Iterator<Item = (&'static str, [String; 2])> {
        let of = |rules: &Rules| [rules.suffixes.join(" "), on_off(rules.schema_check).to_string()];
        let ([suffix, check], [own_suffix, own_check]) = (of(others), of(self));
        let keys = [("suffix", [suffix, own_suffix]), ("schema-check", [check, own_check])];
        keys.into_iter().filter(|(_, [theirs, ours])| theirs != ours)
    }

    /// What is another than in `before`, in words.
    pub(super) fn changes(&self, before: &Rules) -> Vec<String> {
        let mut changes = Vec::new();
        for (key, [old, new]) in self.other_keys(before) {
            changes.push(format!("`{key}` of the directory was {old} and is {new} from now on"));
        }
        if self.definitions != before.definitions && before.definitions.is_some() {
            changes.push("the definitions of the schema are others from now on".to_owned());
        }
        changes
    }

    /// Why commands that were decided by `made`, of which only a hash is known, cannot be applied by these.
    pub(super) fn differ(&self, made: &Rules) -> DataError {
        let pairs = [
            ("suffix", made.suffixes.join(" "), self.suffixes.join(" ")),
            ("schema-check", made.schema_check.to_string(), self.schema_check.to_string()),
            ("behaviour", made.behaviour.to_string(), self.behaviour.to_string()),
            ("schema", made.hash.clone().unwrap_or_default(), self.hash.clone().unwrap_or_default()),
        ];
        let [.., schema] = &pairs;
        let differs = pairs.iter().find(|(_, made, wanted)| made != wanted).unwrap_or(schema);
        let (key, made, wanted) = differs.clone();
        DataError::Differs { key, made, wanted, advice: ADVICE }
    }

    /// Why a replica whose log goes on by `made` is not started with these: all replicas apply it by the same.
    pub(super) fn differ_from_all(&self, made: &Rules) -> DataError {
        match self.other_keys(made).next() {
            Some((key, [made, wanted])) => DataError::Differs { key, made, wanted, advice: OF_ALL_NODES },
            None => self.differ_in_schema(made),
        }
    }

    /// The same, where the schema differs. It says the names of files, or that they have other definitions.
    pub(super) fn differ_in_schema(&self, made: &Rules) -> DataError {
        let of = |rules: &Rules| {
            let names: Vec<String> = rules.files.iter().flatten().map(|file| file.name.to_string()).collect();
            if names.is_empty() { "the standard one".to_owned() } else { names.join(" ") }
        };
        let (made, mut wanted) = (of(made), of(self));
        if wanted == made {
            wanted.push_str(", with other definitions");
        }
        DataError::Differs { key: "schema", made, wanted, advice: OF_ALL_NODES }
    }

    /// What the file says, and a command of rules.
    pub(crate) fn text(&self) -> String {
        assert!(
            self.definitions.is_some() || self.files.is_none(),
            "files stand beside the definitions in them"
        );
        let suffixes = Value::from(self.suffixes.clone());
        let schema = match (&self.definitions, &self.hash) {
            (Some(text), _) => {
                format!("definitions = {}{}", Value::String(text.to_string()), self.files_line())
            }
            (None, hash) => format!("schema = \"{}\"", hash.as_deref().unwrap_or_default()),
        };
        with_checksum(format!(
            "# What the changes in the log were decided by.\n\
             behaviour = {}\nsuffix = {suffixes}\nschema-check = {}\n{schema}\n",
            self.behaviour, self.schema_check
        ))
    }

    fn files_line(&self) -> String {
        let pair = |file: &SchemaFile| {
            Value::Array([&file.name, &file.text].map(|text| Value::String(text.to_string())).into())
        };
        let line =
            |files: &Vec<SchemaFile>| format!("\nfiles = {}", Value::Array(files.iter().map(pair).collect()));
        self.files.as_ref().map(line).unwrap_or_default()
    }

    /// Reads a note of an earlier version: since when they hold, in milliseconds since 1970, and what they are.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn of_note(payload: &[u8]) -> Result<(u64, Rules), String> {
        let wrong = |what: &str| format!("the note of what decides changes from here on {what}");
        let (ms, text) = payload.split_first_chunk::<8>().ok_or_else(|| wrong("is too short"))?;
        let text = std::str::from_utf8(text).map_err(|error| wrong(&error.to_string()))?;
        let rules = Rules::of_verified(text).map_err(|what| wrong(&format!("cannot be read: {what}")))?;
        Ok((u64::from_le_bytes(*ms), rules))
    }

    /// What a command of rules says.
    ///
    /// # Errors
    /// In words, when it cannot be read, or has no checksum.
    pub fn of_verified(text: &str) -> Result<Rules, String> {
        match verified(text)?.len() == text.len() {
            true => Err(missing("checksum")),
            false => Rules::parse(text),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Rules, String> {
        let table = table(text)?;
        let suffixes = table.get("suffix").and_then(Value::as_array).ok_or_else(|| missing("suffix"))?;
        let suffixes: Option<Vec<String>> =
            suffixes.iter().map(|suffix| suffix.as_str().map(str::to_owned)).collect();
        let behaviour = table.get("behaviour").and_then(Value::as_integer);
        let behaviour = behaviour.and_then(|number| u32::try_from(number).ok());
        let schema_check = table.get("schema-check").and_then(Value::as_bool);
        let text_of = |key: &str| table.get(key).and_then(Value::as_str);
        let (hash, definitions) = (text_of("schema"), text_of("definitions"));
        if hash.is_some() == definitions.is_some() {
            return Err(missing("definitions"));
        }
        let files =
            table.get("files").map(|files| files_of(files).ok_or_else(|| missing("files"))).transpose()?;
        if table.len() > 4 + usize::from(files.is_some()) || (files.is_some() && definitions.is_none()) {
            return Err(unknown());
        }
        Ok(Rules {
            behaviour: behaviour.ok_or_else(|| missing("behaviour"))?,
            suffixes: suffixes.ok_or_else(|| missing("suffix"))?,
            schema_check: schema_check.ok_or_else(|| missing("schema-check"))?,
            hash: hash.map(str::to_owned),
            definitions: definitions.map(Arc::from),
            files,
        })
    }
}

/// The files that a list of names and texts is of.
fn files_of(list: &Value) -> Option<Vec<SchemaFile>> {
    let file = |pair: &Value| match &pair.as_array()?[..] {
        [name, text] => Some(SchemaFile { name: name.as_str()?.into(), text: text.as_str()?.into() }),
        _ => None,
    };
    list.as_array()?.iter().map(file).collect()
}

impl Data {
    /// What the file says: the rules of the last start, and those of the first command in the log where no snapshot tells them;
    /// `None` in a new directory.
    pub(super) fn rules(&self) -> Result<Option<Rules>, DataError> {
        self.facts(NAME, Rules::parse)
    }

    /// The program must know these rules.
    ///
    /// # Errors
    /// What to do, if it does not.
    pub(super) fn must_know(&self, behaviour: u32) -> Result<(), DataError> {
        let refusal = self.versions.refusal(behaviour);
        refusal.map_or(Ok(()), |what| Err(DataError::Behaviour(self.dir.clone(), what)))
    }

    /// The text of rules.
    ///
    /// # Errors
    /// When there are more definitions than a later start would read.
    pub(super) fn text_of(&self, rules: &Rules) -> Result<Arc<str>, DataError> {
        let text = rules.text();
        if text.len() as u64 <= FACTS_BYTES_MAX {
            return Ok(text.into());
        }
        let what = format!("the schema has more than {FACTS_BYTES_MAX} bytes of definitions");
        Err(DataError::Facts(self.dir().join(NAME), what))
    }

    /// From now on the rules of this text hold. Only while nothing is in the log behind the snapshot that others decided.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn write_rules(&self, text: &str) -> io::Result<()> {
        self.write_facts(NAME, text)
    }
}

/// FNV-1a of the definitions as the files have them: it shows that something was changed, by mistake or not.
pub(super) fn hash(schema: &Schema) -> String {
    hash_of(|kind, each| schema.write_as_defined(kind, each))
}

/// The same of what clients see, which may change where the definitions do not.
pub(super) fn hash_of_shown(schema: &Schema) -> String {
    hash_of(|kind, each| schema.write_definitions(kind, each))
}

/// FNV-1a of definitions, each with its end.
fn hash_of(write: impl Fn(DefinitionKind, &mut dyn FnMut(&str))) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let kinds = [
        DefinitionKind::LdapSyntaxes,
        DefinitionKind::MatchingRules,
        DefinitionKind::AttributeTypes,
        DefinitionKind::ObjectClasses,
        // Where there are none, the hash is the one of earlier versions.
        DefinitionKind::ContentRules,
        DefinitionKind::NameForms,
        DefinitionKind::StructureRules,
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
    use dsa::behaviour::NEWEST;

    fn standard() -> Schema {
        Builder::new().standard().build().expect("it is sound")
    }

    fn rules() -> Rules {
        Rules::of(&standard(), &["dc=com".to_owned(), "o=\"x\"".to_owned()], true, NEWEST)
    }

    fn by_hash() -> Rules {
        Rules { definitions: None, files: None, ..rules() }
    }

    #[test]
    fn rules_come_back() {
        let read = Rules::parse(&rules().text()).expect("they were written");
        assert_eq!(read, Rules { hash: None, ..rules() });
        assert!(read.agree(&rules()) && read.text() == rules().text());
        assert!(read.schema(&standard()).is_ok_and(|schema| rules().with_schema(&schema).agree(&read)));
        let text = by_hash().text();
        assert_eq!(Rules::parse(&text), Ok(by_hash()));
        let text = verified(&text).unwrap();
        assert_eq!(Rules::parse(text), Ok(by_hash()), "as earlier versions wrote it");
        for line in text.lines().skip(1) {
            let without: String = text.lines().filter(|l| *l != line).collect::<Vec<_>>().join("\n");
            assert!(Rules::parse(&without).is_err(), "without {line}");
        }
        assert!(Rules::of_verified(text).unwrap_err().contains("checksum"));
    }

    #[test]
    fn files_of_the_schema_come_back_and_decide_nothing() {
        let file = |name: &str, text: &str| SchemaFile { name: name.into(), text: text.into() };
        let files = [file("own \"x\".schema", "# only\n# a remark\n"), file("dvtds", "")];
        let builder = |files: &[SchemaFile]| {
            files
                .iter()
                .cloned()
                .fold(Builder::new().standard(), Builder::with_file)
                .build()
                .expect("it is sound")
        };
        let with = rules().with_schema(&builder(&files));
        let read = Rules::parse(&with.text()).expect("they were written");
        assert_eq!(read.files(), Some(&files[..]));
        assert!(read.is_recorded_as(&with) && read.schema(&standard()).is_ok());
        let renamed = rules().with_schema(&builder(&[file("other", "# only\n"), file("dvtds", "")]));
        assert!(renamed.agree(&with) && !renamed.is_recorded_as(&with));
        // An earlier version did not record them.
        let text = Rules { files: None, ..with.clone() }.text();
        let earlier = Rules::parse(&text).expect("they were written");
        assert!(earlier.files().is_none() && earlier.agree(&with) && !earlier.is_recorded_as(&with));
        let hash = verified(&by_hash().text()).unwrap().to_owned() + "files = []\n";
        assert!(Rules::parse(&hash).is_err_and(|error| error.contains("unknown")));
        for wrong in ["5", "[[\"a\"]]", "[5]", "[[\"a\", 5]]"] {
            let text = verified(&text).unwrap().to_owned() + &format!("files = {wrong}\n");
            assert!(Rules::parse(&text).is_err_and(|error| error.contains("files")), "{wrong}");
        }
    }

    #[test]
    fn rules_of_another_behaviour_are_others() {
        let later = rules().by(NEWEST + 1);
        assert!(!later.agree(&rules()) && !later.extend(&rules()) && by_hash().schema(&standard()).is_err());
        assert_eq!((later.clone().raised(NEWEST), rules().raised(NEWEST + 1)), (later.clone(), later));
    }

    #[test]
    fn a_recorded_schema_is_what_it_was_with_what_was_added_since() {
        // Another program had less in the files that are built in.
        let before = rules().with_schema(&Builder::recorded("").build().expect("it is sound"));
        assert!(before.names_files_of(&standard()) && !before.agree(&rules()));
        let added = |text: &str| SchemaFile { name: ADDED_FILE.into(), text: text.into() };
        let [one, other] = ["one", "other"].map(|name| {
            format!(
                "attributetype ( 1.2.3.{} NAME '{name}' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n",
                name.len()
            )
        });
        let with_one = before.schema_with(&standard(), Some(added(&one))).expect("it is sound");
        let recorded = before.with_schema(&with_one);
        assert!(recorded.extend(&before) && recorded.names_files_of(&standard()));
        let both = recorded.schema_with(&standard(), Some(added(&(one + &other)))).expect("it is sound");
        assert!(both.find_type(b"one").is_some() && both.find_type(b"other").is_some());
        assert!(recorded.with_schema(&both).extend(&recorded) && both.find_type(b"mail").is_none());
        let file = SchemaFile { name: "dvtds".into(), text: "".into() };
        let named = Builder::new().standard().with_file(file).build().expect("it is sound");
        assert!(!recorded.names_files_of(&named));
        assert!(
            rules()
                .with_schema(&named)
                .differ_in_schema(&recorded)
                .to_string()
                .contains("but dvtds is configured")
        );
    }

    #[test]
    fn a_note_of_an_earlier_version_is_read() {
        let text = "# What the changes in the log were decided by.\nbehaviour = 2\nsuffix = [\"dc=x\"]\n\
                    schema-check = true\nschema = \"0123456789abcdef\"\nchecksum = \"3afd5448\"\n";
        let payload = [&[0x7b, 1, 0, 0, 0, 0, 0, 0], text.as_bytes()].concat();
        let (suffixes, hash) = (vec!["dc=x".to_owned()], Some("0123456789abcdef".to_owned()));
        let rules =
            Rules { behaviour: 2, suffixes, schema_check: true, hash, definitions: None, files: None };
        assert_eq!(rules.text(), text, "docs/formats/log.md has it");
        assert_eq!(Rules::of_note(&payload), Ok((0x17b, rules)));
    }

    #[test]
    fn each_difference_from_a_hash_is_reported() {
        let with = |change: fn(&mut Rules)| {
            let mut other = by_hash();
            change(&mut other);
            assert!(!rules().agree(&other));
            rules().differ(&other).to_string()
        };
        assert!(rules().agree(&by_hash()));
        assert_eq!(rules().changes(&rules()), [""; 0]);
        let before = Rules { schema_check: false, suffixes: vec!["dc=old".to_owned()], ..rules() };
        let changes = rules().changes(&before);
        assert_eq!(changes[0], "`suffix` of the directory was dc=old and is dc=com o=\"x\" from now on");
        assert_eq!(changes[1..], ["`schema-check` of the directory was off and is on from now on"]);
        assert!(with(|r| r.suffixes.truncate(1)).starts_with("`suffix` is dc=com in this"));
        assert!(with(|r| r.schema_check = false).contains("`schema-check` is false"));
        assert!(with(|r| r.behaviour = 0).contains("end it with SIGTERM"));
        assert!(with(|r| r.hash = Some("0123".to_owned())).contains("`schema` is 0123"));
        let more =
            Builder::new().standard().builtin("dvtds").expect("it is built in").build().expect("sound");
        assert!(!rules().agree(&rules().with_schema(&more)));
    }
}
