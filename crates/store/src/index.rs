//! Attribute indexes. An index on a type holds the values of its subtypes too, with all their options.
//!
//! Equality and substring indexes go from hashes to ids ([`Postings`]); presence is one set of ids; an ordering
//! index is a tree of the first eight bytes of the ordering key. All but the tree are supersets of the truth:
//! additions come before an entry is visible, removals after the last reader that may need them.

use crate::deferred::Later;
use crate::hash::{Full, tag};
use crate::idset::IdSet;
use crate::postings::{Context, Found, Postings, PostingsWriter};
use crate::record::{EntryRef, Values};
use crate::refused::Refused;
use crate::shard::{ReadPoint, Writer};
use crate::tree::{self, TreeWriter};
use crate::values::SetPosition;
use env::planted::{self, Fault};
use model::{Description, EntryId, TypeId};
use schema::Schema;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

mod rebuild;

pub(crate) use rebuild::{KeyScratch, gather};

/// Anchors that mark the ends of a value among its trigrams.
const START: u8 = 1;
const END: u8 = 2;

/// Which indexes an attribute type has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexSettings {
    /// Attribute type, by name or OID.
    pub attribute: String,
    /// `eq`: for `(a=b)`.
    pub equality: bool,
    /// `pres`: for `(a=*)`.
    pub presence: bool,
    /// `sub`: for `(a=b*c)`, where the parts have three or more bytes, ends of the value included.
    pub substring: bool,
    /// `ord`: for `(a>=b)` and `(a<=b)`.
    pub ordering: bool,
}

/// A key in one index of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Hash of the normalised value.
    Equality(u64),
    /// The attribute is there.
    Presence,
    /// Hash of three bytes of the normalised value.
    Substring(u64),
    /// First bytes of the ordering key.
    Ordering(u64),
}

/// Does an entry have a key?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Yes,
    No,
    /// Perhaps: one of its big sets would have to be walked through.
    Unknown,
}

impl Keeps {
    fn of(has: bool) -> Keeps {
        if has { Keeps::Yes } else { Keeps::No }
    }
}

/// The indexes of one attribute type.
pub(crate) struct AttributeIndex {
    pub(crate) attribute_type: TypeId,
    pub(crate) equality: Option<Postings>,
    pub(crate) presence: Option<IdSet>,
    pub(crate) substring: Option<Postings>,
    /// Root of the tree, 0 until the first entry comes.
    ordering: Option<AtomicU32>,
}

/// The writer's side of one attribute's indexes.
pub(crate) struct AttributeIndexWriter {
    equality: Option<PostingsWriter>,
    substring: Option<PostingsWriter>,
    /// While loading: items of the ordering tree, not yet sorted.
    unsorted: Vec<(u64, u32)>,
}

/// All attribute indexes.
pub(crate) struct Indexes {
    all: Vec<AttributeIndex>,
    /// By attribute type: the indexes that hold its values.
    by_type: Vec<Vec<u16>>,
}

pub(crate) type IndexesWriter = Vec<AttributeIndexWriter>;

impl Indexes {
    pub(crate) fn create(
        settings: &[IndexSettings],
        schema: &Schema,
        entries_max: usize,
    ) -> Result<(Indexes, IndexesWriter), String> {
        let (mut all, mut writers) = (Vec::new(), Vec::new());
        let postings = |wanted: bool| -> Result<(Option<Postings>, Option<PostingsWriter>), String> {
            match wanted.then(|| Postings::create(entries_max)).transpose() {
                Ok(made) => Ok(made.unzip()),
                Err(e) => Err(e.to_string()),
            }
        };
        let mut by_type = vec![Vec::new(); schema.attribute_types().len()];
        for wanted in settings {
            let name = &wanted.attribute;
            let attribute_type = wanted.attribute_type(schema)?;
            if all.iter().any(|i: &AttributeIndex| i.attribute_type == attribute_type) {
                return Err(format!("index on {name}: given twice"));
            }
            let ((equality, equality_writer), (substring, substring_writer)) =
                (postings(wanted.equality)?, postings(wanted.substring)?);
            for subtype in schema.subtypes(attribute_type) {
                by_type[subtype.0 as usize].push(all.len() as u16);
            }
            all.push(AttributeIndex {
                attribute_type,
                equality,
                presence: wanted.presence.then(IdSet::new),
                substring,
                ordering: wanted.ordering.then(|| AtomicU32::new(0)),
            });
            writers.push(AttributeIndexWriter {
                equality: equality_writer,
                substring: substring_writer,
                unsorted: vec![],
            });
        }
        Ok((Indexes { all, by_type }, writers))
    }

    /// The indexes of this very type, for an assertion on it.
    #[inline]
    pub(crate) fn of(&self, attribute_type: TypeId) -> Option<&AttributeIndex> {
        self.number_of(attribute_type).map(|number| self.at(number))
    }

    /// Number of the indexes of this very type.
    #[inline]
    pub(crate) fn number_of(&self, attribute_type: TypeId) -> Option<u16> {
        let mut numbers = self.numbers_of(attribute_type).iter().copied();
        numbers.find(|number| self.at(*number).attribute_type == attribute_type)
    }

    /// The indexes with this number.
    #[inline]
    pub(crate) fn at(&self, number: u16) -> &AttributeIndex {
        &self.all[usize::from(number)]
    }

    /// Numbers of the indexes that hold values of this type.
    pub(crate) fn numbers_of(&self, attribute_type: TypeId) -> &[u16] {
        self.by_type.get(usize::from(attribute_type.0)).map_or(&[], Vec::as_slice)
    }

    /// Must a change of values of this type be noted in some index?
    pub(crate) fn cover(&self, attribute_type: TypeId) -> bool {
        !self.numbers_of(attribute_type).is_empty()
    }

    /// Do indexes stay as they are when a value of this type gives way to another?
    #[inline]
    pub(crate) fn outlast_values(&self, attribute_type: TypeId) -> bool {
        let Some(numbers) = self.by_type.get(attribute_type.0 as usize) else { return true };
        numbers
            .iter()
            .map(|number| &self.all[*number as usize])
            .all(|index| index.equality.is_none() && index.substring.is_none() && index.ordering.is_none())
    }

    pub(crate) fn bytes(&self, writers: &IndexesWriter, view: ReadPoint<'_>) -> u64 {
        let mut sum = 0;
        for (index, writer) in self.all.iter().zip(writers) {
            for (postings, side) in
                [(&index.equality, &writer.equality), (&index.substring, &writer.substring)]
            {
                if let (Some(postings), Some(side)) = (postings, side) {
                    sum += postings.bytes(side);
                }
            }
            sum += index.presence.as_ref().map_or(0, |set| set.bytes(view));
            sum += writer.unsorted.capacity() * 16;
        }
        sum as u64
    }
}

impl IndexSettings {
    /// The type to index.
    ///
    /// # Errors
    /// That the schema does not know it, or that it lacks a matching rule that the index needs.
    pub fn attribute_type(&self, schema: &Schema) -> Result<TypeId, String> {
        let name = &self.attribute;
        let Some(attribute_type) = schema.find_type(name.as_bytes()) else {
            return Err(format!("the schema has no attribute `{name}`"));
        };
        let definition = schema.attribute_type(attribute_type);
        let missing = [
            (self.equality && definition.equality.is_none(), "equality"),
            (self.substring && definition.substring.is_none(), "substring"),
            (self.ordering && definition.ordering.is_none(), "ordering"),
        ];
        match missing.iter().find(|(is_missing, _)| *is_missing) {
            Some((_, kind)) => {
                Err(format!("`{name}` cannot be indexed so: the type has no {kind} matching rule"))
            }
            None => Ok(attribute_type),
        }
    }
}

impl AttributeIndex {
    /// Root of the ordering tree, if there is one and it has been built.
    pub(crate) fn ordering_root(&self) -> Option<Option<u32>> {
        let root = self.ordering.as_ref()?.load(Ordering::Acquire);
        Some((root != 0).then_some(root))
    }

    /// Does it hold values of this type?
    pub(crate) fn holds(&self, view: ReadPoint<'_>, attribute_type: TypeId) -> bool {
        view.shard.schema.is_subtype(attribute_type, self.attribute_type)
    }

    /// Does this version of an entry have a key?
    fn keeps(&self, view: ReadPoint<'_>, entry: &EntryRef<'_>, key: Key) -> Keeps {
        let mut keys = Vec::new();
        if view.shard.schema.well_known().object_class == self.attribute_type {
            entry.shape.class_values.iter().for_each(|value| self.push_keys(view, value, &mut keys));
            return Keeps::of(key == Key::Presence || keys.contains(&key));
        }
        let mut sum = Keeps::No;
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            if !self.holds(view, slot.description.attribute_type) {
                continue;
            }
            let keeps = match (values, key) {
                (_, Key::Presence) => Keeps::Yes,
                (Values::Inline(values), _) => {
                    keys.clear();
                    values.for_each(|value| self.push_keys(view, value, &mut keys));
                    Keeps::of(keys.contains(&key))
                }
                (Values::Set(set), Key::Equality(hash)) => {
                    Keeps::of(tree::contains(&view.shard.heap, set.root, view.sequence, hash, |_| true))
                }
                (Values::Set(_), _) => Keeps::Unknown,
            };
            match keeps {
                Keeps::Yes => return Keeps::Yes,
                Keeps::Unknown => sum = Keeps::Unknown,
                Keeps::No => {}
            }
        }
        sum
    }

    /// Takes the keys that a version of an entry has out of `keys`. Walks through its sets.
    pub(crate) fn strike_out(&self, view: ReadPoint<'_>, entry: &EntryRef<'_>, keys: &mut BTreeSet<Key>) {
        let mut own = Vec::new();
        let mut strike = |value: &[u8]| {
            own.clear();
            self.push_keys(view, value, &mut own);
            for key in &own {
                keys.remove(key);
            }
        };
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            if !self.holds(view, slot.description.attribute_type) {
                continue;
            }
            match values {
                Values::Inline(values) => values.for_each(&mut strike),
                Values::Set(set) => {
                    let mut position = SetPosition::default();
                    while view.set_values(&set, &mut position, &mut strike) {}
                }
            }
        }
    }

    /// Are the keys of values of this type just those of an equality index on this very type?
    fn is_just_equality_of(&self, attribute_type: TypeId) -> bool {
        self.attribute_type == attribute_type
            && self.equality.is_some()
            && self.substring.is_none()
            && self.ordering.is_none()
    }

    /// The keys of one value.
    fn push_keys(&self, view: ReadPoint<'_>, value: &[u8], out: &mut Vec<Key>) {
        self.each_key(view, value, &mut Vec::new(), &mut |key| out.push(key));
    }

    fn each_key(&self, view: ReadPoint<'_>, value: &[u8], normal: &mut Vec<u8>, each: &mut impl FnMut(Key)) {
        let schema = &view.shard.schema;
        let definition = schema.attribute_type(self.attribute_type);
        normal.clear();
        if self.equality.is_some() && schema.normalise_equality(self.attribute_type, value, normal).is_ok() {
            each(Key::Equality(view.shard.value_hash(normal)));
        }
        normal.clear();
        if let (Some(_), Some(rule)) = (&self.substring, definition.substring)
            && rule.normalise_value(schema, value, normal).is_ok()
        {
            trigrams(view, normal).for_each(|hash| each(Key::Substring(hash)));
        }
        normal.clear();
        if let (Some(_), Some(rule)) = (&self.ordering, definition.ordering)
            && rule.ordering_key(schema, value, normal).is_ok()
        {
            each(Key::Ordering(prefix(normal)));
        }
    }
}

/// The first eight bytes as a number in the same order.
pub(crate) fn prefix(key: &[u8]) -> u64 {
    let mut word = [0; 8];
    let len = key.len().min(8);
    word[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(word)
}

/// Hashes of all runs of three bytes of a normalised value with its ends marked.
fn trigrams<'n>(view: ReadPoint<'n>, normal: &'n [u8]) -> impl Iterator<Item = u64> + 'n {
    let at = move |n: usize| match n {
        0 => START,
        n if n == normal.len() + 1 => END,
        n => normal[n - 1],
    };
    (0..normal.len()).map(move |n| view.shard.value_hash(&[at(n), at(n + 1), at(n + 2)]))
}

/// Hashes of the trigrams that a value must have to contain this part.
pub(crate) fn part_trigrams(view: ReadPoint<'_>, part: &[u8], is_initial: bool, is_final: bool) -> Vec<u64> {
    let mut text = Vec::with_capacity(part.len() + 2);
    text.extend(is_initial.then_some(START));
    text.extend_from_slice(part);
    text.extend(is_final.then_some(END));
    text.windows(3).map(|three| view.shard.value_hash(three)).collect()
}

impl<'s> Writer<'s> {
    /// Notes a change of one attribute's inline values: `old` or `new` is empty if it was or is absent.
    pub(crate) fn index_change<'v>(
        &mut self,
        id: u32,
        description: Description,
        old: impl Iterator<Item = &'v [u8]> + Clone,
        new: impl Iterator<Item = &'v [u8]> + Clone,
    ) -> Result<(), Refused> {
        let shard = self.shard;
        for &number in shard.indexes.numbers_of(description.attribute_type) {
            let index = shard.indexes.at(number);
            let (mut gone, mut come) = (Vec::new(), Vec::new());
            old.clone().for_each(|value| index.push_keys(self.view(), value, &mut gone));
            new.clone().for_each(|value| index.push_keys(self.view(), value, &mut come));
            if index.presence.is_some() {
                gone.extend(old.clone().next().map(|_| Key::Presence));
                come.extend(new.clone().next().map(|_| Key::Presence));
            }
            for keys in [&mut gone, &mut come] {
                keys.sort_unstable();
                keys.dedup();
            }
            for key in come.iter().filter(|key| gone.binary_search(key).is_err()) {
                if planted::is_at_replay(Fault::IndexEntryForgotten) && id.is_multiple_of(4) {
                    continue;
                }
                self.add_key(number, *key, id)?;
            }
            for key in gone.iter().filter(|key| come.binary_search(key).is_err()) {
                self.drop_key(number, *key, id);
            }
        }
        Ok(())
    }

    fn add_key(&mut self, number: u16, key: Key, id: u32) -> Result<(), Refused> {
        let (shard, view, loading, version) = (self.shard, self.view(), self.loading, self.version());
        let index = shard.indexes.at(number);
        let state = &mut *self.state;
        let side = &mut state.indexes[number as usize];
        let mut context = Context { readers: &shard.readers, view, garbage: &mut state.garbage };
        let full = |Full| Refused::MemoryLimit { bytes_max: shard.settings.memory_bytes_max };
        match (key, &index.equality, &index.substring) {
            (Key::Equality(hash), Some(postings), _) => {
                let writer = side.equality.as_mut().expect("an index has its writer's side");
                postings.insert(writer, &mut context, tag(hash), id, |_| true).map_err(full)
            }
            (Key::Substring(hash), _, Some(postings)) => {
                let writer = side.substring.as_mut().expect("an index has its writer's side");
                postings.insert(writer, &mut context, tag(hash), id, |_| true).map_err(full)
            }
            (Key::Presence, ..) => {
                if let Some(set) = &index.presence {
                    set.insert(id, view, &mut state.garbage);
                }
                Ok(())
            }
            (Key::Ordering(prefix), ..) if loading => {
                side.unsorted.push((prefix, id));
                Ok(())
            }
            (Key::Ordering(prefix), ..) => {
                let root = index.ordering.as_ref().expect("the key is of this index");
                let mut removed = Vec::new();
                let mut tree = TreeWriter {
                    heap: &shard.heap,
                    writer: &mut state.heap,
                    sequence: version,
                    removed: &mut removed,
                };
                let change = tree_root(root, &mut tree)
                    .and_then(|root| tree.insert(root, (prefix, &id.to_be_bytes())));
                removed.into_iter().for_each(|node| self.later(Later::ForgetNode(node)));
                change.map(|_| ()).map_err(|_| full(Full))
            }
            _ => unreachable!("keys are made by the index that takes them"),
        }
    }

    pub(crate) fn drop_key(&mut self, number: u16, key: Key, id: u32) {
        match key {
            Key::Ordering(prefix) => self.state.scratch.dropped.push((number, prefix)),
            _ => self.later(Later::Key { index: number, key, id }),
        }
    }

    /// Takes ordering keys that a change dropped out of their trees, unless the changed entry has them from another
    /// value. To be called when the entry is written.
    pub(crate) fn settle_ordering(&mut self, id: u32) {
        let mut dropped = std::mem::take(&mut self.state.scratch.dropped);
        for (number, prefix) in dropped.drain(..) {
            let (view, key) = (self.view(), Key::Ordering(prefix));
            let keeps = match view.entry(EntryId(id)) {
                Some(entry) => self.shard.indexes.at(number).keeps(view, &entry, key),
                None => Keeps::No,
            };
            match keeps {
                Keeps::Yes => {}
                Keeps::No => self.remove_ordering(number, prefix, id),
                Keeps::Unknown => self.leave_behind(number, key, id, self.sequence),
            }
        }
        self.state.scratch.dropped = dropped;
    }

    pub(crate) fn remove_ordering(&mut self, number: u16, prefix: u64, id: u32) {
        let (shard, sequence) = (self.shard, self.version());
        let root = shard.indexes.at(number).ordering.as_ref().map_or(0, |root| root.load(Ordering::Relaxed));
        if root == 0 {
            return;
        }
        let mut removed = Vec::new();
        let writer = &mut self.state.heap;
        let mut tree = TreeWriter { heap: &shard.heap, writer, sequence, removed: &mut removed };
        tree.remove(root, (prefix, &id.to_be_bytes())).expect("removing makes no node");
        removed.into_iter().for_each(|node| self.later(Later::ForgetNode(node)));
    }

    /// Takes a key away for good, unless a version of the entry that a reader may see has it.
    pub(crate) fn remove_key(&mut self, number: u16, key: Key, id: u32, oldest: u64) {
        let (index, mut is_unknown) = (self.shard.indexes.at(number), false);
        let is_kept = self.any_version(id, oldest, |at, entry| {
            let keeps = index.keeps(at, entry, key);
            is_unknown |= keeps == Keeps::Unknown;
            keeps == Keeps::Yes
        });
        match (is_kept, is_unknown) {
            (true, _) => {}
            (false, true) => self.leave_behind(number, key, id, oldest),
            (false, false) => self.take_key(number, key, id),
        }
    }

    /// Takes a key away that no version of the entry has which a reader may see.
    pub(crate) fn take_key(&mut self, number: u16, key: Key, id: u32) {
        let (shard, view) = (self.shard, self.view());
        let index = shard.indexes.at(number);
        let state = &mut *self.state;
        let side = &mut state.indexes[number as usize];
        let mut context = Context { readers: &shard.readers, view, garbage: &mut state.garbage };
        match key {
            Key::Equality(hash) => {
                if let (Some(postings), Some(writer)) = (&index.equality, &mut side.equality) {
                    postings.remove(writer, &mut context, tag(hash), id);
                }
            }
            Key::Substring(hash) => {
                if let (Some(postings), Some(writer)) = (&index.substring, &mut side.substring) {
                    postings.remove(writer, &mut context, tag(hash), id);
                }
            }
            Key::Presence => {
                if let Some(set) = &index.presence {
                    set.remove(id, view, &mut state.garbage);
                }
            }
            Key::Ordering(_) => unreachable!("the tree is versioned: nothing is put off"),
        }
    }

    /// Adds or drops the keys of one value of a big set; `known` is its equality key, if that was worked out before.
    pub(crate) fn index_set_value(
        &mut self,
        id: u32,
        description: Description,
        value: &[u8],
        known: Option<u64>,
        add: bool,
    ) -> Result<(), Refused> {
        let shard = self.shard;
        for &number in shard.indexes.numbers_of(description.attribute_type) {
            let index = shard.indexes.at(number);
            let mut keys = Vec::new();
            match known.filter(|_| index.is_just_equality_of(description.attribute_type)) {
                Some(hash) => keys.push(Key::Equality(hash)),
                None => index.push_keys(self.view(), value, &mut keys),
            }
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                if add {
                    self.add_key(number, key, id)?;
                } else {
                    self.drop_key(number, key, id);
                }
            }
        }
        Ok(())
    }

    /// Ends a load: sorts what was gathered for the ordering indexes and builds their trees.
    pub fn finish_load(&mut self) -> Result<(), Refused> {
        let (shard, version) = (self.shard, self.version());
        for number in 0..shard.indexes.all.len() {
            let mut items = std::mem::take(&mut self.state.indexes[number].unsorted);
            let Some(root) = &shard.indexes.all[number].ordering else { continue };
            items.sort_unstable();
            items.dedup();
            self.claim(items.len() * 24 + (1 << 20))?;
            let ids: Vec<_> = items.iter().map(|(prefix, id)| (*prefix, id.to_be_bytes())).collect();
            let mut removed = Vec::new();
            let writer = &mut self.state.heap;
            let mut tree = TreeWriter { heap: &shard.heap, writer, sequence: version, removed: &mut removed };
            let full = |_| Refused::MemoryLimit { bytes_max: shard.settings.memory_bytes_max };
            if root.load(Ordering::Relaxed) == 0 {
                let built = tree.build(ids.iter().map(|(prefix, id)| (*prefix, &id[..]))).map_err(full)?;
                root.store(built, Ordering::Release);
            } else {
                let root = root.load(Ordering::Relaxed);
                for (prefix, id) in &ids {
                    tree.insert(root, (*prefix, id)).map_err(full)?;
                }
            }
        }
        Ok(())
    }
}

fn tree_root(root: &AtomicU32, tree: &mut TreeWriter<'_>) -> Result<u32, crate::segment::HeapFull> {
    if root.load(Ordering::Relaxed) == 0 {
        let built = tree.build(std::iter::empty())?;
        root.store(built, Ordering::Release);
    }
    Ok(root.load(Ordering::Relaxed))
}

impl<'a> ReadPoint<'a> {
    /// Candidates of an equality assertion, by the hash of its normalised value.
    #[inline]
    pub(crate) fn equality_candidates(self, index: &'a AttributeIndex, hash: u64) -> Option<Found<'a>> {
        Some(index.equality.as_ref()?.find(tag(hash)))
    }
}
