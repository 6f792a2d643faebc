//! Search (RFC 4511 section 4.5). Most searches end where they begin, inside their bundle. One that has more to
//! look at or to return than fits is suspended and goes on in slices, at the read point it began with.
//!
//! ```text
//! base       one entry, read where it lies
//! few        an equality assertion on an indexed attribute, with up to four candidates
//! cursor     everything else: candidates of the best index, or a walk through the scope, a slice of work at a time
//! ```
//! All three see one state of the directory. Inside a bundle that is a pinned read point, which costs nothing; a search that is suspended
//! registers a reader of its own, which keeps old versions from being freed. So the number of suspended searches, the time that each
//! may take and the memory that it holds are bounded ([`Share`], [`SUSPENDED_MAX_NS`]), and it can be revoked when memory is short.

pub(crate) mod again;
mod base;
pub(crate) mod inside;
mod page;
mod running;
mod share;
mod special;
mod unindexed;

use self::base::{find_base, refuse};
use self::page::{Page, SearchKey, put_page_end};
pub(crate) use self::running::SUSPENDED_MAX_NS;
use self::running::{Admitted, Query, Rest, Restricted, Running};
use self::share::{Allowance, Share, TOO_MANY};
use self::special::SpecialEntries;
use self::unindexed::{bound, is_true_of_nothing};
use crate::access::{Action, Bounds, Requester, Searchable, Views, tighter};
use crate::context::Reading;
use crate::control::effective_rights::EffectiveRights;
use crate::control::{Requested, assertion};
use crate::entry_writer::Large;
use crate::events::{Event, EventKind};
use crate::faults::holes;
use crate::identity::Identity;
use crate::monitor::Counters;
use crate::outcome;
use crate::peers::Peer;
use crate::refusals::Limit;
use crate::session::security::Security;
use crate::worker::{Parts, Scratch, Worker};
use ::access::Operation;
use env::planted;
use model::limits::{OUT_BYTES_SOFT_MAX, SESSION_SEARCHES_MAX};
use model::{EntryId, Filter, ResultCode, Scope, TypeId};
use proto::list::Octets;
use proto::op::Search;
use proto::outline::Outline;
use proto::result::{encode_done, encode_result};
use proto::tag;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use store::search::evaluate::Truth;
use store::search::work::COMPILED_ITEM;
use store::search::{Compiled, Cursor, FewCandidates, Scopes};
use store::{EntryRef, Holder, Look, ReadPoint, RevocableReadPoint, Target};

/// A search that outlived its bundle.
/// It owns everything that it needs, for the input buffer with its request is used again at once.
pub(crate) struct SuspendedSearch {
    read_point: RevocableReadPoint,
    running: Running,
    /// The attribute selectors, owned: the request is gone.
    selectors: Vec<u8>,
    large: Option<Large>,
    /// As whom it is made, if not as whom the session is bound (RFC 4370). It goes on as that one: an application that asks in the name
    /// of a user must not get the rest of an answer by its own rights.
    acting: Option<Box<Identity>>,
    /// What it takes of what clients may have.
    _share: Share,
}

/// What became of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The last message was written.
    Done,
    /// There is more, and the out buffer ends with a whole message.
    Paused,
    /// There is more of the message at the end of the out buffer.
    InMessage,
    /// It was ended with an entry half written: the session cannot go on.
    Broken,
}

/// What surrounds a search in its bundle.
/// It borrows from the session and from the bundle's pins; a search that ends in its bundle copies nothing.
pub(crate) struct SearchContext<'b> {
    pub(crate) look: Look<'b>,
    pub(crate) system_look: Look<'b>,
    /// Where the client comes from.
    pub(crate) peer: &'b Peer,
    pub(crate) identity: &'b Identity,
    pub(crate) searches: &'b mut VecDeque<SuspendedSearch>,
    pub(crate) counters: &'b Counters,
    /// Where the base is, if it was worked out for this read point.
    pub(crate) hint: Option<Target>,
    /// The request's outline, if it has one.
    pub(crate) outline: Option<&'b Outline<'b>>,
}

/// Runs a search, or begins it.
/// Each refusal is a SearchResultDone; at most one is written. The order of the checks decides what a client learns: rights come before
/// anything that tells whether an entry is there.
pub(crate) fn run(
    reading: &mut Reading<'_>,
    context: &mut SearchContext<'_>,
    id: i32,
    request: &Search<'_>,
    requested: &Requested<'_>,
    out: &mut Vec<u8>,
) {
    let who = context.identity.requester();
    let place = (context.hint, who, context.system_look.read_point());
    let base = match find_base(reading, place, request, requested) {
        Ok(base) => base,
        Err(refusal) => return refuse(reading, id, request, refusal, out),
    };
    // The server's own entries are a small directory of their own, with a read point of its own.
    let read_point = if base.is_system { context.system_look.read_point() } else { reading.read_point };
    // RFC 4528 section 3: the assertion is about the base, and is judged before anything is searched.
    if let Some(filter) = requested.assertion() {
        let entry = read_point.entry(base.id).expect("the base was just found");
        let asked = Action { operation: Operation::Search, is_system: base.is_system };
        let view = reading.scratch.view(who, asked, &entry, read_point);
        let Scratch { views, evaluator, system_evaluator, .. } = &mut *reading.scratch;
        let evaluator = if base.is_system { system_evaluator } else { evaluator };
        let is_true = assertion::is_true_soon(filter, &entry, read_point, (views, who, view), evaluator);
        if !assertion::passes(is_true, out, id, tag::SEARCH_DONE) {
            return;
        }
    }
    // Compiling normalises every value of the filter: a client that sends long filters has fewer of them in its turn.
    if !planted::is(holes::FILTER_NOT_PAID) {
        reading.scratch.pay(u64::from(request.filter.items()) * COMPILED_ITEM);
    }
    if planted::is(holes::GUESS_ANSWERED_EARLY) && is_true_of_nothing(&request.filter, read_point) {
        return encode_done(out, id, tag::SEARCH_DONE, ResultCode::Success);
    }
    let (filter, mut restricted) =
        compile(&mut reading.scratch.views, who, &request.filter, (read_point, base.is_system));
    // Aliases, referrals and subentries need looks that plain searches do without. Nearly all directories have none of them.
    let special = SpecialEntries::new(reading, request, requested);
    let (selectors, types_only) = (request.selection, request.types_only);
    let is_restricted = restricted.is_needed();
    let mut query = Query { id, read_point, base, who, selectors, types_only, is_restricted, again: None };
    // Before it runs: the form depends on the request and the requester, not on what is found.
    query.again = again::remember(reading, context, request, requested, &query, &filter);
    // Limits do not matter here: one entry is within any of them.
    // The shortest way, which most reads take.
    let rights = effective_rights(reading, context, request, requested);
    // What a search shows besides, it shows on the long way. There a base search may find out that its base is not of the kind that it sees, too.
    let is_plain = rights.is_none() && !requested.asks_usability() && requested.visible().is_none();
    if request.scope == Scope::Base && requested.paged.is_none() && is_plain {
        let entry = read_point.entry(base.id).expect("the base was just found");
        if run_base(reading, context, &query, &entry, (&filter, &mut restricted), out) {
            return;
        }
        // The cursor brings the entry once more.
        restricted.forget_pause();
    }
    if requested.paged.is_none()
        && special.is_none()
        && is_plain
        && request.size_limit == 0
        && request.scope != Scope::Base
        && let Some(candidates) = read_point.few_candidates(&filter)
        && allows(&reading.scratch.views, who, candidates.len())
    {
        return run_few(reading, context, &query, request, candidates, (&filter, restricted), out);
    }
    // With aliases there may be several subtrees (RFC 4511 section 4.5.1.3); each entry is returned once, whichever way leads to it.
    let scopes = match special.scopes(reading, (&query.base, who), request.scope) {
        Ok(scopes) => scopes,
        Err(refusal) => return refuse(reading, id, request, refusal, out),
    };
    let references = special.references(&query.base, &scopes, request.scope);
    // From here on the search may outlive the request, so filter and scopes are moved into it.
    let begun =
        begin(reading, context.counters, &query, (request, requested), scopes, (filter, restricted), out);
    let Some(mut running) = begun else { return };
    running.special = special;
    running.rights = rights;
    running.shows_usability = requested.asks_usability();
    // Those that follow are of the first page.
    // RFC 2696 section 3 leaves open where references go; once, with the first page, is what clients expect.
    running.references = references
        .filter(|_| requested.wants_references() && requested.paged.is_none_or(|p| p.cookie.is_empty()));
    run_cursor(reading, context, &query, running, out);
}

/// What a search shall show of somebody's rights on its entries; nearly always nothing.
#[inline]
fn effective_rights(
    reading: &mut Reading<'_>,
    context: &SearchContext<'_>,
    request: &Search<'_>,
    requested: &Requested<'_>,
) -> Option<Box<EffectiveRights>> {
    let asked = requested.effective_rights()?;
    let rights = EffectiveRights::new(reading, context.identity, request.selection, asked);
    if let Some(dn) = rights.of_another() {
        // Whether it may is decided for each entry; that it asks is to be known.
        reading.dsa.events.note_use(reading.now.monotonic_ns, || Event {
            peer: reading.security.client(),
            via: reading.security.via(),
            who: context.identity.dn.clone(),
            name: dn.to_vec(),
            ..Event::of(EventKind::Manage, "effective rights".to_owned())
        });
    }
    Some(Box::new(rights))
}

/// Makes a filter ready for a requester: to find candidates by, and to judge those by of which the requester may not test everything.
///
/// Where a right to test depends on the entry, candidates are found by a filter that is true of more entries ([`Compiled::widened`]).
/// An item that may be tested nowhere is undefined here and now, and no index is asked about it. So a search for a hidden
/// attribute takes as long as one for an attribute that nobody has.
fn compile(
    views: &mut Views,
    who: Requester,
    filter: &Filter<'_>,
    (read_point, is_system): (ReadPoint<'_>, bool),
) -> (Compiled, Restricted) {
    let (shard, is_restricted) = (read_point.shard(), Cell::new(false));
    let views = RefCell::new(views);
    let searchable = |id: TypeId| views.borrow_mut().searchable(who.class, (id, is_system), shard.schema());
    let readable = |id: TypeId| {
        let searchable = searchable(id);
        is_restricted.set(is_restricted.get() || searchable == Searchable::Sometimes);
        searchable != Searchable::Never
    };
    let compiled = Compiled::new(filter, shard, &readable);
    if !is_restricted.get() {
        return (compiled, Restricted::default());
    }
    let is_settled = |id: TypeId| searchable(id) != Searchable::Sometimes;
    let widened = compiled.widened(shard, &is_settled);
    (widened, Restricted::by(compiled, filter.items()))
}

/// Runs a search for one entry. `false` if there is too much to look at in it: then nothing was done.
/// An entry that does not fit into the output buffer is suspended half written: its size has no bound that a buffer could have.
#[inline]
fn run_base(
    reading: &mut Reading<'_>,
    context: &mut SearchContext<'_>,
    query: &Query<'_>,
    entry: &EntryRef<'_>,
    (filter, restricted): (&Compiled, &mut Restricted),
    out: &mut Vec<u8>,
) -> bool {
    let scratch = &mut *reading.scratch;
    // `(objectClass=*)` is true of every entry, so the entry is not looked at for it.
    let truth = match filter.is_true() {
        true => Some(Truth::True),
        false => scratch.evaluate(query.base.is_system, filter, entry, query.read_point),
    };
    // The entry has more to look at than a slice of work: the cursor takes it.
    let Some(truth) = truth else { return false };
    let mut work = scratch.work;
    let admitted = match truth {
        Truth::True => query.admit(scratch, entry, restricted, &mut work),
        _ => Admitted::No,
    };
    scratch.work = work;
    let view = match admitted {
        Admitted::By(view) => Some(view),
        Admitted::No => {
            scratch.annotations.looked(query.id, 1, false);
            None
        }
        Admitted::Later => return false,
    };
    if let Some(view) = view
        && let Some(large) = query.put(scratch, view, context.counters, entry, out)
    {
        // Nothing follows the entry: the cursor only carries it to its end.
        let cursor = Cursor::over(query.base.id, Scope::Base, filter.clone(), &[]);
        let running = Running::new(query, cursor, reading.now.monotonic_ns);
        suspend(reading, context, running, query.selectors, Some(large), out);
        return true;
    }
    encode_done(out, query.id, tag::SEARCH_DONE, ResultCode::Success);
    true
}

/// May so many candidates be looked at and returned, for a client that sets no limit itself? One may always: most searches by equality
/// look no further.
/// With more, the sizeLimitExceeded that is due after the last allowed one is the cursor's business.
#[inline]
fn allows(views: &Views, who: Requester, entries: usize) -> bool {
    entries <= 1 || views.bounds(who.class).allows(entries)
}

/// Runs the search that logins and phone networks are made of: one equality assertion, a few candidates.
/// No plan, no cursor, no limits: the candidates are compared and written one after the other. What turns out to be long is handed to a
/// cursor over the candidates that are left.
fn run_few(
    reading: &mut Reading<'_>,
    context: &mut SearchContext<'_>,
    query: &Query<'_>,
    request: &Search<'_>,
    mut candidates: FewCandidates,
    (filter, mut restricted): (&Compiled, Restricted),
    out: &mut Vec<u8>,
) {
    let (scratch, selectors) = (&mut *reading.scratch, query.selectors);
    let Query { read_point, base, .. } = *query;
    let (now_ns, bounds) = (reading.now.monotonic_ns, scratch.views.bounds(query.who.class));
    let resume_with = |rest: &[u32], restricted: Restricted| {
        let cursor = Cursor::over(base.id, request.scope, filter.clone(), rest);
        let mut running = Running::new(query, cursor, now_ns);
        // Only now, for nearly every search has ended before this.
        running.limit(&bounds, request);
        running.restrict(restricted);
        running
    };
    // Entries come in order of their ids in every kind of search, so a client sees the same order whichever way was taken.
    candidates.sort_unstable();
    // Candidates that are not returned. Nearly always there is none.
    let mut passed = 0u32;
    for (position, candidate) in candidates.iter().enumerate() {
        // An index is a superset of the truth: the entry may be gone at this read point, or have the hash alone.
        let Some(entry) = read_point.entry(EntryId(*candidate)) else { continue };
        passed += 1;
        if !read_point.is_in_scope(&entry, base.id, request.scope) {
            continue;
        }
        match scratch.evaluate(base.is_system, filter, &entry, read_point) {
            Some(Truth::True) => {}
            Some(_) => continue,
            None => {
                let running = resume_with(&candidates[position..], restricted);
                return suspend(reading, context, running, selectors, None, out);
            }
        }
        let mut work = scratch.work;
        let admitted = query.admit(scratch, &entry, &mut restricted, &mut work);
        scratch.work = work;
        let view = match admitted {
            Admitted::By(view) => view,
            Admitted::No => continue,
            Admitted::Later => {
                // What it was paused at is found anew by the cursor, which brings the same entry first.
                restricted.forget_pause();
                let running = resume_with(&candidates[position..], restricted);
                return suspend(reading, context, running, selectors, None, out);
            }
        };
        if let Some(large) = query.put(scratch, view, context.counters, &entry, out) {
            let running = resume_with(&candidates[position + 1..], restricted);
            return suspend(reading, context, running, selectors, Some(large), out);
        }
        passed -= 1;
    }
    if passed > 0 {
        scratch.annotations.looked(query.id, candidates.len() as u64, false);
    }
    encode_done(out, query.id, tag::SEARCH_DONE, ResultCode::Success);
}

/// Sets limits and page, and plans.
/// `None` if the search was answered here: its cookie is not of this search, or its client gives it up (RFC 2696 section 3).
fn begin(
    reading: &mut Reading<'_>,
    counters: &Counters,
    query: &Query<'_>,
    (request, requested): (&Search<'_>, &Requested<'_>),
    scopes: Scopes,
    (filter, restricted): (Compiled, Restricted),
    out: &mut Vec<u8>,
) -> Option<Running> {
    let Query { id, read_point, .. } = *query;
    let bounds = reading.scratch.views.bounds(query.who.class);
    let mut page = None;
    if let Some(paged) = &requested.paged {
        // The cookie is bound to base, scope and filter by a keyed hash, so it is good for this very search alone.
        let search = SearchKey::of(read_point, &query.base, request);
        let Ok(position) = search.read(read_point, paged.cookie) else {
            let text = "the paged results cookie does not belong to this search";
            encode_result(out, id, tag::SEARCH_DONE, ResultCode::UnwillingToPerform, b"", text, &[]);
            return None;
        };
        if paged.size == 0 && !paged.cookie.is_empty() {
            put_page_end(out, id, (ResultCode::Success, ""), &[], None);
            return None;
        }
        page = Some(Page::new(bounded_page(counters, &bounds, paged.size), position, search));
    }
    // A page goes on behind the last id that was returned, at a new read point: no state is kept between two pages.
    let after = page.as_ref().and_then(|page| page.at.last);
    let cursor = Cursor::open(read_point, scopes, filter, after);
    // Rights are those of now: a bind that comes while it waits ends it.
    let mut running = Running::new(query, cursor, reading.now.monotonic_ns);
    running.page = page;
    running.restrict(restricted);
    running.limit(&bounds, request);
    bound(reading, counters, query, (&bounds, request), running, out)
}

/// Entries of a page. One that is larger than the requester may have is cut, which the cookie tells the client.
fn bounded_page(counters: &Counters, bounds: &Bounds, asked: i32) -> u32 {
    let asked = u32::try_from(asked).unwrap_or(0);
    let size = tighter(asked, bounds.page);
    if size != asked {
        counters.limited(Limit::Page);
    }
    size
}

/// The first slice is paid from the bundle's budget, all others from turns of their own.
fn run_cursor(
    reading: &mut Reading<'_>,
    context: &mut SearchContext<'_>,
    query: &Query<'_>,
    mut running: Running,
    out: &mut Vec<u8>,
) {
    // Taken out and put back, for the slice borrows the scratch.
    let mut work = reading.scratch.work;
    let rest =
        running.slice((reading.dsa, reading.now), reading.scratch, query, context.counters, &mut work, out);
    reading.scratch.work = work;
    let selectors = query.selectors;
    running.tell_looked(&rest, &mut reading.scratch.annotations, query.read_point);
    match rest {
        Rest::End(code) => running.end(context.counters, out, code),
        Rest::PageFull => running.end_page(query.read_point, out),
        Rest::Pause => suspend(reading, context, running, selectors, None, out),
        Rest::Large(large) => suspend(reading, context, running, selectors, Some(large), out),
    }
}

/// Answers busy where there are too many suspended searches: they hold readers and memory, and clients that take turns get one later.
fn suspend(
    reading: &Reading<'_>,
    context: &mut SearchContext<'_>,
    running: Running,
    selectors: Octets<'_>,
    large: Option<Large>,
    out: &mut Vec<u8>,
) {
    // The read point that it is extended from is pinned by the bundle: nothing between the pin and the new reader can be freed.
    // The server's own entries and the directory are two shards; a reader belongs to one of them.
    let look = if running.base.is_system { context.system_look } else { context.look };
    // What the client is charged with until the search ends.
    let of_rights = running.rights.as_ref().map_or(0, |rights| rights.heap_bytes());
    let bytes = running.cursor.heap_bytes() + selectors.raw().len() + of_rights;
    // An entry that is half written must be finished, whatever the number is; else the stream to the client is broken.
    let room = context.searches.len() < SESSION_SEARCHES_MAX || large.is_some();
    let holder = Holder { since_ns: running.began_ns, peer: context.peer.client() };
    let max = reading.scratch.views.bounds(context.identity.requester().class).searches;
    let allowance = Allowance { max, now: context.searches.len(), counters: context.counters };
    let share = match room {
        true => Share::take(reading.dsa, (context.identity, context.peer), allowance, bytes),
        false => Err(TOO_MANY),
    };
    match share.and_then(|share| Ok((share, look.extend_revocable(holder).ok_or(TOO_MANY)?))) {
        Ok((share, read_point)) => {
            let selectors = selectors.raw().to_vec();
            // Of the session's own identity the class of the next turn counts, for a bind or a rule may come in between.
            let identity = context.identity;
            // An identity by SASL may act for another one as well; it is kept like this one, and is the session's.
            let acting = identity.real.is_some().then(|| Box::new(identity.clone()));
            let search = SuspendedSearch { read_point, running, selectors, large, acting, _share: share };
            // What is half written comes first.
            // Its bytes are the last in the output buffer, so nothing may be written between them and the rest.
            match search.is_in_message() {
                true => context.searches.push_front(search),
                false => context.searches.push_back(search),
            }
        }
        Err(text) => {
            // No entry can be left half written without a read point to go on at.
            if let Some(large) = large {
                out.truncate(large.begin);
            }
            encode_result(out, running.id, tag::SEARCH_DONE, ResultCode::Busy, b"", text, &[]);
        }
    }
}

impl SuspendedSearch {
    /// The message id of the request.
    /// An abandon names it (RFC 4511 section 4.11).
    pub(crate) fn message_id(&self) -> i32 {
        self.running.id
    }

    /// Ends it as its client wishes (RFC 3909). No entry of it may be half written.
    pub(crate) fn cancel(self, out: &mut Vec<u8>) {
        assert!(!self.is_in_message(), "no request is run while an entry is half written");
        self.running.end_with(out, ResultCode::Canceled, "");
    }

    /// Is an entry of it half written?
    pub(crate) fn is_in_message(&self) -> bool {
        self.large.is_some()
    }

    /// It was ended for what it held.
    #[cold]
    fn end_revoked(&self, now_ns: u64, out: &mut Vec<u8>) -> Progress {
        if self.large.is_some() {
            return Progress::Broken;
        }
        let bytes = self.read_point.revoked_bytes().unwrap_or(0);
        let text = outcome::revoked_text(bytes, now_ns.saturating_sub(self.running.began_ns));
        self.running.end_with(out, ResultCode::AdminLimitExceeded, &text);
        Progress::Done
    }

    /// As whom it goes on: as the session's identity is now, or as the one that it was made as, with the class that this one has by now.
    fn requester(&mut self, worker: &mut Worker, (who, security): (Requester, Security)) -> Requester {
        // Nearly all searches are made as the session's own, and show nobody's rights.
        let subject = self.running.rights.as_mut().and_then(|rights| rights.subject_mut());
        if self.acting.is_none() && subject.is_none() {
            return who;
        }
        let others = self.acting.as_deref_mut().into_iter().chain(subject);
        let Parts { dsa, reader, scratch, now, .. } = &mut worker.parts();
        let pin = reader.pin();
        let read_point = pin.read_point();
        scratch.evaluator.cache.refresh(read_point);
        let mut reading = Reading { dsa, read_point, scratch, now: *now, security };
        // Each has a class of its own, by the connection that both are looked at on.
        for other in others {
            reading.keep_up(other, security);
        }
        self.acting.as_ref().map_or(who, |acting| acting.requester())
    }

    /// Does work of a slice, as many units at most as are left of it, for the requester as it is now.
    /// While it runs the read point is entered: it cannot be revoked in the middle of a slice.
    pub(crate) fn go_on(
        &mut self,
        worker: &mut Worker,
        client: (Requester, Security),
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Progress {
        let who = self.requester(worker, client);
        // The cleaner wanted the memory and took the read point away.
        let Some(entered) = self.read_point.enter() else {
            return self.end_revoked(worker.now.monotonic_ns, out);
        };
        let read_point = entered.read_point();
        if let Some(large) = &mut self.large {
            if !large.go_on(read_point, out, OUT_BYTES_SOFT_MAX) {
                return Progress::InMessage;
            }
            self.large = None;
        }
        // Checked between slices only: a slice is a third of a millisecond at most.
        if let Some(code) = self.running.overdue(worker.now.monotonic_ns) {
            self.running.end(&worker.counters, out, code);
            return Progress::Done;
        }
        worker.scratch.evaluator(self.running.base.is_system).cache.refresh(read_point);
        // Parsed again for each slice: the template is found by the bytes, so nothing is looked up in the schema.
        let selectors = Octets::parse(&self.selectors).expect("they were decoded before");
        let running = &mut self.running;
        let query = running.query(read_point, who, selectors);
        let Worker { dsa, now, scratch, counters, .. } = worker;
        let rest = running.slice((dsa, *now), scratch, &query, counters, work, out);
        running.tell_looked(&rest, &mut scratch.annotations, read_point);
        match rest {
            Rest::End(code) => running.end(counters, out, code),
            Rest::PageFull => running.end_page(read_point, out),
            Rest::Pause => return Progress::Paused,
            Rest::Large(large) => {
                self.large = Some(large);
                return Progress::InMessage;
            }
        }
        Progress::Done
    }
}

#[cfg(test)]
mod value_tests;
