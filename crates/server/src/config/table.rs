//! The rows of the keys that hold as long as the process, and of `index`: name, form, scope, default, meaning, and how text sets
//! it. The rows of the other keys, which change while the server runs, are the agent's.

use super::Config;
use super::value::{Listen, mode, mode_text};
use dsa::settings::value::{bytes, number, on_off, switch};
use dsa::settings::{self, About, Bad, Row, Scope, Values};
use model::limits::MESSAGE_BYTES_MAX;
use std::path::PathBuf;
use std::str::FromStr;
use store::IndexSettings;

/// Every one, in the order of the documentation.
pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        about: About {
            name: "memory",
            form: "on|off",
            values: Values::Switch,
            scope: Scope::Node,
            default: "off",
            text: "Keep the directory in memory only: what was written is gone when the server ends.",
        },
        set: |c, v| put(&mut c.memory, one(v, switch).map(Some)),
        show: |c| vec![on_off(c.data.is_none())],
    },
    Row {
        about: About {
            name: "data",
            form: "DIR",
            values: Values::One,
            scope: Scope::Node,
            default: "`pando-data` in the folder where the server is started, unless `memory` is on",
            text: "A directory on disk that makes what is written last. It is made if it is not there; one process uses it at \
                   a time. Served from memory all the same.",
        },
        set: |c, v| put(&mut c.data, one(v, path).map(Some)),
        show: |c| paths(&c.data),
    },
    Row {
        about: About {
            name: "sync",
            form: "always|interval=MS|none",
            values: Values::One,
            scope: Scope::Directory,
            default: "always",
            text: "When a write to `data` counts as done: when it is on the disk (always); when the system has it, which \
                   writes it down within so many milliseconds (interval=MS) or when it likes (none). The latter two outlive \
                   the process but not a power failure.",
        },
        set: |c, v| put(&mut c.sync, one(v, mode)),
        show: |c| vec![mode_text(c.sync)],
    },
    Row {
        about: About {
            name: "on-log-failure",
            form: "exit|read-only",
            values: Values::One,
            scope: Scope::Node,
            default: "exit",
            text: "What to do when the disk fails to keep the log: end, with a code that is not 0, or go on answering searches \
                   and refuse all writes.",
        },
        set: |c, v| put(&mut c.on_log_failure, one(v, parse)),
        show: |c| vec![c.on_log_failure.to_string()],
    },
    Row {
        about: About {
            name: "snapshot-after",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Node,
            default: "the size of the directory, 256 MiB to 1 GiB",
            text: "Bytes of log after which `data` gets a snapshot, and files of the log that it replaces are used again. It is \
                   written with rests, in 30 s or three quarters of as much log again at most. The less, the shorter a \
                   start after a crash, and the more is written.",
        },
        set: |c, v| put(&mut c.snapshot_after, one(v, bytes).map(Some)),
        show: |c| texts(c.snapshot_after),
    },
    Row {
        about: About {
            name: "snapshot-interval",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Node,
            default: "900",
            text: "Seconds after which `data` gets a snapshot if something was written since the last; 0: only `snapshot-after` \
                   and a clean end make one.",
        },
        set: |c, v| put(&mut c.snapshot_interval_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.snapshot_interval_s.to_string()],
    },
    Row {
        about: About {
            name: "archive",
            form: "DIR",
            values: Values::One,
            scope: Scope::Node,
            default: "none",
            text: "A folder to which files of the log are copied before they are used again: `pando restore` goes from a backup \
                   to any point in time with it. While it cannot be written, log files are kept and take room. Nothing in \
                   it is ever removed.",
        },
        set: |c, v| put(&mut c.archive, one(v, path).map(Some)),
        show: |c| paths(&c.archive),
    },
    Row {
        about: About {
            name: "suffix",
            form: "DN",
            values: Values::Each,
            scope: Scope::Rules,
            default: "none: at least one is needed",
            text: "A naming context to hold. The entry itself comes by import or add.",
        },
        set: |c, v| each(&mut c.suffixes, v, dn),
        show: |c| c.suffixes.clone(),
    },
    Row {
        about: About {
            name: "listen",
            form: "ldap://HOST:PORT",
            values: Values::Each,
            scope: Scope::Node,
            default: "ldap://127.0.0.1:389",
            text: "An address to serve. Port 0 lets the system pick one; the ready line tells which.",
        },
        set: |c, v| each(&mut c.listen, v, parse::<Listen>),
        show: |c| texts(&c.listen),
    },
    Row {
        about: About {
            name: "root-dn",
            form: "DN",
            values: Values::One,
            scope: Scope::Directory,
            default: "none",
            text: "A name that is allowed everything. It needs no entry; its password is in `root-password-file`, and with that file no \
                   other binds as it, whatever an entry of this name has. Only it gives an entry this name.",
        },
        set: |c, v| put(&mut c.root_dn, one(v, dn).map(Some)),
        show: |c| texts(&c.root_dn),
    },
    Row {
        about: About {
            name: "root-password-file",
            form: "FILE",
            values: Values::One,
            scope: Scope::Hash,
            default: "none",
            text: "A file whose first line is the password of `root-dn`.",
        },
        set: |c, v| put(&mut c.root_password_file, one(v, path).map(Some)),
        show: |c| paths(&c.root_password_file),
    },
    Row {
        about: About {
            name: "write-dn",
            form: "DN",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none",
            text: "A name that may change every entry, as `root-dn` may. It reads no passwords, changes no configuration and does not \
                   become `root-dn`; but it can give any other entry a password ([secrets](controls.md#secrets)).",
        },
        set: |c, v| each(&mut c.writers, v, dn),
        show: |c| c.writers.clone(),
    },
    Row {
        about: About {
            name: "proxy-dn",
            form: "DN",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none",
            text: "A name that may act as others with the proxied authorization control, as `root-dn` always may; but never as \
                   `root-dn` or one that `write-dn` names.",
        },
        set: |c, v| each(&mut c.proxies, v, dn),
        show: |c| c.proxies.clone(),
    },
    Row {
        about: About {
            name: "password-scheme",
            form: "ssha|clear",
            values: Values::One,
            scope: Scope::Directory,
            default: "ssha",
            text: "How passwords are stored that are set with the password modify operation, or by a user's modify of its own: as a \
                   salted hash or as they are. What an add, another modify or an import brings is stored as it is written.",
        },
        set: |c, v| put(&mut c.password_scheme, one(v, parse)),
        show: |c| vec![c.password_scheme.to_string()],
    },
    Row {
        about: About {
            name: "anonymous",
            form: "none|read",
            values: Values::One,
            scope: Scope::Directory,
            default: "none",
            text: "What clients may see that have not bound: the root DSE and the subschema only, or what users may read.",
        },
        set: |c, v| put(&mut c.anonymous, one(v, parse)),
        show: |c| vec![c.anonymous.to_string()],
    },
    Row {
        about: About {
            name: "schema",
            form: "FILE",
            values: Values::List,
            scope: Scope::Rules,
            default: "none beyond the standard schema",
            text: "A file of schema definitions, in the form of RFC 4512 or of OpenLDAP's LDIF, in any order. The name of a \
                   built-in schema without a path, such as `dvtds`, is taken from the binary.",
        },
        set: |c, v| each(&mut c.schema, v, non_empty),
        show: |c| c.schema.clone(),
    },
    Row {
        about: About {
            name: "schema-check",
            form: "on|off",
            values: Values::One,
            scope: Scope::Rules,
            default: "on",
            text: "Whether every write is held to the schema.",
        },
        set: |c, v| put(&mut c.schema_check, one(v, switch)),
        show: |c| vec![on_off(c.schema_check)],
    },
    Row {
        about: About {
            name: "operational-attributes",
            form: "on|off",
            values: Values::One,
            scope: Scope::Rules,
            default: "on",
            text: "Whether entries have entryUUID, entryCSN and the times and names of their making and last change. Fixed \
                   when the directory is created. When off, structuralObjectClass, subschemaSubentry and hasSubordinates \
                   are still answered when asked for by name.",
        },
        set: |c, v| put(&mut c.operational_attributes, one(v, switch)),
        show: |c| vec![on_off(c.operational_attributes)],
    },
    Row {
        about: About {
            name: "index",
            form: "ATTR:eq[,pres,sub,ord]",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none",
            text: "Indexes of an attribute: equality, presence, substrings, ordering. `pando index` makes more, also while it serves.",
        },
        set: |c, v| each(&mut c.indexes, v, parse::<IndexSettings>),
        show: |c| texts(&c.indexes),
    },
    Row {
        about: About {
            name: "memory-max",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "`memory-share` of the memory of the machine, or of the control group",
            text: "Bytes that the directory may occupy, 896 GiB at most; units KiB, MiB, GiB and TiB. Beyond it adds, and changes that make an \
                   entry larger, are refused with adminLimitExceeded; other changes and deletes go on.",
        },
        set: |c, v| put(&mut c.memory_bytes_max, one(v, bytes).map(Some)),
        show: |c| vec![c.memory_bytes_max().to_string()],
    },
    Row {
        about: About {
            name: "memory-share",
            form: "PERCENT",
            values: Values::One,
            scope: Scope::Node,
            default: "80",
            text: "Percent of the memory of the machine, or of the control group, that the directory may occupy where `memory-max` \
                   does not say how many bytes: 1 to 100.",
        },
        set: |c, v| put(&mut c.memory_share, one(v, |t| number(t, 1, 100))),
        show: |c| vec![c.memory_share.to_string()],
    },
    Row {
        about: About {
            name: "import",
            form: "FILE",
            values: Values::Each,
            scope: Scope::Node,
            default: "none",
            text: "Files or FIFOs of LDIF or of BER adds to load before the first client is served, all at the same time.",
        },
        set: |c, v| each(&mut c.import, v, path),
        show: |c| paths(&c.import),
    },
    Row {
        about: About {
            name: "threads",
            form: "N",
            values: Values::One,
            scope: Scope::Node,
            default: "one for each core",
            text: "IO threads. A connection stays on the one that it is given.",
        },
        set: |c, v| put(&mut c.options.threads, one(v, |t| number(t, 1, 1024))),
        show: |c| vec![c.options.threads.to_string()],
    },
    Row {
        about: About {
            name: "queue-length-oid",
            form: "OID",
            values: Values::One,
            scope: Scope::Node,
            default: "none",
            text: "A further OID under which clients may send the queue length control, without criticality; its own is always \
                   known.",
        },
        set: |c, v| put(&mut c.queue_length_oid, one(v, oid).map(Some)),
        show: |c| texts(&c.queue_length_oid),
    },
    Row {
        about: About {
            name: "limits.size",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "0: no limit",
            text: "Entries that one search may return, on all its pages together if it has several, for everybody but the root DN.",
        },
        set: |c, v| put(&mut c.size_limit, one(v, |t| number(t, 0, i32::MAX as u64))),
        show: |c| vec![c.size_limit.to_string()],
    },
    Row {
        about: About {
            name: "limits.time",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "0: no limit",
            text: "Seconds that one search may take, for everybody but the root DN.",
        },
        set: |c, v| put(&mut c.time_limit_s, one(v, |t| number(t, 0, i32::MAX as u64))),
        show: |c| vec![c.time_limit_s.to_string()],
    },
    Row {
        about: About {
            name: "limits.update-bytes",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "256MiB",
            text: "Bytes of updates that all clients together have on their way through the log. Clients beyond it wait, in the \
                   order in which they came: none is refused, but their requests are read no further.",
        },
        set: |c, v| put(&mut c.clients.update_bytes_max, one(v, bytes)),
        show: |c| vec![c.clients.update_bytes_max.to_string()],
    },
    Row {
        about: About {
            name: "limits.idle-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "3600",
            text: "Seconds that a connection may wait for its next request before it gets a Notice of Disconnection; 0: for ever.",
        },
        set: |c, v| put(&mut c.options.idle_timeout_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.idle_timeout_s.to_string()],
    },
    Row {
        about: About {
            name: "limits.idle-anonymous",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "900",
            text: "The same for clients that have not bound, if it is less.",
        },
        set: |c, v| put(&mut c.options.unbound_idle_timeout_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.unbound_idle_timeout_s.to_string()],
    },
    Row {
        about: About {
            name: "limits.message-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "120",
            text: "Seconds that one request may take from its first byte to its last; 0: any time.",
        },
        set: |c, v| put(&mut c.options.message_timeout_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.message_timeout_s.to_string()],
    },
    Row {
        about: About {
            name: "limits.message-anonymous",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "256KiB",
            text: "Bytes of one request of a client that has not bound, 16 MiB at most. Others may send 16 MiB.",
        },
        set: |c, v| put(&mut c.clients.unbound_message_bytes_max, one(v, message_bytes)),
        show: |c| vec![c.clients.unbound_message_bytes_max.to_string()],
    },
    Row {
        about: About {
            name: "limits.client-memory",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "an eighth of `memory-max`, 64 MiB to 4 GiB",
            text: "Bytes that are kept for all clients together: requests that are not complete, answers that were not taken, \
                   filters of searches under way, open transactions. An eighth of it is for clients that have not bound. When it is used up, \
                   clients are read no further and long searches answered busy.",
        },
        set: |c, v| put(&mut c.client_memory, one(v, bytes).map(Some)),
        show: |c| vec![c.client_memory().to_string()],
    },
    Row {
        about: About {
            name: "limits.connections",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "0: as many as files may be open, less 128",
            text: "Connections at once. One more is closed at once; a few more are taken from the same machine.",
        },
        set: |c, v| put(&mut c.options.connections_max, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.connections_max.to_string()],
    },
    Row {
        about: About {
            name: "limits.connections-per-address",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "0: any number",
            text: "Connections at once of one IPv4 address, or of one IPv6 network of 64 bits. One more is closed at once.",
        },
        set: |c, v| put(&mut c.clients.address_connections_max, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.clients.address_connections_max.to_string()],
    },
    Row {
        about: About {
            name: "limits.old-versions",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "a quarter of memory-max",
            text: "Bytes of old versions, of what was changed since, that searches under way may hold. Beyond it the oldest search is ended with \
                   adminLimitExceeded, as it is when memory is short.",
        },
        set: |c, v| put(&mut c.held_bytes_max, one(v, bytes).map(Some)),
        show: |c| vec![c.held_bytes_max.unwrap_or(c.memory_bytes_max() / dsa::held::SHARE).to_string()],
    },
    Row {
        about: About {
            name: "limits.old-versions-age",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "60",
            text: "Seconds that a search may hold old versions, if there are more than 8 MiB of them, before it is ended with \
                   adminLimitExceeded; 0: until 600 s, which no search lasts longer than.",
        },
        set: |c, v| put(&mut c.held_seconds_max, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.held_seconds_max.to_string()],
    },
    Row {
        about: About {
            name: "limits.write-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "60",
            text: "Seconds that a client may leave its answers untaken before it is cut off; 0: for ever.",
        },
        set: |c, v| put(&mut c.options.write_timeout_s, one(v, |t| number(t, 0, 1 << 31))),
        show: |c| vec![c.options.write_timeout_s.to_string()],
    },
    Row {
        about: About {
            name: "limits.shutdown-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "10",
            text: "Seconds that connections have to finish what is in flight when the server ends.",
        },
        set: |c, v| put(&mut c.options.shutdown_timeout_s, one(v, |t| number(t, 0, 3600))),
        show: |c| vec![c.options.shutdown_timeout_s.to_string()],
    },
];

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
