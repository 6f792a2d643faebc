//! Searches that look at many candidates for want of an index: whether they may, and what is said of it.
//!
//! A client learns from the text which index there is not. It names what the client has asked itself, and may test on every entry; of
//! secrets, and of what may be tested on some entries only, it names nothing. An attribute that may be tested nowhere was taken out of the
//! filter when that was compiled, so no search is judged by it.
//!
//! The plan is asked only of searches that have more candidates than they may look at. All others pay one comparison.

use super::query::Query;
use super::running::Running;
use crate::access::{Bounds, Searchable};
use crate::context::Reading;
use crate::faults::holes;
use crate::monitor::Counters;
use crate::outcome::shortened;
use crate::refusals::Limit;
use ::access::Unindexed;
use env::planted;
use model::attribute::split_options;
use model::{Filter, ResultCode, TypeId};
use proto::filter_string;
use proto::op::Search;
use schema::Schema;
use store::search::{Compiled, Cursor, Wanted};
use store::{IndexKind, ReadPoint};

/// A search with more candidates is refused for want of an index, where a rule says so.
const CANDIDATES_MAX: u64 = 10_000;

/// What is to be said of a search that may not look at all of its candidates.
enum Judged {
    /// It may, or an index is not what it lacks.
    Within,
    /// It may look at some. What is said if it comes to more.
    Bounded(Box<str>),
    Refused(Box<str>),
}

/// Bounds what a search looks at. `None` if it was refused here.
pub(super) fn bound(
    reading: &mut Reading<'_>,
    counters: &Counters,
    query: &Query<'_>,
    (bounds, request): (&Bounds, &Search<'_>),
    mut running: Running,
    out: &mut Vec<u8>,
) -> Option<Running> {
    match judge(reading, query, (bounds, &request.filter), &mut running.cursor) {
        Judged::Within => {}
        Judged::Bounded(advice) => running.advice = Some(advice),
        Judged::Refused(advice) => {
            counters.limited(Limit::Unindexed);
            running.end_with(out, ResultCode::UnwillingToPerform, &advice);
            reading.scratch.annotations.looked(query.id, 0, true);
            return None;
        }
    }
    Some(running)
}

/// Judges a search before its first candidate, and bounds what its cursor looks at.
fn judge(
    reading: &mut Reading<'_>,
    query: &Query<'_>,
    (bounds, filter): (&Bounds, &Filter<'_>),
    cursor: &mut Cursor,
) -> Judged {
    let most = bounds.looked_at_max();
    cursor.look_at_most(most);
    let candidates = cursor.candidates(query.read_point);
    let refuses = bounds.unindexed == Unindexed::Refuse;
    if candidates <= if refuses { most.min(CANDIDATES_MAX) } else { most } {
        return Judged::Within;
    }
    let Some(wanted) = cursor.wanted(query.read_point) else { return Judged::Within };
    if bounds.unindexed == Unindexed::Allow {
        cursor.look_at_most(u64::MAX);
        return Judged::Within;
    }
    let advice = advice(reading, query, filter, wanted);
    match refuses && candidates > CANDIDATES_MAX {
        true => Judged::Refused(advice),
        false => Judged::Bounded(advice),
    }
}

/// Which item no index answers, and how to add one.
#[cold]
fn advice(reading: &mut Reading<'_>, query: &Query<'_>, filter: &Filter<'_>, wanted: Wanted) -> Box<str> {
    let schema = query.read_point.shard().schema();
    let Wanted::Index(attribute_type, kind) = wanted else {
        return "no index can answer the filter".into();
    };
    let is_known = query.who.is_root()
        || (!schema.is_secret(attribute_type)
            && reading.scratch.views.searchable(
                query.who.class,
                (attribute_type, query.base.is_system),
                schema,
            ) == Searchable::Always);
    let item = item(filter, schema, attribute_type, kind);
    match item.filter(|_| is_known || planted::is(holes::UNINDEXED_NAMED)) {
        Some(item) => {
            let mut text = Vec::new();
            filter_string::write(item, &mut text);
            let name = schema.attribute_type(attribute_type).name();
            let (text, kind) = (shortened(&text), kind.text());
            format!("no index answers {text}; to add one: pando index build --url URL {name}:{kind}").into()
        }
        None => "no index answers the filter".into(),
    }
}

/// The first item of a filter that asks an index of this kind on this type. The depth of a filter is bounded where it is decoded.
fn item<'f, 'a>(
    filter: &'f Filter<'a>,
    schema: &Schema,
    attribute_type: TypeId,
    kind: IndexKind,
) -> Option<&'f Filter<'a>> {
    let (attribute, asks) = match filter {
        Filter::And(parts) | Filter::Or(parts) => {
            return parts.iter().find_map(|part| item(part, schema, attribute_type, kind));
        }
        Filter::Equality(assertion) | Filter::Approx(assertion) => (assertion.attribute, IndexKind::Equality),
        Filter::GreaterOrEqual(assertion) | Filter::LessOrEqual(assertion) => {
            (assertion.attribute, IndexKind::Ordering)
        }
        Filter::Substrings(substrings) => (substrings.attribute, IndexKind::Substring),
        Filter::Present(attribute) => (*attribute, IndexKind::Presence),
        Filter::Not(_) | Filter::Extensible(_) => return None,
    };
    let is_it = asks == kind && schema.find_type(split_options(attribute).0) == Some(attribute_type);
    is_it.then_some(filter)
}

/// Does an index say that a filter is true of no entry, whatever its client may test?
/// Only a hole asks it, for the time of the answer would then say it of values that are hidden.
pub(super) fn is_true_of_nothing(filter: &Filter<'_>, read_point: ReadPoint<'_>) -> bool {
    let filter = Compiled::new(filter, read_point.shard(), &|_| true);
    read_point.few_candidates(&filter).is_some_and(|found| found.is_empty())
}
