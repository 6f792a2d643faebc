//! Is a definition there already, as far as entries and searches can tell?
//!
//! Files of other servers define standard types and classes with other descriptions and lengths than this server, or write out what is inherited
//! here. None of that makes a difference to an entry.

use super::changes::Element;
use super::judge::{self, Judged, Read, are_among};
use crate::builtin;
use crate::definition::{AttributeTypeDefinition, ObjectClassDefinition};
use crate::{Rule, RuleKind, Schema, Syntax};
use model::{ClassId, TypeId};
use std::collections::BTreeSet;

/// What is there of a definition that is to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Already {
    /// One that does all that the new one would do.
    Equivalent,
    /// One of the standard schema, with this name, that differs.
    Standard(String),
}

impl Schema {
    /// Is a definition of this OID, or number, there that need not be added? An equivalent one may have more names, and a class may allow more
    /// attributes. Descriptions, extensions, lengths and OBSOLETE are not compared. A rule has to be the same.
    pub fn has_already(&self, element: Element, value: &[u8]) -> Option<Already> {
        let Ok(Judged { oid, definition, .. }) = judge::read(element, value) else { return None };
        let (name, there) = self.there(element, &oid)?;
        let is_equivalent = match &definition {
            Read::Type(given) => self.is_type_equivalent(self.find_type(oid.as_bytes())?, given),
            Read::Class(given) => self.is_class_equivalent(self.find_class(oid.as_bytes())?, given),
            Read::Rule(given) => there == *given,
        };
        match is_equivalent {
            true => Some(Already::Equivalent),
            // It cannot be changed while it is in use, so nobody can mean that.
            false => {
                let is_definition = matches!(element, Element::AttributeType | Element::ObjectClass);
                (is_definition && builtin::is_of_standard(&oid)).then_some(Already::Standard(name))
            }
        }
    }

    fn is_type_equivalent(&self, id: TypeId, given: &AttributeTypeDefinition) -> bool {
        let there = self.attribute_type(id);
        let d = &there.definition;
        let sup = given.sup.as_ref().and_then(|sup| self.find_type(sup.as_bytes()));
        let above = sup.map(|sup| self.attribute_type(sup));
        let rule = |text: &Option<String>, kind, inherited: Option<Rule>| match text {
            Some(text) => Rule::find(text.as_bytes()).filter(|rule| rule.kind() == kind),
            None => inherited,
        };
        let equality = rule(&given.equality, RuleKind::Equality, above.and_then(|above| above.equality));
        let ordering = rule(&given.ordering, RuleKind::Ordering, above.and_then(|above| above.ordering));
        let substring = rule(&given.substring, RuleKind::Substring, above.and_then(|above| above.substring));
        let syntax = match &given.syntax {
            Some(oid) => Syntax::find(oid),
            None => above.map(|above| above.syntax),
        };
        let flags =
            |d: &AttributeTypeDefinition| (d.single_value, d.collective, d.no_user_modification, d.usage);
        are_among(&given.names, &d.names)
            && sup == there.sup
            && given.sup.is_some() == d.sup.is_some()
            && (equality, ordering, substring, syntax)
                == (there.equality, there.ordering, there.substring, Some(there.syntax))
            && flags(given) == flags(d)
    }

    fn is_class_equivalent(&self, id: ClassId, given: &ObjectClassDefinition) -> bool {
        let there = self.class(id);
        let types = |names: &[String]| -> Option<BTreeSet<TypeId>> {
            names.iter().map(|name| self.find_type(name.as_bytes())).collect()
        };
        let sup: Option<BTreeSet<ClassId>> =
            given.sup.iter().map(|name| self.find_class(name.as_bytes())).collect();
        let (Some(must), Some(may), Some(sup)) = (types(&given.must), types(&given.may), sup) else {
            return false;
        };
        let allowed = there.all_attributes().collect::<BTreeSet<_>>();
        are_among(&given.names, &there.definition.names)
            && given.kind == there.definition.kind
            && sup == there.sup.iter().copied().collect()
            && must == there.must.iter().copied().collect()
            && allowed.is_superset(&may)
    }
}
