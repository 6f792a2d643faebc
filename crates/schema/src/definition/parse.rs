//! Reads definitions, forgiving where files of other servers need it: quoted OIDs, quoted syntaxes.

use super::{
    AttributeTypeDefinition, ClassKind, ContentRuleDefinition, Extensions, NameFormDefinition,
    ObjectClassDefinition, StructureRuleDefinition, SyntaxDefinition, Usage,
};
use std::fmt;

/// Why a text is not a definition, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    /// Offset of the offending word.
    pub at: usize,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for DefinitionError {}

type Result<T> = std::result::Result<T, DefinitionError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Open,
    Close,
    Dollar,
    Quoted(&'a str),
    Word(&'a str),
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Open => f.write_str("'('"),
            Token::Close => f.write_str("')'"),
            Token::Dollar => f.write_str("'$'"),
            Token::Quoted(text) | Token::Word(text) => write!(f, "'{text}'"),
            Token::End => f.write_str("the end"),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Where the token that was read last begins.
    start: usize,
    /// Keywords so far: each may be given once.
    seen: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0, start: 0, seen: Vec::new() }
    }

    /// Reads the begin of a definition, up to its OID.
    fn begin(text: &'a str) -> Result<(Reader<'a>, String)> {
        let mut reader = Reader::new(text);
        reader.open()?;
        let oid = reader.oid("an OID")?;
        Ok((reader, oid))
    }

    fn error<T>(&self, reason: impl Into<String>) -> Result<T> {
        Err(DefinitionError { at: self.start, reason: reason.into() })
    }

    fn next(&mut self) -> Result<Token<'a>> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.start = self.at;
        let Some(&first) = bytes.get(self.at) else { return Ok(Token::End) };
        self.at += 1;
        Ok(match first {
            b'(' => Token::Open,
            b')' => Token::Close,
            b'$' => Token::Dollar,
            b'\'' => match self.text[self.at..].find('\'') {
                Some(len) => {
                    let quoted = &self.text[self.at..self.at + len];
                    self.at += len + 1;
                    Token::Quoted(quoted)
                }
                None => return self.error("a quote is not closed"),
            },
            _ => {
                let ends = |b: &u8| b.is_ascii_whitespace() || b"()$'".contains(b);
                let len = bytes[self.start..].iter().position(ends).unwrap_or(bytes.len() - self.start);
                self.at = self.start + len;
                Token::Word(&self.text[self.start..self.at])
            }
        })
    }

    fn peek(&mut self) -> Result<Token<'a>> {
        let (at, start) = (self.at, self.start);
        let token = self.next();
        (self.at, self.start) = (at, start);
        token
    }

    fn open(&mut self) -> Result<()> {
        match self.next()? {
            Token::Open => Ok(()),
            other => self.error(format!("expected '(' and found {other}")),
        }
    }

    /// After the last `)` nothing may follow.
    fn end(&mut self) -> Result<()> {
        match self.next()? {
            Token::End => Ok(()),
            other => self.error(format!("{other} follows the definition")),
        }
    }

    /// An OID or a name, quoted or not.
    fn oid(&mut self, what: &str) -> Result<String> {
        match self.next()? {
            Token::Word(word) | Token::Quoted(word) if is_oid_like(word) => Ok(word.to_owned()),
            other => self.error(format!("expected {what} and found {other}")),
        }
    }

    /// `oid` or `( oid $ oid )`.
    fn oids(&mut self, what: &str) -> Result<Vec<String>> {
        if self.peek()? != Token::Open {
            return Ok(vec![self.oid(what)?]);
        }
        self.next()?;
        let mut list = Vec::new();
        loop {
            match self.peek()? {
                Token::Close => break,
                Token::Dollar => {
                    self.next()?;
                }
                _ => list.push(self.oid(what)?),
            }
        }
        self.next()?;
        if list.is_empty() { self.error(format!("expected {what} and found ')'")) } else { Ok(list) }
    }

    fn string(&mut self) -> Result<String> {
        match self.next()? {
            Token::Quoted(text) => Ok(unescape(text)),
            other => self.error(format!("expected a quoted string and found {other}")),
        }
    }

    /// `'a'` or `( 'a' 'b' )`.
    fn strings(&mut self) -> Result<Vec<String>> {
        if self.peek()? != Token::Open {
            return Ok(vec![self.string()?]);
        }
        self.next()?;
        let mut list = Vec::new();
        while self.peek()? != Token::Close {
            list.push(self.string()?);
        }
        self.next()?;
        Ok(list)
    }

    fn names(&mut self) -> Result<Vec<String>> {
        let names = self.strings()?;
        match names.iter().find(|n| !is_name(n)) {
            Some(bad) => {
                self.error(format!("'{bad}' is not a name: a letter, then letters, digits and hyphens"))
            }
            None => Ok(names),
        }
    }

    fn rule_id(&mut self) -> Result<u32> {
        match self.next()? {
            Token::Word(word) if word.bytes().all(|b| b.is_ascii_digit()) => {
                word.parse().or_else(|_| self.error(format!("the number of a rule, {word}, is too large")))
            }
            other => self.error(format!("expected the number of a rule and found {other}")),
        }
    }

    /// `ruleid` or `( ruleid ruleid )`. Some write `$` between them, as between OIDs.
    fn rule_ids(&mut self) -> Result<Vec<u32>> {
        if self.peek()? != Token::Open {
            return Ok(vec![self.rule_id()?]);
        }
        self.next()?;
        let mut list = vec![self.rule_id()?];
        loop {
            match self.peek()? {
                Token::Close => break,
                Token::Dollar => {
                    self.next()?;
                }
                _ => list.push(self.rule_id()?),
            }
        }
        self.next()?;
        Ok(list)
    }
}

/// Numeric OIDs, names, and OpenLDAP's `macro:suffix`.
fn is_oid_like(word: &str) -> bool {
    !word.is_empty()
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b':' | b'_' | b'{' | b'}'))
}

/// RFC 4512 wants letters, digits and hyphens; files in use also have underscores and, in 389 Directory
/// Server, names that begin with a digit.
fn is_name(name: &str) -> bool {
    name.bytes().any(|b| b.is_ascii_alphabetic())
        && name.len() <= 256
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// `\27` is a quote, `\5C` a backslash (RFC 4512 section 4.1).
fn unescape(text: &str) -> String {
    text.replace("\\27", "'").replace("\\5C", "\\").replace("\\5c", "\\")
}

/// All keywords, with spaces between them.
const KEYWORDS: &str = "NAME DESC OBSOLETE SUP EQUALITY ORDERING SUBSTR SYNTAX SINGLE-VALUE COLLECTIVE \
    NO-USER-MODIFICATION USAGE ABSTRACT STRUCTURAL AUXILIARY MUST MAY KIND AUX NOT OC FORM";

/// The keyword that comes next, `None` at the closing parenthesis, or an extension, which is read whole.
fn keyword(reader: &mut Reader<'_>, extensions: &mut Extensions) -> Result<Option<&'static str>> {
    loop {
        match reader.next()? {
            Token::Close => {
                reader.end()?;
                return Ok(None);
            }
            Token::Word(word)
                if word.len() > 2 && word.get(..2).is_some_and(|head| head.eq_ignore_ascii_case("X-")) =>
            {
                extensions.push((word.to_owned(), reader.strings()?));
            }
            Token::Word(word) => match KEYWORDS.split(' ').find(|k| k.eq_ignore_ascii_case(word)) {
                Some(keyword) if reader.seen.contains(&keyword) => {
                    return reader.error(format!("{keyword} is given twice"));
                }
                Some(keyword) => {
                    reader.seen.push(keyword);
                    return Ok(Some(keyword));
                }
                None => return reader.error(format!("'{word}' is not a keyword of a definition")),
            },
            Token::End => return reader.error("the closing ')' is missing"),
            other => return reader.error(format!("expected a keyword and found {other}")),
        }
    }
}

/// Reads an AttributeTypeDescription (RFC 4512 section 4.1.2).
pub fn parse_attribute_type(text: &str) -> Result<AttributeTypeDefinition> {
    let (mut reader, oid) = Reader::begin(text)?;
    let mut d = AttributeTypeDefinition { oid, ..Default::default() };
    while let Some(keyword) = keyword(&mut reader, &mut d.extensions)? {
        match keyword {
            "NAME" => d.names = reader.names()?,
            "DESC" => d.description = Some(reader.string()?),
            "OBSOLETE" => d.obsolete = true,
            "SUP" => d.sup = Some(reader.oid("an attribute type")?),
            "EQUALITY" => d.equality = Some(reader.oid("a matching rule")?),
            "ORDERING" => d.ordering = Some(reader.oid("a matching rule")?),
            "SUBSTR" => d.substring = Some(reader.oid("a matching rule")?),
            "SYNTAX" => {
                let text = reader.oid("a syntax")?;
                let (oid, length) = split_length(&reader, &text)?;
                (d.syntax, d.length_max) = (Some(oid), length);
            }
            "SINGLE-VALUE" => d.single_value = true,
            "COLLECTIVE" => d.collective = true,
            "NO-USER-MODIFICATION" => d.no_user_modification = true,
            "USAGE" => d.usage = usage(&mut reader)?,
            other => return reader.error(format!("{other} is not for attribute types")),
        }
    }
    Ok(d)
}

/// `1.2.3{64}` is a syntax and a length.
fn split_length(reader: &Reader<'_>, text: &str) -> Result<(String, Option<u32>)> {
    let Some((oid, rest)) = text.split_once('{') else { return Ok((text.to_owned(), None)) };
    match rest.strip_suffix('}').and_then(|n| n.parse().ok()) {
        Some(length) => Ok((oid.to_owned(), Some(length))),
        None => reader.error("the length in braces after SYNTAX is not a number"),
    }
}

fn usage(reader: &mut Reader<'_>) -> Result<Usage> {
    use Usage::*;
    let all = [UserApplications, DirectoryOperation, DistributedOperation, DsaOperation];
    match reader.next()? {
        Token::Word(word) => match all.into_iter().find(|u| u.name().eq_ignore_ascii_case(word)) {
            Some(usage) => Ok(usage),
            None => reader.error(format!("'{word}' is not a usage")),
        },
        other => reader.error(format!("expected a usage and found {other}")),
    }
}

/// Reads an ObjectClassDescription (RFC 4512 section 4.1.1).
pub fn parse_object_class(text: &str) -> Result<ObjectClassDefinition> {
    let (mut reader, oid) = Reader::begin(text)?;
    let mut d = ObjectClassDefinition { oid, ..Default::default() };
    let mut kind = None;
    while let Some(keyword) = keyword(&mut reader, &mut d.extensions)? {
        match keyword {
            "NAME" => d.names = reader.names()?,
            "DESC" => d.description = Some(reader.string()?),
            "OBSOLETE" => d.obsolete = true,
            "SUP" => d.sup = reader.oids("an object class")?,
            "MUST" => d.must = reader.oids("an attribute type")?,
            "MAY" => d.may = reader.oids("an attribute type")?,
            "ABSTRACT" | "STRUCTURAL" | "AUXILIARY" if kind.is_some() => {
                return reader.error("an object class has one kind");
            }
            "ABSTRACT" => kind = Some(ClassKind::Abstract),
            "STRUCTURAL" => kind = Some(ClassKind::Structural),
            "AUXILIARY" => kind = Some(ClassKind::Auxiliary),
            other => return reader.error(format!("{other} is not for object classes")),
        }
    }
    d.kind = kind.unwrap_or_default();
    Ok(d)
}

/// Reads a DITContentRuleDescription (RFC 4512 section 4.1.6).
pub fn parse_content_rule(text: &str) -> Result<ContentRuleDefinition> {
    let (mut reader, oid) = Reader::begin(text)?;
    let mut d = ContentRuleDefinition { oid, ..Default::default() };
    while let Some(keyword) = keyword(&mut reader, &mut d.extensions)? {
        match keyword {
            "NAME" => d.names = reader.names()?,
            "DESC" => d.description = Some(reader.string()?),
            "OBSOLETE" => d.obsolete = true,
            "AUX" => d.auxiliary = reader.oids("an object class")?,
            "MUST" => d.must = reader.oids("an attribute type")?,
            "MAY" => d.may = reader.oids("an attribute type")?,
            "NOT" => d.not = reader.oids("an attribute type")?,
            other => return reader.error(format!("{other} is not for content rules")),
        }
    }
    Ok(d)
}

/// Reads a NameFormDescription (RFC 4512 section 4.1.7.2).
pub fn parse_name_form(text: &str) -> Result<NameFormDefinition> {
    let (mut reader, oid) = Reader::begin(text)?;
    let mut d = NameFormDefinition { oid, ..Default::default() };
    while let Some(keyword) = keyword(&mut reader, &mut d.extensions)? {
        match keyword {
            "NAME" => d.names = reader.names()?,
            "DESC" => d.description = Some(reader.string()?),
            "OBSOLETE" => d.obsolete = true,
            "OC" => d.class = reader.oid("an object class")?,
            "MUST" => d.must = reader.oids("an attribute type")?,
            "MAY" => d.may = reader.oids("an attribute type")?,
            other => return reader.error(format!("{other} is not for name forms")),
        }
    }
    match (d.class.is_empty(), d.must.is_empty()) {
        (false, false) => Ok(d),
        (true, _) => reader.error("a name form needs OC, the class that it is for"),
        (_, true) => reader.error("a name form needs MUST, the attributes that name entries"),
    }
}

/// Reads a DITStructureRuleDescription (RFC 4512 section 4.1.7.1).
pub fn parse_structure_rule(text: &str) -> Result<StructureRuleDefinition> {
    let mut reader = Reader::new(text);
    reader.open()?;
    let id = reader.rule_id()?;
    let mut d = StructureRuleDefinition { id, ..Default::default() };
    while let Some(keyword) = keyword(&mut reader, &mut d.extensions)? {
        match keyword {
            "NAME" => d.names = reader.names()?,
            "DESC" => d.description = Some(reader.string()?),
            "OBSOLETE" => d.obsolete = true,
            "FORM" => d.form = reader.oid("a name form")?,
            "SUP" => d.superiors = reader.rule_ids()?,
            other => return reader.error(format!("{other} is not for structure rules")),
        }
    }
    if d.form.is_empty() { reader.error("a structure rule needs FORM, its name form") } else { Ok(d) }
}

/// Reads a SyntaxDescription (RFC 4512 section 4.1.5).
pub fn parse_syntax(text: &str) -> Result<SyntaxDefinition> {
    let (mut reader, oid) = Reader::begin(text)?;
    let mut d = SyntaxDefinition { oid, ..Default::default() };
    while let Some(keyword) = keyword(&mut reader, &mut d.extensions)? {
        match keyword {
            "DESC" => d.description = Some(reader.string()?),
            other => return reader.error(format!("{other} is not for syntaxes")),
        }
    }
    Ok(d)
}

/// The first component of any definition: its OID or number, as the firstComponent matching rules want it.
pub(crate) fn first_component(text: &str) -> Option<&str> {
    let mut reader = Reader::new(text);
    reader.open().ok()?;
    match reader.next().ok()? {
        Token::Word(word) | Token::Quoted(word) => Some(word),
        _ => None,
    }
}

/// Has a text the form of a description of RFC 4512: an OID or a number, words and lists in parentheses?
pub(crate) fn is_description(text: &str) -> bool {
    let mut reader = Reader::new(text);
    let mut depth = 0usize;
    if first_component(text).is_none() {
        return false;
    }
    loop {
        match reader.next() {
            Ok(Token::Open) => depth += 1,
            Ok(Token::Close) if depth == 1 => return reader.end().is_ok(),
            Ok(Token::Close) => depth -= 1,
            Ok(Token::End) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}
