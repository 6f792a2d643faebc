//! How a search begins that follows changes: what it cannot go with, its place in the stream, and the state that its client has.
//!
//! It is suspended before its first slice. The bundle's read point is older than the search's place in the stream, so nothing may be looked at
//! there but the base and its rights; a cursor that was opened there might miss entries that no event will name.

use super::batch::Batch;
use super::cookie::Cookie;
use super::follow::{Following, Form, Stage, check};
use super::not_followed::FilterToFollow;
use super::parked::newest;
use super::query::{Query, Restricted};
use super::renames::Name;
use super::running::Running;
use super::share::{Allowance, Share, TOO_MANY};
use super::special::{SpecialEntries, leads_to};
use super::suspended::{SearchContext, SuspendedSearch};
use super::unindexed::bound;
use crate::context::Reading;
use crate::control::{Requested, Wanted};
use crate::faults::holes;
use env::planted;
use model::limits::SESSION_SEARCHES_MAX;
use model::{DerefAliases, ResultCode};
use proto::control::content_sync::SyncRequest;
use proto::control::subentries::Visible;
use proto::op::Search;
use proto::result::encode_result;
use proto::tag;
use roaring::RoaringBitmap;
use store::search::{Compiled, Cursor, Scopes};
use store::stream::Reached;
use store::{EntryRef, Follower, Holder, ReadPoint};

/// Begins it, or refuses it. Its refresh runs in slices of its own.
///
/// The order matters: the place in the stream is taken before the read point. So what the read point does not show will come as an event, and
/// what it does show is passed over.
pub(super) fn begin(
    reading: &mut Reading<'_>,
    context: &mut SearchContext<'_>,
    query: &Query<'_>,
    (request, requested, wanted): (&Search<'_>, &Requested<'_>, Wanted<'_>),
    compiled: (Compiled, Restricted),
    out: &mut Vec<u8>,
) {
    let filter = FilterToFollow {
        schema: reading.dsa.shard.schema(),
        synchronises: matches!(wanted, Wanted::Sync(_)),
        of_subentries: requested.visible() == Some(Visible::Subentries),
    };
    let text;
    let refusal = match misfit(request, requested) {
        Some(text) => Err((ResultCode::ProtocolError, text)),
        None if query.base.is_system => {
            Err((ResultCode::UnwillingToPerform, "changes of the server's own entries are not followed"))
        }
        None => match filter.refusal(&request.filter) {
            Some(why) => {
                text = why;
                Err((ResultCode::UnwillingToPerform, &text[..]))
            }
            None => place(reading, context, wanted).map_err(|text| (ResultCode::Busy, text)),
        },
    };
    let begun = refusal.and_then(|(follower, reached)| {
        // The filter is kept twice: as it is, and with the candidates of the refresh.
        let bytes = request.selection.raw().len() + 2 * compiled.0.heap_bytes();
        let share = share(reading, context, bytes).map_err(|text| (ResultCode::Busy, text))?;
        let holder = Holder { since_ns: reading.now.monotonic_ns, peer: context.peer.client() };
        let read_point = newest(&reading.dsa.shard, holder).ok_or((ResultCode::Busy, TOO_MANY))?;
        Ok((follower, reached, share, read_point))
    });
    let (mut follower, reached, share, mut read_point) = match begun {
        Ok(begun) => begun,
        Err((code, text)) => return encode_result(out, query.id, tag::SEARCH_DONE, code, b"", text, &[]),
    };
    // The cleaner wanted the memory at once.
    let Some(entered) = read_point.enter() else {
        return encode_result(out, query.id, tag::SEARCH_DONE, ResultCode::Busy, b"", TOO_MANY, &[]);
    };
    let now = entered.read_point();
    // What it shows is no event for this search.
    if follower.as_mut().is_some_and(|follower| follower.begin_at(now).is_err()) {
        let text = "more was changed just now than is kept for those who follow";
        return encode_result(out, query.id, tag::SEARCH_DONE, ResultCode::Busy, b"", text, &[]);
    }
    reading.scratch.evaluator.cache.refresh(now);
    let query_now =
        Query { read_point: now, again: None, base: query.base, selectors: request.selection, ..*query };
    let of = (request, requested, wanted);
    let running = open(reading, context, &query_now, of, (follower, reached), compiled, out);
    reading.scratch.evaluator.cache.refresh(query.read_point);
    drop(entered);
    let Some(running) = running else { return };
    let identity = context.identity;
    context.searches.push_back(SuspendedSearch {
        read_point: Some(read_point),
        running,
        selectors: request.selection.raw().to_vec(),
        large: None,
        acting: identity.real.is_some().then(|| Box::new(identity.clone())),
        is_due: false,
        share,
    });
}

/// Its place in the stream, if it stays, and the state that a refresh from now on brings.
fn place(
    reading: &Reading<'_>,
    context: &SearchContext<'_>,
    wanted: Wanted<'_>,
) -> Result<(Option<Follower>, Reached), &'static str> {
    let shard = &reading.dsa.shard;
    if let Wanted::Sync(SyncRequest { persists: false, .. }) = wanted {
        return Ok((None, shard.reached()));
    }
    let of_session = context.searches.iter().filter(|search| search.follows()).count();
    // A smaller limit that was set meanwhile ends none that is there.
    let limits = &reading.dsa.followers;
    let follower = (of_session < limits.of_session()).then(|| shard.follow(limits.all())).flatten();
    let follower = follower.ok_or("there are too many searches that follow changes")?;
    Ok((Some(follower), shard.reached()))
}

/// What it takes of what clients may have.
/// Beside that there is a bound of its own on searches that stay: those of a session, and those of the server.
/// It counts as an active search as long as it stays, also while it is parked.
fn share(reading: &Reading<'_>, context: &SearchContext<'_>, bytes: usize) -> Result<Share, &'static str> {
    if context.searches.len() >= SESSION_SEARCHES_MAX {
        return Err(TOO_MANY);
    }
    let max = reading.scratch.views.bounds(context.identity.requester().class).searches;
    let allowance = Allowance { max, now: context.searches.len(), counters: context.counters };
    Share::take(reading.dsa, (context.identity, context.peer), allowance, bytes)
}

/// Opens it at its read point. `None` if it was answered here.
/// A follower that is dropped on the way leaves the stream at once.
fn open(
    reading: &mut Reading<'_>,
    context: &mut SearchContext<'_>,
    query: &Query<'_>,
    (request, requested, wanted): (&Search<'_>, &Requested<'_>, Wanted<'_>),
    (follower, reached): (Option<Follower>, Reached),
    (filter, restricted): (Compiled, Restricted),
    out: &mut Vec<u8>,
) -> Option<Running> {
    let (id, now, shard) = (query.id, query.read_point, &reading.dsa.shard);
    let end = |out: &mut Vec<u8>, code, text: &str| {
        encode_result(out, id, tag::SEARCH_DONE, code, b"", text, &[]);
        None
    };
    // Between the two read points the base may have gone.
    let Some(base) = now.entry(query.base.id) else {
        return end(out, ResultCode::NoSuchObject, "the base was deleted just now");
    };
    let through = (request.deref_aliases == DerefAliases::FindingBase).then_some(request.base);
    // Or an alias leads elsewhere by now.
    if through.is_some_and(|name| !leads_to((&mut *reading.scratch, now), query.who, name, base.id)) {
        return end(out, ResultCode::AliasProblem, "an alias on the way to the base was changed just now");
    }
    let persists = follower.is_some();
    let base_dn = now.dn(&base, &mut reading.scratch.evaluator.cache);
    let Some(base_name) = Name::of(&base_dn, shard.schema()) else {
        return end(out, ResultCode::Other, "the name of the base is no DN");
    };
    let mut following = Following {
        form: Form::of(reading, context, (query, &base_name), request, wanted),
        stage: Stage::Refresh,
        filter: filter.clone(),
        scope: request.scope,
        follower,
        content: RoaringBitmap::new(),
        reached,
        since: None,
        has_all: false,
        above: None,
        by_log: None,
        notice: None,
        uuids: Vec::new(),
        batch: Batch::default(),
        base: base_name,
        way: way(now, &base),
        through: through.map(Into::into),
        class: (query.who.class, reading.scratch.views.epoch()),
        schema: reading.dsa.shard.schema().generation(),
        hangs_on_own: reading.scratch.views.hangs_on_own(query.who.class),
        own: context.identity.own_entry(now).map(|entry| entry.id),
        peer: context.peer.client(),
        said: false,
        has_moved: false,
    };
    if let Wanted::Sync(sync) = wanted
        && let Err(()) = following.take_cookie(shard, sync.cookie)
        && !sync.reload_hint
    {
        let text = "the cookie is of another search, of other rights or of another server";
        return end(out, ResultCode::SyncRefreshRequired, text);
    }
    if reading.scratch.views.reads_changes(query.who.class) || planted::is(holes::GONE_OF_HIDDEN) {
        following.go_by_log(&reading.dsa.change_log);
    }
    // Nothing has changed since: the client has all of it.
    if !persists && following.has_all {
        following.end_refresh(id, shard, out);
        return None;
    }
    let bounds = reading.scratch.views.bounds(query.who.class);
    let cursor = Cursor::open(now, Scopes::new(query.base.id, request.scope), filter, None);
    let mut running = Running::new(query, cursor, reading.now.monotonic_ns);
    running.restrict(restricted);
    running.limit(&bounds, request);
    running.special = SpecialEntries::following(requested);
    running.following = Some(Box::new(following));
    bound(reading, context.counters, query, (&bounds, request), running, out)
}

/// Why a request cannot be followed as it is.
/// Controls that bring something with each entry would have to share the place of what says what was done; pages end, and this does not.
fn misfit(request: &Search<'_>, requested: &Requested<'_>) -> Option<&'static str> {
    // RFC 4533 section 3.5.2.
    if matches!(request.deref_aliases, DerefAliases::InSearching | DerefAliases::Always) {
        return Some("aliases are not followed by a search that follows changes");
    }
    let has_other = requested.paged.is_some()
        || requested.is_sorted()
        || requested.asks_for_contents()
        || requested.asks_usability()
        || requested.effective_rights().is_some();
    has_other
        .then_some("a search that follows changes goes with no paging and no other control for its entries")
}

/// An entry and all above it.
/// The base is known by its id. A rename of one of these would make its DN the name of another entry, or of none.
fn way(read_point: ReadPoint<'_>, entry: &EntryRef<'_>) -> Vec<u32> {
    let mut way = vec![entry.id.0];
    let mut next = entry.parent();
    while let Some(entry) = read_point.entry(next).filter(|_| next.0 != 0) {
        way.push(entry.id.0);
        next = entry.parent();
    }
    way
}

impl Form {
    /// What is wanted, and what ties cookies to this search: its parameters but for the limits (RFC 4533 section 3.5), the name of its base,
    /// its requester, and the rules that are left of that one.
    fn of(
        reading: &Reading<'_>,
        context: &SearchContext<'_>,
        (query, base): (&Query<'_>, &Name),
        request: &Search<'_>,
        wanted: Wanted<'_>,
    ) -> Form {
        let sync = match wanted {
            Wanted::Changes(changes) => return Form::Changes(changes),
            Wanted::Sync(sync) => sync,
        };
        let shard = &reading.dsa.shard;
        let mut bytes = Vec::new();
        proto::filter::encode(&request.filter, &mut bytes);
        bytes.extend_from_slice(&query.base.id.0.to_be_bytes());
        bytes.push(request.scope as u8);
        // With another name of the base all its entries have other names, and none of them another CSN.
        bytes.extend_from_slice(&(base.form().len() as u64).to_be_bytes());
        bytes.extend_from_slice(base.form());
        bytes.extend_from_slice(request.selection.raw());
        let asked = shard.keyed_hash(&bytes);
        let who = shard.keyed_hash(&context.identity.dn);
        let rules = shard.keyed_hash(reading.scratch.views.fingerprint(query.who.class).as_bytes());
        let key = shard.keyed_hash(&[asked, who, rules].map(u64::to_be_bytes).concat());
        Form::Sync { persists: sync.persists, rid: 0, key }
    }
}

impl Following {
    /// Finds out which state the client has.
    /// A state later than that of this server is of another server, or of a time that a restore has undone.
    ///
    /// # Errors
    /// When its cookie is none of this search, of this server and of these rights. Then it is one without.
    fn take_cookie(&mut self, shard: &store::Shard, cookie: Option<&[u8]>) -> Result<(), ()> {
        let Form::Sync { rid, key, .. } = &mut self.form else { return Ok(()) };
        let Some(bytes) = cookie else { return Ok(()) };
        let cookie = Cookie::read(bytes).ok_or(())?;
        *rid = cookie.rid;
        let Some(csn) = cookie.csn else { return Ok(()) };
        let is_ours = csn <= self.reached.csn && csn.site() == shard.settings().site;
        let holds = cookie.check.is_none_or(|(search, _)| search == check(shard, *key, csn.0));
        // What those rights were then, nobody knows.
        if !is_ours || !holds || self.hangs_on_own {
            return Err(());
        }
        self.since = Some(csn);
        // Without events it is the state of this moment that the client has.
        let began = self.follower.as_ref().map_or(self.reached, Follower::began_at);
        self.has_all = cookie.has_all_of(began, |entries| check(shard, *key, entries));
        Ok(())
    }
}
