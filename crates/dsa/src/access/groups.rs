//! Groups that rules name: their members, also those of groups in them, and whether they have changed.
//!
//! Membership is asked of the group and not of the person: one filter on the group's entry, by the hash of the DN in a large set.
//! So a group of a million members costs no memory here, and a member more or less is seen at once.
//!
//! What is kept is which groups are in a group, for finding them takes a look at every member. Each comes with the stamps of the
//! version that was looked at. Versions are compared once for each read point, one lookup by name and one of a record for a group, and only where rules name
//! groups at all. If one differs, the classes of all requesters are made anew: a right that hung on the membership is gone with
//! the next bundle of every session.

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
/// Classes of groups.
const CLASSES: [&str; 5] =
    ["groupOfNames", "groupOfMembers", "groupOfUniqueNames", "posixGroup", "groupOfURLs"];
/// The attribute whose values are searches that find members (RFC 4516).
const MEMBER_URL: &str = "memberURL";
/// Groups that are known though no rule names them.
const NAMED_MAX: usize = 256;
/// Levels of groups in groups.
const NESTED_MAX: usize = 32;
/// Groups in a group, at all levels.
const GROUPS_MAX: usize = 65_536;

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
}

/// What is known of a group.
struct Known {
    /// DN as the rule or the entry has it.
    name: String,
    /// The group, and those in it. None if there is no such group.
    versions: Option<Vec<Found>>,
    /// A few of its members are no entries.
    is_dangling: bool,
    /// Members are found by searches: a change of their own entries makes them members, or takes them out.
    is_dynamic: bool,
    /// Commit sequence at which this was true.
    sequence: u64,
}

impl Known {
    fn of(name: &str) -> Known {
        Known { name: name.to_owned(), versions: None, is_dangling: false, is_dynamic: false, sequence: 0 }
    }

    /// Looks whether the group has changed, or one in it. `true` if one has.
    /// It must notice each way in which a membership can end: the group is changed, is deleted, or is another entry
    /// under the same name; or one of the groups in it is, or has another name by now and is a member no more.
    fn has_changed(&mut self, read_point: ReadPoint<'_>, cache: &mut DnCache) -> bool {
        let sequence = read_point.sequence();
        let before = std::mem::replace(&mut self.sequence, sequence);
        if before == sequence {
            return false;
        }
        // A group that is moved with its superior is another member by name, though no group was changed.
        let names_hold = before < sequence && read_point.names_hold_since(before);
        let mut text = Vec::new();
        let found = read_point.resolve(self.name.as_bytes(), cache).ok().and_then(|id| read_point.entry(id));
        let found = found.filter(|entry| is_group(entry, read_point.shard().schema()));
        let is_same = match (&found, &self.versions) {
            (None, None) => true,
            // A member that is no entry becomes a group by an add, or by a rename. Most updates are neither.
            (Some(entry), Some(versions))
                if !self.is_dangling || (names_hold && read_point.nothing_added_since(before)) =>
            {
                versions.first().is_some_and(|(first, _)| *first == Version::of(entry))
                    && versions[1..].iter().all(|(version, name)| {
                        read_point.entry(version.id).is_some_and(|entry| {
                            Version::of(&entry) == *version
                                && (names_hold || {
                                    text.clear();
                                    read_point.write_dn(&entry, cache, &mut text);
                                    text == **name
                                })
                        })
                    })
            }
            _ => false,
        };
        if !is_same {
            let former = self.versions.take();
            (self.versions, self.is_dangling) = match found {
                Some(entry) => {
                    let (versions, is_dangling) = with_nested(entry, read_point, cache);
                    (Some(versions), is_dangling)
                }
                None => (None, false),
            };
            let member_url = read_point.shard().schema().find_type(MEMBER_URL.as_bytes());
            let groups =
                self.versions.iter().flatten().filter_map(|(version, _)| read_point.entry(version.id));
            self.is_dynamic = groups
                .flat_map(|group| group.shape.slots.iter().map(|slot| slot.description.attribute_type))
                .any(|attribute| Some(attribute) == member_url);
            return former != self.versions;
        }
        false
    }

    /// Is somebody a member? Undefined if there is no such group.
    /// A group that is gone in between is undefined and not empty: a rule that denies its members still denies.
    fn has_member(
        &self,
        (dn, own): (&[u8], Option<&EntryRef<'_>>),
        nested: bool,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Truth {
        let Some(versions) = &self.versions else { return Truth::Undefined };
        let compiled = asks_for(dn, own, read_point);
        let groups = if nested { &versions[..] } else { &versions[..1] };
        let mut doubt = Truth::False;
        for (version, _) in groups {
            let Some(entry) = read_point.entry(version.id) else { return Truth::Undefined };
            if evaluator.evaluate(&compiled, &entry, read_point) == Truth::True {
                return Truth::True;
            }
            match found_by_url((dn, own), &entry, read_point) {
                Truth::True => return Truth::True,
                Truth::Undefined => doubt = Truth::Undefined,
                Truth::False => {}
            }
        }
        doubt
    }
}

/// Is somebody found by one of the searches that a group's members are? Undefined if one of them cannot be made here.
fn found_by_url(
    (dn, own): (&[u8], Option<&EntryRef<'_>>),
    group: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
) -> Truth {
    let schema = read_point.shard().schema();
    let Some(member_url) = schema.find_type(MEMBER_URL.as_bytes()) else { return Truth::False };
    let mut urls = Vec::new();
    each_value(group, member_url, read_point, &mut |url| urls.push(url.to_vec()));
    if urls.is_empty() {
        return Truth::False;
    }
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
/// A group, as it was, and the DN by which another one has it as a member.
type Found = (Version, Box<[u8]>);

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
}

impl Groups {
    /// Takes the groups that other rules name. What was remembered of groups of the rules before is dropped, also of those that stay: rules change
    /// seldom, and a look at a group is cheap.
    pub(super) fn set(&mut self, names: &[String]) {
        self.of_rules = names.len();
        self.known = names.iter().map(|name| Known::of(name)).collect();
        self.sequence = 0;
    }

    /// Commit sequence at which it was last looked whether they have changed.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Has one that a rule names members that are found by searches?
    pub(super) fn are_dynamic(&self) -> bool {
        self.known[..self.of_rules].iter().any(|known| known.is_dynamic)
    }

    /// Does no rule name any?
    pub(super) fn is_empty(&self) -> bool {
        self.of_rules == 0
    }

    /// Looks whether a group has changed that a rule names. `true` if one has: who was a member may be none.
    pub(super) fn have_changed(&mut self, read_point: ReadPoint<'_>, cache: &mut DnCache) -> bool {
        self.sequence = read_point.sequence();
        let of_rules = self.known[..self.of_rules].iter_mut();
        // Each of them is looked at, also behind one that has changed.
        of_rules.filter_map(|known| known.has_changed(read_point, cache).then_some(())).count() > 0
    }

    /// Is somebody a member of a group that a rule names? Undefined if there is none.
    pub(super) fn is_member(
        &self,
        somebody: (&[u8], Option<&EntryRef<'_>>),
        (group, nested): (&str, bool),
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Truth {
        let known = self.known[..self.of_rules].iter().find(|known| known.name == group);
        known.map_or(Truth::Undefined, |known| known.has_member(somebody, nested, read_point, evaluator))
    }

    /// As [`Groups::is_member`], of a group that an entry names. It is remembered, and looked at anew when something has changed.
    pub(crate) fn is_member_of_named(
        &mut self,
        somebody: (&[u8], Option<&EntryRef<'_>>),
        (group, nested): (&str, bool),
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Truth {
        let at = self.known.iter().position(|known| known.name == group).unwrap_or_else(|| {
            // The first of those that entries name makes way, none of a rule does.
            if self.known.len() >= self.of_rules + NAMED_MAX {
                self.known.remove(self.of_rules);
            }
            self.known.push(Known::of(group));
            self.known.len() - 1
        });
        self.known[at].has_changed(read_point, &mut evaluator.cache);
        self.known[at].has_member(somebody, nested, read_point, evaluator)
    }
}

/// True of the groups that a requester is a direct member of.
/// One search for all kinds of groups, instead of one for each: what a requester is a member of by DN, and by its uid in groups of POSIX.
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
/// Of a large set a leaf at a time, so that nothing of the tree stays borrowed while `each` runs.
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

/// Is an entry a group? One of another class is none, whatever attributes it has.
/// Its classes and their superclasses are asked, so that a class of one's own below groupOfNames counts.
fn is_group(entry: &EntryRef<'_>, schema: &Schema) -> bool {
    let known = CLASSES.iter().filter_map(|name| schema.find_class(name.as_bytes()));
    let own = entry.shape.class_values.iter().filter_map(|name| schema.find_class(name));
    own.flat_map(|own| known.clone().map(move |known| (own, known)))
        .any(|(own, known)| schema.is_subclass(own, known))
}

/// A group and the groups in it, each once: circles end by themselves. Also whether a few of the members are no entries.
/// It is breadth first, so the depth that is allowed is counted in rounds, and no member makes the stack grow. An
/// attacker who may write groups can make them large, deep and circular; the bounds hold for the sum of all levels.
fn with_nested(group: EntryRef<'_>, read_point: ReadPoint<'_>, cache: &mut DnCache) -> (Vec<Found>, bool) {
    let schema = read_point.shard().schema();
    let members: Vec<TypeId> = MEMBERS.iter().filter_map(|name| schema.find_type(name.as_bytes())).collect();
    let (mut found, mut seen) = (vec![(Version::of(&group), Box::default())], BTreeSet::new());
    seen.insert(group.id);
    let (mut members_looked_at, mut is_dangling) = (0, false);
    let mut level = vec![group.id];
    for _ in 0..NESTED_MAX {
        let mut next = Vec::new();
        for id in std::mem::take(&mut level) {
            let Some(entry) = read_point.entry(id) else { continue };
            for attribute_type in &members {
                each_value(&entry, *attribute_type, read_point, &mut |dn| {
                    members_looked_at += 1;
                    let Ok(id) = read_point.resolve(dn, cache) else {
                        is_dangling = true;
                        return;
                    };
                    let Some(member) = read_point.entry(id).filter(|member| is_group(member, schema)) else {
                        return;
                    };
                    if found.len() < GROUPS_MAX && seen.insert(id) {
                        found.push((Version::of(&member), read_point.dn(&member, cache).into()));
                        next.push(id);
                    }
                });
            }
        }
        level = next;
    }
    (found, is_dangling && members_looked_at <= DANGLING_MAX)
}
