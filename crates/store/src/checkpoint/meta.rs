//! The meta of a checkpoint, to the byte: docs/formats/segment.md. Types and classes are written by name, since their
//! numbers depend on the schema that a server was started with.

use super::{Checkpoint, SLOT_BYTES, Segment, segment};
use crate::given::DeadIds;
use crate::index::settings::IndexSettings;
use crate::restore::RestoreError;
use crate::segment::{Heap, Part};
use crate::shape::{Form, SHAPES_MAX, SLOTS_MAX, Shape, ShapeParts, Shapes, ShapesWriter, Slot};
use crate::shard::{NAMES_MAX, ReadPoint, Settings};
use model::{Csn, EntryId};
use schema::{BinaryTransfer, HeldDescriptions, Schema};
use std::collections::VecDeque;

const MAGIC: [u8; 8] = *b"pandomet";
/// Version of the format of meta and slot map. The first knew no dead ids, and its shapes were numbered without gaps.
const FORMAT: u32 = 2;
const FORMAT_OLD: u32 = 1;

/// Attributes of a shape, from the first on, that are distinguished by `;binary`.
const BINARY_SLOTS_MAX: u32 = 8;

const OPERATIONAL: u8 = 1;
const SCHEMA_CHECK: u8 = 2;
const FOREIGN_UUIDS: u8 = 4;

pub(super) fn encode(checkpoint: &Checkpoint) -> Vec<u8> {
    let (point, frozen) = (checkpoint.read_point(), &checkpoint.segments.frozen);
    let (shard, settings) = (point.shard, &point.shard.settings);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let mut out = MAGIC.to_vec();
    push_u32(&mut out, FORMAT);
    out.push(
        flag(settings.operational_attributes, OPERATIONAL)
            | flag(settings.schema_check, SCHEMA_CHECK)
            | flag(shard.has_foreign_uuids(), FOREIGN_UUIDS),
    );
    out.push(settings.site);
    push_u64(&mut out, checkpoint.sequence());
    push_u64(&mut out, checkpoint.last_csn.0);
    settings.key.iter().for_each(|word| push_u64(&mut out, *word));
    push_u32(&mut out, frozen.ids_end);
    push_u32(&mut out, frozen.nodes_end);
    push_u64(&mut out, frozen.serial);
    push_u32(&mut out, frozen.filling.map_or(0, |position| position + 1));
    push_u32(&mut out, frozen.parts.len() as u32);
    for part in &frozen.parts {
        push_u64(&mut out, part.serial);
        push_u32(&mut out, part.run);
        push_u32(&mut out, part.bytes);
    }
    push_u32(&mut out, shard.suffixes.iter().count() as u32);
    for suffix in shard.suffixes.iter() {
        push_bytes(&mut out, &suffix.text);
        push_u32(&mut out, point.find(0, &suffix.key).map_or(0, |root| root.0));
    }
    push_u32(&mut out, checkpoint.names as u32);
    for number in 0..checkpoint.names {
        push_bytes(&mut out, shard.names.at(number).expect("a name that was counted"));
    }
    let shapes: Vec<&Shape> = (0..checkpoint.shapes).filter_map(|number| shard.shapes.find(number)).collect();
    push_u32(&mut out, shapes.len() as u32);
    for shape in shapes {
        push_u32(&mut out, shape.number);
        push_shape(&mut out, point, shape);
    }
    push_dead(&mut out, &checkpoint.dead);
    out
}

fn push_dead(out: &mut Vec<u8>, dead: &DeadIds) {
    push_u64(out, dead.at.map_or(0, |at| at + 1));
    push_u32(out, dead.queue.len() as u32);
    for (id, index) in &dead.queue {
        push_u32(out, *id);
        push_u64(out, *index);
    }
}

fn push_shape(out: &mut Vec<u8>, point: ReadPoint<'_>, shape: &Shape) {
    let schema = &point.shard.schema;
    push_bytes(out, shape.structural.map_or("", |class| schema.class(class).name()).as_bytes());
    push_u32(out, shape.class_values.len() as u32);
    shape.class_values.iter().for_each(|value| push_bytes(out, value));
    push_u32(out, shape.slots.len() as u32);
    for slot in &shape.slots {
        out.push(slot.form as u8);
        push_bytes(out, schema.describe(slot.description).as_bytes());
    }
    push_u32(out, shape.naming.len() as u32);
    shape.naming.iter().for_each(|at| push_u32(out, u32::from(*at)));
}

fn push_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn push_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// The meta of a checkpoint, read.
#[derive(Clone, Debug)]
pub struct Meta {
    flags: u8,
    site: u8,
    pub(crate) sequence: u64,
    pub(crate) last_csn: Csn,
    key: [u64; 4],
    pub(crate) ids_end: u32,
    pub(crate) nodes_end: u32,
    pub(crate) serial: u64,
    pub(crate) filling: Option<u32>,
    pub(crate) parts: Vec<Part>,
    pub(crate) suffixes: Vec<(String, EntryId)>,
    pub(crate) names: Vec<Box<[u8]>>,
    shapes: Vec<StoredShape>,
    pub(crate) dead: DeadIds,
}

/// A shape in words.
#[derive(Clone, Debug)]
struct StoredShape {
    number: u32,
    structural: String,
    class_values: Vec<Box<[u8]>>,
    slots: Vec<(Form, Box<[u8]>)>,
    naming: Vec<u16>,
}

impl Meta {
    /// Reads what [`Checkpoint::meta`] wrote.
    ///
    /// # Errors
    /// When the bytes are not that, or of a format that this version does not know.
    pub fn read(bytes: &[u8]) -> Result<Meta, RestoreError> {
        let mut from = Bytes { all: bytes, at: 0 };
        if from.take(8, "the magic number")? != MAGIC {
            return Err(RestoreError::Meta { offset: 0, what: "the magic number" });
        }
        let format = from.u32("the format")?;
        if !(FORMAT_OLD..=FORMAT).contains(&format) {
            return Err(RestoreError::Format { found: format, known: FORMAT });
        }
        let [flags, site] = *from.take(2, "the flags")? else { unreachable!("two bytes") };
        let (sequence, last_csn) = (from.u64("the sequence")?, Csn(from.u64("the last CSN")?));
        if sequence >= 1 << 47 {
            return Err(from.wrong("the sequence"));
        }
        let mut key = [0; 4];
        for word in &mut key {
            *word = from.u64("the key")?;
        }
        let (ids_end, nodes_end) = (from.u32("the end of ids")?, from.u32("the end of node ids")?);
        let (serial, filling) = (from.u64("the next segment")?, from.u32("the segment being filled")?);
        let parts = read_parts(&mut from, serial)?;
        let filling = filling.checked_sub(1);
        if filling.is_some_and(|at| parts.get(at as usize).is_none_or(|part| part.run != 1)) {
            return Err(from.wrong("the segment being filled"));
        }
        let suffixes = read_suffixes(&mut from)?;
        let count = from.count(4, NAMES_MAX, "the number of names")?;
        let names: Result<Vec<Box<[u8]>>, _> =
            (0..count).map(|_| from.bytes("a name").map(Box::from)).collect();
        let names = names?;
        if names.is_empty() || std::str::from_utf8(&names[0]).is_err() {
            return Err(from.wrong("the founder's name"));
        }
        let count = from.count(16, SHAPES_MAX, "the number of shapes")?;
        let mut shapes: Vec<StoredShape> = Vec::with_capacity(count);
        for position in 0..count as u32 {
            let number = match format {
                FORMAT_OLD => position,
                _ => from.u32("the number of a shape")?,
            };
            let is_next = shapes.last().is_none_or(|before| before.number < number);
            if !is_next || number as usize >= SHAPES_MAX {
                return Err(from.wrong("the number of a shape"));
            }
            shapes.push(read_shape(number, &mut from)?);
        }
        let dead = match format {
            FORMAT_OLD => DeadIds::default(),
            _ => read_dead(&mut from, ids_end)?,
        };
        if from.at != bytes.len() {
            return Err(from.wrong("the end"));
        }
        Ok(Meta {
            flags,
            site,
            sequence,
            last_csn,
            key,
            ids_end,
            nodes_end,
            serial,
            filling,
            parts,
            suffixes,
            names,
            shapes,
            dead,
        })
    }

    /// That of the last change.
    pub fn last_csn(&self) -> Csn {
        self.last_csn
    }

    /// What the shard was made with: with other settings than these (more suffixes, a schema check or none) commands
    /// of the log may have other outcomes. Indexes and memory may be others at any time.
    pub fn settings(&self, indexes: Vec<IndexSettings>, memory_bytes_max: u64) -> Settings {
        Settings {
            suffixes: self.suffixes.iter().map(|(text, _)| text.clone()).collect(),
            indexes,
            memory_bytes_max,
            removals_max: crate::REMOVALS_MAX,
            operational_attributes: self.flags & OPERATIONAL != 0,
            schema_check: self.flags & SCHEMA_CHECK != 0,
            founder: String::from_utf8_lossy(&self.names[0]).into_owned(),
            key: self.key,
            site: self.site,
        }
    }

    /// The commit sequence of the checkpoint.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The segments, in the order in which slots number them.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = Segment> + '_ {
        self.parts.iter().map(segment)
    }

    /// Bytes of the slot map.
    pub fn slot_map_bytes(&self) -> u64 {
        (u64::from(self.ids_end) + u64::from(self.nodes_end)) * SLOT_BYTES as u64
    }

    /// Numbers of shapes are below this.
    pub(crate) fn shapes_end(&self) -> u32 {
        self.shapes.last().map_or(0, |last| last.number + 1)
    }

    pub(crate) fn has_foreign_uuids(&self) -> bool {
        self.flags & FOREIGN_UUIDS != 0
    }

    /// Makes the shapes, with the numbers that records call them by.
    pub(crate) fn make_shapes(
        &self,
        schema: &Schema,
        shapes: &Shapes,
        writer: &mut ShapesWriter,
    ) -> Result<(), RestoreError> {
        // Of shapes that no entry has nothing stays.
        let mut held = HeldDescriptions::new(schema);
        for stored in &self.shapes {
            let structural = match &stored.structural[..] {
                "" => None,
                name => Some(
                    schema
                        .find_class(name.as_bytes())
                        .ok_or_else(|| RestoreError::unknown("object class", name.as_bytes()))?,
                ),
            };
            let class_values: Vec<&[u8]> = stored.class_values.iter().map(|v| &**v).collect();
            let (class_values, naming) = (&class_values[..], &stored.naming[..]);
            writer.skip_to(stored.number);
            let mut is_made = false;
            // Earlier versions kept `;binary` apart: of shapes that are alike without it only one is as all are now.
            for apart in 0..1_u32 << BINARY_SLOTS_MAX {
                let Some(slots) = stored.slots(schema, &mut held, apart)? else { break };
                let parts = ShapeParts { class_values, structural, slots: &slots, naming, schema };
                is_made = shapes.intern(writer, parts) == Some(stored.number);
                if is_made {
                    break;
                }
            }
            if !is_made {
                return Err(RestoreError::Meta { offset: 0, what: "a shape that was there before" });
            }
        }
        Ok(())
    }
}

impl StoredShape {
    /// Its slots. Of those attributes that `;binary` may be said of, the ones whose bits are set are kept apart, in the order of
    /// the slots; so is any that is there already. `None` if there are not so many.
    fn slots(
        &self,
        schema: &Schema,
        held: &mut HeldDescriptions<'_>,
        apart: u32,
    ) -> Result<Option<Vec<Slot>>, RestoreError> {
        let mut slots: Vec<Slot> = Vec::with_capacity(self.slots.len());
        let mut bit = 1;
        for (form, text) in &self.slots {
            let unknown = |_| RestoreError::unknown("attribute", text);
            let mut description = held.describe(text).map_err(unknown)?;
            let kind = schema.attribute_type(description.attribute_type);
            if kind.binary != BinaryTransfer::None {
                let is_there = slots.iter().any(|slot| slot.description == description);
                if apart & bit != 0 || is_there {
                    description = held.describe_apart(text).map_err(unknown)?;
                }
                bit <<= 1;
            }
            slots.push(Slot { description, form: *form });
        }
        Ok((apart < bit).then_some(slots))
    }
}

fn read_parts(from: &mut Bytes<'_>, serial: u64) -> Result<Vec<Part>, RestoreError> {
    let count = from.count(16, 1 << 19, "the number of segments")?;
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        let (own, run) = (from.u64("a segment's id")?, from.u32("a segment's run")?);
        let part = Part { number: 0, serial: own, run, bytes: from.u32("a segment's length")? };
        if !Heap::is_part_size(run, part.bytes) || run >= 1 << 19 || own >= serial {
            return Err(from.wrong("a segment"));
        }
        parts.push(part);
    }
    Ok(parts)
}

fn read_dead(from: &mut Bytes<'_>, ids_end: u32) -> Result<DeadIds, RestoreError> {
    let at = from.u64("the index of the log")?.checked_sub(1);
    let count = from.count(12, ids_end as usize, "the number of dead ids")?;
    let mut queue = VecDeque::with_capacity(count);
    for _ in 0..count {
        let (id, index) = (from.u32("a dead id")?, from.u64("the index of a dead id")?);
        let is_later = queue.back().is_none_or(|(_, before)| *before <= index);
        if id == 0 || id >= ids_end || !is_later || at.is_none_or(|at| index > at) {
            return Err(from.wrong("a dead id"));
        }
        queue.push_back((id, index));
    }
    Ok(DeadIds::restored(at, queue))
}

fn read_suffixes(from: &mut Bytes<'_>) -> Result<Vec<(String, EntryId)>, RestoreError> {
    let count = from.count(8, 1 << 20, "the number of suffixes")?;
    let mut suffixes = Vec::with_capacity(count);
    for _ in 0..count {
        let text = from.text("a suffix")?;
        suffixes.push((text, EntryId(from.u32("a suffix's entry")?)));
    }
    Ok(suffixes)
}

fn read_shape(number: u32, from: &mut Bytes<'_>) -> Result<StoredShape, RestoreError> {
    let structural = from.text("a structural class")?;
    let count = from.count(4, SLOTS_MAX, "the classes of a shape")?;
    let class_values: Result<Vec<Box<[u8]>>, _> =
        (0..count).map(|_| from.bytes("a class").map(Box::from)).collect();
    let count = from.count(5, SLOTS_MAX, "the attributes of a shape")?;
    let mut slots: Vec<(Form, Box<[u8]>)> = Vec::with_capacity(count);
    for _ in 0..count {
        let form = match from.take(1, "the form of an attribute")? {
            [0] => Form::One,
            [1] => Form::Many,
            [2] => Form::Set,
            _ => return Err(from.wrong("the form of an attribute")),
        };
        slots.push((form, from.bytes("an attribute")?.into()));
    }
    let count = from.count(4, slots.len(), "the naming attributes of a shape")?;
    let mut naming = Vec::with_capacity(count);
    for _ in 0..count {
        let at = from.u32("a naming attribute")?;
        if slots.get(at as usize).is_none_or(|(form, _)| *form == Form::Set) {
            return Err(from.wrong("a naming attribute"));
        }
        naming.push(at as u16);
    }
    if naming.is_empty() {
        return Err(from.wrong("a shape without naming attributes"));
    }
    Ok(StoredShape { number, structural, class_values: class_values?, slots, naming })
}

/// Reads from the front, and knows where it is.
struct Bytes<'b> {
    all: &'b [u8],
    at: usize,
}

impl<'b> Bytes<'b> {
    fn wrong(&self, what: &'static str) -> RestoreError {
        RestoreError::Meta { offset: self.at, what }
    }

    fn take(&mut self, len: usize, what: &'static str) -> Result<&'b [u8], RestoreError> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.all.len());
        let end = end.ok_or_else(|| self.wrong(what))?;
        let taken = &self.all[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, RestoreError> {
        Ok(u32::from_le_bytes(self.take(4, what)?.try_into().expect("four bytes")))
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, RestoreError> {
        Ok(u64::from_le_bytes(self.take(8, what)?.try_into().expect("eight bytes")))
    }

    /// A number of things of at least `bytes_min` bytes each, which bounds what is made room for.
    fn count(&mut self, bytes_min: usize, max: usize, what: &'static str) -> Result<usize, RestoreError> {
        let count = self.u32(what)? as usize;
        let fits = count <= max && count <= (self.all.len() - self.at) / bytes_min;
        if fits { Ok(count) } else { Err(self.wrong(what)) }
    }

    fn bytes(&mut self, what: &'static str) -> Result<&'b [u8], RestoreError> {
        let len = self.u32(what)? as usize;
        self.take(len, what)
    }

    fn text(&mut self, what: &'static str) -> Result<String, RestoreError> {
        let bytes = self.bytes(what)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.wrong(what))
    }
}
