//! Name forms and DIT structure rules while a schema is built (RFC 4512 section 4.1.7).

use super::resolve::Resolver;
use super::table::{Placed, Table};
use crate::ObjectClass;
use crate::definition::{ClassKind, NameFormDefinition, StructureRuleDefinition};
use crate::element::{NameForm, NamingRules, StructureRule};

impl Resolver<'_> {
    /// Gives the names of forms and structure rules their meaning.
    pub(super) fn resolve_naming(
        &mut self,
        forms: &Table<NameFormDefinition>,
        rules: &[Placed<StructureRuleDefinition>],
        classes: &[ObjectClass],
    ) -> NamingRules {
        // With a fault in one of them the numbers of the others do not fit, but then there is no schema.
        let built = forms.list.iter().filter_map(|placed| self.resolve_form(placed, classes)).collect();
        let known: Vec<u32> = rules.iter().map(|placed| placed.definition.id).collect();
        let rules = rules.iter().filter_map(|placed| self.resolve_rule(placed, forms, &known)).collect();
        NamingRules::new(built, rules)
    }

    fn resolve_form(
        &mut self,
        placed: &Placed<NameFormDefinition>,
        classes: &[ObjectClass],
    ) -> Option<NameForm> {
        let d = &placed.definition;
        let id = self.find_class(placed, &d.class)?;
        let class = &classes[usize::from(id.0)];
        if class.definition.kind != ClassKind::Structural {
            let message = format!("a name form is for a structural class, and '{}' is none", class.name());
            self.report.fault(placed, message);
        }
        let (must, may) = (self.types_of(placed, &d.must), self.types_of(placed, &d.may));
        // "All attribute types in the required ("MUST") and allowed ("MAY") lists shall be different."
        let all = || must.iter().chain(&may);
        if let Some(at) =
            all().enumerate().find_map(|(at, id)| all().take(at).any(|other| other == id).then_some(at))
        {
            let name = d.must.iter().chain(&d.may).nth(at).map(String::as_str).unwrap_or_default();
            self.report.fault(placed, format!("a name form lists an attribute once, and '{name}' twice"));
        }
        Some(NameForm { definition: d.clone(), class: id, must, may })
    }

    fn resolve_rule(
        &mut self,
        placed: &Placed<StructureRuleDefinition>,
        forms: &Table<NameFormDefinition>,
        known: &[u32],
    ) -> Option<StructureRule> {
        let d = &placed.definition;
        for id in d.superiors.iter().filter(|id| !known.contains(id)) {
            self.report.fault(placed, format!("structure rule {id} is not defined"));
        }
        let form = forms.find(&d.form);
        if form.is_none() {
            self.report.undefined(placed, "name form", &d.form, forms.names(|d| &d.names));
        }
        Some(StructureRule { definition: d.clone(), form: form? })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Builder, DefinitionKind, Schema};

    const FORM: &str = "nameform ( 1.2.3.4.1 NAME 'orgForm' OC organization MUST o MAY description )\n";

    fn shown(schema: &Schema, kind: DefinitionKind) -> Vec<String> {
        let mut all = Vec::new();
        schema.write_definitions(kind, |text| all.push(text.to_owned()));
        all
    }

    #[test]
    fn they_are_shown_and_recorded_with_superiors_first() {
        let text = format!(
            "ditstructurerule ( 2 NAME 'inner' FORM orgForm SUP ( 7 $ 2 ) )\n{FORM}ditstructurerule ( 7 FORM 1.2.3.4.1 )\n"
        );
        let schema = Builder::new().standard().file("test", &text).build().unwrap();
        assert!(schema.warnings().is_empty(), "{:?}", schema.warnings());
        let rules = ["( 7 FORM 1.2.3.4.1 )", "( 2 NAME 'inner' FORM orgForm SUP ( 7 2 ) )"];
        let form = "( 1.2.3.4.1 NAME 'orgForm' OC organization MUST o MAY description )";
        let mut recorded = String::new();
        schema.write_rules(&mut recorded);
        // Programs before these read neither word.
        assert!(recorded.contains("\nnamingform (") && recorded.contains("\nstructurerule ("));
        for schema in [&schema, &Builder::recorded(&recorded).build().unwrap()] {
            assert_eq!(shown(schema, DefinitionKind::StructureRules), rules);
            assert_eq!(shown(schema, DefinitionKind::NameForms), [form]);
        }
    }

    #[test]
    fn what_cannot_be_is_a_fault() {
        let faults = |text: &str| {
            let built = Builder::new().standard().file("test", &format!("{FORM}{text}\n")).build();
            built.expect_err("it has a fault").0.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        for (text, fault) in [
            ("nameform ( 1.2.3.4.2 OC nothing MUST o )", "object class 'nothing' is not defined"),
            ("nameform ( 1.2.3.4.2 OC top MUST o )", "for a structural class, and 'top' is none"),
            ("nameform ( 1.2.3.4.2 OC person MUST nothing )", "attribute type 'nothing' is not defined"),
            (
                "nameform ( 1.2.3.4.2 OC person MUST sn MAY ( cn $ surname ) )",
                "attribute once, and 'surname' twice",
            ),
            ("nameform ( 1.2.3.4.2 OC person )", "needs MUST"),
            ("nameform ( 1.2.3.4.2 MUST cn )", "needs OC"),
            ("nameform ( 1.2.3.4.1 OC person MUST cn )", "is defined twice"),
            ("nameform ( 1.2.3.4.2 NAME 'ORGform' OC person MUST cn )", "the name 'ORGform' is taken"),
            ("nameform ( 1.2.3.4.2 OC person MUST cn AUX dcObject )", "AUX is not for name forms"),
            (
                "ditstructurerule ( 1 FORM orgFrm )",
                "name form 'orgFrm' is not defined; did you mean 'orgForm'?",
            ),
            ("ditstructurerule ( 1 FORM orgForm SUP 2 )", "structure rule 2 is not defined"),
            ("ditstructurerule ( 1 SUP 1 )", "needs FORM"),
            ("ditstructurerule ( x FORM orgForm )", "expected the number of a rule"),
            ("ditstructurerule ( 99999999999 FORM orgForm )", "is too large"),
            (
                "ditstructurerule ( 1 FORM orgForm )\nditstructurerule ( 1 FORM orgForm )",
                "1 is defined twice",
            ),
        ] {
            let found = faults(text);
            assert!(found.len() == 1 && found[0].contains(fault), "{text}: {found:?}");
        }
    }
}
