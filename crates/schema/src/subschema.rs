//! The content of the subschema subentry (RFC 4512 section 4.2): definitions in their canonical text.

use crate::definition::{ContentRuleDefinition, Extensions, SyntaxDefinition};
use crate::element::NamingRules;
use crate::published::{self, superiors_first};
use crate::source::{RECORDED_CONTENT_RULE, RECORDED_NAME_FORM, RECORDED_STRUCTURE_RULE};
use crate::{AttributeType, ContentRule, Rule, RuleKind, Schema, Syntax};
use model::{ClassId, TypeId};
use std::fmt::Write;

/// Which attribute of the subschema subentry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    /// `attributeTypes`
    AttributeTypes,
    /// `objectClasses`
    ObjectClasses,
    /// `dITContentRules`
    ContentRules,
    /// `nameForms`
    NameForms,
    /// `dITStructureRules`
    StructureRules,
    /// `ldapSyntaxes`
    LdapSyntaxes,
    /// `matchingRules`
    MatchingRules,
    /// `matchingRuleUse`
    MatchingRuleUse,
}

impl Schema {
    /// Submits the values of one attribute of the subschema subentry, in an order that strict readers can read: what is
    /// derived from another comes after it.
    pub fn write_definitions(&self, kind: DefinitionKind, mut each: impl FnMut(&str)) {
        match kind {
            DefinitionKind::AttributeTypes => {
                let kind = |at: usize| self.attribute_type(TypeId(at as u16));
                let above = |at: usize| kind(at).sup.map(|sup| usize::from(sup.0));
                let order = superiors_first(self.type_count(), above).into_iter();
                for kind in order.filter(|at| !self.is_removed_type(TypeId(*at as u16))).map(kind) {
                    each(&published::attribute_type(&kind.oid, &kind.definition).to_string());
                }
            }
            DefinitionKind::ObjectClasses => {
                let class = |at: usize| self.class(ClassId(at as u16));
                let above = |at: usize| class(at).sup.iter().map(|sup| usize::from(sup.0));
                let order = superiors_first(self.class_count(), above).into_iter();
                for class in order.filter(|at| !self.is_removed_class(ClassId(*at as u16))).map(class) {
                    each(&published::object_class(self, class).to_string());
                }
            }
            DefinitionKind::ContentRules => {
                // By the OID of their class, as that is shown.
                let oid = |rule: &ContentRule| self.class(rule.class).oid.clone();
                let shown = |rule| ContentRuleDefinition { oid: oid(rule), ..rule.definition.clone() };
                self.dit.now().content.iter().for_each(|rule| each(&shown(rule).to_string()));
            }
            DefinitionKind::StructureRules => {
                let rules = &self.dit.now().naming.rules;
                let find = |id: &u32| rules.binary_search_by_key(id, |rule| rule.definition.id).ok();
                let above = |at: usize| rules[at].definition.superiors.iter().filter_map(find);
                for at in superiors_first(rules.len(), above) {
                    each(&rules[at].definition.to_string());
                }
            }
            _ => self.write_as_defined(kind, each),
        }
    }

    /// Submits the definitions of one kind as the files have them, in their order: what tells one schema from another.
    /// Those of [`crate::Builder::settings`] are in no file.
    pub fn write_as_defined(&self, kind: DefinitionKind, mut each: impl FnMut(&str)) {
        match kind {
            DefinitionKind::AttributeTypes => {
                let types = self.attribute_types().filter(|(_, kind)| !kind.is_setting);
                types.for_each(|(_, kind)| each(&kind.definition.to_string()));
            }
            DefinitionKind::ObjectClasses => {
                self.classes().for_each(|(_, c)| each(&c.definition.to_string()));
            }
            DefinitionKind::ContentRules => {
                self.dit.now().content.iter().for_each(|rule| each(&rule.definition.to_string()));
            }
            DefinitionKind::NameForms => {
                self.dit.now().naming.forms.iter().for_each(|form| each(&form.definition.to_string()));
            }
            DefinitionKind::StructureRules => {
                self.dit.now().naming.rules.iter().for_each(|rule| each(&rule.definition.to_string()));
            }
            DefinitionKind::LdapSyntaxes => {
                Syntax::ALL.iter().for_each(|s| each(&builtin_syntax(*s).to_string()));
                self.syntaxes.iter().for_each(|s| each(&s.to_string()));
            }
            DefinitionKind::MatchingRules => {
                Rule::ALL.iter().for_each(|r| each(&rule_definition(r)));
            }
            DefinitionKind::MatchingRuleUse => {
                Rule::ALL.iter().filter_map(|r| self.rule_use(*r)).for_each(|text| each(&text));
            }
        }
    }

    /// Appends what decides what becomes of a change, as a schema file that [`crate::Builder::recorded`] reads: all definitions
    /// but those of the server's own entries. What is built into the program stands there as remarks.
    pub fn write_rules(&self, out: &mut String) {
        let mut line = |keyword: &str, definition: String| {
            let _ = writeln!(out, "{keyword} {definition}");
        };
        Rule::ALL.iter().for_each(|rule| line("# matchingrule", rule_definition(rule)));
        Syntax::ALL.iter().for_each(|syntax| line("# ldapsyntax", builtin_syntax(*syntax).to_string()));
        self.syntaxes.iter().for_each(|syntax| line("ldapsyntax", syntax.to_string()));
        // What was removed keeps its number.
        for id in (0..self.type_count() as u16).map(TypeId) {
            let kind = self.attribute_type(id);
            match self.is_removed_type(id) {
                true => line("retired-attributetype", kind.definition.oid.clone()),
                false if kind.is_own || kind.is_setting => {}
                false => line("attributetype", kind.definition.to_string()),
            }
        }
        for id in (0..self.class_count() as u16).map(ClassId) {
            let class = self.class(id);
            match self.is_removed_class(id) {
                true => line("retired-objectclass", class.definition.oid.clone()),
                false if class.is_own => {}
                false => line("objectclass", class.definition.to_string()),
            }
        }
        let dit = self.dit.now();
        dit.content.iter().for_each(|rule| line(RECORDED_CONTENT_RULE, rule.definition.to_string()));
        let NamingRules { forms, rules, .. } = &dit.naming;
        forms.iter().for_each(|form| line(RECORDED_NAME_FORM, form.definition.to_string()));
        rules.iter().for_each(|rule| line(RECORDED_STRUCTURE_RULE, rule.definition.to_string()));
    }

    /// The attributes that [`crate::Builder::settings`] made, and whether each may have several values.
    pub fn settings(&self) -> impl Iterator<Item = (&str, bool)> {
        let types = (0..self.types.len() as u16).map(|at| self.attribute_type(TypeId(at)));
        types.filter(|kind| kind.is_setting).map(|kind| (kind.name(), !kind.definition.single_value))
    }

    /// Does the rule suit the values of this attribute, so that an extensible match may apply it? Rules for Directory
    /// Strings are also for the syntaxes of their alternatives, that for octet strings is for JPEG too (RFC 4517
    /// sections 4.2.4, 4.2.11, 4.2.27).
    pub fn applies_to(&self, rule: Rule, kind: &AttributeType) -> bool {
        let ends = [kind.equality, kind.ordering, kind.substring];
        ends.contains(&Some(rule))
            || match rule {
                Rule::BitAnd | Rule::BitOr => kind.syntax == Syntax::Integer,
                Rule::Word | Rule::Keyword => kind.syntax == Syntax::DirectoryString,
                Rule::IntegerFirstComponent
                | Rule::ObjectIdentifierFirstComponent
                | Rule::DirectoryStringFirstComponent => false,
                _ => {
                    let syntaxes = [kind.syntax.oid(), general(kind.syntax).oid()];
                    rule.kind() == RuleKind::Equality && syntaxes.contains(&rule.assertion_syntax())
                }
            }
    }

    /// A MatchingRuleUseDescription; `None` if the rule suits no attribute.
    fn rule_use(&self, rule: Rule) -> Option<String> {
        let suited: Vec<&str> =
            self.attribute_types().filter(|(_, t)| self.applies_to(rule, t)).map(|(_, t)| t.name()).collect();
        let list = match &suited[..] {
            [] => return None,
            [one] => (*one).to_owned(),
            many => format!("( {} )", many.join(" $ ")),
        };
        Some(format!("( {} NAME '{}' APPLIES {list} )", rule.oid(), rule.name()))
    }
}

/// The syntax whose matching rules do for the values of another.
pub(crate) fn general(syntax: Syntax) -> Syntax {
    match syntax {
        Syntax::PrintableString | Syntax::CountryString | Syntax::TelephoneNumber => Syntax::DirectoryString,
        Syntax::Jpeg => Syntax::OctetString,
        other => other,
    }
}

fn rule_definition(rule: &Rule) -> String {
    format!("( {} NAME '{}' SYNTAX {} )", rule.oid(), rule.name(), rule.assertion_syntax())
}

fn builtin_syntax(syntax: Syntax) -> SyntaxDefinition {
    let extensions: Extensions = match syntax.requires_binary() {
        true => vec![("X-BINARY-TRANSFER-REQUIRED".to_owned(), vec!["TRUE".to_owned()])],
        false => Vec::new(),
    };
    SyntaxDefinition { oid: syntax.oid().to_owned(), description: Some(syntax.name().to_owned()), extensions }
}
