//! The key that an entry is sorted by: bytes in the order that the client asked for.
//!
//! ```text
//! key         a component for each sort key, one behind the other
//! component   01, the normal form of the least value with 00 as 00 ff, 00 00;  or 02, if there is none
//! reversed    all octets of the component complemented
//! ```
//! So keys compare octet by octet: an absent value is larger than all others (RFC 2891 section 2.2), and no component is the beginning of another.
//!
//! A value that the requester may not read is absent here. Else the place of an entry in the list would tell what it is.

use super::super::query::Query;
use crate::access::{ClassId, Own, ViewId};
use crate::collective;
use crate::faults::holes;
use crate::worker::Scratch;
use ::access::Right;
use env::planted;
use model::{Description, EntryId, ResultCode, TypeId};
use proto::control::sort::SortKey;
use schema::{Rule, Schema, WantedOptions};
use store::derived::Derived;
use store::search::work;
use store::values::SetPosition;
use store::{EntryRef, ReadPoint, Values};

/// Units of looking for the values of a key in an entry.
/// The description of each slot is compared as well, which is counted beside it.
const LOOKED_FOR: u64 = 4;

/// The first octet of a component with a value.
const PRESENT: u8 = 1;
/// It is larger than the other: an absent value comes last.
const ABSENT: u8 = 2;

/// An attribute that entries are sorted by.
/// Looked up once for a search. As in a filter, a supertype has the values of its subtypes, and a name without options those of all options.
pub(super) struct SortedBy {
    attribute_type: TypeId,
    options: WantedOptions,
    rule: Rule,
    pub(super) reverse: bool,
    /// If values of it are worked out, where none is stored.
    derived: Option<Derived>,
}

/// Why entries cannot be sorted by a key: the code of RFC 2891, and the attribute.
type Refusal<'a> = (ResultCode, &'a [u8]);

/// What entries are sorted by.
///
/// # Errors
/// The first key that they cannot be sorted by.
pub(super) fn sorted_by<'a>(keys: &[SortKey<'a>], schema: &Schema) -> Result<Vec<SortedBy>, Refusal<'a>> {
    // They are few: the list of a request is bounded where it is decoded.
    let mut all: Vec<SortedBy> = Vec::with_capacity(keys.len());
    for key in keys {
        let by = SortedBy::new(key, schema).map_err(|code| (code, key.attribute))?;
        // RFC 2891 section 1.1: an attribute occurs once.
        if all.iter().any(|other| other.is_like(&by)) {
            return Err((ResultCode::UnwillingToPerform, key.attribute));
        }
        all.push(by);
    }
    Ok(all)
}

impl SortedBy {
    /// Looks a key up in the schema.
    /// What is in the schema is no secret, so an unknown name has a code of its own.
    ///
    /// # Errors
    /// With the code that RFC 2891 has for it.
    pub(super) fn new(key: &SortKey<'_>, schema: &Schema) -> Result<SortedBy, ResultCode> {
        let (attribute_type, options) =
            schema.find_wanted(key.attribute).ok_or(ResultCode::NoSuchAttribute)?;
        let rule = schema.order_of(schema.attribute_type(attribute_type), key.ordering_rule);
        let rule = rule.ok_or(ResultCode::InappropriateMatching)?;
        let derived = Derived::of(attribute_type, schema);
        Ok(SortedBy { attribute_type, options, rule, reverse: key.reverse, derived })
    }

    /// The type and rule of a key of values that are stored with any options.
    pub(super) fn plain(&self) -> Option<(TypeId, Rule)> {
        let is_plain = self.options.is_none() && self.derived.is_none();
        is_plain.then_some((self.attribute_type, self.rule))
    }

    /// Do collective attributes give values to it? Then no index has them all.
    pub(super) fn is_collected(&self, scratch: &mut Scratch, read_point: ReadPoint<'_>) -> bool {
        let schema = read_point.shard().schema();
        let all = scratch.views.collections(read_point, &mut scratch.evaluator.cache);
        all.is_some_and(|all| {
            let mut given = all.iter().flat_map(|collection| &collection.attributes);
            given.any(|description| self.is_of(*description, schema))
        })
    }

    /// Is it about the same attribute?
    /// A name and its alias are; the rule and the direction do not matter, for the second key would have nothing left to decide.
    pub(super) fn is_like(&self, other: &SortedBy) -> bool {
        (self.attribute_type, &self.options) == (other.attribute_type, &other.options)
    }

    /// The component of a value that a client names; `None` if the value is none of the rule.
    pub(super) fn component(&self, value: &[u8], schema: &Schema) -> Option<Vec<u8>> {
        let (mut normal, mut out) = (Vec::new(), Vec::new());
        self.rule.normalise_assertion(schema, value, &mut normal).ok()?;
        put_component(&mut out, Some(&normal), self.reverse);
        Some(out)
    }

    /// Does a stored attribute give values to this key?
    fn is_of(&self, description: Description, schema: &Schema) -> bool {
        schema.is_subtype(description.attribute_type, self.attribute_type)
            && schema.includes_options(description.options, &self.options)
    }
}

/// Appends the component of a value, or of none.
fn put_component(out: &mut Vec<u8>, normal: Option<&[u8]>, reverse: bool) {
    let begin = out.len();
    match normal {
        None => out.push(ABSENT),
        Some(normal) => {
            // Room for all of it, in nearly all values.
            out.reserve(normal.len() + 3);
            out.push(PRESENT);
            for part in normal.split_inclusive(|byte| *byte == 0) {
                out.extend_from_slice(part);
                if part.ends_with(&[0]) {
                    out.push(0xff);
                }
            }
            out.extend_from_slice(&[0, 0]);
        }
    }
    if reverse {
        out[begin..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The first eight octets of the value that a key begins with, as a number in the same order: what an ordering index has of it. `None` without a
/// value.
pub(super) fn prefix(key: &[u8], reverse: bool) -> Option<u64> {
    let mut octets = key.iter().map(|octet| if reverse { !octet } else { *octet });
    if octets.next() != Some(PRESENT) {
        return None;
    }
    let (mut word, mut len) = ([0; 8], 0);
    while let (Some(octet), true) = (octets.next(), len < 8) {
        // The end of the value. A shorter one counts as if zeros followed it.
        if octet == 0 && octets.next() != Some(0xff) {
            break;
        }
        word[len] = octet;
        len += 1;
    }
    Some(u64::from_be_bytes(word))
}

/// Makes keys of entries, one after the other. It owns its buffers, and where it stands in an entry that has too many values for one slice.
pub(super) struct KeyMaker {
    pub(super) by: Vec<SortedBy>,
    unfinished: Option<Unfinished>,
    /// The normal form of the value that is looked at.
    normal: Vec<u8>,
    /// For judging values.
    form: Vec<u8>,
}

/// How far the key of an entry has come.
/// It holds no borrow, for the search waits between two slices.
struct Unfinished {
    id: EntryId,
    /// What may be read is what this class of requesters may read.
    class: ClassId,
    key: Vec<u8>,
    /// The component that is being made.
    by: usize,
    /// The slot that is next for it, and where in its set.
    slot: usize,
    set: SetPosition,
    least: Option<Vec<u8>>,
}

impl KeyMaker {
    /// For these sort keys, the one that counts most first.
    pub(super) fn new(by: Vec<SortedBy>) -> KeyMaker {
        KeyMaker { by, unfinished: None, normal: Vec::new(), form: Vec::new() }
    }

    /// The key of an entry by what a view may read of it. `None` if that is more than the work that is left: call again with the same
    /// entry. An entry with a million values takes many slices.
    pub(super) fn key(
        &mut self,
        query: &Query<'_>,
        scratch: &mut Scratch,
        (entry, view): (&EntryRef<'_>, ViewId),
        work: &mut u64,
    ) -> Option<Vec<u8>> {
        // One that belongs to another entry is of a search for a place that ended before.
        let (id, class) = (entry.id, query.who.class);
        let mut at = match self.unfinished.take() {
            Some(unfinished) if (unfinished.id, unfinished.class) == (id, class) => unfinished,
            _ => Unfinished {
                id,
                class,
                key: Vec::new(),
                by: 0,
                slot: 0,
                set: SetPosition::default(),
                least: None,
            },
        };
        while at.by < self.by.len() {
            *work = work.saturating_sub(LOOKED_FOR + entry.shape.slots.len() as u64 / 2);
            if !self.least(query, scratch, (entry, view), &mut at, work) {
                self.unfinished = Some(at);
                return None;
            }
            if query.read_point.shard().has_collective() && !query.base.is_system {
                self.least_collected(query, scratch, (entry, view), &mut at, work);
            }
            put_component(&mut at.key, at.least.take().as_deref(), self.by[at.by].reverse);
            (at.by, at.slot) = (at.by + 1, 0);
        }
        Some(at.key)
    }

    /// Collective attributes count as if the entry stored them, by the same two questions. They are few, and are looked at in one go.
    #[cold]
    fn least_collected(
        &mut self,
        query: &Query<'_>,
        scratch: &mut Scratch,
        (entry, view): (&EntryRef<'_>, ViewId),
        at: &mut Unfinished,
        work: &mut u64,
    ) {
        let (by, read_point, schema) = (&self.by[at.by], query.read_point, query.read_point.shard().schema());
        let Some(all) = scratch.views.collections(read_point, &mut scratch.evaluator.cache) else { return };
        let mut wanted = collective::attributes(&all, read_point);
        wanted.retain(|description| {
            by.is_of(*description, schema)
                && scratch.views.on_attribute(view, *description, schema).some.has(Right::Read)
        });
        // The key is of other attributes: nearly all sort keys are.
        if wanted.is_empty() {
            return;
        }
        // What may be read of some values only is judged value by value, and of those alone that would be the least.
        for (description, values) in collective::shown(&all, &wanted, entry, read_point) {
            let every = scratch.views.on_attribute(view, description, schema).every.has(Right::Read);
            for value in values {
                *work = work.saturating_sub(work::of_value(&value));
                self.normal.clear();
                if by.rule.normalise_value(schema, &value, &mut self.normal).is_ok()
                    && at.least.as_ref().is_none_or(|least| self.normal < *least)
                    && (every || scratch.may_read_value((query.who, view), description, &value, read_point))
                {
                    std::mem::swap(at.least.get_or_insert_default(), &mut self.normal);
                }
            }
        }
    }

    /// Finds the least value of a component. `false` if there is more to look at.
    fn least(
        &mut self,
        query: &Query<'_>,
        scratch: &mut Scratch,
        (entry, view): (&EntryRef<'_>, ViewId),
        at: &mut Unfinished,
        work: &mut u64,
    ) -> bool {
        let KeyMaker { by, normal, form, .. } = self;
        let (by, read_point) = (&by[at.by], query.read_point);
        let (shard, schema) = (read_point.shard(), read_point.shard().schema());
        let (_, cache, views) = scratch.writer(query.base.is_system);
        // The same two questions that decide whether an attribute is shown, so the order tells what the entry would, and no more.
        let every = |views: &mut crate::access::Views, description| {
            let on = views.on_attribute(view, description, schema);
            (on.every.has(Right::Read) || planted::is(holes::SORTED_BY_HIDDEN), on.some.has(Right::Read))
        };
        // After a pause it goes on with the slot that it was paused in, and with what was the least by then.
        let mut is_stored = false;
        while let Some(slot) = entry.shape.slots.get(at.slot) {
            let description = slot.description;
            is_stored |= description.attribute_type == by.attribute_type;
            let (all, some) = match by.is_of(description, schema) {
                true => every(views, description),
                false => (false, false),
            };
            if all || some {
                let judge = (!all).then(|| views.on_values(view, description, Right::Read, shard));
                // The requester's name is looked up only where a rule compares it with values.
                let own = match judge.as_ref().is_some_and(|judge| judge.asks_for_own()) {
                    true => views.own_name(query.who, read_point, cache),
                    false => Own::Nobody,
                };
                let least = &mut at.least;
                let mut take = |value: &[u8], work: &mut u64| {
                    *work = work.saturating_sub(work::of_value(value));
                    let may = |form: &mut Vec<u8>| {
                        judge.as_ref().is_none_or(|judge| judge.may(&own, schema, description, value, form))
                    };
                    // A value of a subtype may have no normal form by this rule: it is passed over.
                    // Whether it may be read is asked last, of those few that would be the least so far.
                    normal.clear();
                    if by.rule.normalise_value(schema, value, normal).is_ok()
                        && least.as_ref().is_none_or(|least| &*normal < least)
                        && may(form)
                    {
                        std::mem::swap(least.get_or_insert_default(), normal);
                    }
                };
                match entry.slot(at.slot) {
                    Values::Inline(values) => values.for_each(|value| take(value, work)),
                    // A leaf at a time, so that it comes further with each call however little work is left.
                    Values::Set(set) => {
                        while read_point.set_values(&set, &mut at.set, |value| take(value, work)) {
                            if *work == 0 {
                                return false;
                            }
                        }
                        at.set = SetPosition::default();
                    }
                }
            }
            at.slot += 1;
        }
        // A stored value takes the place of the one that would be worked out.
        if let Some(derived) = by.derived
            && !(is_stored
                || entry.shape.slots.iter().any(|s| s.description.attribute_type == by.attribute_type))
            && every(views, Description::plain(by.attribute_type)).0
        {
            let mut value = Vec::new();
            normal.clear();
            if read_point.derive(entry, derived, cache, &mut value)
                && by.rule.normalise_value(schema, &value, normal).is_ok()
            {
                at.least = Some(std::mem::take(normal));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Components are in the order of their values, whatever octets these have, and absent ones come last.
    #[test]
    fn components_compare_as_values_do() {
        let values: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\0\x01", b"\x01", b"a", b"a\0b", b"\xff\xff"];
        let component = |value: Option<&[u8]>, reverse| {
            let mut out = Vec::new();
            put_component(&mut out, value, reverse);
            // What follows must not matter.
            [out.clone(), [&out[..], b"\xff"].concat()]
        };
        for reverse in [false, true] {
            let mut all: Vec<_> = values.iter().map(|value| component(Some(value), reverse)).collect();
            all.push(component(None, reverse));
            for (left, right) in (0..all.len()).flat_map(|l| (l + 1..all.len()).map(move |r| (l, r))) {
                for (a, b) in all[left].iter().flat_map(|a| all[right].iter().map(move |b| (a, b))) {
                    assert_eq!(a < b, !reverse, "{a:x?} {b:x?}");
                }
            }
        }
    }
}
