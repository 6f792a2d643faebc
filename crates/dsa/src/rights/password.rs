//! Who may give an entry another password, by an operation that works out the change itself.

use super::{Conditions, conditions};
use crate::access::{Action, Requester};
use crate::context::Reading;
use ::access::{Operation, Right, Rights};
use model::Description;
use store::EntryRef;

/// May a requester give an entry another password, by this operation? `None` if it may not. Else under which conditions, as of any update:
/// the change that an operation works out passes no other stage that asks for rights.
pub(crate) fn may_set_password(
    reading: &mut Reading<'_>,
    who: Requester,
    entry: &EntryRef<'_>,
    (operation, needed): (Operation, Rights),
) -> Option<Conditions> {
    let schema = reading.dsa.shard.schema();
    let view = reading.scratch.view(who, Action::of(operation), entry, reading.read_point);
    let password = Description::plain(schema.well_known().user_password);
    // No value counts more than another: which of them go is decided when the change is made.
    let on = reading.scratch.views.on_attribute(view, password, schema).every;
    if !needed.without(on).is_empty() {
        return None;
    }
    let dn = reading.read_point.dn(entry, &mut reading.scratch.evaluator.cache);
    Some(conditions(reading, who, entry, view, &dn))
}

/// What is needed to put a password in the place of another one. A client that may only add could put one of its own beside that of the user.
pub(crate) const REPLACE: Rights = Rights::of(&[Right::Add, Right::Delete]);
