//! Builds a [`Schema`] from files, in any order of definition, and tells all faults at once.

mod content;
mod naming;
mod resolve;
mod settings;
mod table;

use crate::additions::{ADDED_FILE, Additions};
use crate::builtin;
use crate::class_set::is_ascending;
use crate::definition::{AttributeTypeDefinition, ClassKind, Usage};
use crate::secret;
use crate::source::{self, Statement, StatementKind};
use crate::{AttributeType, ObjectClass, Rule, RuleKind, Schema};
use model::{ClassId, TypeId};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A fault of a schema file, or a remark about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Name of the file, as given.
    pub file: Arc<str>,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// Every fault of all files, in the order of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildErrors(pub Vec<Fault>);

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if at == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}

/// No built-in schema file has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBuiltin(pub String);

impl fmt::Display for UnknownBuiltin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no built-in schema '{}'; there are {}", self.0, builtin::BUILTIN_NAMES.join(", "))
    }
}

impl std::error::Error for UnknownBuiltin {}

/// A file of definitions beyond the standard schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFile {
    /// How it was named: a path, or the name of a built-in file.
    pub name: Arc<str>,
    /// What it contains; empty for a built-in file, whose text comes with the program.
    pub text: Arc<str>,
}

/// The name of the file that [`Builder::recorded`] reads.
const RECORDED: &str = "recorded rules";

/// Collects schema files. A file that comes later may define an OID anew: its definition replaces the earlier.
#[derive(Debug)]
pub struct Builder {
    files: Vec<(Arc<str>, Vec<Statement>)>,
    added: Vec<SchemaFile>,
    secrets: Vec<String>,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// Begins with the system schema, without which no server can be: RFC 4512 and what this server maintains.
    pub fn new() -> Builder {
        let empty = Builder {
            files: Vec::new(),
            added: Vec::new(),
            secrets: Vec::new(),
            faults: Vec::new(),
            warnings: Vec::new(),
        };
        empty.builtin("system").expect("the system schema is built in")
    }

    /// Adds the standard files: core, cosine, inetorgperson, nis, dyngroup, ppolicy, dynamic, collective and monitor.
    pub fn standard(self) -> Builder {
        builtin::STANDARD.iter().fold(self, |b, name| b.builtin(name).expect("standard files are built in"))
    }

    /// What [`Schema::write_rules`] wrote, of this or of an earlier version, with the attributes of this server's own entries, settings apart.
    ///
    /// Each definition has the number that it had where it was written, if that schema had the standard files: those of the server's own entries
    /// come behind the standard ones, in front of all others. The sets of an entry that are in a snapshot are found by normal forms, and those of
    /// names have numbers of types in them.
    pub fn recorded(text: &str) -> Builder {
        let lacking = builtin::OWN_NEEDS.iter().filter(|(begin, _)| !text.contains(begin));
        let lacking: String = lacking.flat_map(|(begin, rest)| [*begin, *rest]).collect();
        // Lines stay where they are, for a fault names them.
        let of = |is_standard: bool| -> String {
            let keep = |line: &str| {
                if builtin::is_standard(line) == is_standard { line.to_owned() } else { "\n".to_owned() }
            };
            text.split_inclusive('\n').map(keep).collect()
        };
        let standard =
            Builder::new().file(RECORDED, &of(true)).builtin(builtin::OWN).expect("it is built in");
        standard.file(RECORDED, &of(false)).file("what own entries need", &lacking)
    }

    /// Adds a built-in file by its bare name, such as `rfc2307bis` (replaces what it shares with nis) or `dvtds`.
    pub fn builtin(self, name: &str) -> Result<Builder, UnknownBuiltin> {
        match builtin::text(name) {
            Some(text) => Ok(self.file(name, text)),
            None => Err(UnknownBuiltin(name.to_owned())),
        }
    }

    /// Adds a file: RFC text, slapd's `.schema`, cn=config LDIF or subschema LDIF. Faults wait for
    /// [`Builder::build`]. A built-in file that was added before is not read twice.
    pub fn file(mut self, name: &str, text: &str) -> Builder {
        if builtin::text(name).is_some() && self.files.iter().any(|(n, _)| &**n == name) {
            return self;
        }
        let name: Arc<str> = name.into();
        let (statements, remarks) = source::read(text);
        for remark in remarks {
            let list = if remark.is_error { &mut self.faults } else { &mut self.warnings };
            list.push(Fault { file: name.clone(), line: remark.line, message: remark.message });
        }
        self.files.push((name, statements));
        self
    }

    /// Adds a file beyond the standard ones, which [`Schema::files`] lists: as [`Builder::builtin`] if that knows its name, else as
    /// [`Builder::file`].
    ///
    /// What was added to a schema in use ([`ADDED_FILE`]) comes last. Definitions of it that other files have by now are those of these
    /// files.
    pub fn with_file(mut self, mut file: SchemaFile) -> Builder {
        if &*file.name == ADDED_FILE {
            let known = self.added.iter().find(|other| other.name == file.name);
            // Of what [`Builder::recorded`] has read there is the beginning.
            let rest = known.and_then(|known| file.text.strip_prefix(&*known.text));
            file.text = rest.map_or_else(|| self.without_known(&file.text).into(), Arc::from);
        }
        if &*file.name == ADDED_FILE && file.text.is_empty() {
            return self;
        }
        self.added.push(file.clone());
        let text = builtin::text(&file.name).unwrap_or(&file.text);
        self.file(&file.name, text)
    }

    /// Names files whose definitions are there already: the result has them in its list of files.
    pub fn listing(mut self, files: impl IntoIterator<Item = SchemaFile>) -> Builder {
        self.added.extend(files);
        self
    }

    /// The statements of a text, each one line, but for definitions whose OIDs files have that were added before.
    fn without_known(&self, text: &str) -> String {
        let statements = || self.files.iter().flat_map(|(_, statements)| statements);
        let known: BTreeSet<(StatementKind, String)> = statements().filter_map(Statement::key).collect();
        let is_new = |line: &&str| {
            let (statements, _) = source::read(line);
            !statements.iter().filter_map(Statement::key).any(|key| known.contains(&key))
        };
        text.split_inclusive('\n').filter(is_new).collect()
    }

    /// Takes attributes for secrets, by name or OID, besides those that always are. A name that the schema does not have is no fault.
    pub fn secrets(mut self, names: impl IntoIterator<Item = String>) -> Builder {
        self.secrets.extend(names);
        self
    }

    /// Resolves everything.
    pub fn build(self) -> Result<Schema, BuildErrors> {
        let mut schema = resolve::build(&self.files, self.faults, self.warnings)?;
        let subtypes = |at: usize| schema.attribute_type(TypeId(at as u16)).subtypes.clone();
        secret::mark(subtypes, &schema.type_names, &self.secrets, &schema.traits);
        schema.secrets = self.secrets;
        assert_sound(&schema);
        let is_of_use = |file: &SchemaFile| &*file.name == ADDED_FILE;
        let (of_use, files): (Vec<SchemaFile>, _) = self.added.into_iter().partition(is_of_use);
        schema.files = files;
        schema.added = Additions::new(of_use.iter().map(|file| &*file.text).collect());
        Ok(schema)
    }
}

/// Is it in a list in order?
fn holds<T: Ord>(list: &[T], item: &T) -> bool {
    list.binary_search(item).is_ok()
}

/// Asserts what holds of every schema that was built without a fault, in time in proportion to its definitions. Look-ups rely
/// on it and do not check it again: they search sorted lists, follow ids into tables, and walk up to supertypes and
/// superclasses. A fault of a file was reported before, so what fails here is a fault of the builder.
fn assert_sound(schema: &Schema) {
    let (types, classes) = (schema.types.len(), schema.classes.len());
    assert!(types <= usize::from(u16::MAX), "an id numbers every attribute type");
    assert!(classes <= usize::from(u16::MAX), "an id numbers every object class");
    assert_eq!(schema.traits.len(), types, "each attribute type has its traits at its own id");
    assert!(
        schema.type_names.ids_are_below(types),
        "the names of attribute types lead to the table of types"
    );
    assert!(
        schema.class_names.ids_are_below(classes),
        "the names of object classes lead to the table of classes"
    );
    for (id, kind) in schema.attribute_types() {
        assert_type(schema, id, kind);
    }
    for (id, class) in schema.classes() {
        assert_class(schema, id, class);
    }
    let known = &schema.well_known;
    let of_entries = schema.attribute_type(known.object_class);
    assert_eq!(
        schema.find_type(b"objectClass"),
        Some(known.object_class),
        "a well-known type is found by its name"
    );
    assert!(
        of_entries.definition.names.iter().any(|name| name.eq_ignore_ascii_case("objectClass")),
        "and it has that name"
    );
    assert_eq!(schema.find_class(b"top"), Some(known.top), "a well-known class is found by its name");
    assert!(schema.is_secret(known.user_password), "passwords are secrets");
}

fn assert_type(schema: &Schema, id: TypeId, kind: &AttributeType) {
    let traits = schema.traits[usize::from(id.0)].get();
    assert!(traits.equality == kind.equality, "hot paths compare by the rule of the definition");
    assert!(traits.syntax == kind.syntax, "hot paths check the syntax of the definition");
    assert!(is_ascending(&kind.subtypes), "subtypes are in order of id, each once");
    assert!(holds(&kind.subtypes, &id), "an attribute type is among its subtypes");
    assert!(
        kind.subtypes.last().is_some_and(|last| usize::from(last.0) < schema.types.len()),
        "subtypes are types of this schema"
    );
    let is_for = |rule: Option<Rule>, kind| rule.is_none_or(|rule| rule.kind() == kind);
    assert!(is_for(kind.equality, RuleKind::Equality), "EQUALITY is an equality rule");
    assert!(is_for(kind.ordering, RuleKind::Ordering), "ORDERING is an ordering rule");
    assert!(is_for(kind.substring, RuleKind::Substring), "SUBSTR is a substrings rule");
    let AttributeTypeDefinition { usage, collective, single_value, no_user_modification, .. } =
        kind.definition;
    let is_user = usage == Usage::UserApplications;
    // RFC 4512 section 4.1.2.
    assert!(is_user || !collective, "a collective attribute is a user attribute");
    assert!(!(collective && single_value), "a collective attribute has several values");
    assert!(!(is_user && no_user_modification), "users may modify user attributes");
    if let Some(sup) = kind.sup {
        let above = schema.attribute_type(sup);
        assert!(holds(&above.subtypes, &id), "a supertype lists its subtypes");
        // Strictly fewer with every step up or down: so nothing is derived from itself, and every walk ends.
        assert!(
            kind.subtypes.len() < above.subtypes.len(),
            "a supertype has more subtypes than those below it"
        );
        assert!(above.definition.usage == usage, "a subtype has the usage of its supertype");
    }
}

fn assert_class(schema: &Schema, id: ClassId, class: &ObjectClass) {
    assert!(is_ascending(&class.superiors), "superclasses are in order of id, each once");
    assert!(holds(&class.superiors, &id), "a class is among its superclasses");
    assert!(
        class.superiors.last().is_some_and(|last| usize::from(last.0) < schema.classes.len()),
        "superclasses are classes of this schema"
    );
    for sup in &class.sup {
        let above = schema.class(*sup);
        assert!(holds(&class.superiors, sup), "what a class is derived from is a superclass");
        // As with subtypes: strictly fewer, so the classes have no circle.
        assert!(above.superiors.len() < class.superiors.len(), "a superclass has fewer superclasses");
        // RFC 4512 section 2.4.
        let (above, kind) = (above.definition.kind, class.definition.kind);
        assert!(above == ClassKind::Abstract || above == kind, "a class is derived from its kind");
    }
    assert!(is_ascending(&class.all_must), "required attributes are in order of id, each once");
    assert!(is_ascending(&class.all_may), "allowed attributes are in order of id, each once");
    assert!(
        class.all_attributes().all(|kind| usize::from(kind.0) < schema.types.len()),
        "classes name attribute types of this schema"
    );
    assert!(
        class.must.iter().all(|kind| holds(&class.all_must, kind)),
        "what a class requires itself is among all that it requires"
    );
    assert!(
        !class.all_may.iter().any(|kind| holds(&class.all_must, kind)),
        "what is required is not listed again as allowed"
    );
}

#[cfg(test)]
mod tests;
