//! Attribute indexes. An index on a type holds the values of its subtypes too, with all their options.
//!
//! What the keys of an index are follows from its kind ([`kind`]), all else from the structure that holds them: lists of ids by the tag
//! of a hash ([`Postings`]), one set of ids, or a tree of the first eight bytes of an ordered key. All but the tree are supersets of the
//! truth: additions come before an entry is visible, removals after the last reader that may need them. The tree has versions.
//!
//! An index is of one kind on one attribute. Which there are is in the [`Lookup`], which is replaced as a whole
//! when one comes or goes while others read ([`build`]).

pub(crate) mod build;
mod change;
mod held;
pub(crate) mod in_order;
pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod kind;
mod least;
pub(crate) mod lookup;
pub(crate) mod rebuild;
pub(crate) mod settings;
pub(crate) mod verify;
mod walk;

use self::kind::{IndexKind, Probe, Structure};
use self::lookup::Lookup;
use self::settings::IndexName;

use crate::hash::tag;
use crate::idset::IdSet;
use crate::postings::{Found, Postings, PostingsWriter};
use crate::record::{EntryRef, Values};
use crate::shape::Slot;
use crate::shard::ReadPoint;
use model::{Description, EntryId, TypeId};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Slots that are looked at for each entry that may be there.
const SLOTS_FOR_AN_ENTRY: usize = 4;

/// One index: what kind of keys it holds of one attribute type.
/// Readers share it without a lock: each structure is one that a single writer changes while others read.
pub(crate) struct AttributeIndex {
    /// What it is called.
    pub(crate) name: IndexName,
    pub(crate) content: Content,
    /// Bytes as they were measured last.
    bytes: AtomicU64,
    exceptions: Exceptions,
}

/// What is special about the entries in a tree. Noted when such an entry is met, and never taken back: it would have to be known that there is
/// no other. Each start makes the index anew.
#[derive(Default)]
struct Exceptions {
    /// An entry may have several keys: the least of them counts, and that is looked for with each change.
    several: AtomicBool,
    /// A value may have none.
    none: AtomicBool,
    /// Of an entry it may not be known which of its keys is the least.
    unknown: AtomicBool,
}

/// The keys of an index, in the structure of its kind.
pub(crate) enum Content {
    Postings(Postings),
    Ids(IdSet),
    /// Root of the tree, 0 until the first entry comes.
    Tree(AtomicU32),
}

/// The writer's side of one index.
/// It is in the writer's state, apart from what readers see.
#[derive(Default)]
pub(crate) struct AttributeIndexWriter {
    /// Of one that has postings.
    pub(crate) postings: Option<PostingsWriter>,
    /// While loading: items of the tree, not yet sorted.
    unsorted: Vec<(u64, u32)>,
}

/// By number of the index.
pub(crate) type IndexesWriter = Vec<Option<AttributeIndexWriter>>;

impl AttributeIndex {
    /// An empty one.
    ///
    /// # Errors
    /// When its address space cannot be reserved.
    /// Postings reserve address space for as many entries as there may ever be; memory is taken as they grow.
    fn create(
        name: IndexName,
        entries_max: usize,
    ) -> std::io::Result<(AttributeIndex, AttributeIndexWriter)> {
        let mut side = AttributeIndexWriter::default();
        let content = match name.kind.structure() {
            Structure::Ids => Content::Ids(IdSet::new()),
            Structure::Tree => Content::Tree(AtomicU32::new(0)),
            Structure::Postings => {
                let (postings, writer) = Postings::create(entries_max, true)?;
                side.postings = Some(writer);
                Content::Postings(postings)
            }
        };
        let (bytes, exceptions) = (AtomicU64::new(0), Exceptions::default());
        Ok((AttributeIndex { name, content, bytes, exceptions }, side))
    }

    #[inline]
    pub(crate) fn postings(&self) -> Option<&Postings> {
        match &self.content {
            Content::Postings(postings) => Some(postings),
            Content::Ids(_) | Content::Tree(_) => None,
        }
    }

    pub(crate) fn ids(&self) -> Option<&IdSet> {
        match &self.content {
            Content::Ids(set) => Some(set),
            Content::Postings(_) | Content::Tree(_) => None,
        }
    }

    /// Root of the tree, if it has one and it has been built.
    /// A tree is made when its first key comes, in the batch of that key.
    pub(crate) fn tree_root(&self) -> Option<u32> {
        let Content::Tree(root) = &self.content else { return None };
        let root = root.load(Ordering::Acquire);
        (root != 0).then_some(root)
    }

    /// Takes notice of so many different keys that an entry has by the values of one attribute. Several attributes may have the values of one index,
    /// by options or as subtypes; who has one beside the plain one may have two keys.
    #[inline]
    pub(crate) fn note_keys(&self, description: Description, keys: usize) {
        let is_tree = matches!(self.content, Content::Tree(_));
        if is_tree && (keys > 1 || description != Description::plain(self.name.attribute_type)) {
            note(&self.exceptions.several);
        }
    }

    /// Takes notice of an entry that has several keys.
    pub(crate) fn note_several_keys(&self) {
        note(&self.exceptions.several);
    }

    /// May an entry have several keys? If not, each item of the tree counts.
    #[inline]
    pub(super) fn has_several_keys(&self) -> bool {
        self.exceptions.several.load(Ordering::Relaxed)
    }

    /// Takes notice of an entry whose least key is not known, or of a key without an entry.
    pub(crate) fn note_unknown_least(&self) {
        note(&self.exceptions.unknown);
    }

    /// Do those keys count that are the least of an entry, and no others?
    pub(crate) fn counts_least_keys(&self) -> bool {
        !self.exceptions.unknown.load(Ordering::Relaxed)
    }

    /// Does it tell the positions of entries in their order?
    pub(crate) fn has_positions(&self) -> bool {
        self.counts_least_keys() && self.has_all_values()
    }

    /// Has each value a key?
    pub(crate) fn has_all_values(&self) -> bool {
        !self.exceptions.none.load(Ordering::Relaxed)
    }

    /// How many candidates a probe leaves, at most; of a range it is estimated.
    /// Lengths of lists are kept, so it costs a lookup for each tag. What is dead but not yet removed counts too.
    pub(crate) fn candidates(&self, view: ReadPoint<'_>, probe: &Probe) -> u64 {
        match (probe, &self.content) {
            (Probe::Tags(tags), Content::Postings(postings)) => {
                let lens = tags.iter().map(|tag| postings.find(*tag).len() as u64);
                lens.min().expect("there is a tag")
            }
            (Probe::All, Content::Ids(set)) => u64::from(set.len()),
            // It is taken to leave a tenth, so that any equality has precedence over it.
            (Probe::Range(..), Content::Tree(_)) => view.shard.entries() / 10,
            _ => unreachable!("a probe is of the structure that its index has"),
        }
    }

    /// Does it hold values of this type?
    /// An index on a type has the values of its subtypes (RFC 4512 section 2.5.1.1): a search by the supertype finds them.
    fn holds(&self, view: ReadPoint<'_>, attribute_type: TypeId) -> bool {
        view.shard.schema.is_subtype(attribute_type, self.name.attribute_type)
    }

    /// The slots of an entry whose values it holds. Those of objectClass are in the shape.
    pub(crate) fn held_slots<'e>(
        &self,
        view: ReadPoint<'_>,
        entry: &EntryRef<'e>,
    ) -> impl Iterator<Item = (&'e Slot, Values<'e>)> {
        let slots = entry.shape.slots.iter().zip(entry.slots());
        slots.filter(move |(slot, _)| self.holds(view, slot.description.attribute_type))
    }

    /// Is it the equality index of this very type? Its keys are those that a set has the values under: the same rule makes the
    /// same hash.
    pub(crate) fn is_own_equality(&self, attribute_type: TypeId) -> bool {
        self.name.kind.is_of_value_hash() && self.name.attribute_type == attribute_type
    }

    /// Bytes of memory, without a tree, which lies in the segments; those of sets estimated.
    /// Called when memory is measured, by who has the writer's role.
    fn measure(&self, side: &AttributeIndexWriter, view: ReadPoint<'_>) -> u64 {
        let bytes = match (&self.content, &side.postings) {
            (Content::Postings(postings), Some(side)) => postings.bytes(side),
            (Content::Ids(set), _) => set.bytes(view),
            _ => side.unsorted.capacity() * 16,
        };
        self.bytes.store(bytes as u64, Ordering::Relaxed);
        bytes as u64
    }

    /// As [`Self::measure`] found last.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Sets a flag. It is mostly set already where it is set at all: its cache line then stays with all threads.
#[inline]
fn note(flag: &AtomicBool) {
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Relaxed);
    }
}

impl<'a> ReadPoint<'a> {
    /// The indexes that there are.
    #[inline]
    pub(crate) fn indexes(self) -> &'a Lookup {
        self.shard.indexes.load(self)
    }

    /// Entries that may have a value of this very type with this normal form; `None` without an index that tells.
    pub fn may_have_value(self, attribute_type: TypeId, normal: &[u8]) -> Option<Vec<EntryId>> {
        let found = self.equality_candidates(attribute_type, self.shard.value_hash(normal))?;
        let mut ids = Vec::new();
        found.push_from(0, usize::MAX, self, &mut ids);
        Some(ids.into_iter().map(EntryId).collect())
    }

    /// Entries that may have an attribute. `None` if that cannot be known soon: by an index on its presence there are more than `most`, or
    /// there is none, and more than `entries_max` entries to be looked at, or there were once [`SLOTS_FOR_AN_ENTRY`] times as many.
    pub fn may_have_attribute(
        self,
        attribute_type: TypeId,
        most: usize,
        entries_max: usize,
    ) -> Option<Vec<EntryId>> {
        let mut ids = Vec::new();
        let most = match self.indexes().answering(attribute_type, IndexKind::Presence) {
            Some(index) => {
                index.ids()?.push_from(0, most + 1, self, &mut ids);
                most
            }
            None => {
                let end = self.shard.ids_end();
                // An id without an entry costs a look at its slot.
                let slots_max = entries_max.saturating_mul(SLOTS_FOR_AN_ENTRY);
                if self.shard.entries() > entries_max as u64 || end as usize > slots_max {
                    return None;
                }
                ids.extend((1..end).filter(|id| self.entry(EntryId(*id)).is_some()));
                entries_max
            }
        };
        (ids.len() <= most).then(|| ids.into_iter().map(EntryId).collect())
    }

    /// Candidates of an equality assertion on this very type, by the hash of its normalised value; `None` without
    /// an index that tells.
    #[inline]
    pub(crate) fn equality_candidates(self, attribute_type: TypeId, hash: u64) -> Option<Found<'a>> {
        let index = self.indexes().answering(attribute_type, IndexKind::Equality)?;
        Some(index.postings()?.find(tag(hash)))
    }
}
