//! Groups that rules name: their members, also those of groups in them, and whether they have changed.
//!
//! Membership is asked of the group and not of the person: one filter on the group's entry, by the hash of the DN in a large set.
//! So a group of a million members costs no memory here, and a member more or less is seen at once.
//!
//! What is kept is which groups are in a group, for finding them takes a look at every member. Each comes with the stamps of the
//! version that was looked at. Versions are compared once for each read point, one lookup by name and one of a record for a group, and only where rules name
//! groups at all. If one differs, the classes of all requesters are made anew: a right that hung on the membership is gone with
//! the next bundle of every session.
//!
//! Of a large group that has changed only the values are looked at that came and went ([`store::ReadPoint::changed_values`]). If none of them is
//! the name of a group, the groups in it are the same. All members are looked at once, when rules first name the group.

use super::candidate::{Candidate, MEMBER_UID, MEMBERS, each_value};
use super::group_terms::GroupTerms;
use super::member_urls::MEMBER_URL;
use crate::faults::holes;
use env::planted;
use model::{Csn, EntryId, TypeId};
use schema::{Rule, Schema};
use std::collections::{BTreeMap, BTreeSet};
use store::search::evaluate::{Evaluator, Truth};
use store::{DnCache, EntryRef, ReadPoint, ValueSet, Values};

/// Groups that are known though no rule names them.
const NAMED_MAX: usize = 256;
/// Levels of groups in groups.
pub(super) const NESTED_MAX: usize = 32;
/// Groups in a group, at all levels.
pub(super) const GROUPS_MAX: usize = 65_536;

/// Members of a group, at all levels, that are looked for again while some of them are no entries: one may become a group.
const DANGLING_MAX: usize = 4_096;

/// What a thread knows of groups: of those that rules name, and behind these of those that entries name.
#[derive(Default)]
pub(crate) struct Groups {
    known: Vec<Known>,
    /// Commit sequence at which what is known of those that rules name was true.
    sequence: u64,
    /// How many of them rules name.
    of_rules: usize,
    /// What makes a group of an entry, by the schema of this generation. It is asked at every read point.
    terms: Option<(u64, GroupTerms)>,
}

/// What is known of a group.
struct Known {
    /// DN as the rule or the entry has it.
    name: String,
    /// The group, and those in it. None if there is no such group.
    versions: Option<Vec<Found>>,
    /// A few of its members are no entries.
    is_dangling: bool,
    /// There are more members than are looked through for a change of some.
    is_large: bool,
    /// Members are found by searches: a change of their own entries makes them members, or takes them out.
    is_dynamic: bool,
    /// Commit sequence at which this was true.
    sequence: u64,
}

impl Known {
    fn of(name: &str) -> Known {
        let (name, versions) = (name.to_owned(), None);
        Known { name, versions, is_dangling: false, is_large: false, is_dynamic: false, sequence: 0 }
    }

    /// Looks whether the group has changed, or one in it. `true` if one has.
    /// It must notice each way in which a membership can end: the group is changed, is deleted, or is another entry
    /// under the same name; or one of the groups in it is, or has another name by now and is a member no more.
    fn has_changed(&mut self, terms: GroupTerms, read_point: ReadPoint<'_>, cache: &mut DnCache) -> bool {
        let sequence = read_point.sequence();
        let before = std::mem::replace(&mut self.sequence, sequence);
        if before == sequence {
            return false;
        }
        // A group that is moved with its superior is another member by name, though no group was changed.
        let names_hold = before < sequence && read_point.names_hold_since(before);
        let found = read_point.resolve(self.name.as_bytes(), cache).ok().and_then(|id| read_point.entry(id));
        let schema = read_point.shard().schema();
        let found = found.filter(|entry| terms.is_group(entry, schema));
        let kept = match (&found, &mut self.versions) {
            (None, None) => Kept::Same,
            // A member that is no entry becomes a group by an add, or by a rename. Most updates are neither.
            (Some(entry), Some(versions))
                if versions.first().is_some_and(|first| first.version.is_of(entry))
                    && (!self.is_dangling || (names_hold && read_point.nothing_added_since(before))) =>
            {
                let since = (before, names_hold);
                keep(versions, since, self.is_large, read_point, cache)
            }
            _ => Kept::Lost,
        };
        if kept == Kept::Same || (planted::is(holes::MEMBER_STAYS) && self.versions.is_some()) {
            return false;
        }
        if kept == Kept::Lost {
            let former = self.versions.take();
            if let Some(entry) = found {
                let nested = with_nested(entry, read_point, cache);
                self.is_large = nested.looked_at > DANGLING_MAX;
                self.is_dangling = nested.is_dangling && !self.is_large;
                self.versions = Some(nested.found);
            }
            if former == self.versions {
                return false;
            }
        }
        let member_url = terms.member_url();
        let groups = self.versions.iter().flatten().filter_map(|found| read_point.entry(found.version.id));
        self.is_dynamic = groups
            .flat_map(|group| group.shape.slots.iter().map(|slot| slot.description.attribute_type))
            .any(|attribute| Some(attribute) == member_url);
        true
    }

    /// Is somebody a member? Undefined if there is no such group.
    /// A group that is gone in between is undefined and not empty: a rule that denies its members still denies.
    fn has_member(
        &self,
        who: &Candidate<'_>,
        nested: bool,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Truth {
        let Some(versions) = &self.versions else { return Truth::Undefined };
        let groups = if nested { &versions[..] } else { &versions[..1] };
        let mut doubt = Truth::False;
        for found in groups {
            let Some(entry) = read_point.entry(found.version.id) else { return Truth::Undefined };
            if lists(&entry, who, read_point, evaluator) {
                return Truth::True;
            }
            // Nearly no group has members of this kind.
            if self.is_dynamic {
                match found_by_url(who, &entry, read_point) {
                    Truth::True => return Truth::True,
                    Truth::Undefined => doubt = Truth::Undefined,
                    Truth::False => {}
                }
            }
        }
        doubt
    }
}

/// Does a group list somebody among its members? In a set it is looked up by its name.
///
/// Not by the evaluation of a filter on the group: that brings each member of a small group into its normal form, and a bind asks this of each
/// group in a rule and of all groups in these. Here a member with another first word is passed over.
fn lists(
    group: &EntryRef<'_>,
    who: &Candidate<'_>,
    read_point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
) -> bool {
    let schema = read_point.shard().schema();
    let (mut form, mut by_uid) = (Vec::new(), false);
    for (slot, values) in group.shape.slots.iter().zip(group.slots()) {
        let description = slot.description;
        match schema.attribute_type(description.attribute_type).equality {
            Some(Rule::DistinguishedName | Rule::UniqueMember) => {}
            _ => {
                by_uid |= is_one_of(schema, description.attribute_type, &[MEMBER_UID]);
                continue;
            }
        }
        let Some(name) = who.name(schema) else { continue };
        if !is_one_of(schema, description.attribute_type, &MEMBERS) {
            continue;
        }
        let mut is_it = |value: &[u8]| name.is(schema, description, value, &mut form);
        let is_there = match values {
            Values::Inline(mut values) => values.any(&mut is_it),
            // The normal form of a name is the same whether or not it could have a UID.
            Values::Set(set) => read_point.find_in_set(&set, name.key(), is_it).is_some(),
        };
        if is_there {
            return true;
        }
    }
    by_uid && evaluator.evaluate(who.by_uid(read_point), group, read_point) == Truth::True
}

/// Is a type one of these, or a subtype of one?
fn is_one_of(schema: &Schema, id: TypeId, names: &[&str]) -> bool {
    names.iter().any(|name| {
        // By its name first: that is a comparison of short texts.
        schema.attribute_type(id).name() == *name
            || schema.find_type(name.as_bytes()).is_some_and(|of| schema.is_subtype(id, of))
    })
}

/// Is somebody found by one of the searches that a group's members are? Undefined if one of them cannot be made here.
fn found_by_url(who: &Candidate<'_>, group: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Truth {
    let schema = read_point.shard().schema();
    let Some(member_url) = schema.find_type(MEMBER_URL.as_bytes()) else { return Truth::False };
    let mut urls = Vec::new();
    each_value(group, member_url, read_point, &mut |url| urls.push(url.to_vec()));
    if urls.is_empty() {
        return Truth::False;
    }
    let (dn, own) = (who.dn(), who.entry());
    let Some(name) = ::access::Name::parse(schema, dn) else { return Truth::Undefined };
    let plain = own.and_then(|own| plain_entry(dn, own, read_point));
    let who = ::access::group::Candidate { name: &name, entry: plain.as_ref() };
    let all = ::access::Truth::any(urls.iter().map(|url| ::access::group::matches_url(schema, url, &who)));
    match all {
        ::access::Truth::True => Truth::True,
        ::access::Truth::False => Truth::False,
        ::access::Truth::Undefined => Truth::Undefined,
    }
}

/// An entry as plain text and octets, as the plain evaluation of rules looks at it. It is a copy of all values, so it is made only where a
/// group is found by a search that is about the requester.
fn plain_entry(dn: &[u8], entry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Option<::access::Entry> {
    let schema = read_point.shard().schema();
    let classes = entry.shape.class_values.iter().map(|value| value.to_vec()).collect();
    let mut attributes = vec![("objectClass".to_owned(), classes)];
    for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
        let mut found = Vec::new();
        match values {
            Values::Inline(values) => found.extend(values.map(<[u8]>::to_vec)),
            Values::Set(set) => {
                let mut position = Default::default();
                while read_point.set_values(&set, &mut position, |value| found.push(value.to_vec())) {}
            }
        }
        attributes.push((schema.describe(slot.description).into_owned(), found));
    }
    ::access::Entry::new(schema, std::str::from_utf8(dn).ok()?, attributes)
}

/// A group, as it was, and what it has of groups.
#[derive(PartialEq, Eq)]
struct Found {
    version: Version,
    /// The DN by which another one has it as a member.
    name: Box<[u8]>,
    /// The groups among its members.
    groups: Vec<EntryId>,
    /// Where its members are, if all of them are in sets.
    sets: Option<Vec<ValueSet>>,
}

/// A group, as it was. A change of it moves the time of its last change; an entry that took its place has another time of creation.
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

    /// Is it one of this entry, changed or not?
    fn is_of(&self, entry: &EntryRef<'_>) -> bool {
        (self.id, self.created) == (entry.id, entry.stamps().created)
    }
}

/// What became of the groups that are known to be in a group.
/// Also where it is the same groups, the members may be others: that is why a change of any of them is one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// None has changed.
    Same,
    /// Some have other members, and there are the same groups in them.
    Changed,
    /// There may be others. They are to be looked for.
    Lost,
}

/// Looks which of these groups have changed since an earlier read point, and whether they are still all that there are. `is_large`: it is worth to
/// look at what has changed of their members.
///
/// What may make other groups of it, and where each is noticed:
///
/// - A group comes or goes as a member: it is among the values that came and went, or the members are looked through.
/// - A group that is known is deleted, or another entry has its id: its time of creation differs.
/// - It has another name, or its superior has: names have changed, and the name that it is a member by is compared.
/// - It is no group any more: its own version differs, and its class is asked again.
/// - A member that was no entry becomes a group: of a small group the caller looks for entries that were added. A large one with such
///   members is not looked through for that.
fn keep(
    versions: &mut [Found],
    (since, names_hold): (u64, bool),
    is_large: bool,
    read_point: ReadPoint<'_>,
    cache: &mut DnCache,
) -> Kept {
    let (mut kept, mut text) = (Kept::Same, Vec::new());
    // Nearly always none has changed, and nothing is made.
    let mut kinds = None;
    for (at, found) in versions.iter_mut().enumerate() {
        let Some(entry) = read_point.entry(found.version.id).filter(|entry| found.version.is_of(entry))
        else {
            return Kept::Lost;
        };
        // The first is found by its name.
        if at > 0 && !names_hold {
            text.clear();
            read_point.write_dn(&entry, cache, &mut text);
            if text != *found.name {
                return Kept::Lost;
            }
        }
        let version = Version::of(&entry);
        if version == found.version {
            continue;
        }
        if !is_large {
            return Kept::Lost;
        }
        let kinds = kinds.get_or_insert_with(|| Kinds::new(read_point.shard().schema()));
        if !kinds.is_group(&entry) {
            return Kept::Lost;
        }
        let sets = kinds.sets(&entry);
        match kinds.came_and_went((&found.sets, since), &sets, read_point) {
            // Whatever it was that had this name: a group that is a member no more has it still.
            Some(values) if values.iter().any(|value| kinds.group(value, read_point, cache).is_some()) => {
                return Kept::Lost;
            }
            Some(_) => {}
            None if kinds.members(&entry, read_point, cache).groups == found.groups => {}
            None => return Kept::Lost,
        }
        (found.version, found.sets, kept) = (version, sets, Kept::Changed);
    }
    kept
}

impl Groups {
    /// Takes the groups that other rules name. What is remembered of groups that stay is kept: a look at all members of a large one takes long.
    pub(super) fn set(&mut self, names: &[String]) {
        self.of_rules = names.len();
        let mut former = std::mem::take(&mut self.known);
        let mut known = |name: &String| match former.iter().position(|known| known.name == *name) {
            Some(at) => former.swap_remove(at),
            None => Known::of(name),
        };
        self.known = names.iter().map(&mut known).collect();
        self.sequence = 0;
    }

    /// Commit sequence at which it was last looked whether they have changed.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Has one that a rule names members that are found by searches?
    pub(super) fn are_dynamic(&self) -> bool {
        self.known[..self.of_rules]
            .iter()
            .any(|known| known.is_dynamic && !planted::is(holes::FOUND_MEMBER_STAYS))
    }

    /// Does no rule name any?
    pub(super) fn is_empty(&self) -> bool {
        self.of_rules == 0
    }

    /// Looks whether a group has changed that a rule names. `true` if one has: who was a member may be none.
    pub(super) fn have_changed(&mut self, read_point: ReadPoint<'_>, cache: &mut DnCache) -> bool {
        self.sequence = read_point.sequence();
        let terms = self.terms(read_point.shard().schema());
        let of_rules = self.known[..self.of_rules].iter_mut();
        // Each of them is looked at, also behind one that has changed.
        of_rules.filter_map(|known| known.has_changed(terms, read_point, cache).then_some(())).count() > 0
    }

    /// What makes a group of an entry, looked up once for each generation of the schema.
    pub(super) fn terms(&mut self, schema: &Schema) -> GroupTerms {
        let generation = schema.generation();
        match self.terms {
            Some((of, terms)) if of == generation => terms,
            _ => self.terms.insert((generation, GroupTerms::of(schema))).1,
        }
    }

    /// Is somebody a member of a group that a rule names? Undefined if there is none.
    pub(super) fn is_member(
        &self,
        who: &Candidate<'_>,
        (group, nested): (&str, bool),
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Truth {
        let known = self.known[..self.of_rules].iter().find(|known| known.name == group);
        known.map_or(Truth::Undefined, |known| known.has_member(who, nested, read_point, evaluator))
    }

    /// As [`Groups::is_member`], of a group that an entry names. It is remembered, and looked at anew when something has changed.
    pub(crate) fn is_member_of_named(
        &mut self,
        (dn, own): (&[u8], Option<&EntryRef<'_>>),
        (group, nested): (&str, bool),
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Truth {
        let who = Candidate::new(dn, own.cloned());
        self.named(group, read_point, &mut evaluator.cache).has_member(&who, nested, read_point, evaluator)
    }

    /// A group and those in it, at all levels: each with the groups that are members of it. Empty of what is no group.
    /// No rights are asked: it is for the caller to follow those alone of which a requester may know.
    pub(super) fn nested_in(
        &mut self,
        group: &str,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> Vec<(EntryId, Vec<EntryId>)> {
        let known = self.named(group, read_point, cache);
        known.versions.iter().flatten().map(|found| (found.version.id, found.groups.clone())).collect()
    }

    /// What is known of a group that no rule need name, as it is at a read point.
    fn named(&mut self, group: &str, read_point: ReadPoint<'_>, cache: &mut DnCache) -> &Known {
        let at = self.known.iter().position(|known| known.name == group).unwrap_or_else(|| {
            // The first of those that entries name makes way, none of a rule does.
            if self.known.len() >= self.of_rules + NAMED_MAX {
                self.known.remove(self.of_rules);
            }
            self.known.push(Known::of(group));
            self.known.len() - 1
        });
        let terms = self.terms(read_point.shard().schema());
        self.known[at].has_changed(terms, read_point, cache);
        &self.known[at]
    }
}

/// What makes groups of entries, looked up once.
/// Classes are compared by their names and superclasses, which is dear for a million members; all of these have a few shapes.
pub(super) struct Kinds<'s> {
    schema: &'s Schema,
    terms: GroupTerms,
    /// The number of the last shape, and whether its entries are groups. Often there is one.
    last: Option<(u32, bool)>,
    /// The same of those before it. The members of a large group have a few shapes.
    of_shapes: BTreeMap<u32, bool>,
}

/// What the members of a group are.
struct Members {
    groups: Vec<EntryId>,
    looked_at: usize,
    /// Some of them are no entries.
    is_dangling: bool,
}

impl<'s> Kinds<'s> {
    pub(super) fn new(schema: &'s Schema) -> Kinds<'s> {
        Kinds::by(GroupTerms::of(schema), schema)
    }

    /// As [`Kinds::new`], by terms that were looked up before.
    pub(super) fn by(terms: GroupTerms, schema: &'s Schema) -> Kinds<'s> {
        Kinds { schema, terms, last: None, of_shapes: BTreeMap::new() }
    }

    /// Does its shape have a class of groups? It is worked out once for each shape.
    pub(super) fn is_group(&mut self, entry: &EntryRef<'_>) -> bool {
        let shape = entry.shape.number;
        if let Some((_, is_group)) = self.last.filter(|(last, _)| *last == shape) {
            return is_group;
        }
        self.of_shapes.extend(self.last);
        let Kinds { terms, schema, .. } = *self;
        let known = self.of_shapes.get(&shape).copied();
        let is_group = known.unwrap_or_else(|| terms.is_group(entry, schema));
        self.last = Some((shape, is_group));
        is_group
    }

    /// The group with this name.
    fn group(&mut self, dn: &[u8], read_point: ReadPoint<'_>, cache: &mut DnCache) -> Option<EntryId> {
        let entry = read_point.entry(read_point.resolve(dn, cache).ok()?)?;
        self.is_group(&entry).then_some(entry.id)
    }

    /// The groups among the members of a group, by rising id.
    fn members(&mut self, entry: &EntryRef<'_>, read_point: ReadPoint<'_>, cache: &mut DnCache) -> Members {
        let mut found = Members { groups: Vec::new(), looked_at: 0, is_dangling: false };
        for attribute_type in self.terms.members() {
            each_value(entry, attribute_type, read_point, &mut |dn| {
                found.looked_at += 1;
                let member = read_point.resolve(dn, cache).ok().and_then(|id| read_point.entry(id));
                match member {
                    Some(member) if self.is_group(&member) => found.groups.push(member.id),
                    Some(_) => {}
                    None => found.is_dangling = true,
                }
            });
        }
        found.groups.sort_unstable();
        found
    }

    /// The sets of members; none if some members are in no set.
    fn sets(&self, entry: &EntryRef<'_>) -> Option<Vec<ValueSet>> {
        let slots = entry.shape.slots.iter().zip(entry.slots());
        let of_members = slots.filter(|(slot, _)| self.terms.lists_in(slot.description.attribute_type));
        let set = |(_, values)| match values {
            Values::Set(set) => Some(set),
            Values::Inline(_) => None,
        };
        of_members.map(set).collect()
    }

    /// The members that came and went, if that is known.
    fn came_and_went(
        &self,
        (before, since): (&Option<Vec<ValueSet>>, u64),
        now: &Option<Vec<ValueSet>>,
        read_point: ReadPoint<'_>,
    ) -> Option<Vec<Box<[u8]>>> {
        let (before, now) = (before.as_ref()?, now.as_ref()?);
        let mut all = Vec::new();
        for (before, now) in before.iter().zip(now) {
            all.extend(read_point.changed_values(before, since, now)?);
        }
        (before.len() == now.len()).then_some(all)
    }
}

/// A group and the groups in it.
struct Nested {
    /// Each once: circles end by themselves.
    found: Vec<Found>,
    /// Members, at all levels.
    looked_at: usize,
    /// Some of them are no entries.
    is_dangling: bool,
}

/// A group and the groups in it.
/// It is breadth first, so the depth that is allowed is counted in rounds, and no member makes the stack grow. An
/// attacker who may write groups can make them large, deep and circular; the bounds hold for the sum of all levels.
fn with_nested(group: EntryRef<'_>, read_point: ReadPoint<'_>, cache: &mut DnCache) -> Nested {
    let mut kinds = Kinds::new(read_point.shard().schema());
    let mut nested = Nested { found: Vec::new(), looked_at: 0, is_dangling: false };
    let mut seen = BTreeSet::from([group.id]);
    let mut level = vec![group.id];
    for depth in 0..=NESTED_MAX {
        let mut next = Vec::new();
        for id in std::mem::take(&mut level) {
            let Some(entry) = read_point.entry(id) else { continue };
            let name = if depth == 0 { Box::default() } else { read_point.dn(&entry, cache).into() };
            let (version, sets) = (Version::of(&entry), kinds.sets(&entry));
            // Those of the last level count, and what is in them does not.
            let groups = match depth {
                NESTED_MAX => Vec::new(),
                _ => {
                    let members = kinds.members(&entry, read_point, cache);
                    nested.looked_at += members.looked_at;
                    nested.is_dangling |= members.is_dangling;
                    members.groups
                }
            };
            for id in &groups {
                if seen.len() < GROUPS_MAX && seen.insert(*id) {
                    next.push(*id);
                }
            }
            nested.found.push(Found { version, name, groups, sets });
        }
        level = next;
    }
    nested
}
