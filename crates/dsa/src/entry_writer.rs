//! From a stored entry to a SearchResultEntry. What is the same for all entries of a shape is made ready once, per
//! selection: a template of BER pieces. An entry is then a few copies.
//!
//! ```text
//! selection    view, typesOnly   and selectors of a request, looked up in the schema once          per thread, 64 of them
//! template     what entries of one shape show under one selection: constant bytes and places       made at first sight
//! entry        the template's pieces in order, with the values of the record between them          copies
//! ```
//! Everything here belongs to one thread and one shard: templates are found by the number that a shape has there. What an entry shows is
//! decided in a template, so access rules are asked once for a shape and not for each entry.

mod large;
pub(crate) mod matched;

pub(crate) use self::large::Large;
use self::large::{Part, SET_BYTES_AT_ONCE, put_message};
use crate::access::{OnValues, Own, Requester, ViewId, Views};
use crate::selection::{RequestedSelection, Selection};
use ::access::Right;
use model::Description;
use model::short::Short;
use proto::answer::{BARE_DN_MAX, MessageId, PIECE_MAX, put_bare_entry};
use proto::ber;
use proto::control::Control;
use proto::tag;
use schema::Schema;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;
use store::derived::Derived;
use store::record::{Inline, ValueSet};
use store::shape::Shape;
use store::values::SetPosition;
use store::{DnCache, EntryRef, ReadPoint, Values};

/// Selections remembered per thread.
/// Clients of one kind send one or two selections, so this is many kinds of clients.
const SELECTIONS_MAX: usize = 64;
/// Longer selections get none of those places, so the places have a bound in bytes.
/// A list of so many names is a client's own invention, and seldom comes again from another client.
const SELECTION_BYTES_MAX: usize = 4096;
/// Shapes numbered higher than this get no lasting template.
/// With all selections and shapes there may be this many times 64 templates; most are never made.
const TEMPLATES_MAX: usize = 1 << 16;
/// One attribute of a template.
/// In the order of the record's slots, so that one pass over the record fills all of them.
#[derive(Debug)]
enum Piece {
    /// The whole PartialAttribute, the same for all entries of the shape.
    Constant(Vec<u8>),
    /// Values from the record; `head` is the attribute description as an OCTET STRING. `single` is all of the
    /// PartialAttribute up to its only value, but for the lengths.
    Slot { position: u16, head: Vec<u8>, single: Vec<u8> },
    /// Worked out for each entry.
    Derived { what: Derived, head: Vec<u8> },
}

/// What entries of one shape look like under one selection.
/// It is right as long as schema and rules are, which is as long as the process runs.
#[derive(Debug)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    /// Attributes of which each value is decided by itself.
    judged: Vec<Judged>,
    types_only: bool,
}

/// An attribute of which each value is decided by itself.
#[derive(Debug)]
struct Judged {
    position: u16,
    /// The attribute description as an OCTET STRING.
    head: Vec<u8>,
    description: Description,
    /// Which of its values may be read.
    readable: Option<Arc<OnValues>>,
}

/// `by_shape` grows to the highest number that was met; a shape that is not met costs eight bytes.
struct Remembered {
    view: ViewId,
    types_only: bool,
    follows: bool,
    /// As sent.
    selectors: Vec<u8>,
    selection: Selection,
    by_shape: Vec<Option<Box<Template>>>,
}

/// The templates of one thread and one shard, and buffers for what they are filled with.
/// Buffers keep their memory from entry to entry.
#[derive(Default)]
pub(crate) struct Templates {
    made: Made,
    attributes: Vec<u8>,
    /// What the next entry shows besides.
    extra: Vec<u8>,
    /// The controls that it comes with, one behind the other.
    controls: Vec<u8>,
    dn: Vec<u8>,
    /// Values of an attribute of which each is decided by itself, and the normal form of one.
    values: [Vec<u8>; 2],
}

/// Templates by selection and shape.
/// Apart from the buffers of [`Templates`], so that a template can be borrowed while they are filled.
#[derive(Default)]
struct Made {
    remembered: Vec<Remembered>,
    /// The last selection that was too long to be remembered: a search has it for all of its entries.
    long: Option<Remembered>,
    /// The one that was used last: most requests ask like the one before.
    last: usize,
    next_to_forget: usize,
    forgotten: u64,
    /// For shapes and selections that are not remembered.
    passing: Option<Box<Template>>,
}

/// A selection that templates are made for.
/// It is an index and the means to find out that another selection has taken the place since. So a cached query template can keep it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    index: usize,
    /// Is it one that is remembered? If not, it is the long one, and `index` means nothing.
    kept: bool,
    /// How many selections had been forgotten by then.
    forgotten: u64,
}

/// A short answer that is put together before it goes to the out buffer.
pub(crate) type Answer = Short<{ 2 * PIECE_MAX }>;

impl Templates {
    /// Looks up what is asked for. Good for entries of the same shard until another selection is looked up; longer
    /// if [`Templates::holds`] says so.
    /// A comparison of bytes with the last selection, nearly always.
    #[inline]
    pub(crate) fn choose(&mut self, asked: RequestedSelection<'_>, schema: &Schema) -> Chosen {
        self.made.selection(asked, schema)
    }

    /// The entry that is written next shows these attributes besides its own, which are not stored. They are a list of PartialAttributes.
    /// An entry that is long keeps them in its first part; they come before what is stored, for the order means nothing.
    pub(crate) fn show_besides(&mut self, attributes: &[u8]) {
        self.extra.extend_from_slice(attributes);
    }

    /// What was looked up of a selection.
    #[inline]
    pub(crate) fn selection(&self, chosen: Chosen) -> Option<&Selection> {
        self.made.chosen(chosen).map(|chosen| &chosen.selection)
    }

    /// The entry that is written next comes with this control, too.
    pub(crate) fn bring(&mut self, control: Control<'_>) {
        control.encode(&mut self.controls);
    }

    /// Forgets all selections: definitions were added to the schema, and a name may mean something now.
    pub(crate) fn forget(&mut self) {
        let forgotten = self.made.forgotten + 1;
        self.made = Made { forgotten, ..Made::default() };
    }

    /// Is a selection still what it was?
    #[inline]
    pub(crate) fn holds(&self, chosen: Chosen) -> bool {
        chosen.kept && chosen.forgotten == self.made.forgotten
    }

    /// Appends the message of an entry that shows no attributes and has a short and plain DN. `false`, and nothing, if it
    /// is none of those. `name`: the one value that names it, if that is known and needs no escapes.
    /// For searches that ask whether an entry is there (`1.1`), or that find a DN to bind with. All of the message fits on the stack.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "what a hot step needs, borrowed from its owners")]
    pub(crate) fn write_bare(
        &mut self,
        out: &mut Answer,
        id: &MessageId,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        name: Option<&[u8]>,
        chosen: Chosen,
        views: &mut Views,
        cache: &mut DnCache,
    ) -> bool {
        let template = self.made.template(chosen, entry.shape, false, read_point.shard().schema(), views);
        if !template.pieces.is_empty() || !template.judged.is_empty() {
            return false;
        }
        // The value was compared with what the client sent, so the text of the name need not be looked up.
        let parts = match name {
            Some(name) => read_point.dn_with(entry, name, cache),
            None => read_point.dn_parts(entry, cache),
        };
        let Some(parts) = parts.filter(|parts| parts.len() <= BARE_DN_MAX) else { return false };
        // In one piece, with all lengths of one octet.
        put_bare_entry(out, id, parts.pieces());
        true
    }

    /// Appends the message of an entry. Of an entry with a big set of values, only the first part: the rest is
    /// returned and must follow before anything else.
    /// The length of a message stands before its contents, so attributes are put together in a buffer of the thread first. The DN is appended
    /// from the parts that the cache of names has.
    #[expect(clippy::too_many_arguments, reason = "what a hot step needs, borrowed from its owners")]
    pub(crate) fn write(
        &mut self,
        out: &mut Vec<u8>,
        message_id: i32,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        chosen: Chosen,
        (views, who): (&mut Views, Requester),
        cache: &mut DnCache,
        is_root_dse: bool,
    ) -> Option<Large> {
        let schema = read_point.shard().schema();
        let Templates { made, attributes, extra, controls, dn, values } = self;
        attributes.clear();
        // Nearly always there are none.
        attributes.append(extra);
        let view = made.view(chosen);
        let template = made.template_mut(chosen, entry.shape, is_root_dse, schema, views);
        // Most entries have no big set, and then there is nothing to be sent in parts.
        let mut large = None;
        template.fill(read_point, entry, cache, attributes, &mut large);
        if !template.judged.is_empty() {
            template.put_judged(entry, read_point, (views, who, view), cache, (values, attributes));
        }
        let parts = (dn, &attributes[..], controls);
        put_message(out, message_id, (read_point, entry), parts, large, cache, is_root_dse)
    }
}

impl Remembered {
    /// Nothing is worked out before the first entry: a search may find none.
    fn new(asked: RequestedSelection<'_>, schema: &Schema) -> Remembered {
        let selection = Selection::new(asked, schema);
        let RequestedSelection { selectors, types_only, follows, view } = asked;
        Remembered {
            view,
            types_only,
            follows,
            selectors: selectors.raw().to_vec(),
            selection,
            by_shape: Vec::new(),
        }
    }

    /// The key has every input of a selection, so equal keys have equal selections.
    #[inline]
    fn is_of(&self, asked: RequestedSelection<'_>) -> bool {
        self.view == asked.view
            && self.types_only == asked.types_only
            && self.follows == asked.follows
            && self.selectors == asked.selectors.raw()
    }
}

impl Made {
    /// No list is decoded to find out that a selection is the same.
    #[inline]
    fn selection(&mut self, asked: RequestedSelection<'_>, schema: &Schema) -> Chosen {
        if !self.remembered.get(self.last).is_some_and(|last| last.is_of(asked)) {
            if asked.selectors.raw().len() > SELECTION_BYTES_MAX {
                if !self.long.as_ref().is_some_and(|long| long.is_of(asked)) {
                    self.long = Some(Remembered::new(asked, schema));
                }
                return Chosen { index: 0, kept: false, forgotten: self.forgotten };
            }
            let found = self.remembered.iter().position(|kept| kept.is_of(asked));
            self.last = found.unwrap_or_else(|| self.remember(Remembered::new(asked, schema)));
        }
        Chosen { index: self.last, kept: true, forgotten: self.forgotten }
    }

    /// The place that a selection gets.
    fn remember(&mut self, fresh: Remembered) -> usize {
        if self.remembered.len() < SELECTIONS_MAX {
            self.remembered.push(fresh);
            return self.remembered.len() - 1;
        }
        assert!(
            self.remembered.len() == SELECTIONS_MAX,
            "a selection is forgotten when all places are taken"
        );
        // In turn, not by age: with more selections than places any order forgets too early.
        self.next_to_forget = (self.next_to_forget + 1) % SELECTIONS_MAX;
        self.remembered[self.next_to_forget] = fresh;
        self.forgotten += 1;
        self.next_to_forget
    }

    /// What is remembered of a selection.
    #[inline]
    fn chosen(&self, chosen: Chosen) -> Option<&Remembered> {
        if chosen.kept { self.remembered.get(chosen.index) } else { self.long.as_ref() }
    }

    /// The view that entries are written for.
    fn view(&self, chosen: Chosen) -> ViewId {
        self.chosen(chosen).map_or(ViewId::NONE, |chosen| chosen.view)
    }

    /// As [`Made::template_mut`], to be looked at.
    #[inline]
    fn template(
        &mut self,
        chosen: Chosen,
        shape: &Shape,
        is_root_dse: bool,
        schema: &Schema,
        views: &mut Views,
    ) -> &Template {
        self.template_mut(chosen, shape, is_root_dse, schema, views)
    }

    /// A client could make shapes without end; their numbers beyond the bound get a template for one entry at a time.
    #[inline]
    fn template_mut(
        &mut self,
        chosen: Chosen,
        shape: &Shape,
        is_root_dse: bool,
        schema: &Schema,
        views: &mut Views,
    ) -> &mut Template {
        // `chosen` was looked up in this thread and is still the same selection: its caller has asked.
        let remembered = if chosen.kept {
            &mut self.remembered[chosen.index]
        } else {
            self.long.as_mut().expect("the last long selection is kept until another long one comes")
        };
        let number = shape.number as usize;
        // One place for all of these: it is overwritten by the next.
        if !chosen.kept || number >= TEMPLATES_MAX {
            let made = Template::new(&remembered.selection, shape, is_root_dse, schema, views);
            return self.passing.insert(Box::new(made));
        }
        // Grows by doubling, to as many as there are shapes.
        if remembered.by_shape.len() <= number {
            remembered.by_shape.resize_with(number + 1, || None);
        }
        let selection = &remembered.selection;
        remembered.by_shape[number]
            .get_or_insert_with(|| Box::new(Template::new(selection, shape, is_root_dse, schema, views)))
    }
}

impl Template {
    fn new(
        selection: &Selection,
        shape: &Shape,
        is_root_dse: bool,
        schema: &Schema,
        views: &mut Views,
    ) -> Template {
        let mut pieces = Vec::new();
        let classes = Description::plain(schema.well_known().object_class);
        // Selection and access rules in one: what may not be read is not there for this client.
        let mut judged = Vec::new();
        // All entries of a shape have the same object classes, so they are constant bytes.
        if selection.includes(classes, is_root_dse, schema, views) && !shape.class_values.is_empty() {
            let mut bytes = Vec::new();
            let values = shape.class_values.iter().filter(|_| !selection.types_only).map(|value| &**value);
            proto::list::put_attribute(&mut bytes, schema.describe(classes).as_bytes(), values);
            pieces.push(Piece::Constant(bytes));
        }
        // As the schema spells the name (RFC 4511 section 4.5.2 lets a server choose).
        let head = |description| {
            let mut head = Vec::new();
            ber::put_octets(&mut head, schema.describe(description).as_bytes());
            head
        };
        for (position, slot) in shape.slots.iter().enumerate() {
            // What the root DSE is called inside is nobody's business: its DN is empty.
            let is_inner_name = is_root_dse && shape.naming.contains(&(position as u16));
            let is_judged = selection.judges(slot.description, schema, views);
            if is_judged && !is_inner_name {
                let (position, head, description) =
                    (position as u16, head(slot.description), slot.description);
                judged.push(Judged { position, head, description, readable: None });
            }
            if selection.includes(slot.description, is_root_dse, schema, views) && !is_inner_name {
                let head = head(slot.description);
                let mut single = vec![tag::SEQUENCE, 0];
                single.extend_from_slice(&head);
                single.extend_from_slice(&[tag::SET, 0, tag::OCTET_STRING, 0]);
                pieces.push(Piece::Slot { position: position as u16, head, single });
            }
        }
        // An entry may have an attribute of that name stored, which then counts.
        let optional = Derived::optional(schema).filter(|what| !what.is_of_dynamic() || shape.is_dynamic);
        for what in Derived::ALL.into_iter().chain(optional) {
            // Derived attributes have no options.
            let description = Description::plain(what.attribute_type(schema));
            let is_stored = shape.position(description).is_some();
            let is_asked = !what.must_be_named() || selection.is_named(description, schema);
            if !is_stored
                && !is_root_dse
                && is_asked
                && selection.includes(description, is_root_dse, schema, views)
            {
                pieces.push(Piece::Derived { what, head: head(description) });
            }
        }
        Template { pieces, judged, types_only: selection.types_only }
    }

    /// Appends the attributes of which rules decide value by value, with the values that may be read.
    /// Their length stands before them, so they are put together first: memory by what may be read, time by what is there.
    #[cold]
    fn put_judged(
        &mut self,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        (views, who, view): (&mut Views, Requester, ViewId),
        cache: &mut DnCache,
        ([found, form], out): (&mut [Vec<u8>; 2], &mut Vec<u8>),
    ) {
        let shard = read_point.shard();
        let mut own = None;
        for Judged { position, head, description, readable } in &mut self.judged {
            // Worked out for the first entry; a template is of one view.
            let readable =
                readable.get_or_insert_with(|| views.on_values(view, *description, Right::Read, shard));
            if own.is_none() && readable.asks_for_own() {
                own = Some(views.own_name(who, read_point, cache));
            }
            let own = own.as_ref().unwrap_or(&Own::Nobody);
            let may = |value: &[u8], form: &mut Vec<u8>| {
                readable.may(own, shard.schema(), *description, value, form)
            };
            let set = match entry.slot(usize::from(*position)) {
                // Few, and they stay where they are: they are copied once.
                Values::Inline(values) => {
                    let taken: SmallVec<[&[u8]; 32]> = values.filter(|value| may(value, form)).collect();
                    if !taken.is_empty() {
                        let len = taken.iter().map(|value| ber::tlv_len(value.len())).sum();
                        put_attribute_head(out, head, if self.types_only { 0 } else { len });
                        let shown = if self.types_only { &[][..] } else { &taken[..] };
                        shown.iter().for_each(|value| ber::put_octets(out, value));
                    }
                    continue;
                }
                Values::Set(set) => set,
            };
            found.clear();
            let mut take = |value: &[u8]| {
                let is_taken = may(value, form);
                if is_taken {
                    ber::put_octets(found, value);
                }
                is_taken
            };
            match readable.only(own, shard.schema(), *description) {
                // Of a million members the one that counts is looked up.
                Some(normal) => _ = read_point.find_in_set(&set, normal, take),
                None => {
                    let mut at = SetPosition::default();
                    while read_point.set_values(&set, &mut at, |value| _ = take(value)) {}
                }
            }
            // An attribute without a value that may be read is not there.
            if !found.is_empty() {
                let values = if self.types_only { &[] } else { &found[..] };
                put_attribute_head(out, head, values.len());
                out.extend_from_slice(values);
            }
        }
    }

    /// `out` has the attributes so far; a big set moves them into `large`, and what follows is appended to `out` from its beginning.
    #[inline]
    fn fill(
        &self,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        cache: &mut DnCache,
        out: &mut Vec<u8>,
        large: &mut Option<VecDeque<Part>>,
    ) {
        let mut slots = entry.slots();
        let mut next = 0;
        for piece in &self.pieces {
            match piece {
                Piece::Constant(bytes) => out.extend_from_slice(bytes),
                Piece::Slot { head, .. } if self.types_only => put_attribute_head(out, head, 0),
                Piece::Slot { position, head, single } => {
                    assert!(usize::from(*position) >= next, "pieces are in the order of the record");
                    let skip = usize::from(*position) - next;
                    next = usize::from(*position) + 1;
                    match slots.nth(skip).expect("the template is of this shape") {
                        Values::Inline(values) => put_inline(out, head, single, values),
                        // The only piece of which the rest may come later.
                        Values::Set(set) => put_set(read_point, set, head, out, large),
                    }
                }
                Piece::Derived { what, head } => {
                    // Few searches ask for derived attributes.
                    let mut value = Vec::new();
                    if read_point.derive(entry, *what, cache, &mut value) {
                        let len = if self.types_only { 0 } else { ber::tlv_len(value.len()) };
                        put_attribute_head(out, head, len);
                        if !self.types_only {
                            ber::put_octets(out, &value);
                        }
                    }
                }
            }
        }
    }
}

/// Appends everything of a PartialAttribute up to its values, which will take `values_len` bytes.
/// `head` is the description as an OCTET STRING, made with the template.
#[inline]
fn put_attribute_head(out: &mut Vec<u8>, head: &[u8], values_len: usize) {
    ber::put_header(out, tag::SEQUENCE, head.len() + ber::tlv_len(values_len));
    out.extend_from_slice(head);
    ber::put_header(out, tag::SET, values_len);
}

/// One value with short lengths, which is nearly all attributes, is a copy of bytes that were made ready and three lengths put in.
#[inline]
fn put_inline(out: &mut Vec<u8>, head: &[u8], single: &[u8], values: Inline<'_>) {
    if values.len() == 1 {
        let value = values.clone().next().unwrap_or_default();
        // The contents of the SEQUENCE, which take the largest of the three lengths.
        // Each of the three elements lies within it, so if its length has one octet theirs have.
        let contents = single.len() - 2 + value.len();
        if contents < 0x80 {
            assert!(value.len() < 0x80, "a length below 128 takes one octet");
            let start = out.len();
            out.extend_from_slice(single);
            let end = out.len();
            out[start + 1] = contents as u8;
            out[end - 3] = value.len() as u8 + 2;
            out[end - 1] = value.len() as u8;
            return out.extend_from_slice(value);
        }
    }
    let len = values.map(|value| ber::tlv_len(value.len())).sum();
    put_attribute_head(out, head, len);
    values.for_each(|value| ber::put_octets(out, value));
}

/// Up to a bound a set is written at once; a longer one is read leaf by leaf as the client takes it.
fn put_set(
    read_point: ReadPoint<'_>,
    set: ValueSet,
    head: &[u8],
    out: &mut Vec<u8>,
    large: &mut Option<VecDeque<Part>>,
) {
    put_attribute_head(out, head, set.ber_bytes as usize);
    let mut position = SetPosition::default();
    let begin = out.len();
    if set.ber_bytes <= SET_BYTES_AT_ONCE {
        while read_point.set_values(&set, &mut position, |value| ber::put_octets(out, value)) {}
        assert!(out.len() - begin == set.ber_bytes as usize, "a set is as long as the entry says");
        return;
    }
    // What was written so far comes before the set.
    let parts = large.get_or_insert_default();
    parts.push_back(Part::Bytes(std::mem::take(out)));
    parts.push_back(Part::Set(set, position));
}

#[cfg(test)]
mod tests;
