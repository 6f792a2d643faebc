//! Values of configuration keys, from text and back.

use dsa::Anonymous;
use dsa::config::Scheme;
use std::fmt;
use std::str::FromStr;

/// What to do when the disk fails to keep the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLogFailure {
    /// End.
    Exit,
    /// Answer searches, refuse writes.
    ReadOnly,
}

/// The words of a key that takes one of two values, with what they mean.
pub(super) type Words<T> = [(&'static str, T); 2];

pub(super) const ON_LOG_FAILURE: Words<OnLogFailure> =
    [("exit", OnLogFailure::Exit), ("read-only", OnLogFailure::ReadOnly)];
pub(super) const SCHEMES: Words<Scheme> = [("ssha", Scheme::SaltedSha1), ("clear", Scheme::Clear)];
pub(super) const ANONYMOUS: Words<Anonymous> = [("none", Anonymous::None), ("read", Anonymous::Read)];

/// The value that a word means.
pub(super) fn meant<T: Copy>(text: &str, words: &Words<T>) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| format!("`{text}` is neither `{}` nor `{}`", words[0].0, words[1].0))
}

/// The word for a value.
pub(super) fn word<T: PartialEq>(value: &T, words: &Words<T>) -> String {
    words[usize::from(words[0].1 != *value)].0.to_owned()
}

/// A sync mode: `always`, `interval=MS` or `none`.
pub(super) fn mode(text: &str) -> Result<wal::Mode, String> {
    match (text, text.strip_prefix("interval=").map(str::parse)) {
        ("always", _) => Ok(wal::Mode::Always),
        ("none", _) => Ok(wal::Mode::None),
        (_, Some(Ok(ms @ 1..=60_000))) => Ok(wal::Mode::Interval { ms }),
        (_, Some(_)) => Err(format!("`{text}`: an interval is 1 to 60000 milliseconds")),
        _ => Err(format!("`{text}` is none of `always`, `interval=MS` and `none`")),
    }
}

/// As it is written.
pub(super) fn mode_text(mode: wal::Mode) -> String {
    match mode {
        wal::Mode::Always => "always".to_owned(),
        wal::Mode::Interval { ms } => format!("interval={ms}"),
        wal::Mode::None => "none".to_owned(),
    }
}

/// A version of TLS that is spoken: 1.3, or 1.2.
pub(super) fn tls_version(text: &str) -> Result<bool, String> {
    match text {
        "1.3" => Ok(false),
        "1.2" => Ok(true),
        _ => Err(format!("`{text}` is neither `1.2` nor `1.3`")),
    }
}

/// An address to listen on: `ldap://HOST:PORT`, or `ldaps://HOST:PORT` where TLS is spoken from the first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Is TLS spoken from the first byte?
    pub is_tls: bool,
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// Port; 0 lets the system pick one.
    pub port: u16,
}

impl Default for Listen {
    fn default() -> Listen {
        Listen { is_tls: false, host: "127.0.0.1".to_owned(), port: 389 }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listen { is_tls, host, port } = self;
        let scheme = if *is_tls { "ldaps" } else { "ldap" };
        if host.contains(':') {
            write!(f, "{scheme}://[{host}]:{port}")
        } else {
            write!(f, "{scheme}://{host}:{port}")
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (is_tls, default, rest) = match text.split_once("://") {
            Some(("ldap", rest)) => (false, "389", rest),
            Some(("ldaps", rest)) => (true, "636", rest),
            Some(("ldapi", _)) => {
                return Err(format!("`{text}`: only ldap:// and ldaps:// are served for now"));
            }
            _ => return Err(format!("`{text}` is not of the form ldap://HOST:PORT or ldaps://HOST:PORT")),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (rest, default),
        };
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || host.contains('/') {
            return Err(format!("`{text}` names no host; `ldap://0.0.0.0:389` listens on all"));
        }
        let port = port.parse().map_err(|_| format!("`{port}` is not a port (0 to 65535)"))?;
        Ok(Listen { is_tls, host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_urls() {
        let parse = |text: &str| text.parse::<Listen>();
        for (text, shown) in [
            ("ldap://127.0.0.1:0", "ldap://127.0.0.1:0"),
            ("ldap://localhost/", "ldap://localhost:389"),
            ("ldap://[::1]:3389", "ldap://[::1]:3389"),
            ("ldap://[::1]", "ldap://[::1]:389"),
            ("ldaps://localhost", "ldaps://localhost:636"),
            ("ldaps://[::1]:6360/", "ldaps://[::1]:6360"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), shown);
        }
        assert!(parse("ldapi://%2Ftmp%2Fx").unwrap_err().contains("only ldap:// and ldaps://"));
        assert!(parse("localhost:389").unwrap_err().contains("ldap://HOST:PORT"));
        assert!(parse("ldap://:389").unwrap_err().contains("no host"));
        assert!(parse("ldap://h:70000").unwrap_err().contains("not a port"));
    }
}
