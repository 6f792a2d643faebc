//! The referral objects that stand above what a request is about, as its requester may know of them. The right to read the object is the only
//! one that is asked here: who may do what behind it is up to the server that it names (RFC 3296).
//!
//! ```text
//! may the requester read the object?   no    there is no such entry: noSuchObject, with the nearest superior that may be disclosed
//!                                      yes   the referral, also where the requester has no right to make the update here
//! an add of a name that is taken       what stands above the superior counts, not the entry that has the name
//! a rename                             the entry itself, and its new superior: affectsMultipleDSAs
//! ```

use super::{Denied, leave, visible};
use crate::access::{Action, Requester};
use crate::context::Reading;
use crate::faults::holes;
use crate::referral::Referral;
use ::access::Operation;
use env::planted;
use model::EntryId;
use proto::op::ModifyDn;
use store::Unresolved;

/// What a request meets that is for a referral object, or for a name below it.
pub(crate) enum Met {
    /// An object that its requester may not read: for it there is no entry with the name, as this says.
    Hidden(Unresolved),
    /// An object that refers the requester.
    Object {
        /// The object, which is there at the read point.
        object: EntryId,
        /// Where it leads, with the name that was asked for.
        referral: Referral,
        /// Is it the object itself that was asked for?
        is_itself: bool,
    },
}

/// The referral object that a request for `dn` meets. `is_add`: the name is to be given to a new entry, so an entry that has it already is
/// not looked at. `None` if there is no such object, also if it may not be disclosed: then no name is found below it either.
#[cold]
pub(crate) fn met(
    reading: &mut Reading<'_>,
    (who, operation): (Requester, Operation),
    dn: &[u8],
    is_add: bool,
) -> Option<Met> {
    let read_point = reading.read_point;
    let found = read_point.resolve(dn, &mut reading.scratch.evaluator.cache);
    let mut named = None;
    let nearest = match visible(reading, who, found) {
        // That the name is taken is said by the one that would add it.
        Ok(id) if is_add => read_point.entry(id)?.parent(),
        Ok(id) => *named.insert(id),
        Err(Unresolved::NoSuchObject(Some(id))) => id,
        Err(_) => return None,
    };
    // An add of a whole naming context has no superior.
    if nearest.0 == 0 {
        return None;
    }
    if let Some(superior) = hidden_referral(reading, (who, operation), nearest) {
        let superior = Some(superior).filter(|id| id.0 != 0);
        return visible(reading, who, Err(Unresolved::NoSuchObject(superior))).err().map(Met::Hidden);
    }
    let object = read_point.referral_above(nearest)?.id;
    let referral = Referral::met(read_point, nearest, dn, None)?;
    Some(Met::Object { object, referral, is_itself: named == Some(object) })
}

/// Why a rename is not made whose new superior is absent for its requester: the rights on the entry itself are asked before.
#[cold]
pub(crate) fn moved_to_absent(
    reading: &mut Reading<'_>,
    who: Requester,
    request: &ModifyDn<'_>,
    absent: Unresolved,
) -> Denied {
    leave(reading, who, request).err().unwrap_or(Denied::Absent(absent))
}

/// The superior of a referral object that an entry is, or is below of, and that the requester may not read; 0 if it has none. `None` if
/// there is no such object. What may not be read is absent: its URIs are values like any others, and tell that it is there.
#[cold]
pub(crate) fn hidden_referral(
    reading: &mut Reading<'_>,
    (who, operation): (Requester, Operation),
    nearest: EntryId,
) -> Option<EntryId> {
    let object = reading.read_point.referral_above(nearest)?;
    let view = reading.scratch.view(who, Action::of(operation), &object, reading.read_point);
    let is_hidden = !reading.scratch.views.may_return(view) && !planted::is(holes::REFERRAL_NOT_JUDGED);
    is_hidden.then(|| object.parent())
}
