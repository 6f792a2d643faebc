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
        numeric(oid)?;
        let shown = shown(names, oid);
        if let Some(id) = self.find_type(oid.as_bytes()) {
            let there = self.attribute_type(id);
            return Err(
                match there.definition == *definition
                    || there.definition.to_string() == definition.to_string()
                {
                    true => NotAdded::Exists(format!("the attribute type {shown} exists")),
                    false => NotAdded::ChangesType(format!(
                        "{oid} is the attribute type '{}': {ONLY_ADDITIONS}",
                        there.name()
                    )),
                },
            );
        }
        if self.find_class(oid.as_bytes()).is_some() {
            return Err(NotAdded::Unfit(format!("{oid} is an object class")));
        }
        let taken = names.iter().find(|name| self.find_type(name.as_bytes()).is_some());
        taken.map_or(Ok(()), |name| {
            Err(NotAdded::Unfit(format!("the name '{name}' of {oid} is that of another attribute type")))
        })
    }

    fn judge_class(&self, definition: &ObjectClassDefinition) -> Result<(), NotAdded> {
        let ObjectClassDefinition { oid, names, .. } = definition;
        numeric(oid)?;
        let shown = shown(names, oid);
        if let Some(id) = self.find_class(oid.as_bytes()) {
            let there = self.class(id);
            return Err(
                match there.definition == *definition
                    || there.definition.to_string() == definition.to_string()
                {
                    true => NotAdded::Exists(format!("the object class {shown} exists")),
                    false => NotAdded::ChangesClass(format!(
                        "{oid} is the object class '{}': {ONLY_ADDITIONS}",
                        there.name()
                    )),
                },
            );
        }
        if self.find_type(oid.as_bytes()).is_some() {
            return Err(NotAdded::Unfit(format!("{oid} is an attribute type")));
        }
        let taken = names.iter().find(|name| self.find_class(name.as_bytes()).is_some());
        taken.map_or(Ok(()), |name| {
            Err(NotAdded::Unfit(format!("the name '{name}' of {oid} is that of another object class")))
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
