//! Whose policy is looked for, and what it is asked.

use crate::context::Reading;
use store::EntryRef;
use store::search::Compiled;
use store::search::evaluate::Truth;

/// Whose policy is looked for. A name that nobody has is no subject: its bind fails whatever a policy says.
#[derive(Clone, Copy)]
pub(super) enum Subject<'s, 'r> {
    Entry(&'s EntryRef<'r>),
    /// It is to be added under this name.
    New(&'s [u8]),
}

/// Is a filter true of an account? It was read before, when the rule was set, and is short.
/// All attributes are looked at: the rule is the administrator's, and its outcome is no answer to anybody.
pub(super) fn is_true(reading: &mut Reading<'_>, entry: &EntryRef<'_>, filter: &str) -> bool {
    let Ok(parsed) = proto::filter_string::parse(filter.as_bytes()) else { return false };
    let compiled = Compiled::new(&parsed.filter(), reading.read_point.shard(), &|_| true);
    reading.scratch.evaluator.evaluate(&compiled, entry, reading.read_point) == Truth::True
}
