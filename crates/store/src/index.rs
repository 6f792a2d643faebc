//! Attribute indexes. An index on a type holds the values of its subtypes too, with all their options.
//!
//! Equality and substring indexes go from hashes to ids ([`Postings`]); presence is one set of ids; an ordering
//! index is a tree of the first eight bytes of the ordering key. All but the tree are supersets of the truth:
//! additions come before an entry is visible, removals after the last reader that may need them.
//!
//! An index is of one kind on one attribute. Which there are is in the [`Lookup`], which is replaced as a whole
//! when one comes or goes while others read ([`build`]).

pub(crate) mod build;
mod change;
mod held;
pub(crate) mod keys;
pub(crate) mod lookup;
pub(crate) mod rebuild;
pub(crate) mod settings;
pub(crate) mod verify;
mod walk;

use self::lookup::Lookup;
use self::settings::{IndexKind, IndexName};

use crate::hash::tag;
use crate::idset::IdSet;
use crate::postings::{Found, Postings, PostingsWriter};
use crate::shard::ReadPoint;
use model::TypeId;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One index: what kind of keys it holds of one attribute type.
pub(crate) struct AttributeIndex {
    pub(crate) attribute_type: TypeId,
    pub(crate) content: Content,
    /// Bytes as they were measured last.
    bytes: AtomicU64,
}

/// Where the keys of an index are.
pub(crate) enum Content {
    Equality(Postings),
    Presence(IdSet),
    Substring(Postings),
    /// Root of the tree, 0 until the first entry comes.
    Ordering(AtomicU32),
}

/// The writer's side of one index.
#[derive(Default)]
pub(crate) struct AttributeIndexWriter {
    /// Of one that has postings.
    pub(crate) postings: Option<PostingsWriter>,
    /// While loading: items of the ordering tree, not yet sorted.
    unsorted: Vec<(u64, u32)>,
}

/// By number of the index.
pub(crate) type IndexesWriter = Vec<Option<AttributeIndexWriter>>;

impl AttributeIndex {
    /// An empty one.
    ///
    /// # Errors
    /// When its address space cannot be reserved.
    fn create(
        name: IndexName,
        entries_max: usize,
    ) -> std::io::Result<(AttributeIndex, AttributeIndexWriter)> {
        let mut side = AttributeIndexWriter::default();
        let content = match name.kind {
            IndexKind::Presence => Content::Presence(IdSet::new()),
            IndexKind::Ordering => Content::Ordering(AtomicU32::new(0)),
            IndexKind::Equality | IndexKind::Substring => {
                let (postings, writer) = Postings::create(entries_max, true)?;
                side.postings = Some(writer);
                match name.kind {
                    IndexKind::Equality => Content::Equality(postings),
                    _ => Content::Substring(postings),
                }
            }
        };
        let bytes = AtomicU64::new(0);
        Ok((AttributeIndex { attribute_type: name.attribute_type, content, bytes }, side))
    }

    /// What it is called.
    pub(crate) fn name(&self) -> IndexName {
        IndexName { attribute_type: self.attribute_type, kind: self.kind() }
    }

    pub(crate) fn kind(&self) -> IndexKind {
        match self.content {
            Content::Equality(_) => IndexKind::Equality,
            Content::Presence(_) => IndexKind::Presence,
            Content::Substring(_) => IndexKind::Substring,
            Content::Ordering(_) => IndexKind::Ordering,
        }
    }

    /// The postings of an index of either kind that has them.
    #[inline]
    pub(crate) fn postings(&self) -> Option<&Postings> {
        match &self.content {
            Content::Equality(postings) | Content::Substring(postings) => Some(postings),
            Content::Presence(_) | Content::Ordering(_) => None,
        }
    }

    pub(crate) fn presence(&self) -> Option<&IdSet> {
        match &self.content {
            Content::Presence(set) => Some(set),
            _ => None,
        }
    }

    /// Where the root of the tree is kept.
    fn ordering(&self) -> Option<&AtomicU32> {
        match &self.content {
            Content::Ordering(root) => Some(root),
            _ => None,
        }
    }

    /// Root of the ordering tree, if it has one and it has been built.
    pub(crate) fn ordering_root(&self) -> Option<u32> {
        let root = self.ordering()?.load(Ordering::Acquire);
        (root != 0).then_some(root)
    }

    /// Does it hold values of this type?
    pub(crate) fn holds(&self, view: ReadPoint<'_>, attribute_type: TypeId) -> bool {
        view.shard.schema.is_subtype(attribute_type, self.attribute_type)
    }

    /// Bytes of memory, without a tree, which lies in the segments; those of sets estimated.
    fn measure(&self, side: &AttributeIndexWriter, view: ReadPoint<'_>) -> u64 {
        let bytes = match (&self.content, &side.postings) {
            (Content::Equality(postings) | Content::Substring(postings), Some(side)) => postings.bytes(side),
            (Content::Presence(set), _) => set.bytes(view),
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

impl<'a> ReadPoint<'a> {
    /// The indexes that there are.
    #[inline]
    pub(crate) fn indexes(self) -> &'a Lookup {
        self.shard.indexes.load(self)
    }

    /// Candidates of an equality assertion on this very type, by the hash of its normalised value; `None` without
    /// an index that tells.
    #[inline]
    pub(crate) fn equality_candidates(self, attribute_type: TypeId, hash: u64) -> Option<Found<'a>> {
        let index = self.indexes().answering(attribute_type, IndexKind::Equality)?;
        Some(index.postings()?.find(tag(hash)))
    }
}
