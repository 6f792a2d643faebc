//! Configuration: what may be set, where it comes from (a TOML file, then flags) and whether it makes sense.

mod access_rule;
mod chained_server;
mod check;
mod doc;
mod file;
mod keys;
mod limit_rule;
mod listen;
mod listener;
mod near;
mod of_node;
mod peer_mapping;
mod record;
mod scalar;
mod table;
mod tokens;
mod value;
mod words;

pub use chained_server::ChainedServer;
pub use check::Problem;
pub use doc::{markdown, template};
pub use file::{Fault, read, read_file};
pub use keys::{Key, keys, known, line};
pub(crate) use keys::{changeable, fixed};
pub use listen::Listen;
pub use listener::{Listener, TlsUse};
pub use record::{Change, Given};
pub use tokens::OfTokens;
pub use value::OnLogFailure;

use crate::logs::Destination;
use crate::{Options, logs};
use dsa::config::Scheme;
use model::limits::DICTIONARY_BYTES_MAX;
use schema::SchemaFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::IndexSettings;

/// The data directory where none is named: in the working folder.
pub const DEFAULT_DATA: &str = "pando-data";

/// Seconds after which a snapshot is made, unless another time is configured.
const SNAPSHOT_INTERVAL_S: u64 = 900;

/// Everything that can be configured. `Default` is what an empty file means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whether it was asked for, or forbidden, to keep the directory in memory only.
    pub memory: Option<bool>,
    /// The directory on disk.
    pub data: Option<PathBuf>,
    /// When a write to it counts as done.
    pub sync: wal::Mode,
    /// What to do when the log fails.
    pub on_log_failure: OnLogFailure,
    /// Bytes of log after which a snapshot is made, if not a share of the directory's.
    pub snapshot_after: Option<u64>,
    /// Seconds after which a snapshot is made if something was written; 0: never for that.
    pub snapshot_interval_s: u64,
    /// Where files of the log are copied to before they are used again.
    pub archive: Option<PathBuf>,
    /// Naming contexts, in the order given.
    pub suffixes: Vec<String>,
    /// Addresses to listen on.
    pub listen: Vec<Listen>,
    /// The same, with rules.
    pub listener: Vec<Listener>,
    /// DN that is allowed everything.
    pub root_dn: Option<String>,
    /// File whose first line is the password of `root_dn`.
    pub root_password_file: Option<PathBuf>,
    /// Words that are refused as passwords.
    pub dictionary: Option<PathBuf>,
    /// Schema files, or names of built-in ones, beyond the standard schema.
    pub schema: Vec<String>,
    /// Their content as the data directory has it, if it does not come from the files.
    pub recorded_schema: Option<Vec<SchemaFile>>,
    /// What was added to the schema while the directory was served, whatever files it consists of.
    pub added_schema: Option<SchemaFile>,
    /// Whether writes are held to the schema.
    pub schema_check: bool,
    /// Whether entryUUID, times and names are kept.
    pub operational_attributes: bool,
    /// Attribute indexes.
    pub indexes: Vec<IndexSettings>,
    /// Percent of the machine's memory that the directory may occupy where no bytes are given: 1 to 100.
    pub memory_share: u64,
    /// Files and FIFOs loaded before the first client is served.
    pub import: Vec<PathBuf>,
    /// Start also where the log comes to another outcome than was answered: of one start, so no key of a file.
    pub accept_difference: bool,
    /// A further OID of the queue length control.
    pub queue_length_oid: Option<String>,
    /// What can be changed while the server runs.
    pub settings: dsa::settings::Choices,
    /// Keys that were given, and where last.
    pub given: BTreeMap<&'static str, Given>,
    /// Hash of the root password that is recorded; counts where no file is named.
    pub root_password_hash: Option<Vec<u8>>,
    /// Files of certificates, and of their keys in the same order.
    pub tls_certificates: Vec<PathBuf>,
    /// Those keys.
    pub tls_keys: Vec<PathBuf>,
    /// Whether clients are asked for certificates.
    pub client_certificate: tls::ClientUse,
    /// Files of the authorities of clients.
    pub client_authorities: Vec<PathBuf>,
    /// Files of certificates that these have revoked.
    pub client_revoked: Vec<PathBuf>,
    /// Servers that may be asked for clients.
    pub chained: Vec<ChainedServer>,
    /// Access tokens.
    pub tokens: OfTokens,
    /// The keys of this server for Kerberos.
    pub keytab: Option<PathBuf>,
    /// The realm whose principals are called by their names alone.
    pub realm: Option<String>,
    /// Versions of TLS that are spoken: for each whether it is 1.2, and not 1.3.
    pub tls_versions: Vec<bool>,
    /// See `tls.require-ems`.
    pub requires_extended_master: bool,
    /// Attributes that are secrets, besides those that always are.
    pub secrets: Vec<String>,
    /// Who the users of this machine are.
    pub peers: Vec<dsa::config::PeerMapping>,
    /// What is logged of connections, and where.
    pub logs: logs::Settings,
    /// Threads.
    pub options: Options,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            memory: None,
            data: None,
            sync: wal::Mode::Always,
            on_log_failure: OnLogFailure::Exit,
            snapshot_after: None,
            snapshot_interval_s: SNAPSHOT_INTERVAL_S,
            archive: None,
            suffixes: Vec::new(),
            listen: vec![Listen::default()],
            listener: Vec::new(),
            root_dn: None,
            root_password_file: None,
            dictionary: None,
            schema: Vec::new(),
            recorded_schema: None,
            added_schema: None,
            schema_check: true,
            operational_attributes: true,
            indexes: Vec::new(),
            memory_share: 80,
            import: Vec::new(),
            accept_difference: false,
            queue_length_oid: None,
            settings: dsa::settings::Choices::default(),
            given: BTreeMap::new(),
            root_password_hash: None,
            tls_certificates: Vec::new(),
            tls_keys: Vec::new(),
            client_certificate: tls::ClientUse::None,
            client_authorities: Vec::new(),
            client_revoked: Vec::new(),
            chained: Vec::new(),
            tokens: OfTokens::default(),
            keytab: None,
            realm: None,
            tls_versions: vec![false, true],
            requires_extended_master: false,
            secrets: Vec::new(),
            peers: Vec::new(),
            logs: logs::Settings::default(),
            options: Options::default(),
        }
    }
}

impl Config {
    /// Sets the key called `name` from text, replacing what it had. For flags, which override the file.
    ///
    /// # Errors
    /// What is wrong with each value that is bad.
    pub fn set(&mut self, name: &str, values: &[String]) -> Result<(), Vec<String>> {
        let key = known(name).map_err(|unknown| vec![unknown])?;
        self.given.insert(key.name, Given::Flag);
        key.set(self, values).map_err(|bad| bad.into_iter().map(|(_, reason)| reason).collect())
    }

    /// Names [`DEFAULT_DATA`] as the data directory if neither a directory nor memory was asked for; true if it does.
    pub fn settle_storage(&mut self) -> bool {
        let is_open = self.data.is_none() && self.memory != Some(true);
        if is_open {
            self.data = Some(PathBuf::from(DEFAULT_DATA));
        }
        is_open
    }

    /// Takes relative names of files as relative to `folder`.
    fn locate_files(&mut self, folder: &Path) {
        let one = [
            &mut self.data,
            &mut self.archive,
            &mut self.root_password_file,
            &mut self.tokens.keys,
            &mut self.keytab,
            &mut self.dictionary,
        ];
        let one = one.into_iter().flatten();
        let logs = &mut self.logs;
        let targets = [&mut logs.access_file, &mut logs.security_file].into_iter().flatten();
        let logs = targets.filter_map(Destination::path_mut).chain(&mut logs.audit_file);
        let own = self.tls_certificates.iter_mut().chain(&mut self.tls_keys);
        let clients = self.client_authorities.iter_mut().chain(&mut self.client_revoked);
        let chained = self.chained.iter_mut().flat_map(ChainedServer::files_mut);
        for path in chained.chain(one).chain(logs).chain(&mut self.import).chain(own).chain(clients) {
            *path = folder.join(&*path);
        }
        let is_file = |name: &&mut String| !schema::BUILTIN_NAMES.contains(&name.as_str());
        for name in self.schema.iter_mut().filter(is_file) {
            // A text joined to a path that is none of ours may not be one any more: then it stays as it is.
            if let Ok(path) = folder.join(&*name).into_os_string().into_string() {
                *name = path;
            }
        }
    }

    /// The names of schema that are to be read: all, or none where the data directory has their content.
    pub(crate) fn unread_schema(&self) -> &[String] {
        if self.recorded_schema.is_none() { &self.schema } else { &[] }
    }

    /// All that is listened on. The address of `listen` that nobody named does not stand beside a `[[listener]]`.
    pub fn listeners(&self) -> Vec<Listener> {
        let clients = self.client_certificate;
        let all = self.listeners_as_said();
        all.map(|listener| Listener { clients: listener.clients.or(Some(clients)), ..listener }).collect()
    }

    /// The same, without what other settings say of them.
    pub fn listeners_as_said(&self) -> impl Iterator<Item = Listener> {
        let is_named = self.listener.is_empty() || self.given.contains_key("listen");
        let listen = self.listen.iter().filter(move |_| is_named).map(Listener::of);
        listen.chain(self.listener.iter().cloned())
    }

    /// What secures connections; `None` without a certificate.
    pub fn tls(&self) -> Option<tls::Settings> {
        let pair = |(certificate, key): (&PathBuf, &PathBuf)| tls::Pair {
            certificate: certificate.clone(),
            key: key.clone(),
        };
        let pairs: Vec<tls::Pair> = self.tls_certificates.iter().zip(&self.tls_keys).map(pair).collect();
        let clients = tls::ClientAuthorities {
            certificates: self.client_authorities.clone(),
            revoked: self.client_revoked.clone(),
        };
        let clients = Some(clients).filter(|clients| !clients.certificates.is_empty());
        let requires_extended_master = self.requires_extended_master;
        let versions =
            tls::Versions { with_1_2: self.tls_versions.contains(&true), requires_extended_master };
        let binds_proofs = self.settings.passwords.schemes.contains(&Scheme::ScramSha256);
        (!pairs.is_empty()).then_some(tls::Settings { pairs, versions, clients, binds_proofs })
    }

    /// Bytes that the directory may occupy, with the default worked out for this machine.
    pub fn memory_bytes_max(&self) -> u64 {
        self.settings.memory_max.unwrap_or_else(|| self.memory_of_machine())
    }

    /// The same, where no bytes are given.
    pub(crate) fn memory_of_machine(&self) -> u64 {
        let bytes = env::host::memory_bytes().unwrap_or(u64::MAX) / 100 * self.memory_share;
        bytes.min(dsa::settings::MEMORY_BYTES_MAX)
    }

    /// Milliseconds after which a snapshot is made if something was written; none: never for that.
    pub fn snapshot_interval_ms(&self) -> Option<u64> {
        Some(self.snapshot_interval_s * 1000).filter(|ms| *ms > 0)
    }

    /// The text of the dictionary, if there is one.
    ///
    /// # Errors
    /// When it cannot be read, or is longer than one is taken.
    pub fn dictionary(&self) -> std::io::Result<Option<Vec<u8>>> {
        let Some(path) = &self.dictionary else { return Ok(None) };
        if std::fs::metadata(path)?.len() > DICTIONARY_BYTES_MAX {
            let text = format!("it has more than {} MiB", DICTIONARY_BYTES_MAX >> 20);
            return Err(std::io::Error::other(text));
        }
        std::fs::read(path).map(Some)
    }

    /// The root password: the first line of its file.
    pub fn root_password(&self) -> std::io::Result<Option<Vec<u8>>> {
        let Some(path) = &self.root_password_file else { return Ok(None) };
        Ok(Some(first_line(&std::fs::read(path)?).to_vec()))
    }
}

/// The first line of a file, without its end: where a file has a password.
pub fn first_line(text: &[u8]) -> &[u8] {
    let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_counts_where_no_bytes_are_given() {
        let mut config = Config { memory_share: 40, ..Config::default() };
        if let Some(bytes) =
            env::host::memory_bytes().filter(|bytes| *bytes < dsa::settings::MEMORY_BYTES_MAX)
        {
            assert_eq!(config.memory_bytes_max(), bytes / 100 * 40);
        }
        config.settings.memory_max = Some(1 << 30);
        assert_eq!(config.memory_bytes_max(), 1 << 30);
    }
}
