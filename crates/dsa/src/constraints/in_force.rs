//! The constraints that are in force, by the numbers of the schema.

use super::class::class;
use super::concerned::{Concern, Concerned};
use super::references::References;
use super::subtree::{Subtree, normal};
use super::values::ValueRule;
use super::{ConstraintKind, ConstraintRule};
use crate::behaviour::FIRST_WITH_CONSTRAINTS;
use model::dn::{parse_rdn, split_first};
use model::{ClassId, Description, TypeId};
use schema::{CheckOptions, Rule, Schema};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use store::{Shard, Writer};

/// Constraints by the numbers of a schema.
#[derive(Debug, std::default::Default)]
pub(crate) struct InForce {
    pub(super) unique: Vec<Unique>,
    pub(super) sequences: Vec<Sequence>,
    /// In the order in which they are configured: the first that is violated is named.
    pub(super) values: Vec<ValueRule>,
    pub(super) defaults: Vec<Default>,
    pub(super) references: Vec<References>,
    /// The types that they are about.
    concerned: Concerned,
}

/// Entries that are added without an attribute.
#[derive(Debug)]
pub(super) struct Lacking {
    /// Of this type; a subtype, or options, will do for it.
    pub(super) attribute: TypeId,
    /// Those of this class, or of a subclass; all if there is none.
    pub(super) class: Option<ClassId>,
    /// Those that come to be in it.
    pub(super) subtree: Option<Subtree>,
}

/// Entries that are added get a value.
#[derive(Debug)]
pub(super) struct Default {
    /// The entries that get it.
    pub(super) of: Lacking,
    /// What they get; the schema has checked it.
    pub(super) value: Vec<u8>,
}

/// Entries that are added get numbers.
#[derive(Debug)]
pub(super) struct Sequence {
    /// The numbers, no two of which are the same in the whole directory.
    pub(super) numbers: Unique,
    /// The entries that get one.
    pub(super) of: Lacking,
    /// DN of the entry that has the next one, in this attribute.
    pub(super) counter: Vec<u8>,
    pub(super) next: TypeId,
}

/// Values of these types are unique.
#[derive(Debug)]
pub(super) struct Unique {
    /// For texts.
    pub(super) name: String,
    /// The types that were named. Their subtypes count too, which may be added to the schema
    /// while it is in force.
    pub(super) types: Vec<TypeId>,
    /// Without one it is about all entries.
    pub(super) subtree: Option<Subtree>,
}

impl InForce {
    /// These constraints.
    ///
    /// # Errors
    /// What the schema does not know of them, with the place of the rule.
    pub(crate) fn new(rules: &[ConstraintRule], schema: &Schema) -> Result<InForce, (usize, String)> {
        let (mut all, mut names) = (InForce::default(), BTreeSet::new());
        for (at, rule) in rules.iter().enumerate() {
            if !names.insert(&rule.name) {
                return Err((at, format!("the name `{}` is there twice", rule.name)));
            }
            all.add(rule, schema).map_err(|what| (at, what))?;
        }
        all.concerned = Concerned::of(schema, |id| all.concern_by_rules(schema, id));
        Ok(all)
    }

    /// As [`InForce::new`], without those that the schema does not know. A log has such ones
    /// only if a start had another schema since, which refuses them.
    fn known(rules: &[ConstraintRule], schema: &Schema) -> InForce {
        let mut all = InForce::default();
        rules.iter().for_each(|rule| _ = all.add(rule, schema));
        all.concerned = Concerned::of(schema, |id| all.concern_by_rules(schema, id));
        all
    }

    /// All of a rule or nothing: what the schema does not know is found before anything is
    /// pushed.
    fn add(&mut self, rule: &ConstraintRule, schema: &Schema) -> Result<(), String> {
        let subtree = rule.subtree.as_deref().map(|dn| Subtree::new(dn.as_bytes(), schema)).transpose()?;
        let name = rule.name.clone();
        match &rule.kind {
            ConstraintKind::Unique(attributes) => {
                let types = attributes.iter().map(|name| unique_type(schema, name));
                self.unique.push(Unique { name, types: types.collect::<Result<_, _>>()?, subtree });
            }
            ConstraintKind::Sequence(sequence) => {
                let attribute = unique_type(schema, &sequence.attribute)?;
                let counter = sequence.counter.as_bytes().to_vec();
                normal(schema, &counter)?;
                let next = unique_type(schema, &sequence.next)?;
                if is_named_by(schema, &counter, next) {
                    return Err(format!(
                        "the entry is named by `{}`, so the number cannot go on",
                        sequence.next
                    ));
                }
                let class = class(schema, sequence.class.as_deref())?;
                let of = Lacking { attribute, class, subtree };
                let numbers = Unique { name, types: vec![attribute], subtree: None };
                self.sequences.push(Sequence { numbers, of, counter, next });
            }
            ConstraintKind::Values(values) => {
                let types = values.attributes.iter().map(|name| value_type(schema, name));
                let types = types.collect::<Result<_, _>>()?;
                let class = class(schema, values.class.as_deref())?;
                let about = (name, types, subtree, class);
                self.values.push(ValueRule::new(about, values, schema, &|name| unique_type(schema, name))?);
            }
            ConstraintKind::References(references) => {
                let types = references.attributes.iter().map(|name| name_type(schema, name));
                let types = types.collect::<Result<_, _>>()?;
                self.references.push(References::new((name, types, subtree), references, schema)?);
            }
            ConstraintKind::Default(default) => {
                let attribute = value_type(schema, &default.attribute)?;
                let value = default.value.clone().into_bytes();
                let checked = schema.check_attribute_value(
                    Description::plain(attribute),
                    &value,
                    CheckOptions::default(),
                );
                checked.map_err(|violation| violation.to_string())?;
                let class = class(schema, default.class.as_deref())?;
                self.defaults.push(Default { of: Lacking { attribute, class, subtree }, value });
            }
        }
        Ok(())
    }

    /// Is there nothing?
    fn is_empty(&self) -> bool {
        let InForce { unique, sequences, values, defaults, references, concerned: _ } = self;
        unique.is_empty()
            && sequences.is_empty()
            && values.is_empty()
            && defaults.is_empty()
            && references.is_empty()
    }

    /// DNs of the entries that have the next numbers of sequences.
    pub(crate) fn counters(&self) -> impl Iterator<Item = &[u8]> {
        self.sequences.iter().map(|sequence| &sequence.counter[..])
    }

    /// Is there a constraint on values of this type?
    #[inline]
    pub(crate) fn concerns(&self, schema: &Schema, attribute_type: TypeId) -> bool {
        self.concern(schema, attribute_type).is_judged
    }

    /// What they have to do with values of a type: one load for nearly all updates.
    #[inline]
    pub(super) fn concern(&self, schema: &Schema, attribute_type: TypeId) -> Concern {
        let known = self.concerned.of_type(schema, attribute_type);
        known.unwrap_or_else(|| self.concern_by_rules(schema, attribute_type))
    }

    /// As [`InForce::concern`], by a look at all rules.
    fn concern_by_rules(&self, schema: &Schema, attribute_type: TypeId) -> Concern {
        // Which values are judged may hang on the class.
        let is_class = attribute_type == schema.well_known().object_class;
        let judges =
            |rule: &ValueRule| rule.has(schema, attribute_type) || (is_class && rule.class.is_some());
        let is_judged = self.unique.iter().any(|unique| unique.has(schema, attribute_type))
            || self.values.iter().any(judges)
            || self.references.iter().any(|rule| rule.must_exist && rule.has(schema, attribute_type));
        let is_looked_up = self.indexed().any(|(_, of)| schema.is_subtype(attribute_type, of));
        Concern { is_judged, is_looked_up }
    }

    /// The types that need an equality index, with the names of their constraints.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (&str, TypeId)> {
        let numbers = self.sequences.iter().map(|sequence| &sequence.numbers);
        let unique = self.unique.iter().chain(numbers).map(|unique| (&unique.name[..], &unique.types[..]));
        let lists = self.values.iter().map(|rule| (&rule.name[..], rule.looked_up()));
        let references = self.references.iter().map(|rule| (&rule.name[..], &rule.types[..]));
        unique
            .chain(lists)
            .chain(references)
            .flat_map(|(name, types)| types.iter().map(move |id| (name, *id)))
    }

    /// Names of constraints that judge what comes into a subtree, with the subtrees.
    pub(super) fn subtrees(&self) -> impl Iterator<Item = (&str, &Subtree)> {
        let unique = self.unique.iter().map(|unique| (&unique.name[..], unique.subtree.as_ref()));
        let values = self.values.iter().map(|rule| (&rule.name[..], rule.subtree.as_ref()));
        let must_exist = self.references.iter().filter(|rule| rule.must_exist);
        let references = must_exist.map(|rule| (&rule.name[..], rule.subtree.as_ref()));
        unique.chain(values).chain(references).filter_map(|(name, subtree)| Some((name, subtree?)))
    }
}

impl Unique {
    /// Is a value of this type to be unique?
    pub(super) fn has(&self, schema: &Schema, attribute_type: TypeId) -> bool {
        self.types.iter().any(|of| schema.is_subtype(attribute_type, *of))
    }
}

/// Is an attribute of this type in the RDN of a name?
fn is_named_by(schema: &Schema, dn: &[u8], attribute_type: TypeId) -> bool {
    let (rdn, _) = split_first(dn);
    parse_rdn(rdn)
        .is_ok_and(|rdn| rdn.iter().any(|ava| schema.find_type(ava.attribute_type) == Some(attribute_type)))
}

/// A type whose values users give. Passwords are stored in another form than they are sent in,
/// which policies judge.
fn value_type(schema: &Schema, name: &str) -> Result<TypeId, String> {
    let id = schema.find_type(name.as_bytes()).ok_or_else(|| format!("the schema has no `{name}`"))?;
    match schema.attribute_type(id).definition.no_user_modification
        || id == schema.well_known().object_class
        || schema.is_secret(id)
    {
        true => Err(format!("values of `{name}` are for the server, or for the policies of passwords")),
        false => Ok(id),
    }
}

/// A type whose values are names of entries.
fn name_type(schema: &Schema, name: &str) -> Result<TypeId, String> {
    let id = unique_type(schema, name)?;
    match schema.attribute_type(id).equality {
        Some(Rule::DistinguishedName | Rule::UniqueMember) => Ok(id),
        _ => Err(format!("values of `{name}` are no names of entries")),
    }
}

/// A type whose values can be unique: users give them, and there is a rule for when two are
/// equal.
fn unique_type(schema: &Schema, name: &str) -> Result<TypeId, String> {
    let id = schema.find_type(name.as_bytes()).ok_or_else(|| format!("the schema has no `{name}`"))?;
    let kind = schema.attribute_type(id);
    if kind.definition.no_user_modification || id == schema.well_known().object_class {
        return Err(format!("the server keeps `{name}` itself, or many entries share its values"));
    }
    match kind.equality {
        // Its assertion is a part of a value, so no value can be looked for.
        Some(
            Rule::IntegerFirstComponent
            | Rule::ObjectIdentifierFirstComponent
            | Rule::DirectoryStringFirstComponent,
        ) => Err(format!("values of `{name}` are compared by their first component alone")),
        Some(_) => Ok(id),
        None => Err(format!("`{name}` has no equality rule, so no two values of it are equal")),
    }
}

/// The constraints in force, for all threads. Where there are none, it is one look at a flag.
#[derive(std::default::Default)]
pub(crate) struct Constraints {
    /// Looked at for each group of updates, without a lock.
    is_any: AtomicBool,
    /// As they were configured, to see whether others come, and as they are judged by.
    rules: RwLock<(Vec<ConstraintRule>, Arc<InForce>)>,
}

impl Constraints {
    /// Puts others in force, from the next batch on. To be called where no batch is open:
    /// writes that were prepared before are not installed.
    pub(crate) fn put(&self, rules: Vec<ConstraintRule>, shard: &Shard) {
        if self.rules.read().unwrap_or_else(PoisonError::into_inner).0 == rules {
            return;
        }
        // In the writer's role: a batch is judged by the constraints before or by those after
        // it, whole. The role comes before the lock, as with a batch, which looks at them in
        // the role.
        let mut writer = shard.writer();
        let mut now = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let in_force = InForce::known(&rules, shard.schema());
        self.is_any.store(!in_force.is_empty(), Ordering::Release);
        *now = (rules, Arc::new(in_force));
        writer.invalidate_prepared_writes();
        writer.publish();
    }

    /// Makes them anew by a schema that was changed: the same name may be that of another type or class. To be called in the writer's role, as a part of the
    /// change, so that it comes to the same at each place of the log.
    pub(crate) fn renew(&self, writer: &mut Writer<'_>, schema: &Schema) {
        let mut now = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        if now.0.is_empty() {
            return;
        }
        let in_force = InForce::known(&now.0, schema);
        self.is_any.store(!in_force.is_empty(), Ordering::Release);
        now.1 = Arc::new(in_force);
        writer.invalidate_prepared_writes();
    }

    /// Does a schema know what they name? It is about those that are in force at this place of the log.
    ///
    /// # Errors
    /// In words, what it does not know.
    pub(crate) fn fit(&self, schema: &Schema) -> Result<(), String> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner).0.clone();
        InForce::new(&rules, schema).map(drop).map_err(|(_, what)| what)
    }

    /// Are there any, whether or not they are in force?
    pub(crate) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }

    /// Those that hold for updates which are applied by this behaviour, if there are some.
    #[inline]
    pub(crate) fn now(&self, behaviour: u32) -> Option<Arc<InForce>> {
        if !self.is_any() || behaviour < FIRST_WITH_CONSTRAINTS {
            return None;
        }
        Some(Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner).1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::Builder;

    fn schema() -> Schema {
        Builder::new().standard().build().expect("the standard schema")
    }

    fn in_force(lines: &[&str], schema: &Schema) -> InForce {
        let rules = lines.iter().map(|line| ConstraintRule::parse(line).expect("a constraint"));
        InForce::new(&rules.collect::<Vec<_>>(), schema).expect("the schema knows its attributes")
    }

    #[test]
    fn types_are_concerned_as_the_rules_say() {
        let schema = schema();
        let rules = [
            "name=a unique=\"name,mail\"",
            "name=b sequence=uidNumber counter=cn=x next=serialNumber",
            "name=c values=telephoneNumber max-count=1 class=person",
            "name=d values=l url=\"ldap:///dc=x?ou?one?(ou=*)\"",
            "name=e references=member",
            "name=f references=owner absent=refuse",
            "name=g default=loginShell value=/bin/sh",
        ];
        let in_force = in_force(&rules, &schema);
        let agrees = || {
            schema
                .attribute_types()
                .all(|(id, _)| in_force.concern(&schema, id) == in_force.concern_by_rules(&schema, id))
        };
        assert!(agrees());
        let concern = |name: &str| {
            let id = schema.find_type(name.as_bytes()).expect("a standard type");
            let Concern { is_judged, is_looked_up } = in_force.concern(&schema, id);
            (is_judged, is_looked_up)
        };
        for (name, expected) in [
            ("cn", (true, true)),
            ("objectClass", (true, false)),
            ("telephoneNumber", (true, false)),
            ("owner", (true, true)),
            ("member", (false, true)),
            ("uidNumber", (false, true)),
            ("l", (true, true)),
            ("ou", (true, true)),
            ("loginShell", (false, false)),
            ("description", (false, false)),
        ] {
            assert_eq!(concern(name), expected, "{name}");
        }
        // A type that comes later may be a subtype of one that a rule names.
        let nick: &[u8] = b"( 1.3.6.1.4.1.99999.1 NAME 'nick' SUP name )";
        let changes =
            schema::Changes { removed: Vec::new(), added: vec![(schema::Element::AttributeType, nick)] };
        schema.put(schema.plan(&changes).expect("it is sound"));
        assert!(agrees());
        assert_eq!(concern("nick"), (true, true));
        assert_eq!(concern("description"), (false, false));
    }

    /// Numbers of types that were removed stay.
    #[test]
    fn types_behind_a_removed_one_are_concerned() {
        let schema = schema();
        let [first, second]: [&[u8]; 2] = [
            b"( 1.3.6.1.4.1.99999.1 NAME 'first' SUP description )",
            b"( 1.3.6.1.4.1.99999.2 NAME 'second' SUP description )",
        ];
        let put = |removed: &[&'static [u8]], added: &[&'static [u8]]| {
            let types = |list: &[&'static [u8]]| {
                list.iter().map(|text| (schema::Element::AttributeType, *text)).collect()
            };
            let changes = schema::Changes { removed: types(removed), added: types(added) };
            schema.put(schema.plan(&changes).expect("it is sound"));
        };
        put(&[], &[first, second]);
        put(&[first], &[]);
        let in_force = in_force(&["name=a values=second max-count=1"], &schema);
        let id = schema.find_type(b"second").expect("it stays");
        assert!(in_force.concern(&schema, id).is_judged);
        for (id, _) in schema.attribute_types() {
            assert_eq!(in_force.concern(&schema, id), in_force.concern_by_rules(&schema, id));
        }
    }
}
