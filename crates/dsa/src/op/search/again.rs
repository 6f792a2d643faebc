//! Searches of a form that was seen before, which need not be decoded: see [`crate::recent`].
//!
//! Such a request was compared byte by byte with one that was decoded before, but for the name or the value that differs. Everything that was
//! decided then is taken over: selection, filter, rights. What depends on the directory is looked up at the read point. Whatever is not
//! as simple as nearly always gives up without a trace, and the request is decoded like any other: these functions may only say yes.
//!
//! No right is taken over but by its view. The form is of one class of requesters; the rights on the base and on each entry are those
//! of the view that is found for this entry now. How a view is written was noted when one was written the long way. So a view that
//! is not known here yet, be it because it allows less, sends the request the long way.
//!
//! Filters whose rights depend on the entry are not kept at all: here, entries are compared by value without asking again.

use super::query::Query;
use super::{SearchContext, allows, special};
use crate::access::{Action, Requester, Views};
use crate::context::Reading;
use crate::control::Requested;
use crate::entry_writer::{Answer, Templates};
use crate::monitor::{Counters, count};
use crate::recent::{Again, Asserted, KnownViews};
use crate::worker::Scratch;
use ::access::Operation;
use model::{EntryId, ResultCode, Scope, dn};
use proto::answer::{MessageId, PIECE_MAX, put_done};
use proto::op::Search;
use proto::tag;
use store::search::evaluate::{Evaluator, Truth};
use store::search::{Compiled, EqualityHint, Paused};
use store::{EntryRef, ReadPoint, Target};

/// Keeps the form of a search that the next ones are likely to have too. How entries are written is noted when the first is
/// ([`Recent::note_view`]).
/// Searches with controls, or of the server's own entries, are not kept: they are few, and an answer may depend on more.
pub(super) fn remember(
    reading: &mut Reading<'_>,
    context: &SearchContext<'_>,
    request: &Search<'_>,
    requested: &Requested<'_>,
    query: &Query<'_>,
    filter: &Compiled,
) -> Option<Again> {
    let outline = context
        .outline
        .filter(|_| !query.base.is_system && !query.is_restricted && requested.paged.is_none())
        .filter(|_| requested.effective_rights().is_none() && !requested.asks_usability())
        .filter(|_| requested.visible().is_none() && !requested.asks_for_contents())
        .filter(|_| !requested.is_sorted())?;
    let action = Action::of(Operation::Search);
    let Scratch { recent, views, evaluator, .. } = &mut *reading.scratch;
    // The thread's own memory of forms: no lock, and no other thread learns of it.
    let class = query.who.class;
    // Two forms: a read of one entry whatever it is, and a look for a value. Nearly all searches of a busy directory are one of them.
    match request.scope {
        Scope::Base if filter.is_true() => recent.keep_base(outline, class),
        Scope::Base => None,
        scope if request.size_limit == 0 => {
            // The search has come past its base, so who has this view on an entry may search below it.
            let view = views.of_id(query.who, action, query.base.id, query.read_point, evaluator);
            recent.keep_equality(outline, class, (scope, view), filter)
        }
        _ => None,
    }
}

/// May searches at a read point be run from cached query templates? Not where an entry may stand for others.
/// It is asked once for each read point, not for each search.
#[inline]
pub(crate) fn is_possible(read_point: ReadPoint<'_>) -> bool {
    special::is_plain(read_point.shard())
}

/// Runs a search for one entry, of a form that was seen before, where that [`is_possible`]. `false` if it is not as simple as
/// most: then nothing was done.
/// The name was hashed and its entry prefetched when the group was gathered. Here it is verified on the record.
#[inline]
pub(crate) fn base(
    reading: &mut Reading<'_>,
    id: i32,
    who: Requester,
    again: Again,
    target: &Target,
    counters: &Counters,
    out: &mut Vec<u8>,
) -> bool {
    let Scratch { evaluator, templates, views, keys, recent, answer, .. } = &mut *reading.scratch;
    // The form may have been replaced since the group was gathered, or the requester changed by a bind.
    let Some((known, None)) = recent.form(again, who.class) else { return false };
    let read_point = reading.read_point;
    // Mostly the entry that the hash table has at that place is the one; its own text of the name is then written as it is.
    let (entry, name) = match read_point.lookup_likely(target, keys) {
        Some((entry, name)) => (entry, Some(name)),
        None => match read_point.lookup_entry(target, keys, &mut evaluator.cache) {
            Some(entry) => (entry, None),
            None => return false,
        },
    };
    let begin = out.len();
    let mut answering = Answering::new(
        Plan { templates, read_point, known, who, passes_over: false, views, counters },
        id,
        answer,
        out,
    );
    if !answering.put_entry(&entry, name, evaluator) {
        out.truncate(begin);
        return false;
    }
    answering.put_done()
}

/// Runs a search by an equality assertion, of a form that was seen before, where that [`is_possible`]. `false` if it is not as
/// simple as most: then nothing was done. `asserted`: where it will look, and where the assertion value lies among the group's keys.
/// The normal form was made when the group was gathered, for the hash; it is compared with the entry's value only if the bytes differ.
#[inline]
pub(crate) fn equality(
    reading: &mut Reading<'_>,
    id: i32,
    who: Requester,
    again: Again,
    (hint, value): (&EqualityHint, Asserted),
    counters: &Counters,
    out: &mut Vec<u8>,
) -> bool {
    let Scratch { evaluator, templates, views, keys, recent, answer, work, annotations, .. } =
        &mut *reading.scratch;
    // As above: whatever does not fit any more is decoded.
    let Some((known, Some(equality))) = recent.form(again, who.class) else { return false };
    let read_point = reading.read_point;
    // Mostly in the cache of names: searches of one form have one base.
    let Ok(base) = read_point.resolve(&equality.base, &mut evaluator.cache) else { return false };
    // A base that may not be searched is refused where refusals are.
    if views.of_id(who, Action::of(Operation::Search), base, read_point, evaluator) != equality.base_view {
        return false;
    }
    // Most values are those of one entry.
    // Declared here so that the slice below can borrow either.
    let (only, mut few);
    let candidates = match read_point.only_candidate(hint) {
        Ok(candidate) => {
            only = candidate.map(|id| id.0);
            only.as_slice()
        }
        Err(()) => {
            let Some(candidates) = read_point.hinted_candidates(hint) else { return false };
            // More than the limit: the error that is due is written where limits are kept.
            if !allows(views, who, candidates.len()) {
                return false;
            }
            few = candidates;
            // In order of ids, as every search returns entries.
            few.sort_unstable();
            &few[..]
        }
    };
    // Everything from here on is taken back if the search turns out not to be as simple.
    let begin = out.len();
    let mut answering = Answering::new(
        Plan { templates, read_point, known, who, passes_over: true, views, counters },
        id,
        answer,
        out,
    );
    let mut passed = false;
    for candidate in candidates {
        let Some(entry) = read_point.entry(EntryId(*candidate)) else { continue };
        // Most values are asked for as they are spelled, and many name the entry.
        let raw = value.raw(keys);
        // The value that the client sent is compared with the entry's own bytes first: equal bytes need no normal form.
        let name = entry.spelled_name(equality.attribute_type, raw);
        // Three ways, the cheapest first: the name, the same bytes, the normal form.
        let is_match = name.is_some() || entry.has_value(equality.attribute_type, raw) || {
            // The compiled filter of the form is used again, with this value in the place of the last.
            equality.filter.assert_equality(value.normal(keys));
            let paused = &mut Paused::default();
            match evaluator.go_on(&equality.filter, &entry, read_point, paused, work) {
                Some(truth) => truth == Truth::True,
                None => {
                    out.truncate(begin);
                    return false;
                }
            }
        };
        // Scope last: the candidate's value is at hand already, its superiors are not.
        if !is_match || !read_point.is_in_scope(&entry, base, equality.scope) {
            passed = true;
            continue;
        }
        if !answering.put_entry(&entry, name.filter(|name| dn::is_plain_value(name)), evaluator) {
            out.truncate(begin);
            return false;
        }
    }
    if passed {
        annotations.looked(id, candidates.len() as u64, false);
    }
    answering.put_done()
}

/// How entries are written.
/// Borrowed apart from the buffers, so that both can be changed at once.
struct Plan<'p> {
    templates: &'p mut Templates,
    read_point: ReadPoint<'p>,
    known: KnownViews<'p>,
    who: Requester,
    /// Are entries passed over that may not be read? If not, the search is for one entry.
    passes_over: bool,
    views: &'p mut Views,
    counters: &'p Counters,
}

/// An answer under construction. What is short is put together on the stack and goes to the out buffer in one piece.
/// Appending to a vector checks its capacity for each piece; the stack buffer has room for the longest piece by `make_room`.
/// The id is encoded once; each message of the answer begins with it.
struct Answering<'p, 'o> {
    plan: Plan<'p>,
    id: i32,
    message_id: MessageId,
    short: &'o mut Answer,
    out: &'o mut Vec<u8>,
}

impl<'p, 'o> Answering<'p, 'o> {
    #[inline(always)]
    fn new(plan: Plan<'p>, id: i32, short: &'o mut Answer, out: &'o mut Vec<u8>) -> Answering<'p, 'o> {
        short.clear();
        Answering { plan, id, message_id: MessageId::new(id), short, out }
    }

    /// Appends an entry, if the requester may read it. `false`, and part of it at most, if it is too long for one go, or if it is not
    /// known how it is written. `name`: the one value that names it, if that is known and needs no escapes.
    #[inline(always)]
    fn put_entry(&mut self, entry: &EntryRef<'_>, name: Option<&[u8]>, evaluator: &mut Evaluator) -> bool {
        self.make_room();
        let Plan { templates, read_point, known, who, passes_over, views, counters } = &mut self.plan;
        let view = views.of(*who, Action::of(Operation::Search), entry, *read_point, evaluator);
        // A view that is noted has the right to read, for nothing was ever written for one that has it not. Of a search with
        // a filter an entry that may not be returned is passed over; a read of one entry is left to the long way, which refuses.
        let Some(chosen) = known.of(view).filter(|chosen| templates.holds(*chosen)) else {
            return *passes_over && !views.may_return(view);
        };
        // A view is known of an entry that was returned: so the entry may be read, and the base of a search for it may be one.
        let cache = &mut evaluator.cache;
        if !templates.write_bare(self.short, &self.message_id, *read_point, entry, name, chosen, views, cache)
        {
            // What searches find for it is worked out on the long way. It is asked of the entry, for entries of all classes may be found by one
            // form; one comparison, and only where values are written.
            if read_point.shard().schema().is_group_of_urls(entry.shape.structural) {
                return false;
            }
            flush(self.short, self.out);
            // Too long for the stack: written straight into the output buffer, as any entry is.
            let large =
                templates.write(self.out, self.id, *read_point, entry, chosen, (views, *who), cache, false);
            if large.is_some() {
                return false;
            }
        }
        // Counted when the entry is complete.
        count(&counters.entries, 1);
        true
    }

    /// Appends the end.
    /// Returns true, so that a caller ends with it.
    #[inline(always)]
    fn put_done(mut self) -> bool {
        self.make_room();
        put_done(self.short, &self.message_id, tag::SEARCH_DONE, ResultCode::Success);
        // The end goes out with the entries before it.
        self.out.extend_from_slice(self.short.bytes());
        true
    }

    /// Called before each piece, so no piece is ever cut.
    #[inline(always)]
    fn make_room(&mut self) {
        // Checked once for an entry or an end, each of which is one piece at most.
        if self.short.room() < PIECE_MAX {
            flush(self.short, self.out);
        }
    }
}

/// In one copy: the output buffer grows once for several entries.
#[inline]
fn flush(short: &mut Answer, out: &mut Vec<u8>) {
    out.extend_from_slice(short.bytes());
    short.clear();
}
