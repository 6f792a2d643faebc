//! Dereference control: with each entry that a search finds come attributes of the
//! entries that it names.
//!
//! An entry that is named is read as the requester could read it by a search for it.
//! One that it could not read brings nothing, and so does a name that no entry has:
//! the answers are the same, octet by octet. A name is that of a value which the
//! requester may read.
//!
//! What an entry brings is put together before it is written. That may take longer
//! than a slice, so it stops between two names. An entry for which there would be
//! more than the bounds allow is returned without the control, as it is specified of
//! one to which the control cannot be applied in its entirety.

use crate::access::{Action, OnValues, Own, Requester, ViewId};
use crate::entry_writer::matched::Matching;
use crate::faults::holes;
use crate::worker::Scratch;
use ::access::{Operation, Right};
use env::planted;
use model::limits::{DEREFERENCE_BYTES_MAX, DEREFERENCE_VALUES_MAX};
use model::{Description, EntryId};
use proto::control::dereference::{DerefSpec, put_result};
use proto::{ber, tag};
use schema::{Schema, Syntax};
use std::sync::Arc;
use store::derived::Derived;
use store::values::SetPosition;
use store::{EntryRef, ReadPoint, Values};

/// Units of finding the entry of a name, beside its bytes: the normal form, the
/// look-up, and the view of the entry.
const NAME: u64 = 64;
/// Units of an attribute of such an entry, beside its values.
const ATTRIBUTE: u64 = 8;
/// Bytes of values that are copied for a unit.
const BYTES: usize = 16;

/// What a search dereferences. It is owned by the search and holds no borrow, so that
/// it can wait between two slices.
pub(crate) struct Dereferencing {
    specs: Vec<Spec>,
    /// Are referral objects entries as others?
    manage_dsa_it: bool,
    brought: Brought,
}

/// As they were sent: what they mean is looked up for each entry, for a set of
/// options may get another id while a search waits.
struct Spec {
    attribute: Vec<u8>,
    attributes: Vec<Vec<u8>>,
}

/// What one entry brings. Names are copied before the first is looked up: the place
/// in a set would have to be found again after each pause.
#[derive(Default)]
struct Brought {
    of: Option<EntryId>,
    /// Attributes that name entries, and what is wanted of these.
    wanted: Vec<(Description, Vec<Description>)>,
    /// Names, and by which of these attributes.
    names: Vec<(usize, Vec<u8>)>,
    /// How many of them are done.
    done: usize,
    results: Vec<u8>,
    /// There is more than may be brought.
    is_too_much: bool,
}

impl Dereferencing {
    /// By these attributes. `None` if the control cannot be used and need not be. A
    /// supertype is no attribute of its own here: what counts is the syntax of the
    /// type that is named.
    ///
    /// # Errors
    /// Why it cannot be understood, or used.
    pub(crate) fn new(
        (specs, is_critical): &(Vec<DerefSpec<'_>>, bool),
        manage_dsa_it: bool,
        schema: &Schema,
    ) -> Result<Option<Dereferencing>, &'static str> {
        let mut known = Vec::new();
        for spec in specs {
            let wanted = schema.find_wanted(spec.attribute);
            match wanted.filter(|(id, _)| schema.attribute_type(*id).syntax == Syntax::Dn) {
                Some(wanted) if known.contains(&wanted) => {
                    return Err("an attribute to dereference is named twice");
                }
                Some(wanted) => known.push(wanted),
                None if *is_critical => return Err("only attributes whose values are DNs are dereferenced"),
                None => return Ok(None),
            }
        }
        // The request is gone when the search goes on.
        let owned = |spec: &DerefSpec<'_>| Spec {
            attribute: spec.attribute.to_vec(),
            attributes: spec.attributes.iter().map(<[u8]>::to_vec).collect(),
        };
        let specs = specs.iter().map(owned).collect();
        Ok(Some(Dereferencing { specs, manage_dsa_it, brought: Brought::default() }))
    }

    /// Bytes that it holds while its search is suspended, or may hold before that
    /// goes on.
    pub(crate) fn heap_bytes(&self) -> usize {
        let of = |spec: &Spec| spec.attribute.len() + spec.attributes.iter().map(Vec::len).sum::<usize>();
        self.specs.iter().map(of).sum::<usize>() + 2 * DEREFERENCE_BYTES_MAX
    }

    /// The value of the control of the entry that was looked at last; none if there
    /// is nothing to say. An entry without names has no control. Nor has one of which
    /// there is too much: a part of it would look like all.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let brought = std::mem::take(&mut self.brought);
        (!brought.is_too_much && !brought.results.is_empty())
            .then(|| ber::sequence(|out| out.extend_from_slice(&brought.results)))
    }

    /// Forgets what was put together: it is put together anew.
    pub(crate) fn forget(&mut self) {
        self.brought = Brought::default();
    }

    /// Puts together what an entry brings, from where it was paused. `false` if the
    /// work is used up. `matching`: values that the search does not return name
    /// nothing.
    pub(crate) fn prepare(
        &mut self,
        scratch: &mut Scratch,
        (read_point, entry): (ReadPoint<'_>, &EntryRef<'_>),
        (who, view): (Requester, ViewId),
        mut matching: Option<&mut Matching>,
        work: &mut u64,
    ) -> bool {
        let schema = read_point.shard().schema();
        if self.brought.of != Some(entry.id) {
            self.brought = Brought { of: Some(entry.id), ..Brought::default() };
            self.look_up(schema, work);
            self.collect(scratch, (read_point, entry), (who, view), work);
        }
        let Brought { wanted, names, done, results, is_too_much, .. } = &mut self.brought;
        // It comes on by a name at least.
        let mut is_first = true;
        let (mut found, mut form) = (Vec::new(), Vec::new());
        while let Some((at, name)) = names.get(*done).filter(|_| !*is_too_much) {
            if *work == 0 && !is_first {
                return false;
            }
            is_first = false;
            let (description, attributes) = &wanted[*at];
            // A name is no longer than a DN may be, so the items are compared with it
            // in one go.
            let is_returned = matching.as_mut().is_none_or(|matching| {
                let any = matching.on(read_point, *description, work);
                let (mut item, mut units) = (0, u64::MAX);
                let is_returned = any.go_on(schema, name, &mut form, &mut item, &mut units) == Some(true);
                *work = work.saturating_sub(u64::MAX - units);
                is_returned
            });
            if is_returned {
                found.clear();
                *work = work.saturating_sub(NAME + (name.len() / BYTES) as u64);
                // What is no DN, or of no entry, is as what may not be read.
                let target = read_point.resolve(name, &mut scratch.evaluator.cache).ok();
                let target = target.and_then(|id| read_point.entry(id));
                let target = target.filter(|target| self.manage_dsa_it || !is_elsewhere(read_point, target));
                if let Some(target) = target {
                    *is_too_much |= !put_attributes(
                        scratch,
                        (read_point, &target),
                        who,
                        attributes,
                        (&mut found, &mut *work),
                    );
                }
                put_result(results, schema.describe(*description).as_bytes(), name, &found);
                *is_too_much |= results.len() > DEREFERENCE_BYTES_MAX;
            }
            *done += 1;
        }
        true
    }

    /// What is not known, or what no entry has, brings nothing. As in the list of a
    /// search, a name that the schema does not have is no error: clients ask servers
    /// of many schemas.
    fn look_up(&mut self, schema: &Schema, work: &mut u64) {
        for spec in &self.specs {
            *work = work.saturating_sub(1 + spec.attributes.len() as u64);
            let Some(description) = schema.find_description(&spec.attribute) else { continue };
            let names = spec.attributes.iter();
            let mut attributes: Vec<Description> =
                names.filter_map(|name| schema.find_description(name)).collect();
            // Each once, in the order in which they were asked for.
            let mut seen = Vec::new();
            attributes.retain(|description| {
                let is_new = !seen.contains(description);
                seen.push(*description);
                is_new
            });
            self.brought.wanted.push((description, attributes));
        }
    }

    /// The names that the entry has in values that may be read. Whether the search
    /// returns the attribute does not matter: what may be read may be named.
    fn collect(
        &mut self,
        scratch: &mut Scratch,
        (read_point, entry): (ReadPoint<'_>, &EntryRef<'_>),
        (who, view): (Requester, ViewId),
        work: &mut u64,
    ) {
        let Brought { wanted, names, is_too_much, .. } = &mut self.brought;
        let mut bytes = 0;
        for (at, (description, _)) in wanted.iter().enumerate() {
            let mut each = |value: &[u8]| {
                bytes += value.len();
                names.push((at, value.to_vec()));
                names.len() <= DEREFERENCE_VALUES_MAX && bytes <= DEREFERENCE_BYTES_MAX
            };
            if !each_readable(scratch, (read_point, entry), (who, view), *description, &mut each) {
                *is_too_much = true;
                return;
            }
            *work = work.saturating_sub(ATTRIBUTE);
        }
        *work = work.saturating_sub((bytes / BYTES) as u64);
    }
}

/// Is an entry, or the part of the tree that it is in, another server's? A search for
/// it would bring a referral.
fn is_elsewhere(read_point: ReadPoint<'_>, entry: &EntryRef<'_>) -> bool {
    read_point.shard().has_referrals() && read_point.referral_above(entry.id).is_some()
}

/// Appends what a requester may read of the attributes of an entry, if a search for
/// it would bring the entry. `false` if that is too much.
///
/// Three rights make an entry one that a base search brings: to know of it, to search
/// it, and to read it. Each of them missing has the same outcome, and so has an entry
/// without any of the attributes.
fn put_attributes(
    scratch: &mut Scratch,
    (read_point, target): (ReadPoint<'_>, &EntryRef<'_>),
    who: Requester,
    attributes: &[Description],
    (found, work): (&mut Vec<u8>, &mut u64),
) -> bool {
    let view = scratch.view(who, Action::of(Operation::Search), target, read_point);
    let may_read = scratch.views.may_return(view) && scratch.views.may(view, Right::Search);
    if !may_read && !planted::is(holes::DEREFERENCED_HIDDEN) {
        return true;
    }
    let schema = read_point.shard().schema();
    let mut values = Vec::new();
    for description in attributes {
        values.clear();
        let mut each = |value: &[u8]| {
            ber::put_octets(&mut values, value);
            values.len() <= DEREFERENCE_BYTES_MAX
        };
        if !each_readable(scratch, (read_point, target), (who, view), *description, &mut each) {
            return false;
        }
        *work = work.saturating_sub(ATTRIBUTE + (values.len() / BYTES) as u64);
        // Specified so: an attribute without values is left out.
        if !values.is_empty() {
            let mark = ber::begin(found, tag::SEQUENCE);
            ber::put_octets(found, schema.describe(*description).as_bytes());
            ber::put_tlv(found, tag::SET, &values);
            ber::end(found, mark);
        }
    }
    true
}

/// Hands each value of an attribute that may be read to `each`, until that says that
/// it is enough. `false` if it did, or if there are too many. The attribute is the
/// one described and no subtype of it: they are taken for unrelated (section 2.1).
///
/// Of a large set of which some values may not be read only the requester's own name
/// is looked for: that there are too many must not tell that there are others.
fn each_readable(
    scratch: &mut Scratch,
    (read_point, entry): (ReadPoint<'_>, &EntryRef<'_>),
    (who, view): (Requester, ViewId),
    description: Description,
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> bool {
    let (shard, schema) = (read_point.shard(), read_point.shard().schema());
    let cache = &mut scratch.evaluator.cache;
    let on = scratch.views.on_attribute(view, description, schema);
    let is_hidden = !on.some.has(Right::Read) && !on.every.has(Right::Read);
    if is_hidden && !planted::is(holes::DEREFERENCED_HIDDEN) {
        return true;
    }
    let readable = (!on.every.has(Right::Read) && !is_hidden).then(|| {
        let readable: Arc<OnValues> = scratch.views.on_values(view, description, Right::Read, shard);
        let own = match readable.asks_for_own() {
            true => scratch.views.own_name(who, read_point, cache),
            false => Own::Nobody,
        };
        (readable, own)
    });
    let mut form = Vec::new();
    let mut may = |value: &[u8]| {
        readable
            .as_ref()
            .is_none_or(|(readable, own)| readable.may(own, schema, description, value, &mut form))
    };
    let classes = Description::plain(schema.well_known().object_class);
    if description == classes {
        return entry.shape.class_values.iter().all(|value| !may(value) || each(value));
    }
    let Some(position) = entry.shape.position(description) else {
        let derived = Derived::of(description.attribute_type, schema)
            .filter(|what| description == Description::plain(what.attribute_type(schema)));
        let mut value = Vec::new();
        let is_there = derived.is_some_and(|what| read_point.derive(entry, what, cache, &mut value));
        return !is_there || !may(&value) || each(&value);
    };
    match entry.slot(position) {
        // The record of an entry has a bound, so these are few.
        Values::Inline(mut values) => values.all(|value| !may(value) || each(value)),
        Values::Set(set) if set.count as usize > DEREFERENCE_VALUES_MAX => match &readable {
            // All of them may be read, so that there are too many is no secret.
            None => false,
            Some((readable, own)) => match readable.only(own, schema, description) {
                Some(normal) => read_point.find_in_set(&set, normal, &mut may).is_none_or(each),
                None => true,
            },
        },
        Values::Set(set) => {
            let (mut position, mut has_room) = (SetPosition::default(), true);
            while read_point
                .set_values(&set, &mut position, |value| has_room = has_room && (!may(value) || each(value)))
                && has_room
            {}
            has_room
        }
    }
}
