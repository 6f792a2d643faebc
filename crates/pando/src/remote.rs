//! What subcommands need to know of a server that runs.

use crate::failed::Failed;
use clap::Args as ClapArgs;
use client::{Security, Server, Trust};
use server::config::first_line;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// How connections to servers are secured.
#[derive(ClapArgs, Default)]
pub(crate) struct Tls {
    /// Certificates of the authorities that count for ldaps:// and --start-tls, as PEM
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Secure ldap:// with StartTLS before anything else is sent
    #[arg(long, requires = "ca_file")]
    start_tls: bool,
}

/// Which server, and who asks.
#[derive(ClapArgs, Default)]
pub(crate) struct Remote {
    /// A running server, instead of a data directory
    #[arg(long, value_name = "ldap[s]://HOST[:PORT]")]
    pub(crate) url: Option<String>,

    /// With --url: bind as this entry; otherwise the client stays anonymous
    #[arg(long, value_name = "DN", requires = "url", requires = "password_file")]
    bind_dn: Option<String>,

    /// A file whose first line is the password for --bind-dn
    #[arg(long, value_name = "FILE", requires = "bind_dn")]
    password_file: Option<PathBuf>,

    #[command(flatten)]
    tls: Tls,
}

impl Remote {
    /// The server, if one is named.
    ///
    /// # Errors
    /// What is wrong with the URL, or with the file of the password.
    pub(crate) fn server(&self) -> Result<Option<Server>, Failed> {
        let credentials = self.bind_dn.as_deref().zip(self.password_file.as_deref());
        self.url.as_ref().map(|url| self.tls.only_server(url, credentials)).transpose()
    }
}

/// The server at a URL, and as whom to ask it: a name, and the file of its password.
///
/// # Errors
/// What is wrong with the URL, or with the file.
pub(crate) fn server(url: &str, credentials: Option<(&str, &Path)>, tls: &Tls) -> Result<Server, Failed> {
    let security = tls.security(url)?;
    let (host, port) = address(url)
        .or_else(|| secure_address(url))
        .ok_or_else(|| Failed::usage(format!("{url}: {SECURE_URL_FORM}")))?;
    let credentials = match credentials {
        Some((name, path)) => {
            let bad = |what: &dyn Display| Failed::usage(format!("{}: {what}", path.display()));
            let bytes = std::fs::read(path).map_err(|error| bad(&error))?;
            let password = first_line(&bytes).to_vec();
            if password.is_empty() {
                return Err(bad(&"its first line is empty; an empty password never binds"));
            }
            Some((name.to_owned(), password))
        }
        None => None,
    };
    Ok(Server { host, port, credentials, security })
}

impl Tls {
    /// The only server of a command; see [`server`].
    ///
    /// # Errors
    /// The same, and authorities that are named for a connection in the clear: its user expects TLS.
    pub(crate) fn only_server(
        &self,
        url: &str,
        credentials: Option<(&str, &Path)>,
    ) -> Result<Server, Failed> {
        let server = server(url, credentials, self)?;
        match (&server.security, &self.ca_file) {
            (None, Some(_)) => Err(Failed::usage(format!("{url}: {CA_FILE_ALONE}"))),
            _ => Ok(server),
        }
    }

    /// What secures a connection to a URL.
    fn security(&self, url: &str) -> Result<Option<Security>, Failed> {
        let is_secure = secure_address(url).is_some();
        if !is_secure && !self.start_tls {
            return Ok(None);
        }
        let Some(path) = &self.ca_file else {
            return Err(Failed::usage(format!("{url}: --ca-file names the authorities that count")));
        };
        let bad = |what: &dyn Display| Failed::usage(format!("{}: {what}", path.display()));
        let pem = std::fs::read(path).map_err(|error| bad(&error))?;
        let trust = Trust::read(&pem).map_err(|error| bad(&error))?;
        Ok(Some(Security { trust, is_start_tls: !is_secure }))
    }
}

/// Why `--ca-file` is refused.
const CA_FILE_ALONE: &str = "--ca-file is for ldaps:// or --start-tls; this connection would be in the clear";

/// What a URL must be.
pub(crate) const URL_FORM: &str = "a URL is ldap://HOST or ldap://HOST:PORT";

/// What a URL must be where TLS is known.
const SECURE_URL_FORM: &str = "a URL is ldap://HOST, ldaps://HOST, or one of them with :PORT";

/// Host and port of an LDAP URL; the port is 389 if it has none.
pub(crate) fn address(url: &str) -> Option<(String, u16)> {
    place(url.strip_prefix("ldap://")?, 389)
}

/// Host and port of a URL of LDAP over TLS; the port is 636 if it has none.
fn secure_address(url: &str) -> Option<(String, u16)> {
    place(url.strip_prefix("ldaps://")?, 636)
}

fn place(rest: &str, port: u16) -> Option<(String, u16)> {
    let rest = rest.trim_end_matches('/');
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, given)) if !given.ends_with(']') => (host, given.parse().ok()?),
        _ => (rest, port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_hosts_and_ports() {
        let host = |text: &str, port| Some((text.to_owned(), port));
        assert_eq!(address("ldap://a.example:3389"), host("a.example", 3389));
        assert_eq!(address("ldap://127.0.0.1/"), host("127.0.0.1", 389));
        assert_eq!(address("ldap://[::1]:10389"), host("::1", 10389));
        assert_eq!(address("ldap://[::1]"), host("::1", 389));
        assert_eq!(
            (secure_address("ldaps://a"), secure_address("ldaps://a:1")),
            (host("a", 636), host("a", 1))
        );
        assert_eq!((address("ldaps://a"), address("ldap://"), address("ldap://a:x")), (None, None, None));
    }
}
