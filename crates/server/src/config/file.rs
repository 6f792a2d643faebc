//! The configuration file: TOML in, a [`Config`] or every fault of it out, with line and column.

use super::check::Problem;
use super::scalar::scalar;
use super::{Config, Given, access_rule, keys, limit_rule, near, words};
use dsa::settings::Values;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Something wrong in a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// File as given; `None` when no file is to blame.
    pub file: Option<String>,
    /// Line and column, from 1; `None` when something is absent.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what to do about it where that is known.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.place) {
            (Some(file), Some((line, column))) => write!(f, "{file}:{line}:{column}: {}", self.message),
            (Some(file), None) => write!(f, "{file}: {}", self.message),
            (None, _) => f.write_str(&self.message),
        }
    }
}

/// What was read: the configuration as far as it could be, where each key stood, and all faults.
#[derive(Default)]
pub struct Read {
    /// What the file says; keys with faults have their defaults.
    pub config: Config,
    /// Everything wrong with it, in the order of the file.
    pub faults: Vec<Fault>,
    file: String,
    places: BTreeMap<&'static str, (usize, usize)>,
    /// Of keys with many values, where each value stood that was good by itself.
    values: BTreeMap<&'static str, Vec<(usize, usize)>>,
    bad: BTreeSet<&'static str>,
}

impl Read {
    /// A problem of the whole, as a fault at the key that has it.
    pub fn locate(&self, problem: &Problem) -> Fault {
        let place = problem.value.and_then(|value| self.place_of(problem.key, value));
        let place = place.or_else(|| self.places.get(problem.key).copied());
        Fault { file: Some(self.file.clone()), place, message: problem.message.clone() }
    }

    /// Line and column of one of the values of a key, if the file has it.
    pub fn place_of(&self, key: &str, value: usize) -> Option<(usize, usize)> {
        self.values.get(key)?.get(value).copied()
    }

    /// Whether what the file says of a key is among the faults.
    pub fn is_bad(&self, key: &str) -> bool {
        self.bad.contains(key)
    }
}

/// Reads the file at `path`. Relative names of files in it are relative to the folder that it lies in.
pub fn read_file(path: &Path) -> Result<Read, Fault> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let mut read = read(&file, &text);
            read.config.locate_files(path.parent().unwrap_or(Path::new("")));
            Ok(read)
        }
        Err(error) => {
            Err(Fault { file: Some(file), place: None, message: format!("cannot be read: {error}") })
        }
    }
}

/// Reads `text`, called `file` in faults.
pub fn read(file: &str, text: &str) -> Read {
    let mut reader = Reader { text, read: Read { file: file.to_owned(), ..Read::default() } };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        reader.fault(error.span(), format!("not TOML: {} (text stands in quotes)", error.message()));
    }
    let line = |fault: &Fault| fault.place.map(|(line, _)| line);
    let not_toml: Vec<Option<usize>> = reader.read.faults.iter().map(line).collect();
    reader.table("", table.get_ref());
    // A line that is not TOML is one fault: what was guessed of its value is none.
    let mut at = 0;
    reader.read.faults.retain(|fault| {
        at += 1;
        let first = not_toml.iter().position(|other| *other == line(fault));
        first.is_none_or(|first| first + 1 == at)
    });
    reader.read.faults.sort_by_key(|fault| fault.place);
    reader.read
}

struct Reader<'t> {
    text: &'t str,
    read: Read,
}

impl Reader<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if keys::is_section(&name) => {
                    self.table(&format!("{name}."), inner);
                }
                _ => self.key(&name, key.span(), value),
            }
        }
    }

    fn key(&mut self, name: &str, at: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let Some(key) = keys::find(name) else {
            return self.fault(Some(at), near::unknown(name, keys::names()));
        };
        self.read.places.insert(key.name, place(self.text, at.start));
        let items = match value.get_ref() {
            DeValue::Array(items) if key.many() => items.iter().collect(),
            _ => vec![value],
        };
        let (mut texts, mut spans) = (Vec::new(), Vec::new());
        let text_of = |value: &DeValue<'_>| match value {
            DeValue::Table(table) if key.values == Values::Tables => words::of_table(table),
            value => scalar(value),
        };
        for item in &items {
            match (text_of(item.get_ref()), item.get_ref()) {
                (Some(text), _) => {
                    texts.push(text);
                    spans.push(item.span());
                }
                (None, DeValue::Table(table)) if matches!(key.name, "access.rule" | "limits.rule") => {
                    let of_access = key.name == "access.rule";
                    let read = if of_access { access_rule::read } else { limit_rule::read };
                    match read(table, item.span()) {
                        Ok(text) => {
                            texts.push(text);
                            spans.push(item.span());
                        }
                        Err((span, message)) => {
                            self.read.bad.insert(key.name);
                            self.fault(Some(span), message);
                        }
                    }
                }
                (None, _) => {
                    let message = format!(
                        "`{name}` takes {} ({}), not {}",
                        if key.many() { "one value or an array of them" } else { "one value" },
                        key.form,
                        item.get_ref().type_str(),
                    );
                    self.read.bad.insert(key.name);
                    return self.fault(Some(item.span()), message);
                }
            }
        }
        self.read.config.given.insert(key.name, Given::File);
        let places = spans.iter().map(|span| place(self.text, span.start)).collect();
        self.read.values.insert(key.name, places);
        let bad = key.set(&mut self.read.config, &texts).err().unwrap_or_default();
        for (place, reason) in bad {
            self.read.bad.insert(key.name);
            let span = spans.get(place).cloned().unwrap_or_else(|| at.clone());
            self.fault(Some(span), format!("`{name}`: {reason}"));
        }
    }

    fn fault(&mut self, span: Option<Range<usize>>, message: String) {
        let place = span.map(|span| place(self.text, span.start));
        self.read.faults.push(Fault { file: Some(self.read.file.clone()), place, message });
    }
}

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsa::Anonymous;

    fn faults(text: &str) -> Vec<String> {
        read("p.toml", text).faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_full_file() {
        let read = read(
            "p.toml",
            r#"
            suffix = "dc=example,dc=com"
            listen = ["ldap://127.0.0.1:0", "ldap://[::1]:0"]
            root-dn = "cn=admin"
            anonymous = "read"
            schema-check = false
            index = ["uid:eq", "cn:eq,sub"]
            memory-max = "8GiB"
            threads = 0x2
            [limits]
            size = 1_000
            idle-timeout = 30
            "#,
        );
        assert_eq!(read.faults, []);
        let config = read.config;
        assert_eq!(config.suffixes, ["dc=example,dc=com"]);
        assert_eq!(config.listen.len(), 2);
        assert_eq!((config.settings.standing.anonymous, config.schema_check), (Anonymous::Read, false));
        assert_eq!((config.settings.memory_max, config.options.threads), (Some(8 << 30), 2));
        assert_eq!(
            (config.settings.limits.search.size_max, config.settings.limits.patience.idle_timeout_s),
            (1000, 30)
        );
        assert!(config.indexes[1].kinds.contains(&store::IndexKind::Substring));
    }

    #[test]
    fn all_faults_at_once_each_with_its_place() {
        assert_eq!(
            faults(
                "sufix = \"dc=com\"\nthreads = 0\nindex = [\n  \"uid:eq\",\n  \"cn:huh\",\n]\n[limits]\nsiez = 1\n"
            ),
            [
                "p.toml:1:1: unknown key `sufix`; did you mean `suffix`?",
                "p.toml:2:11: `threads`: `0` is not a number from 1 to 1024",
                "p.toml:5:3: `index`: `huh` is not a kind of index: eq, pres, sub or ord",
                "p.toml:8:1: unknown key `limits.siez`; did you mean `limits.size`?",
            ]
        );
    }

    #[test]
    fn all_values_of_an_array_are_looked_at_and_the_good_ones_kept() {
        let read = read("p.toml", "suffix = [\"dc=a\", \"b\", \"dc=c\", \"d\"]\nthreads = \"x\" y\n");
        let places: Vec<_> = read.faults.iter().map(|fault| fault.place.unwrap()).collect();
        assert_eq!(places[..2], [(1, 19), (1, 32)]);
        assert_eq!((places.len(), places[2].0), (3, 2));
        assert_eq!(read.config.suffixes, ["dc=a", "dc=c"]);
        assert!(read.is_bad("suffix") && !read.is_bad("listen"));
    }

    #[test]
    fn tables_become_lines() {
        let text = "[[identity.peer]]\nuid = 0x7\ndn = \"cn=a b,dc=x\"\n[[identity.peer]]\nfilter = \"(uidNumber={uid})\"\n";
        let read = read("p.toml", text);
        assert_eq!(read.faults, []);
        let shown = keys::find("identity.peer").unwrap().show(&read.config);
        assert_eq!(shown, ["uid=7 dn=\"cn=a b,dc=x\"", "filter=(uidNumber={uid})"]);
        assert_eq!(
            faults("[[identity.peer]]\ndn = \"dc=x\"\n[[identity.peer]]\nuser = 7\n"),
            ["p.toml:3:1: `identity.peer`: `user` is none of `uid`, `gid`, `dn`, `base` and `filter`"]
        );
    }

    #[test]
    fn wrong_types_and_wrong_toml() {
        assert_eq!(faults("threads = [1, 2]\n"), ["p.toml:1:11: `threads` takes one value (N), not array"]);
        assert_eq!(faults("memory = off\nthreads = 2\n").len(), 1);
        assert!(faults("threads = \n")[0].starts_with("p.toml:1:"));
        assert_eq!(faults("limits = 3\n"), ["p.toml:1:1: unknown key `limits`"]);
    }

    #[test]
    fn files_are_relative_to_the_file_that_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.toml");
        let text = "root-password-file = \"etc/secret\"\nschema = [\"dvtds\", \"own.ldif\"]\nimport = \"/data.ldif\"\n";
        std::fs::write(&file, text).unwrap();
        let Ok(Read { config, .. }) = read_file(&file) else { panic!("it can be read") };
        assert_eq!(config.root_password_file, Some(folder.path().join("etc/secret")));
        assert_eq!(config.schema[0], "dvtds");
        assert_eq!(Path::new(&config.schema[1]), folder.path().join("own.ldif"));
        assert_eq!(config.import, [std::path::PathBuf::from("/data.ldif")]);
        assert_eq!(read("flags", text).config.root_password_file, Some("etc/secret".into()));
    }
}
