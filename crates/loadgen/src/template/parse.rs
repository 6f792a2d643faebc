//! From a template file's text to a [`Template`].

use super::part::{Condition, Line, Part};
use super::tag::{self, Tag};
use super::{Branch, EntryTemplate, Load, Template, TemplateError};
use crate::entry::NameId;
use std::collections::BTreeMap;

/// What stands outside of the template file.
pub struct Options<'a> {
    /// Definitions that take precedence over the file's, by name.
    pub defines: &'a [(&'a str, &'a str)],
    /// How files that the template names are read.
    pub load: Load<'a>,
}

/// The most lines of a template with all its includes.
const LINES_MAX: usize = 100_000;
/// The deepest nesting of includes.
const INCLUDES_MAX: usize = 16;
/// The deepest nesting of subordinate templates.
const LEVELS_MAX: usize = 64;

/// The attribute descriptions met so far.
#[derive(Default)]
pub(super) struct Names(Vec<Vec<u8>>);

impl Names {
    /// The number of a name, which may be new. Names are not case sensitive; the first spelling is written.
    pub(super) fn id(&mut self, name: &str) -> Result<NameId, &'static str> {
        let name = name.trim().as_bytes();
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b';');
        if name.is_empty() || !name.iter().all(plain) {
            return Err("not an attribute description");
        }
        if let Some(at) = self.0.iter().position(|known| known.eq_ignore_ascii_case(name)) {
            return Ok(NameId(at as u16));
        }
        if self.0.len() == u16::MAX as usize {
            return Err("too many attribute descriptions");
        }
        self.0.push(name.to_vec());
        Ok(NameId(self.0.len() as u16 - 1))
    }
}

fn fault<T>(line: usize, reason: &'static str, text: &str) -> Result<T, TemplateError> {
    Err(TemplateError { line, reason, text: text.to_owned() })
}

/// A block between empty lines, definitions inserted.
type Block = Vec<(usize, String)>;

pub(super) fn parse(text: &str, options: &Options<'_>) -> Result<Template, TemplateError> {
    let mut reader = Reader { options, defines: BTreeMap::new(), blocks: vec![Vec::new()], lines: 0 };
    for (name, value) in options.defines {
        // What is given from outside is no fault of a line.
        if *name == "suffix" && model::dn::parse(value.as_bytes()).map_or(true, |rdns| rdns.is_empty()) {
            return fault(0, "the suffix is not a DN of an entry", value);
        }
        reader.defines.insert((*name).to_owned(), (*value).to_owned());
    }
    reader.read(text, 0)?;
    let mut parser = Parser { options, names: Names::default(), branches: Vec::new(), templates: Vec::new() };
    for block in reader.blocks.iter().filter(|block| !block.is_empty()) {
        parser.block(block)?;
    }
    parser.finish()
}

/// The first pass: comments, includes, definitions, blocks.
struct Reader<'a> {
    options: &'a Options<'a>,
    defines: BTreeMap<String, String>,
    blocks: Vec<Block>,
    lines: usize,
}

impl Reader<'_> {
    fn read(&mut self, text: &str, depth: usize) -> Result<(), TemplateError> {
        for (index, line) in text.lines().enumerate() {
            self.line(index + 1, line.trim_end(), depth)?;
        }
        self.blocks.push(Vec::new());
        Ok(())
    }

    fn line(&mut self, number: usize, line: &str, depth: usize) -> Result<(), TemplateError> {
        self.lines += 1;
        if self.lines > LINES_MAX {
            return fault(number, "the template has too many lines", "");
        }
        if line.is_empty() {
            self.blocks.push(Vec::new());
        } else if let Some(path) = keyword(line, "include") {
            if depth == INCLUDES_MAX {
                return fault(number, "includes are nested too deeply", path);
            }
            let bytes = (self.options.load)(path.trim());
            match bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(text) => self.read(&text, depth + 1)?,
                None => return fault(number, "not a readable text file", path),
            }
        } else if let Some(definition) = keyword(line, "define") {
            let Some((name, value)) = definition.split_once('=') else {
                return fault(number, "expected define name=value", definition);
            };
            let value = self.insert_definitions(number, value)?;
            if !self.options.defines.iter().any(|(given, _)| *given == name.trim()) {
                self.defines.insert(name.trim().to_owned(), value);
            }
        } else if !line.starts_with('#') {
            let line = self.insert_definitions(number, line)?;
            if let Some(block) = self.blocks.last_mut() {
                block.push((number, line));
            }
        }
        Ok(())
    }

    /// Replaces `[name]`. A backslash and what it escapes stay for the next pass.
    fn insert_definitions(&self, number: usize, line: &str) -> Result<String, TemplateError> {
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find(['[', '\\']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if rest.starts_with('\\') {
                let width = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..width]);
                rest = &rest[width..];
                continue;
            }
            let Some(end) = rest.find(']') else {
                return fault(number, "no ] after [ (write \\[ for the character itself)", rest);
            };
            match self.defines.get(&rest[1..end]) {
                Some(value) => out.push_str(value),
                None => return fault(number, "no such definition", &rest[..=end]),
            }
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

fn keyword<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let head = line.get(..word.len())?;
    let rest = &line[word.len()..];
    (head.eq_ignore_ascii_case(word) && rest.starts_with([' ', '\t'])).then(|| rest.trim_start())
}

/// A reference to a template that may stand further down.
type Reference = (usize, String, u64);

/// The second pass: blocks to branches and templates.
struct Parser<'a> {
    options: &'a Options<'a>,
    names: Names,
    branches: Vec<(Branch, Vec<Reference>)>,
    templates: Vec<(EntryTemplate, Vec<Reference>)>,
}

impl Parser<'_> {
    fn block(&mut self, block: &Block) -> Result<(), TemplateError> {
        let (number, first) = &block[0];
        let Some((kind, value)) = first.split_once(':') else {
            return fault(*number, "expected branch: or template:", first);
        };
        match kind.trim().to_ascii_lowercase().as_str() {
            "branch" => self.branch(*number, value.trim(), &block[1..]),
            "template" => self.template(*number, value.trim(), &block[1..]),
            _ => fault(*number, "expected branch: or template: after an empty line", first),
        }
    }

    fn branch(&mut self, number: usize, dn: &str, lines: &[(usize, String)]) -> Result<(), TemplateError> {
        let mut branch = Branch { dn: dn.as_bytes().to_vec(), subordinates: Vec::new(), lines: Vec::new() };
        let mut template = EntryTemplate::default();
        let mut references = Vec::new();
        for (number, line) in lines {
            self.body_line(*number, line, &mut template, &mut references)?;
        }
        branch.lines = self.branch_lines(number, dn, &template.lines)?;
        branch.lines.append(&mut template.lines);
        self.branches.push((branch, references));
        Ok(())
    }

    /// What a branch has without being asked: its RDN, and object classes that go with it unless it names its own.
    fn branch_lines(&mut self, number: usize, dn: &str, own: &[Line]) -> Result<Vec<Line>, TemplateError> {
        let rdns = model::dn::parse(dn.as_bytes()).or_else(|error| fault(number, error.reason, dn))?;
        let Some(rdn) = rdns.first() else { return fault(number, "a branch needs a DN", dn) };
        let object_class = self.name(number, "objectClass")?;
        let mut lines = Vec::new();
        let fixed = |name, value: &[u8]| Line {
            name,
            conditions: vec![],
            parts: vec![Part::Literal(value.to_vec())],
        };
        if own.iter().all(|line| line.name != object_class) {
            let class = class_for(rdn[0].attribute_type);
            lines.extend([&b"top"[..], class].map(|class| fixed(object_class, class)));
        }
        for ava in rdn {
            let name = self.name(number, &String::from_utf8_lossy(ava.attribute_type))?;
            let literal = fixed(name, &ava.value);
            let stated = |line: &Line| {
                line.name == name && matches!(&line.parts[..], [Part::Literal(v)] if **v == *ava.value)
            };
            if !own.iter().any(stated) {
                lines.push(literal);
            }
        }
        Ok(lines)
    }

    fn template(
        &mut self,
        number: usize,
        name: &str,
        lines: &[(usize, String)],
    ) -> Result<(), TemplateError> {
        if self.templates.iter().any(|(known, _)| known.name.eq_ignore_ascii_case(name)) {
            return fault(number, "a second template of this name", name);
        }
        let mut template = EntryTemplate { name: name.to_owned(), ..EntryTemplate::default() };
        let mut references = Vec::new();
        for (number, line) in lines {
            self.body_line(*number, line, &mut template, &mut references)?;
        }
        if template.rdn.is_empty() {
            return fault(number, "the template has no rdnAttr", name);
        }
        let mut last = 0;
        for name in &template.rdn {
            let Some(at) = template.lines.iter().position(|line| line.name == *name) else {
                let name = String::from_utf8_lossy(&self.names.0[name.0 as usize]).into_owned();
                return fault(number, "the rdnAttr has no line of its own", &name);
            };
            if !template.lines[at].conditions.is_empty() {
                return fault(number, "the rdnAttr must be present always", &template.name);
            }
            last = last.max(at);
        }
        template.rdn_ready = last;
        let early = template.lines[..=last]
            .iter()
            .any(|l| l.parts.iter().any(|p| matches!(p, Part::Dn { .. } | Part::Rdn)));
        if early {
            return fault(number, "<dn> and <rdn> must stand below the line of the rdnAttr", name);
        }
        self.templates.push((template, references));
        Ok(())
    }

    fn body_line(
        &mut self,
        number: usize,
        line: &str,
        template: &mut EntryTemplate,
        references: &mut Vec<Reference>,
    ) -> Result<(), TemplateError> {
        let Some((name, value)) = line.split_once(':') else {
            return fault(number, "expected name: value", line);
        };
        let value = value.trim_start();
        match name.trim().to_ascii_lowercase().as_str() {
            "subordinatetemplate" => {
                let parsed =
                    value.rsplit_once(':').and_then(|(name, n)| Some((name.trim(), n.trim().parse().ok()?)));
                match parsed {
                    Some((name, count)) => references.push((number, name.to_owned(), count)),
                    None => return fault(number, "expected template:count", value),
                }
            }
            "rdnattr" => {
                for name in value.split('+') {
                    let name = self.name(number, name)?;
                    template.rdn.push(name);
                }
            }
            "extends" => self.extend(number, value.trim(), template, references)?,
            _ => {
                let name = self.name(number, name)?;
                let line = self.value(number, name, value)?;
                template.lines.push(line);
            }
        }
        Ok(())
    }

    fn extend(
        &mut self,
        number: usize,
        name: &str,
        template: &mut EntryTemplate,
        references: &mut Vec<Reference>,
    ) -> Result<(), TemplateError> {
        let Some((base, base_references)) =
            self.templates.iter().find(|(known, _)| known.name.eq_ignore_ascii_case(name))
        else {
            return fault(number, "no template of this name above", name);
        };
        template.rdn.extend_from_slice(&base.rdn);
        template.lines.extend_from_slice(&base.lines);
        references.extend_from_slice(base_references);
        Ok(())
    }

    fn name(&mut self, number: usize, name: &str) -> Result<NameId, TemplateError> {
        self.names.id(name).or_else(|reason| fault(number, reason, name))
    }

    /// Compiles the right side of a line.
    fn value(&mut self, number: usize, name: NameId, text: &str) -> Result<Line, TemplateError> {
        let mut line = Line { name, conditions: Vec::new(), parts: Vec::new() };
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['<', '{', '\\']) {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(escaped) = rest.strip_prefix('\\') {
                let width = escaped.chars().next().map_or(0, char::len_utf8);
                literal.push_str(&escaped[..width]);
                rest = &escaped[width..];
                continue;
            }
            let close = if rest.starts_with('<') { '>' } else { '}' };
            let Some(end) = rest.find(close) else {
                return fault(number, "no end of this tag (write \\< or \\{ for the character itself)", rest);
            };
            let (inside, whole) = (&rest[1..end], &rest[..=end]);
            let tag = if close == '>' {
                tag::parse(inside, &mut self.names, self.options)
            } else {
                self.reference(inside)
            };
            match tag.or_else(|reason| fault(number, reason, whole))? {
                Tag::Condition(condition) => line.conditions.push(condition),
                Tag::Part(part) => {
                    flush(&mut literal, &mut line.parts);
                    line.parts.push(part);
                }
            }
            rest = &rest[end + 1..];
        }
        literal.push_str(rest);
        flush(&mut literal, &mut line.parts);
        if let Some(Condition::If(..)) = line.conditions.first()
            && line.parts.is_empty()
        {
            return fault(number, "a condition without a value", text);
        }
        Ok(line)
    }

    fn reference(&mut self, inside: &str) -> Result<Tag, &'static str> {
        let (name, max) = match inside.split_once(':') {
            None => (inside, None),
            Some((name, max)) => (name, Some(max.trim().parse().map_err(|_| "not a number of characters")?)),
        };
        Ok(Tag::Part(Part::Attribute { name: self.names.id(name)?, max }))
    }

    /// Resolves references between templates and checks what only the whole shows.
    fn finish(self) -> Result<Template, TemplateError> {
        let find = |&(line, ref name, count): &Reference| match self
            .templates
            .iter()
            .position(|(t, _)| t.name.eq_ignore_ascii_case(name))
        {
            Some(at) => Ok((at, count)),
            None => fault(line, "no such template", name),
        };
        let mut template = Template { names: self.names.0, ..Template::default() };
        for (entry_template, references) in &self.templates {
            let subordinates = references.iter().map(find).collect::<Result<_, _>>()?;
            template.templates.push(EntryTemplate { subordinates, ..entry_template.clone() });
        }
        for (branch, references) in &self.branches {
            let subordinates = references.iter().map(find).collect::<Result<_, _>>()?;
            template.branches.push(Branch { subordinates, ..branch.clone() });
        }
        if template.branches.is_empty() {
            return fault(0, "the template has no branch", "");
        }
        match weigh(&template) {
            Ok(total) => template.count = total,
            Err(reason) => return fault(0, reason, ""),
        }
        Ok(template)
    }
}

/// The total number of entries. Weights of templates (how many entries stand below one) spread upwards; when they
/// do not settle within the allowed levels, some template stands below itself or too deep.
fn weigh(template: &Template) -> Result<u64, &'static str> {
    let below = |weights: &[u64], subordinates: &[(usize, u64)]| {
        subordinates.iter().try_fold(0u64, |sum, &(at, count)| {
            sum.checked_add(count.checked_mul(weights[at].checked_add(1)?)?)
        })
    };
    const TOO_MANY: &str = "the template makes more entries than 2^64, or stands below itself";
    let mut weights = vec![0u64; template.templates.len()];
    for _ in 0..LEVELS_MAX {
        let each = template.templates.iter().map(|t| below(&weights, &t.subordinates));
        let next = each.collect::<Option<Vec<u64>>>().ok_or(TOO_MANY)?;
        if next == weights {
            let branches = template.branches.iter().map(|b| below(&weights, &b.subordinates));
            let sum = branches.sum::<Option<u64>>().ok_or(TOO_MANY)?;
            return sum.checked_add(template.branches.len() as u64).ok_or(TOO_MANY);
        }
        weights = next;
    }
    Err("a template stands below itself, or templates are nested too deeply")
}

fn flush(literal: &mut String, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal).into_bytes()));
    }
}

/// The structural class (RFC 4519, RFC 4524) of an entry that is named by this attribute.
fn class_for(attribute: &[u8]) -> &'static [u8] {
    match attribute.to_ascii_lowercase().as_slice() {
        b"dc" => b"domain",
        b"o" => b"organization",
        b"ou" => b"organizationalUnit",
        b"c" => b"country",
        b"l" | b"st" => b"locality",
        _ => b"extensibleObject",
    }
}
