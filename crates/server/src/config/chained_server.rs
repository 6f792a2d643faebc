//! `[[chaining]]`: a server that may be asked for clients, in text.

use super::value::{non_empty, path};
use super::words;
use dsa::settings::value::dn;
use dsa::settings::value::switch;
use std::path::PathBuf;

/// A server that may be asked, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainedServer {
    /// Whether TLS is spoken from the first byte, host and port.
    pub place: (bool, String, u16),
    /// Authorities that its certificate must lead to; without them it is asked in the clear.
    pub ca_file: Option<PathBuf>,
    /// As whom it is asked, and the file with the password; else as nobody.
    pub identity: Option<(String, PathBuf)>,
    /// It is asked about names at or below this one; of any without. It is needed where the server asks as itself: a client that may write the URL of a referral
    /// object chooses the name, and what the server may do there.
    pub base: Option<String>,
    /// Is it asked in the name of the client (RFC 4370)?
    pub is_proxied: bool,
}

impl ChainedServer {
    /// The files that it names.
    pub(super) fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.ca_file.iter_mut().chain(self.identity.iter_mut().map(|(_, file)| file))
    }

    /// Its URL, with the port.
    pub fn url(&self) -> String {
        let (is_tls, host, port) = &self.place;
        let scheme = if *is_tls { "ldaps" } else { "ldap" };
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        format!("{scheme}://{host}:{port}")
    }

    /// The place that an LDAP URL names.
    pub fn place(url: &str) -> Option<(bool, String, u16)> {
        let (scheme, rest) = url.split_once("://")?;
        let is_tls = match &scheme.to_ascii_lowercase()[..] {
            "ldap" => false,
            "ldaps" => true,
            _ => return None,
        };
        let authority = rest.split(['/', '?']).next()?;
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (authority, if is_tls { 636 } else { 389 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        (!host.is_empty()).then_some((is_tls, host, port))
    }
}

/// Reads a server.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(line: &str) -> Result<ChainedServer, String> {
    let (mut place, mut ca_file, mut name, mut password, mut base) = (None, None, None, None, None);
    let (mut is_proxied, mut is_tls) = (false, true);
    for (word, value) in words::parse(line)? {
        match &word[..] {
            "url" => {
                let found = ChainedServer::place(&non_empty(&value)?);
                place = Some(
                    found.ok_or_else(|| format!("`{value}` is none of `ldap://HOST` and `ldaps://HOST`"))?,
                );
            }
            "ca-file" => ca_file = Some(path(&value)?),
            "bind-dn" => name = Some(dn(&value)?),
            "password-file" => password = Some(path(&value)?),
            "base" => base = Some(dn(&value)?),
            "proxied" => is_proxied = switch(&value)?,
            "tls" => is_tls = switch(&value)?,
            _ => {
                return Err(format!(
                    "`{word}` is none of `url`, `ca-file`, `bind-dn`, `password-file`, `base`, `proxied` and `tls`"
                ));
            }
        }
    }
    let place = place.ok_or("`url` is needed")?;
    if is_tls != ca_file.is_some() {
        return Err("either `ca-file` is needed, or `tls = \"off\"` without it".to_owned());
    }
    if place.0 && !is_tls {
        return Err("`ldaps://` is TLS".to_owned());
    }
    let identity = match (name, password) {
        (Some(name), Some(password)) => Some((name, password)),
        (None, None) if !is_proxied => None,
        (None, None) => return Err("who asks in the name of others needs `bind-dn`".to_owned()),
        _ => return Err("`bind-dn` and `password-file` need each other".to_owned()),
    };
    if identity.is_some() && !is_proxied && base.is_none() {
        return Err("a server that is not asked in the name of the client (`proxied`) needs `base`, at or below which \
                    it may be asked"
            .to_owned());
    }
    Ok(ChainedServer { place, ca_file, identity, base, is_proxied })
}

/// A server as it is read.
pub(super) fn show(server: &ChainedServer) -> String {
    let mut line = String::new();
    words::put(&mut line, "url", &server.url());
    match &server.ca_file {
        Some(path) => words::put(&mut line, "ca-file", &path.display().to_string()),
        None => words::put(&mut line, "tls", "off"),
    }
    if let Some((name, password)) = &server.identity {
        words::put(&mut line, "bind-dn", name);
        words::put(&mut line, "password-file", &password.display().to_string());
    }
    if let Some(base) = &server.base {
        words::put(&mut line, "base", base);
    }
    if server.is_proxied {
        words::put(&mut line, "proxied", "on");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_come_back() {
        for line in [
            "url=ldaps://a.example:636 ca-file=/ca.crt",
            "url=ldap://a.example:389 tls=off",
            "url=ldap://[::1]:10389 ca-file=/ca.crt bind-dn=\"cn=chain,dc=example\" password-file=/p proxied=on",
            "url=ldap://a.example:389 ca-file=/ca.crt bind-dn=\"cn=chain,dc=example\" password-file=/p base=\"ou=a,dc=example\"",
        ] {
            assert_eq!(parse(line).map(|server| show(&server)), Ok(line.to_owned()));
        }
    }

    #[test]
    fn what_is_no_server() {
        for (line, said) in [
            ("ca-file=/x", "`url` is needed"),
            ("url=http://a ca-file=/x", "none of `ldap://HOST`"),
            ("url=ldap://a", "either `ca-file`"),
            ("url=ldap://a tls=off ca-file=/x", "either `ca-file`"),
            ("url=ldaps://a tls=off", "`ldaps://` is TLS"),
            ("url=ldaps://a ca-file=/x bind-dn=dc=x", "need each other"),
            ("url=ldaps://a ca-file=/x proxied=on", "in the name of others"),
            ("url=ldaps://a ca-file=/x bind-dn=dc=x password-file=/p", "needs `base`"),
            ("url=ldaps://a ca-file=/x base=x", "`x`"),
            ("url=ldaps://a ca-file=/x depth=1", "none of `url`"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
