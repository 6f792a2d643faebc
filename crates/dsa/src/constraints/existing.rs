//! Whether all entries satisfy constraints that are to come into force.

use super::InForce;
use super::class::is_of_class;
use super::directory::{Directory, Wanted};
use super::in_force::Unique;
use super::references::{ABSENT, References, exists};
use super::sequence::number;
use super::subtree::Subtree;
use super::values::ValueRule;
use crate::outcome;
use model::{EntryId, TypeId};
use std::ops::ControlFlow;
use store::search::evaluate::Evaluator;
use store::{DnCache, EntryRef, ReadPoint, Values};

/// Looks at all entries.
///
/// # Errors
/// In words, an index that is lacking, or two entries with the same value. Their names are for
/// who may change the configuration, who reads everything.
pub(crate) fn check_all(in_force: &InForce, read_point: ReadPoint<'_>) -> Result<(), String> {
    let schema = read_point.shard().schema();
    for (name, attribute_type) in in_force.indexed() {
        if !read_point.has_equality_index(attribute_type) {
            let attribute = schema.attribute_type(attribute_type).name();
            return Err(format!("constraint {name} needs the index `{attribute}:eq`: build it first"));
        }
    }
    for sequence in &in_force.sequences {
        let counter = read_point.resolve(&sequence.counter, &mut DnCache::default());
        if counter.ok().and_then(|id| number(sequence, &read_point.entry(id)?)).is_none() {
            let (name, counter) = (&sequence.numbers.name, outcome::quoted(&sequence.counter));
            let attribute = schema.attribute_type(sequence.next).name();
            return Err(format!(
                "constraint {name} needs a number in `{attribute}` of {counter}: add it first"
            ));
        }
    }
    let mut checking = Checking { read_point, evaluator: Evaluator::default() };
    in_force.unique.iter().try_for_each(|unique| checking.unique(unique))?;
    in_force.values.iter().try_for_each(|rule| checking.values(rule))?;
    in_force.references.iter().filter(|rule| rule.must_exist).try_for_each(|rule| checking.references(rule))
}

/// Looks at entries, by the same questions that an update is asked. The first conflict is
/// enough: an administrator mends it and asks again.
struct Checking<'c> {
    read_point: ReadPoint<'c>,
    evaluator: Evaluator,
}

impl<'c> Checking<'c> {
    /// The base of a subtree; `None` if there are no such entries.
    fn base(&self, subtree: Option<&Subtree>) -> Option<Option<EntryId>> {
        let Some(subtree) = subtree else { return Some(None) };
        self.read_point.resolve(&subtree.dn, &mut DnCache::default()).ok().map(Some)
    }

    /// The entries that are, or lie below, a base. By their ids, since a subtree has no list of
    /// its entries.
    fn entries(&self, base: Option<EntryId>) -> impl Iterator<Item = EntryRef<'c>> + use<'c> {
        let read_point = self.read_point;
        let ids = (1..read_point.shard().ids_end()).map(EntryId);
        ids.filter_map(move |id| read_point.entry(id))
            .filter(move |entry| base.is_none_or(|base| read_point.is_within(entry.id, base)))
    }

    /// Has each value of the types one owner?
    fn unique(&mut self, unique: &Unique) -> Result<(), String> {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let Some(base) = self.base(unique.subtree.as_ref()) else { return Ok(()) };
        for entry in self.entries(base) {
            for (at, slot) in entry.shape.slots.iter().enumerate() {
                if !unique.has(schema, slot.description.attribute_type) {
                    continue;
                }
                // Another entry, never another value of this one: an entry may have a value
                // twice, in two attributes.
                let may_be =
                    |other| other != entry.id && base.is_none_or(|base| read_point.is_within(other, base));
                let mut other = None;
                for_each_value(&entry, at, read_point, &mut |value| {
                    for attribute_type in &unique.types {
                        let wanted =
                            Wanted { attribute_type: *attribute_type, value, may_be: &may_be, filter: None };
                        Directory::Shard(read_point).holders(&wanted, &mut self.evaluator, &mut |found| {
                            other = Some(found);
                            ControlFlow::Break(())
                        });
                    }
                    other.is_none()
                });
                if let Some(other) = other.and_then(|id| read_point.entry(id)) {
                    let [one, other] = [&entry, &other].map(|entry| self.shown(entry));
                    let attribute = schema.describe(slot.description);
                    return Err(format!(
                        "constraint {}: {one} and {other} have the same value, of {attribute}",
                        unique.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// Are all values as a rule wants them, and as many?
    fn values(&mut self, rule: &ValueRule) -> Result<(), String> {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let Some(base) = self.base(rule.subtree.as_ref()) else { return Ok(()) };
        for entry in self.entries(base) {
            let classes = entry.shape.class_values.iter().map(|class| &**class);
            if !is_of_class(schema, rule.class, classes) {
                continue;
            }
            let mut fault = None;
            for (at, slot) in entry.shape.slots.iter().enumerate() {
                if rule.has(schema, slot.description.attribute_type) {
                    for_each_value(&entry, at, read_point, &mut |value| {
                        let found = rule.fault(value, Directory::Shard(read_point), &mut self.evaluator);
                        fault = fault.take().or(found.zip(Some(slot.description.attribute_type)));
                        fault.is_none()
                    });
                }
            }
            let count = |of: &TypeId| {
                let slots = entry.shape.slots.iter().enumerate();
                let slots = slots.filter(|(_, slot)| schema.is_subtype(slot.description.attribute_type, *of));
                let count = slots.map(|(at, _)| match entry.slot(at) {
                    Values::Inline(values) => values.count(),
                    Values::Set(set) => set.count as usize,
                });
                rule.count_fault(count.sum()).zip(Some(*of))
            };
            if let Some((fault, of)) = fault.or_else(|| rule.types.iter().find_map(count)) {
                let attribute = schema.attribute_type(of).name();
                return Err(format!(
                    "constraint {}: {fault} of {attribute}, {}",
                    rule.name,
                    self.shown(&entry)
                ));
            }
        }
        Ok(())
    }

    /// Is each value the name of an entry?
    fn references(&mut self, rule: &References) -> Result<(), String> {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let Some(base) = self.base(rule.subtree.as_ref()) else { return Ok(()) };
        for entry in self.entries(base) {
            for (at, slot) in entry.shape.slots.iter().enumerate() {
                let of = slot.description.attribute_type;
                if !rule.has(schema, of) {
                    continue;
                }
                let mut is_absent = false;
                for_each_value(&entry, at, read_point, &mut |value| {
                    let directory = Directory::Shard(read_point);
                    is_absent = !exists(schema, (of, value), directory, &mut self.evaluator.cache);
                    !is_absent
                });
                if is_absent {
                    let attribute = schema.attribute_type(of).name();
                    let (name, entry) = (&rule.name, self.shown(&entry));
                    return Err(format!("constraint {name}: {ABSENT} of {attribute}, {entry}"));
                }
            }
        }
        Ok(())
    }

    /// The name of an entry as the text of a refusal has it: those who read it set constraints,
    /// and may read all.
    fn shown(&self, entry: &EntryRef<'_>) -> String {
        outcome::quoted(&self.read_point.dn(entry, &mut DnCache::default()))
    }
}

/// Gives the values of an attribute until `each` has enough.
fn for_each_value(
    entry: &EntryRef<'_>,
    at: usize,
    read_point: ReadPoint<'_>,
    each: &mut dyn FnMut(&[u8]) -> bool,
) {
    match entry.slot(at) {
        Values::Inline(mut values) => _ = values.all(each),
        Values::Set(set) => {
            let (mut position, mut goes_on) = (Default::default(), true);
            while goes_on
                && read_point.set_values(&set, &mut position, &mut |value: &[u8]| {
                    goes_on = goes_on && each(value);
                })
            {}
        }
    }
}
