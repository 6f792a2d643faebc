//! The attributes of an entry with those of their values alone that a client wants to
//! have (RFC 3876): matched values.
//!
//! They are put together before the entry is written, value by value, for the length
//! of an attribute stands before its values. That may take long, since one attribute
//! may have a million values; so it stops between two comparisons and goes on in the
//! next slice. A value of a large set that is asked for by equality is looked up, and
//! a large set of which all is wanted is not walked through here.
//!
//! Rights come as in any search from the template: what may not be read is absent,
//! whether it matches or not. The control only takes away, so who may read a value
//! needs no right to test it. An attribute of which values may be read, and none is
//! taken, is there without values.

use super::large::{Large, Part, put_message};
use super::{Judged, Piece, RequestedSelection, Template, Templates, put_attribute_head, put_set};
use crate::access::{OnValues, Own, Requester, ViewId, Views};
use crate::faults::holes;
use ::access::Right;
use env::planted;
use model::limits::MATCHED_VALUES_BYTES_MAX;
use model::{Description, Filter};
use proto::ber;
use proto::list::Octets;
use schema::Schema;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use store::record::ValueSet;
use store::search::work::COMPILED_ITEM;
use store::search::{AnyOf, ValuesFilter};
use store::values::SetPosition;
use store::{DnCache, EntryRef, ReadPoint, Shard, Values};

/// Attributes that the items are kept for. An entry with more of them makes the items
/// ready again for each entry, which is paid.
const KNOWN_MAX: usize = 64;
/// Units of an attribute, beside its values: the piece of the template, and the head
/// that is copied.
const ATTRIBUTE: u64 = 4;
/// Units of asking whether a value may be read: a few rules, each of which compares
/// it with a name or a filter.
const JUDGED: u64 = 8;

/// What became of the values of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chose {
    /// They are ready to be written.
    All,
    /// The work is used up: it goes on with the same entry.
    Paused,
    /// There are more than may wait in memory.
    TooMuch,
}

/// The items of a search, and the entry whose values are compared with them. It is
/// owned by the search and holds no borrow, so that it can wait between two slices.
/// All of it is bounded: the items by the decoder of the control, what is known of
/// attributes by their number, and the values that wait by their bytes.
pub(crate) struct Matching {
    filter: ValuesFilter,
    known: Vec<(Description, Arc<AnyOf>)>,
    gathered: Gathered,
}

/// What is put together of an entry. The attributes that are done are one piece of
/// bytes, but for large sets that are returned whole: of these the place is kept.
#[derive(Default)]
struct Gathered {
    /// That of the schema when it was begun. Attributes are counted as the template
    /// has them, which is another when the schema has grown.
    generation: u64,
    attributes: Vec<u8>,
    large: Option<VecDeque<Part>>,
    /// Attributes of the template that are done.
    done: usize,
    at: At,
    /// Values of the attribute that is next, as they are sent.
    found: Vec<u8>,
}

/// A place among the values of an attribute. Values of a set come in the order of its
/// tree, and those of a record in their own; at one read point neither changes.
#[derive(Default)]
struct At {
    /// Of a set: behind the leaves that were walked through.
    leaf: SetPosition,
    /// Values that were compared: of the attribute, or of the leaf that is next.
    values: usize,
    /// Items that the next one was compared with.
    item: usize,
    /// Was a value met that may be read?
    is_readable: bool,
    /// Are all values that are wanted found? Then it only matters whether another may
    /// be read.
    is_found: bool,
    /// Has a walk through a set begun?
    is_walked: bool,
}

/// What values are compared with. Buffers and work are those of the thread and of the
/// slice: it is made anew for each attribute.
struct Comparing<'c> {
    schema: &'c Schema,
    description: Description,
    any: &'c AnyOf,
    /// Which values may be read, if not all of them.
    readable: Option<(&'c OnValues, &'c Own)>,
    form: &'c mut Vec<u8>,
    work: &'c mut u64,
}

impl Matching {
    /// By these items. `None` if the control has no effect: of a search that wants no
    /// values (RFC 3876 section 2).
    pub(crate) fn new(
        items: &[Filter<'_>],
        (selectors, types_only): (Octets<'_>, bool),
        shard: &Shard,
    ) -> Option<Matching> {
        let mut names = selectors.iter();
        let is_bare = names.next() == Some(&b"1.1"[..]) && names.next().is_none();
        (!types_only && !is_bare).then(|| Matching {
            filter: ValuesFilter::new(items, shard),
            known: Vec::new(),
            gathered: Gathered::default(),
        })
    }

    /// Forgets what was put together: another entry comes.
    pub(crate) fn forget(&mut self) {
        self.gathered = Gathered::default();
    }

    /// Bytes that it holds while its search is suspended, or may hold before that
    /// goes on.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.filter.heap_bytes() + self.gathered.attributes.len() + MATCHED_VALUES_BYTES_MAX
    }

    /// The items that are about an attribute. An item is looked at for each of them
    /// once, and not for each entry: entries of a search have the same few
    /// attributes.
    pub(crate) fn on(
        &mut self,
        read_point: ReadPoint<'_>,
        description: Description,
        work: &mut u64,
    ) -> Arc<AnyOf> {
        if let Some((_, known)) = self.known.iter().find(|(of, _)| *of == description) {
            return Arc::clone(known);
        }
        if self.known.len() == KNOWN_MAX {
            self.known.clear();
        }
        *work = work.saturating_sub(self.filter.len() as u64 * COMPILED_ITEM);
        let made = Arc::new(self.filter.on(read_point, description));
        self.known.push((description, Arc::clone(&made)));
        made
    }

    /// Leaves those of the values that are wanted, of an attribute that no entry
    /// stores. `false` if the work is used up before all are compared.
    pub(crate) fn retain(
        &mut self,
        read_point: ReadPoint<'_>,
        description: Description,
        values: &mut Vec<&[u8]>,
        work: &mut u64,
    ) -> bool {
        let any = self.on(read_point, description, work);
        let (schema, mut form, mut is_all) = (read_point.shard().schema(), Vec::new(), true);
        values.retain(|value| {
            let is_wanted = any.go_on(schema, value, &mut form, &mut 0, work);
            is_all &= is_wanted.is_some();
            is_wanted == Some(true)
        });
        is_all
    }
}

impl Templates {
    /// Compares the values of an entry with the items, from where it was paused. The
    /// template is that of a search without the control, so the same attributes are
    /// there, and the same are judged value by value. What it has ready beside their
    /// names is not used: its pieces stay as they are for other searches.
    #[cold]
    pub(crate) fn choose_values(
        &mut self,
        matching: &mut Matching,
        (asked, who): (RequestedSelection<'_>, Requester),
        (read_point, entry): (ReadPoint<'_>, &EntryRef<'_>),
        (views, cache): (&mut Views, &mut DnCache),
        is_root_dse: bool,
        work: &mut u64,
    ) -> Chose {
        let schema = read_point.shard().schema();
        if matching.gathered.generation != schema.generation() {
            matching.gathered = Gathered { generation: schema.generation(), ..Gathered::default() };
        }
        // It comes on by a value at least.
        *work = (*work).max(1);
        let chosen = self.choose(asked, schema);
        let template = self.made.template_mut(chosen, entry.shape, is_root_dse, schema, views);
        let form = &mut self.values[1];
        while let Some(chose) = template.choose_of(
            matching,
            (read_point, entry),
            (views, who, asked.view),
            cache,
            (&mut *form, &mut *work),
        ) {
            if chose != Chose::All {
                return chose;
            }
            *work = work.saturating_sub(ATTRIBUTE);
            matching.gathered.done += 1;
            matching.gathered.at = At::default();
            if *work == 0 {
                return Chose::Paused;
            }
        }
        Chose::All
    }

    /// Appends the message of an entry whose values were chosen.
    /// What it shows besides was compared with the items where that was put together.
    #[cold]
    pub(crate) fn write_chosen(
        &mut self,
        out: &mut Vec<u8>,
        message_id: i32,
        (read_point, entry): (ReadPoint<'_>, &EntryRef<'_>),
        matching: &mut Matching,
        cache: &mut DnCache,
        is_root_dse: bool,
    ) -> Option<Large> {
        let Gathered { mut attributes, large, .. } = std::mem::take(&mut matching.gathered);
        attributes.append(&mut self.extra);
        let parts = (&mut self.dn, &attributes[..], &mut self.controls);
        put_message(out, message_id, (read_point, entry), parts, large, cache, is_root_dse)
    }
}

impl Template {
    /// Chooses values of the attribute that is next. `None` if there is none left.
    /// First come those of which all values may be read, then those of which each is
    /// decided by itself.
    fn choose_of(
        &mut self,
        matching: &mut Matching,
        (read_point, entry): (ReadPoint<'_>, &EntryRef<'_>),
        (views, who, view): (&mut Views, Requester, ViewId),
        cache: &mut DnCache,
        (form, work): (&mut Vec<u8>, &mut u64),
    ) -> Option<Chose> {
        let shard = read_point.shard();
        let schema = shard.schema();
        let number = matching.gathered.done;
        let mut value = Vec::new();
        let mut judged = None;
        let (description, head, values) = match self.pieces.get(number) {
            // Constant bytes have all classes, and are of no use here.
            Some(Piece::Constant(_)) => {
                let description = Description::plain(schema.well_known().object_class);
                let mut head = Vec::new();
                ber::put_octets(&mut head, schema.describe(description).as_bytes());
                (description, Cow::Owned(head), Compared::Classes)
            }
            Some(Piece::Slot { position, head, .. }) => {
                let position = usize::from(*position);
                let description = entry.shape.slots[position].description;
                (description, Cow::Borrowed(&head[..]), Compared::Stored(entry.slot(position)))
            }
            Some(Piece::Derived { what, head }) => {
                // Made up again in each slice, which is little beside a pause.
                if !read_point.derive(entry, *what, cache, &mut value) {
                    return Some(Chose::All);
                }
                let description = Description::plain(what.attribute_type(schema));
                (description, Cow::Borrowed(&head[..]), Compared::Derived(&value))
            }
            None => {
                let Judged { position, head, description, readable } =
                    self.judged.get_mut(number - self.pieces.len())?;
                // Worked out for the first entry, as where all values are written.
                let readable =
                    readable.get_or_insert_with(|| views.on_values(view, *description, Right::Read, shard));
                let own = match readable.asks_for_own() {
                    true => views.own_name(who, read_point, cache),
                    false => Own::Nobody,
                };
                judged = Some((&**readable, own));
                let values = entry.slot(usize::from(*position));
                (*description, Cow::Borrowed(&head[..]), Compared::Stored(values))
            }
        };
        let any = matching.on(read_point, description, work);
        let Gathered { attributes, large, at, found, .. } = &mut matching.gathered;
        let readable = judged.as_ref().map(|(readable, own)| (*readable, own));
        let mut comparing = Comparing { schema, description, any: &any, readable, form, work };
        let is_done = match values {
            Compared::Classes => {
                comparing.each(at, found, entry.shape.class_values.iter().map(|value| &**value))
            }
            Compared::Derived(value) => comparing.each(at, found, std::iter::once(value)),
            Compared::Stored(Values::Inline(values)) => comparing.each(at, found, values),
            Compared::Stored(Values::Set(set)) => match readable {
                // All of it, leaf by leaf as the client takes it.
                None if any.takes_all() => {
                    put_set(read_point, set, &head, attributes, large);
                    return Some(Chose::All);
                }
                _ => comparing.each_of_set(at, found, (read_point, &set)),
            },
        };
        if found.len() > MATCHED_VALUES_BYTES_MAX && matches!(values, Compared::Stored(Values::Set(_))) {
            return Some(Chose::TooMuch);
        }
        if !is_done {
            return Some(Chose::Paused);
        }
        // RFC 3876 section 2: "an attribute that has no values selected is returned
        // with an empty set of values". One without a value that may be read is
        // absent.
        if readable.is_none() || at.is_readable {
            put_attribute_head(attributes, &head, found.len());
            attributes.append(found);
        }
        found.clear();
        Some(Chose::All)
    }
}

/// What values come from.
#[derive(Clone, Copy)]
enum Compared<'v> {
    /// The object classes, which are those of all entries of the shape.
    Classes,
    Stored(Values<'v>),
    Derived(&'v [u8]),
}

impl Comparing<'_> {
    /// May a value be read?
    fn may(&mut self, value: &[u8]) -> bool {
        let Some((readable, own)) = self.readable else { return true };
        *self.work = self.work.saturating_sub(JUDGED);
        planted::is(holes::MATCHED_UNREADABLE)
            || readable.may(own, self.schema, self.description, value, self.form)
    }

    /// Appends a value to those that are found, if it is one. `false` if the work is
    /// used up: it was not looked at to its end.
    fn take(&mut self, at: &mut At, found: &mut Vec<u8>, value: &[u8]) -> bool {
        if *self.work == 0 {
            return false;
        }
        // After a look-up all that is wanted is known.
        let is_wanted = match at.is_found {
            true => Some(false),
            false => self.any.go_on(self.schema, value, self.form, &mut at.item, self.work),
        };
        let Some(is_wanted) = is_wanted else { return false };
        // Whether another may be read is asked until there is one.
        if is_wanted || (self.readable.is_some() && !at.is_readable) {
            let is_readable = self.may(value);
            at.is_readable |= is_readable;
            if is_wanted && is_readable {
                ber::put_octets(found, value);
            }
        }
        true
    }

    /// Compares the values that were not compared yet. `false` if it was paused.
    fn each<'v>(&mut self, at: &mut At, found: &mut Vec<u8>, values: impl Iterator<Item = &'v [u8]>) -> bool {
        for value in values.skip(at.values) {
            if !self.take(at, found, value) {
                return false;
            }
            at.values += 1;
        }
        true
    }

    /// As [`Comparing::each`], of a set that may be large. A leaf at a time, so that
    /// nothing of the tree is borrowed at a pause; within a leaf the values are
    /// counted.
    fn each_of_set(
        &mut self,
        at: &mut At,
        found: &mut Vec<u8>,
        (read_point, set): (ReadPoint<'_>, &ValueSet),
    ) -> bool {
        if !at.is_found && !at.is_walked && self.look_up(at, found, (read_point, set)) {
            return true;
        }
        at.is_walked = true;
        loop {
            let (mut leaf, mut number, mut is_paused) = (at.leaf.clone(), 0, false);
            let more = read_point.set_values(set, &mut leaf, |value| {
                if !is_paused && number >= at.values {
                    is_paused = !self.take(at, found, value);
                    at.values += usize::from(!is_paused);
                }
                number += 1;
            });
            if is_paused {
                return false;
            }
            (at.leaf, at.values) = (leaf, 0);
            // One value that may be read is enough to know that the attribute is
            // there.
            let is_decided = at.is_found && at.is_readable;
            if !more || is_decided || found.len() > MATCHED_VALUES_BYTES_MAX {
                return true;
            }
        }
    }

    /// Looks up what need not be looked for. `true` if nothing is left to be known of
    /// the set.
    ///
    /// A value that is found and may not be read is as one that is not there: both
    /// are looked up, and both leave the attribute to what else may be read of it. So
    /// asking for a name is the same work whether it is in a list or not.
    fn look_up(
        &mut self,
        at: &mut At,
        found: &mut Vec<u8>,
        (read_point, set): (ReadPoint<'_>, &ValueSet),
    ) -> bool {
        let mut values: Vec<Vec<u8>> = Vec::new();
        if self.any.find_in(read_point, set, self.form, self.work, |value| values.push(value.to_vec())) {
            for value in &values {
                if self.may(value) {
                    at.is_readable = true;
                    ber::put_octets(found, value);
                }
            }
            at.is_found = true;
        }
        // Where all values may be read, nothing else is asked.
        let Some((readable, own)) = self.readable else { return at.is_found };
        if at.is_found && at.is_readable {
            return true;
        }
        // Of a million members one counts.
        let Some(normal) = readable.only(own, self.schema, self.description) else { return false };
        let (schema, description) = (self.schema, self.description);
        let is_it = |value: &[u8]| readable.may(own, schema, description, value, self.form);
        if let Some(value) = read_point.find_in_set(set, normal, is_it) {
            at.is_readable = true;
            // One value, however long: it does not pay to pause at it.
            let mut work = u64::MAX;
            if !at.is_found && self.any.go_on(schema, value, self.form, &mut 0, &mut work) == Some(true) {
                ber::put_octets(found, value);
            }
            *self.work = self.work.saturating_sub(u64::MAX - work);
        }
        true
    }
}
