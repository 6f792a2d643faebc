//! Whether a configuration makes sense as a whole.

use super::{Config, Listener};
use crate::logs::{Destination, Form};
use dsa::settings::MEMORY_BYTES_MIN;
use model::limits::{CHAIN_SERVERS_MAX, PEER_MAPPINGS_MAX};
use std::path::Path;
use tls::ClientUse;

/// Something wrong with a configuration that no single value shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key to look at.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
    /// The key that is missing, if that is the problem: there is none where the key is there but bad.
    pub missing: Option<&'static str>,
    /// Which of the key's values, if it is one of them.
    pub value: Option<usize>,
}

impl Problem {
    /// A problem with what a key says.
    pub fn at(key: &'static str, message: String) -> Problem {
        Problem { key, message, missing: None, value: None }
    }

    /// A problem with one of the values of a key.
    pub fn at_value(key: &'static str, value: usize, message: String) -> Problem {
        Problem { value: Some(value), ..Problem::at(key, message) }
    }
}

impl Config {
    /// Everything wrong with it; empty when it can be served.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.missing();
        let mut problem = |key, message: String| problems.push(Problem::at(key, message));
        if self.memory == Some(true) && self.data.is_some() {
            problem("memory", "`data` is given too; use one of them".into());
        }
        if self.memory == Some(true) && self.logs.audit_file.is_some() {
            problem("log.audit-file", "with `memory` there is no log of changes for it to follow".into());
        }
        let is_file = matches!(self.logs.access_file, Some(Destination::File(_)));
        if self.logs.format == Form::Binary && !is_file {
            problem("log.format", "`binary` needs a file (`log.access-file`): all else is for lines".into());
        }
        match (&self.archive, &self.data) {
            (Some(_), _) if self.memory == Some(true) => {
                problem("archive", "with `memory` there is no log to archive".into());
            }
            (Some(archive), Some(data)) if archive.starts_with(data) => {
                problem("archive", "it lies inside `data`; an archive belongs on another disk".into());
            }
            _ => {}
        }
        for (at, suffix) in self.suffixes.iter().enumerate() {
            if let Some(other) = self.suffixes[..at].iter().find(|other| overlap(other, suffix)) {
                problem("suffix", format!("`{suffix}` and `{other}` overlap; the upper one holds both"));
            }
        }
        let listeners = self.listeners();
        for (at, listener) in listeners.iter().enumerate() {
            let (url, name, others) = (&listener.url, &listener.name, &listeners[..at]);
            let key = self.key_of(listener);
            if others.iter().any(|other| url.is_taken_by(&other.url)) {
                problem(key, format!("`{url}` is listed twice"));
            } else if *name != url.to_string() && others.iter().any(|other| other.name == *name) {
                problem(key, format!("two listeners are called `{name}`"));
            }
        }
        if self.tls_certificates.len() != self.tls_keys.len() {
            let (certificates, keys) = (self.tls_certificates.len(), self.tls_keys.len());
            let text = format!(
                "{certificates} certificates and {keys} keys (`tls.key`): each needs the other, in the same order"
            );
            problem("tls.certificate", text);
        }
        let has_none = self.tls_certificates.is_empty();
        if let Some(listener) = listeners.iter().find(|listener| has_none && listener.needs_certificate()) {
            let text = format!("`{}` needs `tls.certificate` and `tls.key`", listener.url);
            problem(self.key_of(listener), text);
        }
        let asks = |listener: &&Listener| listener.clients.is_some_and(|clients| clients != ClientUse::None);
        if let Some(listener) = listeners.iter().find(asks).filter(|_| self.client_authorities.is_empty()) {
            let text =
                format!("`{}` asks clients for certificates: that needs `tls.client-ca`", listener.url);
            problem(self.key_of(listener), text);
        }
        for (key, files) in [
            ("tls.certificate", &self.tls_certificates),
            ("tls.key", &self.tls_keys),
            ("tls.client-ca", &self.client_authorities),
            ("tls.client-crl", &self.client_revoked),
            ("oauth.jwks", &self.tokens.keys.iter().cloned().collect()),
            ("gssapi.keytab", &self.keytab.iter().cloned().collect()),
        ] {
            for file in files {
                if let Err(reason) = readable(file) {
                    problem(key, format!("`{}`: {reason}", file.display()));
                }
            }
        }
        if self.keytab.is_some() && !cfg!(feature = "gssapi") {
            let text = "this binary has no GSSAPI: build one with `--features gssapi`, which needs the library of MIT Kerberos";
            problem("gssapi.keytab", text.into());
        }
        if self.tokens.algorithms.is_empty() {
            problem("oauth.algorithms", "one at least is needed".into());
        }
        if !self.tls_versions.contains(&false) {
            problem("tls.versions", "1.3 must be among them".into());
        }
        if self.chained.len() > CHAIN_SERVERS_MAX {
            problem("chaining", format!("{CHAIN_SERVERS_MAX} servers are asked at most"));
        }
        if self.peers.len() > PEER_MAPPINGS_MAX {
            problem("identity.peer", format!("{PEER_MAPPINGS_MAX} users and groups are known at most"));
        }
        let never_matches = |stored: Option<Vec<u8>>| dsa::password::never_matches(&stored?);
        match self.root_password().map(never_matches) {
            Ok(Some(reason)) => {
                let text = format!("its first line cannot be used as a password: {reason}");
                problem("root-password-file", text);
            }
            Ok(None) => {}
            Err(error) => {
                let path = self.root_password_file.as_deref().unwrap_or(Path::new("")).display();
                problem("root-password-file", format!("`{path}`: cannot be read: {error}"));
            }
        }
        for schema in
            self.unread_schema().iter().filter(|schema| !schema::BUILTIN_NAMES.contains(&schema.as_str()))
        {
            if let Err(reason) = readable(Path::new(schema)) {
                problem("schema", format!("`{schema}`: {reason}"));
            }
        }
        if let Some(path) = &self.dictionary
            && let Err(reason) = readable(path)
        {
            problem("password-dictionary", format!("`{}`: {reason}", path.display()));
        }
        for import in &self.import {
            if let Err(reason) = readable(import) {
                problem("import", format!("`{}`: {reason}", import.display()));
            }
        }
        if self.memory_bytes_max() < MEMORY_BYTES_MIN {
            problem("memory-max", format!("at least {} MiB are needed", MEMORY_BYTES_MIN >> 20));
        }
        problems
    }

    /// What is worth telling although it can be served.
    pub fn warnings(&self) -> Vec<String> {
        use std::os::unix::fs::PermissionsExt;
        let Some(path) = &self.root_password_file else { return Vec::new() };
        let Ok(about) = std::fs::metadata(path) else { return Vec::new() };
        let mode = about.permissions().mode() & 0o777;
        if !about.is_file() || mode & 0o077 == 0 {
            return Vec::new();
        }
        let path = path.display();
        vec![format!(
            "{path}: others than its owner may use the root password ({mode:03o}): chmod 600 {path}"
        )]
    }

    /// The key that has a listener.
    fn key_of(&self, listener: &Listener) -> &'static str {
        let is_its = |other: &Listener| (&other.url, &other.name) == (&listener.url, &listener.name);
        if self.listener.iter().any(is_its) { "listener" } else { "listen" }
    }

    /// What has to be there and is not.
    fn missing(&self) -> Vec<Problem> {
        let (dn, password) = (self.root_dn.is_some(), self.root_password_file.is_some());
        let rules: [(bool, &str, &str, &str); 5] = [
            (
                self.suffixes.is_empty(),
                "suffix",
                "suffix",
                "no suffix is set: there is nothing to serve (`suffix = \"dc=example,dc=com\"`)",
            ),
            (self.listeners().is_empty(), "listen", "listen", "no address to listen on"),
            (
                dn && !password,
                "root-dn",
                "root-password-file",
                "a root DN without `root-password-file` cannot bind",
            ),
            (password && !dn, "root-password-file", "root-dn", "it needs a `root-dn`"),
            (
                self.realm.is_some() && self.keytab.is_none(),
                "gssapi.realm",
                "gssapi.keytab",
                "it is the realm of clients of `gssapi.keytab`",
            ),
        ];
        let of = |(is_so, key, missing, message): (bool, _, _, &str)| {
            is_so.then(|| Problem { key, message: message.to_owned(), missing: Some(missing), value: None })
        };
        let tokens = self.tokens.missing().into_iter().map(|(key, missing)| Problem {
            key,
            message: format!("`{missing}` is missing: tokens are looked at with all three"),
            missing: Some(missing),
            value: None,
        });
        rules.into_iter().filter_map(of).chain(tokens).collect()
    }
}

/// Whether one of two DNs, both valid, is the other or above it. Names are compared as ASCII without case, which is
/// how the attribute types used in suffixes compare; the store decides in the end.
fn overlap(a: &str, b: &str) -> bool {
    let parse = |dn: &str| {
        let mut rdns: Vec<Vec<(Vec<u8>, Vec<u8>)>> = Vec::new();
        let _ = model::dn::parse_each(dn.as_bytes(), |rdn| {
            let lower = |ava: &model::dn::Ava<'_>| {
                (ava.attribute_type.to_ascii_lowercase(), ava.value.to_ascii_lowercase())
            };
            rdns.push(rdn.iter().map(lower).collect());
        });
        rdns
    };
    let (a, b) = (parse(a), parse(b));
    a.ends_with(&b) || b.ends_with(&a)
}

fn readable(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => Err("is a directory".to_owned()),
        // Who opens a FIFO and closes it again takes its writer away from the import.
        Ok(about) if !about.is_file() => Ok(()),
        Ok(_) => std::fs::File::open(path).map(drop).map_err(|error| format!("cannot be read: {error}")),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(set: &[(&str, &[&str])]) -> Vec<String> {
        let mut config = Config::default();
        config.set("suffix", &["dc=com".to_owned()]).unwrap();
        for (name, values) in set {
            config.set(name, &values.iter().map(|v| v.to_string()).collect::<Vec<_>>()).unwrap();
        }
        config.problems().into_iter().map(|p| format!("{}: {}", p.key, p.message)).collect()
    }

    #[test]
    fn a_suffix_is_enough() {
        assert!(problems(&[]).is_empty());
        assert_eq!(Config::default().problems()[0].key, "suffix");
    }

    #[test]
    fn what_does_not_fit_together() {
        assert!(problems(&[("suffix", &["dc=com", "DC=example, dc=COM"])])[0].contains("overlap"));
        assert!(problems(&[("suffix", &["dc=com", "dc=org"])]).is_empty());
        assert!(problems(&[("root-dn", &["cn=admin"])])[0].contains("cannot bind"));
        assert!(problems(&[("schema", &["nowhere/x.schema"])])[0].contains("cannot be read"));
        assert!(problems(&[("schema", &["dvtds"])]).is_empty());
        assert!(problems(&[("import", &["/"])])[0].contains("is a directory"));
        let of_memory =
            |text: &str| Config::default().set("memory-max", &[text.to_owned()]).unwrap_err().remove(0);
        assert!(of_memory("1MiB").contains("32 MiB") && of_memory("900TiB").contains("896 GiB at most"));
        assert!(problems(&[("memory-max", &["896GiB"])]).is_empty());
    }

    #[test]
    fn a_root_password_that_never_binds_is_refused_and_one_that_others_read_is_reported() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let name = path.to_str().unwrap();
        for (text, reason) in [
            ("{SSHA}notbase64\n", "after {SSHA} base64 is needed"),
            ("{CRYPT}x\n", "after {CRYPT} $1$"),
            ("{SASL}x\n", "{SASL} is not known"),
            (" \nsecret\n", "blank"),
            ("", "empty"),
        ] {
            std::fs::write(&path, text).unwrap();
            let found = problems(&[("root-dn", &["cn=a"]), ("root-password-file", &[name])]);
            assert!(found.len() == 1 && found[0].contains(reason), "{text:?}: {found:?}");
        }
        std::fs::write(&path, "secret\n").unwrap();
        let mut config = Config::default();
        config.set("root-password-file", &[name.to_owned()]).unwrap();
        for (mode, is_reported) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let warnings = config.warnings();
            assert_eq!(!warnings.is_empty(), is_reported, "{mode:o}");
            assert!(warnings.iter().all(|text| text.contains(&format!("chmod 600 {name}"))), "{warnings:?}");
        }
    }
}
