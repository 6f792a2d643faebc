//! A search whose base was found, for one slice of it: how an entry is judged, and how it is written.
//!
//! Rights on entries are asked here and nowhere before: by [`Query::admit`], for each entry that the cursor brings. The cursor knows
//! of rights no more than that some attributes are never looked at. So all that counts entries stands behind `admit`: the limit, the
//! page, the reference of a page to its last entry, and the place of an entry in a sorted list.

use super::base::Base;
use super::contents::Contents;
use crate::access::{Requester, Tester, ValueJudge, ViewId};
use crate::context::Reading;
use crate::engine::Dsa;
use crate::entry_writer::Large;
use crate::entry_writer::matched::Matching;
use crate::monitor::{Counters, count};
use crate::policy;
use crate::recent::Again;
use crate::selection::{RequestedSelection, Selection};
use crate::session::security::Security;
use crate::worker::Scratch;
use ::access::Right;
use env::clock::Now;
use model::{EntryId, TypeId};
use proto::control::account_usability;
use proto::list::Octets;
use store::search::evaluate::Truth;
use store::search::work::COMPILED_ITEM;
use store::search::{Compiled, Paused};
use store::{EntryRef, ReadPoint};

/// Units of writing an entry.
/// Copying a template's pieces and the values between them; long entries are bounded by the output buffer instead.
pub(super) const WRITTEN_ENTRY: u64 = 24;

/// A search whose base was found: where it looks, and how entries are answered.
/// It borrows the request or what was kept of it, and is made anew for each slice: the requester's class may be
/// another one by then.
pub(super) struct Query<'q> {
    pub(super) id: i32,
    pub(super) read_point: ReadPoint<'q>,
    pub(super) base: Base,
    pub(super) who: Requester,
    pub(super) selectors: Octets<'q>,
    pub(super) types_only: bool,
    /// Does the filter ask for attributes that the requester may test on some entries only?
    pub(super) is_restricted: bool,
    /// Does it follow changes?
    pub(super) follows: bool,
    /// The form that is kept of it.
    pub(super) again: Option<Again>,
}

impl Query<'_> {
    /// Appends an entry that matches, if it may be returned. Of a long one only the first part: the rest must follow before anything else.
    #[inline]
    pub(super) fn put(
        &self,
        scratch: &mut Scratch,
        view: ViewId,
        counters: &Counters,
        entry: &EntryRef<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Large> {
        count(&counters.entries, 1);
        // Looked up for each entry: another search of the thread may have asked for another selection in between. Nearly always it is the last one.
        let (templates, ..) = scratch.writer(self.base.is_system);
        let asked = self.selection(view);
        let schema = self.read_point.shard().schema();
        let mut chosen = templates.choose(asked, schema);
        let is_root_dse = self.base.is_root_dse;
        let groups = self.wanted_groups(templates.selection(chosen), entry);
        let shows_more = groups.is_some() || self.shows_collective();
        if shows_more {
            let view = self.bring_besides(scratch, view, entry, groups, None);
            let (templates, ..) = scratch.writer(false);
            chosen = templates.choose(RequestedSelection { view, ..asked }, schema);
        }
        let (templates, cache, views) = scratch.writer(self.base.is_system);
        let large = templates.write(
            out,
            self.id,
            self.read_point,
            entry,
            chosen,
            (views, self.who),
            cache,
            is_root_dse,
        );
        // What is not of the entry itself is worked out for each: no template has it.
        if let Some(again) = self.again
            && !shows_more
            && scratch.templates.holds(chosen)
        {
            scratch.recent.note_view(again, view, chosen);
        }
        large
    }

    /// What an entry is to show of groups, if anything.
    /// Two words of the selection and one of the shape, which are at hand: all that a search pays that asks for no groups.
    /// Groups change without a change of their members: who follows changes would have what was true once.
    #[inline]
    fn wanted_groups(&self, selection: Option<&Selection>, entry: &EntryRef<'_>) -> Option<WantedGroups> {
        let selection = selection.filter(|_| !self.follows);
        let member_of = selection.map_or([None; 2], Selection::member_of);
        let schema = self.read_point.shard().schema();
        let members = schema.is_group_of_urls(entry.shape.structural)
            && selection.is_some_and(Selection::wants_members);
        ((members || member_of != [None; 2]) && !self.base.is_system)
            .then_some(WantedGroups { member_of, members })
    }

    /// May entries show collective attributes? One load, which is all that others pay. Who follows changes does not see them, as with groups.
    #[inline]
    fn shows_collective(&self) -> bool {
        self.read_point.shard().has_collective() && !self.base.is_system && !self.follows
    }

    /// The entry that is written next shows what others have: groups that it is in, and collective attributes. Returns its view, which
    /// looking at other entries may have dropped.
    #[cold]
    fn bring_besides(
        &self,
        scratch: &mut Scratch,
        view: ViewId,
        entry: &EntryRef<'_>,
        groups: Option<WantedGroups>,
        mut matching: Option<&mut Matching>,
    ) -> ViewId {
        let mut view = view;
        if let Some(groups) = groups {
            view = self.bring_groups(scratch, view, entry, groups, matching.as_deref_mut());
        }
        if self.shows_collective() {
            view = self.bring_collective(scratch, view, entry, matching);
        }
        view
    }

    /// What is returned of entries by a view.
    #[inline]
    pub(super) fn selection(&self, view: ViewId) -> RequestedSelection<'_> {
        RequestedSelection {
            selectors: self.selectors,
            types_only: self.types_only,
            follows: self.follows,
            view,
        }
    }

    /// The entry that is written next says whether its user can bind, if it has a password that the requester may compare. Returns its view,
    /// which looking at groups of policies may have dropped.
    #[cold]
    pub(super) fn bring(
        &self,
        dsa: &Dsa,
        now: Now,
        scratch: &mut Scratch,
        view: ViewId,
        entry: &EntryRef<'_>,
        work: &mut u64,
    ) -> ViewId {
        let (who, read_point) = (self.who, self.read_point);
        // The server's own entries are no accounts.
        if self.base.is_system {
            return view;
        }
        // Which policy holds may take filters and groups.
        *work = work.saturating_sub(4 * WRITTEN_ENTRY);
        let mut reading = Reading { dsa, read_point, scratch, now, security: Security::INTERNAL };
        if let Some(usability) = policy::usability(&mut reading, who, entry) {
            let value = usability.encode();
            scratch.writer(false).0.bring(account_usability::control(&value));
        }
        scratch.view(who, self.base.action(), entry, read_point)
    }

    /// Whether, and by which view, an entry is returned that matches as far as the requester may test it anywhere. Not if it is hidden, if
    /// it may not be read, or if the filter asks for what may not be tested on it.
    ///
    /// It comes before every count: an entry that is not admitted must show in no limit, page or number.
    #[inline]
    pub(super) fn admit(
        &self,
        scratch: &mut Scratch,
        entry: &EntryRef<'_>,
        restricted: &mut Restricted,
        work: &mut u64,
    ) -> Admitted {
        let view = scratch.view(self.who, self.base.action(), entry, self.read_point);
        if !scratch.views.may_return(view) {
            return Admitted::No;
        }
        match self.is_restricted {
            false => Admitted::By(view),
            true => match restricted.is_true(scratch, self, view, entry, work) {
                Some(true) => Admitted::By(view),
                Some(false) => Admitted::No,
                None => Admitted::Later,
            },
        }
    }
}

impl Query<'_> {
    /// Appends an entry with the contents that were put together for it. As of [`Query::put`], the rest of a long one must follow.
    #[cold]
    pub(super) fn put_contents(
        &self,
        contents: &mut Contents,
        scratch: &mut Scratch,
        view: ViewId,
        counters: &Counters,
        entry: &EntryRef<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Large> {
        let is_system = self.base.is_system;
        let Some(matching) = contents.bring(scratch, is_system) else {
            return self.put(scratch, view, counters, entry, out);
        };
        count(&counters.entries, 1);
        // What is shown of groups and of collective attributes is compared with the items like any other value.
        let (templates, ..) = scratch.writer(is_system);
        let chosen = templates.choose(self.selection(view), self.read_point.shard().schema());
        let groups = self.wanted_groups(templates.selection(chosen), entry);
        if groups.is_some() || self.shows_collective() {
            self.bring_besides(scratch, view, entry, groups, Some(&mut *matching));
        }
        let (templates, cache, _) = scratch.writer(is_system);
        let at = (self.read_point, entry);
        templates.write_chosen(out, self.id, at, matching, cache, self.base.is_root_dse)
    }

    /// By which view an entry is returned that was admitted before, for the same class of requesters at the same read point.
    /// The filter was true of it then, and is not asked again: that may take more than a slice by itself.
    #[cold]
    pub(super) fn admit_again(&self, scratch: &mut Scratch, entry: &EntryRef<'_>) -> Admitted {
        Admitted::By(self.view_again(scratch, entry))
    }

    /// The view of an entry that was admitted, after others were looked at.
    #[cold]
    pub(super) fn view_again(&self, scratch: &mut Scratch, entry: &EntryRef<'_>) -> ViewId {
        scratch.view(self.who, self.base.action(), entry, self.read_point)
    }
}

/// What an entry is to show of groups.
#[derive(Clone, Copy)]
pub(super) struct WantedGroups {
    /// The attributes that have the groups it is in.
    pub(super) member_of: [Option<TypeId>; 2],
    /// The members that its own searches find.
    pub(super) members: bool,
}

/// Is an entry returned that a search has found?
pub(super) enum Admitted {
    /// By this view.
    By(ViewId),
    No,
    /// It takes more work than is left to find out. [`Restricted`] knows how far it came.
    Later,
}

/// Views and shapes that a search keeps its filter for.
const RESTRICTED_MAX: usize = 16;

/// The filter of a search as it is on entries on which not all may be tested that may be tested on others.
///
/// Candidates are found by a filter that knows no entry. This one has the last word: it is made for a view and a shape, and of an attribute
/// that may not be tested there it knows nothing.
#[derive(Default)]
pub(super) struct Restricted {
    /// As it is where all may be tested that may be tested anywhere. None of most searches, for which no right depends on the entry.
    filter: Option<Box<Compiled>>,
    /// Items of the filter: what making it ready costs.
    items: u32,
    of: Vec<(ViewId, u32, Compiled, ValueJudge)>,
    /// An entry that it was paused at, and where. The entry may have a million values, which no slice may look at in one go.
    /// A search that looks at the entry again goes on there.
    pub(super) paused: Option<(EntryId, Paused)>,
}

impl Restricted {
    /// By this filter, of so many items.
    pub(super) fn by(filter: Compiled, items: u32) -> Restricted {
        Restricted { filter: Some(Box::new(filter)), items, ..Restricted::default() }
    }

    /// Has it a say?
    #[inline]
    pub(super) fn is_needed(&self) -> bool {
        self.filter.is_some()
    }

    /// Forgets where it was paused: the entry is found once more.
    pub(super) fn forget_pause(&mut self) {
        self.paused = None;
    }

    /// Is the filter true of an entry? `None` if it was paused: it goes on with the same entry.
    #[cold]
    fn is_true(
        &mut self,
        scratch: &mut Scratch,
        query: &Query<'_>,
        view: ViewId,
        entry: &EntryRef<'_>,
        work: &mut u64,
    ) -> Option<bool> {
        let Some(filter) = &self.filter else { return Some(false) };
        let shape = entry.shape.number;
        let known = self.of.iter().position(|(known, of, ..)| (*known, *of) == (view, shape));
        let at = known.unwrap_or_else(|| {
            // Entries of many shapes, one after the other, make it anew for each: that is paid.
            *work = work.saturating_sub(u64::from(self.items) * COMPILED_ITEM);
            let (_, cache, views) = scratch.writer(query.base.is_system);
            let tester = Tester { views, who: query.who, view, right: Right::Search };
            let (own, judge) = ValueJudge::restrict(filter, entry.shape, tester, query.read_point, cache);
            if self.of.len() == RESTRICTED_MAX {
                self.of.remove(0);
            }
            self.of.push((view, shape, own, judge));
            self.of.len() - 1
        });
        let mut paused = match self.paused.take() {
            Some((id, paused)) if id == entry.id => paused,
            _ => Paused::default(),
        };
        let evaluator = scratch.evaluator(query.base.is_system);
        let (_, _, own, judge) = &self.of[at];
        let truth = judge.go_on(evaluator, own, (entry, query.read_point), &mut paused, work);
        if truth.is_none() {
            self.paused = Some((entry.id, paused));
        }
        truth.map(|truth| truth == Truth::True)
    }
}
