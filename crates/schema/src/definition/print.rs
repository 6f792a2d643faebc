//! Canonical text of definitions, as the subschema entry shows them.

use super::{
    AttributeTypeDefinition, ClassKind, ContentRuleDefinition, NameFormDefinition, ObjectClassDefinition,
    StructureRuleDefinition, SyntaxDefinition, Usage,
};
use std::fmt::{self, Write};

impl fmt::Display for AttributeTypeDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "( {}", self.oid)?;
        head(f, &self.names, self.description.as_deref(), self.obsolete)?;
        let words = [("SUP", &self.sup), ("EQUALITY", &self.equality), ("ORDERING", &self.ordering)];
        for (keyword, value) in
            words.into_iter().chain([("SUBSTR", &self.substring), ("SYNTAX", &self.syntax)])
        {
            if let Some(value) = value {
                write!(f, " {keyword} {value}")?;
            }
        }
        if let Some(length) = self.length_max {
            write!(f, "{{{length}}}")?;
        }
        let flags = [
            (self.single_value, "SINGLE-VALUE"),
            (self.collective, "COLLECTIVE"),
            (self.no_user_modification, "NO-USER-MODIFICATION"),
        ];
        for (_, keyword) in flags.iter().filter(|(set, _)| *set) {
            write!(f, " {keyword}")?;
        }
        if self.usage != Usage::UserApplications {
            write!(f, " USAGE {}", self.usage.name())?;
        }
        extensions(f, &self.extensions)
    }
}

impl fmt::Display for ObjectClassDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "( {}", self.oid)?;
        head(f, &self.names, self.description.as_deref(), self.obsolete)?;
        oids(f, "SUP", &self.sup)?;
        write!(f, " {}", ClassKind::name(self.kind))?;
        oids(f, "MUST", &self.must)?;
        oids(f, "MAY", &self.may)?;
        extensions(f, &self.extensions)
    }
}

impl fmt::Display for ContentRuleDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "( {}", self.oid)?;
        head(f, &self.names, self.description.as_deref(), self.obsolete)?;
        oids(f, "AUX", &self.auxiliary)?;
        oids(f, "MUST", &self.must)?;
        oids(f, "MAY", &self.may)?;
        oids(f, "NOT", &self.not)?;
        extensions(f, &self.extensions)
    }
}

impl fmt::Display for NameFormDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "( {}", self.oid)?;
        head(f, &self.names, self.description.as_deref(), self.obsolete)?;
        write!(f, " OC {}", self.class)?;
        oids(f, "MUST", &self.must)?;
        oids(f, "MAY", &self.may)?;
        extensions(f, &self.extensions)
    }
}

impl fmt::Display for StructureRuleDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "( {}", self.id)?;
        head(f, &self.names, self.description.as_deref(), self.obsolete)?;
        write!(f, " FORM {}", self.form)?;
        match &self.superiors[..] {
            [] => {}
            [one] => write!(f, " SUP {one}")?,
            many => {
                f.write_str(" SUP (")?;
                many.iter().try_for_each(|id| write!(f, " {id}"))?;
                f.write_str(" )")?;
            }
        }
        extensions(f, &self.extensions)
    }
}

impl fmt::Display for SyntaxDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "( {}", self.oid)?;
        head(f, &[], self.description.as_deref(), false)?;
        extensions(f, &self.extensions)
    }
}

fn head(
    f: &mut fmt::Formatter<'_>,
    names: &[String],
    description: Option<&str>,
    obsolete: bool,
) -> fmt::Result {
    match names {
        [] => {}
        [one] => write!(f, " NAME '{one}'")?,
        many => {
            f.write_str(" NAME (")?;
            many.iter().try_for_each(|name| write!(f, " '{name}'"))?;
            f.write_str(" )")?;
        }
    }
    if let Some(description) = description {
        f.write_str(" DESC ")?;
        quoted(f, description)?;
    }
    if obsolete { f.write_str(" OBSOLETE") } else { Ok(()) }
}

fn oids(f: &mut fmt::Formatter<'_>, keyword: &str, list: &[String]) -> fmt::Result {
    match list {
        [] => Ok(()),
        [one] => write!(f, " {keyword} {one}"),
        many => write!(f, " {keyword} ( {} )", many.join(" $ ")),
    }
}

fn extensions(f: &mut fmt::Formatter<'_>, extensions: &super::Extensions) -> fmt::Result {
    for (name, values) in extensions {
        write!(f, " {name} ")?;
        if let [one] = &values[..] {
            quoted(f, one)?;
            continue;
        }
        f.write_str("(")?;
        for value in values {
            f.write_char(' ')?;
            quoted(f, value)?;
        }
        f.write_str(" )")?;
    }
    f.write_str(" )")
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('\'')?;
    for c in text.chars() {
        match c {
            '\'' => f.write_str("\\27")?,
            '\\' => f.write_str("\\5C")?,
            _ => f.write_char(c)?,
        }
    }
    f.write_char('\'')
}
