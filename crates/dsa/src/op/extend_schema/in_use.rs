//! What uses the definitions that a change removes or narrows: entries, and settings.
//!
//! ```text
//! before the log      settings of this server -> entries, one of which is named if the requester may read it
//! where it is applied constraints, which all servers have -> entries, none of which is named
//! ```
//! The second decides. It must come to the same on every replica and in every replay, so it knows nothing of one server or of rights. The first
//! saves room in the log, and tells a client what to change.
//!
//! A walk over all entries is made only where their shapes say that some may be concerned. It runs in the writer's role the second time: an
//! entry that is added behind it is judged by the new schema.

use crate::access::{Action, Requester};
use crate::context::Reading;
use crate::engine::Dsa;
use crate::faults::holes;
use crate::outcome::Refusal;
use ::access::Operation;
use env::planted;
use model::ResultCode;
use schema::{Plan, Schema, Use};
use std::ops::ControlFlow;
use store::ReadPoint;

/// Entries that are looked at for one that the requester may read.
const SHOWN_OF: usize = 1000;

/// Settings of this server name it: rules, limits and indexes. It is asked before the log only, for each server may have its own.
///
/// # Errors
/// A refusal that says which.
pub(super) fn by_settings(dsa: &Dsa, plan: &Plan, now: ReadPoint<'_>) -> Result<(), Refusal> {
    if plan.only_adds() {
        return Ok(());
    }
    dsa.chosen.fit(plan.outcome()).map_err(|what| needed(&what))?;
    let schema = dsa.shard.schema();
    let types = &plan.effects().types;
    let configured = &dsa.config().settings.later_indexes;
    let later = configured.iter().filter_map(|index| index.attribute_type(schema).ok());
    let of_types = dsa.indexing.wanted(now).into_iter().map(|name| name.attribute_type).chain(later);
    match { of_types }.find(|id| types.contains(id)) {
        Some(id) => Err(needed(&format!("there is an index on '{}'", schema.attribute_type(id).name()))),
        None => Ok(()),
    }
}

/// The constraints of the directory name it. They decide what updates come to, so they are the same on all servers.
///
/// # Errors
/// A refusal that says which.
pub(super) fn by_constraints(dsa: &Dsa, plan: &Plan) -> Result<(), Refusal> {
    if plan.only_adds() {
        return Ok(());
    }
    // Those of this place of the log, and not those that are recorded last.
    let fit = dsa.constraints.fit(plan.outcome());
    fit.map_err(|what| needed(&format!("`{}`: {what}", crate::constraints::KEY)))
}

fn needed(what: &str) -> Refusal {
    (
        ResultCode::UnwillingToPerform,
        format!("settings name what would be removed from the schema, or changed: {what}"),
    )
}

/// Entries do not go with it. An entry is named if the requester may read one of the first of them.
///
/// # Errors
/// A refusal that says what of it.
pub(super) fn by_entries_for(reading: &mut Reading<'_>, who: Requester, plan: &Plan) -> Result<(), Refusal> {
    let read_point = reading.read_point;
    // The first is kept without its name, should none of those that follow be readable.
    let (mut found, mut looked) = (None, 0);
    let _ = read_point.each_use(plan.effects(), |entry, what| {
        found.get_or_insert((what, None));
        let view = reading.scratch.view(who, Action::of(Operation::Search), &entry, read_point);
        if reading.scratch.views.may_return(view) || planted::is(holes::USERS_NOT_JUDGED) {
            let dn = read_point.dn(&entry, &mut reading.scratch.evaluator.cache);
            found = Some((what, Some(String::from_utf8_lossy(&dn).into_owned())));
            return ControlFlow::Break(());
        }
        looked += 1;
        if looked < SHOWN_OF { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    match found {
        None => Ok(()),
        Some((what, dn)) => Err(refusal(plan, reading.dsa.shard.schema(), what, dn.as_deref())),
    }
}

/// The same without a name: where a change is applied nobody asks for rights.
///
/// # Errors
/// A refusal that says what of an entry.
pub(super) fn by_entries(plan: &Plan, now: ReadPoint<'_>) -> Result<(), Refusal> {
    // One is enough: which one it is nobody learns.
    let mut found = None;
    let _ = now.each_use(plan.effects(), |_, what| {
        found = Some(what);
        ControlFlow::Break(())
    });
    found.map_or(Ok(()), |what| Err(refusal(plan, now.shard().schema(), what, None)))
}

/// Code and text. What is used is unwilling to go; what an entry is against is a constraint that it would violate.
fn refusal(plan: &Plan, schema: &Schema, what: Use, dn: Option<&str>) -> Refusal {
    let code = match what {
        Use::Attribute(_) | Use::Class(_) | Use::Named(_) => ResultCode::UnwillingToPerform,
        Use::Several(_) | Use::Lacks(..) | Use::Barred(..) => ResultCode::ConstraintViolation,
    };
    let entry = dn.map_or_else(|| "an entry".to_owned(), |dn| format!("the entry {dn}"));
    (code, format!("entries use it: {entry} {}", plan.effects().describe(schema, what)))
}
