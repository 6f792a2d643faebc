//! What entries have that a change of the schema would make wrong. Who has the entries asks once for all of the same make, and for values.

use super::changes::Effects;
use crate::element::Traits;
use crate::{Schema, Syntax};
use model::{ClassId, TypeId};
use std::collections::BTreeSet;

/// What of an entry a change does not go with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It has an attribute of a type that is removed.
    Attribute(TypeId),
    /// It is of a class that is removed.
    Class(ClassId),
    /// A value of an attribute names a type or class that is removed.
    Named(TypeId),
    /// It has several values of a type that gets one.
    Several(TypeId),
    /// It lacks an attribute that a class requires from now on.
    Lacks(ClassId, TypeId),
    /// It has an attribute that no class of it allows any more.
    Barred(ClassId, TypeId),
}

impl Effects {
    /// What of entries with these classes and attributes does not go with it, as far as no value has to be looked at.
    pub fn of_shape<'v>(
        &self,
        schema: &Schema,
        classes: impl Iterator<Item = &'v [u8]>,
        attributes: &[TypeId],
    ) -> Option<Use> {
        let named: Vec<ClassId> = classes.filter_map(|value| schema.find_class(value)).collect();
        let of_class =
            named.iter().find(|class| self.classes.contains(class)).map(|class| Use::Class(*class));
        let of_type = || attributes.iter().find(|id| self.types.contains(id)).map(|id| Use::Attribute(*id));
        of_class.or_else(of_type).or_else(|| self.of_classes(schema, &named, attributes))
    }

    /// What classes that are narrowed make wrong.
    fn of_classes(&self, schema: &Schema, named: &[ClassId], attributes: &[TypeId]) -> Option<Use> {
        let narrowed = named.iter().filter_map(|id| Some((*id, self.narrowed.get(id)?)));
        let object_class = schema.well_known().object_class;
        for (id, after) in narrowed.clone() {
            let before = &schema.class(id).all_must;
            let new = after.all_must.iter().filter(|must| !before.contains(must) && **must != object_class);
            if let Some(lacking) = { new }.find(|must| !attributes.contains(must)) {
                return Some(Use::Lacks(id, *lacking));
            }
        }
        let all: BTreeSet<ClassId> =
            named.iter().flat_map(|id| &schema.class(*id).superiors).copied().collect();
        if all.contains(&schema.well_known().extensible_object) {
            return None;
        }
        let rules = schema.dit.now();
        let by_rule = |attribute: TypeId| {
            let mut rules = named.iter().filter_map(|class| rules.content_rule(*class));
            rules.any(|rule| rule.attributes().any(|allowed| allowed == attribute))
        };
        for (id, _) in narrowed {
            let was_allowed =
                |attribute: &&TypeId| schema.class(id).all_attributes().any(|a| a == **attribute);
            let is_allowed = |attribute: TypeId| {
                let now = |class: &ClassId| self.narrowed.get(class).unwrap_or_else(|| schema.class(*class));
                all.iter().any(|class| now(class).must.iter().chain(&now(class).may).any(|a| *a == attribute))
            };
            let barred = attributes.iter().filter(was_allowed).find(|attribute| {
                let is_operational = schema.traits_of(**attribute).has(Traits::OPERATIONAL);
                !is_operational && !is_allowed(**attribute) && !by_rule(**attribute)
            });
            if let Some(barred) = barred {
                return Some(Use::Barred(id, *barred));
            }
        }
        None
    }

    /// Does a change take names away that values of a type may have?
    pub fn may_be_named(&self, schema: &Schema, attribute: TypeId) -> bool {
        let syntax = schema.attribute_type(attribute).syntax;
        let of_both = matches!(syntax, Syntax::Oid | Syntax::SubtreeSpecification)
            || attribute == schema.well_known().access_rule;
        let are_some = !self.type_names.is_empty() || (of_both && !self.class_names.is_empty());
        are_some && (of_both || is_of_names(syntax))
    }

    /// Does a value of such a type have a name or an OID that is taken away, where one of a type or class can stand? Its normal form may have
    /// the number of it, and it is no value any more without.
    pub fn are_named_in(&self, schema: &Schema, attribute: TypeId, value: &[u8]) -> bool {
        let is_dn = is_of_names(schema.attribute_type(attribute).syntax);
        let classes = self.class_names.iter().filter(|_| !is_dn);
        self.type_names.iter().chain(classes).any(|name| has_word(value, name.as_bytes(), is_dn))
    }

    /// What of an entry a change does not go with, in words that follow "an entry".
    pub fn describe(&self, schema: &Schema, what: Use) -> String {
        let kind = |id: TypeId| schema.attribute_type(id).name();
        let class = |id: ClassId| schema.class(id).name();
        match what {
            Use::Attribute(id) => format!("has the attribute type '{}'", kind(id)),
            Use::Class(id) => format!("is of the object class '{}'", class(id)),
            Use::Named(id) => format!("has a value of '{}' that names it", kind(id)),
            Use::Several(id) => format!("has several values of '{}'", kind(id)),
            Use::Lacks(of, id) => format!("of the object class '{}' lacks '{}'", class(of), kind(id)),
            Use::Barred(of, id) => {
                format!("of the object class '{}' has '{}', which it would not allow", class(of), kind(id))
            }
        }
    }
}

/// Are its values names of entries, in which types have their numbers?
fn is_of_names(syntax: Syntax) -> bool {
    matches!(syntax, Syntax::Dn | Syntax::NameAndOptionalUid)
}

/// Is a word in a text, in any case? `is_type`: only in front of an equals sign.
fn has_word(text: &[u8], word: &[u8], is_type: bool) -> bool {
    let is_inside =
        |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    text.windows(word.len().max(1)).enumerate().any(|(at, window)| {
        if !window.eq_ignore_ascii_case(word) {
            return false;
        }
        let (before, after) = (at.checked_sub(1).and_then(|at| text.get(at)), &text[at + word.len()..]);
        // `oid.2.5.4.3=x`, as RFC 2253 had it, is more than a word.
        let is_oid = word[0].is_ascii_digit() && text[..at].to_ascii_lowercase().ends_with(b"oid.");
        let is_whole = (!is_inside(before) || is_oid) && !is_inside(after.first());
        let equals = || after.iter().find(|byte| **byte != b' ') == Some(&b'=');
        is_whole && (!is_type || equals())
    })
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn a_name_is_a_word_where_a_type_can_stand() {
        for (text, is_type, is_there) in [
            ("taste=x,dc=y", true, true),
            ("cn=a+Taste =x,dc=y", true, true),
            ("cn=taste,dc=y", true, false),
            ("cn=taste,dc=y", false, true),
            ("aftertaste=x", true, false),
            ("tastes=x", true, false),
            ("taste-x=x", true, false),
            ("", false, false),
            ("tast", false, false),
        ] {
            assert_eq!(has_word(text.as_bytes(), b"taste", is_type), is_there, "{text}");
        }
        assert!(has_word(b"1.2.3=x", b"1.2.3", true) && has_word(b"OID.1.2.3=x", b"1.2.3", true));
        assert!(!has_word(b"1.2.3.4=x", b"1.2.3", true) && !has_word(b"1.1.2.3=x", b"1.2.3", true));
    }
}
