//! Settings of this server that were changed while it ran, and what a start makes of them.
//!
//! Why it is so: `docs/decisions/0116-settings-of-a-node.md`.

use super::keys::{find, is_changeable_at_node};
use super::{Change, Config, Given, Key, OnLogFailure};
use dsa::settings::Record;

impl Config {
    /// Takes what was changed while the server ran, where file and flags say what they said then. Where they say something else that key leaves the
    /// record. Returns those that are others by that.
    ///
    /// # Errors
    /// In words, what in the record no key takes.
    pub fn settle_node(&mut self, record: &mut Record) -> Result<Vec<Change>, String> {
        let recorded: Vec<String> = record.values.keys().cloned().collect();
        let mut changes = Vec::new();
        for name in recorded {
            let key = find(&name).filter(is_changeable_at_node);
            let key = key.ok_or_else(|| format!("the record has `{name}`, which is no such key"))?;
            changes.extend(self.settle_own(key, record)?);
        }
        Ok(changes)
    }

    fn settle_own(&mut self, key: Key, record: &mut Record) -> Result<Option<Change>, String> {
        let Some(old) = record.values.get(key.name).cloned() else { return Ok(None) };
        let given = self.given.get(key.name).copied();
        if let Some(given) = given {
            let said = of(record, given).and_then(|texts| texts.get(key.name).cloned());
            let now = key.show(self);
            if said.as_ref() != Some(&now) {
                forget(record, key);
                let values = Some((old.clone(), now.clone()));
                return Ok((old != now).then_some(Change { key: key.name, values }));
            }
        }
        // One that says nothing of the key, or that the other overrides: if it comes back, its value is another.
        if given != Some(Given::File) {
            record.file.iter_mut().for_each(|file| _ = file.remove(key.name));
        }
        if given != Some(Given::Flag) {
            record.flags.remove(key.name);
        }
        let wrong = |bad: Vec<(usize, String)>| bad.into_iter().map(|(_, reason)| reason).collect::<String>();
        key.set(self, &old)
            .map_err(|bad| format!("`{name}` is recorded wrongly: {0}", wrong(bad), name = key.name))?;
        Ok(None)
    }

    /// Notes in a record what this configuration, of file and flags, says of a key that has other values from now on; none: those that it says.
    pub(crate) fn record_own(&self, key: Key, values: Option<Vec<String>>, record: &mut Record) {
        forget(record, key);
        let Some(values) = values else { return };
        record.values.insert(key.name.to_owned(), values);
        let file = record.file.get_or_insert_default();
        match self.given.get(key.name) {
            None => {}
            Some(Given::File) => _ = file.insert(key.name.to_owned(), key.show(self)),
            Some(Given::Flag) => _ = record.flags.insert(key.name.to_owned(), key.show(self)),
        }
    }

    /// What holds where a record overrides this configuration.
    ///
    /// # Errors
    /// In words, what is wrong with a value.
    pub(crate) fn with_own(&self, record: &Record) -> Result<Config, String> {
        let mut config = self.clone();
        for (name, values) in &record.values {
            let Some(key) = find(name) else { continue };
            key.set(&mut config, values).map_err(|bad| {
                let reasons = bad.into_iter().map(|(_, reason)| reason).collect::<Vec<_>>();
                format!("`{name}`: {}", reasons.join("; "))
            })?;
        }
        Ok(config)
    }

    /// What is wrong with these settings in a cluster.
    pub fn not_of_a_cluster(&self) -> Option<String> {
        let text = "`on-log-failure`: a node of a cluster that cannot write its log must not answer as one that has everything: leave it at `exit`. \
                    What file, flags or the record of this server say otherwise, a start with `--on-log-failure exit` overrides";
        (self.on_log_failure == OnLogFailure::ReadOnly).then(|| text.to_owned())
    }
}

fn of(record: &Record, given: Given) -> Option<&dsa::settings::Texts> {
    match given {
        Given::File => record.file.as_ref(),
        Given::Flag => Some(&record.flags),
    }
}

/// File and flags count from now on.
fn forget(record: &mut Record, key: Key) {
    record.values.remove(key.name);
    record.flags.remove(key.name);
    record.file.iter_mut().for_each(|file| _ = file.remove(key.name));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::{NODE_NAMES, changeable};
    use dsa::settings::Scope;

    fn config(file: &str, flags: &[(&str, &str)]) -> Config {
        let mut config = crate::config::read("test", file).config;
        for (name, value) in flags {
            config.set(name, &[(*value).to_owned()]).expect("it is good");
        }
        config
    }

    const KEY: &str = "log.keep-files";

    fn changed(start: &Config, value: &str) -> Record {
        let mut record = Record::default();
        start.record_own(find(KEY).expect("it is a key"), Some(vec![value.to_owned()]), &mut record);
        record
    }

    /// What a start makes of it: the value, and whether it is recorded.
    fn settled(mut start: Config, record: &mut Record) -> (u64, bool, usize) {
        let changes = start.settle_node(record).expect("it is good");
        (start.logs.rotation.keep, record.values.contains_key(KEY), changes.len())
    }

    #[test]
    fn they_are_settings_of_a_node() {
        assert_eq!(changeable().count(), NODE_NAMES.len());
        assert!(changeable().all(|key| key.scope == Scope::Node && !key.is_online()));
    }

    #[test]
    fn what_was_changed_holds_until_file_or_flags_say_something_else() {
        let (file, other) = ("[log]\nkeep-files = 3\n", "[log]\nkeep-files = 4\n");
        for start in [config("", &[]), config(file, &[]), config(file, &[(KEY, "5")])] {
            let mut record = changed(&start, "7");
            let before = record.clone();
            assert_eq!(settled(start, &mut record), (7, true, 0));
            assert_eq!(record, before, "a start that changes nothing writes nothing");
        }
        let of_file = changed(&config(file, &[]), "7");
        assert_eq!(settled(config(other, &[]), &mut of_file.clone()), (4, false, 1));
        assert_eq!(settled(config("", &[(KEY, "5")]), &mut of_file.clone()), (5, false, 1));
        let of_flag = changed(&config("", &[(KEY, "5")]), "7");
        assert_eq!(settled(config(file, &[]), &mut of_flag.clone()), (3, false, 1));
        // A value that the record has too is no change, but counts from now on.
        assert_eq!(settled(config("[log]\nkeep-files = 7\n", &[]), &mut of_file.clone()), (7, false, 0));
        // A file that no longer has the key leaves what was changed, and one that has it again is another.
        let mut record = of_file;
        assert_eq!(settled(config("", &[]), &mut record), (7, true, 0));
        assert_eq!(settled(config(file, &[]), &mut record), (3, false, 1));
    }

    #[test]
    fn what_no_key_takes_is_named() {
        let mut record = Record::default();
        record.values.insert("threads".to_owned(), vec!["1".to_owned()]);
        assert!(Config::default().settle_node(&mut record).unwrap_err().contains("`threads`"));
        let mut record = changed(&Config::default(), "many");
        assert!(
            Config::default()
                .settle_node(&mut record)
                .unwrap_err()
                .contains("`log.keep-files` is recorded wrongly")
        );
        assert!(Config::default().with_own(&record).unwrap_err().contains("`many`"));
    }

    #[test]
    fn deleting_is_to_go_back() {
        let start = config("[log]\nkeep-files = 3\n", &[]);
        let mut record = changed(&start, "7");
        assert_eq!(start.with_own(&record).map(|config| config.logs.rotation.keep), Ok(7));
        start.record_own(find(KEY).expect("it is a key"), None, &mut record);
        assert_eq!(start.with_own(&record), Ok(start.clone()));
        assert!(record.values.is_empty() && record.file == Some(Default::default()));
    }
}
