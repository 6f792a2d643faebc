//! A search that sees what a transaction has made so far: first the entries that are different there, from its view, then all
//! others from the directory.
//!
//! The entries that are different are few and in memory of this search alone, so they are matched and written at once. The others may be
//! many: they go on in slices like any search, with the ids of those that are different left out ([`SpecialEntries::hiding`]).
//!
//! Its rights are those of the session, as of any search. They are asked of the directory for entries that are there as they were, and
//! of the view for those that are different. The view has copies of these and of the way to them, and of nothing else; a rule that asks
//! for more than is there is undefined, which counts against the requester.

use super::base::{Base, Refusal, refuse};
use super::query::Admitted;
use super::special::{SpecialEntries, is_omitted};
use super::{Query, Running, SearchContext, bound, compile, run_base, run_cursor, suspend};
use crate::access::{Action, Requester};
use crate::context::Reading;
use crate::control::{Requested, assertion};
use crate::entry_writer::Large;
use crate::monitor::Counters;
use crate::outcome;
use crate::transaction::View;
use crate::worker::Scratch;
use ::access::{Operation, Right};
use model::limits::OUT_BYTES_SOFT_MAX;
use model::{EntryId, Filter, ResultCode, Scope};
use proto::op::Search;
use proto::tag;
use store::search::evaluate::Truth;
use store::search::{Cursor, Paused, Scopes};
use store::{ReadPoint, Reader, Unresolved};

/// Bytes of an answer that come from the view: they are put together before any is sent.
/// They wait in memory until the client has read them, so they are bounded more tightly than entries of the directory, which are read as they go.
const DIFFERENT_BYTES_MAX: usize = 4 << 20;
/// Units of work that looking through the view may take, about ten milliseconds: the view is gone afterwards.
const DIFFERENT_WORK_MAX: u64 = 1 << 20;

/// What a transaction makes of the directory, at a read point of its own.
/// It is a small directory: the copies of all entries that the transaction changes, and of those on the way to them.
/// `read_point` is the view's; that of the directory comes with each call.
struct Inside<'i> {
    view: View,
    read_point: ReadPoint<'i>,
}

/// Why not all that is different is returned.
/// Each ends the search with an error, but the size limit, which ends it as any other search.
enum Stopped {
    SizeLimit,
    /// Of an entry that is to be looked at only a part is here.
    Partial,
    TooLong,
}

/// Runs it, or begins it.
/// The base is looked for in the view: it has the names of all entries that are different, and of the base (`View::of` has brought it).
pub(crate) fn run(
    reading: &mut Reading<'_>,
    context: &mut SearchContext<'_>,
    view: View,
    id: i32,
    request: &Search<'_>,
    requested: &Requested<'_>,
    out: &mut Vec<u8>,
) {
    // The overlay's own readers, of which this is the only one.
    let Some(mut reader) = Reader::register(view.shard()) else {
        return outcome::lack_reader(out, id, tag::SEARCH_DONE);
    };
    let pin = reader.pin();
    let mut inside = Inside { view, read_point: pin.read_point() };
    // A base that the transaction has deleted or renamed is not found, though the directory has it.
    let found = inside.read_point.resolve(request.base, &mut inside.view.scratch.evaluator.cache);
    // Rights as for any search: the transaction gives its client none.
    let base = match inside.settle(reading, context.identity.requester(), found) {
        Ok(base) => Base { id: base, is_system: false, is_root_dse: false, is_change_log: false },
        Err(Refusal::Unresolved(reason)) => {
            let (point, cache) = (inside.read_point, &mut inside.view.scratch.evaluator.cache);
            return outcome::unresolved(out, id, tag::SEARCH_DONE, request.base, reason, point, cache);
        }
        Err(refusal) => return refuse(reading, id, request, refusal, out),
    };
    if let Some(filter) = requested.assertion() {
        // The base may be an entry of which only a part is here.
        if inside.view.differs(base.id) && inside.view.is_partial(base.id) {
            return refuse_partial(id, out);
        }
        let is_true = inside.asserts(reading, base.id, filter, context.identity.requester());
        if !assertion::passes(is_true, out, id, tag::SEARCH_DONE) {
            return;
        }
    }
    inside.search(reading, context, &base, id, request, out);
}

impl Inside<'_> {
    /// The base of a search, if the requester may search there. What may not be disclosed is absent, in a transaction as outside: else a
    /// client that changes anything could ask in its own transaction for every name that is hidden from it.
    fn settle(
        &mut self,
        reading: &mut Reading<'_>,
        who: Requester,
        found: Result<EntryId, Unresolved>,
    ) -> Result<EntryId, Refusal> {
        let Scratch { views, evaluator, .. } = &mut *reading.scratch;
        let (mut next, mut is_base) = match found {
            Ok(id) => (Some(id), true),
            Err(Unresolved::NoSuchObject(matched)) => (matched, false),
            Err(reason) => return Err(Refusal::Unresolved(reason)),
        };
        while let Some(entry) = next.and_then(|id| self.read_point.entry(id)) {
            // Judged in the directory where the transaction has not changed it: the view lacks most of what rules may ask for.
            let outside = reading.read_point.entry(entry.id).filter(|_| !self.view.differs(entry.id));
            let action = Action::of(Operation::Search);
            let view = match &outside {
                Some(entry) => views.of(who, action, entry, reading.read_point, evaluator),
                None => views.of(who, action, &entry, self.read_point, &mut self.view.scratch.evaluator),
            };
            if views.may(view, Right::Disclose) {
                return match (is_base, views.may(view, Right::Search)) {
                    (true, true) => Ok(entry.id),
                    (true, false) => Err(Refusal::Access),
                    (false, _) => Err(Refusal::Unresolved(Unresolved::NoSuchObject(Some(entry.id)))),
                };
            }
            is_base = false;
            next = Some(entry.parent()).filter(|id| id.0 != 0);
        }
        Err(Refusal::Unresolved(Unresolved::NoSuchObject(None)))
    }

    /// Is an assertion true of the base?
    /// Bounded like that of any search: `None` if there is too much to look at.
    fn asserts(
        &mut self,
        reading: &mut Reading<'_>,
        base: EntryId,
        filter: &Filter<'_>,
        who: Requester,
    ) -> Option<bool> {
        let Scratch { views, evaluator, .. } = &mut *reading.scratch;
        // An entry is judged where it is as the transaction sees it, by an evaluator that remembers that place only.
        let (point, evaluator) = match self.view.differs(base) {
            true => (self.read_point, &mut self.view.scratch.evaluator),
            false => (reading.read_point, evaluator),
        };
        // At the same point at which it was found.
        let entry = point.entry(base).expect("the base was just found");
        let view = views.of(who, Action::of(Operation::Search), &entry, point, evaluator);
        assertion::is_true_soon(filter, &entry, point, (views, who, view), evaluator)
    }

    /// Consumes the view: what goes on later needs the directory alone.
    fn search(
        mut self,
        reading: &mut Reading<'_>,
        context: &mut SearchContext<'_>,
        base: &Base,
        id: i32,
        request: &Search<'_>,
        out: &mut Vec<u8>,
    ) {
        let (read_point, who) = (reading.read_point, context.identity.requester());
        // For the directory. That for the view is compiled when it is searched.
        let (filter, mut restricted) =
            compile(reading.scratch, (who, None), &request.filter, (read_point, false));
        let is_restricted = restricted.is_needed();
        let (selectors, types_only) = (request.selection, request.types_only);
        let query = Query {
            id,
            read_point,
            base: *base,
            who,
            selectors,
            types_only,
            is_restricted,
            follows: false,
            again: None,
        };
        // Ids are the same in both places. An entry that the transaction adds is in the view alone.
        let outside = read_point.entry(base.id);
        // A base search of an entry that the transaction does not touch is one of the directory.
        if let Some(entry) = &outside
            && request.scope == Scope::Base
            && !self.view.differs(base.id)
            && run_base(reading, context, &query, entry, (&filter, &mut restricted), out)
        {
            return;
        }
        // A base that exists in the view alone has nothing below it in the directory.
        restricted.forget_pause();
        let cursor = match outside {
            Some(_) if request.scope != Scope::Base => {
                Cursor::open(read_point, Scopes::new(base.id, request.scope), filter, None)
            }
            Some(_) if !self.view.differs(base.id) => {
                Cursor::over(base.id, request.scope, filter, &[base.id.0])
            }
            // What is below an entry that the transaction has added, it has put there: that is different, too.
            _ => Cursor::over(base.id, request.scope, filter, &[]),
        };
        let mut running = Running::new(&query, cursor, reading.now.monotonic_ns);
        // Time counts from here; what the view has taken was bounded by its work.
        let bounds = reading.scratch.views.bounds(who.class);
        running.limit(&bounds, request);
        running.restrict(restricted);
        let bounded = bound(reading, context.counters, &query, (&bounds, request), running, out);
        let Some(mut running) = bounded else { return };
        // Aliases and referrals were refused before.
        running.special = SpecialEntries::hiding();
        running.hidden = self.view.different().to_vec();
        let mut found = Vec::new();
        match self.put_different(reading, &mut running, request, &query, context.counters, &mut found) {
            Ok(()) => {}
            Err(Stopped::SizeLimit) => running.over = Some(ResultCode::SizeLimitExceeded),
            Err(Stopped::Partial) => return refuse_partial(id, out),
            // The client may try again outside of the transaction.
            Err(Stopped::TooLong) => {
                let text = "the transaction has changed too many entries for a search in it";
                return outcome::say(out, id, tag::SEARCH_DONE, ResultCode::AdminLimitExceeded, text);
            }
        }
        // As one long message of which the rest is sent when the client has read the first part: nothing else is written in between.
        if found.len() > OUT_BYTES_SOFT_MAX {
            let large = Large::of_messages(out.len(), &found);
            return suspend(reading, context, running, query.selectors, Some(large), out);
        }
        out.append(&mut found);
        match running.over {
            None => run_cursor(reading, context, &query, running, out),
            Some(code) => running.end(context.counters, out, code),
        }
    }

    /// Appends the messages of those entries that are different and match.
    /// All of them are written before the first is sent: an error among them then is the only answer.
    /// What the thread knows of rights is lent to the view and given back, whatever comes of it: the numbers of classes that
    /// sessions have are of these, and a view made with others would be found by numbers that mean nothing.
    fn put_different(
        &mut self,
        reading: &mut Reading<'_>,
        running: &mut Running,
        request: &Search<'_>,
        outside: &Query<'_>,
        counters: &Counters,
        out: &mut Vec<u8>,
    ) -> Result<(), Stopped> {
        // Rights are known to the thread; all else that it remembers is of the directory.
        std::mem::swap(&mut self.view.scratch.views, &mut reading.scratch.views);
        let done = self.put_matching(running, request, outside, counters, out);
        std::mem::swap(&mut self.view.scratch.views, &mut reading.scratch.views);
        done
    }

    /// Puts one entry into the answer, as the transaction sees it, if the filter takes it and the client may see it.
    fn put_matching(
        &mut self,
        running: &mut Running,
        request: &Search<'_>,
        outside: &Query<'_>,
        counters: &Counters,
        out: &mut Vec<u8>,
    ) -> Result<(), Stopped> {
        let point = self.read_point;
        let who = outside.who;
        let (filter, mut restricted) =
            compile(&mut self.view.scratch, (who, None), &request.filter, (point, false));
        let query = Query { read_point: point, is_restricted: restricted.is_needed(), ..*outside };
        let (base, mut work) = (running.base.id, DIFFERENT_WORK_MAX);
        for id in &running.hidden {
            // Deleted by the transaction: it is hidden in the directory, and not here.
            let Some(entry) = point.entry(EntryId(*id)) else { continue };
            // By the names that the transaction gives: an entry may be moved into the scope, or out of it.
            if !point.is_in_scope(&entry, base, request.scope) || is_omitted(&entry, base) {
                continue;
            }
            if self.view.is_partial(entry.id) {
                return Err(Stopped::Partial);
            }
            let scratch = &mut self.view.scratch;
            let (evaluator, paused) = (&mut scratch.evaluator, &mut Paused::default());
            match evaluator.go_on(&filter, &entry, point, paused, &mut work) {
                Some(Truth::True) => {}
                Some(_) => continue,
                None => return Err(Stopped::TooLong),
            }
            let view = match query.admit(scratch, &entry, &mut restricted, &mut work) {
                Admitted::By(view) => view,
                Admitted::No => continue,
                Admitted::Later => return Err(Stopped::TooLong),
            };
            // The limit is that of the whole search: what is found here counts before the rest.
            if running.left == 0 {
                return Err(Stopped::SizeLimit);
            }
            running.left -= 1;
            // The view is gone after this, so nothing of an entry can wait.
            if let Some(mut large) = query.put(scratch, view, counters, &entry, out) {
                large.go_on(point, out, usize::MAX);
            }
            if out.len() > DIFFERENT_BYTES_MAX {
                return Err(Stopped::TooLong);
            }
        }
        Ok(())
    }
}

#[cold]
fn refuse_partial(id: i32, out: &mut Vec<u8>) {
    outcome::say(out, id, tag::SEARCH_DONE, ResultCode::UnwillingToPerform, View::PARTIAL);
}
