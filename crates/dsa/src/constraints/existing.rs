//! Whether all entries satisfy constraints that are to come into force, or are.

use super::InForce;
use super::class::is_of_class;
use super::directory::{Directory, Wanted};
use super::in_force::Unique;
use super::references::{ABSENT, References, exists};
use super::sequence::number;
use super::subtree::Subtree;
use super::values::ValueRule;
use crate::outcome;
use model::{Description, EntryId, TypeId};
use std::ops::ControlFlow;
use store::search::evaluate::Evaluator;
use store::{DnCache, EntryRef, ReadPoint, Values};

/// What a walk calls with each fault that it finds, in words. A name in it is for those who may
/// change the configuration, and read everything.
pub(crate) type Found<'f> = dyn FnMut(String) -> ControlFlow<()> + 'f;

/// Faults that one refusal names: who is to mend them sees whether it is one entry or many.
const FAULTS_MAX: usize = 10;

/// Looks at all entries, for the first faults.
///
/// # Errors
/// The faults, in words.
pub(crate) fn check_all(in_force: &InForce, read_point: ReadPoint<'_>) -> Result<(), String> {
    let (mut faults, mut are_more) = (Vec::new(), false);
    _ = each_fault(in_force, read_point, &mut |fault| {
        are_more = faults.len() == FAULTS_MAX;
        match are_more {
            true => return ControlFlow::Break(()),
            false => faults.push(fault),
        }
        ControlFlow::Continue(())
    });
    if faults.is_empty() {
        return Ok(());
    }
    if are_more {
        faults.push("and more: mend these, and the same change names the next ones".to_owned());
    }
    Err(faults.join("; "))
}

/// Looks at all entries, and gives each fault until it is enough: an index or a counter that is
/// lacking, after which nothing else is looked at, or an entry that violates a constraint.
pub(crate) fn each_fault(
    in_force: &InForce,
    read_point: ReadPoint<'_>,
    found: &mut Found<'_>,
) -> ControlFlow<()> {
    let schema = read_point.shard().schema();
    let mut is_ready = true;
    for (name, attribute_type) in in_force.indexed() {
        if !read_point.has_equality_index(attribute_type) {
            let attribute = schema.attribute_type(attribute_type).name();
            is_ready = false;
            found(format!("constraint {name} needs the index `{attribute}:eq`: build it first"))?;
        }
    }
    for sequence in &in_force.sequences {
        let counter = read_point.resolve(&sequence.counter, &mut DnCache::default());
        if counter.ok().and_then(|id| number(sequence, &read_point.entry(id)?).ok()).is_none() {
            let (name, counter) = (&sequence.numbers.name, outcome::quoted(&sequence.counter));
            let attribute = schema.attribute_type(sequence.next).name();
            is_ready = false;
            found(format!("constraint {name} needs a number in `{attribute}` of {counter}: add it first"))?;
        }
    }
    if !is_ready {
        return ControlFlow::Continue(());
    }
    let mut checking = Checking { read_point, evaluator: Evaluator::default(), found };
    in_force.unique.iter().try_for_each(|unique| checking.unique(unique))?;
    in_force.values.iter().try_for_each(|rule| checking.values(rule))?;
    in_force.references.iter().filter(|rule| rule.must_exist).try_for_each(|rule| checking.references(rule))
}

/// Looks at entries, by the same questions that an update is asked.
struct Checking<'c, 'f> {
    read_point: ReadPoint<'c>,
    evaluator: Evaluator,
    found: &'c mut Found<'f>,
}

impl<'c> Checking<'c, '_> {
    /// The base of a subtree; `None` if there are no such entries.
    fn base(&self, subtree: Option<&Subtree>) -> Option<Option<EntryId>> {
        let Some(subtree) = subtree else { return Some(None) };
        self.read_point.resolve(&subtree.dn, &mut DnCache::default()).ok().map(Some)
    }

    /// The entries of a subtree, by their ids, since a subtree has no list of its entries.
    fn entries(&self, subtree: Option<&Subtree>) -> impl Iterator<Item = EntryRef<'c>> + use<'c> {
        let read_point = self.read_point;
        let base = self.base(subtree);
        let end = if base.is_some() { read_point.shard().ids_end() } else { 1 };
        (1..end)
            .filter_map(move |id| read_point.entry(EntryId(id)))
            .filter(move |entry| base.flatten().is_none_or(|base| read_point.is_within(entry.id, base)))
    }

    /// Gives the values of the attributes of an entry that `is_of` is true of, until one is a fault: what and of which attribute.
    fn fault_of_value<F>(
        &self,
        entry: &EntryRef<'_>,
        is_of: impl Fn(TypeId) -> bool,
        mut judge: impl FnMut(TypeId, &[u8]) -> Option<F>,
    ) -> Option<(F, Description)> {
        let slots = entry.shape.slots.iter().enumerate();
        let mut slots = slots.filter(|(_, slot)| is_of(slot.description.attribute_type));
        slots.find_map(|(at, slot)| {
            let mut fault = None;
            for_each_value(entry, at, self.read_point, &mut |value| {
                fault = judge(slot.description.attribute_type, value);
                fault.is_none()
            });
            fault.zip(Some(slot.description))
        })
    }

    /// Has each value of the types one owner? Of an entry the first other owner is a fault, which
    /// may be the other way round again.
    fn unique(&mut self, unique: &Unique) -> ControlFlow<()> {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let base = self.base(unique.subtree.as_ref()).flatten();
        let mut evaluator = std::mem::take(&mut self.evaluator);
        for entry in self.entries(unique.subtree.as_ref()) {
            // Another entry, never another value of this one: an entry may have a value twice, in
            // two attributes.
            let may_be =
                |other| other != entry.id && base.is_none_or(|base| read_point.is_within(other, base));
            let other = self.fault_of_value(
                &entry,
                |of| unique.has(schema, of),
                |_, value| {
                    let mut other = None;
                    for attribute_type in &unique.types {
                        let wanted =
                            Wanted { attribute_type: *attribute_type, value, may_be: &may_be, filter: None };
                        Directory::Shard(read_point).holders(&wanted, &mut evaluator, &mut |holder| {
                            other = Some(holder);
                            ControlFlow::Break(())
                        });
                    }
                    other
                },
            );
            let other = other.and_then(|(id, of)| read_point.entry(id).zip(Some(of)));
            if let Some((other, of)) = other {
                let [one, other] = [&entry, &other].map(|entry| self.shown(entry));
                let attribute = schema.describe(of);
                (self.found)(format!(
                    "constraint {}: {one} and {other} have the same value, of {attribute}",
                    unique.name
                ))?;
            }
        }
        self.evaluator = evaluator;
        ControlFlow::Continue(())
    }

    /// Are all values as a rule wants them, and as many?
    fn values(&mut self, rule: &ValueRule) -> ControlFlow<()> {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let mut evaluator = std::mem::take(&mut self.evaluator);
        for entry in self.entries(rule.subtree.as_ref()) {
            let classes = entry.shape.class_values.iter().map(|class| &**class);
            if !is_of_class(schema, rule.class, classes) {
                continue;
            }
            let fault = self.fault_of_value(
                &entry,
                |of| rule.has(schema, of),
                |_, value| rule.fault(value, Directory::Shard(read_point), &mut evaluator),
            );
            let count = |of: &TypeId| {
                let slots = entry.shape.slots.iter().enumerate();
                let slots = slots.filter(|(_, slot)| schema.is_subtype(slot.description.attribute_type, *of));
                let count = slots.map(|(at, _)| match entry.slot(at) {
                    Values::Inline(values) => values.count(),
                    Values::Set(set) => set.count as usize,
                });
                rule.count_fault(count.sum()).zip(Some(*of))
            };
            let fault = fault.map(|(fault, of)| (fault, of.attribute_type));
            if let Some((fault, of)) = fault.or_else(|| rule.types.iter().find_map(count)) {
                let attribute = schema.attribute_type(of).name();
                let entry = self.shown(&entry);
                (self.found)(format!("constraint {}: {fault} of {attribute}, {entry}", rule.name))?;
            }
        }
        self.evaluator = evaluator;
        ControlFlow::Continue(())
    }

    /// Is each value the name of an entry?
    fn references(&mut self, rule: &References) -> ControlFlow<()> {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let mut cache = DnCache::default();
        for entry in self.entries(rule.subtree.as_ref()) {
            let fault = self.fault_of_value(
                &entry,
                |of| rule.has(schema, of),
                |of, value| {
                    (!exists(schema, (of, value), Directory::Shard(read_point), &mut cache)).then_some(ABSENT)
                },
            );
            if let Some((fault, of)) = fault {
                let attribute = schema.attribute_type(of.attribute_type).name();
                let (name, entry) = (&rule.name, self.shown(&entry));
                (self.found)(format!("constraint {name}: {fault} of {attribute}, {entry}"))?;
            }
        }
        ControlFlow::Continue(())
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
