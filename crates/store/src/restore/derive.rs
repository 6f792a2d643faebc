//! What follows from each entry: its places in the DN hash, among the children of its superior, in the indexes.
//!
//! A job looks at a range of ids and writes what it finds to lists of its own, one for each table; the tables are filled
//! from these afterwards (`fill.rs`). Jobs share two sets of bits, of shapes that some record has and of nodes that some
//! set leads to. The order in which they set bits decides nothing but which of two entries is blamed for one node.
//!
//! Nothing is trusted here. Records and trees are checked before they are read, since a wrong length in them would else be
//! a panic; what the bytes cannot show, that a value is not the one that was written, is for the checksums of the files.

use crate::checkpoint::Meta;
use crate::index::key::Key;
use crate::record::{EntryRef, Values, ber_octets};
use crate::resolve::push_rdn;
use crate::segment::Object;
use crate::shard::{ReadPoint, Shard};
use crate::tree::Visit;
use model::Description;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries whose records are prefetched of the one that is looked at.
const AHEAD: u32 = 16;

/// Values of a set whose keys are compared with those of today's schema. All of them have their keys by one.
const SET_VALUES_COMPARED: u64 = 16;
/// A set that was made by a schema in which types have other numbers, which are in normal forms of names. Nothing in it would be found.
const OTHER_NUMBERS: &str = "its schema numbers attribute types otherwise than that of the program that wrote it: export it there, and import it here";

/// Where a tag and an id go: DN hash, children, then each index.
pub(super) const DN: usize = 0;
pub(super) const CHILDREN: usize = 1;
pub(super) const INDEXES: usize = 2;

/// What was derived from some entries.
pub(super) struct Derived {
    /// By where they go: tags and ids.
    pub(super) pairs: Vec<Vec<(u32, u32)>>,
    /// By index: ordering keys and ids.
    pub(super) ordering: Vec<Vec<(u64, u32)>>,
    pub(super) entries: u64,
    pub(super) roots: usize,
    key: Vec<u8>,
    normal: Vec<u8>,
}

/// An entry that cannot be.
pub(super) struct Fault {
    pub(super) id: u32,
    pub(super) what: &'static str,
}

/// Goes through entries.
pub(super) struct Derive<'d> {
    shard: &'d Shard,
    view: ReadPoint<'d>,
    names: usize,
    ids_end: u32,
    roots: &'d BTreeMap<u32, Vec<u8>>,
    /// Nodes that some set leads to.
    pub(super) nodes: Marks,
    /// Shapes that some entry has.
    pub(super) shapes: Marks,
}

/// A bit for each number, which several threads set.
pub(super) struct Marks(Vec<AtomicU64>);

impl Marks {
    /// For numbers below `end`.
    fn new(end: u32) -> Marks {
        Marks((0..end as usize / 64 + 1).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.0[number as usize / 64].load(Ordering::Relaxed) >> (number % 64) & 1 == 1
    }

    /// Sets a bit that is mostly set already: no thread writes then, and the cache line stays with all of them.
    #[inline]
    fn set(&self, number: u32) {
        if !self.has(number) {
            self.0[number as usize / 64].fetch_or(1 << (number % 64), Ordering::Relaxed);
        }
    }
}

impl<'d> Derive<'d> {
    /// The view is at the checkpoint's sequence, at which every object is the version to see.
    pub(super) fn new(shard: &'d Shard, meta: &Meta, roots: &'d BTreeMap<u32, Vec<u8>>) -> Derive<'d> {
        let (nodes, shapes) = (Marks::new(meta.nodes_end), Marks::new(meta.shapes_end()));
        let view = ReadPoint { shard, sequence: meta.sequence };
        Derive { shard, view, names: meta.names.len(), ids_end: meta.ids_end, roots, nodes, shapes }
    }

    /// Empty lists of a job. They are used again in each round, so their memory is taken once.
    pub(super) fn begin(&self) -> Derived {
        let indexes = usize::from(self.indexes());
        Derived {
            pairs: vec![Vec::new(); INDEXES + indexes],
            ordering: vec![Vec::new(); indexes],
            entries: 0,
            roots: 0,
            key: Vec::new(),
            normal: Vec::new(),
        }
    }

    /// Numbers of indexes are below this.
    pub(super) fn indexes(&self) -> u16 {
        self.view.indexes().numbers_end()
    }

    /// Derives what follows from the entries with these ids. Stops at the first fault: the shard is not made then.
    pub(super) fn run(&self, ids: Range<u32>, out: &mut Derived) -> Result<(), Fault> {
        assert!(ids.end <= self.ids_end, "a job looks at ids of the snapshot only");
        out.pairs.iter_mut().for_each(Vec::clear);
        // Id 0 is no entry: as a superior it stands for none. Slots of other ids may be empty.
        for id in ids.start.max(1)..ids.end {
            self.shard.heap.prefetch_object(id + AHEAD);
            if let Some(object) = self.shard.heap.read(id, self.view.sequence) {
                self.entry(id, object, out).map_err(|what| Fault { id, what })?;
            }
        }
        Ok(())
    }

    /// Checks a record and notes its name and superior; then its keys, which are made of values that are known to be whole.
    fn entry(&self, id: u32, object: Object<'d>, out: &mut Derived) -> Result<(), &'static str> {
        let shard = self.shard;
        let entry = EntryRef::checked(id, object.flags, object.payload, &shard.shapes, self.names)?;
        self.shapes.set(entry.shape.number);
        let parent = entry.parent().0;
        out.key.clear();
        // The key of a root is that of its whole DN, which its record does not have: the meta tells it.
        if parent == 0 {
            out.key.extend_from_slice(self.roots.get(&id).ok_or("an entry without a superior is no root")?);
            out.roots += 1;
        } else {
            self.superiors(id, parent)?;
            push_rdn(&shard.schema, &entry, &mut out.key).map_err(|_| "an RDN that cannot be")?;
        }
        out.pairs[DN].push((shard.dn_tag(parent, &out.key), id));
        out.pairs[CHILDREN].push((shard.child_tag(parent), id));
        out.entries += 1;
        self.keys(&entry, out)
    }

    /// Is the superior there, and does the way up end? A circle must lead to a higher id somewhere, so only those
    /// steps are followed up.
    fn superiors(&self, id: u32, parent: u32) -> Result<(), &'static str> {
        assert!(parent != 0, "a root has no superior to be looked for");
        let mut above = parent;
        for _ in 0..self.ids_end {
            let object = self.shard.heap.read(above, self.view.sequence);
            let object = object.ok_or("an entry whose superior is not there")?;
            above = EntryRef::parent_in(object.payload).ok_or("a record is cut off")?;
            if parent < id || above == 0 {
                return Ok(());
            }
        }
        Err("an entry is its own superior")
    }

    /// Notes the keys of all values for the indexes that the settings want now, whatever there was when the checkpoint was written.
    fn keys(&self, entry: &EntryRef<'d>, out: &mut Derived) -> Result<(), &'static str> {
        let (shard, id) = (self.shard, entry.id.0);
        let Derived { pairs, ordering, normal, .. } = out;
        let indexes = self.view.indexes();
        let mut each = |number: u16, key: Key| {
            let place = INDEXES + usize::from(number);
            match key {
                Key::Tag(tag) => pairs[place].push((tag, id)),
                // The values of a big set come one by one.
                Key::Attribute if pairs[place].last() == Some(&(0, id)) => {}
                Key::Attribute => pairs[place].push((0, id)),
                Key::Prefix(prefix) => {
                    // The keys of an entry come one behind the other.
                    let keys = &mut ordering[usize::from(number)];
                    if keys.last().is_some_and(|(last, of)| *of == id && *last != prefix) {
                        indexes.at(number).note_several_keys();
                    }
                    keys.push((prefix, id));
                }
            }
        };
        // Object classes are in the shape; all other values are in the record or in a tree of their own.
        let class_type = Description::plain(shard.schema.well_known().object_class);
        let classes = entry.shape.class_values.iter().map(|value| &**value);
        indexes.each_key(self.view, class_type, classes, normal, &mut each);
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            let Description { attribute_type, .. } = slot.description;
            match values {
                Values::Inline(values) => {
                    indexes.each_key(self.view, slot.description, values, normal, &mut each);
                }
                Values::Set(set) => {
                    let (mut count, mut ber_bytes) = (0u64, 0);
                    self.view.tree(set.root).walk(&mut |visit| match visit {
                        Visit::Node(node) => self.mark(node),
                        Visit::Item((key, value)) => {
                            if count < SET_VALUES_COMPARED
                                && key != shard.set_key(attribute_type, value, normal).0
                            {
                                return Err(OTHER_NUMBERS);
                            }
                            count += 1;
                            ber_bytes += ber_octets(value.len());
                            let value = std::iter::once(value);
                            indexes.each_key(self.view, slot.description, value, normal, &mut each);
                            Ok(())
                        }
                    })?;
                    if (count, ber_bytes) != (u64::from(set.count), set.ber_bytes) {
                        return Err("a set has another number or length of values than the entry says");
                    }
                }
            }
        }
        Ok(())
    }

    /// A tree leads to this node. A node that two ways lead to would be changed by one of them and forgotten by the other.
    fn mark(&self, node: u32) -> Result<(), &'static str> {
        let word = self.nodes.0.get(node as usize / 64).ok_or("a tree leads to a node that is not there")?;
        let bit = 1 << (node % 64);
        match word.fetch_or(bit, Ordering::Relaxed) & bit {
            0 => Ok(()),
            _ => Err("two ways lead to a node of a tree"),
        }
    }
}
