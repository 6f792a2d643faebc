//! What refers to an entry follows it when it is deleted or gets another name, in the same
//! batch and with the same stamp ([`crate::constraints`]).
//!
//! All that can refuse a change of an entry that refers to it is found out before the update,
//! by trying the change: a judge that has the last word refuses each. Behind the update there
//! is no way back.

use crate::constraints::{Reference, Referring};
use crate::context::Writing;
use crate::faults::holes;
use crate::outcome;
use env::planted;
use model::{EntryId, TypeId};
use smallvec::smallvec;
use store::{Change, ChangeKind, DnCache, Judge, Made, Modify, ReadPoint, Refused, Stamp};

/// Room for the next version of an entry. What is big of it is a set, which stays where it is.
const HOLDER_BYTES: usize = 16 << 10;

/// Finds what refers to the entry that an update deletes, or renames to `new_dn`, and whether
/// it can follow.
///
/// # Errors
/// The refusal of the update.
pub(super) fn plan(
    writing: &mut Writing<'_, '_>,
    dn: &[u8],
    new_dn: Option<&[u8]>,
) -> Result<Referring, Refused> {
    // Without constraints nothing refers to anything.
    let Some(judging) = writing.judging else { return Ok(Referring::default()) };
    let referring = judging.references(dn, new_dn.is_some(), writing.writer.view())?;
    if referring.holders.is_empty() {
        return Ok(referring);
    }
    // Whatever the names are going to be: what is tried is whether there may be one value less,
    // or another.
    let stamp = Stamp { csn: writing.writer.last_csn(), actor: writing.actor };
    for (holder, references) in &referring.holders {
        let tried = change(writing, EntryId(*holder), references, (new_dn, stamp), Some(&Trying));
        match tried {
            Err(Refused::ConditionFailed) | Ok(_) => {}
            Err(refused @ Refused::MemoryLimit { .. }) => return Err(refused),
            Err(_) => return Err(cannot_follow(writing, EntryId(*holder), references, new_dn.is_some())),
        }
    }
    writing.writer.grant(referring.holders.len() * HOLDER_BYTES)?;
    Ok(referring)
}

/// Neither which entry refers to it nor with which value: the client may not see that.
#[cold]
fn cannot_follow(
    writing: &Writing<'_, '_>,
    holder: EntryId,
    references: &[Reference],
    is_rename: bool,
) -> Refused {
    let Some(Reference { constraint, description, .. }) = references.first() else {
        return Refused::ConditionFailed;
    };
    let attribute = writing.dsa.shard.schema().attribute_type(description.attribute_type).name();
    let what = if is_rename { "cannot have another" } else { "would lose its last" };
    let text = format!("constraint {constraint}: an entry that refers to it {what} {attribute}");
    let view = writing.writer.view();
    let entry = view.entry(holder).filter(|_| planted::is(holes::CONSTRAINT_SHOWS_REFERRING));
    Refused::Constraint(match entry {
        Some(entry) => {
            format!("{text}: {}", outcome::quoted(&view.dn(&entry, &mut DnCache::default())))
        }
        None => text,
    })
}

/// The update was done: what refers to its entry follows.
pub(super) fn follow(writing: &mut Writing<'_, '_>, referring: &Referring, stamp: Stamp, is_rename: bool) {
    for (holder, references) in &referring.holders {
        let now = is_rename.then_some(&b""[..]);
        match change(writing, EntryId(*holder), references, (now, stamp), None) {
            Ok(id) => {
                if let Some(judging) = writing.judging {
                    judging.note_changed(id);
                }
            }
            // It was tried, and there was room for it. What still lacks memory stops the log.
            Err(refused) => {
                writing.scratch.lacked_memory |= matches!(refused, Refused::MemoryLimit { .. });
            }
        }
    }
}

/// Changes the values of one entry: each goes, and where the entry that it named has another
/// name, that comes. It is one modify for each entry, however many of its values change: a
/// group of which many members are renamed is written once.
fn change(
    writing: &mut Writing<'_, '_>,
    holder: EntryId,
    references: &[Reference],
    (renamed, stamp): (Option<&[u8]>, Stamp),
    judge: Option<&dyn Judge>,
) -> Result<EntryId, Refused> {
    let Some(judging) = writing.judging else { return Err(Refused::ConditionFailed) };
    let view = writing.writer.view();
    let names: Vec<Option<Vec<u8>>> = references
        .iter()
        .map(|reference| match renamed {
            // Before the rename any other name will do.
            Some(new_dn) if judge.is_some() => Some(new_dn.to_vec()),
            Some(_) => Some(judging.dn(reference.target, view)),
            None => reference.nothing.clone(),
        })
        .collect();
    let mut changes = Vec::new();
    for (reference, name) in references.iter().zip(&names) {
        let Reference { description, was, .. } = reference;
        let one = |kind, value| Change { kind, description: *description, values: smallvec![value] };
        // The last value first goes when the next is there: an attribute without values would
        // be none in between.
        changes.push(one(ChangeKind::Delete, &was[..]));
        changes.extend(name.as_ref().map(|name| one(ChangeKind::Add, &name[..])));
    }
    let dn = judging.dn(holder, view);
    let modify = Modify {
        dn: &dn,
        changes: &changes,
        keep_operational: false,
        is_permissive: true,
        is_relaxed: false,
        known: None,
    };
    let done = writing.writer.modify_judged(modify, stamp, judge)?;
    let given =
        references.iter().zip(&names).filter_map(|(reference, name)| Some((reference, name.as_ref()?)));
    for (Reference { description, .. }, name) in given {
        judging.note_value(holder, description.attribute_type, name);
    }
    Ok(done)
}

/// Lets nothing happen of what is tried. It is asked when the schema has had its say, and
/// before anything is written. What is refused for another reason comes back as that.
struct Trying;

impl Judge for Trying {
    fn concerns(&self, _: TypeId) -> bool {
        true
    }

    fn judge(&self, _: &Made<'_>, _: ReadPoint<'_>) -> Result<(), Refused> {
        Err(Refused::ConditionFailed)
    }
}
