//! Schema files: RFC text and slapd's `.schema` (`attributetype ( ... )`), cn=config LDIF
//! (`olcAttributeTypes: {0}( ... )`) and subschema LDIF (`attributeTypes: ( ... )`).

use crate::definition::{
    parse_attribute_type, parse_content_rule, parse_name_form, parse_object_class, parse_structure_rule,
};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::collections::BTreeSet;

/// Kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StatementKind {
    AttributeType,
    ObjectClass,
    ContentRule,
    NameForm,
    StructureRule,
    Syntax,
    /// `objectidentifier name oid`
    Macro,
}

/// What a statement does with what it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Act {
    /// It defines it.
    #[default]
    Define,
    /// It puts another definition in the place of the one with its OID, whose number it gets.
    Change,
    /// It takes the definition with this OID out. Nothing else gets its number.
    Remove,
    /// It takes a number that a definition had which was removed.
    Retire,
}

impl Act {
    /// What keywords of all but the first begin with. Only what the server writes itself has them; programs that know none of this refuse to
    /// read them.
    const PREFIXES: [(&str, Act); 3] =
        [("changed-", Act::Change), ("removed-", Act::Remove), ("retired-", Act::Retire)];

    /// What a keyword begins with.
    pub(crate) fn prefix(self) -> &'static str {
        Act::PREFIXES.iter().find(|(_, act)| *act == self).map_or("", |(prefix, _)| prefix)
    }

    fn split(keyword: &str) -> (Act, &str) {
        let mut known = Act::PREFIXES.iter();
        let found = known.find_map(|(prefix, act)| Some((*act, keyword.strip_prefix(prefix)?)));
        found.unwrap_or((Act::Define, keyword))
    }
}

/// One statement of a file: what follows its keyword, joined to one text.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) act: Act,
    pub(crate) kind: StatementKind,
    pub(crate) text: String,
    /// Offset in `text` and line of each piece, in order.
    pieces: Vec<(usize, usize)>,
}

impl Statement {
    /// The line (from 1) that an offset of the text was read from.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        let after = self.pieces.partition_point(|(start, _)| *start <= offset);
        self.pieces[after.saturating_sub(1)].1
    }

    pub(crate) fn line(&self) -> usize {
        self.pieces[0].1
    }

    /// What a definition is known by: its kind and its OID, as it is written, or its number. The OID of a content rule is that of its class, so
    /// the kind tells them apart. `None` of what has none.
    pub(crate) fn key(&self) -> Option<(StatementKind, String)> {
        self.oid().map(|oid| (self.kind, oid))
    }

    fn oid(&self) -> Option<String> {
        if matches!(self.act, Act::Remove | Act::Retire) {
            return Some(self.text.trim().to_owned());
        }
        match self.kind {
            StatementKind::AttributeType => parse_attribute_type(&self.text).ok().map(|d| d.oid),
            StatementKind::ObjectClass => parse_object_class(&self.text).ok().map(|d| d.oid),
            StatementKind::ContentRule => parse_content_rule(&self.text).ok().map(|d| d.oid),
            StatementKind::NameForm => parse_name_form(&self.text).ok().map(|d| d.oid),
            StatementKind::StructureRule => parse_structure_rule(&self.text).ok().map(|d| d.id.to_string()),
            StatementKind::Syntax | StatementKind::Macro => None,
        }
    }
}

/// A line that could not be read, or that says something this server does not use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) line: usize,
    pub(crate) message: String,
    pub(crate) is_error: bool,
}

impl Remark {
    fn error(line: usize, message: impl Into<String>) -> Remark {
        Remark { line, message: message.into(), is_error: true }
    }

    fn warning(line: usize, message: &str) -> Remark {
        Remark { line, message: message.to_owned(), is_error: false }
    }
}

/// Of statements that a server recorded, each one line: those that define something which none of the others removes or changes.
pub fn additions_of(text: &str) -> String {
    let keys = |line: &str| read(line).0.into_iter().map(|statement| (statement.act, statement.key()));
    let later: BTreeSet<_> =
        text.lines().flat_map(keys).filter(|(act, _)| *act != Act::Define).map(|(_, key)| key).collect();
    let stays = |line: &&str| keys(line).all(|(act, key)| act == Act::Define && !later.contains(&key));
    text.split_inclusive('\n').filter(stays).collect()
}

/// Splits a file into statements.
pub(crate) fn read(text: &str) -> (Vec<Statement>, Vec<Remark>) {
    let first = text.lines().map(str::trim_end).find(|l| !l.is_empty() && !l.starts_with('#'));
    if first.is_some_and(is_ldif_line) { read_ldif(text) } else { read_plain(text) }
}

fn is_ldif_line(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else { return false };
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b';' | b'.'))
}

/// How a content rule begins in recorded rules. Programs that do not enforce content rules pass over those of files; they refuse to read this
/// word, and so a directory whose updates were judged by such rules.
pub(crate) const RECORDED_CONTENT_RULE: &str = "contentrule";
/// The same of a name form.
pub(crate) const RECORDED_NAME_FORM: &str = "namingform";
/// The same of a structure rule.
pub(crate) const RECORDED_STRUCTURE_RULE: &str = "structurerule";

impl StatementKind {
    /// The keyword of a definition that the server writes.
    pub(crate) fn keyword(self) -> &'static str {
        match self {
            StatementKind::AttributeType => "attributetype",
            StatementKind::ObjectClass => "objectclass",
            StatementKind::ContentRule => RECORDED_CONTENT_RULE,
            StatementKind::NameForm => RECORDED_NAME_FORM,
            StatementKind::StructureRule => RECORDED_STRUCTURE_RULE,
            StatementKind::Syntax => "ldapsyntax",
            StatementKind::Macro => "objectidentifier",
        }
    }
}

/// What a keyword or an LDIF attribute begins; `Err` names what is known and not used.
fn kind_of(keyword: &str) -> Result<Option<StatementKind>, &'static str> {
    let bare = keyword.to_ascii_lowercase();
    Ok(Some(match bare.strip_prefix("olc").unwrap_or(&bare) {
        "attributetype" | "attributetypes" | "attribute" => StatementKind::AttributeType,
        "objectclass" | "objectclasses" => StatementKind::ObjectClass,
        "ldapsyntax" | "ldapsyntaxes" => StatementKind::Syntax,
        "objectidentifier" => StatementKind::Macro,
        "ditcontentrule" | "ditcontentrules" | RECORDED_CONTENT_RULE => StatementKind::ContentRule,
        "ditstructurerule" | "ditstructurerules" | RECORDED_STRUCTURE_RULE => StatementKind::StructureRule,
        "nameform" | "nameforms" | RECORDED_NAME_FORM => StatementKind::NameForm,
        "matchingrule" | "matchingrules" | "matchingruleuse" => return Err("matching rules are built in"),
        _ => return Ok(None),
    }))
}

fn read_plain(text: &str) -> (Vec<Statement>, Vec<Remark>) {
    let (mut statements, mut remarks) = (Vec::<Statement>::new(), Vec::new());
    let mut open = Nesting::default();
    // Lines of a statement that is left out are left out with it.
    let mut skipping = false;
    for (number, line) in text.lines().enumerate().map(|(at, l)| (at + 1, l.trim_end())) {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        if (line.starts_with([' ', '\t']) || open.is_open()) && (skipping || !statements.is_empty()) {
            open.read(line);
            if let (false, Some(statement)) = (skipping, statements.last_mut()) {
                statement.text.push(' ');
                statement.pieces.push((statement.text.len(), number));
                statement.text.push_str(line);
            }
            continue;
        }
        let trimmed = line.trim_start();
        let end = trimmed.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(trimmed.len());
        let (keyword, rest) = trimmed.split_at(end);
        open = Nesting::default();
        open.read(rest);
        skipping = true;
        let (act, bare) = Act::split(keyword);
        match kind_of(bare) {
            Ok(Some(kind)) => {
                skipping = false;
                let (text, pieces) = (rest.to_owned(), vec![(0, number)]);
                statements.push(Statement { act, kind, text, pieces });
            }
            Ok(None) => {
                let message = format!("'{keyword}' is not the beginning of a definition");
                remarks.push(Remark::error(number, message));
            }
            Err(why) => remarks.push(Remark::warning(number, why)),
        }
    }
    (statements, remarks)
}

/// Counts parentheses outside quotes.
#[derive(Default)]
struct Nesting {
    depth: i32,
    quoted: bool,
}

impl Nesting {
    fn read(&mut self, line: &str) {
        for byte in line.bytes() {
            match byte {
                b'\'' => self.quoted = !self.quoted,
                b'(' if !self.quoted => self.depth += 1,
                b')' if !self.quoted => self.depth -= 1,
                _ => {}
            }
        }
    }

    fn is_open(&self) -> bool {
        self.depth > 0
    }
}

fn read_ldif(text: &str) -> (Vec<Statement>, Vec<Remark>) {
    let (mut statements, mut remarks) = (Vec::new(), Vec::new());
    let mut lines =
        text.lines().enumerate().map(|(at, l)| (at + 1, l.strip_suffix('\r').unwrap_or(l))).peekable();
    while let Some((number, line)) = lines.next() {
        let mut folded = line.to_owned();
        let mut pieces = vec![(0, number)];
        while let Some((number, more)) = lines.next_if(|(_, l)| l.starts_with(' ')) {
            pieces.push((folded.len(), number));
            folded.push_str(&more[1..]);
        }
        if folded.is_empty() || folded.starts_with('#') {
            continue;
        }
        let Some((name, value)) = folded.split_once(':') else {
            remarks.push(Remark::error(number, "expected 'attribute: value'"));
            continue;
        };
        // The entry's own class, `objectClass: olcSchemaConfig`, is no definition.
        let is_definition = |value: &str| value.contains('(') || value.contains(char::is_whitespace);
        match kind_of(name.split(';').next().unwrap_or(name)) {
            Ok(Some(kind)) => match decode(value) {
                Some((text, cut)) if is_definition(&text) => {
                    let prefix = name.len() + 1 + cut;
                    let moved = pieces.iter().map(|(at, line)| (at.saturating_sub(prefix), *line)).collect();
                    statements.push(Statement { act: Act::Define, kind, text, pieces: moved });
                }
                Some(_) => {}
                None => remarks.push(Remark::error(number, "a value that is not base64 of UTF-8")),
            },
            Ok(None) => {}
            Err(why) => remarks.push(Remark::warning(number, why)),
        }
    }
    (statements, remarks)
}

/// The value after the colon, without `{0}`, and how many bytes of the line were cut off before it.
fn decode(value: &str) -> Option<(String, usize)> {
    let (text, mut cut) = match value.strip_prefix(':') {
        Some(encoded) => (String::from_utf8(base64(encoded.trim())?).ok()?, 0),
        None => (value.trim_start().to_owned(), value.len() - value.trim_start().len()),
    };
    let bare = without_index(&text);
    cut += text.len() - bare.len();
    Some((bare.to_owned(), cut))
}

/// A value of OpenLDAP's `cn=config` without the number that is its place among the others, `{0}`.
pub fn without_index(text: &str) -> &str {
    match text.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((index, rest)) if index.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => text,
    }
}

/// Base64 (RFC 4648 section 4), with any padding or none; schema files seldom have it. A digit that is left over is dropped, as earlier
/// versions did: a directory reads the files that it has recorded again at each start.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let whole = digits.len() - usize::from(digits.len() % 4 == 1);
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(&STANDARD, config).decode(digits.get(..whole)?).ok()
}

#[cfg(test)]
mod tests;
