//! Which groups an entry is in, and who is in a group, as one who asks may know of it.
//!
//! No entry stores it. Upwards, from a member to its groups, the index on the attribute that lists members is asked, with the name of the
//! entry; downwards the group itself is read. What groups are, and which of them are in a group, is what access rules hold for it ([`super::groups`]).
//!
//! A membership is a value of the group. So it is known to those alone who would find the group by a search for that value: the group is not
//! hidden, and the value may be read where it is shown, tested where it is tested. That holds for each step from a group to one
//! that has it as a member, so what lies behind a hidden group stays hidden.
//!
//! ```text
//! of_entry     an entry is shown: upwards, by the index, one look into each group that may list it
//! find         a filter is made ready: the groups are found here, and the store gets ids, sets and searches
//! listing      the groups that list one name
//! collect      the members that one group lists
//! ```
//! Cases that are easily forgotten, and where they are decided:
//!
//! - A group is deleted, or renamed: the index is a superset of the truth, so each candidate is looked at again, at the read point.
//! - A member is renamed: the group lists the former name, which is nobody's, until it is changed. So it is with every server that keeps names.
//! - A name is spelled in another way, or has a unique identifier behind it: names are compared by their normal forms, and in small groups
//!   without the identifier. In the set of a large group such a value is found by no name, as it is for access rules.
//! - A group is a member of itself: it is met once, and is found as any other member is.
//! - An entry has members and is no group: its class is asked on both ways, so it counts on neither.
//! - The requester may see some members alone: of a small group the others are left out, of a large one the value that was looked up is judged.
//! - The read point is that of a transaction's view, or of the server's own entries: nobody is a member there.
//!
//! Nothing is remembered from one request to the next, but which groups are in a group. So nothing has to notice that a group, a name or a
//! rule has changed: all is asked at the read point of the request.

mod dynamic;

use super::class::Action;
use super::class::on_values::{Own, OwnName};
use super::group_terms::GroupTerms;
use super::groups::{GROUPS_MAX, Kinds, NESTED_MAX};
use super::member_urls::UrlSearch;
use super::requester::Requester;
use super::views::{ViewId, Views};
use crate::faults::holes;
use ::access::group::name_in;
use ::access::{Operation, Right};
use env::planted;
use model::{Description, EntryId, Filter, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::search::Compiled;
use store::search::evaluate::Evaluator;
use store::search::filter::{Found, MemberSearch, Readable};
use store::search::members::{MayTest, Members, MembersQuery, SetOfMembers};
use store::{EntryRef, ReadPoint, Values};

/// Groups of one entry, and groups of which a filter asks in one item. With more of them the former are cut, and the latter is undefined.
/// It bounds memory and time of one answer: each of these groups is looked into, for a microsecond or two.
const FOUND_MAX: usize = 16_384;
/// Without an index groups are looked for among all entries, if there are no more than these.
/// A look at an entry that is no group takes some ten nanoseconds. It is for directories that are tried out: nobody has named an index there.
const LOOKED_MAX: usize = 4_096;
/// Units of work of the searches of all groups on one entry, about five milliseconds. Each has an equal share of what those before have
/// left: one that would take more does not find the entry, and takes nothing from the others.
pub(crate) const ENTRY_WORK_MAX: u64 = 1 << 19;

/// One who asks for memberships, and by which right.
///
/// It borrows what a thread remembers of rights, for as long as one question takes. Views of groups that are made on the way may have more of
/// them forgotten, that of the entry in hand as well: who asks takes that one anew afterwards.
pub(crate) struct Memberships<'m, 'a> {
    pub(crate) views: &'m mut Views,
    pub(crate) evaluator: &'m mut Evaluator,
    pub(crate) who: Requester,
    pub(crate) operation: Operation,
    /// What is needed on the value of a group.
    pub(crate) right: Right,
    pub(crate) read_point: ReadPoint<'a>,
    /// Units of work that are left for asking whether the searches of groups find an entry ([`ENTRY_WORK_MAX`]).
    pub(crate) work: u64,
}

/// Makes a filter ready that may ask for memberships.
/// One that does not pays for a comparison of each type, and for nothing else: what finds them is called for such items alone.
///
/// The views are shared with `readable`, which asks them too. So they are borrowed for one question each, and are free when filters of URLs are
/// made ready, which ask for attributes like any other.
///
/// Collective attributes are looked at as well, in filters of URLs too: the entries show them.
pub(crate) fn compile(
    filter: &Filter<'_>,
    (read_point, readable): (ReadPoint<'_>, Readable<'_>),
    views: &RefCell<&mut Views>,
    (who, operation, right): (Requester, Operation, Right),
    evaluator: &mut Evaluator,
) -> Compiled {
    let collections = views.borrow_mut().collections(read_point, &mut evaluator.cache);
    let collections = collections.as_deref().unwrap_or_default();
    let evaluator = RefCell::new(evaluator);
    // All items of the filter have it together.
    let left = Cell::new(ENTRY_WORK_MAX);
    let find = |asked: MembersQuery<'_>| {
        let found = {
            let (views, evaluator) = (&mut **views.borrow_mut(), &mut **evaluator.borrow_mut());
            let work = left.get();
            let mut asking = Memberships { views, evaluator, who, operation, right, read_point, work };
            let found = asking.find(asked);
            left.set(asking.work);
            found?
        };
        // Attributes are asked for as they are in a search of the requester itself.
        let searches = found.searches.into_iter().map(|UrlSearch { base, scope, url, may }| {
            let filter = Compiled::looking_up(&url.filter.filter(), read_point, readable, None, collections);
            MemberSearch { base, scope, filter, may }
        });
        Some(Found { searches: searches.collect(), members: Members::new(found.ids, found.sets) })
    };
    Compiled::looking_up(filter, read_point, readable, Some(&find), collections)
}

impl<'a> Memberships<'_, 'a> {
    /// Finds what a filter asks for, in one item of it. What is hidden is as if it were not there: false and not undefined, so that a negation does not tell
    /// either. Undefined is what cannot be found at all.
    fn find(&mut self, asked: MembersQuery<'_>) -> Option<Collected> {
        // What a transaction sees has no groups but those that it changes.
        if !self.views.is_about(self.read_point) {
            return Some(Collected::default());
        }
        match asked {
            MembersQuery::Members { group, in_chain } => {
                self.members(group, in_chain || self.views.follows_groups())
            }
            MembersQuery::AnyGroup => self.of_any_group(),
            MembersQuery::Groups { attribute_type, member } => {
                self.terms().lists_in(attribute_type).then_some(())?;
                let (schema, cache) = (self.read_point.shard().schema(), &mut self.evaluator.cache);
                // In the spelling of its entry, if it has one.
                let entry =
                    self.read_point.resolve(member, cache).ok().and_then(|id| self.read_point.entry(id));
                let dn = entry.map_or_else(|| member.to_vec(), |entry| self.read_point.dn(&entry, cache));
                OwnName::new(schema, dn.clone())?;
                let groups = self.groups_of(dn, true).filter(|groups| groups.len() < FOUND_MAX)?;
                Some(Collected::of(groups))
            }
            // It is asked with each search for a member, so the index alone says whether there are any.
            MembersQuery::Finding { member } => {
                let groups = self.finding(member, false)?;
                Some(Collected::of(groups.iter().map(|group| group.id).collect()))
            }
        }
    }

    /// The groups that an entry is in, by rising id, which is the order in which a search would find them; those that list these as well, if that is configured.
    pub(crate) fn of_entry(&mut self, entry: &EntryRef<'_>) -> Vec<EntryId> {
        if !self.views.is_about(self.read_point) {
            return Vec::new();
        }
        let dn = self.read_point.dn(entry, &mut self.evaluator.cache);
        let in_chain = self.views.follows_groups();
        self.groups_of(dn, in_chain).unwrap_or_default()
    }

    /// What makes a group of an entry.
    fn terms(&mut self) -> GroupTerms {
        self.views.group_terms(self.read_point.shard().schema())
    }

    /// Tells groups from other entries.
    fn kinds(&mut self) -> Kinds<'a> {
        Kinds::by(self.terms(), self.read_point.shard().schema())
    }

    /// Is it an attribute that lists members, or a subtype of one?
    fn lists_in(&mut self, attribute_type: TypeId) -> bool {
        let schema = self.read_point.shard().schema();
        self.terms().members().any(|of| schema.is_subtype(attribute_type, of))
    }

    /// The groups that list a name; with `in_chain` those that list these as well, and so on. `None` if they cannot be found.
    /// Each is met once, so circles end by themselves. It is breadth first, as downwards: the depth that is allowed is counted in rounds, and a
    /// membership through so many groups is found from both sides or from none.
    fn groups_of(&mut self, dn: Vec<u8>, in_chain: bool) -> Option<Vec<EntryId>> {
        let mut kinds = self.kinds();
        let (mut found, mut level) = (BTreeSet::new(), vec![dn]);
        let mut dynamic = self.finding(&level[0], true);
        for _ in 0..=NESTED_MAX {
            let mut next = Vec::new();
            for dn in std::mem::take(&mut level) {
                // What is found by a search is followed from the entry itself, and not from the groups that list it.
                let listing = match (self.listing(&dn, &mut kinds), dynamic.take()) {
                    (None, None) => return None,
                    (listing, dynamic) => listing.into_iter().chain(dynamic).flatten(),
                };
                for group in listing {
                    if found.len() < FOUND_MAX && found.insert(group.id) && in_chain {
                        next.push(self.read_point.dn(&group, &mut self.evaluator.cache));
                    }
                }
            }
            level = next;
        }
        Some(found.into_iter().collect())
    }

    /// The groups that list a name themselves. `None` if neither an index nor a look at few entries tells of any attribute.
    fn listing(&mut self, dn: &[u8], kinds: &mut Kinds<'a>) -> Option<Vec<EntryRef<'a>>> {
        let read_point = self.read_point;
        let Some(name) = OwnName::new(read_point.shard().schema(), dn.to_vec()) else {
            return Some(Vec::new());
        };
        let (mut found, mut is_known) = (Vec::new(), false);
        for attribute_type in self.terms().members() {
            let candidates = read_point.may_have_value(attribute_type, name.key());
            let candidates =
                candidates.or_else(|| read_point.may_have_attribute(attribute_type, LOOKED_MAX, LOOKED_MAX));
            let Some(candidates) = candidates else { continue };
            is_known = true;
            for group in candidates.into_iter().filter_map(|id| read_point.entry(id)) {
                if kinds.is_group(&group) && self.lists(&group, &name) {
                    found.push(group);
                }
            }
        }
        is_known.then_some(found)
    }

    /// The view on a group, if it is not hidden. It takes the right to disclose the entry and that to read it, as for a search that returns the
    /// group. Its class need not be known to the requester: that it is a group follows from the membership.
    fn view(&mut self, group: &EntryRef<'_>) -> Option<ViewId> {
        let action = Action::of(self.operation);
        let view = self.views.of(self.who, action, group, self.read_point, self.evaluator);
        let is_shown = self.views.may_return(view) || planted::is(holes::MEMBER_OF_HIDDEN_GROUP);
        is_shown.then_some(view)
    }

    /// Does a group list a name, in a value that the requester may know of?
    /// The view comes after the value: candidates of an index may be no members, and to work out a view takes longer than a look into a set.
    fn lists(&mut self, group: &EntryRef<'a>, name: &OwnName) -> bool {
        let (schema, read_point) = (self.read_point.shard().schema(), self.read_point);
        let mut form = Vec::new();
        for (slot, values) in group.shape.slots.iter().zip(group.slots()) {
            let description = slot.description;
            if !self.lists_in(description.attribute_type) {
                continue;
            }
            let mut is_it = |value: &[u8]| name.is(schema, description, value, &mut form);
            let value = match values {
                Values::Inline(mut values) => values.find(|value| is_it(value)),
                Values::Set(set) => read_point.find_in_set(&set, name.key(), is_it),
            };
            if let Some(value) = value
                && let Some(view) = self.view(group)
                && self.may_know(view, description, value)
            {
                return true;
            }
        }
        false
    }

    /// May the requester know that a group has this value?
    fn may_know(&mut self, view: ViewId, description: Description, value: &[u8]) -> bool {
        let schema = self.read_point.shard().schema();
        match self.judge(view, description) {
            Judge::All => true,
            Judge::None => false,
            Judge::Some(may) => may(schema, value),
        }
    }

    /// Which values of an attribute of a group the requester may know of.
    /// The function that judges values owns all it needs, for a filter keeps it as long as its search goes on. The rules that it is made of are those
    /// of the begin of the search.
    fn judge(&mut self, view: ViewId, description: Description) -> Judge {
        let shard = self.read_point.shard();
        let on = self.views.on_attribute(view, description, shard.schema());
        if on.every.has(self.right) || planted::is(holes::MEMBER_OF_HIDDEN_GROUP) {
            return Judge::All;
        }
        if !on.some.has(self.right) {
            return Judge::None;
        }
        let values = self.views.on_values(view, description, self.right, shard);
        let own = match values.asks_for_own() {
            true => self.views.own_name(self.who, self.read_point, &mut self.evaluator.cache),
            false => Own::Nobody,
        };
        Judge::Some(Arc::new(move |schema, value| {
            values.may(&own, schema, description, value, &mut Vec::new())
        }))
    }

    /// The members of a group, and of those in it. Nobody is a member of a group that is not there, or that is hidden.
    fn members(&mut self, group: &[u8], in_chain: bool) -> Option<Collected> {
        let (read_point, mut all) = (self.read_point, Collected::default());
        let id = read_point.resolve(group, &mut self.evaluator.cache).ok();
        let Some(first) = id.and_then(|id| read_point.entry(id)) else { return Some(Collected::default()) };
        if !self.terms().is_group(&first, read_point.shard().schema()) {
            return Some(Collected::default());
        }
        if !in_chain {
            self.collect(&first, &mut all);
            return Some(all);
        }
        // What is remembered of a group is found by its name as the directory spells it, however a client does.
        let name = String::from_utf8(read_point.dn(&first, &mut self.evaluator.cache)).ok()?;
        let groups = self.views.groups();
        let inside = groups.nested_in(&name, read_point, &mut self.evaluator.cache);
        let (mut seen, mut level) = (BTreeSet::from([first.id]), vec![first]);
        while let Some(group) = level.pop() {
            self.collect(&group, &mut all);
            let nested = inside.iter().find(|(id, _)| *id == group.id);
            for id in nested.into_iter().flat_map(|(_, groups)| groups) {
                if seen.contains(id) {
                    continue;
                }
                let Some(child) = read_point.entry(*id) else { continue };
                // That a group is in this one is a value of this one, of which the requester may know or not.
                let dn = read_point.dn(&child, &mut self.evaluator.cache);
                let name = OwnName::new(read_point.shard().schema(), dn);
                if name.is_some_and(|name| self.lists(&group, &name)) {
                    seen.insert(*id);
                    level.push(child);
                }
            }
            if seen.len() > FOUND_MAX.min(GROUPS_MAX) {
                return None;
            }
        }
        Some(all)
    }

    /// The members of all groups; `None` if there are too many groups to be looked through, or no index tells which they are.
    /// It is the only item for which all groups are looked at. Clients ask it with another item that has an index, if at all.
    fn of_any_group(&mut self) -> Option<Collected> {
        let (read_point, mut all, mut is_known) = (self.read_point, Collected::default(), false);
        let (mut kinds, terms) = (self.kinds(), self.terms());
        let mut groups = BTreeSet::new();
        for attribute_type in terms.members().chain(terms.member_url()) {
            if let Some(ids) = read_point.may_have_attribute(attribute_type, LOOKED_MAX, LOOKED_MAX) {
                is_known = true;
                groups.extend(ids);
            }
        }
        for group in groups.into_iter().filter_map(|id| read_point.entry(id)) {
            if kinds.is_group(&group) {
                self.collect(&group, &mut all);
            }
        }
        is_known.then_some(all)
    }

    /// Takes the members that a group lists, as far as the requester may know of them.
    /// Names of small groups are resolved here: an entry is then compared by its id. Those of a large group are not, for they may be a million.
    fn collect(&mut self, group: &EntryRef<'a>, all: &mut Collected) {
        let (schema, read_point) = (self.read_point.shard().schema(), self.read_point);
        all.searches.extend(self.searches(group));
        for (slot, values) in group.shape.slots.iter().zip(group.slots()) {
            let description = slot.description;
            if !self.lists_in(description.attribute_type) {
                continue;
            }
            let Some(view) = self.view(group) else { return };
            let may = match self.judge(view, description) {
                Judge::None => continue,
                Judge::All => None,
                Judge::Some(may) => Some(may),
            };
            match values {
                Values::Set(set) => all.sets.push(SetOfMembers { set, description, may }),
                Values::Inline(values) => {
                    let known = values.filter(|value| may.as_ref().is_none_or(|may| may(schema, value)));
                    // A name that no entry has is kept by the group, and is nobody.
                    for value in known {
                        let name = name_in(schema, description.attribute_type, value);
                        let id = read_point.resolve(name, &mut self.evaluator.cache);
                        all.ids.extend(id.ok().map(|id| id.0));
                    }
                }
            }
        }
    }
}

/// Which values a requester may know of. Nearly always it is all or none: a view tells that by two bits, and only rules on values need more.
enum Judge {
    All,
    None,
    Some(MayTest),
}

/// Members of several groups, as far as they can be named without a search. What is in sets stays there: the store looks into them, and
/// reads them in slices.
#[derive(Default)]
struct Collected {
    ids: Vec<u32>,
    sets: Vec<SetOfMembers>,
    searches: Vec<UrlSearch>,
}

impl Collected {
    fn of(ids: Vec<EntryId>) -> Collected {
        Collected { ids: ids.into_iter().map(|id| id.0).collect(), ..Collected::default() }
    }
}
