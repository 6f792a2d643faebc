//! Policies that hold for a part of the tree: subentries (RFC 3672) of class pwdPolicy. One is about the entries below its superior, as its
//! subtreeSpecification says. They are looked at at each bind and each change of a password, so what changes of one holds at once.

use super::entry::policy_of_entry;
use super::subject::{Subject, is_true};
use crate::access::each_value;
use crate::context::Reading;
use crate::password::policies::Policy;
use crate::subtree_specification::{self, Filter, SPECIFICATION, Subtree};
use model::EntryId;
use model::limits::POLICY_SUBENTRIES_MAX;
use store::{EntryRef, ReadPoint, Unresolved};

/// Where an account stands: an entry, and how many levels above it is the nearest one that is there.
#[derive(Clone, Copy)]
struct Place {
    nearest: EntryId,
    above: u32,
}

/// The policy of the nearest subentry that an account is among the entries of: of the lowest superior, there of the lowest base, there the first
/// that was added.
pub(super) fn policy_of_subentry(reading: &mut Reading<'_>, subject: Subject<'_, '_>) -> Option<Policy> {
    let read_point = reading.read_point;
    let all = read_point.subentries(POLICY_SUBENTRIES_MAX);
    if all.is_empty() {
        return None;
    }
    let place = place(reading, subject)?;
    let mut best: Option<((u32, u32, u64), Policy)> = None;
    for id in all {
        let Some(subentry) = read_point.entry(id) else { continue };
        let Some(distance) = levels(read_point, place, subentry.parent()) else { continue };
        // Others are subentries, too: of collective attributes, or of access rules elsewhere.
        let Some(policy) = policy_of_entry(read_point, &subentry) else { continue };
        let Some(below_base) = fits(reading, subject, place, &subentry) else { continue };
        // No two entries are created at the same stamp, so one of them is the nearest.
        let rank = (distance, below_base, subentry.stamps().created.0);
        if best.as_ref().is_none_or(|(found, _)| rank < *found) {
            best = Some((rank, policy));
        }
    }
    best.map(|(_, policy)| policy)
}

/// Where an account stands, or will.
fn place(reading: &mut Reading<'_>, subject: Subject<'_, '_>) -> Option<Place> {
    match subject {
        Subject::Entry(entry) => Some(Place { nearest: entry.id, above: 0 }),
        // If the nearest superior is not its own, the add fails.
        Subject::New(dn) => match reading.read_point.resolve(dn, &mut reading.scratch.evaluator.cache) {
            Ok(id) => Some(Place { nearest: id, above: 0 }),
            Err(Unresolved::NoSuchObject(Some(id))) => Some(Place { nearest: id, above: 1 }),
            Err(_) => None,
        },
    }
}

/// How many levels below an entry a place is, itself on none.
fn levels(read_point: ReadPoint<'_>, place: Place, above: EntryId) -> Option<u32> {
    let (mut id, mut count) = (place.nearest, place.above);
    while id != above {
        let parent = read_point.entry(id)?.parent();
        if parent.0 == 0 {
            return None;
        }
        (id, count) = (parent, count + 1);
    }
    Some(count)
}

/// Is an account among the entries of a subentry? How many levels below their base it is then.
/// What is no specification is about nothing: it was not looked at when it was written.
fn fits(
    reading: &mut Reading<'_>,
    subject: Subject<'_, '_>,
    place: Place,
    subentry: &EntryRef<'_>,
) -> Option<u32> {
    let read_point = reading.read_point;
    let id = read_point.shard().schema().find_type(SPECIFICATION.as_bytes())?;
    let mut specification = None;
    each_value(subentry, id, read_point, &mut |value| {
        specification = subtree_specification::parse(value).ok()
    });
    let subtree: Subtree = specification?;
    let superior = read_point.entry(subentry.parent())?;
    let superior_dn = read_point.dn(&superior, &mut reading.scratch.evaluator.cache);
    // A name is resolved and not compared, so its spelling is no matter; one that nobody has names nothing.
    let mut named = |names: &[&str]| {
        let names = names.iter().filter(|name| !name.is_empty()).map(|name| name.as_bytes());
        let dn = names.chain([&superior_dn[..]]).collect::<Vec<_>>().join(&b','.to_owned());
        read_point.resolve(&dn, &mut reading.scratch.evaluator.cache).ok()
    };
    let count = levels(read_point, place, named(&[&subtree.base])?)?;
    // What is cut off below a name that nobody has is nothing.
    let mut cut = |names: &[String], levels_min: u32| {
        let mut bases = names.iter().filter_map(|name| named(&[name, &subtree.base]));
        bases.any(|base| levels(read_point, place, base).is_some_and(|count| count >= levels_min))
    };
    if count < subtree.minimum
        || subtree.maximum.is_some_and(|maximum| count > maximum)
        || cut(&subtree.before, 0)
        || cut(&subtree.after, 1)
    {
        return None;
    }
    let is_meant = match (&subtree.filter, subject) {
        (None, _) => true,
        (Some(Filter::Classes(refinement)), Subject::Entry(entry)) => {
            let schema = read_point.shard().schema();
            refinement.is_true(&|class| {
                let asked = schema.find_class(class.as_bytes());
                let mut own = entry.shape.class_values.iter().filter_map(|name| schema.find_class(name));
                asked.is_some_and(|asked| own.any(|own| schema.is_subclass(own, asked)))
            })
        }
        (Some(Filter::Search(text)), Subject::Entry(entry)) => is_true(reading, entry, text),
        // As of rules of the settings: no filter is asked of an entry that is not there yet.
        (Some(_), Subject::New(_)) => false,
    };
    is_meant.then_some(count)
}
