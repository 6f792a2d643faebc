//! Attribute types and object classes as built: every name resolved, what is inherited filled in.

use crate::definition::{
    AttributeTypeDefinition, ContentRuleDefinition, NameFormDefinition, ObjectClassDefinition,
    StructureRuleDefinition,
};
use crate::{Rule, Syntax};
use model::{ClassId, TypeId};

/// What the option `;binary` is to the values of an attribute type (RFC 4522): no subtype, but another name of the same attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryTransfer {
    /// The syntax has no BER form that is known here: a description with the option is not recognised.
    None,
    /// Values are octets that the client may call BER.
    Accepted,
    /// Values are sent as BER and the option is always with them.
    Required,
}

/// An attribute type (RFC 4512 section 2.5.1) with what it inherits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeType {
    /// Its numeric OID, as clients are shown it.
    pub oid: String,
    /// As defined, with macros resolved.
    pub definition: AttributeTypeDefinition,
    /// The type it is a subtype of.
    pub sup: Option<TypeId>,
    /// Equality rule. Without one, values are the same if their bytes are.
    pub equality: Option<Rule>,
    /// Ordering rule.
    pub ordering: Option<Rule>,
    /// Substring rule.
    pub substring: Option<Rule>,
    /// Syntax of its values.
    pub syntax: Syntax,
    /// What the option `;binary` is to its values.
    pub binary: BinaryTransfer,
    /// Length that the definition asks servers to take at least; not enforced.
    pub length_max: Option<u32>,
    /// Itself and all its subtypes, in order of id.
    pub(crate) subtypes: Vec<TypeId>,
    /// Of the entries that the server itself shows: no part of what decides changes.
    pub(crate) is_own: bool,
    /// Made by [`crate::Builder::settings`]: no part of that either.
    pub(crate) is_setting: bool,
}

impl AttributeType {
    /// The first name, else the OID.
    pub fn name(&self) -> &str {
        self.definition.names.first().unwrap_or(&self.oid)
    }

    /// All that it is called by. An OID that is no longer shown is still known: data and logs may have it.
    #[inline]
    pub(crate) fn all_names(&self) -> impl Iterator<Item = &str> + Clone {
        let oids = [&self.oid, &self.definition.oid];
        self.definition.names.iter().chain(oids).map(String::as_str)
    }

    /// Are its values those of subentries, and shown by the entries that these are about (RFC 3671)?
    pub fn is_collective(&self) -> bool {
        self.definition.collective
    }

    /// Is it returned only when asked for?
    pub fn is_operational(&self) -> bool {
        self.definition.is_operational()
    }
}

/// An object class (RFC 4512 section 2.4) with what it inherits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectClass {
    /// Its numeric OID, as clients are shown it.
    pub oid: String,
    /// As defined, with macros resolved.
    pub definition: ObjectClassDefinition,
    /// Direct superclasses.
    pub sup: Vec<ClassId>,
    /// Attributes that itself requires.
    pub must: Vec<TypeId>,
    /// Attributes that itself allows.
    pub may: Vec<TypeId>,
    /// Attributes that it or a superclass requires, in order of id.
    pub all_must: Vec<TypeId>,
    /// Attributes that it or a superclass allows, in order of id.
    pub all_may: Vec<TypeId>,
    /// Itself and all superclasses, in order of id.
    pub superiors: Vec<ClassId>,
    /// See [`AttributeType::is_own`].
    pub(crate) is_own: bool,
}

impl ObjectClass {
    /// The first name, else the OID.
    pub fn name(&self) -> &str {
        self.definition.names.first().unwrap_or(&self.oid)
    }

    /// All that it is called by, as of attribute types.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = &str> + Clone {
        let oids = [&self.oid, &self.definition.oid];
        self.definition.names.iter().chain(oids).map(String::as_str)
    }

    /// All attributes that `@class` selects (RFC 4529): those required, then those allowed.
    pub fn all_attributes(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.all_must.iter().chain(&self.all_may).copied()
    }
}

/// A DIT content rule (RFC 4512 section 4.1.6).
#[derive(Clone, Debug)]
pub struct ContentRule {
    /// As defined, with macros resolved.
    pub definition: ContentRuleDefinition,
    /// The structural class whose entries it governs.
    pub(crate) class: ClassId,
    /// The auxiliary classes that it lists, and their superclasses, in order of id: who belongs to a class belongs to these.
    pub(crate) auxiliary: Vec<ClassId>,
    pub(crate) must: Vec<TypeId>,
    pub(crate) may: Vec<TypeId>,
    /// In order of id.
    pub(crate) not: Vec<TypeId>,
}

/// A name form.
#[derive(Clone, Debug)]
pub(crate) struct NameForm {
    /// As defined, with macros resolved.
    pub(crate) definition: NameFormDefinition,
    /// The structural class whose entries it names.
    pub(crate) class: ClassId,
    pub(crate) must: Vec<TypeId>,
    pub(crate) may: Vec<TypeId>,
}

impl NameForm {
    /// "Entries governed by the form must be named using a value from each required attribute type and zero or more values from the allowed
    /// attribute types."
    pub(crate) fn fits(&self, naming: &[TypeId]) -> bool {
        self.must.iter().all(|id| naming.contains(id))
            && naming.iter().all(|id| self.must.contains(id) || self.may.contains(id))
    }

    pub(crate) fn is_of(&self, class: ClassId) -> bool {
        self.class == class && !self.definition.obsolete
    }
}

/// A structure rule.
#[derive(Clone, Debug)]
pub(crate) struct StructureRule {
    pub(crate) definition: StructureRuleDefinition,
    /// Position of its name form.
    pub(crate) form: usize,
}

/// All forms and rules of a schema.
#[derive(Debug, Default)]
pub(crate) struct NamingRules {
    pub(crate) forms: Vec<NameForm>,
    /// In the order of their numbers.
    pub(crate) rules: Vec<StructureRule>,
    pub(crate) has_forms: bool,
    pub(crate) has_rules: bool,
}

impl NamingRules {
    pub(crate) fn new(forms: Vec<NameForm>, mut rules: Vec<StructureRule>) -> NamingRules {
        rules.sort_by_key(|rule| rule.definition.id);
        let is_active = |rule: &StructureRule| {
            !rule.definition.obsolete && forms.get(rule.form).is_some_and(|form| !form.definition.obsolete)
        };
        let has_rules = rules.iter().any(is_active);
        let has_forms = forms.iter().any(|form| !form.definition.obsolete);
        NamingRules { forms, rules, has_forms, has_rules }
    }
}

/// The part of an attribute type that hot paths read, in a few bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    pub(crate) equality: Option<Rule>,
    pub(crate) syntax: Syntax,
    pub(crate) flags: u8,
}

impl Traits {
    pub(crate) const SINGLE_VALUE: u8 = 1;
    pub(crate) const NO_USER_MODIFICATION: u8 = 2;
    pub(crate) const OPERATIONAL: u8 = 4;
    pub(crate) const OBSOLETE: u8 = 8;
    pub(crate) const SECRET: u8 = 16;

    pub(crate) fn of(kind: &AttributeType) -> Traits {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(kind.definition.single_value, Traits::SINGLE_VALUE)
            | flag(kind.definition.no_user_modification, Traits::NO_USER_MODIFICATION)
            | flag(kind.is_operational(), Traits::OPERATIONAL)
            | flag(kind.definition.obsolete, Traits::OBSOLETE);
        Traits { equality: kind.equality, syntax: kind.syntax, flags }
    }

    #[inline]
    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}
