//! Shapes: what entries of the same make have in common. A record holds only what differs.
//!
//! The writer makes them, one for each content, and never changes one; readers find them by the number in a record without a
//! lock. While the shard is in use a shape stays, even if no entry has it any more: nothing counts its entries, and what
//! others keep by the number (templates of answers, prepared writes) stays right. A restore drops the unused ones, and so leaves gaps in
//! the numbers, which are filled first.

use crate::append::Append;
use crate::lifetimes;
use model::{ClassId, Description};
use schema::Schema;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Distinct shapes of one shard: a record has 24 bits for the number.
pub const SHAPES_MAX: usize = 1 << 24;

/// Attributes of an entry, and values of its objectClass: a position has 16 bits, and a checkpoint's meta bounds both.
pub(crate) const SLOTS_MAX: usize = 1 << 16;

/// Distinct shapes of a shard from which on an update that may need one more is refused with adminLimitExceeded, before it is
/// logged. What was taken before may bring more.
const SHAPES_TAKEN_MAX: usize = 1 << 23;

const _: () = assert!(SHAPES_TAKEN_MAX < SHAPES_MAX, "updates that are on their way find room");

/// Distinct shapes of a small shard.
const SHAPES_SMALL: usize = 1 << 22;

/// Does an entry stand for itself?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// It does.
    #[default]
    Plain,
    /// For another entry (RFC 4512 section 2.6).
    Alias,
    /// For a part of the directory that other servers hold (RFC 3296).
    Referral,
    /// It says something of the entries around it and is found by its name only (RFC 3672 section 1).
    Subentry,
}

/// How the values of an attribute lie in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Form {
    /// Exactly one value.
    One = 0,
    /// A count, then the values.
    Many = 1,
    /// The root of a tree: more values than a record should carry.
    Set = 2,
}

/// An attribute of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Type and options.
    pub description: Description,
    /// How its values are stored.
    pub form: Form,
}

/// The common part of entries with the same attributes and classes. Immutable; its number is valid as long as the shard exists. A shape
/// that no entry has is dropped when the shard is restored from a checkpoint.
#[derive(Debug)]
pub struct Shape {
    /// Its number, below [`SHAPES_MAX`].
    pub number: u32,
    /// The values of objectClass, as first written.
    pub class_values: Vec<Box<[u8]>>,
    /// The structural object class; `None` if the entry was taken in without a schema check and has none.
    pub structural: Option<ClassId>,
    /// What its entries stand for.
    pub kind: Kind,
    /// Have its entries access rules?
    pub has_access_rules: bool,
    /// Are its entries deleted when their time is over (RFC 2589)?
    pub is_dynamic: bool,
    /// Are its entries subentries whose collective attributes others show (RFC 3671)?
    pub is_collective: bool,
    /// Attributes other than objectClass, in the order of their values in the record.
    pub slots: Vec<Slot>,
    /// Positions in `slots` of the attributes of the RDN; the first value of each is the distinguished one.
    pub naming: SmallVec<[u16; 1]>,
    /// Do its entries store a time, name or CSN of their last change, as an import may bring them? The next change
    /// takes these away.
    pub(crate) stores_stamps: bool,
    /// What the RDN begins with, `uid=`, if it has one AVA.
    pub(crate) rdn_start: Box<[u8]>,
}

impl Shape {
    /// Where an attribute is, if entries of this shape have it.
    pub fn position(&self, description: Description) -> Option<usize> {
        self.slots.iter().position(|slot| slot.description == description)
    }
}

/// All shapes, by number.
pub(crate) struct Shapes {
    table: Append<Shape>,
    /// Shapes in the table.
    count: AtomicUsize,
    /// [`SHAPES_TAKEN_MAX`], or what a test sets.
    taken_max: AtomicUsize,
    schema: Arc<Schema>,
    /// Are they those of entries that stay? Then sets of options that they have are kept.
    are_for_good: bool,
}

/// The writer's way from content to number.
#[derive(Default)]
pub(crate) struct ShapesWriter {
    /// By content, as [`Shapes::intern`] writes it: the number of each shape in the table.
    numbers: BTreeMap<Vec<u8>, u32>,
    /// Numbers handed out are below this.
    end: u32,
    /// Numbers that were dropped, in descending order; the last is the next to be used again.
    free: Vec<u32>,
    /// Those of classes and types that were removed from the schema: no entry has one.
    retired: BTreeSet<u32>,
    /// A buffer for the content that is looked for.
    key: Vec<u8>,
    /// The content asked for last: entries that come one behind the other mostly have one shape.
    last: Option<(Vec<u8>, u32)>,
    /// Bytes that all shapes take, estimated.
    bytes: usize,
}

/// What a shape is made of, borrowed.
pub(crate) struct ShapeParts<'d> {
    pub(crate) class_values: &'d [&'d [u8]],
    pub(crate) structural: Option<ClassId>,
    pub(crate) slots: &'d [Slot],
    pub(crate) naming: &'d [u16],
}

impl Shapes {
    /// Those of a shard: a small one goes soon.
    pub(crate) fn new(schema: Arc<Schema>, is_small: bool) -> Shapes {
        let table = Append::with_room(if is_small { SHAPES_SMALL } else { SHAPES_MAX });
        let taken_max = AtomicUsize::new(SHAPES_TAKEN_MAX);
        Shapes { table, count: AtomicUsize::new(0), taken_max, schema, are_for_good: !is_small }
    }

    /// Whether they are those of entries that stay, not of copies for a transaction.
    pub(crate) fn are_for_good(&self) -> bool {
        self.are_for_good
    }

    /// Gives the sets of options back that [`Shapes::intern`] said to keep: the schema outlives the shard.
    fn release(&self, shape: &Shape) {
        let options = shape.slots.iter().map(|slot| slot.description.options);
        options.for_each(|options| self.schema.release_options(options, self.are_for_good));
    }

    /// All of them. One that comes meanwhile may be among them or not.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Shape> {
        self.table.iter().take(self.count())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Are there so many that no update should be taken which may need another?
    pub(crate) fn are_too_many(&self) -> bool {
        self.count() >= self.taken_max.load(Ordering::Relaxed)
    }

    /// For tests: another bound than [`SHAPES_TAKEN_MAX`].
    pub(crate) fn bound(&self, max: usize) {
        self.taken_max.store(max.min(SHAPES_TAKEN_MAX), Ordering::Relaxed);
    }

    /// Drops those that no entry has. No reader pins.
    pub(crate) fn drop_unused(&mut self, writer: &mut ShapesWriter, is_used: impl Fn(u32) -> bool) {
        writer.last = None;
        writer.bytes = 0;
        writer.numbers.retain(|key, number| {
            let is_used = is_used(*number);
            if is_used {
                writer.bytes += shape_bytes(key);
            } else {
                let dropped = self.table.take(*number as usize);
                assert!(dropped.is_some(), "each number that has a content has a shape");
                dropped.iter().for_each(|shape| self.release(shape));
            }
            is_used
        });
        self.count.store(writer.numbers.len(), Ordering::Relaxed);
        writer.free = (0..writer.end).rev().filter(|number| self.find(*number).is_none()).collect();
        let given = writer.numbers.len() + writer.free.len();
        assert!(given == writer.end as usize, "each number below the end has one shape or is free");
    }

    /// No entry has shapes of which this is true, and none gets one of them any more: what classes and types are called then may mean something
    /// else. Who has their numbers finds them as before.
    pub(crate) fn retire(&self, writer: &mut ShapesWriter, is_retired: impl Fn(&Shape) -> bool) {
        // Else the next entry of that make would get it again.
        writer.last = None;
        let ShapesWriter { numbers, retired, .. } = writer;
        numbers.retain(|_, number| {
            let goes = self.find(*number).is_some_and(&is_retired);
            if goes {
                retired.insert(*number);
            }
            !goes
        });
    }

    /// The shape of a record that the store wrote.
    #[inline]
    pub(crate) fn at(&self, number: u32) -> &Shape {
        self.table.at(number as usize).expect("a record's shape exists")
    }

    /// The shape with this number, if there is one.
    pub(crate) fn find(&self, number: u32) -> Option<&Shape> {
        self.table.at(number as usize)
    }

    /// The shape made of this, old or new. `None` when there are too many.
    pub(crate) fn intern(&self, writer: &mut ShapesWriter, parts: ShapeParts<'_>) -> Option<u32> {
        // The content as bytes, so that no two contents give the same: no slot begins with five bytes of 0xff, for sets of
        // options are far fewer; no position is 0xffff; values of objectClass have their lengths before them.
        let mut key = std::mem::take(&mut writer.key);
        key.clear();
        for slot in parts.slots {
            key.extend_from_slice(&slot.description.attribute_type.0.to_le_bytes());
            key.extend_from_slice(&slot.description.options.0.to_le_bytes());
            key.push(slot.form as u8);
        }
        key.extend_from_slice(&[0xff; 5]);
        parts.naming.iter().for_each(|at| key.extend_from_slice(&at.to_le_bytes()));
        key.extend_from_slice(&[0xff; 2]);
        for value in parts.class_values {
            key.extend_from_slice(&(value.len() as u32).to_le_bytes());
            key.extend_from_slice(value);
        }
        let number = match &writer.last {
            Some((last, number)) if *last == key => Some(*number),
            _ => writer.numbers.get(&key).copied(),
        };
        let number = number.or_else(|| {
            let number = writer.free.last().copied().unwrap_or(writer.end);
            let most = parts.slots.len().max(parts.class_values.len());
            assert!(most <= SLOTS_MAX, "an entry with more attributes was refused");
            let is_whole = parts.naming.iter().all(|at| usize::from(*at) < parts.slots.len());
            assert!(is_whole, "what names an entry is among its attributes");
            // A restore refuses shapes that are otherwise, so none may come to be.
            assert!(!parts.naming.is_empty(), "an entry has an RDN");
            let mut naming = parts.naming.iter().map(|at| parts.slots[usize::from(*at)].form);
            assert!(naming.all(|form| form != Form::Set), "what names an entry lies in its record");
            let kind = kind_of(&self.schema, &parts);
            let shape = Shape {
                number,
                class_values: parts.class_values.iter().map(|v| (*v).into()).collect(),
                structural: parts.structural,
                kind,
                has_access_rules: has_access_rules(&self.schema, &parts),
                is_collective: is_collective(&self.schema, kind, &parts),
                is_dynamic: lifetimes::has_class(&self.schema, parts.class_values.iter().copied()),
                slots: parts.slots.to_vec(),
                naming: SmallVec::from_slice(parts.naming),
                stores_stamps: parts.slots.iter().any(|slot| is_stamp(&self.schema, slot.description)),
                rdn_start: rdn_start(&self.schema, &parts),
            };
            // The table leads to the shape before any record names it; a number that cannot be pushed stays free.
            self.table.push(number as usize, shape).ok()?;
            let options = parts.slots.iter().map(|slot| slot.description.options);
            options.for_each(|options| self.schema.keep_options(options, self.are_for_good));
            writer.bytes += shape_bytes(&key);
            if writer.free.pop().is_none() {
                writer.end += 1;
            }
            writer.numbers.insert(key.clone(), number);
            assert!(writer.numbers.len() <= writer.end as usize, "no two shapes have one number");
            self.count.fetch_add(1, Ordering::Relaxed);
            Some(number)
        })?;
        match &mut writer.last {
            Some((last, n)) if *n == number && *last == key => {}
            last => *last = Some((key.clone(), number)),
        }
        writer.key = key;
        Some(number)
    }
}

impl Drop for Shapes {
    fn drop(&mut self) {
        // The count ends the walk early: the table of an overlay has room for millions and holds a few.
        self.table.iter().take(self.count()).for_each(|shape| self.release(shape));
    }
}

/// Bytes that a shape takes, estimated: the content here, in the map and as the last one, and what allocations add.
fn shape_bytes(key: &[u8]) -> usize {
    3 * key.len() + 300
}

/// Is this an attribute that every change of an entry sets anew?
pub(crate) fn is_stamp(schema: &Schema, description: Description) -> bool {
    let known = schema.well_known();
    [known.modify_timestamp, known.modifiers_name, known.entry_csn].contains(&description.attribute_type)
}

/// What object classes make of an entry. To follow a referral comes before all else.
fn kind_of(schema: &Schema, parts: &ShapeParts<'_>) -> Kind {
    let known = schema.well_known();
    let is = |class| {
        let of = |value: &&[u8]| schema.find_class(value).is_some_and(|c| schema.is_subclass(c, class));
        parts.class_values.iter().any(of)
    };
    match (is(known.referral), is(known.alias), is(known.subentry)) {
        (true, ..) => Kind::Referral,
        (_, true, _) => Kind::Alias,
        (.., true) => Kind::Subentry,
        _ => Kind::Plain,
    }
}

/// Are entries of this kind subentries of collective attributes (RFC 3671 section 2.1)?
fn is_collective(schema: &Schema, kind: Kind, parts: &ShapeParts<'_>) -> bool {
    let class = schema.well_known().collective_attribute_subentry;
    kind == Kind::Subentry && parts.class_values.iter().any(|value| schema.find_class(value) == Some(class))
}

/// Values with options are rules too: one that is passed over would be a right that is not taken away.
fn has_access_rules(schema: &Schema, parts: &ShapeParts<'_>) -> bool {
    let rule = schema.well_known().access_rule;
    parts.slots.iter().any(|slot| slot.description.attribute_type == rule)
}

/// See [`Shape::rdn_start`].
fn rdn_start(schema: &Schema, parts: &ShapeParts<'_>) -> Box<[u8]> {
    match parts.naming {
        [at] => {
            let attribute_type = parts.slots[usize::from(*at)].description.attribute_type;
            format!("{}=", schema.attribute_type(attribute_type).name()).into_bytes().into()
        }
        _ => Box::default(),
    }
}

impl ShapesWriter {
    /// Bytes that the shapes take, estimated.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Numbers handed out are below this.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Those below that of which no entry has the shape, whatever there are others of, in ascending order.
    pub(crate) fn numbers_of_none(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.free.iter().chain(&self.retired).copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// The next shape gets this number, which is not below the end.
    pub(crate) fn skip_to(&mut self, number: u32) {
        assert!(number >= self.end, "numbers of shapes are restored in ascending order");
        self.end = number;
    }
}
