//! Where lines of a log go: a file, standard output, or a service of the machine that takes lines by a local socket.

use logs::Origin;
use model::timestamp::timestamp;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where syslog listens.
const SYSLOG_SOCKET: &str = "/dev/log";
/// Where the journal of systemd listens.
const JOURNAL_SOCKET: &str = "/run/systemd/journal/socket";

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To a file.
    File(PathBuf),
    /// To standard output.
    Stdout,
    /// To syslog (RFC 5424), by the socket at this path.
    Syslog(PathBuf),
    /// To the journal of systemd, with fields of its own, by the socket at this path.
    Journald(PathBuf),
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Destination, String> {
        let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let socket = |by_default: &str| match rest {
            Some("") => Err(format!("`{text}` has no path behind the colon")),
            rest => Ok(PathBuf::from(rest.unwrap_or(by_default))),
        };
        match word {
            "" => Err("it is empty".to_owned()),
            "stdout" if rest.is_none() => Ok(Destination::Stdout),
            "syslog" => socket(SYSLOG_SOCKET).map(Destination::Syslog),
            "journald" => socket(JOURNAL_SOCKET).map(Destination::Journald),
            "file" if rest.is_some() => socket("").map(Destination::File),
            _ => Ok(Destination::File(text.into())),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        match self {
            Destination::File(path) => absolute(path).display().fmt(f),
            Destination::Stdout => f.write_str("stdout"),
            Destination::Syslog(path) if path.as_os_str() == SYSLOG_SOCKET => f.write_str("syslog"),
            Destination::Syslog(path) => write!(f, "syslog:{}", path.display()),
            Destination::Journald(path) if path.as_os_str() == JOURNAL_SOCKET => f.write_str("journald"),
            Destination::Journald(path) => write!(f, "journald:{}", path.display()),
        }
    }
}

impl Destination {
    /// Its path, if that may be relative to the folder of the configuration.
    pub(crate) fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Destination::File(path) | Destination::Syslog(path) | Destination::Journald(path) => Some(path),
            Destination::Stdout => None,
        }
    }
}

/// Which log lines are of, for services that keep lines of all programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Access,
    Security,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Stream::Access => "access",
            Stream::Security => "security",
        }
    }

    /// Severity: informational, or a notice.
    fn severity(self) -> u8 {
        match self {
            Stream::Access => 6,
            Stream::Security => 5,
        }
    }

    /// Facility: of daemons, or of what is about authorization and private.
    fn facility(self) -> u8 {
        match self {
            Stream::Access => 3,
            Stream::Security => 10,
        }
    }
}

/// Replaces what is in `out` by a line as syslog has it (RFC 5424 section 6).
pub(super) fn put_syslog(out: &mut Vec<u8>, line: &[u8], (stream, origin, now_ms): (Stream, &Origin, u64)) {
    let priority = stream.facility() * 8 + stream.severity();
    // A name of a host is at most as long as DNS allows, and has no blanks.
    let host: String = origin.host.chars().filter(char::is_ascii_graphic).take(255).collect();
    let host = if host.is_empty() { "-" } else { &host };
    let head =
        format!("<{priority}>1 {} {host} pando {} {} - ", timestamp(now_ms), origin.process, stream.name());
    out.clear();
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(line);
}

/// Replaces what is in `out` by an entry of the journal: the line as its message, and the keys of an object as fields.
pub(super) fn put_journal(out: &mut Vec<u8>, line: &[u8], stream: Stream) {
    out.clear();
    let priority = stream.severity().to_string();
    let own = [
        ("MESSAGE", line),
        ("PRIORITY", priority.as_bytes()),
        ("SYSLOG_IDENTIFIER", &b"pando"[..]),
        ("PANDO_LOG", stream.name().as_bytes()),
    ];
    own.into_iter().for_each(|(key, value)| put_field(out, key, value));
    let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(line) else { return };
    for (key, value) in &object {
        let key = format!("PANDO_{}", key.to_ascii_uppercase());
        match value {
            serde_json::Value::String(text) => put_field(out, &key, text.as_bytes()),
            value => put_field(out, &key, value.to_string().as_bytes()),
        }
    }
}

/// Appends a field: a value with an end of line in it has its length before it.
fn put_field(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    out.extend_from_slice(key.as_bytes());
    match value.contains(&b'\n') {
        true => {
            out.push(b'\n');
            out.extend_from_slice(&(value.len() as u64).to_le_bytes());
        }
        false => out.push(b'='),
    }
    out.extend_from_slice(value);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_words_or_files() {
        let file = |path: &str| Destination::File(path.into());
        for (text, expected) in [
            ("/var/log/access.log", file("/var/log/access.log")),
            ("file:stdout", file("stdout")),
            ("log:1", file("log:1")),
            ("stdout", Destination::Stdout),
            ("syslog", Destination::Syslog(SYSLOG_SOCKET.into())),
            ("syslog:/run/log", Destination::Syslog("/run/log".into())),
            ("journald", Destination::Journald(JOURNAL_SOCKET.into())),
            ("journald:/run/j", Destination::Journald("/run/j".into())),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            if !matches!(expected, Destination::File(_)) {
                assert_eq!(expected.to_string(), text);
            }
        }
        for text in ["", "syslog:", "file:"] {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
    }

    #[test]
    fn lines_of_services() {
        let origin = Origin { host: "a host".to_owned(), process: 7, ..Origin::default() };
        let mut out = Vec::new();
        put_syslog(&mut out, b"{\"op\":\"bind\"}", (Stream::Security, &origin, 1_700_000_000_123));
        let line = String::from_utf8(out.clone()).unwrap();
        assert_eq!(line, "<85>1 2023-11-14T22:13:20.123Z ahost pando 7 security - {\"op\":\"bind\"}");
        put_journal(&mut out, b"{\"op\":\"bind\",\"us\":5,\"text\":\"a\\nb\"}", Stream::Access);
        let text = String::from_utf8_lossy(&out);
        for field in ["PRIORITY=6\n", "PANDO_LOG=access\n", "PANDO_OP=bind\n", "PANDO_US=5\n"] {
            assert!(text.contains(field), "{text}");
        }
        let long = [&b"PANDO_TEXT\n"[..], &3u64.to_le_bytes(), b"a\nb\n"].concat();
        assert!(out.windows(long.len()).any(|part| part == long), "{text}");
        put_journal(&mut out, b"conn=1 op=0 UNBIND", Stream::Access);
        assert!(out.starts_with(b"MESSAGE=conn=1 op=0 UNBIND\nPRIORITY=6\n"));
    }
}
