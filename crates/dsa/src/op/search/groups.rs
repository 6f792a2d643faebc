//! What an entry shows of groups beside what it stores: the groups that it is in, and the members that the searches of a group find.
//!
//! Both are worked out for each entry, with the rights of the requester, and paid as work of the search. They come beside the template of the
//! entry, which knows nothing of them.
//!
//! A search that asks for neither does not come here: its selection says so, and one that asks for members comes here for entries of class
//! groupOfURLs alone. Searches that are answered by a cached query template do not come here either; a selection that asks for memberOf is not
//! remembered with one.

use super::base::Base;
use super::compile_asking;
use super::query::{Admitted, Query, WantedGroups};
use crate::access::{ENTRY_WORK_MAX, Memberships, ViewId, scope, urls};
use crate::entry_writer::matched::Matching;
use crate::faults::holes;
use crate::worker::Scratch;
use ::access::Right;
use env::planted;
use model::{Description, TypeId};
use proto::list::put_attribute;
use store::EntryRef;
use store::search::{Cursor, Scopes, Step};

/// Units of finding a group that has an entry as a member.
const GROUP: u64 = 100;
/// Units of work of the searches of one group, about twenty milliseconds. With more of it none of the members is shown: a part of them would
/// be taken for all.
const MEMBERS_WORK_MAX: u64 = 1 << 21;
/// Members that are shown of one group. Their names are in memory until the entry is written.
const MEMBERS_MAX: usize = 16_384;

impl Query<'_> {
    /// The entry that is written next shows the groups that it is in, or its members, as far as the requester may know of them. Returns its
    /// view, which looking at other entries may have dropped.
    #[cold]
    pub(super) fn bring_groups(
        &self,
        scratch: &mut Scratch,
        view: ViewId,
        entry: &EntryRef<'_>,
        wanted: WantedGroups,
        mut matching: Option<&mut Matching>,
    ) -> ViewId {
        let mut view = view;
        if wanted.members {
            self.bring_members(scratch, view, entry, matching.as_deref_mut());
            // Members were looked at by views of their own, and a thread remembers so many.
            view = self.view_again(scratch, entry);
        }
        self.bring_member_of(scratch, view, entry, wanted.member_of, matching);
        self.view_again(scratch, entry)
    }

    /// The groups that an entry is in. memberOf and isMemberOf have the same, and are looked up once for both; rules may allow the one
    /// and not the other.
    fn bring_member_of(
        &self,
        scratch: &mut Scratch,
        view: ViewId,
        entry: &EntryRef<'_>,
        wanted: [Option<TypeId>; 2],
        mut matching: Option<&mut Matching>,
    ) {
        let (who, read_point, schema) = (self.who, self.read_point, self.read_point.shard().schema());
        // The right to read the attribute comes first. Where it is one on some values only, each is asked for below.
        let is_readable = |id: &TypeId| {
            scratch.views.on_attribute(view, Description::plain(*id), schema).some.has(Right::Read)
        };
        let readable: Vec<TypeId> = wanted.into_iter().flatten().filter(is_readable).collect();
        if readable.is_empty() {
            return;
        }
        let Scratch { views, evaluator, .. } = &mut *scratch;
        let operation = self.base.action().operation;
        let (right, work) = (Right::Read, ENTRY_WORK_MAX);
        let mut memberships = Memberships { views, evaluator, who, operation, right, read_point, work };
        let groups = memberships.of_entry(entry);
        let asked = ENTRY_WORK_MAX - memberships.work;
        scratch.pay(GROUP * (1 + groups.len() as u64) + asked);
        let groups = groups.iter().filter_map(|id| read_point.entry(*id));
        let names: Vec<Vec<u8>> =
            groups.map(|group| read_point.dn(&group, &mut scratch.evaluator.cache)).collect();
        for id in readable {
            self.show(scratch, entry, Description::plain(id), &names, matching.as_deref_mut());
        }
    }

    /// The members that the searches of a group find, if it lists none itself: an attribute is shown once, by the template or here.
    fn bring_members(
        &self,
        scratch: &mut Scratch,
        view: ViewId,
        entry: &EntryRef<'_>,
        matching: Option<&mut Matching>,
    ) {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let member = Description::plain(schema.well_known().member);
        let is_readable = scratch.views.on_attribute(view, member, schema).some.has(Right::Read);
        if !is_readable || read_point.has_stored(entry, member.attribute_type) {
            return;
        }
        // It is not paused: the entry is written at once, and what is found waits in memory. So both are bounded, for all URLs together.
        let (mut work, mut names) = (MEMBERS_WORK_MAX, Vec::new());
        for url in urls(entry, read_point) {
            let Ok(base) = read_point.resolve(&url.dn, &mut scratch.evaluator.cache) else { continue };
            let (asked, filter) = ((read_point, false), url.filter.filter());
            let (filter, mut restricted) = compile_asking(scratch, (self.who, None), &filter, asked, false);
            // As a search of the requester itself would find them.
            let base = Base { id: base, is_system: false, is_root_dse: false, is_change_log: false };
            let query = Query { base, is_restricted: restricted.is_needed(), ..*self };
            let mut cursor = Cursor::open(read_point, Scopes::new(base.id, scope(&url)), filter, None);
            loop {
                let found = match cursor.step(read_point, &mut scratch.evaluator, &mut work) {
                    Step::Entry(found) => found,
                    Step::End => break,
                    // The work is used up. What is known by now is a part.
                    Step::Pause => return scratch.pay(MEMBERS_WORK_MAX),
                };
                if planted::is(holes::FOUND_MEMBER_NOT_JUDGED) {
                    names.push(read_point.dn(&found, &mut scratch.evaluator.cache));
                    continue;
                }
                match query.admit(scratch, &found, &mut restricted, &mut work) {
                    Admitted::By(_) => names.push(read_point.dn(&found, &mut scratch.evaluator.cache)),
                    Admitted::No => {}
                    Admitted::Later => return scratch.pay(MEMBERS_WORK_MAX),
                }
                work = work.saturating_sub(GROUP);
                if work == 0 || names.len() > MEMBERS_MAX {
                    return scratch.pay(MEMBERS_WORK_MAX - work);
                }
            }
        }
        scratch.pay(MEMBERS_WORK_MAX - work);
        // A partial attribute has each value once (RFC 4511 section 4.1.7).
        // Several searches may find one entry.
        names.sort_unstable();
        names.dedup();
        self.show(scratch, entry, member, &names, matching);
    }

    /// Shows those of the values that may be read.
    /// The view is taken anew: those of other entries were looked at since the caller had one, and a thread remembers so many.
    pub(super) fn show(
        &self,
        scratch: &mut Scratch,
        entry: &EntryRef<'_>,
        description: Description,
        values: &[Vec<u8>],
        matching: Option<&mut Matching>,
    ) {
        let (who, read_point, schema) = (self.who, self.read_point, self.read_point.shard().schema());
        let view = self.view_again(scratch, entry);
        let is_whole = scratch.views.on_attribute(view, description, schema).every.has(Right::Read);
        let mut may = |value: &&Vec<u8>| {
            is_whole || scratch.may_read_value((who, view), description, value, read_point)
        };
        let values: Vec<&[u8]> = values.iter().filter(&mut may).map(|value| &value[..]).collect();
        self.show_all(scratch, description, values, matching);
    }

    /// Shows values that may be read, as far as they are wanted.
    pub(super) fn show_all(
        &self,
        scratch: &mut Scratch,
        description: Description,
        mut values: Vec<&[u8]>,
        matching: Option<&mut Matching>,
    ) {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        // An attribute without a value that may be read is not there, also where types alone are asked for.
        if values.is_empty() {
            return;
        }
        // One of which values may be read and none is wanted is there without values (RFC 3876 section 2). Each name is short, but
        // there may be many of them and of items. What takes too much is not shown at all: a part would be taken for all.
        if let Some(matching) = matching {
            let mut work = MEMBERS_WORK_MAX;
            let is_all = matching.retain(read_point, description, &mut values, &mut work);
            scratch.pay(MEMBERS_WORK_MAX - work);
            if !is_all {
                return;
            }
        }
        let shown = values.into_iter().filter(|_| !self.types_only);
        let mut attribute = Vec::new();
        put_attribute(&mut attribute, schema.describe(description).as_bytes(), shown);
        scratch.writer(false).0.show_besides(&attribute);
    }
}
