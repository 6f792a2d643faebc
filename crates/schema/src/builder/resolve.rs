//! From statements to a schema: macros, replacement by OID, names, inheritance.

use super::table::{MEMBER_OF, Placed, Report, SUPERIORS_MAX, Table, check_replaced, name};
use super::{BuildErrors, Fault, RECORDED};
use crate::additions::{ADDED_FILE, Additions};
use crate::builtin;
use crate::class_set::{ClassSets, ascending};
use crate::current::{Current, CurrentTraits};
use crate::definition::{
    AttributeTypeDefinition, ClassKind, ContentRuleDefinition, DefinitionError, NameFormDefinition,
    ObjectClassDefinition, StructureRuleDefinition, SyntaxDefinition, Usage, parse_attribute_type,
    parse_content_rule, parse_name_form, parse_object_class, parse_structure_rule, parse_syntax,
};
use crate::dit::DitRules;
use crate::element::{BinaryTransfer, NamingRules, Traits};
use crate::macros::Macros;
use crate::names::NameTable;
use crate::options::OptionTable;
use crate::published;
use crate::schema::initial;
use crate::source::{Act, Statement, StatementKind};
use crate::{AttributeType, ContentRule, ObjectClass, Rule, RuleKind, Schema, Syntax, WellKnown};
use model::{ClassId, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Attribute types or object classes of one schema.
const DEFINITIONS_MAX: usize = 30_000;
/// What a syntax that is defined in a file says of its values.
const BINARY_EXTENSION: &str = "X-BINARY-TRANSFER-REQUIRED";

/// OID of groupOfURLs.
const GROUP_OF_URLS: &str = "2.16.840.1.113730.3.2.33";

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
    let (type_list, class_list) = (&types.list, &classes.list);
    let mut resolver = Resolver { report, types: &types, classes: &classes, syntaxes: &syntaxes };
    let (types, classes) = (resolver.resolve_types(), resolver.resolve_classes());
    let content_rules = resolver.resolve_content_rules(&all.content_rules.list, &types, &classes);
    let naming = resolver.resolve_naming(&forms, &all.structure_rules.list, &classes);
    let Report { faults, warnings, .. } = resolver.report;
    match faults.is_empty() {
        true => {
            let numbered = (numbered(types, type_list), numbered(classes, class_list));
            assemble(numbered, (content_rules, naming), syntaxes, warnings)
        }
        false => Err(BuildErrors(faults)),
    }
}

/// The definitions of all files, nothing resolved but macros.
#[derive(Default)]
struct Definitions {
    faults: Vec<Fault>,
    macros: Macros,
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
        if let Err(message) = self.macros.add(&statement.text) {
            self.fault(file, statement.line(), message);
        }
    }

    fn read(&mut self, file: &Arc<str>, statement: &Statement) {
        let (text, line, act) = (&*statement.text, statement.line(), statement.act);
        if act != Act::Define && ![ADDED_FILE, RECORDED].contains(&&**file) {
            let message = format!("'{}' is not the beginning of a definition", act.prefix());
            return self.fault(file, line, message);
        }
        if matches!(act, Act::Remove | Act::Retire) {
            return match self.take_out(act, statement, Placed::of((), file, line)) {
                Ok(()) => {}
                Err(message) => self.fault(file, line, message),
            };
        }
        let added = match statement.kind {
            StatementKind::Macro => return,
            StatementKind::AttributeType => parse_attribute_type(text).map(|d| {
                self.resolved_type(d)
                    .and_then(|d| put(&mut self.types, act, &d.oid.clone(), Placed::of(d, file, line)))
            }),
            StatementKind::ObjectClass => parse_object_class(text).map(|mut d| {
                d.oid = self.macros.expand(&d.oid)?;
                put(&mut self.classes, act, &d.oid.clone(), Placed::of(d, file, line))
            }),
            StatementKind::ContentRule => parse_content_rule(text).map(|mut d| {
                d.oid = self.macros.expand(&d.oid)?;
                put(&mut self.content_rules, act, &d.oid.clone(), Placed::of(d, file, line))
            }),
            StatementKind::NameForm => parse_name_form(text).map(|mut d| {
                d.oid = self.macros.expand(&d.oid)?;
                put(&mut self.forms, act, &d.oid.clone(), Placed::of(d, file, line))
            }),
            StatementKind::StructureRule => parse_structure_rule(text)
                .map(|d| put(&mut self.structure_rules, act, &d.id.to_string(), Placed::of(d, file, line))),
            StatementKind::Syntax => parse_syntax(text).map(|d| self.add_syntax(d)),
        };
        match added {
            Ok(Ok(())) => {}
            Ok(Err(message)) => self.fault(file, line, message),
            Err(DefinitionError { at, reason }) => self.fault(file, statement.line_of(at), reason),
        }
    }

    /// Takes a definition out that the server removed, or its place again.
    fn take_out(&mut self, act: Act, statement: &Statement, placed: Placed<()>) -> Result<(), String> {
        let oid = statement.text.trim();
        let Placed { file, line, .. } = placed;
        match (statement.kind, act) {
            (StatementKind::AttributeType, Act::Retire) => {
                let definition = AttributeTypeDefinition { oid: oid.to_owned(), ..Default::default() };
                self.types.list.push(Placed { definition, is_removed: true, file, line });
                Ok(())
            }
            (StatementKind::ObjectClass, Act::Retire) => {
                let definition = ObjectClassDefinition { oid: oid.to_owned(), ..Default::default() };
                self.classes.list.push(Placed { definition, is_removed: true, file, line });
                Ok(())
            }
            (StatementKind::AttributeType, _) => self.types.retire(oid),
            (StatementKind::ObjectClass, _) => self.classes.retire(oid),
            (StatementKind::ContentRule, Act::Remove) => self.content_rules.remove(oid),
            (StatementKind::NameForm, Act::Remove) => self.forms.remove(oid),
            (StatementKind::StructureRule, Act::Remove) => self.structure_rules.remove(oid),
            _ => Err("nothing of this kind is removed".to_owned()),
        }
    }

    fn resolved_type(&self, mut d: AttributeTypeDefinition) -> Result<AttributeTypeDefinition, String> {
        d.oid = self.macros.expand(&d.oid)?;
        d.syntax = d.syntax.map(|syntax| self.macros.expand(&syntax)).transpose()?;
        Ok(d)
    }

    fn add_syntax(&mut self, mut d: SyntaxDefinition) -> Result<(), String> {
        d.oid = self.macros.expand(&d.oid)?;
        if Syntax::find(&d.oid).is_none() {
            self.syntaxes.insert(d.oid.clone(), d);
        }
        Ok(())
    }
}

/// Puts a definition to the others, or in the place of one.
fn put<D>(table: &mut Table<D>, act: Act, oid: &str, placed: Placed<D>) -> Result<(), String> {
    match act {
        Act::Change => table.change(oid, placed),
        _ => table.add(oid.to_owned(), placed),
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
        let sup = |p: &Placed<AttributeTypeDefinition>| match p.is_removed {
            true => None,
            false => self.find_type(p, p.definition.sup.as_ref()?),
        };
        let sups: Vec<Option<usize>> = list.iter().map(sup).collect();
        // What comes would take too long.
        let Some(chains) = self.chains(&sups) else { return Vec::new() };
        let mut built = Vec::with_capacity(list.len());
        for (at, placed) in list.iter().enumerate() {
            built.push(match placed.is_removed {
                true => removed_type(placed),
                false => self.resolve_type(placed, sups[at], &chains[at]),
            });
        }
        for (at, chain) in chains.iter().enumerate() {
            for above in chain {
                built[*above].subtypes.push(TypeId(at as u16));
            }
        }
        assert_eq!(chains.len(), built.len(), "each type has its list of supertypes");
        check_replaced(self.types, &built, &mut self.report);
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
        let kind = AttributeType {
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
        };
        self.check_fit(placed, &syntax_oid, &kind);
        kind
    }

    /// Remarks rules that cannot compare values of the syntax. They stay in use: a file of an earlier version may have them, and entries the values. Of a syntax
    /// that is not known nothing can be said, and what was added while serving is judged when that is proposed.
    fn check_fit(
        &mut self,
        placed: &Placed<AttributeTypeDefinition>,
        syntax_oid: &str,
        kind: &AttributeType,
    ) {
        let is_judged = Syntax::find(syntax_oid).is_some() && *placed.file != *ADDED_FILE;
        if let Some(text) = kind.unfit().filter(|_| is_judged) {
            self.report.warn(placed, text);
        }
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
        for (at, placed) in list.iter().enumerate().filter(|(_, placed)| !placed.is_removed) {
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
        // Nothing is known any more of what was removed.
        let oid = placed.definition.oid.clone();
        let removed = ObjectClassDefinition { oid, ..ObjectClassDefinition::default() };
        let d = if placed.is_removed { &removed } else { &placed.definition };
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

/// An attribute type of which the number is left.
fn removed_type(placed: &Placed<AttributeTypeDefinition>) -> AttributeType {
    AttributeType {
        oid: placed.definition.oid.clone(),
        definition: AttributeTypeDefinition { oid: placed.definition.oid.clone(), ..Default::default() },
        sup: None,
        equality: None,
        ordering: None,
        substring: None,
        syntax: Syntax::OctetString,
        binary: BinaryTransfer::None,
        length_max: None,
        subtypes: Vec::new(),
        is_own: false,
        is_setting: false,
    }
}

/// Definitions in the order of their numbers, and whether each is none any more.
type Numbered<T> = Vec<(T, bool)>;

fn numbered<T, D>(built: Vec<T>, list: &[Placed<D>]) -> Numbered<T> {
    built.into_iter().zip(list.iter().map(|placed| placed.is_removed)).collect()
}

fn assemble(
    (types, classes): (Numbered<AttributeType>, Numbered<ObjectClass>),
    (content_rules, naming): (Vec<ContentRule>, NamingRules),
    syntaxes: BTreeMap<String, SyntaxDefinition>,
    warnings: Vec<Fault>,
) -> Result<Schema, BuildErrors> {
    let of_types = types.iter().enumerate().filter(|(_, (_, is_removed))| !is_removed);
    let type_names = NameTable::new(
        of_types.flat_map(|(at, (kind, _))| kind.all_names().map(move |name| (name, at as u16))),
    );
    let of_classes = classes.iter().enumerate().filter(|(_, (_, is_removed))| !is_removed);
    let class_names = NameTable::new(
        of_classes.flat_map(|(at, (class, _))| class.all_names().map(move |name| (name, at as u16))),
    );
    let well_known = WellKnown::find(&type_names, &class_names).map_err(|missing| {
        let message = format!("a file takes away names that the server needs: {}", missing.join(", "));
        BuildErrors(vec![Fault { file: "schema".into(), line: 0, message }])
    })?;
    let member_of = MEMBER_OF.map(|oid| {
        let id = type_names.find(oid.as_bytes())?;
        types[usize::from(id)].0.definition.no_user_modification.then_some(TypeId(id))
    });
    let group_of_urls = class_names.find(GROUP_OF_URLS.as_bytes()).map(ClassId);
    let traits = types.iter().map(|(kind, _)| CurrentTraits::new(Traits::of(kind))).collect();
    let names =
        || types[usize::from(well_known.user_password.0)].0.all_names().filter(|name| !name.is_empty());
    let password_initials = names().fold(0, |all, name| all | initial(name.as_bytes()[0]));
    let password_name_bytes_min = names().map(str::len).min().expect("it has an OID");
    Ok(Schema {
        traits,
        types: types.into_iter().map(|(kind, is_removed)| Current::new(kind, is_removed)).collect(),
        classes: classes.into_iter().map(|(class, is_removed)| Current::new(class, is_removed)).collect(),
        dit: DitRules::new(content_rules, naming),
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
