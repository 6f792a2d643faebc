//! A constraint as it is configured: what it is called, what it asks, and of which entries.
//!
//! It is one line of words, in `cn=config` and in the record of the settings, and a table of the file. A line that is read is written the same
//! way again, so that two of them can be compared as text.

use crate::settings::words;
use std::fmt;

/// Characters of a name at most: it stands in the text of results.
const NAME_LEN_MAX: usize = 64;
/// Attributes of one constraint.
const ATTRIBUTES_MAX: usize = 16;
/// How many entries and values one update may look at for references, if nothing is said; and at most.
const LIMIT: u32 = 1000;
const LIMIT_MAX: u32 = 100_000;
/// Bytes of a regular expression.
const REGEX_LEN_MAX: usize = 512;
/// What the number of values may be held to. Of a big set the overlay of a transaction has some values only, but more than these.
const COUNT_MAX: u32 = 100;

// The words are names of the kinds, and their values the attributes that each is about.
const UNIQUE: &str = "unique";
const SEQUENCE: &str = "sequence";
const VALUES: &str = "values";
const DEFAULT: &str = "default";
const REFERENCES: &str = "references";
/// The words that say what a constraint asks.
const KINDS: [&str; 5] = [UNIQUE, SEQUENCE, VALUES, DEFAULT, REFERENCES];

/// What a constraint asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// No value of any of these attributes may be that of another entry, in any of them.
    Unique(Vec<String>),
    /// Entries that are added without the attribute get the next number.
    Sequence(SequenceRule),
    /// Values of these attributes are of this form and number.
    Values(ValuesRule),
    /// Entries that are added without the attribute get this value.
    Default(DefaultRule),
    /// Values of these attributes are names of entries, and follow them.
    References(ReferencesRule),
}

/// Where the numbers of a sequence come from, and which entries get them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceRule {
    /// The attribute that gets them.
    pub attribute: String,
    /// DN of the entry that has the next number.
    pub counter: String,
    /// The attribute of that entry.
    pub next: String,
    /// The object class that entries must have to get one.
    pub class: Option<String>,
}

/// What the values of attributes must be. What is not there is not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValuesRule {
    /// The attributes.
    pub attributes: Vec<String>,
    /// A regular expression that is found in each value.
    pub regex: Option<String>,
    /// How many values an attribute has at least.
    pub min_count: Option<u32>,
    /// How many it has at most.
    pub max_count: Option<u32>,
    /// How many bytes a value has at most.
    pub max_size: Option<u32>,
    /// A search (RFC 4516): each value is one of an attribute of an entry that it finds.
    pub url: Option<String>,
    /// The object class that entries must have for it to be about them.
    pub class: Option<String>,
}

/// A value for entries that are added without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultRule {
    /// The attribute that gets it.
    pub attribute: String,
    /// The value.
    pub value: String,
    /// The object class that entries must have to get it.
    pub class: Option<String>,
}

/// Which values are names of entries, and how they follow these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencesRule {
    /// The attributes.
    pub attributes: Vec<String>,
    /// How many entries and values one update may look at for it.
    pub limit: u32,
    /// What is put in the place of the last value that an entry has.
    pub nothing: Option<String>,
    /// Must there be an entry with the name when the value is given?
    pub must_exist: bool,
}

/// A constraint on the entries of a subtree, or on all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintRule {
    /// What results call it.
    pub name: String,
    /// What it asks.
    pub kind: ConstraintKind,
    /// DN of the entry that they are, or lie below.
    pub subtree: Option<String>,
}

impl ConstraintRule {
    /// Reads `name=NAME unique=ATTRIBUTES subtree=DN`, or another kind in the place of `unique`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<ConstraintRule, String> {
        // Each word is taken once; what is left at the end belongs to no constraint of this kind.
        let mut words = words::parse(line)?;
        let mut take = |name: &str| {
            let at = words.iter().position(|(other, _)| other == name)?;
            Some(words.remove(at).1)
        };
        let name = take("name").ok_or("`name` is needed: what results call the constraint")?;
        let subtree = take("subtree").map(checked_dn).transpose()?;
        let mut kinds = KINDS.iter().filter_map(|kind| take(kind).map(|of| (*kind, of)));
        let (Some((kind, of)), None) = (kinds.next(), kinds.next()) else {
            return Err(format!("one of {} is needed", KINDS.map(|kind| format!("`{kind}`")).join(", ")));
        };
        let kind = match kind {
            UNIQUE => ConstraintKind::Unique(attributes(&of)?),
            SEQUENCE => ConstraintKind::Sequence(SequenceRule {
                attribute: checked_type(of)?,
                counter: checked_dn(take("counter").ok_or("`counter` is needed: the DN of an entry")?)?,
                next: checked_type(take("next").ok_or("`next` is needed: the attribute of the counter")?)?,
                class: take("class"),
            }),
            DEFAULT => ConstraintKind::Default(DefaultRule {
                attribute: checked_type(of)?,
                value: take("value").ok_or("`value` is needed: what the attribute gets")?,
                class: take("class"),
            }),
            VALUES => ConstraintKind::Values(ValuesRule::take(&of, &mut take)?),
            _ => ConstraintKind::References(ReferencesRule::take(&of, &mut take)?),
        };
        if let Some((name, _)) = words.first() {
            return Err(format!("`{name}` is no word of this kind of constraint"));
        }
        Ok(ConstraintRule { name: checked_name(name)?, kind, subtree })
    }
}

impl ReferencesRule {
    /// Takes its words out of a line.
    fn take(of: &str, take: &mut dyn FnMut(&str) -> Option<String>) -> Result<ReferencesRule, String> {
        let limit = match take("limit") {
            None => LIMIT,
            Some(text) => {
                let number = text.parse().ok().filter(|number| (1..=LIMIT_MAX).contains(number));
                number.ok_or_else(|| format!("`limit` is a number from 1 to {LIMIT_MAX}"))?
            }
        };
        let must_exist = match take("absent").as_deref() {
            None | Some("allow") => false,
            Some("refuse") => true,
            Some(other) => return Err(format!("`absent` is `allow` or `refuse`, not `{other}`")),
        };
        let nothing = take("nothing").map(checked_dn).transpose()?;
        Ok(ReferencesRule { attributes: attributes(of)?, limit, nothing, must_exist })
    }

    /// Writes its words in their order, without those that say what would hold anyhow.
    fn put(&self, line: &mut String) {
        words::put(line, REFERENCES, &self.attributes.join(","));
        if self.limit != LIMIT {
            words::put(line, "limit", &self.limit.to_string());
        }
        if self.must_exist {
            words::put(line, "absent", "refuse");
        }
        self.nothing.iter().for_each(|dn| words::put(line, "nothing", dn));
    }
}

impl ValuesRule {
    /// Takes its words out of a line. Whether the schema and the crate of regular expressions know what they say is asked later.
    fn take(of: &str, take: &mut dyn FnMut(&str) -> Option<String>) -> Result<ValuesRule, String> {
        let mut number = |name: &str, max: u32| {
            let Some(text) = take(name) else { return Ok(None) };
            let number = text.parse().ok().filter(|number| *number <= max);
            number.map(Some).ok_or_else(|| format!("`{name}` is a number, {max} at most"))
        };
        let (min_count, max_count) = (number("min-count", COUNT_MAX)?, number("max-count", COUNT_MAX)?);
        let max_size = number("max-size", u32::MAX)?;
        let (regex, url, class) = (take("regex"), take("url"), take("class"));
        if regex.as_ref().is_some_and(|regex| regex.len() > REGEX_LEN_MAX) {
            return Err(format!("`regex` has {REGEX_LEN_MAX} bytes at most"));
        }
        // A rule that asks nothing is a slip of the pen.
        let asks = min_count.is_some() || max_count.is_some() || max_size.is_some();
        if !asks && regex.is_none() && url.is_none() {
            return Err("one of `regex`, `min-count`, `max-count`, `max-size` and `url` is needed".to_owned());
        }
        let attributes = attributes(of)?;
        Ok(ValuesRule { attributes, regex, min_count, max_count, max_size, url, class })
    }

    /// Why no entry with values could satisfy it, if it is so. This is judged where a rule comes into force, and not of a record: what an earlier version took goes on.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let (min, max) = (self.min_count?, self.max_count?);
        (min > max).then(|| format!("`min-count` {min} is more than `max-count` {max}"))
    }

    /// Writes its words in their order.
    fn put(&self, line: &mut String) {
        words::put(line, VALUES, &self.attributes.join(","));
        let mut put = |name, text: Option<&str>| text.iter().for_each(|text| words::put(line, name, text));
        put("regex", self.regex.as_deref());
        put("url", self.url.as_deref());
        let counts =
            [("min-count", self.min_count), ("max-count", self.max_count), ("max-size", self.max_size)];
        for (name, count) in counts {
            put(name, count.map(|count| count.to_string()).as_deref());
        }
        put("class", self.class.as_deref());
    }
}

/// Whether the schema knows its attribute types is asked later, where there is one.
fn checked_dn(dn: String) -> Result<String, String> {
    let parsed = model::dn::parse(dn.as_bytes()).map(drop);
    parsed.map_err(|error| format!("`{dn}` is not a DN: {error}"))?;
    Ok(dn)
}

/// The name of a type alone: a constraint is about the values with any options.
fn checked_type(name: String) -> Result<String, String> {
    match name.is_empty() || name.contains([';', ',']) {
        true => Err(format!("`{name}` is no attribute type")),
        false => Ok(name),
    }
}

/// A name goes into result texts and logs as it is, so it has no character that means anything
/// there.
fn checked_name(name: String) -> Result<String, String> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match (1..=NAME_LEN_MAX).contains(&name.len()) && name.chars().all(is_good) {
        true => Ok(name),
        false => {
            Err(format!("`{name}` is no name: {NAME_LEN_MAX} letters, digits, `-`, `_` and `.` at most"))
        }
    }
}

/// Names with commas between them, as an array of the file is joined.
fn attributes(text: &str) -> Result<Vec<String>, String> {
    let names = text.split(',').map(|name| checked_type(name.trim().to_owned()));
    let names = names.collect::<Result<Vec<String>, _>>()?;
    match names.len() > ATTRIBUTES_MAX {
        true => Err(format!("{ATTRIBUTES_MAX} attributes of one constraint at most")),
        false => Ok(names),
    }
}

/// As it is read.
impl fmt::Display for ConstraintRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        words::put(&mut line, "name", &self.name);
        match &self.kind {
            ConstraintKind::Unique(attributes) => words::put(&mut line, UNIQUE, &attributes.join(",")),
            ConstraintKind::Values(values) => values.put(&mut line),
            ConstraintKind::References(references) => references.put(&mut line),
            ConstraintKind::Default(DefaultRule { attribute, value, class }) => {
                words::put(&mut line, DEFAULT, attribute);
                words::put(&mut line, "value", value);
                class.iter().for_each(|class| words::put(&mut line, "class", class));
            }
            ConstraintKind::Sequence(SequenceRule { attribute, counter, next, class }) => {
                for (name, value) in [(SEQUENCE, attribute), ("counter", counter), ("next", next)] {
                    words::put(&mut line, name, value);
                }
                class.iter().for_each(|class| words::put(&mut line, "class", class));
            }
        }
        if let Some(subtree) = &self.subtree {
            words::put(&mut line, "subtree", subtree);
        }
        f.write_str(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_come_back() {
        for line in [
            "name=a unique=mail",
            "name=c sequence=uidNumber counter=cn=a next=serialNumber class=posixAccount subtree=dc=x",
            "name=d values=telephoneNumber regex=\"^\\+[0-9 ]{3,}$\" min-count=1 max-count=3 max-size=20",
            "name=e values=\"l,st\" url=\"ldap:///ou=a,dc=x?cn?one?(cn=*)\" class=person",
            "name=f default=employeeType value=\"a b\" class=person subtree=dc=x",
            "name=g references=\"member,owner\" limit=7 absent=refuse nothing=cn=none subtree=dc=x",
            "name=h references=member",
            "name=b-1 unique=\"mail,uid\" subtree=\"ou=a,dc=x\"",
        ] {
            assert_eq!(ConstraintRule::parse(line).unwrap().to_string(), line);
        }
        for (line, said) in [
            ("unique=mail", "`name` is needed"),
            ("name=a", "one of `unique`, `sequence`"),
            ("name=\"a b\" unique=mail", "is no name"),
            ("name=a unique=mail,", "is no attribute type"),
            ("name=a unique=cn;lang-de", "is no attribute type"),
            ("name=a unique=mail subtree=x", "is not a DN"),
            ("name=a unique=mail of=x", "`of` is no word"),
            ("name=a unique=mail sequence=uidNumber", "one of `unique`, `sequence`"),
            ("name=a values=mail", "one of `regex`"),
            ("name=a values=mail max-count=101", "100 at most"),
            ("name=a values=mail max-count=2 value=x", "`value` is no word"),
            ("name=a default=mail", "`value` is needed"),
            ("name=a references=member limit=0", "from 1 to"),
            ("name=a references=member absent=x", "`allow` or `refuse`"),
            ("name=a sequence=uidNumber next=l", "`counter` is needed"),
        ] {
            let fault = ConstraintRule::parse(line).unwrap_err();
            assert!(fault.contains(said), "{line}: {fault}");
        }
    }
}
