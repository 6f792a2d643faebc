//! Third stage: what an update needs of the directory as it is now. Nothing of it is final: the entry may be another one when the update
//! has its turn, and then it is prepared anew by the one that applies it.
//!
//! Two things happen here. [`check`] refuses what cannot be applied whatever comes before it, so that it takes no room in the log.
//! [`prepare`] makes the new record of each entry beside the old one, without any lock.

use super::super::group::{self, Hint, Pending};
use super::super::transaction;
use super::Refused;
use super::classify::Request;
use crate::access::Action;
use crate::admission::{self, Present};
use crate::control::{Requested, assertion, update};
use crate::identity::Identity;
use crate::op;
use crate::prepared_writes::PreparedWrites;
use crate::worker::Parts;
use crate::worker::Scratch;
use ::access::Operation;
use env::fast;
use store::Known;

/// Can an update be applied as far as is known before its turn?
///
/// # Errors
/// The refusal: the schema does not take it, an open transaction holds its entry, or what it asserts is false.
pub(super) fn check(
    parts: &mut Parts<'_>,
    identity: &Identity,
    request: &Request<'_>,
    requested: &Requested<'_>,
) -> Result<(), Refused<'static>> {
    let (schema, present) = (parts.dsa.shard.schema(), Present::of(parts.dsa));
    if let Some((code, text)) = admission::refusal(schema, present, &request.message, requested) {
        return Err(Refused::Refusal((code, text.into())));
    }
    // Transactions of lower precedence give way now, before the log: a replay has no open transactions.
    transaction::preempt_holders(parts.dsa, identity, &request.message.request)?;
    // Without a log the update is applied at once, and tells as much. A tree delete may have parts before the one that is about its own entry.
    let is_asked = parts.dsa.journal.get().is_some() || requested.flags().is_tree_delete();
    match is_asked && fails_now(parts, identity, request, requested) {
        true => Err(assertion::REFUSAL.into()),
        false => Ok(()),
    }
}

/// Is there an assertion that is not true of the update's entry now? Such an update need not be logged, if nothing is on
/// its way to the log before it. One whose assertion is true is asked again when it is applied.
fn fails_now(
    parts: &mut Parts<'_>,
    identity: &Identity,
    request: &Request<'_>,
    requested: &Requested<'_>,
) -> bool {
    let Some((filter, _)) = requested.rare.as_ref().and_then(|rare| rare.assertion.as_ref()) else {
        return false;
    };
    let Some(dn) = update::target(&request.message.request) else { return false };
    let pin = parts.reader.pin();
    let read_point = pin.read_point();
    // The update may belong to another server. Who has the writer's role finds that out.
    if read_point.shard().has_referrals() && !requested.manage_dsa_it {
        return false;
    }
    let Scratch { evaluator, views, .. } = &mut *parts.scratch;
    evaluator.cache.refresh(read_point);
    // Of an entry that is not there nothing is false: the update is logged, and refused by the one that applies it.
    let found = read_point.resolve(dn, &mut evaluator.cache).ok().and_then(|id| read_point.entry(id));
    let Some(entry) = found else { return false };
    let who = identity.requester();
    let view = views.of(who, Action::of(Operation::Search), &entry, read_point, evaluator);
    assertion::is_true_soon(filter, &entry, read_point, (views, who, view), evaluator) == Some(false)
}

/// Makes prepared writes of updates at a read point, as far as they can be made; appends to `prepared_writes`.
pub(in crate::bundle) fn prepare(
    parts: &mut Parts<'_>,
    updates: &[Pending<'_>],
    prepared_writes: &mut PreparedWrites,
) {
    let Parts { dsa, reader, scratch, hinted_at, .. } = parts;
    let pin = reader.pin();
    let read_point = pin.read_point();
    // Whether an update is to be referred is looked at by the writer.
    let sequence = hinted_at.filter(|_| fast::IS_ON && !read_point.shard().has_referrals());
    // Each update has a place among them, prepared or not: positions are how marks and answers find theirs.
    let Some(sequence) = sequence else { return prepared_writes.push_nones(updates.len()) };
    let Scratch { evaluator, keys, .. } = &mut **scratch;
    evaluator.cache.refresh(read_point);
    let mut replacing = op::modify::Replacing::new(dsa, read_point.shard().schema());
    prepared_writes.push_each(updates.len(), |at, bytes| {
        group::prefetch_next(read_point, updates, at);
        let (Hint::Target(target), Some(outline)) = (&updates[at].hint, &updates[at].outline) else {
            return None;
        };
        // Only replacements by single values can be prepared. Any other change depends on all of the entry.
        let replacements = replacing.of(outline)?;
        let known = Known { target: *target, keys, sequence };
        read_point.prepare(&known, replacements, &mut evaluator.cache, bytes)
    });
}
