//! Assertion (RFC 4528): an operation happens only if a filter is true of its target; if it is false or undefined, the
//! answer is assertionFailed and nothing else happens. What the client may not read is undefined, as in a search.

use crate::access::{Rights, Rules};
use crate::outcome;
use model::{Filter, ResultCode};
use store::search::evaluate::{Evaluator, Truth};
use store::search::{Compiled, Paused};
use store::{EntryRef, ReadPoint};

/// Units of work of [`is_true_soon`]: about five milliseconds.
/// An entry may have a set of a million values, and a filter can ask for any part of any of them.
const ASSERTION_WORK_MAX: u64 = 1 << 19;

/// Is a filter true of an entry, for one who has these rights?
/// Undefined counts as false (RFC 4528 section 3).
pub(crate) fn is_true(
    filter: &Filter<'_>,
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
    (rules, rights): (&Rules, Rights),
    evaluator: &mut Evaluator,
) -> bool {
    let compiled = Compiled::new(filter, read_point.shard(), &|t| rules.may_read(rights, t));
    evaluator.evaluate(&compiled, entry, read_point) == Truth::True
}

/// As [`is_true`], of what is asserted of an operation that looks: it holds up its thread. `None` if there is too much to
/// look at.
pub(crate) fn is_true_soon(
    filter: &Filter<'_>,
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
    (rules, rights): (&Rules, Rights),
    evaluator: &mut Evaluator,
) -> Option<bool> {
    let compiled = Compiled::new(filter, read_point.shard(), &|t| rules.may_read(rights, t));
    // Not in slices: an operation that looks has not begun, so there is nothing that could wait.
    let (mut paused, mut work) = (Paused::default(), ASSERTION_WORK_MAX);
    let truth = evaluator.go_on(&compiled, entry, read_point, &mut paused, &mut work)?;
    Some(truth == Truth::True)
}

/// As [`is_true`], of what an update asserts. It sees every attribute: an assertion of what the client may not read was refused when
/// the update came ([`Rules::asks_for_hidden`]), and what was logged comes out the same whatever the rules are by then.
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
