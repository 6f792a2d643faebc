//! Changes of indexes: what follows from a change of an entry.
//!
//! ```text
//! added    at once, before the entry's new version can be seen
//! removed  later, when no reader can see a version that has the key; from a tree at once, for its nodes have versions
//! ```
//! A key that another value of the entry has too must stay: so what is removed is looked at once more when its time comes.

use super::key::Key;
use super::keys::Keeps;
use super::{AttributeIndex, AttributeIndexWriter, Content};
use crate::deferred::Later;
use crate::faults;
use crate::hash::tag;
use crate::postings::Context;
use crate::refused::Refused;
use crate::shard::Writer;
use env::planted;
use model::Description;

impl<'s> Writer<'s> {
    /// Notes a change of one attribute's inline values: `old` or `new` is empty if it was or is absent.
    /// Keys that both sides have are left as they are, so a modify that changes one value of many costs two keys.
    pub(crate) fn index_change<'v>(
        &mut self,
        id: u32,
        description: Description,
        old: impl Iterator<Item = &'v [u8]> + Clone,
        new: impl Iterator<Item = &'v [u8]> + Clone,
    ) -> Result<(), Refused> {
        let shard = self.shard;
        let indexes = shard.indexes.load(self.view());
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for &number in indexes.numbers_of(description.attribute_type) {
            let index = indexes.at(number);
            gone.clear();
            come.clear();
            old.clone().for_each(|value| index.push_keys(self.view(), value, &mut gone));
            new.clone().for_each(|value| index.push_keys(self.view(), value, &mut come));
            if let Some(key) = index.name.kind.attribute_key() {
                gone.extend(old.clone().next().map(|_| key));
                come.extend(new.clone().next().map(|_| key));
            }
            // The same trigram may stand in a value several times.
            for keys in [&mut gone, &mut come] {
                keys.sort_unstable();
                keys.dedup();
            }
            if !come.is_empty() {
                index.note_keys(description, come.len());
            }
            if planted::is(faults::INDEX_CHANGE_MISSED) && !indexes.is_answering(number) {
                continue;
            }
            for key in come.iter().filter(|key| gone.binary_search(key).is_err()) {
                if planted::is_at_replay(faults::INDEX_ENTRY_FORGOTTEN) && id.is_multiple_of(4) {
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

    /// A key that is there is no error: another value may have it.
    pub(super) fn add_key(&mut self, number: u16, key: Key, id: u32) -> Result<(), Refused> {
        let (shard, loading) = (self.shard, self.loading);
        let (index, side, mut context) = self.index_parts(number);
        match (key, &index.content) {
            (Key::Tag(tag), Content::Postings(postings)) => {
                let writer = side.postings.as_mut().expect("postings have their writer's side");
                let put = postings.insert(writer, &mut context, tag, id, |_| true);
                put.map_err(|_| shard.limit_reached())
            }
            (Key::Attribute, Content::Ids(set)) => {
                set.insert(id, context.view, context.garbage);
                Ok(())
            }
            // Sorted and built in one go when the load ends: a fraction of the work of inserting each.
            (Key::Prefix(prefix), Content::Tree(_)) if loading => {
                side.unsorted.push((prefix, id));
                Ok(())
            }
            (Key::Prefix(prefix), Content::Tree(root)) => self.add_prefix(number, (index, root), prefix, id),
            _ => unreachable!("keys are made by the index that takes them"),
        }
    }

    /// An index, its writer's side, and what a change of its postings or ids needs.
    #[inline]
    fn index_parts(&mut self, number: u16) -> (&'s AttributeIndex, &mut AttributeIndexWriter, Context<'_>) {
        let (view, state) = (self.view(), &mut *self.state);
        let side = state.indexes[usize::from(number)].as_mut().expect("an index has its writer's side");
        let garbage = &mut state.garbage;
        let context = Context { readers: &view.shard.readers, view: view.into(), garbage };
        (view.indexes().at(number), side, context)
    }

    /// Puts a new entry under its tag in an index that has postings.
    /// For entries that were just made: nothing can be there under the tag with this id, so nothing is looked for.
    #[inline]
    pub(crate) fn add_tag(&mut self, number: u16, tag: u32, id: u32) -> Result<(), Refused> {
        let shard = self.shard;
        let (index, side, mut context) = self.index_parts(number);
        let postings = index.postings().expect("only postings have tags");
        let writer = side.postings.as_mut().expect("postings have their writer's side");
        postings.insert_new(writer, &mut context, tag, id).map_err(|_| shard.limit_reached())
    }

    /// Prefetches the memory that [`Writer::add_tag`] looks at first.
    #[inline]
    pub(crate) fn prefetch_tag(&self, number: u16, tag: u32) {
        if let Some(postings) = self.view().indexes().at(number).postings() {
            postings.prefetch(tag);
        }
    }

    /// What is dropped from a tree waits until the entry is written, since only then it is known whether another value has the key.
    pub(crate) fn drop_key(&mut self, number: u16, key: Key, id: u32) {
        match key {
            Key::Prefix(prefix) => self.state.scratch.changed.push((number, Some(prefix))),
            _ => self.later(Later::Key { index: number, key, id }),
        }
    }

    /// Takes a key away for good, unless a version of the entry that a reader may see has it.
    /// `oldest` is the oldest sequence that a reader may be at.
    pub(crate) fn remove_key(&mut self, number: u16, key: Key, id: u32, oldest: u64) {
        let fault = faults::INDEX_KEY_KEPT;
        if planted::is(fault) && !planted::is_at_replay(fault) && id.is_multiple_of(4) {
            return;
        }
        let (index, mut is_unknown) = (self.view().indexes().at(number), false);
        // Any version that a reader may see, not only the newest: readers of the past use the index too.
        let is_kept = self.any_version(id, oldest, |at, entry| {
            let keeps = index.keeps(at, entry, key);
            is_unknown |= keeps == Keeps::Unknown;
            keeps == Keeps::Yes
        });
        // Kept by another value, kept to be sure, or gone.
        match (is_kept, is_unknown) {
            (true, _) => {}
            (false, true) => self.leave_stale(number, key, id, oldest),
            (false, false) => self.take_key(number, key, id),
        }
    }

    /// Takes a key away that no version of the entry has which a reader may see.
    pub(crate) fn take_key(&mut self, number: u16, key: Key, id: u32) {
        let (index, side, mut context) = self.index_parts(number);
        match (key, &index.content) {
            (Key::Tag(tag), Content::Postings(postings)) => {
                let writer = side.postings.as_mut().expect("postings have their writer's side");
                postings.remove(writer, &mut context, tag, id);
            }
            (Key::Attribute, Content::Ids(set)) => {
                set.remove(id, context.view, context.garbage);
            }
            (Key::Prefix(_), _) => unreachable!("the tree is versioned: nothing is put off"),
            _ => unreachable!("keys are made by the index that takes them"),
        }
    }

    /// Adds or drops the keys of one value of a big set; `known` is its equality key, if that was worked out before.
    /// One value at a time, as a set changes: sets may have millions.
    pub(crate) fn index_set_value(
        &mut self,
        id: u32,
        description: Description,
        value: &[u8],
        known: Option<u64>,
        add: bool,
    ) -> Result<(), Refused> {
        let shard = self.shard;
        let indexes = shard.indexes.load(self.view());
        let mut keys = Vec::new();
        for &number in indexes.numbers_of(description.attribute_type) {
            let index = indexes.at(number);
            // Also of one that goes: its key may stay.
            index.note_keys(description, 2);
            keys.clear();
            // The set has the hash already; making it from the value would be half of the work of adding it.
            match known.filter(|_| index.is_own_equality(description.attribute_type)) {
                Some(hash) => keys.push(Key::Tag(tag(hash))),
                None => index.push_keys(self.view(), value, &mut keys),
            }
            keys.sort_unstable();
            keys.dedup();
            // A value may give one key twice; each is changed once.
            for &key in &keys {
                if add {
                    self.add_key(number, key, id)?;
                } else {
                    self.drop_key(number, key, id);
                }
            }
        }
        Ok(())
    }
}
