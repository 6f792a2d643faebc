//! Server side sorting (RFC 2891) and virtual list views. A sorted search finds all of its entries before it returns the first, unless an index has them in
//! order: then it passes them on as they are found.
//!
//! ```text
//! gather     entries that match and that the requester may see, each by its key      bounded by memory
//! merge      runs of them, until all are in order                                    then keys are dropped, ids stay
//! place      where a page goes on, or which part of the list a view has
//! return     entries by their ids, with the rights that the requester has by then
//! ```
//! Each stage is done in slices and can be put down after any step. All of them see one read point, so an id of the list has its entry. What is gathered is
//! counted as memory kept for the client. Rights come before the list is made: neither a number nor a place in it tells of an entry
//! that is hidden, nor of a value.
//!
//! A search that cannot be sorted is answered unsorted, or not at all if its client says that the order is critical (RFC 2891 section 2).

mod find;
mod keys;
mod order;
mod pass;
mod places;
mod request;
mod stage;
mod walk;
mod window;

use self::find::{Seek, find};
use self::keys::{KeyMaker, SortedBy, sorted_by};
use self::order::Order;
use self::request::{Answered, list_request};
use self::stage::Stage;
use self::walk::{RIGHTS_CHANGED, Walk, refusal};
use self::window::Window;
use super::page::{Page, put_page_end};
use super::query::{Admitted, Query};
use super::running::{List, Responses, Rest, Running, SKIPPED_ENTRY, TooMuch};
use super::special::SpecialEntries;
use super::virtual_list_view::{ListTarget, ListView, failure};
use crate::access::{ClassId, ViewId};
use crate::context::Reading;
use crate::control::Requested;
use crate::engine::Dsa;
use crate::monitor::Counters;
use crate::sorted_lists::ListKey;
use crate::worker::Scratch;
use env::clock::Now;
use model::limits::OUT_BYTES_SOFT_MAX;
use model::{EntryId, ResultCode};
use proto::control::sort;
use proto::control::virtual_list_view::{self, ViewResponse, ViewResult};
use proto::op::Search;
use proto::result::encode_result;
use proto::tag;
use std::borrow::Cow;
use std::sync::Arc;
use store::EntryRef;
use store::search::Cursor;

/// Said of a search whose keys have no order.
const CANNOT_SORT: &str = "the entries cannot be sorted by this key";

/// The order of a search, and how far it has come with it.
pub(super) struct Sorting {
    /// Must the entries be in order?
    is_critical: bool,
    maker: KeyMaker,
    /// Which part of the list is wanted, if not all of it.
    view: Option<ListView>,
    stage: Stage,
    /// What the response says of the order, and the attribute that it could not be made by.
    code: ResultCode,
    attribute: Option<Box<[u8]>>,
    /// What the response says of the part of the list, once that is known.
    view_response: Option<ViewResponse>,
    /// Said at the end of a search that is refused.
    text: Cow<'static, str>,
    /// The index that would serve it.
    lacks: Option<Box<str>>,
    /// Bytes that it may take.
    bytes_max: usize,
    /// An entry whose key takes more than a slice, and the class of the requester that it was admitted for.
    /// With another class it is judged once more: rights may change in between.
    pending: Option<(EntryId, ClassId)>,
    /// Was an entry returned?
    has_returned: bool,
    /// How far it has come with an index, if one serves it.
    walk: Option<Box<Walk>>,
    /// How it would, if there is no memory to gather all of its entries.
    spare: Option<Box<Walk>>,
    /// The part of the list that is looked up in an index, if one tells positions.
    window: Option<Box<Window>>,
    /// What the list is remembered by.
    key: ListKey,
    /// The same of the request, and its part of the list, if it has one.
    of_part: Vec<u8>,
}

/// What a search is to do about its order, if it has one.
///
/// # Errors
/// When it is refused.
pub(super) fn prepare(
    reading: &mut Reading<'_>,
    query: &Query<'_>,
    (request, requested): (&Search<'_>, &Requested<'_>),
    out: &mut Vec<u8>,
) -> Result<Option<Box<Sorting>>, Answered> {
    // Nearly all searches end here.
    let Some(rare) = requested.rare.as_deref().filter(|_| requested.is_sorted()) else { return Ok(None) };
    let schema = query.read_point.shard().schema();
    let mut refuse = |code, text: &str, (oid, value): (&[u8], Vec<u8>)| {
        let control = proto::control::Control { oid, critical: false, value: Some(&value) };
        match requested.paged {
            None => encode_result(out, query.id, tag::SEARCH_DONE, code, b"", text, &[control]),
            Some(_) => put_page_end(out, query.id, (code, text), &[], &[control]),
        }
        Err(Answered)
    };
    // A view that fails says why in its own response, and the code of the search says that it was the view.
    let of_view = |result| (virtual_list_view::RESPONSE_OID, failure(result).encode());
    let Some((keys, is_critical)) = &rare.sort else {
        let text = "a virtual list view needs a sort control";
        return refuse(ResultCode::VirtualListViewError, text, of_view(ViewResult::SortControlMissing));
    };
    let refusal = match sorted_by(keys, schema) {
        Ok(by) => {
            let first = &by[0];
            let view = rare.list_view.as_ref();
            let view = view.map(|view| ListView::new(view, |value| first.component(value, schema)));
            return match view.transpose() {
                Ok(view) => Ok(Some(Sorting::new(reading, query, (request, requested), (by, view)))),
                Err(result) => {
                    let text = match result {
                        ViewResult::ProtocolError => "the contextID is none of this server",
                        _ => "the value is none that the first sort key can be compared with",
                    };
                    refuse(ResultCode::VirtualListViewError, text, of_view(result))
                }
            };
        }
        Err(refusal) => refusal,
    };
    // RFC 2891 section 2, scenarios 3 and 4. A part of a list that has no order is nothing that could be returned instead.
    let (code, attribute) = refusal;
    match &rare.list_view {
        _ if *is_critical => {
            let response = (sort::RESPONSE_OID, sort::response(code, Some(attribute)));
            refuse(ResultCode::UnavailableCriticalExtension, CANNOT_SORT, response)
        }
        Some(_) => {
            let result = match code {
                ResultCode::InappropriateMatching => ViewResult::InappropriateMatching,
                _ => ViewResult::UnwillingToPerform,
            };
            refuse(ResultCode::VirtualListViewError, CANNOT_SORT, of_view(result))
        }
        None => {
            let mut sorting = Sorting::new(reading, query, (request, requested), (Vec::new(), None));
            (sorting.code, sorting.attribute) = (code, Some(attribute.into()));
            sorting.stage = Stage::Unsorted;
            Ok(Some(sorting))
        }
    }
}

/// Each stage either gives way to the next or is put down where it is; the loop ends with the work, so a list is made however small the
/// slices are.
impl List for Sorting {
    /// Comes further, as [`Running::slice`] does. `None` if it turns out that entries are not sorted.
    fn slice(
        &mut self,
        running: &mut Running,
        (dsa, now): (&Dsa, Now),
        scratch: &mut Scratch,
        query: &Query<'_>,
        counters: &Counters,
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Option<Rest> {
        let window = self.window.as_ref();
        if self.walk.as_ref().is_some_and(|walk| walk.is_of_another(query.who))
            || window.is_some_and(|window| window.is_of_another(query.who))
        {
            if self.has_returned {
                self.text = RIGHTS_CHANGED.into();
                return Some(Rest::End(ResultCode::Busy));
            }
            self.stage = self.gather_all(running);
        }
        loop {
            self.stage = match std::mem::replace(&mut self.stage, Stage::Unsorted) {
                // One that was spare may have begun with other rights, by which entries have another order.
                Stage::Read if self.walk.as_ref().is_some_and(|walk| walk.is_of_another(query.who)) => {
                    self.gather_all(running)
                }
                Stage::Read => match self.read(running, query, work) {
                    Ok(stage) => stage,
                    Err(why) => {
                        self.stage = Stage::Read;
                        return self.give_up(running, why);
                    }
                },
                Stage::Pass => {
                    let rest = self.pass(running, (dsa, now), scratch, query, counters, work, out);
                    if !self.has_next_part(&rest) {
                        self.stage = Stage::Pass;
                        return Some(rest);
                    }
                    Stage::Read
                }
                Stage::Gather(mut order) => {
                    let rest = self.gather(&mut order, running, scratch, query, work);
                    match rest {
                        Ok(Rest::End(ResultCode::Success)) => Stage::Merge(order),
                        Ok(rest) => {
                            self.stage = Stage::Gather(order);
                            return Some(rest);
                        }
                        Err(why) => {
                            self.stage = Stage::Gather(order);
                            if let Some(rest) = self.give_up(running, why) {
                                return Some(rest);
                            }
                            std::mem::replace(&mut self.stage, Stage::Unsorted)
                        }
                    }
                }
                Stage::Merge(mut order) => match order.merge(work) {
                    true => Stage::Take(order, Vec::new()),
                    false => {
                        self.stage = Stage::Merge(order);
                        return Some(Rest::Pause);
                    }
                },
                Stage::Take(order, mut ids) => match order.take_ids(&mut ids, work) {
                    true if self.window.as_ref().is_some_and(|window| !window.has_read(ids.len())) => {
                        self.gather_all(running)
                    }
                    true => Stage::Place(self.remember(ids, dsa, scratch, query)),
                    false => {
                        self.stage = Stage::Take(order, ids);
                        return Some(Rest::Pause);
                    }
                },
                Stage::Place(ids) => match self.place(ids, running) {
                    Ok(stage) => stage,
                    Err(rest) => return Some(rest),
                },
                Stage::Find(ids, low, high) => {
                    let at = match &self.view {
                        Some(ListView { target: ListTarget::AtLeast(component), .. }) => {
                            Seek::AtLeast(component)
                        }
                        _ => Seek::Behind(running.page.as_ref()),
                    };
                    match find(&mut self.maker, at, (&ids, low, high), scratch, query, work) {
                        Ok(at) => self.found(ids, at, running),
                        Err((low, high)) => {
                            self.stage = Stage::Find(ids, low, high);
                            return Some(Rest::Pause);
                        }
                    }
                }
                Stage::Return(ids, mut at, end) => {
                    let part = (&ids[..end], &mut at);
                    let rest = self.put_part(part, running, (dsa, now), scratch, query, counters, work, out);
                    if !self.has_next_part(&rest) {
                        self.stage = Stage::Return(ids, at, end);
                        return Some(rest);
                    }
                    Stage::Read
                }
                Stage::Unsorted => return None,
            };
            if *work == 0 {
                return Some(Rest::Pause);
            }
        }
    }

    /// The list takes too much: the search is refused, or begins anew without an order. Returns how it ends, if it does.
    #[cold]
    fn give_up(&mut self, running: &mut Running, why: TooMuch) -> Option<Rest> {
        // Its list was given up before: it keeps what any search keeps.
        if self.is_unsorted() {
            return None;
        }
        if !self.has_returned && self.window.is_some() {
            self.stage = self.gather_all(running);
            return None;
        }
        if why == TooMuch::Memory
            && !self.has_returned
            && let Some(walk) = self.spare.take()
        {
            self.stage = self.gather_all(running);
            (self.walk, self.stage) = (Some(walk), Stage::Read);
            return None;
        }
        self.code = ResultCode::AdminLimitExceeded;
        self.text = refusal(why, self.lacks.as_deref());
        self.stage = Stage::Unsorted;
        if let Some(mut walk) = self.walk.take() {
            walk.restore(running);
            // What was returned is in order.
            if self.has_returned {
                self.code = ResultCode::Success;
                return Some(Rest::End(ResultCode::AdminLimitExceeded));
            }
        }
        if self.is_critical {
            return Some(Rest::End(ResultCode::UnavailableCriticalExtension));
        }
        if self.view.is_some() {
            self.view_response = Some(failure(ViewResult::AdminLimitExceeded));
            return Some(Rest::End(ResultCode::VirtualListViewError));
        }
        // Its list would begin anew, with entries that its client has got already.
        // The pages before were sorted, so this one cannot go on without.
        let is_later_page = running.page.as_ref().is_some_and(|page| page.at.returned > 0);
        if self.has_returned || is_later_page {
            return Some(Rest::End(ResultCode::AdminLimitExceeded));
        }
        self.text = "".into();
        running.begin_again();
        if let Some(page) = &mut running.page {
            page.forget_order();
        }
        None
    }

    /// Bytes that are kept for the client.
    fn bytes(&self) -> usize {
        let of_walk = self.walk.as_ref().map_or(0, |walk| walk.bytes());
        let of_window = self.window.as_ref().map_or(0, |window| window.bytes());
        self.key.request.len() + self.of_part.len() + of_walk + of_window + self.stage.bytes()
    }

    /// An entry was returned that was not sorted.
    fn note_returned(&mut self) {
        self.has_returned = true;
    }

    /// What is said of a search that is refused for its order.
    fn text(&self) -> Option<&str> {
        Some(&*self.text).filter(|text| !text.is_empty())
    }

    /// The responses of a search that ends with this code.
    fn put_responses(&self, code: ResultCode, responses: &mut Responses) {
        // RFC 2891 section 2: none, if no entry was returned or the search has failed, unless it failed for its order.
        if self.has_returned || code == ResultCode::UnavailableCriticalExtension {
            let value = sort::response(self.code, self.attribute.as_deref());
            responses.push((sort::RESPONSE_OID, value));
        }
        if let Some(response) = &self.view_response {
            responses.push((virtual_list_view::RESPONSE_OID, response.encode()));
        }
    }
}

impl Sorting {
    /// Of a search that can be sorted, or has no keys and is not. A list that is remembered spares it the first stages.
    fn new(
        reading: &mut Reading<'_>,
        query: &Query<'_>,
        (request, requested): (&Search<'_>, &Requested<'_>),
        (by, view): (Vec<SortedBy>, Option<ListView>),
    ) -> Box<Sorting> {
        let rare = requested.rare.as_deref();
        let key = ListKey {
            request: list_request(query, request, requested),
            who: query.who,
            sequence: query.read_point.sequence(),
        };
        // What is remembered is of the directory alone.
        // The server's own entries are few, and change without their directory.
        let known = match query.base.is_system {
            true => None,
            false => reading.scratch.sorted_lists.find(&key),
        };
        let of_view = rare.and_then(|rare| rare.list_view.as_ref()).map(|view| view.encode());
        let of_part = of_view.map_or_else(Vec::new, |view| [&key.request[..], &view].concat());
        Box::new(Sorting {
            is_critical: rare.is_some_and(|rare| rare.sort.as_ref().is_some_and(|(_, critical)| *critical)),
            maker: KeyMaker::new(by),
            view,
            stage: known.map_or_else(|| Stage::Gather(Order::default()), Stage::Place),
            code: ResultCode::Success,
            attribute: None,
            view_response: None,
            text: "".into(),
            lacks: None,
            bytes_max: reading.dsa.limits.sort_bytes_max.get() as usize,
            pending: None,
            has_returned: false,
            walk: None,
            spare: None,
            window: None,
            key,
            of_part,
        })
    }

    /// What the cookies of its pages are bound to. A cookie is of one order and one part, so that it cannot be taken for a place in another.
    pub(super) fn request(&self) -> &[u8] {
        if self.of_part.is_empty() { &self.key.request } else { &self.of_part }
    }

    /// Takes its entries from an index in the order of that, if one serves it. A part of a list needs positions, too.
    pub(super) fn walk(
        &mut self,
        scratch: &mut Scratch,
        query: &Query<'_>,
        (cursor, special): (&Cursor, SpecialEntries),
        page: Option<&Page>,
        limit: u32,
    ) {
        let is_new = matches!(self.stage, Stage::Gather(_));
        let Some(first) = self.maker.by.first().filter(|_| is_new) else { return };
        if first.is_collected(scratch, query.read_point) {
            return;
        }
        let views = &mut scratch.views;
        self.lacks = Walk::lacks(views, query, (first, cursor), self.view.is_some());
        if let Some(view) = &self.view {
            self.window = Window::open(views, query, (first, cursor), special, view);
            if self.window.is_some() {
                self.stage = Stage::Read;
            }
            return;
        }
        match Walk::open(views, query, (first, cursor), page, (limit, self.bytes_max)) {
            Some(walk) if walk.is_worth => (self.walk, self.stage) = (Some(walk), Stage::Read),
            walk => self.spare = walk,
        }
    }

    /// Was a part of an index returned to its end, and does another one follow?
    fn has_next_part(&mut self, rest: &Rest) -> bool {
        matches!(rest, Rest::End(ResultCode::Success)) && self.walk.as_mut().is_some_and(|walk| walk.go_on())
    }

    /// Are entries returned as they are found?
    pub(super) fn is_unsorted(&self) -> bool {
        matches!(self.stage, Stage::Unsorted)
    }

    /// The pages before had no order, so this one has none. `false` if it must have one.
    pub(super) fn go_on_unsorted(&mut self) -> bool {
        if self.is_critical || self.view.is_some() {
            return false;
        }
        (self.stage, self.code) = (Stage::Unsorted, ResultCode::AdminLimitExceeded);
        true
    }

    /// Gathers entries until there are no more, which is the end with success.
    ///
    /// # Errors
    /// Why the list cannot be made.
    fn gather(
        &mut self,
        order: &mut Order,
        running: &mut Running,
        scratch: &mut Scratch,
        query: &Query<'_>,
        work: &mut u64,
    ) -> Result<Rest, TooMuch> {
        let of_part = self.walk.as_ref().map_or(0, |_| running.cursor.heap_bytes());
        loop {
            let (entry, view) = match self.next(running, scratch, query, work) {
                Ok(found) => found,
                Err(Rest::End(ResultCode::AdminLimitExceeded)) => return Err(TooMuch::LookThrough),
                Err(rest) => return Ok(rest),
            };
            // The cursor would not bring it again, so it is remembered.
            let Some(key) = self.maker.key(query, scratch, (&entry, view), work) else {
                self.pending = Some((entry.id, query.who.class));
                return Ok(Rest::Pause);
            };
            let is_of_part = self.walk.as_ref().is_none_or(|walk| walk.has(&key));
            // Both bounds come to the same for the client: the search is too large to be sorted.
            if is_of_part && (!order.put(&key, entry.id, work) || order.bytes() + of_part > self.bytes_max) {
                return Err(TooMuch::Memory);
            }
            if *work == 0 {
                return Ok(Rest::Pause);
            }
        }
    }

    /// The next entry that matches and may be seen: one whose key is not ready comes before others.
    fn next<'q>(
        &mut self,
        running: &mut Running,
        scratch: &mut Scratch,
        query: &Query<'q>,
        work: &mut u64,
    ) -> Result<(EntryRef<'q>, ViewId), Rest> {
        if let Some((id, class)) = self.pending
            && let Some(entry) = query.read_point.entry(id)
        {
            // The filter was true of it. To evaluate it again with each step of the key may take more than a slice each time.
            let admitted = match class == query.who.class {
                true => query.admit_again(scratch, &entry),
                false => query.admit(scratch, &entry, &mut running.restricted, work),
            };
            match admitted {
                Admitted::Later => return Err(Rest::Pause),
                Admitted::No => self.pending = None,
                Admitted::By(view) => {
                    self.pending = None;
                    return Ok((entry, view));
                }
            }
        }
        running.next(scratch, query, work)
    }

    /// Keeps the list for the next search that asks for it, if the requester has the rights that it began with.
    fn remember(&self, ids: Vec<u32>, dsa: &Dsa, scratch: &mut Scratch, query: &Query<'_>) -> Arc<Vec<u32>> {
        // Shared, not copied: a list of a million ids would be longer than a slice.
        let ids = Arc::new(ids);
        if self.walk.is_none() && self.window.is_none() && !query.base.is_system && query.who == self.key.who
        {
            scratch.sorted_lists.put(&dsa.client_memory, self.key.clone(), &ids);
        }
        ids
    }

    /// Returns entries of the list, up to its end here.
    #[expect(clippy::too_many_arguments, reason = "what a slice has, borrowed from its owners")]
    fn put_part(
        &mut self,
        (ids, at): (&[u32], &mut usize),
        running: &mut Running,
        (dsa, now): (&Dsa, Now),
        scratch: &mut Scratch,
        query: &Query<'_>,
        counters: &Counters,
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Rest {
        while let Some(id) = ids.get(*at) {
            if *work == 0 || out.len() >= OUT_BYTES_SOFT_MAX {
                return Rest::Pause;
            }
            let entry = query.read_point.entry(EntryId(*id)).expect("the list is of this read point");
            // Rights may have changed since the list was made.
            let view = match running.admit(scratch, query, &entry, work) {
                Admitted::By(view) => view,
                Admitted::Later => return Rest::Pause,
                Admitted::No => {
                    running.contents.iter_mut().for_each(|contents| contents.forget());
                    *at += 1;
                    *work = work.saturating_sub(SKIPPED_ENTRY);
                    continue;
                }
            };
            let view = match self.take(running, scratch, query, (&entry, view), work) {
                Ok(view) => view,
                Err(rest) => return rest,
            };
            *at += 1;
            let rest = running.put_entry((dsa, now), scratch, query, counters, (&entry, view), work, out);
            if let Some(rest) = rest {
                return rest;
            }
        }
        Rest::End(ResultCode::Success)
    }
}
