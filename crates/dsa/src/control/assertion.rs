//! Assertion (RFC 4528): an operation happens only if a filter is true of its target; if it is false or undefined, the
//! answer is assertionFailed and nothing else happens. What the client may not read is undefined, as in a search.
//!
//! There are two kinds. An operation that looks asks as its requester: each attribute needs the right to be tested, on this entry.
//! An update is judged once more when it is applied, in the role of the writer, and then every attribute counts. So what an update may not
//! ask is refused before the log ([`asks_for_hidden`]); the outcome of what was logged must not depend on rules.

use crate::access::{Requester, Tester, ValueJudge, ViewId, Views, compile_with_members};
use crate::outcome;
use ::access::{Operation, Right};
use model::attribute::split_options;
use model::{Description, Filter, ResultCode, TypeId};
use schema::Schema;
use std::cell::RefCell;
use store::search::evaluate::{Evaluator, Truth};
use store::search::{Compiled, Paused};
use store::{EntryRef, ReadPoint};

/// Units of work of [`is_true_soon`]: about five milliseconds.
/// An entry may have a set of a million values, and a filter can ask for any part of any of them.
const ASSERTION_WORK_MAX: u64 = 1 << 19;

/// A filter as a requester may ask it of an entry, and what judges values for it: what may not be tested is undefined, or not there.
fn compiled(
    filter: &Filter<'_>,
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
    tester: Tester<'_>,
    evaluator: &mut Evaluator,
) -> (Compiled, ValueJudge) {
    let views = RefCell::new(&mut *tester.views);
    let asks = (tester.who, Operation::Search, tester.right);
    let all = compile_with_members(filter, (read_point, &|_| true), &views, asks, evaluator);
    if tester.view == ViewId::ROOT {
        return (all, ValueJudge::default());
    }
    ValueJudge::restrict(&all, entry.shape, tester, read_point, &mut evaluator.cache)
}

/// Is a filter true of an entry, for one who has this view on it? The right is the one that is needed on each attribute.
/// Undefined counts as false (RFC 4528 section 3).
pub(crate) fn is_true(
    filter: &Filter<'_>,
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
    tester: Tester<'_>,
    evaluator: &mut Evaluator,
) -> bool {
    let (compiled, judge) = compiled(filter, entry, read_point, tester, evaluator);
    let (mut paused, mut work) = (Paused::default(), u64::MAX);
    let truth = judge.go_on(evaluator, &compiled, (entry, read_point), &mut paused, &mut work);
    truth == Some(Truth::True)
}

/// As [`is_true`], of what is asserted of an operation that looks: it holds up its thread. `None` if there is too much to
/// look at.
/// The bound is for the requester's sake as well: the time that it takes tells how many values there are.
pub(crate) fn is_true_soon(
    filter: &Filter<'_>,
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
    (views, who, view): (&mut Views, Requester, ViewId),
    evaluator: &mut Evaluator,
) -> Option<bool> {
    let tester = Tester { views, who, view, right: Right::Search };
    let (compiled, judge) = compiled(filter, entry, read_point, tester, evaluator);
    // Not in slices: an operation that looks has not begun, so there is nothing that could wait.
    let (mut paused, mut work) = (Paused::default(), ASSERTION_WORK_MAX);
    let truth = judge.go_on(evaluator, &compiled, (entry, read_point), &mut paused, &mut work)?;
    Some(truth == Truth::True)
}

/// Does a filter ask of an attribute that a requester may not test on the entry? Also one that asks of all attributes.
pub(crate) fn asks_for_hidden(
    filter: &Filter<'_>,
    entry: &EntryRef<'_>,
    schema: &Schema,
    (views, view): (&mut Views, ViewId),
) -> bool {
    let views = RefCell::new(views);
    filter.mentions(&|description| {
        let (name, _) = split_options(description);
        let kinds = schema.find_type(name).map(|id| schema.subtypes(id));
        let is_allowed =
            |description| views.borrow_mut().on_attribute(view, description, schema).every.has(Right::Search);
        // With the options that the entry has it may be another right than without.
        let may = |id: &TypeId| {
            let mut stored = entry.shape.slots.iter().map(|slot| slot.description);
            is_allowed(Description::plain(*id))
                && stored.all(|stored| stored.attribute_type != *id || is_allowed(stored))
        };
        view != ViewId::ROOT && (description.is_empty() || kinds.is_some_and(|kinds| !kinds.iter().all(may)))
    })
}

/// As [`is_true`], of what an update asserts. It sees every attribute: an assertion of what the client may not read was refused when
/// the update came ([`asks_for_hidden`]), and what was logged comes out the same whatever the rules are by then.
pub(crate) fn is_true_for_update(
    filter: &Filter<'_>,
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
) -> bool {
    let compiled = Compiled::of_update(filter, read_point.shard(), &|_| true);
    evaluator.evaluate(&compiled, entry, read_point) == Truth::True
}

/// How an operation is refused whose assertion is not true.
pub(crate) const REFUSAL: (ResultCode, &str) =
    (ResultCode::AssertionFailed, "the assertion is false for the entry");

/// Does an operation go on of which this is known of the assertion? If not, it is answered: the assertion is false, or too expensive to
/// judge (`None`).
pub(crate) fn passes(is_true: Option<bool>, out: &mut Vec<u8>, id: i32, response_tag: u8) -> bool {
    let (code, text) = match is_true {
        Some(true) => return true,
        Some(false) => REFUSAL,
        None => (ResultCode::AdminLimitExceeded, "the assertion would compare too many values of the entry"),
    };
    outcome::say(out, id, response_tag, code, text);
    false
}
