//! From statements to a schema: macros, replacement by OID, names, inheritance.

use super::table::{Placed, Table};
use super::{BuildErrors, Fault};
use crate::builtin;
use crate::class_set::ClassSets;
use crate::definition::{
    AttributeTypeDefinition, ClassKind, DefinitionError, ObjectClassDefinition, SyntaxDefinition, Usage,
    parse_attribute_type, parse_object_class, parse_syntax,
};
use crate::element::{BinaryTransfer, Traits};
use crate::names::{NameTable, nearest};
use crate::options::OptionTable;
use crate::published;
use crate::secret;
use crate::source::{Statement, StatementKind};
use crate::{AttributeType, ObjectClass, Rule, RuleKind, Schema, Syntax, WellKnown};
use model::{ClassId, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Attribute types or object classes of one schema.
const DEFINITIONS_MAX: usize = 30_000;
/// Types or classes that one is derived from, near and far. With more of them the work grows with the square of their number.
const SUPERIORS_MAX: usize = 250;
/// Unknown names for which is looked what may be meant: each costs a look at every name.
const NEAREST_MAX: usize = 100;
/// What a syntax that is defined in a file says of its values.
const BINARY_EXTENSION: &str = "X-BINARY-TRANSFER-REQUIRED";
/// Steps from a macro to the OID it stands for.
const MACRO_STEPS_MAX: usize = 16;

#[derive(Default)]
pub(super) struct Resolver {
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
    macros: BTreeMap<String, String>,
    types: Table<AttributeTypeDefinition>,
    classes: Table<ObjectClassDefinition>,
    syntaxes: BTreeMap<String, SyntaxDefinition>,
    /// Is something derived from more others than may be?
    has_long_chains: bool,
    /// Unknown names that were looked at for what may be meant.
    unknown: usize,
}

impl Resolver {
    pub(super) fn new(faults: Vec<Fault>, warnings: Vec<Fault>) -> Resolver {
        Resolver { faults, warnings, ..Resolver::default() }
    }

    pub(super) fn build(mut self, files: &[(Arc<str>, Vec<Statement>)]) -> Result<Schema, BuildErrors> {
        let each = || files.iter().flat_map(|(file, list)| list.iter().map(move |s| (file, s)));
        each().filter(|(_, s)| s.kind == StatementKind::Macro).for_each(|(f, s)| self.read_macro(f, s));
        for (file, statement) in each() {
            self.read(file, statement);
        }
        if self.types.list.len().max(self.classes.list.len()) > DEFINITIONS_MAX {
            self.fault(&"schema".into(), 0, format!("more than {DEFINITIONS_MAX} definitions"));
            return Err(BuildErrors(self.faults));
        }
        self.index_names();
        let types = self.resolve_types();
        let classes = self.resolve_classes();
        let schema = if self.faults.is_empty() { self.assemble(types, classes) } else { None };
        match schema {
            Some(mut schema) => {
                schema.warnings = self.warnings;
                Ok(schema)
            }
            None => Err(BuildErrors(self.faults)),
        }
    }

    fn fault(&mut self, file: &Arc<str>, line: usize, message: String) {
        self.faults.push(Fault { file: file.clone(), line, message });
    }

    fn read_macro(&mut self, file: &Arc<str>, statement: &Statement) {
        let words: Vec<&str> = statement.text.split_whitespace().collect();
        match words[..] {
            [name, oid] => {
                self.macros.insert(name.to_ascii_lowercase(), oid.trim_matches('\'').to_owned());
            }
            _ => self.fault(file, statement.line(), "expected 'objectidentifier name oid'".to_owned()),
        }
    }

    /// The numeric OID that a word of a definition stands for.
    fn expand(&self, word: &str) -> Result<String, String> {
        let mut oid = word.to_owned();
        for _ in 0..MACRO_STEPS_MAX {
            if model::oid::is_numeric(oid.as_bytes()) {
                return Ok(oid);
            }
            let (name, suffix) = oid.split_once(':').map_or((oid.as_str(), None), |(n, s)| (n, Some(s)));
            match (self.macros.get(&name.to_ascii_lowercase()), suffix) {
                (Some(value), None) => oid = value.clone(),
                (Some(value), Some(suffix)) => oid = format!("{value}.{suffix}"),
                // 389 Directory Server writes `name-oid` where no OID was assigned; it is kept as it is.
                (None, None) if oid.to_ascii_lowercase().ends_with("-oid") => return Ok(oid),
                (None, _) => {
                    return Err(format!(
                        "'{word}' is neither an OID nor a macro that 'objectidentifier' defines"
                    ));
                }
            }
        }
        Err(format!("the macro '{word}' leads back to itself"))
    }

    fn read(&mut self, file: &Arc<str>, statement: &Statement) {
        let result = match statement.kind {
            StatementKind::Macro => Ok(()),
            StatementKind::AttributeType => {
                parse_attribute_type(&statement.text).map(|d| self.add_type(file, statement, d))
            }
            StatementKind::ObjectClass => {
                parse_object_class(&statement.text).map(|d| self.add_class(file, statement, d))
            }
            StatementKind::Syntax => {
                parse_syntax(&statement.text).map(|d| self.add_syntax(file, statement, d))
            }
        };
        if let Err(DefinitionError { at, reason }) = result {
            self.fault(file, statement.line_of(at), reason);
        }
    }

    fn add_type(&mut self, file: &Arc<str>, statement: &Statement, mut d: AttributeTypeDefinition) {
        let line = statement.line();
        match self
            .expand(&d.oid)
            .and_then(|oid| Ok((oid, d.syntax.as_deref().map(|s| self.expand(s)).transpose()?)))
        {
            Ok((oid, syntax)) => (d.oid, d.syntax) = (oid, syntax),
            Err(message) => return self.fault(file, line, message),
        }
        let oid = d.oid.clone();
        if let Err(message) = self.types.add(oid, Placed { definition: d, file: file.clone(), line }) {
            self.fault(file, line, message);
        }
    }

    fn add_class(&mut self, file: &Arc<str>, statement: &Statement, mut d: ObjectClassDefinition) {
        let line = statement.line();
        match self.expand(&d.oid) {
            Ok(oid) => d.oid = oid,
            Err(message) => return self.fault(file, line, message),
        }
        let oid = d.oid.clone();
        if let Err(message) = self.classes.add(oid, Placed { definition: d, file: file.clone(), line }) {
            self.fault(file, line, message);
        }
    }

    fn add_syntax(&mut self, file: &Arc<str>, statement: &Statement, mut d: SyntaxDefinition) {
        match self.expand(&d.oid) {
            Ok(oid) => d.oid = oid,
            Err(message) => return self.fault(file, statement.line(), message),
        }
        if Syntax::find(&d.oid).is_none() {
            self.syntaxes.insert(d.oid.clone(), d);
        }
    }

    fn index_names(&mut self) {
        let clashes = self.types.index(|d| &d.names).into_iter().chain(self.classes.index(|d| &d.names));
        self.faults.extend(clashes);
    }

    fn resolve_types(&mut self) -> Vec<AttributeType> {
        let table = std::mem::take(&mut self.types);
        let sups: Vec<Option<usize>> = table.list.iter().map(|p| self.sup_of(&table, p)).collect();
        let chains = self.chains(&table, &sups);
        if self.has_long_chains {
            // What comes would take too long.
            self.types = table;
            return Vec::new();
        }
        let mut built = Vec::with_capacity(table.list.len());
        for (at, placed) in table.list.iter().enumerate() {
            built.push(self.resolve_type(&table, placed, sups[at], &chains[at]));
        }
        for (at, chain) in chains.iter().enumerate() {
            for above in chain {
                built[*above].subtypes.push(TypeId(at as u16));
            }
        }
        assert_eq!(chains.len(), built.len(), "each type has its list of supertypes");
        self.check_replaced(&table, &built);
        self.types = table;
        built
    }

    fn sup_of(
        &mut self,
        table: &Table<AttributeTypeDefinition>,
        placed: &Placed<AttributeTypeDefinition>,
    ) -> Option<usize> {
        let sup = placed.definition.sup.as_ref()?;
        let found = table.find(sup);
        if found.is_none() {
            let message = self.undefined("attribute type", sup, table.names(|d| &d.names));
            self.fault(&placed.file, placed.line, message);
        }
        found
    }

    /// For each type: itself and what it is derived from, nearest first.
    fn chains(&mut self, table: &Table<AttributeTypeDefinition>, sups: &[Option<usize>]) -> Vec<Vec<usize>> {
        let mut chains = Vec::with_capacity(sups.len());
        for (at, placed) in table.list.iter().enumerate() {
            let mut chain = vec![at];
            while let Some(above) = sups[*chain.last().expect("begins with itself")] {
                if chain.contains(&above) {
                    self.fault(
                        &placed.file,
                        placed.line,
                        format!(
                            "'{}' is derived from itself",
                            name(&placed.definition.names, &placed.definition.oid)
                        ),
                    );
                    break;
                }
                chain.push(above);
                if chain.len() > SUPERIORS_MAX {
                    if !self.has_long_chains {
                        let message = format!("it is derived from more than {SUPERIORS_MAX} others");
                        self.fault(&placed.file, placed.line, message);
                    }
                    self.has_long_chains = true;
                    break;
                }
            }
            chains.push(chain);
        }
        chains
    }

    fn resolve_type(
        &mut self,
        table: &Table<AttributeTypeDefinition>,
        placed: &Placed<AttributeTypeDefinition>,
        sup: Option<usize>,
        chain: &[usize],
    ) -> AttributeType {
        let d = &placed.definition;
        let up = || chain.iter().map(|at| &table.list[*at].definition);
        let syntax_oid = up().find_map(|d| d.syntax.clone());
        if syntax_oid.is_none() {
            self.fault(&placed.file, placed.line, "an attribute type needs SYNTAX or SUP".to_owned());
        }
        self.check_usage(placed, sup.map(|at| &table.list[at].definition));
        let syntax_oid = syntax_oid.unwrap_or_else(|| Syntax::OctetString.oid().to_owned());
        let syntax = self.syntax_of(placed, &syntax_oid);
        let mut rule = |of: fn(&AttributeTypeDefinition) -> &Option<String>, kind| {
            up().find_map(|d| of(d).as_deref()).and_then(|text| self.rule_of(placed, text, kind))
        };
        let equality = rule(|d| &d.equality, RuleKind::Equality);
        let ordering = rule(|d| &d.ordering, RuleKind::Ordering);
        let substring = rule(|d| &d.substring, RuleKind::Substring);
        AttributeType {
            equality,
            ordering,
            substring,
            oid: shown_oid(&placed.file, &d.oid),
            names: d.names.clone(),
            sup: sup.map(|at| TypeId(at as u16)),
            syntax,
            binary: self.binary_transfer(&d.oid, syntax, &syntax_oid),
            syntax_oid,
            length_max: up().find_map(|d| d.length_max),
            single_value: d.single_value,
            collective: d.collective,
            no_user_modification: d.no_user_modification,
            usage: d.usage,
            obsolete: d.obsolete,
            description: d.description.clone(),
            extensions: d.extensions.clone(),
            subtypes: Vec::new(),
            definition: d.clone(),
            is_own: *placed.file == *builtin::OWN,
            is_setting: *placed.file == *builtin::SETTINGS,
        }
    }

    /// Says that a name is not defined, and which one may be meant.
    fn undefined<'n>(&mut self, what: &str, word: &str, names: impl Iterator<Item = &'n str>) -> String {
        self.unknown += 1;
        let meant = if self.unknown <= NEAREST_MAX { nearest(word, names) } else { None };
        match meant {
            Some(meant) => format!("{what} '{word}' is not defined; did you mean '{meant}'?"),
            None => format!("{what} '{word}' is not defined"),
        }
    }

    /// Nothing that is stored by one matching rule can be looked up by another: a file may replace a definition, but for
    /// that. The built-in files are made to replace each other.
    fn check_replaced(&mut self, table: &Table<AttributeTypeDefinition>, built: &[AttributeType]) {
        for (at, former) in &table.replaced {
            let now = &table.list[*at];
            let old = self.former_rule(table, former);
            let is_other =
                old.is_some_and(|old| built[*at].equality.is_none_or(|new| !old.compares_like(new)));
            let is_ours = builtin::text(&now.file).is_some() || *now.file == *super::RECORDED;
            if is_other && !is_ours {
                let rule = |rule: Option<Rule>| rule.map_or("no equality rule", Rule::name);
                let message = format!(
                    "'{}' ({}) has {} here and {} at {}:{}; what is stored by one is not found by the other: leave it out, or \
                     give it a name and an OID of its own",
                    name(&now.definition.names, &now.definition.oid),
                    now.definition.oid,
                    rule(built[*at].equality),
                    rule(old),
                    former.file,
                    former.line
                );
                self.fault(&now.file, now.line, message);
            }
        }
    }

    /// The equality rule of a definition that was replaced.
    fn former_rule(
        &self,
        table: &Table<AttributeTypeDefinition>,
        former: &Placed<AttributeTypeDefinition>,
    ) -> Option<Rule> {
        let mut definition = &former.definition;
        for _ in 0..SUPERIORS_MAX {
            match (&definition.equality, &definition.sup) {
                (Some(rule), _) => return Rule::find(rule.as_bytes()),
                (None, Some(sup)) => definition = &table.list[table.find(sup)?].definition,
                (None, None) => return None,
            }
        }
        None
    }

    /// Rules of RFC 4512 section 4.1.2 on usage.
    fn check_usage(
        &mut self,
        placed: &Placed<AttributeTypeDefinition>,
        sup: Option<&AttributeTypeDefinition>,
    ) {
        let d = &placed.definition;
        let user = d.usage == Usage::UserApplications;
        let faults = [
            (d.collective && !user, "COLLECTIVE is for user attributes"),
            (d.collective && d.single_value, "a COLLECTIVE attribute cannot be SINGLE-VALUE"),
            (d.no_user_modification && user, "NO-USER-MODIFICATION is for operational attributes; add USAGE"),
            (sup.is_some_and(|s| s.usage != d.usage), "a subtype has the usage of its supertype"),
        ];
        for (_, message) in faults.iter().filter(|(broken, _)| *broken) {
            self.fault(&placed.file, placed.line, (*message).to_owned());
        }
    }

    /// Whether values are sent with `;binary` (RFC 4522 section 4, RFC 4523 section 2, RFC 2798 sections 2.8 and 2.9).
    fn binary_transfer(&self, oid: &str, syntax: Syntax, syntax_oid: &str) -> BinaryTransfer {
        // userSMIMECertificate and userPKCS12.
        const WITH_IT: [&str; 2] = ["2.16.840.1.113730.3.1.40", "2.16.840.1.113730.3.1.216"];
        let is_said = |(name, values): &(String, Vec<String>)| {
            name.eq_ignore_ascii_case(BINARY_EXTENSION)
                && values.iter().any(|value| value.eq_ignore_ascii_case("true"))
        };
        let of_file = self.syntaxes.get(syntax_oid);
        if syntax.requires_binary()
            || WITH_IT.contains(&oid)
            || of_file.is_some_and(|d| d.extensions.iter().any(is_said))
        {
            BinaryTransfer::Required
        } else if syntax == Syntax::Binary {
            BinaryTransfer::Accepted
        } else {
            BinaryTransfer::None
        }
    }

    /// Syntaxes that are not known count as octet strings, unless the file names a substitute.
    fn syntax_of(&mut self, placed: &Placed<AttributeTypeDefinition>, oid: &str) -> Syntax {
        if let Some(syntax) = Syntax::find(oid) {
            return syntax;
        }
        let substitute = self.syntaxes.get(oid).and_then(|d| {
            let (_, values) = d.extensions.iter().find(|(name, _)| name.eq_ignore_ascii_case("X-SUBST"))?;
            Syntax::find(values.first()?)
        });
        substitute.unwrap_or_else(|| {
            let message = format!("syntax {oid} is not known; its values are taken as octet strings");
            self.warnings.push(Fault { file: placed.file.clone(), line: placed.line, message });
            Syntax::OctetString
        })
    }

    fn rule_of(
        &mut self,
        placed: &Placed<AttributeTypeDefinition>,
        text: &str,
        kind: RuleKind,
    ) -> Option<Rule> {
        let rule = Rule::find(text.as_bytes());
        let message = match rule {
            Some(rule) if rule.kind() == kind => return Some(rule),
            Some(_) => {
                format!("matching rule '{text}' is of another kind than the keyword before it; left out")
            }
            None => format!("matching rule '{text}' is not known; left out"),
        };
        self.warnings.push(Fault { file: placed.file.clone(), line: placed.line, message });
        None
    }

    fn resolve_classes(&mut self) -> Vec<ObjectClass> {
        let table = std::mem::take(&mut self.classes);
        let mut built: Vec<ObjectClass> = table.list.iter().map(|p| self.resolve_class(&table, p)).collect();
        for at in 0..built.len() {
            let Some(superiors) = superiors_of(&built, at) else {
                let placed = &table.list[at];
                let message = format!("it is derived from more than {SUPERIORS_MAX} others");
                self.fault(&placed.file, placed.line, message);
                break;
            };
            if superiors.iter().any(|c| built[c.0 as usize].sup.contains(&ClassId(at as u16))) {
                let placed = &table.list[at];
                self.fault(
                    &placed.file,
                    placed.line,
                    format!("'{}' is derived from itself", built[at].name()),
                );
            }
            self.check_kinds(&table.list[at], &built, at);
            built[at].all_must = gather(&built, &superiors, |c| &c.must);
            built[at].all_may = gather(&built, &superiors, |c| &c.may);
            let required = std::mem::take(&mut built[at].all_must);
            built[at].all_may.retain(|id| required.binary_search(id).is_err());
            built[at].all_must = required;
            built[at].superiors = superiors;
        }
        self.classes = table;
        built
    }

    fn resolve_class(
        &mut self,
        table: &Table<ObjectClassDefinition>,
        placed: &Placed<ObjectClassDefinition>,
    ) -> ObjectClass {
        let d = &placed.definition;
        let mut sup = Vec::new();
        for word in &d.sup {
            match table.find(word) {
                Some(at) => sup.push(ClassId(at as u16)),
                None => {
                    let message = self.undefined("object class", word, table.names(|d| &d.names));
                    self.fault(&placed.file, placed.line, message);
                }
            }
        }
        ObjectClass {
            oid: shown_oid(&placed.file, &d.oid),
            names: d.names.clone(),
            sup,
            kind: d.kind,
            must: self.types_of(placed, &d.must),
            may: self.types_of(placed, &d.may),
            all_must: Vec::new(),
            all_may: Vec::new(),
            superiors: Vec::new(),
            obsolete: d.obsolete,
            description: d.description.clone(),
            extensions: d.extensions.clone(),
            definition: d.clone(),
            is_own: *placed.file == *builtin::OWN,
        }
    }

    fn types_of(&mut self, placed: &Placed<ObjectClassDefinition>, words: &[String]) -> Vec<TypeId> {
        let mut ids = Vec::with_capacity(words.len());
        for word in words {
            match self.types.find(word) {
                Some(at) => ids.push(TypeId(at as u16)),
                None => {
                    let types = std::mem::take(&mut self.types);
                    let message = self.undefined("attribute type", word, types.names(|d| &d.names));
                    self.types = types;
                    self.fault(&placed.file, placed.line, message);
                }
            }
        }
        ids
    }

    /// What may be derived from what (RFC 4512 section 2.4).
    fn check_kinds(&mut self, placed: &Placed<ObjectClassDefinition>, built: &[ObjectClass], at: usize) {
        let class = &built[at];
        for sup in class.sup.iter().map(|c| &built[c.0 as usize]) {
            let fits = sup.kind == ClassKind::Abstract || sup.kind == class.kind;
            if !fits {
                let words = |k: ClassKind| k.name().to_ascii_lowercase();
                let message = format!(
                    "{} class '{}' cannot be derived from {} class '{}'",
                    words(class.kind),
                    class.name(),
                    words(sup.kind),
                    sup.name()
                );
                self.fault(&placed.file, placed.line, message);
            }
        }
    }

    fn assemble(&mut self, types: Vec<AttributeType>, classes: Vec<ObjectClass>) -> Option<Schema> {
        // An OID that is no longer shown is still known: data and logs may have it.
        let type_names = NameTable::new(types.iter().enumerate().flat_map(|(at, t)| {
            let oids = [&t.oid, &t.definition.oid];
            t.names.iter().chain(oids).map(move |n| (n.as_str(), at as u16))
        }));
        let class_names = NameTable::new(classes.iter().enumerate().flat_map(|(at, c)| {
            let oids = [&c.oid, &c.definition.oid];
            c.names.iter().chain(oids).map(move |n| (n.as_str(), at as u16))
        }));
        let well_known = match WellKnown::find(&type_names, &class_names) {
            Ok(well_known) => well_known,
            Err(missing) => {
                self.fault(
                    &"schema".into(),
                    0,
                    format!("a file takes away names that the server needs: {}", missing.join(", ")),
                );
                return None;
            }
        };
        let mut traits: Vec<Traits> = types.iter().map(Traits::of).collect();
        secret::mark(&types, &type_names, &mut traits);
        Some(Schema {
            traits,
            types,
            classes,
            syntaxes: std::mem::take(&mut self.syntaxes).into_values().collect(),
            type_names,
            class_names,
            options: OptionTable::new(),
            class_sets: ClassSets::new(),
            well_known,
            files: Vec::new(),
            warnings: Vec::new(),
        })
    }
}

/// The OID that clients are shown: that of the definition, but for some of the built-in ones.
fn shown_oid(file: &str, oid: &str) -> String {
    let is_builtin = builtin::text(file).is_some() || file == builtin::SETTINGS;
    let short = if is_builtin { published::short_oid(oid) } else { None };
    short.unwrap_or_else(|| oid.to_owned())
}

fn name<'d>(names: &'d [String], oid: &'d str) -> &'d str {
    names.first().map_or(oid, String::as_str)
}

/// A class and all above it, in order of id; cycles end by themselves. `None` if there are more than [`SUPERIORS_MAX`].
fn superiors_of(built: &[ObjectClass], at: usize) -> Option<Vec<ClassId>> {
    let mut found = vec![ClassId(at as u16)];
    let mut next = 0;
    while let Some(class) = found.get(next).copied() {
        if found.len() > SUPERIORS_MAX {
            return None;
        }
        for sup in &built[class.0 as usize].sup {
            if !found.contains(sup) {
                found.push(*sup);
            }
        }
        next += 1;
    }
    found.sort_unstable();
    Some(found)
}

fn gather(built: &[ObjectClass], classes: &[ClassId], of: fn(&ObjectClass) -> &Vec<TypeId>) -> Vec<TypeId> {
    let mut ids: Vec<TypeId> = classes.iter().flat_map(|c| of(&built[c.0 as usize])).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
