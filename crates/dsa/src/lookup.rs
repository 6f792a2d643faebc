//! The one entry that something is said of, by an index. It is how names of people and of processes become identities.

use crate::config::UserMapping;
use crate::faults::holes;
use env::planted;
use model::filter::Assertion;
use model::{EntryId, Filter};
use proto::filter_string;
use store::ReadPoint;
use store::search::Compiled;
use store::search::evaluate::{Evaluator, Truth};

/// The attribute that users are called by where no filter says otherwise.
const USER_ATTRIBUTE: &[u8] = b"uid";

impl UserMapping {
    fn place(&self) -> (Option<&[u8]>, bool) {
        (self.base.as_deref().map(str::as_bytes), self.is_one_level)
    }
}

/// A text as it stands in a filter (RFC 4515 section 3): nothing in it can mean anything but itself.
pub(crate) fn escape(value: &[u8], text: &mut String) {
    for byte in value {
        match byte.is_ascii_alphanumeric() || planted::is(holes::VALUE_NOT_ESCAPED) {
            true => text.push(char::from(*byte)),
            false => text.push_str(&format!("\\{byte:02x}")),
        }
    }
}

/// The only entry that is called by a name. There must be an equality index for it: nobody makes the server look through everything.
pub(crate) fn find_user(
    by: &UserMapping,
    read_point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
    user: &[u8],
) -> Option<EntryId> {
    let Some(template) = &by.filter else {
        let filter = Filter::Equality(Assertion { attribute: USER_ATTRIBUTE, value: user });
        return find_below(read_point, evaluator, by.place(), &filter);
    };
    let mut name = String::new();
    escape(user, &mut name);
    let filter = filter_string::parse(template.replace("{}", &name).as_bytes()).ok()?;
    find_below(read_point, evaluator, by.place(), &filter.filter())
}

/// The only entry of which a filter is true, below a base if one is named. The filter must be an equality assertion with an index, or such
/// ones joined by *and* with others, of which one at least has few candidates: nobody makes the server look through everything.
pub(crate) fn find_one(
    read_point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
    base: Option<&[u8]>,
    filter: &Filter<'_>,
) -> Option<EntryId> {
    find_below(read_point, evaluator, (base, false), filter)
}

/// As [`find_one`], and if so directly below the base.
fn find_below(
    read_point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
    (base, is_one_level): (Option<&[u8]>, bool),
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
        let is_there = |base| match is_one_level {
            true => entry.parent() == base,
            false => read_point.is_within(entry.id, base),
        };
        base.is_none_or(is_there) && evaluator.evaluate(&filter, entry, read_point) == Truth::True
    });
    // Two of a name are nobody: a client that could add a second entry with the name of another would else choose who is meant.
    let first = found.next()?;
    if found.next().is_some() { None } else { Some(first.id) }
}
