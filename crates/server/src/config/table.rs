//! The rows of the keys that hold as long as the process, and of `index`: name, form, scope, default, meaning, and how text sets
//! it. The rows of the other keys, which change while the server runs, are the agent's.

use super::Config;
use super::listen::Listen;
use super::peer_mapping;
use super::value::{
    ANONYMOUS, ON_LOG_FAILURE, dn, meant, mode, mode_text, scheme_words, schemes, tls_version, word,
};
use dsa::settings::value::{bytes, number, on_off, switch};
use dsa::settings::{self, Bad, Row, Scope, Values, put};
use model::limits::{ACCESS_SECRETS_MAX, MESSAGE_BYTES_MAX};
use std::path::PathBuf;
use std::str::FromStr;
use store::{IndexKind, IndexSettings};

/// Every one, in the order of the documentation.
pub(super) const ROWS: &[Row<Config>] = &[
    Row {
        name: "memory",
        form: "on|off",
        values: Values::Switch,
        scope: Scope::Node,
        default: "off",
        text: "Keep the directory in memory only: all changes are lost when the server ends.",
        set: |c, v| put(&mut c.memory, v, |t| switch(t).map(Some)),
        show: |c| vec![on_off(c.data.is_none())],
    },
    Row {
        name: "data",
        form: "DIR",
        values: Values::One,
        scope: Scope::Node,
        default: "`pando-data` in the folder where the server is started, unless `memory` is on",
        text: "The data directory, which makes changes durable: they are logged there. It is created if missing. \
               One process uses it at a time. The directory is served from memory all the same.",
        set: |c, v| put(&mut c.data, v, |t| path(t).map(Some)),
        show: |c| paths(&c.data),
    },
    Row {
        name: "sync",
        form: "always|interval=MS|none",
        values: Values::One,
        scope: Scope::Directory,
        default: "always",
        text: "When a change is acknowledged: when it is synced to the disk (always), or when the system has it, \
               which is synced within MS milliseconds (interval=MS) or left to the system (none). With the latter \
               two a power failure may lose the last changes; a kill of the process loses none.",
        set: |c, v| put(&mut c.sync, v, mode),
        show: |c| vec![mode_text(c.sync)],
    },
    Row {
        name: "on-log-failure",
        form: "exit|read-only",
        values: Values::One,
        scope: Scope::Node,
        default: "exit",
        text: "What to do when the log cannot be written: end with exit code 1, or continue to answer searches and \
               refuse all changes.",
        set: |c, v| put(&mut c.on_log_failure, v, |t| meant(t, &ON_LOG_FAILURE)),
        show: |c| vec![word(&c.on_log_failure, &ON_LOG_FAILURE)],
    },
    Row {
        name: "snapshot-after",
        form: "BYTES",
        values: Values::One,
        scope: Scope::Node,
        default: "the size of the directory, 256 MiB to 1 GiB",
        text: "Bytes of log after which a snapshot of `data` is made, so that older log files can be reused. \
               Writing it is throttled, and ends within 30 s or before three quarters of as much log again. A \
               smaller value makes a start after a crash faster, and writes more.",
        set: |c, v| put(&mut c.snapshot_after, v, |t| bytes(t).map(Some)),
        show: |c| texts(c.snapshot_after),
    },
    Row {
        name: "snapshot-interval",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Node,
        default: "900",
        text: "Seconds after which a snapshot of `data` is made if something has changed since the last; 0: only by \
               `snapshot-after` and at a clean end.",
        set: |c, v| put(&mut c.snapshot_interval_s, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.snapshot_interval_s.to_string()],
    },
    Row {
        name: "archive",
        form: "DIR",
        values: Values::One,
        scope: Scope::Node,
        default: "none",
        text: "A folder to which log files are copied before they are reused. With it `pando restore` goes from a \
               backup to any point in time. While it cannot be written, log files are kept and take disk space. \
               Nothing in it is ever removed.",
        set: |c, v| put(&mut c.archive, v, |t| path(t).map(Some)),
        show: |c| paths(&c.archive),
    },
    Row {
        name: "suffix",
        form: "DN",
        values: Values::Each,
        scope: Scope::Rules,
        default: "none: a new directory needs at least one, another keeps its own",
        text: "A naming context to hold. Its entry comes by import or add.",
        set: |c, v| each(&mut c.suffixes, v, dn),
        show: |c| c.suffixes.clone(),
    },
    Row {
        name: "listen",
        form: "ldap[s]://HOST:PORT|ldapi://PATH?mode=MODE",
        values: Values::Each,
        scope: Scope::Node,
        default: "ldap://127.0.0.1:389",
        text: "An address to serve. Port 0 lets the system choose one; the ready line has it. PATH is that of a Unix socket, with %2F for \
               each slash; its permissions are 0666 unless MODE says others.",
        set: |c, v| each(&mut c.listen, v, parse::<Listen>),
        show: |c| texts(&c.listen),
    },
    Row {
        name: "root-dn",
        form: "DN",
        values: Values::One,
        scope: Scope::Directory,
        default: "none",
        text: "The name with all rights. It needs no entry. Its password is in `root-password-file`; with that file \
               no other password binds as it. Only the root DN can give an entry this name.",
        set: |c, v| put(&mut c.root_dn, v, |t| dn(t).map(Some)),
        show: |c| texts(&c.root_dn),
    },
    Row {
        name: "root-password-file",
        form: "FILE",
        values: Values::One,
        scope: Scope::Hash,
        default: "none",
        text: "A file whose first line is the password of `root-dn`.",
        set: |c, v| put(&mut c.root_password_file, v, |t| path(t).map(Some)),
        show: |c| paths(&c.root_password_file),
    },
    Row {
        name: "write-dn",
        form: "DN",
        values: Values::Each,
        scope: Scope::Directory,
        default: "none",
        text: "A name that may change every entry, as `root-dn` may. It reads no passwords, changes no \
               configuration, and cannot become `root-dn`; but it can give any other entry a password \
               ([secrets](controls.md#secrets)).",
        set: |c, v| each(&mut c.writers, v, dn),
        show: |c| c.writers.clone(),
    },
    Row {
        name: "proxy-dn",
        form: "DN",
        values: Values::Each,
        scope: Scope::Directory,
        default: "none",
        text: "A name that may act as others with the proxied authorization control, but never as `root-dn` or a \
               name of `write-dn`. `root-dn` always may.",
        set: |c, v| each(&mut c.proxies, v, dn),
        show: |c| c.proxies.clone(),
    },
    Row {
        name: "password-scheme",
        form: "SCHEME",
        values: Values::Each,
        scope: Scope::Directory,
        default: "ssha",
        text: "How passwords are stored that are set by password modify, or by users for themselves: argon2id, \
               ssha512, ssha256, ssha, pbkdf2-sha256, pbkdf2-sha512, scram-sha-256, bcrypt, sha512-crypt or clear. \
               Of several schemes a value of each is stored; all stand for the one password. In the file it is also \
               called `passwords.schemes` ([passwords](passwords.md)).",
        set: |c, v| schemes(v).map(|schemes| c.password_schemes = schemes),
        show: |c| scheme_words(&c.password_schemes),
    },
    Row {
        name: "anonymous",
        form: "none|read",
        values: Values::One,
        scope: Scope::Directory,
        default: "none",
        text: "What clients that have not bound may read: the root DSE and the subschema only, or what users may \
               read.",
        set: |c, v| put(&mut c.anonymous, v, |t| meant(t, &ANONYMOUS)),
        show: |c| vec![word(&c.anonymous, &ANONYMOUS)],
    },
    Row {
        name: "schema",
        form: "FILE",
        values: Values::List,
        scope: Scope::Rules,
        default: "none beyond the standard schema: in a new directory; another keeps its own",
        text: "A file of schema definitions, in the form of RFC 4512 or of OpenLDAP's LDIF, in any order; or the \
               name of a built-in schema, such as `dvtds`.",
        set: |c, v| each(&mut c.schema, v, non_empty),
        show: |c| c.schema.clone(),
    },
    Row {
        name: "schema-check",
        form: "on|off",
        values: Values::One,
        scope: Scope::Rules,
        default: "on: in a new directory; another keeps its own",
        text: "Whether every change is checked against the schema.",
        set: |c, v| put(&mut c.schema_check, v, switch),
        show: |c| vec![on_off(c.schema_check)],
    },
    Row {
        name: "operational-attributes",
        form: "on|off",
        values: Values::One,
        scope: Scope::Rules,
        default: "on: in a new directory; another keeps its own",
        text: "Whether entries have entryUUID, entryCSN, and the names and times of creation and modification. \
               Fixed when the directory is created. When off, structuralObjectClass, subschemaSubentry and \
               hasSubordinates are still returned if requested by name.",
        set: |c, v| put(&mut c.operational_attributes, v, switch),
        show: |c| vec![on_off(c.operational_attributes)],
    },
    Row {
        name: "index",
        form: IndexKind::FORM,
        values: Values::Each,
        scope: Scope::Directory,
        default: "none",
        text: "Indexes of an attribute: equality, presence, substrings, ordering. `pando index` builds more, also \
               while the directory is served.",
        set: |c, v| each(&mut c.indexes, v, parse::<IndexSettings>),
        show: |c| texts(&c.indexes),
    },
    Row {
        name: "memory-max",
        form: "BYTES",
        values: Values::One,
        scope: Scope::Directory,
        default: "`memory-share` of the memory of the machine, or of the control group",
        text: "Bytes that the directory may occupy, 896 GiB at most; units KiB, MiB, GiB and TiB. Beyond it adds, \
               and changes that make an entry larger, are refused with adminLimitExceeded; other changes and \
               deletes continue.",
        set: |c, v| put(&mut c.memory_bytes_max, v, |t| bytes(t).map(Some)),
        show: |c| vec![c.memory_bytes_max().to_string()],
    },
    Row {
        name: "memory-share",
        form: "PERCENT",
        values: Values::One,
        scope: Scope::Node,
        default: "80",
        text: "Percent of the memory of the machine, or of the control group, that the directory may occupy where `memory-max` \
               does not say how many bytes: 1 to 100.",
        set: |c, v| put(&mut c.memory_share, v, |t| number(t, 1, 100)),
        show: |c| vec![c.memory_share.to_string()],
    },
    Row {
        name: "import",
        form: "FILE",
        values: Values::Each,
        scope: Scope::Node,
        default: "none",
        text: "Files or FIFOs of LDIF or of BER adds to load before the first client is served, all at the same time.",
        set: |c, v| each(&mut c.import, v, path),
        show: |c| paths(&c.import),
    },
    Row {
        name: "threads",
        form: "N",
        values: Values::One,
        scope: Scope::Node,
        default: "one for each core",
        text: "IO threads. A connection stays on one thread.",
        set: |c, v| put(&mut c.options.threads, v, |t| number(t, 1, 1024)),
        show: |c| vec![c.options.threads.to_string()],
    },
    Row {
        name: "queue-length-oid",
        form: "OID",
        values: Values::One,
        scope: Scope::Node,
        default: "none",
        text: "A further OID of the queue length control, which must not be critical under it. Its own OID is \
               always known.",
        set: |c, v| put(&mut c.queue_length_oid, v, |t| oid(t).map(Some)),
        show: |c| texts(&c.queue_length_oid),
    },
    Row {
        name: "access.secrets",
        form: "ATTRIBUTE",
        values: Values::Each,
        scope: Scope::Node,
        default: "none",
        text: "An attribute with secrets, by name or OID, besides those that [always are](access.md#secrets). The schema need \
               not have it. Subtypes of a secret are secrets too.",
        set: |c, v| secrets(&mut c.secrets, v),
        show: |c| c.secrets.clone(),
    },
    Row {
        name: "tls.certificate",
        form: "FILE",
        values: Values::Each,
        scope: Scope::Node,
        default: "none: TLS is not offered",
        text: "A certificate (PEM, with the chain to its authority behind it). With one `ldaps://` can be served and `ldap://` offers \
               StartTLS. Of several a client that names the server is shown the one of that name, others the first. A file that \
               changes is taken within ten seconds, or with SIGHUP.",
        set: |c, v| each(&mut c.tls_certificates, v, path),
        show: |c| paths(&c.tls_certificates),
    },
    Row {
        name: "tls.key",
        form: "FILE",
        values: Values::Each,
        scope: Scope::Node,
        default: "none",
        text: "The private key of `tls.certificate` (PEM, not encrypted); of several certificates in the same order.",
        set: |c, v| each(&mut c.tls_keys, v, path),
        show: |c| paths(&c.tls_keys),
    },
    Row {
        name: "tls.versions",
        form: "1.2|1.3",
        values: Values::Each,
        scope: Scope::Node,
        default: "1.3 and 1.2",
        text: "Versions of TLS that are spoken. 1.2 can be left out.",
        set: |c, v| each(&mut c.tls_versions, v, tls_version),
        show: |c| {
            c.tls_versions.iter().map(|is_1_2| if *is_1_2 { "1.2" } else { "1.3" }.to_owned()).collect()
        },
    },
    Row {
        name: "security.password",
        form: "BITS",
        values: Values::One,
        scope: Scope::Directory,
        default: "none: 1, and 0 for clients on this machine",
        text: "Bits of the key that must protect a connection on which a password comes: of a bind, a password modify, or an \
               add or a modify with a password in it. 0: none; 1: any TLS. Others are answered confidentialityRequired, and \
               nothing is looked up.",
        set: |c, v| put(&mut c.password_strength, v, |t| number(t, 0, 256).map(Some)),
        show: |c| texts(c.password_strength),
    },
    Row {
        name: "security.ldapi-ssf",
        form: "BITS",
        values: Values::One,
        scope: Scope::Directory,
        default: "71",
        text: "What a connection over `ldapi://` counts for among bits of keys. Nobody can read it on its way.",
        set: |c, v| put(&mut c.ldapi_strength, v, |t| number(t, 0, 256)),
        show: |c| vec![c.ldapi_strength.to_string()],
    },
    Row {
        name: "identity.peer",
        form: "uid=N gid=N dn=DN|uid=N gid=N base=DN filter=FILTER",
        values: Values::Tables,
        scope: Scope::Node,
        default: "none: the superuser and the user of the server are `root-dn`, and nobody else is known",
        text: "Who a client of `ldapi://` is that binds by EXTERNAL: an entry for a user, for those of a group, or for all. In FILTER {uid} \
               and {gid} stand for numbers; it must be true of one entry, which an equality index finds. The first that fits counts.",
        set: |c, v| each(&mut c.peers, v, peer_mapping::parse),
        show: |c| c.peers.iter().map(peer_mapping::show).collect(),
    },
    Row {
        name: "limits.size",
        form: "N",
        values: Values::One,
        scope: Scope::Directory,
        default: "0: no limit",
        text: "Entries that one search may return, on all its pages together, except for the root DN.",
        set: |c, v| put(&mut c.size_limit, v, |t| number(t, 0, i32::MAX as u64)),
        show: |c| vec![c.size_limit.to_string()],
    },
    Row {
        name: "limits.time",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Directory,
        default: "0: no limit",
        text: "Seconds that one search may take, except for the root DN.",
        set: |c, v| put(&mut c.time_limit_s, v, |t| number(t, 0, i32::MAX as u64)),
        show: |c| vec![c.time_limit_s.to_string()],
    },
    Row {
        name: "limits.update-bytes",
        form: "BYTES",
        values: Values::One,
        scope: Scope::Directory,
        default: "256MiB",
        text: "Bytes of updates that wait for the log, of all clients together. Clients beyond it wait in order: no \
               update is refused, but their next requests are not read.",
        set: |c, v| put(&mut c.clients.update_bytes_max, v, bytes),
        show: |c| vec![c.clients.update_bytes_max.to_string()],
    },
    Row {
        name: "limits.idle-timeout",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Directory,
        default: "3600",
        text: "Seconds that a connection may wait for its next request before it gets a Notice of Disconnection; 0: \
               no limit.",
        set: |c, v| put(&mut c.options.idle_timeout_s, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.options.idle_timeout_s.to_string()],
    },
    Row {
        name: "limits.idle-anonymous",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Directory,
        default: "900",
        text: "The same for clients that have not bound, if it is less.",
        set: |c, v| put(&mut c.options.unbound_idle_timeout_s, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.options.unbound_idle_timeout_s.to_string()],
    },
    Row {
        name: "limits.handshake-timeout",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Directory,
        default: "10",
        text: "Seconds that a client may take for a TLS handshake; 0: no limit.",
        set: |c, v| put(&mut c.options.handshake_timeout_s, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.options.handshake_timeout_s.to_string()],
    },
    Row {
        name: "limits.message-timeout",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Directory,
        default: "120",
        text: "Seconds from the first byte of a request to its last; 0: no limit.",
        set: |c, v| put(&mut c.options.message_timeout_s, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.options.message_timeout_s.to_string()],
    },
    Row {
        name: "limits.message-anonymous",
        form: "BYTES",
        values: Values::One,
        scope: Scope::Directory,
        default: "256KiB",
        text: "Bytes of one request of a client that has not bound, 16 MiB at most. Others may send 16 MiB.",
        set: |c, v| put(&mut c.clients.unbound_message_bytes_max, v, message_bytes),
        show: |c| vec![c.clients.unbound_message_bytes_max.to_string()],
    },
    Row {
        name: "limits.client-memory",
        form: "BYTES",
        values: Values::One,
        scope: Scope::Directory,
        default: "an eighth of `memory-max`, 64 MiB to 4 GiB",
        text: "Bytes that are kept for all clients together: incomplete requests, answers that clients have not \
               read, filters of active searches, open transactions. An eighth of it is for clients that have not \
               bound. When it is used up, requests are not read and long searches are answered busy.",
        set: |c, v| put(&mut c.client_memory, v, |t| bytes(t).map(Some)),
        show: |c| vec![c.client_memory().to_string()],
    },
    Row {
        name: "limits.connections",
        form: "N",
        values: Values::One,
        scope: Scope::Directory,
        default: "0: as many as files may be open, less 128",
        text: "Concurrent connections. Further ones are closed at once; a few more are accepted from the same \
               machine.",
        set: |c, v| put(&mut c.options.connections_max, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.options.connections_max.to_string()],
    },
    Row {
        name: "limits.connections-per-address",
        form: "N",
        values: Values::One,
        scope: Scope::Directory,
        default: "0: any number",
        text: "Concurrent connections of one IPv4 address, or of one IPv6 network of 64 bits. Further ones are \
               closed at once.",
        set: |c, v| put(&mut c.clients.address_connections_max, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.clients.address_connections_max.to_string()],
    },
    Row {
        name: "limits.old-versions",
        form: "BYTES",
        values: Values::One,
        scope: Scope::Directory,
        default: "a quarter of memory-max",
        text: "Bytes of old versions of changed entries that active searches may hold. Beyond it the oldest search \
               is ended with adminLimitExceeded, as it is when memory is short.",
        set: |c, v| put(&mut c.held_bytes_max, v, |t| bytes(t).map(Some)),
        show: |c| vec![c.held_bytes_max.unwrap_or(c.memory_bytes_max() / dsa::held::SHARE).to_string()],
    },
    Row {
        name: "limits.old-versions-age",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Directory,
        default: "60",
        text: "Seconds that a search may hold more than 8 MiB of old versions before it is ended with \
               adminLimitExceeded; 0: 600 s, the limit of any search.",
        set: |c, v| put(&mut c.held_seconds_max, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.held_seconds_max.to_string()],
    },
    Row {
        name: "limits.write-timeout",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Directory,
        default: "60",
        text: "Seconds that a client may leave answers unread before its connection is closed; 0: no limit.",
        set: |c, v| put(&mut c.options.write_timeout_s, v, |t| number(t, 0, 1 << 31)),
        show: |c| vec![c.options.write_timeout_s.to_string()],
    },
    Row {
        name: "limits.shutdown-timeout",
        form: "SECONDS",
        values: Values::One,
        scope: Scope::Directory,
        default: "10",
        text: "Seconds that connections have to finish their requests when the server ends.",
        set: |c, v| put(&mut c.options.shutdown_timeout_s, v, |t| number(t, 0, 3600)),
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

fn secrets(place: &mut Vec<String>, values: &[String]) -> Result<(), Bad> {
    if values.len() > ACCESS_SECRETS_MAX {
        return Err(vec![(
            ACCESS_SECRETS_MAX,
            format!("{ACCESS_SECRETS_MAX} attributes are secrets at most"),
        )]);
    }
    each(place, values, |text| {
        let is_name = model::oid::is_descriptor(text.as_bytes()) || model::oid::is_numeric(text.as_bytes());
        if is_name {
            Ok(text.to_owned())
        } else {
            Err(format!("`{text}` is neither the name of an attribute nor an OID"))
        }
    })
}

fn message_bytes(text: &str) -> Result<usize, String> {
    settings::value::bytes_within(text, 1 << 10, MESSAGE_BYTES_MAX as u64).map(|bytes| bytes as usize)
}

fn parse<T: FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
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
