//! The meta of a checkpoint, to the byte: docs/formats/segment.md. Types and classes are written by name, since their
//! numbers depend on the schema that a server was started with.
//!
//! The two directions have different duties. What is written comes from the shard's own state, so it is asserted. What is
//! read comes from a file, so whatever it says is checked and answered with a [`RestoreError`] that names the byte: every
//! count is compared with the bytes that are left before memory is taken for it, and every number with the bound that
//! the store relies on later. What needs the schema is done in a second pass ([`Meta::make_shapes`]): a meta is read first
//! to learn the settings that a shard is to be made with.
//!
//! Every change of the bytes has a new format number. The older format stays readable: what it lacks has a value here that
//! means the same as its absence did then.

use super::{Checkpoint, SLOT_BYTES, Segment, segment};
use crate::given::DeadIds;
use crate::index::settings::IndexSettings;
use crate::restore::RestoreError;
use crate::segment::{Heap, Part};
use crate::shape::{Form, SHAPES_MAX, SLOTS_MAX, Shape, ShapeParts, Shapes, ShapesWriter, Slot};
use crate::shard::{NAMES_MAX, ReadPoint, Settings};
use model::{Csn, EntryId};
use schema::{BinaryTransfer, HeldDescriptions, Schema};

/// What a meta begins with, so that another file in its place is not read as one.
const MAGIC: [u8; 8] = *b"pandomet";
/// Version of the format of meta and slot map. The first knew no dead ids, and its shapes were numbered without gaps.
const FORMAT: u32 = 2;
const FORMAT_OLD: u32 = 1;

/// Attributes of a shape, from the first on, that are distinguished by `;binary`. Each doubles the ways in which a shape is
/// tried, so the number bounds the work that one shape of a file can cause: 256 tries.
const BINARY_SLOTS_MAX: u32 = 8;

/// Segments that a meta can list: an address has 19 bits for the number of one.
const SEGMENTS_MAX: usize = 1 << 19;

/// Sequences that a meta can have are below this. A version has one bit more: the rest is for the batches of the shard that
/// is made from it.
const SEQUENCES_END: u64 = 1 << 47;

/// Bits of the flags. Others are not looked at.
const OPERATIONAL: u8 = 1;
const SCHEMA_CHECK: u8 = 2;
const FOREIGN_UUIDS: u8 = 4;

/// The bytes of a meta. It runs beside the writer: names and shapes may grow meanwhile, so their numbers are those of the
/// moment at which the checkpoint began, and what came later is left out.
pub(super) fn encode(checkpoint: &Checkpoint) -> Vec<u8> {
    let (point, frozen) = (checkpoint.read_point(), &checkpoint.segments.frozen);
    // Bounds that `Meta::read` refuses: a checkpoint that cannot be read again must not be completed.
    assert!(frozen.parts.len() <= SEGMENTS_MAX, "each segment has an address");
    assert!(
        (1..=NAMES_MAX).contains(&checkpoint.names),
        "the initial owner has a name, and names have their bound"
    );
    assert!(checkpoint.sequence() < SEQUENCES_END, "a sequence can be read again");
    assert!(
        frozen.parts.iter().all(|part| part.serial < frozen.serial),
        "serials ascend as segments are begun"
    );
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
    // A restored shard goes on filling this one, so that a server which starts often does not begin a segment each time.
    push_u32(&mut out, frozen.filling.map_or(0, |position| position + 1));
    push_u32(&mut out, frozen.parts.len() as u32);
    for part in &frozen.parts {
        push_u64(&mut out, part.serial);
        push_u32(&mut out, part.run);
        push_u32(&mut out, part.bytes);
    }
    push_u32(&mut out, shard.suffixes.iter().count() as u32);
    // The root's id, for its record has its RDN only, and roots of two naming contexts may have the same.
    for suffix in shard.suffixes.iter() {
        push_bytes(&mut out, &suffix.text);
        push_u32(&mut out, point.find(0, &suffix.key).map_or(0, |root| root.0));
    }
    push_u32(&mut out, checkpoint.names as u32);
    // The table is only appended to, so the names below this number are those of the moment.
    for number in 0..checkpoint.names {
        push_bytes(&mut out, shard.names.at(number).expect("a name that was counted"));
    }
    // Numbers may have gaps: shapes that no entry had were dropped at the last start, and records name shapes by number. A shape that has
    // come into such a gap since may be of classes and types that the schema of this moment did not have. Those of definitions that were removed
    // before have names that mean nothing, or something else.
    let is_there = |number: &u32| checkpoint.no_shapes.binary_search(number).is_err();
    let numbers = (0..checkpoint.shapes).filter(is_there);
    let shapes: Vec<&Shape> = numbers.filter_map(|number| shard.shapes.find(number)).collect();
    push_u32(&mut out, shapes.len() as u32);
    for shape in shapes {
        push_u32(&mut out, shape.number);
        push_shape(&mut out, point, shape);
    }
    push_dead(&mut out, &checkpoint.dead);
    out
}

/// Ids that the log has not freed yet, in the order of their deletes: a later record frees those before some index.
fn push_dead(out: &mut Vec<u8>, dead: &DeadIds) {
    assert!(dead.at.is_some() || dead.queue.is_empty(), "without a log no id waits for one");
    push_u64(out, dead.at.map_or(0, |at| at + 1));
    assert!(u32::try_from(dead.queue.len()).is_ok(), "ids have 32 bits, so no more of them wait");
    push_u32(out, dead.queue.len() as u32);
    for (id, index) in &dead.queue {
        push_u32(out, *id);
        push_u64(out, *index);
    }
}

/// A shape without its number. What follows from the rest (kind, stored stamps, beginning of the RDN) is made anew.
fn push_shape(out: &mut Vec<u8>, point: ReadPoint<'_>, shape: &Shape) {
    let schema = &point.shard.schema;
    // The definitions may have changed since the point: what is written is what they were called then, too.
    push_bytes(out, shape.structural.map_or("", |class| schema.lasting_class_name(class)).as_bytes());
    push_u32(out, shape.class_values.len() as u32);
    shape.class_values.iter().for_each(|value| push_bytes(out, value));
    push_u32(out, shape.slots.len() as u32);
    for slot in &shape.slots {
        out.push(slot.form as u8);
        push_bytes(out, schema.describe_lastingly(slot.description).as_bytes());
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
    assert!(u32::try_from(bytes.len()).is_ok(), "a text has 32 bits for its length");
    push_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// The meta of a checkpoint, read. Positions and numbers in it are within the bounds that it states itself; whether
/// the segments and the slot map agree with it is for [`crate::restore`] to find out.
#[derive(Clone, Debug)]
pub struct Meta {
    flags: u8,
    site: u8,
    pub(crate) sequence: u64,
    pub(crate) last_csn: Csn,
    key: [u64; 4],
    /// Ids of entries, and of nodes, are below these: the slot map has one address for each.
    pub(crate) ids_end: u32,
    pub(crate) nodes_end: u32,
    /// The serial of the segment that is begun next: greater than that of every part.
    pub(crate) serial: u64,
    /// Position in `parts` of the one that is filled further.
    pub(crate) filling: Option<u32>,
    /// In the order in which addresses of the slot map number them.
    pub(crate) parts: Vec<Part>,
    /// Naming contexts and the ids of their roots; 0 where there is no entry yet.
    pub(crate) suffixes: Vec<(String, EntryId)>,
    /// By the number that records have; the first is the initial owner's.
    pub(crate) names: Vec<Box<[u8]>>,
    /// By ascending number.
    shapes: Vec<StoredShape>,
    pub(crate) dead: DeadIds,
}

/// A shape in words. Names stay text until a schema is at hand.
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
        // Before all else: of a format that is not known nothing that follows means anything.
        let format = from.u32("the format")?;
        if !(FORMAT_OLD..=FORMAT).contains(&format) {
            return Err(RestoreError::Format { found: format, known: FORMAT });
        }
        let [flags, site] = *from.take(2, "the flags")? else { unreachable!("two bytes") };
        let (sequence, last_csn) = (from.u64("the sequence")?, Csn(from.u64("the last CSN")?));
        if sequence >= SEQUENCES_END {
            return Err(from.wrong("the sequence"));
        }
        let mut key = [0; 4];
        for word in &mut key {
            *word = from.u64("the key")?;
        }
        let (ids_end, nodes_end) = (from.u32("the end of ids")?, from.u32("the end of node ids")?);
        let (serial, filling) = (from.u64("the next segment")?, from.u32("the segment being filled")?);
        let parts = read_parts(&mut from, serial)?;
        // A run has one object, so it is never filled any further.
        let filling = filling.checked_sub(1);
        if filling.is_some_and(|at| parts.get(at as usize).is_none_or(|part| part.run != 1)) {
            return Err(from.wrong("the segment being filled"));
        }
        let suffixes = read_suffixes(&mut from)?;
        let names: Vec<Box<[u8]>> =
            from.list(4, NAMES_MAX, "the number of names", |from| Ok(from.bytes("a name")?.into()))?;
        // Number 0 is the initial owner, which is a setting too, and settings are text.
        if names.is_empty() || std::str::from_utf8(&names[0]).is_err() {
            return Err(from.wrong("the initial owner's name"));
        }
        let mut next = 0;
        let shapes = from.list(16, SHAPES_MAX, "the number of shapes", |from| {
            let number = match format {
                FORMAT_OLD => next,
                _ => from.u32("the number of a shape")?,
            };
            // Ascending, so that they can be made in this order, with gaps where numbers are left out.
            if number < next || number as usize >= SHAPES_MAX {
                return Err(from.wrong("the number of a shape"));
            }
            next = number + 1;
            read_shape(number, from)
        })?;
        // Logs of that time did not say when ids are free: none waited.
        let dead = match format {
            FORMAT_OLD => DeadIds::default(),
            _ => read_dead(&mut from, ids_end)?,
        };
        // More bytes would be of a format that is not known here, whatever the number says.
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
            initial_owner: String::from_utf8_lossy(&self.names[0]).into_owned(),
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

    /// Bytes of the slot map. What the file has is compared with this before it is read.
    pub fn slot_map_bytes(&self) -> u64 {
        (u64::from(self.ids_end) + u64::from(self.nodes_end)) * SLOT_BYTES as u64
    }

    /// Numbers of shapes are below this.
    pub(crate) fn shapes_end(&self) -> u32 {
        self.shapes.last().map_or(0, |last| last.number + 1)
    }

    /// Whether an entry was ever stored with an entryUUID of its own. It is never taken back, since nobody counts such entries.
    pub(crate) fn has_foreign_uuids(&self) -> bool {
        self.flags & FOREIGN_UUIDS != 0
    }

    /// Makes the shapes, with the numbers that records call them by.
    ///
    /// # Errors
    /// When the schema lacks a class or an attribute, or two shapes are the same: a record names one by its number, so two
    /// numbers of one shape would be two shapes where every comparison takes them for one.
    pub(crate) fn make_shapes(
        &self,
        schema: &Schema,
        shapes: &Shapes,
        writer: &mut ShapesWriter,
    ) -> Result<(), RestoreError> {
        // Of shapes that no entry has nothing stays.
        let mut held = HeldDescriptions::new(schema);
        for stored in &self.shapes {
            // An empty name stands for an entry that was taken in without a schema check.
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
            // Numbers that are left out were those of shapes that were dropped; the next new shape goes behind all.
            writer.skip_to(stored.number);
            let mut is_made = false;
            // Earlier versions kept `;binary` apart: of shapes that are the same without it only one is as all are now.
            // The first way that makes a shape which is not there yet is taken, plain ones first.
            for apart in 0..1_u32 << BINARY_SLOTS_MAX {
                let Some(slots) = stored.slots(schema, &mut held, apart)? else { break };
                let parts = ShapeParts { class_values, structural, slots: &slots, naming };
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
        // The lowest bit is of the first attribute that `;binary` may be said of; after the last, `bit` is their number of ways.
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

/// The segments. Their numbers are given when they are placed: those of the shard that was written do not matter.
fn read_parts(from: &mut Bytes<'_>, serial: u64) -> Result<Vec<Part>, RestoreError> {
    from.list(16, SEGMENTS_MAX, "the number of segments", |from| {
        let (own, run) = (from.u64("a segment's id")?, from.u32("a segment's run")?);
        let part = Part { number: 0, serial: own, run, bytes: from.u32("a segment's length")? };
        if !Heap::is_part_size(run, part.bytes) || run as usize >= SEGMENTS_MAX || own >= serial {
            return Err(from.wrong("a segment"));
        }
        Ok(part)
    })
}

/// The dead ids. Their order is checked, for they are freed from the front up to an index.
fn read_dead(from: &mut Bytes<'_>, ids_end: u32) -> Result<DeadIds, RestoreError> {
    let at = from.u64("the index of the log")?.checked_sub(1);
    let mut last = 0;
    let queue = from.list(12, ids_end as usize, "the number of dead ids", |from| {
        let (id, index) = (from.u32("a dead id")?, from.u64("the index of a dead id")?);
        if id == 0 || id >= ids_end || index < last || at.is_none_or(|at| index > at) {
            return Err(from.wrong("a dead id"));
        }
        last = index;
        Ok((id, index))
    })?;
    Ok(DeadIds::restored(at, queue.into()))
}

/// The naming contexts. Whether the settings still have those with a root is found when a restore begins.
fn read_suffixes(from: &mut Bytes<'_>) -> Result<Vec<(String, EntryId)>, RestoreError> {
    from.list(8, 1 << 20, "the number of suffixes", |from| {
        let text = from.text("a suffix")?;
        Ok((text, EntryId(from.u32("a suffix's entry")?)))
    })
}

/// A shape, as far as it can be judged without a schema: its naming attributes are among its attributes and are no sets.
fn read_shape(number: u32, from: &mut Bytes<'_>) -> Result<StoredShape, RestoreError> {
    let structural = from.text("a structural class")?;
    let class_values =
        from.list(4, SLOTS_MAX, "the classes of a shape", |from| Ok(from.bytes("a class")?.into()))?;
    let slots: Vec<(Form, Box<[u8]>)> = from.list(5, SLOTS_MAX, "the attributes of a shape", |from| {
        let form = match from.take(1, "the form of an attribute")? {
            [0] => Form::One,
            [1] => Form::Many,
            [2] => Form::Set,
            _ => return Err(from.wrong("the form of an attribute")),
        };
        Ok((form, from.bytes("an attribute")?.into()))
    })?;
    // `first_value` of a record counts on it: a set has no first value, and a position beyond the slots would be a panic.
    let naming = from.list(4, slots.len(), "the naming attributes of a shape", |from| {
        let at = from.u32("a naming attribute")?;
        if slots.get(at as usize).is_none_or(|(form, _)| *form == Form::Set) {
            return Err(from.wrong("a naming attribute"));
        }
        Ok(at as u16)
    })?;
    if naming.is_empty() {
        return Err(from.wrong("a shape without naming attributes"));
    }
    Ok(StoredShape { number, structural, class_values, slots, naming })
}

/// Reads from the front, and knows where it is: an error names the byte that was reached. Nothing here
/// can panic on any bytes, and nothing takes memory before it is known that the bytes for it are there.
struct Bytes<'b> {
    all: &'b [u8],
    at: usize,
}

impl<'b> Bytes<'b> {
    fn wrong(&self, what: &'static str) -> RestoreError {
        RestoreError::Meta { offset: self.at, what }
    }

    /// The next `len` bytes. An error leaves the position where it was, so that it names the byte at which something is missing.
    fn take(&mut self, len: usize, what: &'static str) -> Result<&'b [u8], RestoreError> {
        // A length from the file may be anything, so the sum may overflow.
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

    /// A number of things, up to `max`, and the things. Each has at least `bytes_min` bytes, which bounds what is made room for.
    fn list<T>(
        &mut self,
        bytes_min: usize,
        max: usize,
        what: &'static str,
        mut read: impl FnMut(&mut Bytes<'b>) -> Result<T, RestoreError>,
    ) -> Result<Vec<T>, RestoreError> {
        let count = self.u32(what)? as usize;
        if count > max || count > (self.all.len() - self.at) / bytes_min {
            return Err(self.wrong(what));
        }
        (0..count).map(|_| read(self)).collect()
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
