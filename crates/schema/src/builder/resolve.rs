//! From statements to a schema: macros, replacement by OID, names, inheritance.

use super::table::{Placed, Report, Table};
use super::{BuildErrors, Fault, RECORDED};
use crate::additions::{ADDED_FILE, Additions};
use crate::builtin;
use crate::class_set::{ClassSets, ascending};
use crate::definition::{
    AttributeTypeDefinition, ClassKind, ContentRuleDefinition, DefinitionError, NameFormDefinition,
    ObjectClassDefinition, StructureRuleDefinition, SyntaxDefinition, Usage, parse_attribute_type,
    parse_content_rule, parse_name_form, parse_object_class, parse_structure_rule, parse_syntax,
};
use crate::element::{BinaryTransfer, NamingRules, Traits};
use crate::names::NameTable;
use crate::options::OptionTable;
use crate::published;
use crate::schema::initial;
use crate::source::{Statement, StatementKind};
use crate::{AttributeType, ContentRule, ObjectClass, Rule, RuleKind, Schema, Syntax, WellKnown};
use model::{ClassId, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Attribute types or object classes of one schema.
const DEFINITIONS_MAX: usize = 30_000;
/// Types or classes that one is derived from, near and far. With more of them the work grows with the square of their number.
const SUPERIORS_MAX: usize = 250;
/// What a syntax that is defined in a file says of its values.
const BINARY_EXTENSION: &str = "X-BINARY-TRANSFER-REQUIRED";
/// Steps from a macro to the OID it stands for.
const MACRO_STEPS_MAX: usize = 16;

/// OID of groupOfURLs.
const GROUP_OF_URLS: &str = "2.16.840.1.113730.3.2.33";
/// Attributes of changes that files of other servers have with fewer rules: changeType, changes, deleteOldRDN and changeTime.
const CHANGE_LOG: [&str; 4] = [
    "2.16.840.1.113730.3.1.7",
    "2.16.840.1.113730.3.1.8",
    "2.16.840.1.113730.3.1.10",
    "2.16.840.1.113730.3.1.77",
];
/// OIDs of memberOf and isMemberOf.
const MEMBER_OF: [&str; 2] = ["1.2.840.113556.1.2.102", "1.3.6.1.4.1.42.2.27.9.1.792"];

/// Builds the schema that these files define. `faults` and `warnings` were found when they were read.
pub(super) fn build(
    files: &[(Arc<str>, Vec<Statement>)],
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
) -> Result<Schema, BuildErrors> {
    let mut all = Definitions { faults, ..Definitions::default() };
    let each = || files.iter().flat_map(|(file, list)| list.iter().map(move |s| (file, s)));
    each().filter(|(_, s)| s.kind == StatementKind::Macro).for_each(|(f, s)| all.read_macro(f, s));
    for (file, statement) in each() {
        all.read(file, statement);
    }
    let count = all.types.list.len().max(all.classes.list.len());
    let of_dit = [all.content_rules.list.len(), all.forms.list.len(), all.structure_rules.list.len()];
    if of_dit.into_iter().fold(count, usize::max) > DEFINITIONS_MAX {
        all.fault(&"schema".into(), 0, format!("more than {DEFINITIONS_MAX} definitions"));
        return Err(BuildErrors(all.faults));
    }
    let Definitions { mut faults, mut types, mut classes, mut forms, syntaxes, .. } = all;
    faults.extend(forms.index(|d| &d.names));
    faults.extend(types.index(|d| &d.names));
    faults.extend(classes.index(|d| &d.names));
    let report = Report { faults, warnings, unknown: 0 };
    let mut resolver = Resolver { report, types: &types, classes: &classes, syntaxes: &syntaxes };
    let (types, classes) = (resolver.resolve_types(), resolver.resolve_classes());
    let content_rules = resolver.resolve_content_rules(&all.content_rules.list, &types, &classes);
    let naming = resolver.resolve_naming(&forms, &all.structure_rules.list, &classes);
    let Report { faults, warnings, .. } = resolver.report;
    match faults.is_empty() {
        true => assemble((types, classes), (content_rules, naming), syntaxes, warnings),
        false => Err(BuildErrors(faults)),
    }
}

/// The definitions of all files, nothing resolved but macros.
#[derive(Default)]
struct Definitions {
    faults: Vec<Fault>,
    macros: BTreeMap<String, String>,
    types: Table<AttributeTypeDefinition>,
    classes: Table<ObjectClassDefinition>,
    content_rules: Table<ContentRuleDefinition>,
    forms: Table<NameFormDefinition>,
    structure_rules: Table<StructureRuleDefinition>,
    syntaxes: BTreeMap<String, SyntaxDefinition>,
}

impl Definitions {
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
        let (text, line) = (&*statement.text, statement.line());
        let added = match statement.kind {
            StatementKind::Macro => return,
            StatementKind::AttributeType => parse_attribute_type(text).map(|d| self.add_type(file, line, d)),
            StatementKind::ObjectClass => parse_object_class(text).map(|d| self.add_class(file, line, d)),
            StatementKind::ContentRule => {
                parse_content_rule(text).map(|d| self.add_content_rule(file, line, d))
            }
            StatementKind::NameForm => parse_name_form(text).map(|d| self.add_form(file, line, d)),
            StatementKind::StructureRule => parse_structure_rule(text).map(|d| {
                let placed = Placed { definition: d, file: file.clone(), line };
                self.structure_rules.add(placed.definition.id.to_string(), placed)
            }),
            StatementKind::Syntax => parse_syntax(text).map(|d| self.add_syntax(d)),
        };
        match added {
            Ok(Ok(())) => {}
            Ok(Err(message)) => self.fault(file, line, message),
            Err(DefinitionError { at, reason }) => self.fault(file, statement.line_of(at), reason),
        }
    }

    fn add_type(
        &mut self,
        file: &Arc<str>,
        line: usize,
        mut d: AttributeTypeDefinition,
    ) -> Result<(), String> {
        d.oid = self.expand(&d.oid)?;
        d.syntax = d.syntax.map(|syntax| self.expand(&syntax)).transpose()?;
        self.types.add(d.oid.clone(), Placed { definition: d, file: file.clone(), line })
    }

    fn add_class(
        &mut self,
        file: &Arc<str>,
        line: usize,
        mut d: ObjectClassDefinition,
    ) -> Result<(), String> {
        d.oid = self.expand(&d.oid)?;
        self.classes.add(d.oid.clone(), Placed { definition: d, file: file.clone(), line })
    }

    fn add_content_rule(
        &mut self,
        file: &Arc<str>,
        line: usize,
        mut d: ContentRuleDefinition,
    ) -> Result<(), String> {
        d.oid = self.expand(&d.oid)?;
        self.content_rules.add(d.oid.clone(), Placed { definition: d, file: file.clone(), line })
    }

    fn add_form(&mut self, file: &Arc<str>, line: usize, mut d: NameFormDefinition) -> Result<(), String> {
        d.oid = self.expand(&d.oid)?;
        self.forms.add(d.oid.clone(), Placed { definition: d, file: file.clone(), line })
    }

    fn add_syntax(&mut self, mut d: SyntaxDefinition) -> Result<(), String> {
        d.oid = self.expand(&d.oid)?;
        if Syntax::find(&d.oid).is_none() {
            self.syntaxes.insert(d.oid.clone(), d);
        }
        Ok(())
    }
}

/// Gives names their meaning, and what is derived what it inherits.
pub(super) struct Resolver<'d> {
    pub(super) report: Report,
    types: &'d Table<AttributeTypeDefinition>,
    classes: &'d Table<ObjectClassDefinition>,
    syntaxes: &'d BTreeMap<String, SyntaxDefinition>,
}

impl Resolver<'_> {
    /// The position of an attribute type; that there is none is a fault.
    pub(super) fn find_type<D>(&mut self, placed: &Placed<D>, word: &str) -> Option<usize> {
        let found = self.types.find(word);
        if found.is_none() {
            self.report.undefined(placed, "attribute type", word, self.types.names(|d| &d.names));
        }
        found
    }

    /// The object class with this name; that there is none is a fault.
    pub(super) fn find_class<D>(&mut self, placed: &Placed<D>, word: &str) -> Option<ClassId> {
        let found = self.classes.find(word);
        if found.is_none() {
            self.report.undefined(placed, "object class", word, self.classes.names(|d| &d.names));
        }
        found.map(|at| ClassId(at as u16))
    }

    fn resolve_types(&mut self) -> Vec<AttributeType> {
        let list = &self.types.list;
        let sups: Vec<Option<usize>> =
            list.iter().map(|p| self.find_type(p, p.definition.sup.as_ref()?)).collect();
        // What comes would take too long.
        let Some(chains) = self.chains(&sups) else { return Vec::new() };
        let mut built = Vec::with_capacity(list.len());
        for (at, placed) in list.iter().enumerate() {
            built.push(self.resolve_type(placed, sups[at], &chains[at]));
        }
        for (at, chain) in chains.iter().enumerate() {
            for above in chain {
                built[*above].subtypes.push(TypeId(at as u16));
            }
        }
        assert_eq!(chains.len(), built.len(), "each type has its list of supertypes");
        self.check_replaced(&built);
        built
    }

    /// For each type: itself and what it is derived from, nearest first. `None` if something is derived from more others than
    /// may be.
    fn chains(&mut self, sups: &[Option<usize>]) -> Option<Vec<Vec<usize>>> {
        let mut chains = Vec::with_capacity(sups.len());
        let mut has_long_ones = false;
        for (at, placed) in self.types.list.iter().enumerate() {
            let mut chain = vec![at];
            while let Some(above) = sups[*chain.last().expect("begins with itself")] {
                if chain.contains(&above) {
                    let d = &placed.definition;
                    self.report.fault(placed, format!("'{}' is derived from itself", name(&d.names, &d.oid)));
                    break;
                }
                chain.push(above);
                if chain.len() > SUPERIORS_MAX {
                    if !has_long_ones {
                        let message = format!("it is derived from more than {SUPERIORS_MAX} others");
                        self.report.fault(placed, message);
                    }
                    has_long_ones = true;
                    break;
                }
            }
            chains.push(chain);
        }
        (!has_long_ones).then_some(chains)
    }

    fn resolve_type(
        &mut self,
        placed: &Placed<AttributeTypeDefinition>,
        sup: Option<usize>,
        chain: &[usize],
    ) -> AttributeType {
        let d = &placed.definition;
        let types = self.types;
        let up = || chain.iter().map(|at| &types.list[*at].definition);
        let syntax_oid = up().find_map(|d| d.syntax.clone());
        if syntax_oid.is_none() {
            self.report.fault(placed, "an attribute type needs SYNTAX or SUP");
        }
        self.check_usage(placed, sup.map(|at| &types.list[at].definition));
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
            definition: d.clone(),
            sup: sup.map(|at| TypeId(at as u16)),
            syntax,
            binary: self.binary_transfer(&d.oid, syntax, &syntax_oid),
            length_max: up().find_map(|d| d.length_max),
            subtypes: Vec::new(),
            is_own: *placed.file == *builtin::OWN,
            is_setting: *placed.file == *builtin::SETTINGS,
        }
    }

    /// Nothing that is stored by one matching rule can be looked up by another: a file may replace a definition, but for
    /// that. The built-in files are made to replace each other.
    fn check_replaced(&mut self, built: &[AttributeType]) {
        for (at, former) in &self.types.replaced {
            let now = &self.types.list[*at];
            let old = self.former_rule(former);
            let is_other =
                old.is_some_and(|old| built[*at].equality.is_none_or(|new| !old.compares_like(new)));
            let is_ours = builtin::text(&now.file).is_some() || *now.file == *super::RECORDED;
            // What the server works out is stored nowhere.
            let is_stored = !MEMBER_OF.iter().chain(&CHANGE_LOG).any(|oid| **oid == *now.definition.oid);
            if is_other && !is_ours && is_stored {
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
                self.report.fault(now, message);
            }
        }
    }

    /// The equality rule of a definition that was replaced.
    fn former_rule(&self, former: &Placed<AttributeTypeDefinition>) -> Option<Rule> {
        let mut definition = &former.definition;
        for _ in 0..SUPERIORS_MAX {
            match (&definition.equality, &definition.sup) {
                (Some(rule), _) => return Rule::find(rule.as_bytes()),
                (None, Some(sup)) => definition = &self.types.list[self.types.find(sup)?].definition,
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
            self.report.fault(placed, *message);
        }
        if !d.collective && sup.is_some_and(|sup| sup.collective) {
            self.fault_of_collective(placed, "a subtype of a COLLECTIVE attribute is COLLECTIVE".to_owned());
        }
    }

    /// Collective attributes are in no class, and have collective subtypes alone (RFC 3671 section 3). What an earlier version took in is taken
    /// again: a directory must not be refused for it, nor the outcome of an update be another one.
    fn fault_of_collective<D>(&mut self, placed: &Placed<D>, message: String) {
        match [RECORDED, ADDED_FILE].contains(&&*placed.file) {
            true => self.report.warn(placed, message),
            false => self.report.fault(placed, message),
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
            self.report.warn(placed, message);
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
        self.report.warn(placed, message);
        None
    }

    fn resolve_classes(&mut self) -> Vec<ObjectClass> {
        let list = &self.classes.list;
        let mut built: Vec<ObjectClass> = list.iter().map(|p| self.resolve_class(p)).collect();
        for (at, placed) in list.iter().enumerate() {
            let Some(superiors) = superiors_of(&built, at) else {
                self.report.fault(placed, format!("it is derived from more than {SUPERIORS_MAX} others"));
                break;
            };
            if superiors.iter().any(|c| built[c.0 as usize].sup.contains(&ClassId(at as u16))) {
                self.report.fault(placed, format!("'{}' is derived from itself", built[at].name()));
            }
            self.check_kinds(placed, &built, at);
            let all_must = ascending(superiors.iter().flat_map(|c| &built[c.0 as usize].must));
            let mut all_may = ascending(superiors.iter().flat_map(|c| &built[c.0 as usize].may));
            all_may.retain(|id| all_must.binary_search(id).is_err());
            let class = &mut built[at];
            (class.all_must, class.all_may, class.superiors) = (all_must, all_may, superiors);
        }
        built
    }

    fn resolve_class(&mut self, placed: &Placed<ObjectClassDefinition>) -> ObjectClass {
        let d = &placed.definition;
        let types = self.types;
        let is_collective =
            |word: &&String| types.find(word).is_some_and(|at| types.list[at].definition.collective);
        if let Some(word) = d.must.iter().chain(&d.may).find(is_collective) {
            let message =
                format!("'{word}' is COLLECTIVE: a class cannot have it, a collectiveAttributeSubentry has");
            self.fault_of_collective(placed, message);
        }
        ObjectClass {
            oid: shown_oid(&placed.file, &d.oid),
            definition: d.clone(),
            sup: d.sup.iter().filter_map(|word| self.find_class(placed, word)).collect(),
            must: self.types_of(placed, &d.must),
            may: self.types_of(placed, &d.may),
            all_must: Vec::new(),
            all_may: Vec::new(),
            superiors: Vec::new(),
            is_own: *placed.file == *builtin::OWN,
        }
    }

    pub(super) fn types_of<D>(&mut self, placed: &Placed<D>, words: &[String]) -> Vec<TypeId> {
        let found = words.iter().filter_map(|word| self.find_type(placed, word));
        found.map(|at| TypeId(at as u16)).collect()
    }

    /// What may be derived from what (RFC 4512 section 2.4).
    fn check_kinds(&mut self, placed: &Placed<ObjectClassDefinition>, built: &[ObjectClass], at: usize) {
        let class = &built[at];
        for sup in class.sup.iter().map(|c| &built[c.0 as usize]) {
            if ![ClassKind::Abstract, class.definition.kind].contains(&sup.definition.kind) {
                let shown = |class: &ObjectClass| {
                    format!("{} class '{}'", class.definition.kind.name().to_ascii_lowercase(), class.name())
                };
                let message = format!("{} cannot be derived from {}", shown(class), shown(sup));
                self.report.fault(placed, message);
            }
        }
    }
}

fn assemble(
    (types, classes): (Vec<AttributeType>, Vec<ObjectClass>),
    (content_rules, naming): (Vec<ContentRule>, NamingRules),
    syntaxes: BTreeMap<String, SyntaxDefinition>,
    warnings: Vec<Fault>,
) -> Result<Schema, BuildErrors> {
    let type_names = NameTable::new(
        types.iter().enumerate().flat_map(|(at, kind)| kind.all_names().map(move |name| (name, at as u16))),
    );
    let class_names = NameTable::new(
        classes
            .iter()
            .enumerate()
            .flat_map(|(at, class)| class.all_names().map(move |name| (name, at as u16))),
    );
    let well_known = WellKnown::find(&type_names, &class_names).map_err(|missing| {
        let message = format!("a file takes away names that the server needs: {}", missing.join(", "));
        BuildErrors(vec![Fault { file: "schema".into(), line: 0, message }])
    })?;
    let member_of = MEMBER_OF.map(|oid| {
        let id = type_names.find(oid.as_bytes())?;
        types[usize::from(id)].definition.no_user_modification.then_some(TypeId(id))
    });
    let group_of_urls = class_names.find(GROUP_OF_URLS.as_bytes()).map(ClassId);
    let traits: Vec<Traits> = types.iter().map(Traits::of).collect();
    let names = || types[usize::from(well_known.user_password.0)].all_names().filter(|name| !name.is_empty());
    let password_initials = names().fold(0, |all, name| all | initial(name.as_bytes()[0]));
    let password_name_bytes_min = names().map(str::len).min().expect("it has an OID");
    Ok(Schema {
        traits,
        types,
        classes,
        content_rules,
        naming,
        syntaxes: syntaxes.into_values().collect(),
        type_names,
        class_names,
        options: OptionTable::new(),
        class_sets: ClassSets::new(),
        well_known,
        member_of,
        group_of_urls,
        password_initials,
        password_name_bytes_min,
        files: Vec::new(),
        warnings,
        secrets: Vec::new(),
        added: Additions::new(String::new()),
    })
}

/// The OID that clients are shown: that of the definition, but for some of the built-in ones.
fn shown_oid(file: &str, oid: &str) -> String {
    // By its OID, since definitions that were recorded are of another file.
    let short = if file == builtin::SETTINGS || builtin::has(oid) { published::short_oid(oid) } else { None };
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
