//! Searches of a form that was met before, which need not be decoded: see [`crate::recent`].

use super::base::Base;
use super::{Around, glue};
use crate::access::Rights;
use crate::dispatch::{Reading, Requested};
use crate::engine::Dsa;
use crate::entry_writer::{Asked, Chosen, Templates};
use crate::monitor::{Counters, count};
use crate::recent::{Again, Asserted};
use crate::worker::Scratch;
use model::{EntryId, ResultCode, Scope};
use proto::op::Search;
use proto::result::encode_done;
use proto::tag;
use store::search::Compiled;
use store::search::evaluate::Truth;
use store::{DnCache, EntryRef, ReadPoint, Target};

/// Keeps the form of a search that the next ones are likely to have too.
pub(super) fn remember(
    reading: &mut Reading<'_>,
    around: &Around<'_, '_>,
    request: &Search<'_>,
    requested: &Requested<'_>,
    base: &Base,
    filter: &Compiled,
    asked: Asked<'_>,
) {
    let Some(outline) = around.outline.filter(|_| !base.is_system && requested.paged.is_none()) else {
        return;
    };
    let Scratch { templates, recent, .. } = &mut *reading.scratch;
    let is_base = request.scope == Scope::Base;
    if (is_base && filter.is_true())
        || (!is_base && request.size_limit == 0 && filter.equality_type().is_some())
    {
        let chosen = templates.choose(asked, reading.read_point.shard().schema());
        if !templates.holds(chosen) {
            return;
        }
        match is_base {
            true => recent.keep_base(outline, asked.rights, chosen),
            false => recent.keep_equality(outline, asked.rights, chosen, request.scope, filter),
        }
    }
}

/// Runs a search for one entry, of a form that was met before. `false` if it is not as simple as most: then nothing
/// was done.
#[inline]
pub(crate) fn base(
    reading: &mut Reading<'_>,
    id: i32,
    rights: Rights,
    again: Again,
    target: &Target,
    counters: &Counters,
    out: &mut Vec<u8>,
) -> bool {
    let Scratch { evaluator, templates, keys, recent, .. } = &mut *reading.scratch;
    let Some((chosen, None)) = recent.form(again, rights) else { return false };
    let read_point = reading.read_point;
    if !glue::is_absent(read_point.shard()) {
        return false;
    }
    let Some(entry) = read_point.lookup_entry(target, keys, &mut evaluator.cache) else { return false };
    put_found(templates, &mut evaluator.cache, read_point, &entry, id, chosen, reading.dsa, counters, out)
        && put_done(id, out)
}

/// Runs a search by an equality assertion, of a form that was met before. `false` if it is not as simple as most:
/// then nothing was done. `value`: where the assertion value lies among the group's keys.
#[inline]
pub(crate) fn equality(
    reading: &mut Reading<'_>,
    id: i32,
    rights: Rights,
    again: Again,
    value: Asserted,
    counters: &Counters,
    out: &mut Vec<u8>,
) -> bool {
    let Scratch { evaluator, templates, keys, recent, .. } = &mut *reading.scratch;
    let Some((chosen, Some(equality))) = recent.form(again, rights) else { return false };
    let read_point = reading.read_point;
    if !glue::is_absent(read_point.shard()) {
        return false;
    }
    let Ok(base) = read_point.resolve(&equality.base, &mut evaluator.cache) else { return false };
    equality.filter.assert_equality(value.normal(keys));
    let Some(mut candidates) = read_point.few_candidates(&equality.filter) else { return false };
    candidates.sort_unstable();
    let begin = out.len();
    for candidate in candidates {
        let Some(entry) = read_point.entry(EntryId(candidate)) else { continue };
        // Most values are asked for as they are spelled.
        let is_match = entry.has_value(equality.attribute_type, value.raw(keys))
            || evaluator.evaluate(&equality.filter, &entry, read_point) == Truth::True;
        if !is_match || !read_point.is_in_scope(&entry, base, equality.scope) {
            continue;
        }
        let cache = &mut evaluator.cache;
        if !put_found(templates, cache, read_point, &entry, id, chosen, reading.dsa, counters, out) {
            out.truncate(begin);
            return false;
        }
    }
    put_done(id, out)
}

/// Appends an entry. `false`, and nothing, if it is too long for one go or its selection was forgotten.
#[inline]
#[expect(clippy::too_many_arguments, reason = "the parts of one hot step, borrowed from four owners")]
fn put_found(
    templates: &mut Templates,
    cache: &mut DnCache,
    read_point: ReadPoint<'_>,
    entry: &EntryRef<'_>,
    id: i32,
    chosen: Chosen,
    dsa: &Dsa,
    counters: &Counters,
    out: &mut Vec<u8>,
) -> bool {
    if !templates.holds(chosen) {
        return false;
    }
    let large = templates.write(out, id, read_point, entry, chosen, &dsa.rules, cache, false);
    match large {
        None => count(&counters.entries, 1),
        Some(large) => {
            out.truncate(large.begin);
            return false;
        }
    }
    true
}

fn put_done(id: i32, out: &mut Vec<u8>) -> bool {
    encode_done(out, id, tag::SEARCH_DONE, ResultCode::Success);
    true
}
