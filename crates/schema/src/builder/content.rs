//! DIT content rules while a schema is built (RFC 4512 section 4.1.6).

use super::resolve::Resolver;
use super::table::Placed;
use crate::class_set::ascending;
use crate::definition::{ClassKind, ContentRuleDefinition};
use crate::{AttributeType, ContentRule, ObjectClass};
use model::{ClassId, TypeId};

impl Resolver<'_> {
    /// Gives the names of content rules their meaning; says what contradicts itself.
    pub(super) fn resolve_content_rules(
        &mut self,
        list: &[Placed<ContentRuleDefinition>],
        types: &[AttributeType],
        classes: &[ObjectClass],
    ) -> Vec<ContentRule> {
        list.iter().filter_map(|placed| self.resolve_content_rule(placed, types, classes)).collect()
    }

    fn resolve_content_rule(
        &mut self,
        placed: &Placed<ContentRuleDefinition>,
        types: &[AttributeType],
        classes: &[ObjectClass],
    ) -> Option<ContentRule> {
        let d = &placed.definition;
        let id = self.find_class(placed, &d.oid)?;
        let class = &classes[usize::from(id.0)];
        if class.definition.kind != ClassKind::Structural {
            let message = format!("a content rule is for a structural class, and '{}' is none", class.name());
            self.report.fault(placed, message);
        }
        let listed: Vec<ClassId> =
            d.auxiliary.iter().filter_map(|word| self.find_class(placed, word)).collect();
        for class in listed.iter().map(|id| &classes[usize::from(id.0)]) {
            if class.definition.kind != ClassKind::Auxiliary {
                self.report
                    .fault(placed, format!("AUX is for auxiliary classes, and '{}' is none", class.name()));
            }
        }
        let rule = ContentRule {
            definition: d.clone(),
            class: id,
            auxiliary: ascending(listed.iter().flat_map(|id| &classes[usize::from(id.0)].superiors)),
            must: self.types_of(placed, &d.must),
            may: self.types_of(placed, &d.may),
            not: ascending(self.types_of(placed, &d.not).iter()),
        };
        // "The list of precluded attributes cannot include any attribute listed as mandatory in the rule, the structural object class, or any of
        // the allowed auxiliary object classes."
        let of_classes = listed.iter().chain([&id]).flat_map(|id| &classes[usize::from(id.0)].all_must);
        let required = ascending(rule.must.iter().chain(of_classes));
        // The list of types is empty where it has faults.
        for (id, kind) in rule.not.iter().filter_map(|id| Some((id, types.get(usize::from(id.0))?))) {
            if required.binary_search(id).is_ok() {
                self.report.fault(
                    placed,
                    format!("NOT has '{}', which the rule or its classes require", kind.name()),
                );
            } else if kind.definition.no_user_modification {
                self.report.fault(placed, format!("NOT has '{}', which the server maintains", kind.name()));
            }
        }
        Some(rule)
    }
}

impl ContentRule {
    /// Does it require or allow an attribute by itself?
    pub(crate) fn attributes(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.must.iter().chain(&self.may).copied()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Builder, DefinitionKind, Schema};

    fn rules(schema: &Schema) -> Vec<String> {
        let mut all = Vec::new();
        schema.write_definitions(DefinitionKind::ContentRules, |text| all.push(text.to_owned()));
        all
    }

    /// A file of OpenLDAP's `cn=schema,cn=config`.
    const LDIF: &str = "dn: cn={5}wines,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: {5}wines\n\
        olcObjectIdentifier: {0}Wines 1.3.6.1.4.1.99999.7\nolcObjectIdentifier: {1}WinesClass Wines:2\n\
        olcDitContentRules: {0}( WinesClass:1 NAME 'wineRule' AUX labeledURIObject MUST ye\n ar NOT description )\n\
        olcAttributeTypes: {0}( Wines:1.1 NAME 'year' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
        olcObjectClasses: {0}( WinesClass:1 NAME 'wine' SUP top STRUCTURAL MUST cn MAY ( year $ description ) )\n";

    #[test]
    fn a_file_of_openldap_has_them_with_numbers_and_macros() {
        let schema = Builder::new().standard().file("wines.ldif", LDIF).build().unwrap();
        assert!(schema.warnings().is_empty(), "{:?}", schema.warnings());
        let shown =
            "( 1.3.6.1.4.1.99999.7.2.1 NAME 'wineRule' AUX labeledURIObject MUST year NOT description )";
        assert_eq!(rules(&schema), [shown]);
        // What was recorded has them too, under a word that programs before them do not read.
        let mut recorded = String::new();
        schema.write_rules(&mut recorded);
        assert!(recorded.ends_with(&format!("contentrule {shown}\n")));
        let again = Builder::recorded(&recorded).build().unwrap();
        assert_eq!(rules(&again), [shown]);
        // What is shown can be read, and a later file replaces them.
        let again =
            Builder::new().standard().file("a", LDIF).file("b", &format!("ditContentRules: {shown}\n"));
        assert_eq!(rules(&again.build().unwrap()), [shown]);
    }

    #[test]
    fn what_contradicts_itself_is_a_fault() {
        let faults = |text: &str| {
            let text = format!("ditcontentrule {text}\n");
            let built = Builder::new().standard().file("test", &text).build();
            built.expect_err("it has a fault").0.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        for (text, fault) in [
            ("( 1.2.3 )", "object class '1.2.3' is not defined"),
            ("( 2.5.6.0 )", "for a structural class, and 'top' is none"),
            ("( 1.3.6.1.4.1.250.3.15 )", "for a structural class, and 'labeledURIObject' is none"),
            ("( 2.5.6.6 AUX device )", "AUX is for auxiliary classes, and 'device' is none"),
            ("( 2.5.6.6 AUX dcObjct )", "did you mean 'dcObject'?"),
            ("( 2.5.6.6 MAY nothing )", "attribute type 'nothing' is not defined"),
            ("( 2.5.6.6 MUST mail NOT mail )", "NOT has 'mail', which the rule or its classes require"),
            ("( 2.5.6.6 NOT surname )", "NOT has 'sn', which the rule or its classes require"),
            ("( 2.5.6.6 AUX dcObject NOT dc )", "NOT has 'dc', which the rule or its classes require"),
            ("( 2.5.6.6 NOT entryUUID )", "NOT has 'entryUUID', which the server maintains"),
            ("( 2.5.6.6 SUP top )", "SUP is not for content rules"),
            ("( 2.5.6.6 )\nditcontentrule ( 2.5.6.6 )", "2.5.6.6 is defined twice, first at line 1"),
        ] {
            let found = faults(text);
            assert!(found.len() == 1 && found[0].contains(fault), "{text}: {found:?}");
        }
    }
}
