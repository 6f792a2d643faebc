//! An address to listen on, as a URL.

use model::percent;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Permissions of a socket file unless others are asked for: everybody of the machine may connect, for the system says who does.
const MODE: u32 = 0o666;
/// Bytes of a path that a socket can have, less what is put before and behind its name while it is made.
const PATH_BYTES_MAX: usize = 88;

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// `ldap://HOST:PORT`, or `ldaps://HOST:PORT` where TLS is spoken from the first byte.
    Tcp {
        /// Is TLS spoken from the first byte?
        is_tls: bool,
        /// Name or address; IPv6 without brackets.
        host: String,
        /// Port; 0 lets the system pick one.
        port: u16,
    },
    /// `ldapi://PATH?mode=MODE`: a Unix socket.
    Unix {
        /// Where clients of this machine find it.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

impl Default for Listen {
    fn default() -> Listen {
        Listen::Tcp { is_tls: false, host: "127.0.0.1".to_owned(), port: 389 }
    }
}

impl Listen {
    /// A Unix socket that all may connect to.
    pub fn unix(path: PathBuf) -> Listen {
        Listen::Unix { path, mode: MODE }
    }

    /// Is TLS spoken from the first byte?
    pub fn is_tls(&self) -> bool {
        matches!(self, Listen::Tcp { is_tls: true, .. })
    }

    /// Can one socket only be bound to it?
    pub(crate) fn is_taken_by(&self, other: &Listen) -> bool {
        match (self, other) {
            (Listen::Tcp { port: 0, .. }, _) => false,
            (Listen::Unix { path, .. }, Listen::Unix { path: taken, .. }) => path == taken,
            _ => self == other,
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp { is_tls, host, port } => {
                let scheme = if *is_tls { "ldaps" } else { "ldap" };
                match host.contains(':') {
                    true => write!(f, "{scheme}://[{host}]:{port}"),
                    false => write!(f, "{scheme}://{host}:{port}"),
                }
            }
            Listen::Unix { path, mode } => {
                write!(f, "ldapi://{}", encoded(path))?;
                if *mode == MODE { Ok(()) } else { write!(f, "?mode={mode:04o}") }
            }
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once("://") {
            Some(("ldap", rest)) => tcp(text, rest, false),
            Some(("ldaps", rest)) => tcp(text, rest, true),
            Some(("ldapi", rest)) => unix(text, rest),
            Some(("pldap" | "pldaps", rest)) => Err(format!(
                "`{text}`: the PROXY protocol is asked for by the key `proxy` of a `[[listener]]` with `url = \"ldap://{rest}\"`"
            )),
            _ => Err(format!(
                "`{text}` is not of the form ldap://HOST:PORT, ldaps://HOST:PORT or ldapi://PATH"
            )),
        }
    }
}

fn tcp(text: &str, rest: &str, is_tls: bool) -> Result<Listen, String> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (rest, if is_tls { "636" } else { "389" }),
    };
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() || host.contains('/') {
        return Err(format!("`{text}` names no host; `ldap://0.0.0.0:389` listens on all"));
    }
    let port = port.parse().map_err(|_| format!("`{port}` is not a port (0 to 65535)"))?;
    Ok(Listen::Tcp { is_tls, host: host.to_owned(), port })
}

fn unix(text: &str, rest: &str) -> Result<Listen, String> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.strip_suffix('/').unwrap_or(path);
    let path =
        decoded(path).ok_or_else(|| format!("`{text}`: behind % two hexadecimal digits are expected"))?;
    if !path.starts_with('/') || path.ends_with('/') || path.contains('\0') {
        return Err(format!(
            "`{text}` names no socket by a path from the root, with %2F for each slash: `ldapi://%2Frun%2Fpando%2Fldapi`"
        ));
    }
    if path.len() > PATH_BYTES_MAX {
        return Err(format!("`{text}`: the path of a socket has {PATH_BYTES_MAX} bytes at most"));
    }
    let mode = match query.strip_prefix("mode=") {
        None if query.is_empty() => MODE,
        None => return Err(format!("`{text}`: only `?mode=` is known behind the path, as in `?mode=0660`")),
        Some(digits) => u32::from_str_radix(digits, 8)
            .ok()
            .filter(|mode| *mode <= 0o777)
            .ok_or_else(|| format!("`{digits}` are no permissions, such as 0660"))?,
    };
    Ok(Listen::Unix { path: path.into(), mode })
}

/// A text without percent-encoding (RFC 3986 section 2.1). `None` if that is malformed, or the result is no UTF-8.
fn decoded(text: &str) -> Option<String> {
    String::from_utf8(percent::decoded(text.as_bytes())?).ok()
}

/// A path in a URL: what has a meaning there is percent-encoded, and a slash too, as libldap wants it.
fn encoded(path: &Path) -> String {
    let mut text = Vec::new();
    percent::encode(path.as_os_str().as_encoded_bytes(), b"", &mut text);
    String::from_utf8(text).expect("encoded as ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Listen, String> {
        text.parse()
    }

    #[test]
    fn listen_urls() {
        for (text, shown) in [
            ("ldap://127.0.0.1:0", "ldap://127.0.0.1:0"),
            ("ldap://localhost/", "ldap://localhost:389"),
            ("ldap://[::1]:3389", "ldap://[::1]:3389"),
            ("ldap://[::1]", "ldap://[::1]:389"),
            ("ldaps://localhost", "ldaps://localhost:636"),
            ("ldaps://[::1]:6360/", "ldaps://[::1]:6360"),
            ("ldapi://%2Frun%2fa%20b", "ldapi://%2Frun%2Fa%20b"),
            ("ldapi://%2Frun%2Fx/?mode=0666", "ldapi://%2Frun%2Fx"),
            ("ldapi://%2Frun%2Fx?mode=660", "ldapi://%2Frun%2Fx?mode=0660"),
        ] {
            let listen = parse(text).unwrap();
            assert_eq!(listen.to_string(), shown);
            assert_eq!(parse(shown).unwrap(), listen);
        }
        assert!(parse("localhost:389").unwrap_err().contains("ldap://HOST:PORT"));
        assert!(parse("ldap://:389").unwrap_err().contains("no host"));
        assert!(parse("ldap://h:70000").unwrap_err().contains("not a port"));
        assert!(parse("pldap://h:1").unwrap_err().contains("`url = \"ldap://h:1\"`"));
    }

    #[test]
    fn what_names_no_socket() {
        for (text, said) in [
            ("ldapi://", "%2F for each slash"),
            ("ldapi:///", "%2F for each slash"),
            ("ldapi://run", "%2F for each slash"),
            ("ldapi://%2Frun%2F", "%2F for each slash"),
            ("ldapi://%2Fx%00y", "%2F for each slash"),
            ("ldapi://%2", "two hexadecimal digits"),
            ("ldapi://%+1x", "two hexadecimal digits"),
            ("ldapi://%2Fx?mode=888", "no permissions"),
            ("ldapi://%2Fx?mode=7777", "no permissions"),
            ("ldapi://%2Fx?x-mod=-rwx", "only `?mode=`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(parse(&format!("ldapi://%2F{}", "x".repeat(88))).unwrap_err().contains("88 bytes at most"));
    }

    #[test]
    fn a_port_is_taken_once_and_a_path_too() {
        let of = |text: &str| parse(text).unwrap();
        assert!(of("ldapi://%2Fx").is_taken_by(&of("ldapi://%2Fx?mode=0600")));
        assert!(of("ldap://h:1").is_taken_by(&of("ldap://h:1")));
        assert!(!of("ldap://h:0").is_taken_by(&of("ldap://h:0")));
    }
}
