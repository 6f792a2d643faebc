//! By what entries may be named, and where they may be: name forms and DIT structure rules (RFC 4512 section 4.1.7).
//!
//! ```text
//! structural class + attributes of the RDN -> name forms of the class that fit -> rules of these forms that the superior's rule allows
//! ```
//! The rule with the lowest number governs the entry where several could. Who knows the superior asks for one entry at a time.

use crate::element::StructureRule;
use crate::{Schema, Violation};
use model::{ClassId, TypeId};

/// What is above an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Superior {
    /// Nothing: the entry is the root of a naming context.
    None,
    /// An entry that this structure rule governs.
    GovernedBy(u32),
    /// An entry that no structure rule governs.
    Ungoverned,
}

impl Schema {
    /// Has it name forms or structure rules that are in force?
    #[inline]
    pub fn judges_names(&self) -> bool {
        self.dit.has_forms()
    }

    /// Has it structure rules that are in force?
    #[inline]
    pub fn has_structure_rules(&self) -> bool {
        self.dit.has_rules()
    }

    /// May an entry of a structural class be named by these attributes? Without a form of its class it may.
    ///
    /// # Errors
    /// That no name form of the class fits.
    pub fn check_name(&self, class: ClassId, naming: &[TypeId]) -> Result<(), Violation> {
        let rules = self.dit.now();
        let forms = || rules.naming.forms.iter().filter(|form| form.is_of(class));
        match forms().next().is_none() || forms().any(|form| form.fits(naming)) {
            true => Ok(()),
            false => Err(Violation::NoNameForm {
                class: self.class(class).name().to_owned(),
                attributes: self.type_names_of(naming),
            }),
        }
    }

    /// The number of the structure rule that governs an entry, by its structural class, what it is named by, and what is above it. A rule without
    /// superior rules is about the root of a naming context: "the DIT structure rule applies to an autonomous administrative point".
    pub fn governing_rule(&self, class: ClassId, naming: &[TypeId], superior: Superior) -> Option<u32> {
        let rules = self.dit.now();
        let fits = |rule: &&StructureRule| {
            let form = &rules.naming.forms[rule.form];
            let is_allowed = match superior {
                Superior::None => rule.definition.superiors.is_empty(),
                Superior::GovernedBy(id) => rule.definition.superiors.contains(&id),
                Superior::Ungoverned => false,
            };
            is_allowed && !rule.definition.obsolete && form.is_of(class) && form.fits(naming)
        };
        rules.naming.rules.iter().find(fits).map(|rule| rule.definition.id)
    }

    /// Are entries of this structural class outside of structure rules? Subentries and references to other servers are: they are no part of
    /// what the rules describe.
    pub fn is_outside_structure(&self, class: ClassId) -> bool {
        let known = &self.well_known;
        [known.subentry, known.referral].into_iter().any(|outside| self.is_subclass(class, outside))
    }

    /// Why an entry cannot be where no rule allows it.
    pub fn no_structure_rule(&self, class: ClassId, naming: &[TypeId]) -> Violation {
        Violation::NoStructureRule {
            class: self.class(class).name().to_owned(),
            attributes: self.type_names_of(naming),
        }
    }

    fn type_names_of(&self, types: &[TypeId]) -> String {
        let quoted: Vec<String> =
            types.iter().map(|id| format!("'{}'", self.attribute_type(*id).name())).collect();
        quoted.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    const RULES: &str = "nameform ( 1.2.3.4.1 NAME 'orgForm' OC organization MUST o )\n\
        nameform ( 1.2.3.4.2 NAME 'unitForm' OC organizationalUnit MUST ou MAY ( l $ st ) )\n\
        nameform ( 1.2.3.4.3 NAME 'otherUnitForm' OC organizationalUnit MUST description )\n\
        nameform ( 1.2.3.4.4 NAME 'oldForm' OBSOLETE OC device MUST cn )\n\
        ditstructurerule ( 9 FORM unitForm SUP ( 1 9 3 ) )\nditstructurerule ( 1 FORM orgForm )\n\
        ditstructurerule ( 3 FORM unitForm SUP 1 )\nditstructurerule ( 4 OBSOLETE FORM otherUnitForm SUP 1 )\n\
        ditstructurerule ( 5 FORM oldForm )\n";

    fn schema() -> Schema {
        Builder::new().standard().file("test", RULES).build().unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_name_fits_one_of_the_forms_of_its_class() {
        let schema = schema();
        assert!(schema.judges_names() && schema.has_structure_rules());
        let check = |class: &str, names: &[&str]| {
            let naming: Vec<TypeId> =
                names.iter().map(|name| schema.find_type(name.as_bytes()).unwrap()).collect();
            schema
                .check_name(schema.find_class(class.as_bytes()).unwrap(), &naming)
                .map_err(|why| why.to_string())
        };
        for (class, names) in [
            ("organization", &["o"][..]),
            ("organizationalUnit", &["l", "ou"]),
            ("organizationalUnit", &["st", "ou", "l"]),
            ("organizationalUnit", &["description"]),
            // Without a form, or with an obsolete one, any attribute may name an entry.
            ("person", &["sn"]),
            ("device", &["l"]),
        ] {
            assert_eq!(check(class, names), Ok(()), "{class} {names:?}");
        }
        for (class, names) in [
            ("organization", &["ou"][..]),
            ("organization", &["o", "l"]),
            ("organizationalUnit", &["l"]),
            ("organizationalUnit", &["description", "ou"]),
        ] {
            assert!(check(class, names).unwrap_err().contains("no name form"), "{class} {names:?}");
        }
        let none = Builder::new().standard().build().unwrap();
        assert!(!none.judges_names() && !none.has_structure_rules());
    }

    #[test]
    fn the_lowest_rule_that_fits_governs() {
        let schema = schema();
        let governed = |class: &str, name: &str, superior| {
            let naming = [schema.find_type(name.as_bytes()).unwrap()];
            schema.governing_rule(schema.find_class(class.as_bytes()).unwrap(), &naming, superior)
        };
        use Superior::{GovernedBy, Ungoverned};
        assert_eq!(governed("organization", "o", Superior::None), Some(1));
        assert_eq!(governed("organization", "o", GovernedBy(1)), None);
        assert_eq!(governed("organizationalUnit", "ou", GovernedBy(1)), Some(3));
        assert_eq!(governed("organizationalUnit", "ou", GovernedBy(3)), Some(9));
        assert_eq!(governed("organizationalUnit", "ou", GovernedBy(9)), Some(9));
        assert_eq!(governed("organizationalUnit", "l", GovernedBy(1)), None);
        assert_eq!(governed("organizationalUnit", "description", GovernedBy(1)), None, "obsolete");
        assert_eq!(governed("organizationalUnit", "ou", Superior::None), None);
        assert_eq!(governed("organizationalUnit", "ou", Ungoverned), None);
        assert_eq!(governed("device", "cn", Superior::None), None, "its form is obsolete");
    }
}
