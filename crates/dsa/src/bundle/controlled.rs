//! Updates with controls, before they go to the writer or the log.

use super::Parts;
use super::group::Pending;
use crate::access::Rights;
use crate::control::{self, Requested, assertion, update};
use crate::engine::Dsa;
use model::ResultCode;
use model::limits::READ_ENTRIES_MAX;

/// How many updates may be logged together: their answers bring back [`READ_ENTRIES_MAX`] entries at most, `reads` of
/// which are asked for already. At least one, if there were none.
pub(super) fn together(updates: &[Pending<'_>], reads: &mut usize) -> usize {
    let mut fits = |update: &Pending<'_>| {
        *reads += if update.has_controls() { reads_of(update) } else { 0 };
        *reads <= READ_ENTRIES_MAX
    };
    updates.iter().position(|update| !fits(update)).unwrap_or(updates.len())
}

/// How many updates may be carried out before their answers are looked at: up to the first that brings an entry back.
pub(super) fn until_read(updates: &[Pending<'_>]) -> usize {
    let reads = |update: &Pending<'_>| update.has_controls() && reads_of(update) > 0;
    updates.iter().position(reads).map_or(updates.len(), |at| at + 1)
}

#[cold]
fn reads_of(update: &Pending<'_>) -> usize {
    let Ok(message) = update.decode() else { return 0 };
    let requested = control::requested(&message.request, message.controls);
    requested.ok().and_then(|requested| requested.rare).map_or(0, |rare| rare.reads())
}

/// How an update is refused that [`asks_for_hidden`].
pub(super) const HIDDEN: (ResultCode, &str) =
    (ResultCode::InsufficientAccessRights, "insufficient rights to read the attributes of the assertion");

/// Does an update assert something of what its client may not read? Who may change an entry may not therefore ask for its secrets,
/// and what was logged is judged with all rights, so that it comes out the same whoever may read what by then.
pub(super) fn asks_for_hidden(dsa: &Dsa, rights: Rights, requested: &Requested<'_>) -> bool {
    let assertion = requested.rare.as_ref().and_then(|rare| rare.assertion.as_ref());
    assertion.is_some_and(|(filter, _)| dsa.rules.asks_for_hidden(rights, dsa.shard.schema(), filter))
}

/// As [`asks_for_hidden`], of an update with controls. Of the root DN nothing is hidden, and nothing of its updates looked at.
#[cold]
pub(super) fn is_for_hidden(dsa: &Dsa, rights: Rights, update: &Pending<'_>) -> bool {
    rights != Rights::Root
        && update.decode().is_ok_and(|message| {
            let requested = control::requested(&message.request, message.controls);
            requested.is_ok_and(|requested| asks_for_hidden(dsa, rights, &requested))
        })
}

/// Is there an assertion that is not true of the update's entry now? Such an update need not be logged, if nothing is on
/// its way to the log before it. One whose assertion is true is asked again when it is carried out.
#[cold]
pub(super) fn fails_now(parts: &mut Parts<'_>, rights: Rights, update: &Pending<'_>) -> bool {
    let Ok(message) = update.decode() else { return false };
    let Ok(requested) = control::requested(&message.request, message.controls) else { return false };
    let Some((filter, _)) = requested.rare.as_ref().and_then(|rare| rare.assertion.as_ref()) else {
        return false;
    };
    let Some(dn) = update::target(&message.request) else { return false };
    let pin = parts.reader.pin();
    let read_point = pin.read_point();
    if read_point.shard().has_referrals() && !requested.manage_dsa_it {
        return false;
    }
    let evaluator = &mut parts.scratch.evaluator;
    evaluator.cache.refresh(read_point);
    let found = read_point.resolve(dn, &mut evaluator.cache).ok().and_then(|id| read_point.entry(id));
    let rules = (&parts.dsa.rules, rights);
    let is_true = |entry| assertion::is_true_soon(filter, &entry, read_point, rules, evaluator);
    found.and_then(is_true) == Some(false)
}
