//! The lines of files: LDIF, and configuration files whose lines go on where the next begins with a blank.

use proto::ldif::{Body, Parser, Value};

/// An entry of LDIF: its DN, and each value with its line.
pub(super) struct Record {
    pub dn: String,
    pub values: Vec<(u64, String, String)>,
}

impl Record {
    pub(super) fn of<'r>(&'r self, name: &'r str) -> impl Iterator<Item = (u64, &'r str)> + 'r {
        let named = self.values.iter().filter(move |(_, other, _)| other.eq_ignore_ascii_case(name));
        named.map(|(line, _, value)| (*line, value.as_str()))
    }
}

/// The entries of LDIF, or what is wrong with it.
pub(super) fn records(text: &str) -> Result<Vec<Record>, (u64, String)> {
    let (mut parser, mut rest, mut records) = (Parser::new(), text.as_bytes(), Vec::new());
    while let Some((record, taken)) = parser.next_record(rest) {
        let record = record.map_err(|error| (error.line, error.reason.to_owned()))?;
        if let Body::Content(lines) | Body::Add(lines) = record.body {
            let value = |value| match value {
                Value::Bytes(bytes) | Value::Url(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            };
            let values = lines.iter().map(|line| {
                (line.line, String::from_utf8_lossy(line.description).into_owned(), value(line.value))
            });
            records.push(Record {
                dn: String::from_utf8_lossy(record.dn).into_owned(),
                values: values.collect(),
            });
        }
        rest = &rest[taken..];
    }
    Ok(records)
}

/// Is a text LDIF?
pub(super) fn is_ldif(text: &str) -> bool {
    text.lines().any(|line| line.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("dn:")))
}

/// Logical lines of a configuration file, without comments.
pub(super) fn logical(text: &str) -> Vec<(u64, String)> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        match lines.last_mut() {
            Some((_, logical)) if line.starts_with([' ', '\t']) => {
                logical.push(' ');
                logical.push_str(line.trim());
            }
            _ if line.trim().is_empty() => {}
            _ => lines.push((number as u64 + 1, line.trim().to_owned())),
        }
    }
    lines
}

/// Words of a directive. Quotes hold blanks; in them `\"` and `\\` are one character each.
pub(super) fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted, mut is_word) = (Vec::new(), String::new(), false, false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if is_quoted && matches!(chars.peek(), Some('"' | '\\')) => word.extend(chars.next()),
            '"' => (is_quoted, is_word) = (!is_quoted, true),
            c if c.is_whitespace() && !is_quoted => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}
