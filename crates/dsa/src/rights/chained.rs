//! May a requester ask another server, by this one, about entries behind a referral object? The object stands for all of them (decision 107): what may be done
//! with it may be done behind it, and the rights on each of its attributes are those on that attribute there.
//!
//! Nothing of it becomes a condition. The entry is another server's, and what is there may change at any time.

use super::{Denied, avas, on_attribute, on_entry, operation_of};
use crate::access::{Action, Requester, ViewId};
use crate::admission::changes_rules;
use crate::context::Reading;
use crate::faults::holes;
use ::access::Right;
use env::planted;
use model::attribute::split_options;
use model::dn::split_first;
use proto::message::Request;
use proto::op::modify::{Change, ModifyKind};
use schema::HeldDescriptions;
use store::EntryRef;

/// Decides on a compare or an update of an entry at or below a referral object, which the requester may read.
///
/// # Errors
/// The right that is missing on the object. What the schema lacks, no rule can be about: only who may write everything may write it.
#[cold]
pub(crate) fn authorize(
    reading: &mut Reading<'_>,
    who: Requester,
    object: &EntryRef<'_>,
    request: &Request<'_>,
) -> Result<(), Denied> {
    let is_compare = matches!(request, Request::Compare(_));
    let writes_all = !is_compare
        && reading.scratch.views.writes_all(who.class)
        && !changes_rules(reading.dsa.shard.schema(), request);
    let hole = if is_compare { holes::CHAINED_COMPARE_NOT_JUDGED } else { holes::CHAINED_UPDATE_NOT_JUDGED };
    if who.is_root() || planted::is(hole) {
        return Ok(());
    }
    // As of an entry here, whatever else the requester may write.
    if let Request::Modify(modify) = request
        && modify.changes.iter().any(|change| asks_for_secret(reading, &change))
    {
        let text = "insufficient rights to read the attribute's values, so single values cannot be added or deleted: replace all of them";
        return Err(Denied::Right(text.to_owned()));
    }
    if writes_all {
        return Ok(());
    }
    let view = reading.scratch.view(who, Action::of(operation_of(request)), object, reading.read_point);
    let mut held = HeldDescriptions::new(reading.dsa.shard.schema());
    let mut on = |reading: &mut Reading<'_>, name: &[u8], right, values: &[&[u8]]| {
        on_named(reading, (who, view), &mut held, name, (right, values))
    };
    match request {
        Request::Compare(request) => {
            on(reading, request.assertion.attribute, Right::Compare, &[request.assertion.value])
        }
        // The right to create is one on the entry that comes to be, which the object stands for as well.
        Request::Add(request) => {
            on_entry(reading, view, Right::Create)?;
            for attribute in request.attributes.iter() {
                let values: Vec<&[u8]> = attribute.values.iter().collect();
                on(reading, attribute.description, Right::Add, &values)?;
            }
            // The entry gets the values of its RDN, whether they are given or not.
            for (name, value) in avas(split_first(request.dn).0) {
                on(reading, &name, Right::Add, &[&value])?;
            }
            Ok(())
        }
        Request::Modify(request) => {
            for change in request.changes.iter() {
                let name = change.modification.description;
                let values: Vec<&[u8]> = change.modification.values.iter().collect();
                match change.kind {
                    ModifyKind::Add => on(reading, name, Right::Add, &values)?,
                    ModifyKind::Delete => on(reading, name, Right::Delete, &values)?,
                    ModifyKind::Increment => on(reading, name, Right::Increment, &values)?,
                    // Which values go is not known here, so it may be any.
                    ModifyKind::Replace => {
                        on(reading, name, Right::Delete, &[])?;
                        on(reading, name, Right::Add, &values)?;
                    }
                }
            }
            Ok(())
        }
        // What is below it there is refused by the server that has it.
        Request::Delete(_) => on_entry(reading, view, Right::Remove),
        Request::ModifyDn(request) => {
            on_entry(reading, view, Right::Rename)?;
            for (name, value) in avas(request.new_rdn) {
                on(reading, &name, Right::Add, &[&value])?;
            }
            if request.delete_old_rdn {
                for (name, value) in avas(split_first(request.dn).0) {
                    on(reading, &name, Right::Delete, &[&value])?;
                }
            }
            // Both superiors are behind the same object.
            if request.new_superior.is_some() {
                on_entry(reading, view, Right::MoveOut)?;
                on_entry(reading, view, Right::MoveIn)?;
            }
            Ok(())
        }
        _ => unreachable!("it is a compare or an update of an entry"),
    }
}

/// Would the answer to a change say whether there is a value of an attribute whose values are secrets? A replace says nothing, nor does the end of all
/// values. What was settled by changes before it in the same request is not looked at: who writes so is refused.
fn asks_for_secret(reading: &Reading<'_>, change: &Change<'_>) -> bool {
    let schema = reading.dsa.shard.schema();
    let takes_all = change.kind == ModifyKind::Delete && change.modification.values.is_empty();
    let of = schema.find_type(split_options(change.modification.description).0);
    change.kind != ModifyKind::Replace && !takes_all && of.is_some_and(|of| schema.is_secret(of))
}

/// The right on values of an attribute, or on the attribute as a whole if there are none.
fn on_named<'s>(
    reading: &mut Reading<'_>,
    (who, view): (Requester, ViewId),
    held: &mut HeldDescriptions<'s>,
    name: &[u8],
    (right, values): (Right, &[&[u8]]),
) -> Result<(), Denied> {
    let Ok(description) = held.describe(name) else {
        let text = "insufficient rights: an attribute that the schema lacks is on another server";
        return Err(Denied::Right(text.to_owned()));
    };
    on_attribute(reading, who, view, description, right, values.iter().copied())
}
