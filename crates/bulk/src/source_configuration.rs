//! The configuration of another server: slapd.conf, `cn=config` of OpenLDAP as LDIF, dse.ldif of 389 Directory Server, config.ldif of OpenDJ.

use proto::ldif::{Body, Parser, Value};

/// A directive of slapd.conf: its word in lower case, and what follows.
pub(crate) type Directive = (String, String);

/// What the configuration of another server says.
pub struct Configuration(pub(crate) Said);

/// The same by its form, in its order.
pub(crate) enum Said {
    /// Of slapd.conf.
    Slapd(Vec<Directive>),
    /// Of LDIF.
    Ldif(Vec<ConfigEntry>),
}

/// An entry of a configuration: names in lower case, and values.
pub(crate) struct ConfigEntry(Vec<(String, String)>);

impl ConfigEntry {
    /// The values of an attribute, whose name is in lower case.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| &value[..])
    }
}

impl Configuration {
    /// Reads it, whichever it is. Its length is bounded by who has it in memory.
    ///
    /// # Errors
    /// The line that is no LDIF, and why.
    pub fn read(text: &[u8]) -> Result<Configuration, (u64, String)> {
        let is_ldif = text
            .split(|byte| *byte == b'\n')
            .any(|line| line.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case(b"dn:")));
        Ok(Configuration(match is_ldif {
            true => Said::Ldif(entries(text)?),
            false => Said::Slapd(directives(&String::from_utf8_lossy(text))),
        }))
    }
}

/// The lines of slapd.conf. One that begins with a blank continues the one before it.
fn directives(text: &str) -> Vec<Directive> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match lines.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    let split = |line: String| {
        let (word, rest) = line.split_once(char::is_whitespace)?;
        Some((word.to_ascii_lowercase(), rest.trim().to_owned()))
    };
    lines.into_iter().filter_map(split).collect()
}

fn entries(text: &[u8]) -> Result<Vec<ConfigEntry>, (u64, String)> {
    let (mut parser, mut rest, mut entries) = (Parser::new(), text, Vec::new());
    while let Some((record, taken)) = parser.next_record(rest) {
        let record = record.map_err(|error| (error.line, error.reason.to_owned()))?;
        if let Body::Content(lines) | Body::Add(lines) = record.body {
            let values = lines.iter().map(|line| {
                let (Value::Bytes(bytes) | Value::Url(bytes)) = line.value;
                let name = String::from_utf8_lossy(line.description).to_ascii_lowercase();
                (name, String::from_utf8_lossy(bytes).into_owned())
            });
            entries.push(ConfigEntry(values.collect()));
        }
        rest = &rest[taken..];
    }
    Ok(entries)
}
