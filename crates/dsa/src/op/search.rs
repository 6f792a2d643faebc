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
//! may take and the memory that it holds are bounded ([`share::Share`], [`SUSPENDED_MAX_NS`]), and it can be revoked when memory is short.

pub(crate) mod again;
mod base;
mod batch;
mod begin_following;
mod by_log;
mod chained;
mod collective;
mod contents;
mod cookie;
mod follow;
mod groups;
pub(crate) mod inside;
mod not_followed;
mod page;
mod parked;
mod query;
mod renames;
mod running;
mod share;
mod sorted;
mod special;
mod suspended;
mod unindexed;
mod virtual_list_view;

use self::base::{find_base, refuse};
use self::chained::Below;
use self::contents::Contents;
use self::page::{Page, SearchKey};
use self::query::{Admitted, Query, Restricted};
pub(crate) use self::running::SUSPENDED_MAX_NS;
use self::running::{List, Rest, Running};
use self::sorted::prepare;
use self::special::SpecialEntries;
use self::suspended::suspend;
pub(crate) use self::suspended::{Progress, SearchContext, SuspendedSearch};
use self::unindexed::{bound, is_true_of_nothing};
use crate::access::{Action, Requester, Searchable, Views, compile_with_members, tighter};
use crate::context::Reading;
use crate::control::effective_rights::EffectiveRights;
use crate::control::{Requested, Wanted, assertion};
use crate::events::{Event, EventKind};
use crate::faults::holes;
use crate::monitor::Counters;
use crate::outcome;
use crate::selection::is_synchronised;
use crate::worker::Scratch;
use ::access::{Operation, Right};
use env::planted;
use model::{EntryId, Filter, ResultCode, Scope, TypeId};
use proto::op::Search;
use proto::result::encode_done;
use proto::tag;
use std::cell::{Cell, RefCell};
use store::search::evaluate::Truth;
use store::search::work::COMPILED_ITEM;
use store::search::{Compiled, Cursor, FewCandidates, Scopes};
use store::{EntryRef, ReadPoint};

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
        Err(refusal) if chained::run(reading, context, (id, request, requested), &refusal, out) => return,
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
    let place = (read_point.shard(), base.is_system);
    let contents = match Contents::new(request, requested, reading.scratch, place) {
        Ok(contents) => contents,
        Err((code, text)) => return outcome::say(out, id, tag::SEARCH_DONE, code, text),
    };
    // Compiling normalises every value of the filter: a client that sends long filters has fewer of them in its turn.
    if !planted::is(holes::FILTER_NOT_PAID) {
        reading.scratch.pay(u64::from(request.filter.items()) * COMPILED_ITEM);
    }
    if planted::is(holes::GUESS_ANSWERED_EARLY) && is_true_of_nothing(&request.filter, read_point) {
        return encode_done(out, id, tag::SEARCH_DONE, ResultCode::Success);
    }
    let wanted = requested.follows();
    let follows = matches!(wanted, Some(Wanted::Sync(_)));
    let (filter, mut restricted) =
        compile(reading.scratch, (who, wanted), &request.filter, (read_point, base.is_system));
    let (selectors, types_only) = (request.selection, request.types_only);
    let is_restricted = restricted.is_needed();
    let mut query =
        Query { id, read_point, base, who, selectors, types_only, is_restricted, follows, again: None };
    if let Some(wanted) = wanted {
        let of = (request, requested, wanted);
        return begin_following::begin(reading, context, &query, of, (filter, restricted), out);
    }
    // Aliases, referrals and subentries need looks that plain searches do without. Nearly all directories have none of them.
    let special = SpecialEntries::new(reading, request, requested);
    // Before it runs: the form depends on the request and the requester, not on what is found.
    query.again = again::remember(reading, context, request, requested, &query, &filter);
    // Limits do not matter here: one entry is within any of them.
    // The shortest way, which most reads take.
    let rights = effective_rights(reading, context, request, requested);
    // What a search shows besides, it shows on the long way. There a base search may find out that its base is not of the kind that it sees, too.
    let is_plain = rights.is_none()
        && contents.is_none()
        && !requested.asks_usability()
        && requested.visible().is_none()
        && !requested.is_sorted();
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
    // Those that follow are of the first page.
    // RFC 2696 section 3 leaves open where references go; once, with the first page, is what clients expect.
    let mut references = special
        .references(&query.base, &scopes, request.scope)
        .filter(|_| requested.wants_references() && requested.paged.is_none_or(|p| p.cookie.is_empty()));
    let mut chained = 0;
    if let Some(references) = references.as_mut().filter(|_| reading.dsa.chains()) {
        match chained::follow_below(reading, context, (&query, request, requested), &scopes, out) {
            Below::Followed(objects, entries) => {
                references.pass_over(objects);
                chained = entries;
            }
            Below::Waits | Below::Ended => return,
        }
    }
    // From here on the search may outlive the request, so filter and scopes are moved into it.
    let begun = begin(
        reading,
        context.counters,
        &query,
        (request, requested),
        (scopes, special),
        (filter, restricted),
        out,
    );
    let Some(mut running) = begun else { return };
    running.special = special;
    running.rights = rights;
    running.contents = contents;
    running.shows_usability = requested.asks_usability();
    running.references = references;
    running.left = running.left.saturating_sub(chained);
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
    scratch: &mut Scratch,
    (who, follows): (Requester, Option<Wanted<'_>>),
    filter: &Filter<'_>,
    place: (ReadPoint<'_>, bool),
) -> (Compiled, Restricted) {
    // What is found of groups is true at one read point; a search that follows changes is at many.
    let for_groups = !place.1 && follows.is_none();
    compile_asking(scratch, (who, follows), filter, place, for_groups)
}

/// As [`compile`]. `for_groups`: may the filter ask for memberships? That of a URL of a group may not: it could ask for the group itself.
fn compile_asking(
    scratch: &mut Scratch,
    (who, wanted): (Requester, Option<Wanted<'_>>),
    filter: &Filter<'_>,
    (read_point, is_system): (ReadPoint<'_>, bool),
    for_groups: bool,
) -> (Compiled, Restricted) {
    let (follows, synchronises) = (wanted.is_some(), matches!(wanted, Some(Wanted::Sync(_))));
    let Scratch { views, evaluator, .. } = scratch;
    let (shard, is_restricted) = (read_point.shard(), Cell::new(false));
    let views = RefCell::new(views);
    let searchable = |id: TypeId| views.borrow_mut().searchable(who.class, (id, is_system), shard.schema());
    let readable = |id: TypeId| {
        let searchable = searchable(id);
        is_restricted.set(is_restricted.get() || searchable == Searchable::Sometimes);
        // What does not change with an entry cannot be followed: it is undefined (RFC 4533 section 3.2).
        searchable != Searchable::Never && (!synchronises || is_synchronised(id, shard.schema()))
    };
    let asks = (who, Operation::Search, Right::Search);
    let compiled = match for_groups {
        false if is_system || follows => Compiled::new(filter, shard, &readable),
        false => {
            let collections = views.borrow_mut().collections(read_point, &mut evaluator.cache);
            let collections = collections.as_deref().unwrap_or_default();
            Compiled::looking_up(filter, read_point, &readable, None, collections)
        }
        true => compile_with_members(filter, (read_point, &readable), &views, asks, evaluator),
    };
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
    (scopes, special): (Scopes, SpecialEntries),
    (filter, restricted): (Compiled, Restricted),
    out: &mut Vec<u8>,
) -> Option<Running> {
    let Query { id, read_point, .. } = *query;
    let bounds = reading.scratch.views.bounds(query.who.class);
    let mut sorting = prepare(reading, query, (request, requested), out).ok()?;
    let page = match &requested.paged {
        None => None,
        Some(paged) => {
            let plain = SearchKey::of(read_point, &query.base, request);
            let sorted = sorting.as_deref().filter(|sorting| !sorting.is_unsorted());
            let sorted = sorted.map(|sorting| plain.of_list(read_point, sorting.request()));
            // The pages before may have had no order, for want of memory.
            let goes_on = || sorting.as_deref_mut().is_some_and(|sorting| sorting.go_on_unsorted());
            Some(Page::begin(id, (read_point, counters), &bounds, (paged, plain, sorted), goes_on, out)?)
        }
    };
    // A page goes on behind the last id that was returned, at a new read point: no state is kept between two pages.
    // A list is gathered from its beginning.
    let is_list = sorting.as_ref().is_some_and(|sorting| !sorting.is_unsorted());
    let after = page.as_ref().filter(|_| !is_list).and_then(|page| page.at.last);
    let cursor = Cursor::open(read_point, scopes, filter, after);
    if let Some(sorting) = sorting.as_deref_mut() {
        let limit = tighter(request.size_limit as u32, bounds.size);
        sorting.walk(reading.scratch, query, (&cursor, special), page.as_ref(), limit);
    }
    // Rights are those of now: a bind that comes while it waits ends it.
    let mut running = Running::new(query, cursor, reading.now.monotonic_ns);
    running.page = page;
    running.list = sorting.map(|sorting| sorting as Box<dyn List>);
    running.restrict(restricted);
    running.limit(&bounds, request);
    bound(reading, counters, query, (&bounds, request), running, out)
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

#[cfg(test)]
mod value_tests;
