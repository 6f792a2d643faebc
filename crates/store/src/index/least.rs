//! Trees of ordering indexes: which keys come and go with a change, and which of an entry's keys is the least.
//!
//! ```text
//! one value each        the key comes as one that counts                       until an entry has several
//! several values        a key comes as one that does not count; when the entry is written, the least of its keys is made to count, and the one
//!                       that was before no longer does
//! ```
//! So the items that count are as many as the entries, and an entry's position is that of its least value: by that a list is sorted (RFC 2891 section 1.1), in either
//! order. At most one item of an entry counts at any time, so who makes one count looks for the other only then.
//!
//! The keys of an entry are all made for that. Those of a set of more than [`SET_VALUES_MAX`] values are not: from the first change of such an entry on the index has no
//! positions.

use super::key::Key;
use super::keys::Keeps;
use super::{AttributeIndex, Content};
use crate::record::{EntryRef, Values};
use crate::refused::Refused;
use crate::segment::HeapFull;
use crate::shard::{ReadPoint, Writer};
use crate::tree::{TreeWriter, payload_of};
use model::EntryId;
use roaring::RoaringBitmap;
use std::sync::atomic::{AtomicU32, Ordering};

/// Values of an entry's big sets that are looked at for the least one with each change of them: a tenth of a millisecond.
const SET_VALUES_MAX: u32 = 1024;

impl AttributeIndex {
    /// The keys of an entry in ascending order, each once. `None` if it has too many values for that.
    pub(super) fn prefixes(&self, view: ReadPoint<'_>, entry: &EntryRef<'_>) -> Option<Vec<u64>> {
        let in_sets = self.held_slots(view, entry).map(|(_, values)| match values {
            Values::Inline(_) => 0,
            Values::Set(set) => set.count,
        });
        if in_sets.fold(0, u32::saturating_add) > SET_VALUES_MAX {
            return None;
        }
        let (mut prefixes, mut normal) = (Vec::new(), Vec::new());
        let mut take = |value: &[u8]| {
            self.each_key(view, value, &mut normal, &mut |key| {
                if let Key::Prefix(prefix) = key {
                    prefixes.push(prefix);
                }
            });
        };
        self.held_slots(view, entry).for_each(|(_, values)| view.each_value(values, &mut take));
        prefixes.sort_unstable();
        prefixes.dedup();
        Some(prefixes)
    }
}

impl Writer<'_> {
    /// Puts a key into a tree. One that is there stays as it is.
    pub(super) fn add_prefix(
        &mut self,
        number: u16,
        (index, root): (&AttributeIndex, &AtomicU32),
        prefix: u64,
        id: u32,
    ) -> Result<(), Refused> {
        let has_several = index.has_several_keys();
        let (least, other) = (payload_of(id, true), payload_of(id, false));
        let added = self.with_tree(self.version(), |tree| {
            let root = root_or_new(root, tree)?;
            let tree = tree.counted();
            match has_several {
                false => tree.insert(root, (prefix, &least)).map(|_| ()),
                true if tree.has(root, (prefix, &least)) => Ok(()),
                true => tree.insert(root, (prefix, &other)).map(|_| ()),
            }
        });
        if has_several {
            self.state.scratch.changed.push((number, None));
        }
        // The change is refused, and what it has put in already stays.
        added.inspect_err(|_| index.note_unknown_least())
    }

    /// Takes keys that a change dropped out of their trees, unless the changed entry has them from another value; and lets the least of its
    /// keys count. To be called when the entry is written.
    pub(crate) fn settle_trees(&mut self, id: u32) {
        let mut changed = std::mem::take(&mut self.state.scratch.changed);
        // One change of one index is what there is nearly always.
        if changed.len() > 1 {
            changed.sort_unstable();
        }
        for changed in changed.chunk_by(|(number, _), (other, _)| number == other) {
            self.settle_tree(changed[0].0, changed.iter().filter_map(|(_, prefix)| *prefix), id);
        }
        assert!(self.state.scratch.changed.is_empty(), "a key that is taken out of a tree drops no other");
        changed.clear();
        self.state.scratch.changed = changed;
    }

    /// One tree of those. While no entry has several keys it is a look at the keys that were dropped.
    /// After that all keys of the entry are made, which say both what is to go and which key counts.
    fn settle_tree(&mut self, number: u16, dropped: impl Iterator<Item = u64>, id: u32) {
        // The entry as this batch has written it.
        let view = self.view();
        let (index, entry) = (view.indexes().at(number), view.entry(EntryId(id)));
        if index.has_several_keys() {
            let prefixes = match &entry {
                None => Some(Vec::new()),
                Some(entry) => index.prefixes(view, entry),
            };
            if let Some(prefixes) = prefixes {
                let mut has_lost = false;
                for prefix in dropped.filter(|prefix| prefixes.binary_search(prefix).is_err()) {
                    has_lost |= self.remove_prefix(number, prefix, id);
                }
                return self.count_least(number, &prefixes, id, has_lost);
            }
            index.note_unknown_least();
        }
        for prefix in dropped {
            let key = Key::Prefix(prefix);
            match entry.as_ref().map_or(Keeps::No, |entry| index.keeps(view, entry, key)) {
                Keeps::Yes => {}
                Keeps::No => _ = self.remove_prefix(number, prefix, id),
                // A value of a big set may have the key; only a walk through the set would tell.
                Keeps::Unknown => self.leave_stale(number, key, id, self.sequence),
            }
        }
    }

    /// Lets the first of an entry's keys count, and no other. `has_lost`: the one that counted was taken out.
    fn count_least(&mut self, number: u16, prefixes: &[u64], id: u32, has_lost: bool) {
        let (Some(root), Some((first, others))) =
            (self.view().indexes().at(number).tree_root(), prefixes.split_first())
        else {
            return;
        };
        let (least, other) = (payload_of(id, true), payload_of(id, false));
        let marked = self.with_tree(self.version(), |tree| {
            let tree = tree.counted();
            // While the index is built the key may not be there yet.
            if tree.replace(root, (*first, &other), (*first, &least)) && !has_lost {
                others.iter().any(|prefix| tree.replace(root, (*prefix, &least), (*prefix, &other)));
            }
            Ok(())
        });
        marked.expect("an item takes the room of its other form");
    }

    /// Takes a key out of a tree. Did it count?
    pub(crate) fn remove_prefix(&mut self, number: u16, prefix: u64, id: u32) -> bool {
        let index = self.view().indexes().at(number);
        let Some(root) = index.tree_root() else { return false };
        let has_several = index.has_several_keys();
        let removed = self.with_tree(self.version(), |tree| {
            let tree = tree.counted();
            let has_counted = tree.remove(root, (prefix, &payload_of(id, true)))?;
            if !has_counted && has_several {
                tree.remove(root, (prefix, &payload_of(id, false)))?;
            }
            Ok(has_counted)
        });
        removed.expect("removing makes no node")
    }

    /// Ends a load: sorts what was gathered for the indexes that are trees, and builds them.
    /// Until then the trees do not have what was loaded: there are no readers during a load.
    pub fn finish_load(&mut self) -> Result<(), Refused> {
        for (number, index) in self.view().indexes().all() {
            let Content::Tree(root) = &index.content else { continue };
            let side =
                self.state.indexes[usize::from(number)].as_mut().expect("an index has its writer's side");
            // Moved out, so that its memory is free before the tree is built.
            let mut items = std::mem::take(&mut side.unsorted);
            items.sort_unstable();
            items.dedup();
            self.claim(items.len() * 24 + (1 << 20))?;
            // In ascending order the first of an entry's keys is the least.
            let mut seen = index.has_several_keys().then(RoaringBitmap::new);
            let is_first = |id| seen.as_mut().is_none_or(|seen| seen.insert(id));
            let items = payloads(&items, is_first);
            self.with_tree(self.version(), |tree| {
                let tree = tree.counted();
                let mut items = items.iter().map(|(prefix, payload)| (*prefix, &payload[..]));
                match root.load(Ordering::Relaxed) {
                    0 => root.store(tree.build(items)?, Ordering::Release),
                    root => items.try_for_each(|item| tree.insert(root, item).map(|_| ()))?,
                }
                Ok(())
            })?;
        }
        self.shard.stream.recent.begin_behind(self.last_csn());
        Ok(())
    }
}

/// The items of a tree, of prefixes and ids in order.
/// `counts` is asked once for each, in this order.
fn payloads(items: &[(u64, u32)], mut counts: impl FnMut(u32) -> bool) -> Vec<(u64, [u8; 4])> {
    items.iter().map(|(prefix, id)| (*prefix, payload_of(*id, counts(*id)))).collect()
}

/// In the batch that adds the first key, so readers find a tree with that key or none.
fn root_or_new(root: &AtomicU32, tree: &mut TreeWriter<'_>) -> Result<u32, HeapFull> {
    if root.load(Ordering::Relaxed) == 0 {
        let built = tree.counted().build(std::iter::empty())?;
        root.store(built, Ordering::Release);
    }
    Ok(root.load(Ordering::Relaxed))
}
