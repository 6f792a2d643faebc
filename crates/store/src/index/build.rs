//! Indexes that come and go while others read and write.
//!
//! An index that is begun is maintained by every change from then on, and answers nobody. Steps put the keys of the
//! entries that are there into it, a few entries at a time, in the order of their ids: a key that is there already is
//! left as it is, so it does not matter whether a change or a step comes first. When all are in, the index is exact for
//! what is published then, and a superset for what comes later, but not for older read points: values that entries lost
//! before their turn came are not in it. So it answers from the moment on when no reader is older than its last step.
//!
//! An index that is dropped leaves the lookup at once. What still reads by the old lookup, or goes on with a long list of
//! the index, keeps it; nothing changes in it any more. Its number and the nodes of its tree are free when no reader is
//! older than that.

use super::kind::Structure;
use super::lookup::{Lookup, put};
use super::settings::{IndexName, IndexSettings};
use super::walk::{KeyWalk, Taken};
use super::{AttributeIndex, AttributeIndexWriter};
use crate::refused::Refused;
use crate::shard::{ReadPoint, Writer};
use crate::tree::CHANGE_BYTES;
use model::Description;
use model::limits::INDEXES_MAX;
use std::fmt;
use std::sync::Arc;

/// An index that is being built.
/// It is outside the shard, so the writer's role is free between two steps. Dropping it without giving it up would leave an index that is
/// maintained for nobody.
#[derive(Debug)]
#[must_use = "it is maintained until it is given up"]
pub struct IndexBuild {
    name: IndexName,
    number: u16,
    /// How far the entries are in.
    walk: KeyWalk,
    /// The last step's sequence, once all entries are in.
    complete_at: Option<u64>,
}

impl IndexBuild {
    /// Which index.
    pub fn name(&self) -> IndexName {
        self.name
    }

    /// Entries that were looked at.
    pub fn entries(&self) -> u64 {
        self.walk.entries()
    }
}

/// An index that was dropped and is not free yet.
/// Its holder frees the rest in steps ([`Writer::index_free`]).
#[must_use = "its number and nodes are taken until it is free"]
pub struct IndexDrop {
    number: u16,
    /// Who reads at a sequence before this one may still look at it.
    since: u64,
    /// What takes the memory: it goes with this, wherever that is dropped, or with the last search that reads it.
    _content: (Arc<AttributeIndex>, Option<AttributeIndexWriter>),
}

/// Why no index is begun.
/// None of these changes anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexRefused {
    /// There is one, or one is being built.
    Exists,
    /// The attribute type lacks a matching rule of this kind.
    NoRule(&'static str),
    /// There are as many as there may be.
    TooMany,
    /// Address space cannot be had.
    Memory,
}

impl fmt::Display for IndexRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexRefused::Exists => f.write_str("there is one already"),
            IndexRefused::NoRule(rule) => write!(f, "the attribute type has no {rule} matching rule"),
            IndexRefused::TooMany => write!(f, "there are {INDEXES_MAX} indexes, and no more may be"),
            IndexRefused::Memory => f.write_str("the system has no address space for it"),
        }
    }
}

/// An index as it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexReport {
    /// Which one.
    pub name: IndexName,
    /// Does it answer searches? Else it is being built.
    pub is_ready: bool,
    /// Bytes of memory as they were measured last; of a tree none, for it lies in the segments.
    pub bytes: u64,
    /// Does it tell the positions of entries in their order? `None` of a kind that has no order.
    pub has_positions: Option<bool>,
}

impl ReadPoint<'_> {
    /// The indexes that there are, by name.
    /// In the order of their names, which two calls share.
    pub fn index_report(self) -> Vec<IndexReport> {
        let lookup = self.indexes();
        let report = |(number, index): (u16, &Arc<AttributeIndex>)| IndexReport {
            name: index.name,
            is_ready: lookup.is_answering(number),
            bytes: index.bytes(),
            has_positions: (index.name.kind.structure() == Structure::Tree).then(|| index.has_positions()),
        };
        let mut all: Vec<IndexReport> = lookup.all().map(report).collect();
        all.sort_unstable_by_key(|report| report.name);
        all
    }
}

impl Writer<'_> {
    /// Takes notice of types that were added to the schema: from this batch on the indexes hold values of those that are subtypes of
    /// theirs. Of the indexes that are `wanted` those on such a type are made; they answer at once, for no entry has a value of it.
    /// To be called before an update may use the types. Returns which indexes cannot be made, and why.
    pub fn take_added_types(&mut self, wanted: &[IndexSettings]) -> Vec<(IndexName, IndexRefused)> {
        let shard = self.shard;
        let mut next = self.view().indexes().clone();
        let added = next.grow(&shard.schema);
        let mut refused = Vec::new();
        for wanted in wanted {
            let Ok(attribute_type) = wanted.attribute_type(&shard.schema) else { continue };
            if !added.contains(&usize::from(attribute_type.0)) {
                continue;
            }
            for &kind in &wanted.kinds {
                let name = IndexName { attribute_type, kind };
                match self.place(&mut next, name) {
                    Ok(number) => next.answer(number),
                    Err(why) => refused.push((name, why)),
                }
            }
        }
        shard.indexes.swap(next, &mut self.state.garbage);
        // As when an index begins.
        self.names_change();
        refused
    }

    /// Puts a new index, which is empty, among others.
    fn place(&mut self, to: &mut Lookup, name: IndexName) -> Result<u16, IndexRefused> {
        let shard = self.shard;
        if let Some(rule) = name.missing_rule(&shard.schema) {
            return Err(IndexRefused::NoRule(rule));
        }
        if to.number_of(name).is_some() {
            return Err(IndexRefused::Exists);
        }
        let is_free = |number: &u16| to.get(*number).is_none() && !self.state.leaving.contains_key(number);
        let number = (0..INDEXES_MAX as u16).find(is_free).ok_or(IndexRefused::TooMany)?;
        let (index, side) =
            AttributeIndex::create(name, shard.entries_max()).map_err(|_| IndexRefused::Memory)?;
        to.place(number, index, &shard.schema);
        put(&mut self.state.indexes, number, Some(side));
        Ok(number)
    }

    /// Begins an index: from this batch on every change is noted in it. It answers nobody yet.
    ///
    /// # Errors
    /// See [`IndexRefused`].
    pub fn index_begin(&mut self, name: IndexName) -> Result<IndexBuild, IndexRefused> {
        let shard = self.shard;
        // A lookup has some kilobytes, and indexes come and go seldom.
        let mut next = self.view().indexes().clone();
        let number = self.place(&mut next, name)?;
        shard.indexes.swap(next, &mut self.state.garbage);
        // Modifies that were prepared before do not know of it; they are looked at again.
        self.names_change();
        Ok(IndexBuild { name, number, walk: KeyWalk::begin(), complete_at: None })
    }

    /// Puts the keys of some more entries into an index that was begun, of about `keys_max` keys. True when all are in.
    ///
    /// # Errors
    /// When the directory takes more than `bytes_max` bytes of memory, or room is used up: the index is to be given up.
    ///
    /// # Panics
    /// While loading.
    /// The same step may put a key in that a change has put in already: adding is idempotent in each structure.
    pub fn index_step(
        &mut self,
        build: &mut IndexBuild,
        keys_max: usize,
        bytes_max: u64,
    ) -> Result<bool, Refused> {
        assert!(!self.loading, "a load fills all indexes itself");
        if build.complete_at.is_some() {
            return Ok(true);
        }
        // An index of many values may be larger than the entries, so the limit is looked at before each step.
        self.measure();
        if self.shard.memory().total() > bytes_max {
            return Err(Refused::MemoryLimit { bytes_max });
        }
        let mut room = build.walk.room(self.view(), self.view().indexes().at(build.number), keys_max);
        if build.name.kind.structure() == Structure::Tree {
            // At once, before any entry is looked at: making room moves what lies in the segments.
            self.claim(room.saturating_mul(CHANGE_BYTES))?;
        }
        let (end, mut keys) = (self.state.heap.ids.end(), Vec::new());
        loop {
            let view = self.view();
            match build.walk.take(view, view.indexes().at(build.number), end, &mut room, &mut keys) {
                Taken::Of(id) => {
                    let index = view.indexes().at(build.number);
                    index.note_keys(Description::plain(build.name.attribute_type), keys.len());
                    keys.drain(..).try_for_each(|key| self.add_key(build.number, key, id))?;
                    self.settle_trees(id);
                }
                Taken::Full => return Ok(false),
                Taken::End => break,
            }
        }
        // This batch is published with the last keys: who reads at it or later finds all.
        build.complete_at = Some(self.sequence);
        Ok(true)
    }

    /// Lets an index answer in which all entries are. False while there are readers that it must not answer: to be tried
    /// again.
    /// Readers that began before the last step may look for values that entries had then and have lost since, which are not in the index.
    pub fn index_ready(&mut self, build: &IndexBuild) -> bool {
        let shard = self.shard;
        if build.complete_at.is_none_or(|at| shard.readers.oldest() < at) {
            return false;
        }
        let mut next = self.view().indexes().clone();
        next.answer(build.number);
        shard.indexes.swap(next, &mut self.state.garbage);
        true
    }

    /// Gives an index up that is being built.
    pub fn index_give_up(&mut self, build: IndexBuild) -> IndexDrop {
        self.take_out(build.number)
    }

    /// Drops an index that answers; `None` if there is no such one. Searches that begin from now on do without.
    pub fn index_drop(&mut self, name: IndexName) -> Option<IndexDrop> {
        let number = self.view().indexes().number_answering(name.attribute_type, name.kind)?;
        Some(self.take_out(number))
    }

    /// Removals that were put off for it, and keys that are stale in it, are forgotten: it is not looked at any more.
    fn take_out(&mut self, number: u16) -> IndexDrop {
        let shard = self.shard;
        let mut next = self.view().indexes().clone();
        let index = next.take(number).expect("an index that is there is taken out");
        shard.indexes.swap(next, &mut self.state.garbage);
        let state = &mut *self.state;
        let side = state.indexes[usize::from(number)].take();
        state.deferred.forget_index(number);
        state.stale_keys.forget_index(number);
        state.leaving.insert(number, index.tree_root().into_iter().collect());
        IndexDrop { number, since: self.sequence, _content: (index, side) }
    }

    /// Frees up to `nodes_max` nodes of the tree of an index that was dropped, and its number with the last. False if more
    /// is to be done, or a reader may still need it: to be called again.
    /// In pieces, for a tree may have millions of nodes and the writer's role is held meanwhile.
    pub fn index_free(&mut self, drop: &IndexDrop, nodes_max: usize) -> bool {
        if self.shard.readers.oldest() < drop.since {
            return false;
        }
        let mut stack = self.state.leaving.remove(&drop.number).unwrap_or_default();
        let removed = self.with_tree(self.sequence, |tree| {
            tree.destroy_some(&mut stack, nodes_max);
            Ok(())
        });
        removed.expect("removing makes no node");
        assert!(!self.state.leaving.contains_key(&drop.number), "what is left of a tree is in one place");
        let is_free = stack.is_empty();
        if !is_free {
            self.state.leaving.insert(drop.number, stack);
        }
        is_free
    }
}

#[cfg(test)]
mod tests;
