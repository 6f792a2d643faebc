//! Settings of the directory's scope: what file and flags say of them is compared with what is recorded, and becomes the record.
//!
//! Why it is so: `docs/decisions/0038-scopes-of-settings.md`, `docs/decisions/0039-settings-are-commands.md`.

use super::{Config, Key, keys};
use dsa::password;
use dsa::settings::{Difference, Record, Scope};
use env::entropy::Entropy;
use node::data::Made;
use schema::{ADDED_FILE, SchemaFile};
use std::fmt;

/// What the hash of the root password is recorded as.
const ROOT_PASSWORD: &str = "root-password";

/// Where a key was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// In the configuration file.
    File,
    /// By a flag, whatever the file says.
    Flag,
}

/// A recorded setting that a start changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its key.
    pub key: &'static str,
    /// What it was and what it is, unless that is secret.
    pub values: Option<(Vec<String>, Vec<String>)>,
}

impl Change {
    /// What a start says where file or flags have another value than was changed of a setting of this server.
    pub fn of_server(&self) -> String {
        let key = self.key;
        match &self.values {
            Some((old, new)) => {
                let (old, new) = (shown(old), shown(new));
                format!(
                    "`{key}` was changed to {old} while the server ran, and is {new} from now on, as file or flags say"
                )
            }
            None => format!("`{key}` is what file or flags say from now on"),
        }
    }

    /// What the history has of it: nothing of what is secret.
    pub fn difference(&self) -> Option<Difference> {
        let (before, after) = self.values.clone()?;
        Some(Difference { key: self.key.to_owned(), before, after, was_recorded: true })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key;
        match &self.values {
            Some((old, new)) => {
                let (old, new) = (shown(old), shown(new));
                write!(f, "`{key}` of the directory was {old} and is {new} from now on")
            }
            None => write!(f, "`{key}` of the directory is another from now on"),
        }
    }
}

fn shown(values: &[String]) -> String {
    match values {
        [] => "none".to_owned(),
        values => values.join(" "),
    }
}

impl Config {
    /// Settles what holds of the settings of the directory's scope, and records it: what a flag gives, else the file, if the
    /// same gave something else the last time; else what is recorded. Settings that change while the server runs are left as
    /// they are configured where the record overrides them: the agent uses the record itself. Returns what is another than before.
    ///
    /// # Errors
    /// In words, what in the record no key takes; or what of the root password cannot be read.
    pub fn settle(&mut self, record: &mut Record, entropy: &mut dyn Entropy) -> Result<Vec<Change>, String> {
        let known = |name: &String| name == ROOT_PASSWORD || keys().any(|key| key.name == name);
        if let Some(name) = record.values.keys().find(|name| !known(name)) {
            return Err(format!("the record of settings has `{name}`, which is no key"));
        }
        let is_first = record.file.is_none();
        let mut changes = Vec::new();
        for key in keys().filter(|key| key.scope == Scope::Directory) {
            changes.extend(self.settle_key(key, is_first, record)?);
        }
        changes.extend(self.settle_root_password(record, entropy)?);
        assert!(record.file.is_some(), "the next start compares with what the file says now");
        Ok(changes)
    }

    fn settle_key(
        &mut self,
        key: Key,
        is_first: bool,
        record: &mut Record,
    ) -> Result<Option<Change>, String> {
        assert!(key.scope == Scope::Directory, "what a node has for itself is not recorded");
        let file = record.file.get_or_insert_default();
        let old = record.values.get(key.name).cloned();
        let given = self.given.get(key.name);
        // A source that says nothing of the key, or that another overrides, is forgotten: if it comes back, its value is compared with
        // what holds by then. Else a value that was replaced since would be recalled without a warning.
        if given != Some(&Given::File) {
            file.remove(key.name);
        }
        if given != Some(&Given::Flag) {
            record.flags.remove(key.name);
        }
        let (last, is_taken) = match given {
            None => return old.map_or(Ok(None), |old| self.recall(key, &old).map(|()| None)),
            Some(Given::File) => (file, is_first),
            // Versions without a record had written down what was changed on line, which a flag overrode.
            Some(Given::Flag) => (&mut record.flags, is_first && old.is_none()),
        };
        let now = key.show(self);
        let said_before = last.insert(key.name.to_owned(), now.clone()).map_or(is_taken, |said| said == now);
        match old {
            Some(old) if said_before => self.recall(key, &old).map(|()| None),
            old => {
                record.values.insert(key.name.to_owned(), now.clone());
                let old = old.unwrap_or_else(|| key.show(&Config::default()));
                let is_change = !said_before && old != now;
                Ok(is_change.then_some(Change { key: key.name, values: Some((old, now)) }))
            }
        }
    }

    /// Takes what is recorded of a key.
    fn recall(&mut self, key: Key, values: &[String]) -> Result<(), String> {
        if dsa::settings::find(key.name).is_some() {
            return Ok(());
        }
        let bad =
            |bad: Vec<(usize, String)>| bad.into_iter().next().map(|(_, reason)| reason).unwrap_or_default();
        key.set(self, values)
            .map_err(|reasons| format!("`{}` is recorded wrongly: {}", key.name, bad(reasons)))
    }

    fn settle_root_password(
        &mut self,
        record: &mut Record,
        entropy: &mut dyn Entropy,
    ) -> Result<Option<Change>, String> {
        let given = self.root_password().map_err(|error| format!("root-password-file: {error}"))?;
        let old = record.values.get(ROOT_PASSWORD).and_then(|values| values.first()).cloned();
        let Some(given) = given else {
            self.root_password_hash = old.map(String::into_bytes);
            return Ok(None);
        };
        if old.as_ref().is_some_and(|old| password::is_recorded(old.as_bytes(), &given)) {
            return Ok(None);
        }
        record.values.insert(ROOT_PASSWORD.to_owned(), vec![password::recorded(&given, entropy)]);
        Ok(old.map(|_| Change { key: "root-password-file", values: None }))
    }

    /// Takes what the rules of the directory have where neither file nor flags say otherwise. Their changes are commands of the log by
    /// themselves.
    pub fn take_rules(&mut self, made: &Made) {
        let is_open = |name: &str| !self.given.contains_key(name);
        let is_added = |file: &&SchemaFile| &*file.name == ADDED_FILE;
        let (added, files): (Vec<_>, Vec<_>) = made.schema_files.iter().flatten().partition(is_added);
        self.added_schema = added.first().map(|file| SchemaFile::clone(file));
        if is_open("schema") {
            self.schema = files.iter().map(|file| file.name.to_string()).collect();
            self.recorded_schema = made.schema_files.as_ref().map(|_| files.into_iter().cloned().collect());
        }
        if is_open("operational-attributes") {
            self.operational_attributes = made.operational_attributes;
        }
        if is_open("schema-check") {
            self.schema_check = made.schema_check;
        }
        if is_open("suffix") {
            self.suffixes.clone_from(&made.suffixes);
        }
    }
}

#[cfg(test)]
mod tests;
