//! All keys: one row for each, of which come the reader of the file, the flags of `pando serve`, what `cn=config` shows, the template and
//! the documentation.

use super::table;
use super::value::{
    ON_AUDIT_FAILURE, access_word, form_word, log_form, log_values, log_values_word, logged_access, meant,
    path, paths, texts, word,
};
use super::{Config, near};
use dsa::settings::value::{bytes, number};
use dsa::settings::{Choices, Fixed, Holds, Row, Scope, Values, put};
use toml::Value;

/// Other names of keys in the file.
const ALIASES: [(&str, &str); 1] = [("passwords.schemes", "password-scheme")];

/// The rows of `log.*`, which come last.
const LOG: &[Row<Config>] = &[
    Row {
        name: "log.access",
        form: "off|sample|all",
        values: Values::One,
        scope: Scope::Node,
        default: "none: sample if there is `log.access-file`, else off",
        text: "Which operations have a line in the access log ([logs](logs.md)): none; binds, updates, failures, slow ones and a part of the \
               others, while the rest is counted; or all.",
        set: |c, v| put(&mut c.logs.access_asked, v, |t| logged_access(t).map(Some)),
        show: |c| {
            let is_said = c.logs.access_asked.is_some() || c.logs.access_file.is_some();
            is_said.then(|| access_word(c.logs.access()).to_owned()).into_iter().collect()
        },
    },
    Row {
        name: "log.format",
        form: "json|openldap|389|binary",
        values: Values::One,
        scope: Scope::Node,
        default: "json",
        text: "What the access log looks like: lines of JSON, as OpenLDAP's slapd writes them, or as 389 Directory Server does; or records, which \
               `pando log cat` makes lines of.",
        set: |c, v| put(&mut c.logs.format, v, log_form),
        show: |c| vec![form_word(c.logs.format).to_owned()],
    },
    Row {
        name: "log.access-file",
        form: "FILE|stdout|syslog|journald",
        values: Values::One,
        scope: Scope::Node,
        default: "none: standard error",
        text: "Where the lines of the access log go: to a file, which is begun anew within a second when it was moved away; to standard output; to syslog \
               or to the journal of systemd, by a socket (`syslog:PATH`, `journald:PATH`). `file:NAME` is a file of any name.",
        set: |c, v| put(&mut c.logs.access_file, v, |t| t.parse().map(Some)),
        show: |c| texts(&c.logs.access_file),
    },
    Row {
        name: "log.security-file",
        form: "FILE|stdout|syslog|journald",
        values: Values::One,
        scope: Scope::Node,
        default: "none: failed binds are summed up on standard error",
        text: "Where events go, as lines of the access log do: failed binds, binds of the root DN, passwords that came in the clear, locks, changes of the configuration, \
               limits that were reached, rights over others that were used, certificates that were read anew.",
        set: |c, v| put(&mut c.logs.security_file, v, |t| t.parse().map(Some)),
        show: |c| texts(&c.logs.security_file),
    },
    Row {
        name: "log.audit-file",
        form: "FILE",
        values: Values::One,
        scope: Scope::Node,
        default: "none: changes are not written down but in the log of the directory",
        text: "A file that has a line for every change that was applied, each once, whatever ends the server. It needs `data`.",
        set: |c, v| put(&mut c.logs.audit_file, v, |t| path(t).map(Some)),
        show: |c| paths(&c.logs.audit_file),
    },
    Row {
        name: "log.audit-on-failure",
        form: "continue|read-only",
        values: Values::One,
        scope: Scope::Node,
        default: "continue",
        text: "What to do while the audit log cannot be written: take changes, and name in the log later what is missing; or refuse all changes.",
        set: |c, v| put(&mut c.logs.on_audit_failure, v, |t| meant(t, &ON_AUDIT_FAILURE)),
        show: |c| vec![word(&c.logs.on_audit_failure, &ON_AUDIT_FAILURE)],
    },
    Row {
        name: "log.values",
        form: "all|hash|none",
        values: Values::One,
        scope: Scope::Node,
        default: "all",
        text: "Which values the access log and the audit log have of what is no secret: those of filters and of changes; of each a hash, which is the same for equal \
               values until the process ends; or none. Names of entries are logged in any case.",
        set: |c, v| put(&mut c.logs.values, v, log_values),
        show: |c| vec![log_values_word(c.logs.values)],
    },
    Row {
        name: "log.rotate-bytes",
        form: "BYTES",
        values: Values::One,
        scope: Scope::Node,
        default: "0",
        text: "A file of a log that has so many octets is moved away within a second, and begun anew: the time is put behind its name. 0: never.",
        set: |c, v| put(&mut c.logs.rotation.bytes, v, bytes),
        show: |c| vec![c.logs.rotation.bytes.to_string()],
    },
    Row {
        name: "log.rotate-seconds",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Node,
        default: "0",
        text: "A file of a log is begun anew each time that so many seconds of UTC are over: with 86400 at midnight. 0: never.",
        set: |c, v| put(&mut c.logs.rotation.seconds, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.logs.rotation.seconds.to_string()],
    },
    Row {
        name: "log.keep-files",
        form: "NUMBER",
        values: Values::One,
        scope: Scope::Node,
        default: "0",
        text: "So many files of a log that the server has moved away are kept, and older ones deleted; those of the audit log never are. 0: all are kept.",
        set: |c, v| put(&mut c.logs.rotation.keep, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.logs.rotation.keep.to_string()],
    },
    Row {
        name: "log.keep-seconds",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Node,
        default: "0",
        text: "Files of a log that the server has moved away are deleted when their last line is so old; those of the audit log never are. 0: they are kept.",
        set: |c, v| put(&mut c.logs.rotation.keep_seconds, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.logs.rotation.keep_seconds.to_string()],
    },
];

/// One configuration key. A default that is not a value is shown as none, and of secrets only where they lie.
pub type Key = &'static Row<Config>;

impl Holds for Config {
    fn choices(&self) -> &Choices {
        &self.settings
    }

    fn choices_mut(&mut self) -> &mut Choices {
        &mut self.settings
    }

    fn memory_bytes_max(&self) -> u64 {
        Config::memory_bytes_max(self)
    }
}

/// Every key, in the order of the documentation: sections come last.
pub fn keys() -> impl Iterator<Item = Key> {
    let own =
        |is_in_section: bool| table::rows().filter(move |key| key.section().is_empty() != is_in_section);
    // A section stands together: `access` has keys of both kinds.
    let is_late = |key: &Key| matches!(key.section(), "security" | "identity" | "limits");
    let online = |wants_late: bool| Row::online().filter(move |key| is_late(key) == wants_late);
    own(false).chain(online(false)).chain(own(true)).chain(online(true)).chain(LOG)
}

/// Settings of a server that it can change while it runs. What is not here is what the process is made with, or is found wrong only by a start.
pub(super) const NODE_NAMES: &[&str] = &[
    "on-log-failure",
    "snapshot-after",
    "snapshot-interval",
    "log.access",
    "log.audit-on-failure",
    "log.values",
    "log.rotate-bytes",
    "log.rotate-seconds",
    "log.keep-files",
    "log.keep-seconds",
];

/// Those keys, in the order of the documentation.
pub(crate) fn changeable() -> impl Iterator<Item = Key> {
    keys().filter(is_changeable_at_node)
}

/// Can this setting of a server be changed while it runs?
pub(crate) fn is_changeable_at_node(key: &Key) -> bool {
    NODE_NAMES.contains(&key.name)
}

/// The names of all.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    keys().map(|key| key.name)
}

/// The key called `name`.
pub(super) fn find(name: &str) -> Option<Key> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    keys().find(|key| key.name == name)
}

/// The key called `name`, as a file may call it.
///
/// # Errors
/// That there is none, with the one that is near.
pub fn known(name: &str) -> Result<Key, String> {
    find(name).ok_or_else(|| near::unknown(name, names()))
}

/// A line of a configuration file that gives a key these values.
pub fn line(key: Key, values: &[String]) -> String {
    let value = match values {
        [value] if !key.many() => Value::from(value.clone()),
        values => Value::from(values.to_vec()),
    };
    format!("{} = {value}", key.name)
}

/// Is this the name of a section of the file?
pub(super) fn is_section(name: &str) -> bool {
    let is_in = |key: &str| key.split_once('.').is_some_and(|(section, _)| section == name);
    keys().any(|key| is_in(key.name)) || ALIASES.iter().any(|(alias, _)| is_in(alias))
}

/// The keys that hold as long as the process, as they are in force.
pub(crate) fn fixed(config: &Config) -> Vec<Fixed> {
    let show = |key: Key| Fixed { key: key.name, attribute: key.attribute(), values: key.show(config) };
    keys().filter(|key| !key.is_online()).map(show).collect()
}

#[cfg(test)]
mod tests;
