//! Puts a planned change in force.

use super::changes::{Effects, Plan};
use crate::current::{Current, CurrentTraits};
use crate::element::{NameForm, NamingRules};
use crate::{AttributeType, ContentRule, ObjectClass, Schema};
use model::{ClassId, TypeId};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Schema {
    /// Makes a change. What was in progress while this runs may know of it or not.
    ///
    /// # Panics
    /// If another change was made since it was planned: there is one at a time.
    pub fn put(&self, plan: Plan) {
        let Plan { larger, text, behind, effects, .. } = plan;
        if text.is_empty() {
            return;
        }
        // One change after the other: each is judged by what those before it came to.
        let mut before = self.added.text();
        assert!(before.len() == behind, "a change is made of the schema for which it was planned");
        let ids = Ids::of(self, &larger, &effects);
        for id in &effects.types {
            let kind = self.attribute_type(*id);
            kind.all_names().for_each(|name| self.type_names.forget(name.as_bytes(), id.0));
            self.current_type(*id).remove();
        }
        for id in &effects.classes {
            let class = self.class(*id);
            class.all_names().for_each(|name| self.class_names.forget(name.as_bytes(), id.0));
            self.current_class(*id).remove();
        }
        self.put_types(&larger, &ids);
        self.put_classes(&larger, &ids);
        let rules = larger.dit.now();
        let content = rules.content.iter().map(|rule| ids.content_rule(rule)).collect();
        let forms = rules.naming.forms.iter().map(|form| ids.name_form(form)).collect();
        self.dit.set(content, NamingRules::new(forms, rules.naming.rules.clone()));
        self.added.index.store(Some(Arc::new(self.index())));
        self.class_sets.forget();
        before.push_str(&text);
        self.added.generation.fetch_add(1, Ordering::AcqRel);
    }

    fn put_types(&self, larger: &Schema, ids: &Ids) {
        let count = self.type_count();
        for (at, kind) in larger.attribute_types() {
            let (id, traits) = (ids.own_type(at), larger.traits[usize::from(at.0)].get());
            let subtypes = match usize::from(id.0) < count {
                true => self.attribute_type(id).subtypes.clone(),
                false => Vec::new(),
            };
            let kind = AttributeType { sup: kind.sup.map(|sup| ids.own_type(sup)), subtypes, ..kind.clone() };
            if usize::from(id.0) >= count {
                let at = self.added.types.push((Current::new(kind, false), CurrentTraits::new(traits)));
                assert!(self.types.len() + at == usize::from(id.0), "they come in the order of their ids");
            } else if ids.differs(self.attribute_type(id), &kind) {
                self.current_type(id).set(&self.added.changed_types, kind);
                match self.traits.get(usize::from(id.0)) {
                    Some(own) => own.set_flags(traits.flags),
                    None => self.added_type(id).1.set_flags(traits.flags),
                }
            }
        }
    }

    fn put_classes(&self, larger: &Schema, ids: &Ids) {
        let count = self.class_count();
        for (at, class) in larger.classes() {
            let (id, class) = (ids.own_class(at), ids.class(class));
            if usize::from(id.0) >= count {
                let at = self.added.classes.push(Current::new(class, false));
                assert!(self.classes.len() + at == usize::from(id.0), "they come in the order of their ids");
            } else if *self.class(id) != (ObjectClass { is_own: self.class(id).is_own, ..class.clone() }) {
                self.current_class(id).set(&self.added.changed_classes, class);
            }
        }
    }
}

/// The ids that definitions of a larger schema have here.
pub(super) struct Ids {
    types: Vec<TypeId>,
    classes: Vec<ClassId>,
}

impl Ids {
    /// `effects` says what is removed: what has the OID of that in the larger schema is something else.
    pub(super) fn of(own: &Schema, larger: &Schema, effects: &Effects) -> Ids {
        let (mut next_type, mut next_class) = (own.type_count(), own.class_count());
        let next = |next: &mut usize| {
            *next += 1;
            (*next - 1) as u16
        };
        let mut ids = Ids {
            types: vec![TypeId(u16::MAX); larger.type_count()],
            classes: vec![ClassId(u16::MAX); larger.class_count()],
        };
        for (at, kind) in larger.attribute_types() {
            let known = own.find_type(kind.definition.oid.as_bytes());
            let known = known.filter(|id| !effects.types.contains(id));
            ids.types[usize::from(at.0)] = known.unwrap_or_else(|| TypeId(next(&mut next_type)));
        }
        for (at, class) in larger.classes() {
            let known = own.find_class(class.definition.oid.as_bytes());
            let known = known.filter(|id| !effects.classes.contains(id));
            ids.classes[usize::from(at.0)] = known.unwrap_or_else(|| ClassId(next(&mut next_class)));
        }
        ids
    }

    pub(super) fn own_type(&self, of_larger: TypeId) -> TypeId {
        self.types[usize::from(of_larger.0)]
    }

    fn own_class(&self, of_larger: ClassId) -> ClassId {
        self.classes[usize::from(of_larger.0)]
    }

    /// Types that are there and stay, by their ids here, as they will be.
    pub(super) fn kept_types<'l>(
        &'l self,
        own: &Schema,
        larger: &'l Schema,
    ) -> impl Iterator<Item = (TypeId, &'l AttributeType)> {
        let count = own.type_count();
        let all = larger.attribute_types().map(|(at, kind)| (self.own_type(at), kind));
        all.filter(move |(id, _)| usize::from(id.0) < count)
    }

    /// Classes that are there and stay, by their ids here, as they will be.
    pub(super) fn kept_classes<'l>(
        &'l self,
        own: &Schema,
        larger: &'l Schema,
    ) -> impl Iterator<Item = (ClassId, &'l ObjectClass)> {
        let count = own.class_count();
        let all = larger.classes().map(|(at, class)| (self.own_class(at), class));
        all.filter(move |(id, _)| usize::from(id.0) < count)
    }

    /// Is a type another than it was? Whose file it is of does not count: the larger schema was built of a record.
    fn differs(&self, before: &AttributeType, after: &AttributeType) -> bool {
        let AttributeType { is_own, is_setting, .. } = *before;
        *before != AttributeType { is_own, is_setting, ..after.clone() }
    }

    fn types_of(&self, list: &[TypeId]) -> Vec<TypeId> {
        list.iter().map(|id| self.own_type(*id)).collect()
    }

    fn classes_of(&self, list: &[ClassId]) -> Vec<ClassId> {
        list.iter().map(|id| self.own_class(*id)).collect()
    }

    /// A class of the larger schema with the ids that are right here.
    pub(super) fn class(&self, class: &ObjectClass) -> ObjectClass {
        ObjectClass {
            sup: self.classes_of(&class.sup),
            must: self.types_of(&class.must),
            may: self.types_of(&class.may),
            all_must: sorted(self.types_of(&class.all_must)),
            all_may: sorted(self.types_of(&class.all_may)),
            superiors: sorted(self.classes_of(&class.superiors)),
            ..class.clone()
        }
    }

    fn content_rule(&self, rule: &ContentRule) -> ContentRule {
        ContentRule {
            class: self.own_class(rule.class),
            auxiliary: sorted(self.classes_of(&rule.auxiliary)),
            must: self.types_of(&rule.must),
            may: self.types_of(&rule.may),
            not: sorted(self.types_of(&rule.not)),
            ..rule.clone()
        }
    }

    fn name_form(&self, form: &NameForm) -> NameForm {
        NameForm {
            class: self.own_class(form.class),
            must: self.types_of(&form.must),
            may: self.types_of(&form.may),
            ..form.clone()
        }
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list
}
