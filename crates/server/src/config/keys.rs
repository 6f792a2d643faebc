//! The table of keys: one place for name, form, default, meaning and how it is set. The documentation and the file
//! reader come from it; the flags of `pando serve` are held to it by a test.

use super::value::{Listen, mode, mode_text};
use super::{Config, Index};
use dsa::settings::value::{bytes, number, on_off, switch};
use dsa::settings::{self, Fixed};
use model::limits::MESSAGE_BYTES_MAX;
use std::path::PathBuf;
use std::str::FromStr;

/// Values that are bad, by their place, and why.
pub(super) type Bad = Vec<(usize, String)>;

/// Sets a key from its values. Of a key with many, those that are good are kept although others are bad.
type Set = fn(&mut Config, &[String]) -> Result<(), Bad>;
/// The values of a key.
type Show = fn(&Config) -> Vec<String>;

/// One configuration key.
pub struct Key {
    /// Name in the file; those of a section as `section.name`.
    pub name: &'static str,
    /// Form of a value, as in `--help`.
    pub form: &'static str,
    /// Whether it may have several values: an array in the file, a repeated flag.
    pub many: bool,
    /// What holds when it is absent, in words.
    pub default: &'static str,
    /// What it does.
    pub text: &'static str,
    set: Set,
    /// Nothing for one whose values may change while the server runs: those are the agent's to tell.
    show: Show,
}

impl Key {
    /// Sets it from text.
    pub(super) fn set(&self, config: &mut Config, values: &[String]) -> Result<(), Bad> {
        if !self.many && values.len() != 1 {
            return Err(vec![(0, format!("`{}` takes one value", self.name))]);
        }
        (self.set)(config, values)
    }

    /// The attribute of `cn=config` that shows it.
    pub fn attribute(&self) -> String {
        if self.name == "index" {
            return "olcDbIndex".to_owned();
        }
        let word = |word: &str| word[..1].to_uppercase() + &word[1..];
        "pando".to_owned() + &self.name.split(['-', '.']).map(word).collect::<String>()
    }

    /// Can it be changed while the server runs?
    pub fn is_online(&self) -> bool {
        self.name == "index" || settings::find(self.name).is_some()
    }
}

/// The keys that hold as long as the process, as they are in force. Of secrets only where they lie.
pub(crate) fn fixed(config: &Config) -> Vec<Fixed> {
    let fixed = KEYS.iter().filter(|key| !key.is_online());
    let show = |key: &Key| Fixed { key: key.name, attribute: key.attribute(), values: (key.show)(config) };
    fixed.map(show).collect()
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    Key {
        name: "memory",
        form: "on|off",
        many: false,
        default: "off",
        text: "Keep the directory in memory only: what was written is gone when the server ends.",
        set: |c, v| put(&mut c.memory, one(v, switch).map(Some)),
        show: |c| vec![on_off(c.data.is_none())],
    },
    Key {
        name: "data",
        form: "DIR",
        many: false,
        default: "`pando-data` in the folder where the server is started, unless `memory` is on",
        text: "A directory on disk that makes what is written last. It is made if it is not there; one process uses it at \
               a time. Served from memory all the same.",
        set: |c, v| put(&mut c.data, one(v, path).map(Some)),
        show: |c| paths(&c.data),
    },
    Key {
        name: "sync",
        form: "always|interval=MS|none",
        many: false,
        default: "always",
        text: "When a write to `data` counts as done: when it is on the disk (always); when the system has it, which \
               writes it down within so many milliseconds (interval=MS) or when it likes (none). The latter two outlive \
               the process but not a power failure.",
        set: |c, v| put(&mut c.sync, one(v, mode)),
        show: |c| vec![mode_text(c.sync)],
    },
    Key {
        name: "on-log-failure",
        form: "exit|read-only",
        many: false,
        default: "exit",
        text: "What to do when the disk fails to keep the log: end, with a code that is not 0, or go on answering searches \
               and refuse all writes.",
        set: |c, v| put(&mut c.on_log_failure, one(v, parse)),
        show: |c| vec![c.on_log_failure.to_string()],
    },
    Key {
        name: "snapshot-after",
        form: "BYTES",
        many: false,
        default: "the size of the directory, 256 MiB to 1 GiB",
        text: "Bytes of log after which `data` gets a snapshot, and files of the log that it replaces are used again. It is \
               written with rests, in 30 s or three quarters of as much log again at most. The less, the shorter a \
               start after a crash, and the more is written.",
        set: |c, v| put(&mut c.snapshot_after, one(v, bytes).map(Some)),
        show: |c| texts(c.snapshot_after),
    },
    Key {
        name: "snapshot-interval",
        form: "SECONDS",
        many: false,
        default: "900",
        text: "Seconds after which `data` gets a snapshot if something was written since the last; 0: only `snapshot-after` \
               and a clean end make one.",
        set: |c, v| put(&mut c.snapshot_interval_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.snapshot_interval_s.to_string()],
    },
    Key {
        name: "archive",
        form: "DIR",
        many: false,
        default: "none",
        text: "A folder to which files of the log are copied before they are used again: `pando restore` goes from a backup \
               to any point in time with it. While it cannot be written, log files are kept and take room. Nothing in \
               it is ever removed.",
        set: |c, v| put(&mut c.archive, one(v, path).map(Some)),
        show: |c| paths(&c.archive),
    },
    Key {
        name: "suffix",
        form: "DN",
        many: true,
        default: "none: at least one is needed",
        text: "A naming context to hold. The entry itself comes by import or add.",
        set: |c, v| each(&mut c.suffixes, v, dn),
        show: |c| c.suffixes.clone(),
    },
    Key {
        name: "listen",
        form: "ldap://HOST:PORT",
        many: true,
        default: "ldap://127.0.0.1:389",
        text: "An address to serve. Port 0 lets the system pick one; the ready line tells which.",
        set: |c, v| each(&mut c.listen, v, parse::<Listen>),
        show: |c| texts(&c.listen),
    },
    Key {
        name: "root-dn",
        form: "DN",
        many: false,
        default: "none",
        text: "A name that is allowed everything. It needs no entry; its password is in `root-password-file`, and with that file no \
               other binds as it, whatever an entry of this name has. Only it gives an entry this name.",
        set: |c, v| put(&mut c.root_dn, one(v, dn).map(Some)),
        show: |c| texts(&c.root_dn),
    },
    Key {
        name: "root-password-file",
        form: "FILE",
        many: false,
        default: "none",
        text: "A file whose first line is the password of `root-dn`.",
        set: |c, v| put(&mut c.root_password_file, one(v, path).map(Some)),
        show: |c| paths(&c.root_password_file),
    },
    Key {
        name: "write-dn",
        form: "DN",
        many: true,
        default: "none",
        text: "A name that may change every entry, as `root-dn` may. It reads no passwords, changes no configuration and does not \
               become `root-dn`; but it can give any other entry a password ([secrets](controls.md#secrets)).",
        set: |c, v| each(&mut c.writers, v, dn),
        show: |c| c.writers.clone(),
    },
    Key {
        name: "proxy-dn",
        form: "DN",
        many: true,
        default: "none",
        text: "A name that may act as others with the proxied authorization control, as `root-dn` always may; but never as \
               `root-dn` or one that `write-dn` names.",
        set: |c, v| each(&mut c.proxies, v, dn),
        show: |c| c.proxies.clone(),
    },
    Key {
        name: "password-scheme",
        form: "ssha|clear",
        many: false,
        default: "ssha",
        text: "How passwords are stored that are set with the password modify operation, or by a user's modify of its own: as a \
               salted hash or as they are. What an add, another modify or an import brings is stored as it is written.",
        set: |c, v| put(&mut c.password_scheme, one(v, parse)),
        show: |c| vec![c.password_scheme.to_string()],
    },
    Key {
        name: "anonymous",
        form: "none|read",
        many: false,
        default: "none",
        text: "What clients may see that have not bound: the root DSE and the subschema only, or what users may read.",
        set: |c, v| put(&mut c.anonymous, one(v, parse)),
        show: |c| vec![c.anonymous.to_string()],
    },
    Key {
        name: "schema",
        form: "FILE",
        many: true,
        default: "none beyond the standard schema",
        text: "A file of schema definitions, in the form of RFC 4512 or of OpenLDAP's LDIF, in any order. The name of a \
               built-in schema without a path, such as `dvtds`, is taken from the binary.",
        set: |c, v| each(&mut c.schema, v, non_empty),
        show: |c| c.schema.clone(),
    },
    Key {
        name: "schema-check",
        form: "on|off",
        many: false,
        default: "on",
        text: "Whether every write is held to the schema.",
        set: |c, v| put(&mut c.schema_check, one(v, switch)),
        show: |c| vec![on_off(c.schema_check)],
    },
    Key {
        name: "operational-attributes",
        form: "on|off",
        many: false,
        default: "on",
        text: "Whether entries have entryUUID, entryCSN and the times and names of their making and last change. Fixed \
               when the directory is created. When off, structuralObjectClass, subschemaSubentry and hasSubordinates \
               are still answered when asked for by name.",
        set: |c, v| put(&mut c.operational_attributes, one(v, switch)),
        show: |c| vec![on_off(c.operational_attributes)],
    },
    Key {
        name: "index",
        form: "ATTR:eq[,pres,sub,ord]",
        many: true,
        default: "none",
        text: "Indexes of an attribute: equality, presence, substrings, ordering. `pando index` makes more, also while it serves.",
        set: |c, v| each(&mut c.indexes, v, parse::<Index>),
        show: |_| Vec::new(),
    },
    Key {
        name: "memory-max",
        form: "BYTES",
        many: false,
        default: "80 % of the memory of the machine, or of the control group",
        text: "Bytes that the directory may occupy, 896 GiB at most; units KiB, MiB, GiB and TiB. Beyond it adds, and changes that make an \
               entry larger, are refused with adminLimitExceeded; other changes and deletes go on.",
        set: |c, v| put(&mut c.memory_bytes_max, one(v, bytes).map(Some)),
        show: |c| vec![c.memory_bytes_max().to_string()],
    },
    Key {
        name: "import",
        form: "FILE",
        many: true,
        default: "none",
        text: "Files or FIFOs of LDIF or of BER adds to load before the first client is served, all at the same time.",
        set: |c, v| each(&mut c.import, v, path),
        show: |c| paths(&c.import),
    },
    Key {
        name: "threads",
        form: "N",
        many: false,
        default: "one for each core",
        text: "IO threads. A connection stays on the one that it is given.",
        set: |c, v| put(&mut c.options.threads, one(v, |t| number(t, 1, 1024))),
        show: |c| vec![c.options.threads.to_string()],
    },
    Key {
        name: "queue-length-oid",
        form: "OID",
        many: false,
        default: "none",
        text: "A further OID under which clients may send the queue length control, without criticality; its own is always \
               known.",
        set: |c, v| put(&mut c.queue_length_oid, one(v, oid).map(Some)),
        show: |c| texts(&c.queue_length_oid),
    },
    Key {
        name: "txn-implicit-begin",
        form: "on|off",
        many: false,
        default: "off",
        text: "Whether a client may choose the identifier of a transaction: the first update that names it begins the \
               transaction.",
        set: |c, v| online(c, "txn-implicit-begin", v),
        show: |_| Vec::new(),
    },
    Key {
        name: "txn-implicit-membership",
        form: "on|off",
        many: false,
        default: "off",
        text: "Whether an update without a control belongs to the transaction that its session has open.",
        set: |c, v| online(c, "txn-implicit-membership", v),
        show: |_| Vec::new(),
    },
    Key {
        name: "txn-search",
        form: "on|off",
        many: false,
        default: "off",
        text: "Whether a search or compare that names a transaction, by the control of its updates, sees what they have made \
               so far.",
        set: |c, v| online(c, "txn-search", v),
        show: |_| Vec::new(),
    },
    Key {
        name: "txn-updates-max",
        form: "N",
        many: false,
        default: "10000",
        text: "Updates that a transaction may have.",
        set: |c, v| online(c, "txn-updates-max", v),
        show: |_| Vec::new(),
    },
    Key {
        name: "txn-bytes-max",
        form: "BYTES",
        many: false,
        default: "4MiB",
        text: "Bytes of updates that a transaction may have, 16 MiB at most; units KiB and MiB.",
        set: |c, v| online(c, "txn-bytes-max", v),
        show: |_| Vec::new(),
    },
    Key {
        name: "txn-age-max",
        form: "MS",
        many: false,
        default: "60000",
        text: "Milliseconds that a transaction may be open. It is aborted then, and its client told.",
        set: |c, v| online(c, "txn-age-max", v),
        show: |_| Vec::new(),
    },
    Key {
        name: "txn-open-max",
        form: "N",
        many: false,
        default: "1000",
        text: "Transactions that the server has open at once. 0: none is begun.",
        set: |c, v| online(c, "txn-open-max", v),
        show: |_| Vec::new(),
    },
    Key {
        name: "txn-precedence",
        form: "N:DN",
        many: true,
        default: "none: all have 0",
        text: "Precedence, 0 to 9, of the transactions of the clients whose names are a DN or lie below it; the highest \
               that fits counts. One that goes before another takes from it what both want to change.",
        set: |c, v| online(c, "txn-precedence", v),
        show: |_| Vec::new(),
    },
    Key {
        name: "limits.size",
        form: "N",
        many: false,
        default: "0: no limit",
        text: "Entries that one search may return, on all its pages together if it has several, for everybody but the root DN.",
        set: |c, v| put(&mut c.size_limit, one(v, |t| number(t, 0, i32::MAX as u64))),
        show: |c| vec![c.size_limit.to_string()],
    },
    Key {
        name: "limits.time",
        form: "SECONDS",
        many: false,
        default: "0: no limit",
        text: "Seconds that one search may take, for everybody but the root DN.",
        set: |c, v| put(&mut c.time_limit_s, one(v, |t| number(t, 0, i32::MAX as u64))),
        show: |c| vec![c.time_limit_s.to_string()],
    },
    Key {
        name: "limits.update-bytes",
        form: "BYTES",
        many: false,
        default: "256MiB",
        text: "Bytes of updates that all clients together have on their way through the log. Clients beyond it wait, in the \
               order in which they came: none is refused, but their requests are read no further.",
        set: |c, v| put(&mut c.clients.update_bytes_max, one(v, bytes)),
        show: |c| vec![c.clients.update_bytes_max.to_string()],
    },
    Key {
        name: "limits.idle-timeout",
        form: "SECONDS",
        many: false,
        default: "3600",
        text: "Seconds that a connection may wait for its next request before it gets a Notice of Disconnection; 0: for ever.",
        set: |c, v| put(&mut c.options.idle_timeout_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.idle_timeout_s.to_string()],
    },
    Key {
        name: "limits.idle-anonymous",
        form: "SECONDS",
        many: false,
        default: "900",
        text: "The same for clients that have not bound, if it is less.",
        set: |c, v| put(&mut c.options.unbound_idle_timeout_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.unbound_idle_timeout_s.to_string()],
    },
    Key {
        name: "limits.message-timeout",
        form: "SECONDS",
        many: false,
        default: "120",
        text: "Seconds that one request may take from its first byte to its last; 0: any time.",
        set: |c, v| put(&mut c.options.message_timeout_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.message_timeout_s.to_string()],
    },
    Key {
        name: "limits.message-anonymous",
        form: "BYTES",
        many: false,
        default: "256KiB",
        text: "Bytes of one request of a client that has not bound, 16 MiB at most. Others may send 16 MiB.",
        set: |c, v| put(&mut c.clients.unbound_message_bytes_max, one(v, message_bytes)),
        show: |c| vec![c.clients.unbound_message_bytes_max.to_string()],
    },
    Key {
        name: "limits.client-memory",
        form: "BYTES",
        many: false,
        default: "an eighth of `memory-max`, 64 MiB to 4 GiB",
        text: "Bytes that are kept for all clients together: requests that are not complete, answers that were not taken, \
               filters of searches under way, open transactions. An eighth of it is for clients that have not bound. When it is used up, \
               clients are read no further and long searches answered busy.",
        set: |c, v| put(&mut c.client_memory, one(v, bytes).map(Some)),
        show: |c| vec![c.client_memory().to_string()],
    },
    Key {
        name: "limits.connections",
        form: "N",
        many: false,
        default: "0: as many as files may be open, less 128",
        text: "Connections at once. One more is closed at once; a few more are taken from the same machine.",
        set: |c, v| put(&mut c.options.connections_max, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.connections_max.to_string()],
    },
    Key {
        name: "limits.connections-per-address",
        form: "N",
        many: false,
        default: "0: any number",
        text: "Connections at once of one IPv4 address, or of one IPv6 network of 64 bits. One more is closed at once.",
        set: |c, v| put(&mut c.clients.address_connections_max, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.clients.address_connections_max.to_string()],
    },
    Key {
        name: "limits.old-versions",
        form: "BYTES",
        many: false,
        default: "a quarter of memory-max",
        text: "Bytes of old versions, of what was changed since, that searches under way may hold. Beyond it the oldest search is ended with \
               adminLimitExceeded, as it is when memory is short.",
        set: |c, v| put(&mut c.held_bytes_max, one(v, bytes).map(Some)),
        show: |c| vec![c.held_bytes_max.unwrap_or(c.memory_bytes_max() / dsa::held::SHARE).to_string()],
    },
    Key {
        name: "limits.old-versions-age",
        form: "SECONDS",
        many: false,
        default: "60",
        text: "Seconds that a search may hold old versions, if there are more than 8 MiB of them, before it is ended with \
               adminLimitExceeded; 0: until 600 s, which no search lasts longer than.",
        set: |c, v| put(&mut c.held_seconds_max, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.held_seconds_max.to_string()],
    },
    Key {
        name: "limits.write-timeout",
        form: "SECONDS",
        many: false,
        default: "60",
        text: "Seconds that a client may leave its answers untaken before it is cut off; 0: for ever.",
        set: |c, v| put(&mut c.options.write_timeout_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.write_timeout_s.to_string()],
    },
    Key {
        name: "limits.shutdown-timeout",
        form: "SECONDS",
        many: false,
        default: "10",
        text: "Seconds that connections have to finish what is in flight when the server ends.",
        set: |c, v| put(&mut c.options.shutdown_timeout_s, one(v, |t| number(t, 0, 3600))),
        show: |c| vec![c.options.shutdown_timeout_s.to_string()],
    },
];

/// The key called `name`.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Sets a key that can also be changed while the server runs.
fn online(config: &mut Config, name: &str, values: &[String]) -> Result<(), Bad> {
    settings::find(name).expect("the table has it").set(&mut config.settings, values)
}

fn texts<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}

fn paths<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<String> {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    paths.into_iter().map(|path| absolute(path).display().to_string()).collect()
}

fn put<T>(place: &mut T, value: Result<T, Bad>) -> Result<(), Bad> {
    *place = value?;
    Ok(())
}

fn each<T>(
    place: &mut Vec<T>,
    values: &[String],
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(), Bad> {
    let mut bad = Bad::new();
    place.clear();
    for (at, text) in values.iter().enumerate() {
        match parse(text) {
            Ok(value) => place.push(value),
            Err(reason) => bad.push((at, reason)),
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(bad) }
}

fn one<T>(values: &[String], parse: impl Fn(&str) -> Result<T, String>) -> Result<T, Bad> {
    parse(&values[0]).map_err(|reason| vec![(0, reason)])
}

fn message_bytes(text: &str) -> Result<usize, String> {
    settings::value::bytes_within(text, 1 << 10, MESSAGE_BYTES_MAX as u64).map(|bytes| bytes as usize)
}

fn parse<T: FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
}

fn dn(text: &str) -> Result<String, String> {
    match model::dn::parse(text.as_bytes()) {
        Ok(rdns) if rdns.is_empty() => Err("the empty DN is the root DSE; name an entry".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("`{text}` is not a DN: {error}")),
    }
}

fn oid(text: &str) -> Result<String, String> {
    match model::oid::is_numeric(text.as_bytes()) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is not an OID, such as 1.2.3.4")),
    }
}

fn non_empty(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("a file name is expected".to_owned()) } else { Ok(text.to_owned()) }
}

fn path(text: &str) -> Result<std::path::PathBuf, String> {
    non_empty(text).map(Into::into)
}

#[cfg(test)]
mod tests;
