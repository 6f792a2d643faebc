//! The record of an entry: what the heap holds under the entry's id.
//!
//! ```text
//! flags    16 modified   32 the creator has a name   64 the RDN is spelled otherwise than its attributes' values
//!          (the heap's flags; its own are below 16)
//! payload  u24 shape | u32 parent | u64 create CSN
//!          [u64 modify CSN | u24 modifier]      if modified
//!          [u24 creator]                        if the creator has a name
//!          per slot of the shape:
//!            One   length | value               length: u8, or 255 and u24
//!            Many  u16 count | (length | value)*
//!            Set   u32 root | u32 count | u64 bytes of the values as BER octet strings
//!          per naming attribute of the shape:   if the RDN is spelled otherwise
//!            length | value                       as it was sent
//! ```
//!
//! A record is never changed: a change of the entry writes another, so a reader borrows values for as long as it pins. It is
//! written by the store alone and read without checks of its bounds beyond Rust's own; one that comes from a file goes
//! through [`EntryRef::checked`] first. What lies before the values has a fixed place, so that superior and time are read
//! without the shape, and a new version is begun without moving the values.

pub(crate) use crate::length::{one_values, push_value, value_len};

use crate::length::{checked_value, split_value};
use crate::segment::SHORT_HEADER;
use crate::shape::{Form, Shape, Shapes};
use model::{Csn, Description, EntryId, TypeId, short};

/// The entry was changed after it was added.
pub(crate) const MODIFIED: u8 = 16;
/// The record tells who added the entry; else it was the initial owner.
pub(crate) const CREATOR: u8 = 32;
/// The naming values as they were sent stand behind the slots; else the RDN is spelled as the values of its attributes.
pub(crate) const SPELLED: u8 = 64;

/// Bytes that every record begins with: shape, superior, create CSN.
pub(crate) const FIXED: usize = 3 + 4 + 8;
/// Bytes of the time and the name of a modification.
const MODIFIED_BYTES: usize = 8 + 3;
/// Bytes that [`EntryRef::begin_next`] makes.
pub(crate) const NEXT_BYTES: usize = FIXED + MODIFIED_BYTES;
/// Bytes of a `Set` slot in the record.
const SET_BYTES: usize = 4 + 4 + 8;
/// Numbers of shapes and names are below this: a record has three bytes for each.
const NUMBERS_END: u32 = 1 << 24;

/// Who and when, of one entry. Names are numbers in the shard's table; 0 is the initial owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When it was added.
    pub created: Csn,
    /// Who added it.
    pub creator: u32,
    /// When it was last changed, if ever, and by whom.
    pub modified: Option<(Csn, u32)>,
}

/// A big value set, kept in a tree beside the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// The node that the tree begins with. It keeps its id while the tree changes, so the record is written anew for the counts
    /// only.
    pub(crate) root: u32,
    /// Number of values.
    pub count: u32,
    /// Bytes that the values take as BER octet strings.
    pub ber_bytes: u64,
}

/// The values of one attribute of a stored entry.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// Values in the record.
    Inline(Inline<'a>),
    /// Values in a tree; [`crate::shard::ReadPoint::set_values`] iterates over them.
    Set(ValueSet),
}

/// Values that lie one behind the other: each with its length before it.
#[derive(Clone, Copy, Debug)]
pub struct Inline<'a> {
    /// Values that are left. Of a `Many` slot `bytes` goes on behind the last of them, with what follows in the record.
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Iterator for Inline<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.count = self.count.checked_sub(1)?;
        let (value, rest) = split_value(self.bytes);
        self.bytes = rest;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count as usize, Some(self.count as usize))
    }
}

impl ExactSizeIterator for Inline<'_> {}

/// A stored entry at a read point.
#[derive(Clone, Copy)]
pub struct EntryRef<'a> {
    /// Its id.
    pub id: EntryId,
    /// Its shape.
    pub shape: &'a Shape,
    /// The payload's flags, with the heap's among them.
    flags: u8,
    payload: &'a [u8],
}

impl<'a> EntryRef<'a> {
    /// An entry of a record that the store wrote or has checked. What it relies on is looked at as it is read, and no earlier:
    /// most lookups want one value.
    #[inline]
    pub(crate) fn new(id: u32, flags: u8, payload: &'a [u8], shapes: &'a Shapes) -> EntryRef<'a> {
        assert!(payload.len() >= FIXED, "a record has a beginning");
        let shape = shapes.at(u32::from_le_bytes([payload[0], payload[1], payload[2], 0]));
        EntryRef { id: EntryId(id), shape, flags, payload }
    }

    /// A stored entry whose bytes are not trusted: all that the other functions rely on is looked at, but for the
    /// trees of its sets. `names` is the number of names.
    ///
    /// A restore calls it for every record of its files.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn checked(
        id: u32,
        flags: u8,
        payload: &'a [u8],
        shapes: &'a Shapes,
        names: usize,
    ) -> Result<EntryRef<'a>, &'static str> {
        if payload.len() < values_at(flags) {
            return Err("a record is cut off");
        }
        let number = u32::from_le_bytes([payload[0], payload[1], payload[2], 0]);
        let shape = shapes.find(number).ok_or("a record has a shape that does not exist")?;
        let entry = EntryRef { id: EntryId(id), shape, flags, payload };
        let stamps = entry.stamps();
        if stamps.creator.max(stamps.modified.map_or(0, |(_, name)| name)) as usize >= names {
            return Err("a record has a name that does not exist");
        }
        let mut rest = &payload[values_at(flags)..];
        for (at, slot) in shape.slots.iter().enumerate() {
            let is_naming = shape.naming.contains(&(at as u16));
            rest = checked_slot(slot.form, rest, is_naming).ok_or("the values of a record are cut off")?;
        }
        if flags & SPELLED != 0 {
            for _ in &shape.naming {
                rest = checked_value(rest).ok_or("the name of a record is cut off")?;
            }
        }
        if rest.is_empty() { Ok(entry) } else { Err("a record is longer than its values") }
    }

    /// The superior's id in the bytes of a record, if they are long enough.
    pub(crate) fn parent_in(payload: &[u8]) -> Option<u32> {
        Some(u32::from_le_bytes(payload.get(3..7)?.try_into().expect("four bytes")))
    }

    /// The superior's id; 0 for the root of a naming context.
    #[inline]
    pub fn parent(&self) -> EntryId {
        EntryId(u32::from_le_bytes(self.payload[3..7].try_into().expect("four bytes")))
    }

    /// Bytes of the record.
    pub(crate) fn len(&self) -> usize {
        self.payload.len()
    }

    /// The record.
    #[inline]
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Who and when.
    pub fn stamps(&self) -> Stamps {
        let created = Csn(self.u64_at(7));
        let modified =
            (self.flags & MODIFIED != 0).then(|| (Csn(self.u64_at(FIXED)), self.u24_at(FIXED + 8)));
        let creator_at = FIXED + if modified.is_some() { 11 } else { 0 };
        let creator = if self.flags & CREATOR != 0 { self.u24_at(creator_at) } else { 0 };
        Stamps { created, creator, modified }
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.payload[at..at + 8].try_into().expect("eight bytes"))
    }

    fn u24_at(&self, at: usize) -> u32 {
        u32::from_le_bytes([self.payload[at], self.payload[at + 1], self.payload[at + 2], 0])
    }

    /// All values, slot by slot in the order of the shape.
    #[inline]
    pub fn slots(&self) -> impl Iterator<Item = Values<'a>> + use<'a> {
        let mut rest = self.slots_from(0);
        self.shape.slots.iter().map(move |slot| {
            let (values, next) = read_slot(slot.form, rest);
            rest = next;
            values
        })
    }

    /// The bytes of each slot as they lie in the record.
    pub(crate) fn raw_slots(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.slots_from(0);
        self.shape.slots.iter().map(move |slot| {
            let (_, next) = read_slot(slot.form, rest);
            let raw = &rest[..rest.len() - next.len()];
            rest = next;
            raw
        })
    }

    /// The naming values as they were sent, as they lie in the record; empty if the values of their attributes are spelled so.
    #[inline]
    pub(crate) fn raw_spelling(&self) -> &'a [u8] {
        if self.flags & SPELLED == 0 { &[] } else { self.behind_slots() }
    }

    /// What lies behind the values: all slots are passed over, which few names need.
    #[cold]
    fn behind_slots(&self) -> &'a [u8] {
        self.slots_from(self.shape.slots.len())
    }

    /// The record from the slot at a position of the shape on.
    #[inline(always)]
    fn slots_from(&self, position: usize) -> &'a [u8] {
        let mut rest = &self.payload[values_at(self.flags)..];
        // A loop: the fold of an iterator is a call, which costs more than the few slots before a name.
        for slot in &self.shape.slots[..position] {
            rest = skip_slot(slot.form, rest);
        }
        rest
    }

    /// Where the value of a slot with one value lies in the record, its length included: what a prepared write cuts out of the
    /// version before.
    #[inline]
    pub(crate) fn one_range(&self, position: usize) -> std::ops::Range<usize> {
        assert!(self.shape.slots[position].form == Form::One, "the slot has one value");
        let rest = self.slots_from(position);
        let end = skip_slot(Form::One, rest);
        self.payload.len() - rest.len()..self.payload.len() - end.len()
    }

    /// The beginning of the record of the next version, and how many bytes of this one are used up by it: what comes
    /// after them stays as it is. Who changes the entry and when is not reported yet, see [`set_modified`].
    #[inline]
    pub(crate) fn begin_next(&self) -> ([u8; NEXT_BYTES], usize, u8) {
        // Creator and spelling, if the record has them, lie behind what is replaced and keep their flags.
        let mut begin = [0; NEXT_BYTES];
        let fixed: &[u8; FIXED] = self.payload.first_chunk().expect("a record has a beginning");
        *begin.first_chunk_mut().expect("it is longer") = *fixed;
        let used = FIXED + if self.flags & MODIFIED != 0 { MODIFIED_BYTES } else { 0 };
        assert!(used <= self.payload.len(), "a record that was modified has the time of it");
        (begin, used, self.flags & (CREATOR | SPELLED) | MODIFIED)
    }

    /// The values of the slot at a position of the shape.
    #[inline]
    pub fn slot(&self, position: usize) -> Values<'a> {
        self.slots().nth(position).expect("a position of the shape")
    }

    /// Is this, byte by byte, a value of the attribute without options that lies in the record? `false` of a value in a tree, too:
    /// it spares the matching rule where it says yes, and decides nothing where it says no.
    #[inline]
    pub fn has_value(&self, attribute_type: TypeId, value: &[u8]) -> bool {
        let Some(at) = self.shape.position(Description::plain(attribute_type)) else { return false };
        match read_slot(self.shape.slots[at].form, self.slots_from(at)).0 {
            Values::Inline(mut values) => values.any(|own| short::equal(own, value)),
            Values::Set(_) => false,
        }
    }

    /// The one distinguished value as it was sent, if it is `raw`, byte by byte, and of this attribute type.
    #[inline(always)]
    pub fn spelled_name(&self, attribute_type: TypeId, raw: &[u8]) -> Option<&'a [u8]> {
        let &[at] = &self.shape.naming[..] else { return None };
        if self.shape.slots[at as usize].description.attribute_type != attribute_type {
            return None;
        }
        let value = self.name_at(at as usize);
        short::equal(value, raw).then_some(value)
    }

    /// The distinguished value as it was sent, of the only attribute that names the entry.
    #[inline(always)]
    fn name_at(&self, at: usize) -> &'a [u8] {
        match self.flags & SPELLED {
            0 => self.first_value(at),
            _ => split_value(self.behind_slots()).0,
        }
    }

    /// The distinguished value as it was sent, with its attribute's position in the shape, if it is the only one.
    #[inline(always)]
    pub fn only_name(&self) -> Option<(usize, &'a [u8])> {
        let &[at] = &self.shape.naming[..] else { return None };
        Some((usize::from(at), self.name_at(usize::from(at))))
    }

    /// The distinguished values as they were sent, with their attributes' positions in the shape. Each matches the first value
    /// of its attribute.
    #[inline]
    pub fn naming(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a, '_> {
        let mut spelled = one_values(self.raw_spelling());
        self.shape.naming.iter().map(move |&at| {
            let at = usize::from(at);
            (at, spelled.next().unwrap_or_else(|| self.first_value(at)))
        })
    }

    /// The first value of a slot that is not a set.
    #[inline(always)]
    fn first_value(&self, position: usize) -> &'a [u8] {
        let rest = self.slots_from(position);
        match self.shape.slots[position].form {
            Form::One => split_value(rest).0,
            Form::Many => split_value(&rest[2..]).0,
            Form::Set => unreachable!("a naming attribute is never kept as a set"),
        }
    }
}

/// Where values begin in a record with these flags.
#[inline]
fn values_at(flags: u8) -> usize {
    FIXED + if flags & MODIFIED != 0 { 11 } else { 0 } + if flags & CREATOR != 0 { 3 } else { 0 }
}

/// What is behind a slot, if the slot is whole. An attribute that names the entry must have a first value.
fn checked_slot(form: Form, bytes: &[u8], is_naming: bool) -> Option<&[u8]> {
    match form {
        Form::One => checked_value(bytes),
        Form::Many => {
            let count = u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]);
            if count == 0 && is_naming {
                return None;
            }
            (0..count).try_fold(&bytes[2..], |rest, _| checked_value(rest))
        }
        Form::Set => bytes.get(SET_BYTES..),
    }
}

/// What is behind a slot of a record.
#[inline(always)]
fn skip_slot(form: Form, bytes: &[u8]) -> &[u8] {
    match form {
        Form::One => split_value(bytes).1,
        Form::Many => {
            let count = u16::from_le_bytes([bytes[0], bytes[1]]);
            (0..count).fold(&bytes[2..], |rest, _| split_value(rest).1)
        }
        Form::Set => &bytes[SET_BYTES..],
    }
}

/// The values of a slot of a record, and what is behind it. Of a `Many` slot all values are passed over to find that, so a
/// caller that wants no more than one slot pays for those before it.
#[inline]
fn read_slot(form: Form, bytes: &[u8]) -> (Values<'_>, &[u8]) {
    match form {
        Form::One => {
            let (value, rest) = split_value(bytes);
            let used = &bytes[..bytes.len() - rest.len()];
            debug_assert!(used.len() > value.len());
            (Values::Inline(Inline { count: 1, bytes: used }), rest)
        }
        Form::Many => {
            let count = u16::from_le_bytes([bytes[0], bytes[1]]);
            (Values::Inline(Inline { count, bytes: &bytes[2..] }), skip_slot(form, bytes))
        }
        Form::Set => {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
            let ber_bytes = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
            (Values::Set(ValueSet { root: word(0), count: word(4), ber_bytes }), &bytes[SET_BYTES..])
        }
    }
}

/// Puts what a record of an entry begins with that the initial owner added and nobody changed behind the room for its header.
/// Values follow. Its flags are 0.
#[inline]
pub(crate) fn begin_new(front: &mut [u8; SHORT_HEADER + FIXED], shape: u32, parent: u32, created: Csn) {
    assert!(shape < NUMBERS_END, "SHAPES_MAX bounds the numbers of shapes");
    let [s0, s1, s2, _] = shape.to_le_bytes();
    let [p0, p1, p2, p3] = parent.to_le_bytes();
    let [c0, c1, c2, c3, c4, c5, c6, c7] = created.0.to_le_bytes();
    *front.last_chunk_mut().expect("it is longer") =
        [s0, s1, s2, p0, p1, p2, p3, c0, c1, c2, c3, c4, c5, c6, c7];
}

/// Begins a record; returns the flags. Values follow, slot by slot: one [`push_value`], a [`push_count`] and values, or a
/// [`push_set`] for each, in the order of the shape; then [`end`].
pub(crate) fn begin(out: &mut Vec<u8>, shape: u32, parent: u32, stamps: &Stamps) -> u8 {
    assert!(shape < NUMBERS_END, "SHAPES_MAX bounds the numbers of shapes");
    out.clear();
    out.extend_from_slice(&shape.to_le_bytes()[..3]);
    out.extend_from_slice(&parent.to_le_bytes());
    out.extend_from_slice(&stamps.created.0.to_le_bytes());
    let mut flags = 0;
    if let Some((csn, modifier)) = stamps.modified {
        assert!(modifier < NUMBERS_END, "NAMES_MAX bounds the numbers of names");
        flags |= MODIFIED;
        out.extend_from_slice(&csn.0.to_le_bytes());
        out.extend_from_slice(&modifier.to_le_bytes()[..3]);
    }
    if stamps.creator != 0 {
        assert!(stamps.creator < NUMBERS_END, "NAMES_MAX bounds the numbers of names");
        flags |= CREATOR;
        out.extend_from_slice(&stamps.creator.to_le_bytes()[..3]);
    }
    flags
}

/// Ends a record with the naming values as they were sent, each as [`push_value`] appends it; without any if the values of their
/// attributes are spelled so. Returns the flags that tell.
#[inline]
pub(crate) fn end(out: &mut Vec<u8>, spelling: &[u8]) -> u8 {
    out.extend_from_slice(spelling);
    if spelling.is_empty() { 0 } else { SPELLED }
}

/// Tells in a record that [`EntryRef::begin_next`] began when and by whom the entry is changed.
#[inline]
pub(crate) fn set_modified(record: &mut [u8], csn: Csn, modifier: u32) {
    assert!(modifier < NUMBERS_END, "NAMES_MAX bounds the numbers of names");
    let [c0, c1, c2, c3, c4, c5, c6, c7] = csn.0.to_le_bytes();
    let [m0, m1, m2, _] = modifier.to_le_bytes();
    let modified: &mut [u8; MODIFIED_BYTES] =
        record[FIXED..].first_chunk_mut().expect("the record was begun");
    *modified = [c0, c1, c2, c3, c4, c5, c6, c7, m0, m1, m2];
}

/// Appends the count of a `Many` slot.
pub(crate) fn push_count(out: &mut Vec<u8>, count: usize) {
    assert!(count <= usize::from(u16::MAX), "an attribute with more values is a set, or is refused");
    out.extend_from_slice(&(count as u16).to_le_bytes());
}

/// Appends a `Set` slot.
pub(crate) fn push_set(out: &mut Vec<u8>, set: &ValueSet) {
    assert!(set.root != 0, "a set has a tree");
    out.extend_from_slice(&set.root.to_le_bytes());
    out.extend_from_slice(&set.count.to_le_bytes());
    out.extend_from_slice(&set.ber_bytes.to_le_bytes());
}

/// Bytes of a value as a BER octet string. Of a set their sum is kept, since the length of an answer stands before the values.
pub(crate) fn ber_octets(len: usize) -> u64 {
    let header = match len {
        0..0x80 => 2,
        0x80..0x100 => 3,
        0x100..0x1_0000 => 4,
        0x1_0000..0x100_0000 => 5,
        _ => 6,
    };
    (header + len) as u64
}
