//! What may be added to a schema that is in use.

use crate::additions::{ADDED_BYTES_MAX, ADDED_MAX};
use crate::definition::{
    AttributeTypeDefinition, ObjectClassDefinition, parse_attribute_type, parse_object_class,
};
use crate::{BuildErrors, Schema};
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

/// Definitions that may be added.
pub(super) struct Addition {
    /// The schema that has them, with other ids.
    pub(super) larger: Schema,
    /// They themselves, as a schema file.
    pub(super) added: String,
}

/// Why definitions are not added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// A definition cannot be read.
    Syntax(String),
    /// It is there already.
    Exists(String),
    /// It would change an attribute type that is there.
    ChangesType(String),
    /// It would change an object class that is there.
    ChangesClass(String),
    /// It does not fit what is there: a name that is taken, a superior, syntax or rule that is not there.
    Unfit(String),
    /// There are too many.
    TooMany(String),
}

impl fmt::Display for NotAdded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (NotAdded::Syntax(text)
        | NotAdded::Exists(text)
        | NotAdded::ChangesType(text)
        | NotAdded::ChangesClass(text)
        | NotAdded::Unfit(text)
        | NotAdded::TooMany(text)) = self;
        f.write_str(text)
    }
}

impl Schema {
    /// Could these definitions be added now? As [`Schema::add`], and nothing is changed.
    ///
    /// # Errors
    /// As there.
    pub fn judge(&self, types: &[&[u8]], classes: &[&[u8]]) -> Result<(), NotAdded> {
        let text = self.added.text().clone();
        self.judge_with(&text, types, classes).map(|_| ())
    }

    /// `text` is what was added before.
    pub(super) fn judge_with(
        &self,
        text: &str,
        types: &[&[u8]],
        classes: &[&[u8]],
    ) -> Result<Addition, NotAdded> {
        let (mut added, mut oids) = (String::new(), BTreeSet::new());
        for value in types {
            let definition =
                parse_attribute_type(utf8(value)?).map_err(|e| unread("attribute type", e.reason))?;
            self.judge_type(&definition)?;
            once(&mut oids, &definition.oid)?;
            statement("attributetype", &definition, &mut added);
        }
        for value in classes {
            let definition =
                parse_object_class(utf8(value)?).map_err(|e| unread("object class", e.reason))?;
            self.judge_class(&definition)?;
            once(&mut oids, &definition.oid)?;
            statement("objectclass", &definition, &mut added);
        }
        // Each statement is one line.
        if added.lines().count() != types.len() + classes.len()
            || added.contains(|c: char| c.is_control() && c != '\n')
        {
            return Err(NotAdded::Syntax("a definition has a control character".to_owned()));
        }
        if text.lines().count() + added.lines().count() > ADDED_MAX {
            let text = format!(
                "no more than {ADDED_MAX} definitions can be added while the server runs; give them in a schema file"
            );
            return Err(NotAdded::TooMany(text));
        }
        if text.len() + added.len() > ADDED_BYTES_MAX {
            let text = format!(
                "definitions that are added while the server runs have {ADDED_BYTES_MAX} bytes at most; give them in a schema file"
            );
            return Err(NotAdded::TooMany(text));
        }
        let larger = self.with_text(&added).build().map_err(|BuildErrors(faults)| {
            NotAdded::Unfit(faults.into_iter().next().map(|fault| fault.message).unwrap_or_default())
        })?;
        // A file may name a syntax or rule that is not known. Here it is most likely a mistake, and could never be corrected.
        if let Some(warning) = larger.warnings().iter().find(|warning| &*warning.file == super::ADDED_FILE) {
            return Err(NotAdded::Unfit(warning.message.clone()));
        }
        Ok(Addition { larger, added })
    }

    fn judge_type(&self, definition: &AttributeTypeDefinition) -> Result<(), NotAdded> {
        let AttributeTypeDefinition { oid, names, .. } = definition;
        let kind = Kind { name: "attribute type", other: "object class", changes: NotAdded::ChangesType };
        let there = self.find_type(oid.as_bytes()).map(|id| self.attribute_type(id));
        let there = there.map(|there| (there.name(), there.definition.to_string()));
        let is_other = self.find_class(oid.as_bytes()).is_some();
        let is_taken = |name: &[u8]| self.find_type(name).is_some();
        kind.judge((oid, names, definition), there, is_other, &is_taken)
    }

    fn judge_class(&self, definition: &ObjectClassDefinition) -> Result<(), NotAdded> {
        let ObjectClassDefinition { oid, names, .. } = definition;
        let kind = Kind { name: "object class", other: "attribute type", changes: NotAdded::ChangesClass };
        let there = self.find_class(oid.as_bytes()).map(|id| self.class(id));
        let there = there.map(|there| (there.name(), there.definition.to_string()));
        let is_other = self.find_type(oid.as_bytes()).is_some();
        let is_taken = |name: &[u8]| self.find_class(name).is_some();
        kind.judge((oid, names, definition), there, is_other, &is_taken)
    }
}

/// What a definition is of, and what it is called if it would change one that is there.
struct Kind {
    name: &'static str,
    other: &'static str,
    changes: fn(String) -> NotAdded,
}

impl Kind {
    /// May a definition with this OID and these names join others? `there`: name and text of the one with its OID; `is_other`: that is one of the
    /// other kind.
    fn judge(
        &self,
        (oid, names, definition): (&str, &[String], &dyn fmt::Display),
        there: Option<(&str, String)>,
        is_other: bool,
        is_taken: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(), NotAdded> {
        let Kind { name: kind, other, changes } = self;
        numeric(oid)?;
        if let Some((name, text)) = there {
            return Err(match text == definition.to_string() {
                true => NotAdded::Exists(format!("the {kind} {} exists", shown(names, oid))),
                false => changes(format!("{oid} is the {kind} '{name}': {ONLY_ADDITIONS}")),
            });
        }
        if is_other {
            return Err(NotAdded::Unfit(format!("{oid} is an {other}")));
        }
        let taken = names.iter().find(|name| is_taken(name.as_bytes()));
        taken.map_or(Ok(()), |name| {
            Err(NotAdded::Unfit(format!("the name '{name}' of {oid} is that of another {kind}")))
        })
    }
}

/// What is to be done where something is no addition.
pub const ONLY_ADDITIONS: &str = "only additions to the schema are possible while the server runs; for other changes export and import the directory";

fn shown(names: &[String], oid: &str) -> String {
    names.first().map_or_else(|| oid.to_owned(), |name| format!("'{name}' ({oid})"))
}

/// Notes the OID of a definition, which no other one has with which it comes.
fn once(oids: &mut BTreeSet<String>, oid: &str) -> Result<(), NotAdded> {
    match oids.insert(oid.to_owned()) {
        true => Ok(()),
        false => Err(NotAdded::Exists(format!("{oid} is defined twice in this request"))),
    }
}

fn numeric(oid: &str) -> Result<(), NotAdded> {
    match model::oid::is_numeric(oid.as_bytes()) {
        true => Ok(()),
        false => Err(NotAdded::Syntax(format!("'{oid}' is no numeric OID"))),
    }
}

fn utf8(value: &[u8]) -> Result<&str, NotAdded> {
    std::str::from_utf8(value).map_err(|_| NotAdded::Syntax("a definition is not UTF-8".to_owned()))
}

fn unread(what: &str, reason: String) -> NotAdded {
    NotAdded::Syntax(format!("the definition of an {what} cannot be read: {reason}"))
}

/// A statement of a schema file.
fn statement(keyword: &str, definition: &dyn std::fmt::Display, out: &mut String) {
    let _ = writeln!(out, "{keyword} {definition}");
}
