//! The text of an `aci`: targets in parentheses, then `(version 3.0; acl "name"; allow (rights) bind rules;)`.

/// An `aci`.
#[derive(Debug, Default)]
pub(super) struct Aci {
    pub name: String,
    pub targets: Vec<Item>,
    pub permissions: Vec<Permission>,
}

/// `key = "value"`, or with another operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub key: String,
    pub operator: String,
    pub value: String,
}

/// What is allowed or denied, and to whom.
#[derive(Debug)]
pub(super) struct Permission {
    pub allows: bool,
    pub rights: Vec<String>,
    pub bind: Bind,
}

/// Bind rules.
#[derive(Clone, Debug)]
pub(super) enum Bind {
    Item(Item),
    And(Vec<Bind>),
    Or(Vec<Bind>),
    Not(Box<Bind>),
}

/// How deep bind rules nest.
const DEPTH_MAX: usize = 16;

pub(super) fn parse(text: &str) -> Result<Aci, String> {
    let mut reader = Reader { rest: text.trim() };
    let mut aci = Aci::default();
    while reader.eat("(") {
        if reader.eat_word("version") {
            version(&mut reader, &mut aci)?;
            return match reader.blank().is_empty() {
                true => Ok(aci),
                false => Err("something stands behind the end".to_owned()),
            };
        }
        aci.targets.push(item(&mut reader)?);
        reader.need(")")?;
    }
    Err("`(version 3.0; acl ...)` is missing".to_owned())
}

fn version(reader: &mut Reader<'_>, aci: &mut Aci) -> Result<(), String> {
    if reader.take_until(';')?.trim() != "3.0" {
        return Err("the version is not 3.0".to_owned());
    }
    reader.need_word("acl")?;
    aci.name = reader.quoted()?;
    reader.need(";")?;
    while !reader.eat(")") {
        let allows = match () {
            () if reader.eat_word("allow") => true,
            () if reader.eat_word("deny") => false,
            () => return Err("`allow` or `deny` is expected".to_owned()),
        };
        reader.need("(")?;
        let rights = reader.take_until(')')?;
        let rights = rights.split(',').map(|right| right.trim().to_ascii_lowercase()).collect();
        let bind = any(reader, 0)?;
        reader.need(";")?;
        aci.permissions.push(Permission { allows, rights, bind });
    }
    Ok(())
}

fn any(reader: &mut Reader<'_>, depth: usize) -> Result<Bind, String> {
    if depth > DEPTH_MAX {
        return Err("its bind rules are nested too deeply".to_owned());
    }
    let mut parts = vec![all(reader, depth)?];
    while reader.eat_word("or") {
        parts.push(all(reader, depth)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Bind::Or(parts) })
}

fn all(reader: &mut Reader<'_>, depth: usize) -> Result<Bind, String> {
    let mut parts = vec![one(reader, depth)?];
    while reader.eat_word("and") {
        parts.push(one(reader, depth)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Bind::And(parts) })
}

fn one(reader: &mut Reader<'_>, depth: usize) -> Result<Bind, String> {
    if reader.eat_word("not") {
        if depth >= DEPTH_MAX {
            return Err("its bind rules are nested too deeply".to_owned());
        }
        return Ok(Bind::Not(Box::new(one(reader, depth + 1)?)));
    }
    if reader.eat("(") {
        let inner = any(reader, depth + 1)?;
        reader.need(")")?;
        return Ok(inner);
    }
    item(reader).map(Bind::Item)
}

fn item(reader: &mut Reader<'_>) -> Result<Item, String> {
    let key = reader.word().to_ascii_lowercase();
    if key.is_empty() {
        return Err(format!(
            "a keyword is expected before `{}`",
            reader.rest.chars().take(20).collect::<String>()
        ));
    }
    let operators = ["!=", "<=", ">=", "=", "<", ">"];
    let operator =
        operators.iter().find(|operator| reader.eat(operator)).ok_or(format!("`{key}` needs an operator"))?;
    // In some files the value has no quotes.
    let value = if reader.blank().starts_with('"') { reader.quoted()? } else { reader.bare() };
    // `"a" || "b"` is one list.
    let mut value = value;
    while reader.eat("||") {
        value.push_str(" || ");
        value.push_str(&reader.quoted()?);
    }
    Ok(Item { key, operator: (*operator).to_owned(), value })
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn blank(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.blank().strip_prefix(text);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let rest = self.blank();
        let is_it = rest.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
            && !rest[word.len()..].starts_with(|c: char| c.is_alphanumeric());
        if is_it {
            self.rest = &rest[word.len()..];
        }
        is_it
    }

    fn need(&mut self, text: &str) -> Result<(), String> {
        if self.eat(text) {
            Ok(())
        } else {
            Err(format!("`{text}` is expected before `{}`", self.rest.chars().take(20).collect::<String>()))
        }
    }

    fn need_word(&mut self, word: &str) -> Result<(), String> {
        if self.eat_word(word) { Ok(()) } else { Err(format!("`{word}` is expected")) }
    }

    fn word(&mut self) -> &'t str {
        let rest = self.blank();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
        self.rest = &rest[end..];
        &rest[..end]
    }

    fn bare(&mut self) -> String {
        let rest = self.blank();
        let end = rest.find(|c: char| c.is_whitespace() || c == ')' || c == ';').unwrap_or(rest.len());
        self.rest = &rest[end..];
        rest[..end].to_owned()
    }

    fn take_until(&mut self, end: char) -> Result<&'t str, String> {
        let (text, rest) = self.rest.split_once(end).ok_or(format!("`{end}` is expected"))?;
        self.rest = rest;
        Ok(text)
    }

    fn quoted(&mut self) -> Result<String, String> {
        self.need("\"")?;
        self.take_until('"').map(str::to_owned)
    }
}
