//! What an update must pass before it is logged or carried out, by whom it is from, besides what [`crate::admission`] tells from the
//! update alone. Nothing of it is asked when a log is replayed: that comes to the same outcome whoever the clients were. Nor does it
//! look at entries: others that are on their way may change them before the update has its turn.

use super::controlled::{HIDDEN, is_for_hidden};
use super::group::Pending;
use crate::access::Rights;
use crate::admission;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::op::modify_dn::new_dn;
use model::{ResultCode, short};
use proto::Outline;
use proto::message::{Message, Request};
use proto::op::Modify;
use proto::op::modify::{ModifyKind, Replacements, only_replacement};
use proto::tag;
use schema::Schema;
use smallvec::SmallVec;

type Refusal = (ResultCode, &'static str);

const ROOT_NAME: Refusal = (
    ResultCode::InsufficientAccessRights,
    "only the root DN can add, rename or change the entry named by root-dn",
);
const SECRET_VALUE: Refusal = (
    ResultCode::InsufficientAccessRights,
    "insufficient rights to read the attribute's values, so single values cannot be added or deleted: replace all of them",
);
pub(in crate::bundle) const NO_NAME: Refusal = (
    ResultCode::AdminLimitExceeded,
    "no further name can be recorded as creator or modifier: the limit is reached",
);

/// Has the directory room for the name of whoever changes it?
///
/// # Errors
/// The refusal if it has not.
#[inline]
pub(super) fn of_name(dsa: &Dsa, identity: &Identity) -> Result<(), Refusal> {
    if dsa.shard.admits_name(&identity.dn) { Ok(()) } else { Err(NO_NAME) }
}

/// The first of some updates that is refused, and how.
#[inline]
pub(super) fn first_refused<'a>(
    dsa: &Dsa,
    identity: &Identity,
    updates: &[Pending<'a>],
) -> Option<(usize, admission::Refusal)> {
    let own_words = |(code, text): Refusal| (code, text.to_owned());
    if let Err(refusal) = of_name(dsa, identity) {
        return Some((0, own_words(refusal)));
    }
    let schema = dsa.shard.schema();
    let guards_root = identity.rights != Rights::Root && dsa.root_binds_by_entry();
    let mut admitted: &'a [u8] = &[];
    let mut refused = |update: &Pending<'a>| {
        let outline = update.outline.as_ref()?;
        if !guards_root && outline.op_tag == tag::MODIFY && outline.after.is_empty() {
            // Most are that: one value of an attribute, in a bundle often the same.
            match only_replacement(outline.rest) {
                Some(only) if short::equal(only.description, admitted) => return None,
                Some(only) if admission::is_admitted(schema, only.description) => {
                    admitted = only.description;
                    return None;
                }
                _ => {}
            }
        }
        if update.has_controls() && is_for_hidden(dsa, identity.rights, update) {
            return Some(own_words(HIDDEN));
        }
        admission::refusal_of(schema, outline, update.frame())
            .or_else(|| refusal(dsa, identity, update).map(own_words))
    };
    updates.iter().enumerate().find_map(|(at, update)| Some((at, refused(update)?)))
}

/// How an update is refused, if it is.
pub(super) fn refusal(dsa: &Dsa, identity: &Identity, update: &Pending<'_>) -> Option<Refusal> {
    let outline = update.outline.as_ref()?;
    match outline.op_tag {
        _ if identity.rights == Rights::Root => None,
        tag::MODIFY if dsa.root_binds_by_entry() && dsa.names_root(outline.dn) => Some(ROOT_NAME),
        tag::MODIFY if only_replacement(outline.rest).is_some() || replaces_only(outline) => None,
        tag::MODIFY => refusal_of_modify(dsa, update),
        tag::ADD => dsa.names_root(outline.dn).then_some(ROOT_NAME),
        tag::MODIFY_DN => refusal_of_rename(dsa, update),
        _ => None,
    }
}

fn replaces_only(outline: &Outline<'_>) -> bool {
    Replacements::of(outline.rest).is_some_and(|mut changes| changes.all(|change| change.is_some()))
}

#[cold]
fn refusal_of_modify(dsa: &Dsa, update: &Pending<'_>) -> Option<Refusal> {
    let Ok(Message { request: Request::Modify(modify), .. }) = update.decode() else { return None };
    asks_for_secret(dsa.shard.schema(), &modify).then_some(SECRET_VALUE)
}

/// Would the answer to a modify tell whether the entry has a value of an attribute that its client may not read? Not once the
/// request itself has settled which values there are.
fn asks_for_secret(schema: &Schema, modify: &Modify<'_>) -> bool {
    let mut settled: SmallVec<[&[u8]; 2]> = SmallVec::new();
    for change in modify.changes.iter() {
        let description = change.modification.description;
        let (name, _) = model::attribute::split_options(description);
        if !schema.find_type(name).is_some_and(|id| schema.is_secret(id)) {
            continue;
        }
        let is_settled = settled.iter().any(|other| other.eq_ignore_ascii_case(description));
        match change.kind {
            ModifyKind::Replace => settled.push(description),
            ModifyKind::Delete if change.modification.values.is_empty() => settled.push(description),
            _ if !is_settled => return true,
            _ => {}
        }
    }
    false
}

#[cold]
fn refusal_of_rename(dsa: &Dsa, update: &Pending<'_>) -> Option<Refusal> {
    let Ok(Message { request: Request::ModifyDn(modify_dn), .. }) = update.decode() else { return None };
    // An entry below may get the name of the root DN, even one that is only on its way.
    dsa.is_root_or_above(&new_dn(&modify_dn)).then_some(ROOT_NAME)
}
