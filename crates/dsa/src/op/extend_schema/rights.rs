//! May a requester add definitions to the schema? It is a modify of an entry of the server's own.

use crate::access::{Action, Requester};
use crate::context::Reading;
use crate::rights::{Denied, on_attribute};
use ::access::{Operation, Right};
use proto::op::Modify;
use proto::op::modify::ModifyKind;
use schema::HeldDescriptions;
use store::derived::SUBSCHEMA_DN;
use store::{ReadPoint, Unresolved};

/// May a requester change the subschema so? `own` is a read point of the server's own entries. There are no conditions: no update of the
/// directory changes what the rights on one of them hang on.
///
/// # Errors
/// As of a modify of any entry.
#[cold]
pub(crate) fn may_change(
    reading: &mut Reading<'_>,
    who: Requester,
    own: ReadPoint<'_>,
    request: &Modify<'_>,
) -> Result<(), Denied> {
    let cache = &mut reading.scratch.system_evaluator.cache;
    cache.refresh(own);
    let found = own.resolve(SUBSCHEMA_DN.as_bytes(), cache).ok().and_then(|id| own.entry(id));
    let entry = found.ok_or(Denied::Absent(Unresolved::NoSuchObject(None)))?;
    let seen = Action { operation: Operation::Search, is_system: true };
    let view = reading.scratch.view(who, seen, &entry, own);
    if !reading.scratch.views.may(view, Right::Disclose) {
        return Err(Denied::Absent(Unresolved::NoSuchObject(None)));
    }
    let view = reading.scratch.view(who, Action { operation: Operation::Modify, ..seen }, &entry, own);
    let mut held = HeldDescriptions::new(reading.dsa.shard.schema());
    for change in request.changes.iter() {
        // What the schema does not know is refused by the schema.
        let Ok(description) = held.describe(change.modification.description) else { continue };
        let needed: &[Right] = match change.kind {
            ModifyKind::Add => &[Right::Add],
            ModifyKind::Delete => &[Right::Delete],
            ModifyKind::Replace => &[Right::Add, Right::Delete],
            ModifyKind::Increment => &[Right::Increment],
        };
        for right in needed {
            on_attribute(reading, who, view, description, *right, change.modification.values.iter())?;
        }
    }
    Ok(())
}
