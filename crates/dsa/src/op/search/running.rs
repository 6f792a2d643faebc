//! The state of a search between two entries, and what it does with candidates until it comes to rest.
//!
//! It holds no borrow, so a search can wait between two slices for as long as it may. What it goes on with is given to it each time: the read point that
//! it began at, the templates of the thread that runs it now, the output buffer of its session.
//!
//! What the requester may see is decided by the [`Query`] of the slice. A search that has an order goes through [`List`], which knows how to make
//! it: this module knows no more of lists than that they come further in slices, too.

use super::base::Base;
use super::contents::Contents;
use super::follow::Following;
use super::page::{Page, put_page_end};
use super::query::{Admitted, Query, Restricted, WRITTEN_ENTRY};
use super::special::{References, SpecialEntries};
use crate::access::{Bounds, Requester, ViewId, tighter};
use crate::annotations::Annotations;
use crate::control::effective_rights::{EffectiveRights, Written};
use crate::engine::Dsa;
use crate::entry_writer::Large;
use crate::entry_writer::matched::Chose;
use crate::faults::holes;
use crate::monitor::Counters;
use crate::outcome::{self, limit_text};
use crate::recent::Again;
use crate::refusals::Limit;
use crate::worker::Scratch;
use env::clock::Now;
use env::planted;
use model::ResultCode;
use model::limits::OUT_BYTES_SOFT_MAX;
use proto::control::{Control, effective_rights};
use proto::list::Octets;
use proto::op::Search;
use proto::result::encode_result;
use proto::tag;
use smallvec::SmallVec;
use store::search::{Cursor, Step};
use store::{EntryRef, ReadPoint};

/// Units of finding out that an entry is not returned.
pub(super) const SKIPPED_ENTRY: u64 = 4;
/// A search that has looked at more entries lacks an index, if there can be one.
const UNINDEXED_LOOKED: u64 = 100;
/// A suspended search holds back the cleaner: after this time it is ended.
pub(crate) const SUSPENDED_MAX_NS: u64 = 600 * 1_000_000_000;

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
    /// What it keeps to follow changes, if it does.
    pub(super) following: Option<Box<Following>>,
    /// It ends with this as soon as what is half written is out.
    pub(super) over: Option<ResultCode>,
    /// What it shows of somebody's rights on its entries.
    pub(super) rights: Option<Box<EffectiveRights>>,
    /// What its entries are written with, if not with what they have.
    pub(super) contents: Option<Box<Contents>>,
    /// Does it say of each entry whether its user can bind?
    pub(super) shows_usability: bool,
    /// Its order, if it has one.
    pub(super) list: Option<Box<dyn List>>,
    pub(super) restricted: Restricted,
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

/// What makes the list of a search that has an order, and the responses that say so. Which it is, is the business of who begins the search.
pub(super) trait List {
    /// Comes further, as [`Running::slice`] does. `None` if it turns out that the entries have no order: they are returned as they are
    /// found.
    #[expect(clippy::too_many_arguments, reason = "what a slice has, borrowed from its owners")]
    fn slice(
        &mut self,
        running: &mut Running,
        now: (&Dsa, Now),
        scratch: &mut Scratch,
        query: &Query<'_>,
        counters: &Counters,
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Option<Rest>;

    /// It cannot be made. The search is refused, or begins anew without an order. Returns how it ends, if it does.
    fn give_up(&mut self, running: &mut Running, why: TooMuch) -> Option<Rest>;

    /// Bytes that it keeps for the client.
    fn bytes(&self) -> usize;

    /// An entry was returned.
    fn note_returned(&mut self);

    /// What is said of a search that is refused for its order.
    fn text(&self) -> Option<&str>;

    /// Adds the responses of a search that ends with this code: the OID and value of each.
    fn put_responses(&self, code: ResultCode, responses: &mut Responses);
}

/// Why a list cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    /// There is no room for what it keeps.
    Memory,
    /// The search has looked at as many entries as it may.
    LookThrough,
}

/// Controls of the last message: the OID and value of each. A search without any allocates nothing for them.
/// None of them is critical: a response cannot be refused.
pub(super) type Responses = SmallVec<[(&'static [u8], Vec<u8>); 3]>;

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
            following: None,
            over: None,
            rights: None,
            contents: None,
            shows_usability: false,
            list: None,
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
        let follows = self.following.as_ref().is_some_and(|following| following.is_sync());
        Query { id, read_point, base, who, selectors, types_only, is_restricted, follows, again }
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
        // Few searches have an order.
        // It is taken out while it works with all the rest of the search.
        if let Some(mut list) = self.list.take() {
            let rest = list.slice(self, (dsa, now), scratch, query, counters, work, out);
            self.list = Some(list);
            if let Some(rest) = rest {
                return rest;
            }
        }
        while out.len() < OUT_BYTES_SOFT_MAX {
            let (entry, view) = match self.next(scratch, query, work) {
                Ok(found) => found,
                Err(rest) => return rest,
            };
            if let Some(following) = &mut self.following
                && !following.takes((query.id, query.read_point), view, scratch, &entry, out)
            {
                *work = work.saturating_sub(SKIPPED_ENTRY);
                match *work {
                    0 => return Rest::Pause,
                    _ => continue,
                }
            }
            // Before it is counted: it comes once more if it is paused here.
            let view = match self.prepare_contents(scratch, query, (&entry, view), work) {
                Ok(view) => view,
                Err(rest) => return rest,
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
            if let Some(rest) =
                self.put_entry((dsa, now), scratch, query, counters, (&entry, view), work, out)
            {
                return rest;
            }
            if *work == 0 {
                return Rest::Pause;
            }
        }
        Rest::Pause
    }

    /// The next entry that matches and that the requester may see, with the view that it is returned by. Else why there is none, for now or
    /// at all. What the requester may not see counts in no limit.
    #[inline(always)]
    pub(super) fn next<'q>(
        &mut self,
        scratch: &mut Scratch,
        query: &Query<'q>,
        work: &mut u64,
    ) -> Result<(EntryRef<'q>, ViewId), Rest> {
        let read_point = query.read_point;
        loop {
            // One that was not looked at to its end comes before the next.
            // The cursor has gone past it by now, and would not bring it again.
            let waiting = self.restricted.paused.as_ref().map(|(id, _)| *id);
            let waiting = waiting.or_else(|| self.contents.as_ref()?.waiting());
            let waiting = waiting.and_then(|id| read_point.entry(id));
            let entry = match waiting {
                Some(entry) => entry,
                None => match self.cursor.step(read_point, scratch.evaluator(self.base.is_system), work) {
                    Step::Entry(entry) => entry,
                    Step::Pause => return Err(Rest::Pause),
                    Step::End if self.cursor.is_cut() => {
                        return Err(Rest::End(ResultCode::AdminLimitExceeded));
                    }
                    Step::End => return Err(Rest::End(ResultCode::Success)),
                },
            };
            // A skipped candidate may have cost work, so the slice may end here.
            if !self.special.skips(read_point, self.base.id, &entry, &self.hidden) {
                match self.admit(scratch, query, &entry, work) {
                    Admitted::By(view) => return Ok((entry, view)),
                    Admitted::Later => return Err(Rest::Pause),
                    Admitted::No => {
                        if planted::is(holes::HIDDEN_COUNTED) {
                            self.left = self.left.saturating_sub(1);
                        }
                        *work = work.saturating_sub(SKIPPED_ENTRY);
                        // Rights may have changed since it was paused in the middle of it: it is not to come again.
                        self.restricted.forget_pause();
                        self.contents.iter_mut().for_each(|contents| contents.forget());
                    }
                }
            }
            if *work == 0 {
                return Err(Rest::Pause);
            }
        }
    }

    /// Whether, and by which view, an entry is returned. One that was admitted, and is put together since, is not evaluated again.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        scratch: &mut Scratch,
        query: &Query<'_>,
        entry: &EntryRef<'_>,
        work: &mut u64,
    ) -> Admitted {
        match &self.contents {
            Some(contents) if contents.has_begun(entry, query.who) => query.admit_again(scratch, entry),
            _ => query.admit(scratch, entry, &mut self.restricted, work),
        }
    }

    /// Puts together what the entry is written with, before it is counted. Returns the view that it is written by.
    /// Nearly no search has contents of its own, and then nothing is asked of the entry.
    ///
    /// # Errors
    /// Why the slice ends here.
    #[inline(always)]
    pub(super) fn prepare_contents(
        &mut self,
        scratch: &mut Scratch,
        query: &Query<'_>,
        (entry, view): (&EntryRef<'_>, ViewId),
        work: &mut u64,
    ) -> Result<ViewId, Rest> {
        let Some(contents) = self.contents.as_mut() else { return Ok(view) };
        let place = (query.read_point, &query.base, query.who);
        match contents.prepare(scratch, place, query.selection(view), entry, work) {
            // Other entries were looked at for it, each by a view of its own, and a thread remembers so many.
            Chose::All => Ok(query.view_again(scratch, entry)),
            Chose::Paused => Err(Rest::Pause),
            Chose::TooMuch => Err(Rest::End(ResultCode::AdminLimitExceeded)),
        }
    }

    /// Writes an entry that is returned, with what the search shows besides. Why the slice ends with it, if it does.
    #[expect(clippy::too_many_arguments, reason = "what a slice has, borrowed from its owners")]
    #[inline(always)]
    pub(super) fn put_entry(
        &mut self,
        (dsa, now): (&Dsa, Now),
        scratch: &mut Scratch,
        query: &Query<'_>,
        counters: &Counters,
        (entry, view): (&EntryRef<'_>, ViewId),
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Option<Rest> {
        let read_point = query.read_point;
        *work = work.saturating_sub(WRITTEN_ENTRY);
        let view = match &mut self.rights {
            None => view,
            // Counted by now: what is shown besides makes no other entry of it.
            Some(rights) => {
                let (who, action) = (query.who, query.base.action());
                let written = Written { who, view, action, entry, read_point };
                if !rights.show(scratch, &written, (query.selectors, query.types_only), work) {
                    return Some(Rest::End(ResultCode::InsufficientAccessRights));
                }
                // Views that were made for the subject may have been more than are remembered.
                scratch.view(who, action, entry, read_point)
            }
        };
        let view =
            if self.shows_usability { query.bring(dsa, now, scratch, view, entry, work) } else { view };
        if let Some(list) = &mut self.list {
            list.note_returned();
        }
        if let Some(following) = &mut self.following {
            following.bring(scratch);
        }
        // What is worked out for the entry is paid there.
        scratch.work = *work;
        let large = match &mut self.contents {
            None => query.put(scratch, view, counters, entry, out),
            Some(contents) => query.put_contents(contents, scratch, view, counters, entry, out),
        };
        *work = scratch.work;
        large.map(Rest::Large)
    }

    /// Goes back to the first candidate: nothing was returned so far.
    /// The plan stays, and what was looked at counts anew.
    #[cold]
    pub(super) fn begin_again(&mut self) {
        self.cursor.rewind();
        self.restricted.forget_pause();
        // The entry that it has begun with is brought again by the cursor.
        self.contents.iter_mut().for_each(|contents| contents.forget());
    }

    /// Was it paused in the middle of an entry?
    pub(super) fn is_within_entry(&self) -> bool {
        self.cursor.is_within_entry() || self.restricted.paused.is_some()
    }

    /// Bytes that are kept for the client besides what every search keeps.
    /// An estimate is good enough: it is compared with a bound of megabytes.
    pub(super) fn bytes(&self) -> usize {
        let of_rights = self.rights.as_ref().map_or(0, |rights| rights.heap_bytes());
        let of_contents = self.contents.as_ref().map_or(0, |contents| contents.heap_bytes());
        self.cursor.heap_bytes() + of_rights + of_contents + self.list.as_ref().map_or(0, |list| list.bytes())
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
        if let Some(text) = self.list.as_ref().and_then(|list| list.text()) {
            return self.end_with(out, code, text);
        }
        match code {
            // The latter two are of one that cannot be sorted for it.
            ResultCode::AdminLimitExceeded
            | ResultCode::UnavailableCriticalExtension
            | ResultCode::VirtualListViewError
                if self.cursor.is_cut() =>
            {
                counters.limited(Limit::LookThrough);
                return self.end_with(out, code, &outcome::look_through_text(self.advice.as_deref()));
            }
            ResultCode::AdminLimitExceeded if self.contents.as_ref().is_some_and(|of| of.is_too_much()) => {
                let text =
                    "an attribute has too many values that match: ask for them by equality, or for all";
                return self.end_with(out, code, text);
            }
            ResultCode::SizeLimitExceeded if self.is_own.0 => counters.limited(Limit::Size),
            ResultCode::TimeLimitExceeded if self.is_own.1 => counters.limited(Limit::Time),
            _ => {}
        }
        self.end_with(out, code, limit_text(code));
    }

    /// A paged search ends with an empty cookie (RFC 2696 section 3), whatever ends it.
    pub(super) fn end_with(&self, out: &mut Vec<u8>, code: ResultCode, text: &str) {
        self.put_end(out, (code, text), &[]);
    }

    /// The cookie is made of where the page ends; the server keeps nothing of it.
    pub(super) fn end_page(&self, read_point: ReadPoint<'_>, out: &mut Vec<u8>) {
        let page = self.page.as_ref().expect("only a paged search fills a page");
        self.put_end(out, (ResultCode::Success, ""), &page.cookie(read_point));
    }

    /// The last message, with the controls that answer those of the request.
    fn put_end(&self, out: &mut Vec<u8>, (code, text): (ResultCode, &str), cookie: &[u8]) {
        let mut values = Responses::new();
        if let Some(rights) = &self.rights {
            values.push((effective_rights::OID, rights.response()));
        }
        if let Some(list) = &self.list {
            list.put_responses(code, &mut values);
        }
        let controls: SmallVec<[Control<'_>; 3]> =
            values.iter().map(|(oid, value)| Control { oid, critical: false, value: Some(value) }).collect();
        match self.page {
            None => encode_result(out, self.id, tag::SEARCH_DONE, code, b"", text, &controls),
            Some(_) => put_page_end(out, self.id, (code, text), cookie, &controls),
        }
    }
}
