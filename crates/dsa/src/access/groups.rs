//! Groups that rules name: their members, also those of groups in them, and whether they have changed.

use model::filter::Assertion;
use model::{Csn, EntryId, Filter, TypeId};
use schema::Schema;
use std::collections::BTreeSet;
use store::search::Compiled;
use store::search::evaluate::{Evaluator, Truth};
use store::{DnCache, EntryRef, ReadPoint, Values};

/// Attributes whose values are DNs of members, and the one whose values are their uids.
const MEMBERS: [&str; 2] = ["member", "uniqueMember"];
const MEMBER_UID: &str = "memberUid";
const UID: &str = "uid";
/// Levels of groups in groups.
const NESTED_MAX: usize = 32;
/// Groups in a group, at all levels.
const GROUPS_MAX: usize = 65_536;

/// What a thread knows of the groups in rules.
#[derive(Default)]
pub(super) struct Groups {
    /// By DN as the rule has it: the group, and those in it.
    known: Vec<(String, Option<Vec<Version>>)>,
    /// Commit sequence at which all of this was true.
    sequence: u64,
}

/// A group, as it was.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    id: EntryId,
    created: Csn,
    modified: Option<Csn>,
}

impl Version {
    fn of(entry: &EntryRef<'_>) -> Version {
        let stamps = entry.stamps();
        Version { id: entry.id, created: stamps.created, modified: stamps.modified.map(|(csn, _)| csn) }
    }
}

impl Groups {
    /// Takes other groups.
    pub(super) fn set(&mut self, names: &[String]) {
        self.known = names.iter().map(|name| (name.clone(), None)).collect();
        self.sequence = 0;
    }

    /// Commit sequence at which it was last looked whether they have changed.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Is there any?
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Looks whether a group has changed. `true` if one has: who was a member may be none.
    pub(super) fn have_changed(&mut self, read_point: ReadPoint<'_>, cache: &mut DnCache) -> bool {
        let sequence = read_point.sequence();
        if self.known.is_empty() || std::mem::replace(&mut self.sequence, sequence) == sequence {
            return false;
        }
        let mut changed = false;
        for (dn, versions) in &mut self.known {
            let found = read_point.resolve(dn.as_bytes(), cache).ok().and_then(|id| read_point.entry(id));
            let is_same = match (&found, &*versions) {
                (None, None) => true,
                (Some(entry), Some(versions)) => {
                    versions.first() == Some(&Version::of(entry))
                        && versions[1..].iter().all(|version| {
                            read_point.entry(version.id).is_some_and(|entry| Version::of(&entry) == *version)
                        })
                }
                _ => false,
            };
            if !is_same {
                *versions = found.map(|entry| with_nested(entry, read_point, cache));
                changed = true;
            }
        }
        changed
    }

    /// Is a requester a member of a group? Undefined if there is none.
    pub(super) fn is_member(
        &mut self,
        (dn, own): (&[u8], Option<&EntryRef<'_>>),
        (group, nested): (&str, bool),
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Truth {
        let known = self.known.iter().find(|(name, _)| name == group);
        let Some((_, Some(versions))) = known else { return Truth::Undefined };
        let compiled = asks_for(dn, own, read_point);
        let groups = if nested { &versions[..] } else { &versions[..1] };
        for version in groups {
            let Some(entry) = read_point.entry(version.id) else { return Truth::Undefined };
            if evaluator.evaluate(&compiled, &entry, read_point) == Truth::True {
                return Truth::True;
            }
        }
        Truth::False
    }
}

/// True of the groups that a requester is a direct member of.
pub(crate) fn asks_for(dn: &[u8], own: Option<&EntryRef<'_>>, read_point: ReadPoint<'_>) -> Compiled {
    let schema = read_point.shard().schema();
    let uids = own.map_or(Vec::new(), |own| values_of(own, UID, schema, read_point));
    let equality = |attribute: &'static str, value| {
        Filter::Equality(Assertion { attribute: attribute.as_bytes(), value })
    };
    let mut items: Vec<Filter<'_>> = MEMBERS.iter().map(|name| equality(name, dn)).collect();
    items.extend(uids.iter().map(|uid| equality(MEMBER_UID, uid)));
    Compiled::new(&Filter::Or(items), read_point.shard(), &|_| true)
}

/// Values of an attribute of an entry that are no big set.
fn values_of(entry: &EntryRef<'_>, name: &str, schema: &Schema, read_point: ReadPoint<'_>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    if let Some(attribute_type) = schema.find_type(name.as_bytes()) {
        each_value(entry, attribute_type, read_point, &mut |value| found.push(value.to_vec()));
    }
    found
}

/// Calls `each` with every value of an attribute, whatever its options are.
pub(crate) fn each_value(
    entry: &EntryRef<'_>,
    attribute_type: TypeId,
    read_point: ReadPoint<'_>,
    each: &mut dyn FnMut(&[u8]),
) {
    for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
        match values {
            _ if slot.description.attribute_type != attribute_type => {}
            Values::Inline(values) => values.for_each(&mut *each),
            Values::Set(set) => {
                let mut position = Default::default();
                while read_point.set_values(&set, &mut position, &mut *each) {}
            }
        }
    }
}

/// A group and the groups in it, each once: circles end by themselves.
fn with_nested(group: EntryRef<'_>, read_point: ReadPoint<'_>, cache: &mut DnCache) -> Vec<Version> {
    let schema = read_point.shard().schema();
    let members: Vec<TypeId> = MEMBERS.iter().filter_map(|name| schema.find_type(name.as_bytes())).collect();
    let is_group = |entry: &EntryRef<'_>| {
        entry.shape.slots.iter().any(|slot| members.contains(&slot.description.attribute_type))
    };
    let (mut found, mut seen) = (vec![Version::of(&group)], BTreeSet::new());
    seen.insert(group.id);
    let mut level = vec![group.id];
    for _ in 0..NESTED_MAX {
        let mut next = Vec::new();
        for id in std::mem::take(&mut level) {
            let Some(entry) = read_point.entry(id) else { continue };
            for attribute_type in &members {
                each_value(&entry, *attribute_type, read_point, &mut |dn| {
                    let Ok(id) = read_point.resolve(dn, cache) else { return };
                    let Some(member) = read_point.entry(id).filter(|member| is_group(member)) else { return };
                    if found.len() < GROUPS_MAX && seen.insert(id) {
                        found.push(Version::of(&member));
                        next.push(id);
                    }
                });
            }
        }
        level = next;
    }
    found
}
