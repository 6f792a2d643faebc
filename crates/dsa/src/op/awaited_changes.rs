//! A search or compare that looks at the change log waits until what is kept is stored ([`crate::change_log`]).
//!
//! Rights come first: who may see nothing there is answered at once, and has nothing stored.

use crate::access::{Action, Requester};
use crate::change_log::awaited::Changes;
use crate::context::Reading;
use ::access::{Operation, Right};
use model::dn;
use store::ReadPoint;

/// Has a request to wait that is about an entry with this name? Then it is given up here, and is run again. Where it is answered with a refusal it need not.
/// `system` is its read point of the server's own entries.
pub(crate) fn are_awaited(
    reading: &mut Reading<'_>,
    (who, operation): (Requester, Operation),
    name: &[u8],
    system: ReadPoint<'_>,
) -> bool {
    let dsa = reading.dsa;
    let may_wait = dsa.change_log.is_on()
        && reading.scratch.changes != Changes::Stored
        && dsa.system.is_in_change_log(name)
        && reading.scratch.views.reads_changes(who.class)
        && may_look(reading, (who, operation), name, system);
    if may_wait {
        reading.scratch.changes = Changes::Wanted;
    }
    may_wait
}

/// May a requester look at the change log, or perhaps at an entry of it? That entry may not be there yet, so that its rights cannot be asked.
fn may_look(
    reading: &mut Reading<'_>,
    (who, operation): (Requester, Operation),
    name: &[u8],
    system: ReadPoint<'_>,
) -> bool {
    let own = &reading.dsa.system;
    if dn::split_first(name).1.is_some() {
        return reading.scratch.views.may_below(who.class, Right::Disclose, &|dn| own.is_in_change_log(dn));
    }
    let cache = &mut reading.scratch.system_evaluator.cache;
    let Some(entry) = system.resolve(name, cache).ok().and_then(|id| system.entry(id)) else { return false };
    let view = reading.scratch.view(who, Action { operation, is_system: true }, &entry, system);
    let views = &reading.scratch.views;
    views.may(view, Right::Disclose) && (operation == Operation::Compare || views.may(view, Right::Search))
}
