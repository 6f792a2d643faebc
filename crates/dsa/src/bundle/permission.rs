//! What an update must pass before it is logged or carried out, by whom it is from and what the directory holds when it comes, besides
//! what [`crate::admission`] tells from the update alone. Nothing of it is asked when a log is replayed: that comes to the same
//! outcome whoever the clients were.

use super::Parts;
use super::controlled::{HIDDEN, is_for_hidden};
use super::group::Pending;
use crate::access::Rights;
use crate::admission;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::op::modify_dn::new_dn;
use model::{ClassId, ResultCode};
use proto::Outline;
use proto::message::{Message, Request};
use proto::op::Modify;
use proto::op::modify::{Change, ModifyKind, Replacements};
use proto::tag;
use schema::Schema;
use smallvec::SmallVec;
use store::{EntryRef, ReadPoint};

type Refusal = (ResultCode, &'static str);

const ROOT_NAME: Refusal =
    (ResultCode::InsufficientAccessRights, "only the root DN gives an entry its name, or changes that entry");
const SECRET_VALUE: Refusal = (
    ResultCode::InsufficientAccessRights,
    "this identity may not read the values of the attribute, so it adds and deletes no single ones: replace them",
);
const SUPERCLASS: Refusal = (
    ResultCode::ObjectClassModsProhibited,
    "a superclass of an object class that stays cannot be deleted (RFC 4512 section 3.3)",
);
pub(in crate::bundle) const NO_NAME: Refusal = (
    ResultCode::AdminLimitExceeded,
    "as many names have changed the directory as can be recorded, and this is another one",
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
pub(super) fn first_refused(
    parts: &mut Parts<'_>,
    identity: &Identity,
    updates: &[Pending<'_>],
) -> Option<(usize, admission::Refusal)> {
    let own_words = |(code, text): Refusal| (code, text.to_owned());
    if let Err(refusal) = of_name(parts.dsa, identity) {
        return Some((0, own_words(refusal)));
    }
    let mut refused = |update: &Pending<'_>| {
        if update.has_controls() && is_for_hidden(parts.dsa, identity.rights, update) {
            return Some(own_words(HIDDEN));
        }
        admission::refusal_of(parts.dsa.shard.schema(), update.outline.as_ref()?, update.frame())
            .or_else(|| refusal(parts, identity, update).map(own_words))
    };
    updates.iter().enumerate().find_map(|(at, update)| Some((at, refused(update)?)))
}

/// How an update is refused, if it is.
#[inline]
pub(super) fn refusal(parts: &mut Parts<'_>, identity: &Identity, update: &Pending<'_>) -> Option<Refusal> {
    let outline = update.outline.as_ref()?;
    let is_root = identity.rights == Rights::Root;
    match outline.op_tag {
        tag::MODIFY => {
            if !is_root && parts.dsa.root_binds_by_entry() && parts.dsa.names_root(outline.dn) {
                return Some(ROOT_NAME);
            }
            if is_one_replacement(outline.rest) || replaces_only(outline) {
                return None;
            }
            refusal_of_modify(parts, is_root, update)
        }
        tag::ADD if !is_root && parts.dsa.names_root(outline.dn) => Some(ROOT_NAME),
        tag::MODIFY_DN if !is_root => refusal_of_rename(parts.dsa, update),
        _ => None,
    }
}

/// Is what follows the DN of a modify one change of kind replace, with lengths in their short form? Most are that.
#[inline]
fn is_one_replacement(rest: &[u8]) -> bool {
    matches!(rest, [0x30, list @ ..=0x7f, 0x30, change, 0x0a, 1, 2, ..] if *list == change.wrapping_add(2))
}

fn replaces_only(outline: &Outline<'_>) -> bool {
    Replacements::of(outline.rest).is_some_and(|mut changes| changes.all(|change| change.is_some()))
}

#[cold]
fn refusal_of_modify(parts: &mut Parts<'_>, is_root: bool, update: &Pending<'_>) -> Option<Refusal> {
    let Ok(Message { request: Request::Modify(modify), .. }) = update.decode() else { return None };
    let schema = parts.dsa.shard.schema();
    if !is_root && asks_for_secret(schema, &modify) {
        return Some(SECRET_VALUE);
    }
    let class_type = Some(schema.well_known().object_class);
    let of_class = |change: &Change<'_>| schema.find_type(change.modification.description) == class_type;
    let takes = |change: Change<'_>| {
        change.kind == ModifyKind::Delete && !change.modification.values.is_empty() && of_class(&change)
    };
    if !modify.changes.iter().any(takes) {
        return None;
    }
    let pin = parts.reader.pin();
    let read_point = pin.read_point();
    let cache = &mut parts.scratch.evaluator.cache;
    cache.refresh(read_point);
    let entry = read_point.entry(read_point.resolve(modify.dn, cache).ok()?)?;
    let changes = modify.changes.iter().filter(of_class);
    takes_superclass(read_point, &entry, changes).then_some(SUPERCLASS)
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

/// Do changes of objectClass delete a class that stays, because it is a superclass of another one?
fn takes_superclass<'a>(
    read_point: ReadPoint<'_>,
    entry: &EntryRef<'_>,
    changes: impl Iterator<Item = Change<'a>>,
) -> bool {
    let schema = read_point.shard().schema();
    let class = |value: &[u8]| schema.find_class(value);
    let mut classes: SmallVec<[ClassId; 8]> =
        entry.shape.class_values.iter().filter_map(|value| class(value)).collect();
    let mut deleted: SmallVec<[ClassId; 4]> = SmallVec::new();
    for Change { kind, modification } in changes {
        let named: SmallVec<[ClassId; 4]> = modification.values.iter().filter_map(class).collect();
        match kind {
            ModifyKind::Delete if modification.values.is_empty() => classes.clear(),
            ModifyKind::Delete => {
                classes.retain(|class| !named.contains(class));
                deleted.extend(named);
            }
            ModifyKind::Replace => classes = named.into_iter().collect(),
            ModifyKind::Add | ModifyKind::Increment => classes.extend(named),
        }
    }
    let stays = |gone: &ClassId| {
        !classes.contains(gone) && classes.iter().any(|class| schema.is_subclass(*class, *gone))
    };
    deleted.iter().any(stays)
}

#[cold]
fn refusal_of_rename(dsa: &Dsa, update: &Pending<'_>) -> Option<Refusal> {
    let Ok(Message { request: Request::ModifyDn(modify_dn), .. }) = update.decode() else { return None };
    // An entry below may get the name of the root DN, even one that is only on its way.
    dsa.is_root_or_above(&new_dn(&modify_dn)).then_some(ROOT_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::op::modify::change_list;

    #[test]
    fn a_replacement_is_told_by_its_first_bytes() {
        let rest = |kinds: &[ModifyKind], value: &[u8]| {
            let mut out = Vec::new();
            let changes = kinds.iter().map(|kind| (*kind, &b"cn"[..], [value]));
            proto::ber::put_tlv(&mut out, tag::SEQUENCE, &change_list(changes));
            out
        };
        use ModifyKind::*;
        assert!(is_one_replacement(&rest(&[Replace], b"x")));
        for other in [&[Add][..], &[Delete], &[Increment], &[Replace, Delete], &[Replace, Replace], &[]] {
            assert!(!is_one_replacement(&rest(other, b"x")), "{other:?}");
        }
        assert!(!is_one_replacement(&rest(&[Replace], &[b'x'; 200])), "it is looked at closely");
    }
}
