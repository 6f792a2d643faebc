//! What refers to the entries that an update deletes or renames. It is found out before the
//! update; the operation changes it behind the update.
//!
//! A rename is about all entries below the renamed one, for each has another name then.

use super::Judging;
use super::directory::{Directory, Wanted};
use super::references::{ABSENT, References, exists};
use crate::faults;
use env::planted;
use model::{Description, EntryId, TypeId};
use schema::Schema;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use store::search::Holding;
use store::{Made, ReadPoint, Refused, Values};

/// What refers to entries that an update deletes or renames.
#[derive(Default)]
pub(crate) struct Referring {
    /// By the entries that have the values.
    pub(crate) holders: BTreeMap<u32, Vec<Reference>>,
}

/// A value that is the name of an entry.
pub(crate) struct Reference {
    /// For texts: the name of the constraint.
    pub(crate) constraint: String,
    /// The attribute.
    pub(crate) description: Description,
    /// The name.
    pub(crate) was: Vec<u8>,
    /// Whose name it is.
    pub(crate) target: EntryId,
    /// What takes its place when it goes.
    pub(crate) nothing: Option<Vec<u8>>,
}

impl Judging<'_> {
    /// What refers to the entry with this DN, and if it is renamed to those below it. Nothing
    /// of an update that is refused anyhow.
    ///
    /// # Errors
    /// It is more than one update may look at.
    pub(crate) fn references(
        &self,
        dn: &[u8],
        is_rename: bool,
        at: ReadPoint<'_>,
    ) -> Result<Referring, Refused> {
        let mut referring = Referring::default();
        if self.in_force().references.is_empty() || (!is_rename && planted::is(faults::REFERENCES_LEFT)) {
            return Ok(referring);
        }
        let directory = self.directory(at);
        let Some(entry) = self.find(dn, directory) else { return Ok(referring) };
        if !is_rename && directory.subordinates(entry) > 0 {
            return Ok(referring);
        }
        for rule in &self.in_force().references {
            let base = match &rule.subtree {
                None => None,
                Some(subtree) => match self.base(subtree, directory) {
                    None => continue,
                    base => base,
                },
            };
            // From the entry down. What is to be looked at is no longer than the limit, and a
            // slice of subordinates.
            let (mut targets, mut looked_at) = (vec![entry], 1);
            while let Some(target) = targets.pop() {
                // As it is before the update; in a transaction, as the updates before it have
                // made it.
                let name = directory.dn(target);
                looked_at +=
                    self.refer((rule, base), (target, &name), directory, &mut referring, looked_at)?;
                if is_rename {
                    directory.children(target, &mut |below| {
                        targets.push(below);
                        looked_at += 1;
                        if looked_at > rule.limit {
                            ControlFlow::Break(())
                        } else {
                            ControlFlow::Continue(())
                        }
                    });
                }
                if looked_at > rule.limit {
                    return Err(rule.limit_reached());
                }
            }
        }
        // What goes need not be changed.
        if !is_rename {
            referring.holders.remove(&entry.0);
        }
        Ok(referring)
    }

    /// Finds what refers to one entry, in the attributes of a rule. An entry that has the name
    /// in several of them counts several times. Returns how many entries do.
    fn refer(
        &self,
        (rule, base): (&References, Option<EntryId>),
        (target, name): (EntryId, &[u8]),
        directory: Directory<'_>,
        referring: &mut Referring,
        looked_at: u32,
    ) -> Result<u32, Refused> {
        let (schema, mut count) = (self.schema(), 0);
        let may_be = |id: EntryId| base.is_none_or(|base| directory.is_within(id, base));
        for attribute_type in &rule.types {
            let wanted =
                Wanted { attribute_type: *attribute_type, value: name, may_be: &may_be, filter: None };
            let mut holders = Vec::new();
            self.evaluating(|evaluator| {
                directory.holders(&wanted, evaluator, &mut |holder| {
                    holders.push(holder);
                    count += 1;
                    match looked_at + count > rule.limit {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
            });
            if looked_at + count > rule.limit {
                return Err(rule.limit_reached());
            }
            for holder in holders {
                let Some((entry, at)) = directory.entry(holder) else { continue };
                for (place, slot) in entry.shape.slots.iter().enumerate() {
                    let description = slot.description;
                    if !schema.is_subtype(description.attribute_type, *attribute_type) {
                        continue;
                    }
                    let (has, is_last) = match entry.slot(place) {
                        Values::Inline(values) => has_name(schema, description.attribute_type, values, name),
                        Values::Set(_) => {
                            let holding = Holding::described(directory.indexed(), description, name);
                            let is = |evaluator: &mut _| holding.is_true_of(&entry, at, evaluator);
                            // In an overlay the value may not have been copied yet.
                            (self.is_in_overlay() || self.evaluating(is), false)
                        }
                    };
                    if has {
                        let nothing = rule.nothing.clone().filter(|_| is_last);
                        let (constraint, was) = (rule.name.clone(), name.to_vec());
                        let reference = Reference { constraint, description, was, target, nothing };
                        referring.holders.entry(holder.0).or_default().push(reference);
                    }
                }
            }
        }
        Ok(count)
    }

    /// Judges that the values which come into the subtree are names of entries.
    pub(super) fn judge_references(
        &self,
        rule: &References,
        made: &Made<'_>,
        directory: Directory<'_>,
    ) -> Result<(), Refused> {
        if !rule.must_exist {
            return Ok(());
        }
        let Some(place) = self.place((&rule.name, rule.subtree.as_ref()), made, directory)? else {
            return Ok(());
        };
        let schema = self.schema();
        let concerns = |attribute_type| rule.has(schema, attribute_type);
        made.new_values(!place.was_in, &concerns, &mut |description, value| {
            let of = description.attribute_type;
            match self.evaluating(|evaluator| exists(schema, (of, value), directory, &mut evaluator.cache)) {
                true => Ok(()),
                false => Err(self.violated((&rule.name, ABSENT), of, Some(value))),
            }
        })
    }
}

/// Is one of these values the name, and is it the only one? Two spellings of one name have the
/// same normal form, by the rule of the attribute.
fn has_name<'v>(
    schema: &Schema,
    attribute_type: TypeId,
    values: impl Iterator<Item = &'v [u8]>,
    name: &[u8],
) -> (bool, bool) {
    let normal = |value: &[u8]| {
        let mut normal = Vec::new();
        schema.normalise_equality(attribute_type, value, &mut normal).ok().map(|()| normal)
    };
    let (wanted, mut count, mut has) = (normal(name), 0, false);
    for value in values {
        count += 1;
        has |= value == name || (wanted.is_some() && normal(value) == wanted);
    }
    (has, has && count == 1)
}
