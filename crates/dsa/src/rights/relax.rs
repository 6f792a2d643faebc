//! Who may have rules of the schema relaxed for an update: who has `manage` on the entry. It is needed beside what the update needs by itself.

use super::{Conditions, Denied, conditions, on_entry, target, view_of_new};
use crate::access::Requester;
use crate::context::Reading;
use ::access::{Operation, Right};
use model::EntryId;
use model::dn::split_first;
use proto::message::Request;

/// Decides.
///
/// # Errors
/// The right that is missing, or that there is no such entry for the requester.
pub(crate) fn may_relax(
    reading: &mut Reading<'_>,
    who: Requester,
    request: &Request<'_>,
) -> Result<Conditions, Denied> {
    // Each operation by the name that rules know it by: a rule may be about some of them alone.
    let (dn, operation) = match request {
        Request::Add(add) => {
            // Whether there is a superior was found out before.
            let superior = split_first(add.dn).1.and_then(|dn| {
                let cache = &mut reading.scratch.evaluator.cache;
                reading.read_point.resolve(dn, cache).ok()
            });
            let view = view_of_new(reading, who, add, superior.unwrap_or(EntryId(0)));
            on_entry(reading, view, Right::Manage)?;
            return Ok(Conditions::new());
        }
        Request::Modify(modify) => (modify.dn, Operation::Modify),
        Request::Delete(dn) => (*dn, Operation::Delete),
        Request::ModifyDn(modify_dn) => (modify_dn.dn, Operation::Rename),
        _ => unreachable!("it is no update of an entry"),
    };
    // At the entry as it is now. What the right hung on goes along as conditions, as that of the update itself.
    let (entry, view) = target(reading, who, dn, operation)?;
    on_entry(reading, view, Right::Manage)?;
    Ok(conditions(reading, who, &entry, view, dn))
}
