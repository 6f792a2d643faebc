//! What `pando import` and `pando export` need to know of a server that runs.

use crate::failed::Failed;
use clap::Args as ClapArgs;
use client::Server;
use std::fmt::Display;
use std::path::PathBuf;

/// Which server, and who asks.
#[derive(ClapArgs, Default)]
pub(crate) struct Remote {
    /// A running server, instead of a data directory
    #[arg(long, value_name = "ldap://HOST[:PORT]")]
    pub(crate) url: Option<String>,

    /// With --url: bind as this entry; otherwise the client stays anonymous
    #[arg(long, value_name = "DN", requires = "url", requires = "password_file")]
    bind_dn: Option<String>,

    /// A file whose first line is the password for --bind-dn
    #[arg(long, value_name = "FILE", requires = "bind_dn")]
    password_file: Option<PathBuf>,
}

impl Remote {
    /// The server, if one is named.
    ///
    /// # Errors
    /// What is wrong with the URL, or with the file of the password.
    pub(crate) fn server(&self) -> Result<Option<Server>, Failed> {
        let Some(url) = &self.url else { return Ok(None) };
        let (host, port) = address(url).ok_or_else(|| Failed::usage(URL_FORM))?;
        let credentials = match (&self.bind_dn, &self.password_file) {
            (Some(name), Some(path)) => {
                let bad = |what: &dyn Display| Failed::usage(format!("{}: {what}", path.display()));
                let bytes = std::fs::read(path).map_err(|error| bad(&error))?;
                let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let password = line.strip_suffix(b"\r").unwrap_or(line).to_vec();
                if password.is_empty() {
                    return Err(bad(&"its first line is empty; an empty password never binds"));
                }
                Some((name.clone(), password))
            }
            _ => None,
        };
        Ok(Some(Server { host, port, credentials }))
    }
}

/// What a URL must be.
pub(crate) const URL_FORM: &str = "--url is ldap://HOST or ldap://HOST:PORT";

/// Host and port of an LDAP URL; the port is 389 if it has none.
pub(crate) fn address(url: &str) -> Option<(String, u16)> {
    let rest = url.strip_prefix("ldap://")?.trim_end_matches('/');
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (rest, 389),
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
        assert_eq!((address("ldaps://a"), address("ldap://"), address("ldap://a:x")), (None, None, None));
    }
}
