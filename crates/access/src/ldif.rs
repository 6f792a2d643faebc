//! Entries of LDIF, for decisions about a directory that nobody serves.

use crate::world::Entry;
use proto::ldif::{Body, Lines, Parser, Value};
use schema::Schema;

/// Reads content records, and records that add entries.
///
/// # Errors
/// The line that is wrong, and why.
pub fn entries(schema: &Schema, text: &[u8]) -> Result<Vec<Entry>, String> {
    let (mut parser, mut rest, mut entries) = (Parser::new(), text, Vec::new());
    while let Some((record, taken)) = parser.next_record(rest) {
        let record = record.map_err(|error| error.to_string())?;
        let wrong = |what: &str| format!("line {}: {what}", record.line);
        let (Body::Content(lines) | Body::Add(lines)) = record.body else {
            return Err(wrong("an entry is expected, not a change"));
        };
        let dn = std::str::from_utf8(record.dn).map_err(|_| wrong("the DN is not UTF-8"))?;
        let attributes = attributes(lines)?;
        let entry =
            Entry::new(schema, dn, attributes).ok_or_else(|| wrong("the DN is none under the schema"))?;
        entries.push(entry);
        rest = &rest[taken..];
    }
    Ok(entries)
}

/// Attributes with their values.
type Attributes = Vec<(String, Vec<Vec<u8>>)>;

fn attributes(lines: Lines<'_>) -> Result<Attributes, String> {
    let mut attributes = Attributes::new();
    for line in lines.iter() {
        let Value::Bytes(value) = line.value else {
            return Err(format!("line {}: a value in another file is not read", line.line));
        };
        let name = String::from_utf8_lossy(line.description).into_owned();
        match attributes.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            Some((_, values)) => values.push(value.to_vec()),
            None => attributes.push((name, vec![value.to_vec()])),
        }
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_adds_are_entries() {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        let text =
            b"version: 1\ndn: dc=x\ndc: x\nou: a\nOU: b\n\ndn:: ZGM9eSxkYz14\nchangetype: add\ncn:: YQ==\n";
        let entries = entries(&schema, text).unwrap();
        assert_eq!(entries[0].attributes[1], ("ou".to_owned(), vec![b"a".to_vec(), b"b".to_vec()]));
        assert_eq!((entries[1].dn.as_str(), &entries[1].attributes[0].1[0][..]), ("dc=y,dc=x", &b"a"[..]));
        let fault = |text: &str| super::entries(&schema, text.as_bytes()).unwrap_err();
        assert_eq!(fault("dn: dc=x\nchangetype: delete\n"), "line 1: an entry is expected, not a change");
        assert!(fault("dn: dc=x\ndc: x\n\ndn: flavour=x\ndc: y\n").starts_with("line 4: the DN"));
        assert!(fault("dn: dc=x\ndc:< file:///x\n").starts_with("line 2: a value in another file"));
    }
}
