//! "Servers SHALL restrict modifications of this attribute to prevent superclasses of remaining 'objectClass' values from being
//! deleted" (RFC 4512 section 3.3). The store puts such a class back, as it does where it was not named.

use crate::context::Writing;
use model::{ClassId, Description, ResultCode};
use smallvec::SmallVec;
use store::{Change, ChangeKind, EntryRef, ReadPoint};

/// Code and text of the refusal.
pub(super) const REFUSAL: (ResultCode, &str) = (
    ResultCode::ObjectClassModsProhibited,
    "a superclass of an object class that stays cannot be deleted (RFC 4512 section 3.3)",
);

/// Would changes of the entry with this name, as it is now, delete a class that stays because it is a superclass of another one?
/// Not as far as anybody knows if there is no such entry.
/// Logs of earlier versions have such modifies as successes (`keeps_superclasses`); they are replayed as they were answered.
#[inline]
pub(super) fn is_taken(writing: &mut Writing<'_, '_>, dn: &[u8], changes: &[Change<'_>]) -> bool {
    let class_type = Description::plain(writing.dsa.shard.schema().well_known().object_class);
    let takes = |change: &Change<'_>| {
        change.description == class_type && change.kind == ChangeKind::Delete && !change.values.is_empty()
    };
    changes.iter().any(takes) && !writing.scratch.keeps_superclasses && is_taken_from(writing, dn, changes)
}

/// Only for modifies that delete a class by name, which are rare.
#[cold]
fn is_taken_from(writing: &mut Writing<'_, '_>, dn: &[u8], changes: &[Change<'_>]) -> bool {
    let Some((id, true)) = writing.writer.nearest(dn) else { return false };
    let read_point = writing.writer.view();
    let entry = read_point.entry(id).expect("it was just found");
    is_taken_by(read_point, &entry, changes)
}

/// Worked out on sets of classes, without the store's edit.
fn is_taken_by(read_point: ReadPoint<'_>, entry: &EntryRef<'_>, changes: &[Change<'_>]) -> bool {
    let schema = read_point.shard().schema();
    let class_type = Description::plain(schema.well_known().object_class);
    let class = |value: &[u8]| schema.find_class(value);
    let mut classes: SmallVec<[ClassId; 8]> =
        entry.shape.class_values.iter().filter_map(|value| class(value)).collect();
    // The changes in their order: a class may be deleted and added again in one request.
    let mut deleted: SmallVec<[ClassId; 4]> = SmallVec::new();
    for Change { kind, values, .. } in changes.iter().filter(|change| change.description == class_type) {
        let named: SmallVec<[ClassId; 4]> = values.iter().filter_map(|value| class(value)).collect();
        match kind {
            ChangeKind::Delete if values.is_empty() => classes.clear(),
            ChangeKind::Delete => {
                classes.retain(|class| !named.contains(class));
                deleted.extend(named);
            }
            ChangeKind::Replace => classes = named.into_iter().collect(),
            ChangeKind::Add | ChangeKind::Increment => classes.extend(named),
        }
    }
    // What counts is the end of all changes.
    let stays = |gone: &ClassId| {
        !classes.contains(gone) && classes.iter().any(|class| schema.is_subclass(*class, *gone))
    };
    deleted.iter().any(stays)
}
