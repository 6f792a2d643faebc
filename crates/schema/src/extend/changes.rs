//! What is asked of a schema in use, and what comes of it.

use crate::ObjectClass;
use crate::schema::Schema;
use crate::source::StatementKind;
use model::{ClassId, TypeId};
use std::collections::BTreeMap;

/// What can be added to a schema in use, changed and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// `attributeTypes`
    AttributeType,
    /// `objectClasses`
    ObjectClass,
    /// `dITContentRules`
    ContentRule,
    /// `nameForms`
    NameForm,
    /// `dITStructureRules`
    StructureRule,
}

impl Element {
    /// In the order in which they name each other.
    pub const ALL: [Element; 5] = [
        Element::AttributeType,
        Element::ObjectClass,
        Element::ContentRule,
        Element::NameForm,
        Element::StructureRule,
    ];

    /// The attribute of the subschema that has such definitions (RFC 4512 section 4.2).
    pub fn attribute(self) -> &'static str {
        match self {
            Element::AttributeType => "attributeTypes",
            Element::ObjectClass => "objectClasses",
            Element::ContentRule => "dITContentRules",
            Element::NameForm => "nameForms",
            Element::StructureRule => "dITStructureRules",
        }
    }

    pub(crate) fn statement(self) -> StatementKind {
        match self {
            Element::AttributeType => StatementKind::AttributeType,
            Element::ObjectClass => StatementKind::ObjectClass,
            Element::ContentRule => StatementKind::ContentRule,
            Element::NameForm => StatementKind::NameForm,
            Element::StructureRule => StatementKind::StructureRule,
        }
    }

    /// What it is called in a text.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Element::AttributeType => "attribute type",
            Element::ObjectClass => "object class",
            Element::ContentRule => "content rule",
            Element::NameForm => "name form",
            Element::StructureRule => "structure rule",
        }
    }
}

/// Definitions that a request removes and adds. One that it does both of, by its OID or number, is changed.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    /// Each is known by its OID or number alone.
    pub removed: Vec<(Element, &'a [u8])>,
    /// In any order.
    pub added: Vec<(Element, &'a [u8])>,
}

/// What a change would do to entries: what is to be looked for before it is made.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Types that are removed. No entry may have one of them.
    pub types: Vec<TypeId>,
    /// Classes that are removed. No entry may be of one of them.
    pub classes: Vec<ClassId>,
    /// What these types are called, by names and OIDs. No value may name one: its normal form has the number.
    pub type_names: Vec<String>,
    /// The same of these classes. A class can have the name of a type that stays.
    pub class_names: Vec<String>,
    /// Types of which entries may have one value from now on.
    pub single: Vec<TypeId>,
    /// Classes that require more, or allow less, as they will be.
    pub narrowed: BTreeMap<ClassId, ObjectClass>,
}

impl Effects {
    /// Can it make no entry wrong?
    pub fn are_none(&self) -> bool {
        let Effects { types, classes, single, narrowed, .. } = self;
        types.is_empty() && classes.is_empty() && single.is_empty() && narrowed.is_empty()
    }
}

/// A change that the other definitions allow.
pub struct Plan {
    /// The schema that comes of it, with other ids.
    pub(super) larger: Schema,
    /// The statements that lead there.
    pub(super) text: String,
    /// Of what comes behind which statements.
    pub(super) behind: usize,
    pub(super) effects: Effects,
    pub(super) only_adds: bool,
}

impl Plan {
    /// The schema as it will be: for who has to know whether something else fits it. Its ids are its own.
    pub fn outcome(&self) -> &Schema {
        &self.larger
    }

    /// Does it leave all definitions as they are?
    pub fn only_adds(&self) -> bool {
        self.only_adds
    }

    /// See [`Effects`].
    pub fn effects(&self) -> &Effects {
        &self.effects
    }
}
