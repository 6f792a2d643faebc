//! The state of a search between two entries, and what it does with candidates until it comes to rest.
//!
//! It holds no borrow, so a search can wait between two slices for as long as it may. What it goes on with is given to it each time: the read point that
//! it began at, the templates of the thread that runs it now, the output buffer of its session.
//!
//! Rights on entries are asked here and nowhere before: by [`Query::admit`], for each entry that the cursor brings. The cursor knows
//! of rights no more than that some attributes are never looked at. So all that counts entries stands behind `admit`: the limit, the
//! page, the reference of a page to its last entry.

use super::base::Base;
use super::page::{Page, put_page_end};
use super::special::{References, SpecialEntries};
use crate::access::{Bounds, Requester, Tester, ValueJudge, ViewId, tighter};
use crate::annotations::Annotations;
use crate::context::Reading;
use crate::control::effective_rights::{EffectiveRights, Written};
use crate::engine::Dsa;
use crate::entry_writer::{Large, RequestedSelection};
use crate::faults::holes;
use crate::monitor::{Counters, count};
use crate::outcome::{self, limit_text};
use crate::policy;
use crate::recent::Again;
use crate::refusals::Limit;
use crate::session::security::Security;
use crate::worker::Scratch;
use ::access::Right;
use env::clock::Now;
use env::planted;
use model::limits::OUT_BYTES_SOFT_MAX;
use model::{EntryId, ResultCode};
use proto::control::{account_usability, effective_rights};
use proto::list::Octets;
use proto::op::Search;
use proto::result::encode_result;
use proto::tag;
use store::search::evaluate::Truth;
use store::search::work::COMPILED_ITEM;
use store::search::{Compiled, Cursor, Paused, Step};
use store::{EntryRef, ReadPoint};

/// Units of writing an entry.
/// Copying a template's pieces and the values between them; long entries are bounded by the output buffer instead.
const WRITTEN_ENTRY: u64 = 24;
/// Units of finding out that an entry is not returned.
const SKIPPED_ENTRY: u64 = 4;
/// A search that has looked at more entries lacks an index, if there can be one.
const UNINDEXED_LOOKED: u64 = 100;
/// A suspended search holds back the cleaner: after this time it is ended.
pub(crate) const SUSPENDED_MAX_NS: u64 = 600 * 1_000_000_000;

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
        let (templates, cache, views) = scratch.writer(self.base.is_system);
        let asked = RequestedSelection { selectors: self.selectors, types_only: self.types_only, view };
        let chosen = templates.choose(asked, self.read_point.shard().schema());
        let is_root_dse = self.base.is_root_dse;
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
        if let Some(again) = self.again
            && scratch.templates.holds(chosen)
        {
            scratch.recent.note_view(again, view, chosen);
        }
        large
    }

    /// The entry that is written next says whether its user can bind, if it has a password that the requester may compare. Returns its view,
    /// which looking at groups of policies may have dropped.
    #[cold]
    fn bring(
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
    paused: Option<(EntryId, Paused)>,
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

/// The state of a search between two entries.
/// All of it is owned, and small: it is moved when the search is suspended.
/// Nothing in it depends on rights but `restricted`, whose filters are kept by view: after a change of rules there are
/// other views, and those filters are never asked again.
pub(super) struct Running {
    pub(super) id: i32,
    pub(super) base: Base,
    pub(super) cursor: Cursor,
    pub(super) special: SpecialEntries,
    /// References come first.
    pub(super) references: Option<References>,
    /// Ids, ascending, of entries that are not to be returned, if `special` says that there are any.
    pub(super) hidden: Vec<u32>,
    /// It ends with this as soon as what is half written is out.
    pub(super) over: Option<ResultCode>,
    /// What it shows of somebody's rights on its entries.
    pub(super) rights: Option<Box<EffectiveRights>>,
    /// Does it say of each entry whether its user can bind?
    pub(super) shows_usability: bool,
    restricted: Restricted,
    types_only: bool,
    is_restricted: bool,
    again: Option<Again>,
    /// Entries that may still be returned.
    pub(super) left: u32,
    /// Are that number and the deadline the server's, not the client's?
    is_own: (bool, bool),
    /// What is said of it if it looks at more than it may: which index it lacks.
    pub(super) advice: Option<Box<str>>,
    /// Entries until the page is full.
    pub(super) page: Option<Page>,
    pub(super) began_ns: u64,
    pub(super) deadline_ns: u64,
}

/// Why a cursor loop came to rest.
/// Only the caller knows whether the session can wait, so it decides what comes of each.
pub(super) enum Rest {
    End(ResultCode),
    PageFull,
    Pause,
    Large(Large),
}

impl Running {
    /// Without limits, page or anything special: who begins a search with those sets them.
    pub(super) fn new(query: &Query<'_>, cursor: Cursor, began_ns: u64) -> Running {
        Running {
            id: query.id,
            base: query.base,
            cursor,
            special: SpecialEntries::default(),
            references: None,
            hidden: Vec::new(),
            over: None,
            rights: None,
            shows_usability: false,
            restricted: Restricted::default(),
            types_only: query.types_only,
            is_restricted: query.is_restricted,
            again: query.again,
            left: u32::MAX,
            is_own: (false, false),
            advice: None,
            page: None,
            began_ns,
            deadline_ns: u64::MAX,
        }
    }

    /// The search that it is, with what it does not own.
    pub(super) fn query<'q>(
        &self,
        read_point: ReadPoint<'q>,
        who: Requester,
        selectors: Octets<'q>,
    ) -> Query<'q> {
        let Running { id, base, types_only, is_restricted, again, .. } = *self;
        Query { id, read_point, base, who, selectors, types_only, is_restricted, again }
    }

    /// Keeps the filter for what it is on entries of which not all may be tested.
    /// Without it a filter that hangs on the entry admits nothing, which is the safe side of having forgotten it.
    pub(super) fn restrict(&mut self, restricted: Restricted) {
        self.restricted = restricted;
    }

    /// Sets the limits, which are the client's or the server's.
    /// The smaller one counts; the root DN is held to its own alone (RFC 4511 sections 4.5.1.4 and 4.5.1.5).
    #[inline]
    pub(super) fn limit(&mut self, bounds: &Bounds, request: &Search<'_>) {
        // 0 means no limit, with the client as with the server.
        let asked = (request.size_limit as u32, request.time_limit_s as u32);
        // The server's limit on a search is on what one request may return, so pages count together.
        let (size, seconds) = (tighter(asked.0, bounds.size), tighter(asked.1, bounds.time_s));
        self.is_own = (size != asked.0, seconds != asked.1);
        if size > 0 {
            // RFC 2696: the pages are parts of one search.
            self.left = size.saturating_sub(self.page.as_ref().map_or(0, |page| page.at.returned));
        }
        if seconds > 0 {
            self.deadline_ns = self.began_ns.saturating_add(u64::from(seconds) * 1_000_000_000);
        }
    }

    /// The server's own limit comes after the client's: it is about the read point, which holds old versions for all.
    pub(super) fn overdue(&self, now_ns: u64) -> Option<ResultCode> {
        match now_ns {
            // Decided before, by the part of the search that a transaction has made.
            _ if self.over.is_some() => self.over,
            now if now >= self.deadline_ns => Some(ResultCode::TimeLimitExceeded),
            now if now.saturating_sub(self.began_ns) > SUSPENDED_MAX_NS => {
                Some(ResultCode::AdminLimitExceeded)
            }
            _ => None,
        }
    }

    /// Looks at candidates and writes entries until the work is done or used up, the buffer is full, or an entry does not fit. It always
    /// comes further, so a search ends however small its slices are.
    pub(super) fn slice(
        &mut self,
        (dsa, now): (&Dsa, Now),
        scratch: &mut Scratch,
        query: &Query<'_>,
        counters: &Counters,
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Rest {
        let read_point = query.read_point;
        // References first, so that a client can begin to follow them while entries come.
        if let Some(references) = &mut self.references {
            if !references.write((self.id, query.who), scratch, read_point, counters, work, out) {
                return Rest::Pause;
            }
            // Its cursor has gathered ids, which are not needed any more.
            self.references = None;
        }
        while out.len() < OUT_BYTES_SOFT_MAX {
            // One that was not looked at to its end comes before the next.
            // The cursor has gone past it by now, and would not bring it again.
            let waiting = self.restricted.paused.as_ref().and_then(|(id, _)| read_point.entry(*id));
            let entry = match waiting {
                Some(entry) => entry,
                None => match self.cursor.step(read_point, scratch.evaluator(self.base.is_system), work) {
                    Step::Entry(entry) => entry,
                    Step::Pause => return Rest::Pause,
                    Step::End if self.cursor.is_cut() => return Rest::End(ResultCode::AdminLimitExceeded),
                    Step::End => return Rest::End(ResultCode::Success),
                },
            };
            // A skipped candidate may have cost work, so the slice may end here.
            if self.special.skips(read_point, self.base.id, &entry, &self.hidden) {
                match *work {
                    0 => return Rest::Pause,
                    _ => continue,
                }
            }
            // What the requester may not read counts in no limit.
            let view = match query.admit(scratch, &entry, &mut self.restricted, work) {
                Admitted::By(view) => view,
                Admitted::Later => return Rest::Pause,
                Admitted::No => {
                    if planted::is(holes::HIDDEN_COUNTED) {
                        self.left = self.left.saturating_sub(1);
                    }
                    *work = work.saturating_sub(SKIPPED_ENTRY);
                    match *work {
                        0 => return Rest::Pause,
                        _ => continue,
                    }
                }
            };
            // An entry more than allowed was found: only now is it known that the limit was exceeded.
            if self.left == 0 {
                return Rest::End(ResultCode::SizeLimitExceeded);
            }
            self.left -= 1;
            // The page was full before this entry, so another page is known to follow.
            if self.page.as_mut().is_some_and(|page| !page.take(entry.id)) {
                return Rest::PageFull;
            }
            *work = work.saturating_sub(WRITTEN_ENTRY);
            let view = match &mut self.rights {
                None => view,
                // Counted by now: what is shown besides makes no other entry of it.
                Some(rights) => {
                    let (who, action) = (query.who, query.base.action());
                    let written = Written { who, view, action, entry: &entry, read_point };
                    if !rights.show(scratch, &written, (query.selectors, query.types_only), work) {
                        return Rest::End(ResultCode::InsufficientAccessRights);
                    }
                    // Views that were made for the subject may have been more than are remembered.
                    scratch.view(who, action, &entry, read_point)
                }
            };
            let view =
                if self.shows_usability { query.bring(dsa, now, scratch, view, &entry, work) } else { view };
            if let Some(large) = query.put(scratch, view, counters, &entry, out) {
                return Rest::Large(large);
            }
            if *work == 0 {
                return Rest::Pause;
            }
        }
        Rest::Pause
    }

    /// If it is over, tells the access log, if that wants to know, how many entries it has looked at, and whether it was for want of an index.
    #[inline]
    pub(super) fn tell_looked(&self, rest: &Rest, annotations: &mut Annotations, read_point: ReadPoint<'_>) {
        if annotations.are_wanted() && matches!(rest, Rest::End(_) | Rest::PageFull) {
            let looked = self.cursor.looked();
            let is_unindexed = looked > UNINDEXED_LOOKED && self.cursor.wanted(read_point).is_some();
            annotations.looked(self.id, looked, is_unindexed);
        }
    }

    /// The last message of the search.
    pub(super) fn end(&self, counters: &Counters, out: &mut Vec<u8>, code: ResultCode) {
        match code {
            ResultCode::AdminLimitExceeded if self.cursor.is_cut() => {
                counters.limited(Limit::LookThrough);
                return self.end_with(out, code, &outcome::look_through_text(self.advice.as_deref()));
            }
            ResultCode::SizeLimitExceeded if self.is_own.0 => counters.limited(Limit::Size),
            ResultCode::TimeLimitExceeded if self.is_own.1 => counters.limited(Limit::Time),
            _ => {}
        }
        self.end_with(out, code, limit_text(code));
    }

    /// A paged search ends with an empty cookie (RFC 2696 section 3), whatever ends it.
    pub(super) fn end_with(&self, out: &mut Vec<u8>, code: ResultCode, text: &str) {
        let value = self.rights.as_ref().map(|rights| rights.response());
        let control = value.as_deref().map(effective_rights::control);
        match self.page {
            None => encode_result(out, self.id, tag::SEARCH_DONE, code, b"", text, control.as_slice()),
            Some(_) => put_page_end(out, self.id, (code, text), &[], control),
        }
    }

    /// The cookie is made of where the page ends; the server keeps nothing of it.
    pub(super) fn end_page(&self, read_point: ReadPoint<'_>, out: &mut Vec<u8>) {
        let page = self.page.as_ref().expect("only a paged search fills a page");
        let value = self.rights.as_ref().map(|rights| rights.response());
        let control = value.as_deref().map(effective_rights::control);
        put_page_end(out, self.id, (ResultCode::Success, ""), &page.cookie(read_point), control);
    }
}
