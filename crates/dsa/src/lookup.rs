//! The one entry that something is said of, by an index. It is how names of people and of processes become identities.

use model::{EntryId, Filter};
use store::ReadPoint;
use store::search::Compiled;
use store::search::evaluate::{Evaluator, Truth};

/// The only entry of which a filter is true, below a base if one is named. The filter must be an equality assertion with an index, or such
/// ones joined by *and* with others, of which one at least has few candidates: nobody makes the server look through everything.
pub(crate) fn find_one(
    read_point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
    base: Option<&[u8]>,
    filter: &Filter<'_>,
) -> Option<EntryId> {
    let base = match base {
        Some(dn) => Some(read_point.resolve(dn, &mut evaluator.cache).ok()?),
        None => None,
    };
    // Rights are not asked: who a name means is for the server to find out, and what may be done with it comes after.
    let few = |filter: &Filter<'_>| {
        read_point.few_candidates(&Compiled::new(filter, read_point.shard(), &|_| true))
    };
    let candidates = match filter {
        Filter::And(parts) => parts.iter().find_map(few),
        other => few(other),
    }?;
    let filter = Compiled::new(filter, read_point.shard(), &|_| true);
    let found = candidates.iter().filter_map(|id| read_point.entry(EntryId(*id)));
    let mut found = found.filter(|entry| {
        base.is_none_or(|base| read_point.is_within(entry.id, base))
            && evaluator.evaluate(&filter, entry, read_point) == Truth::True
    });
    // Two of a name are nobody: a client that could add a second entry with the name of another would else choose who is meant.
    let first = found.next()?;
    if found.next().is_some() { None } else { Some(first.id) }
}
