//! Ordered sets of items in nodes that are objects of the heap: big attribute value sets and ordering indexes.
//! An item is a 64-bit key and a payload; order is by key, then by the payload's bytes. Because nodes are
//! versioned like entries, a reader sees the tree as it was at its read point.
//!
//! ```text
//! node   u8 level (0 = leaf) | u16 count | items
//! leaf   u64 key | length | payload                       length: u8, or 255 and u24
//! inner  u64 key | length | payload | u32 child           the smallest item at or below the child; first: 0, empty
//! ```
//! A node is split when it is longer than [`NODE_BYTES`]; an empty one is taken out of its parent.
//!
//! Nodes have no links to their neighbours: an iteration goes down from the root for each leaf, to where the leaf before
//! ended. A link would have to be changed, and its node written anew, with every split next to it.
//!
//! Small nodes are never joined: a leaf stays until its last item goes. So a remove writes one leaf, and never its
//! neighbour and their parent.
//!
//! One writer changes a tree, with the shard's writer's role. A change reads the newest versions of nodes, so it sees what
//! its batch did before; readers see them at their read points.

mod backward;
mod build;
mod counts;
mod node;
mod walk;

pub(crate) use counts::{Counts, parts_of, payload_of};
pub(crate) use node::{Item, Tree};
pub(crate) use walk::Visit;

use self::node::{NEWEST, Node, finish, node_bytes, push_item, separator};
use crate::segment::{Heap, HeapFull, HeapWriter, NODE};

/// Bytes of a node from which on it is split. A change rewrites a leaf and each node is an object with a header of its own,
/// so smaller nodes cost memory and larger ones cost time.
const NODE_BYTES: usize = 1024;

/// Bytes to claim for one change: a node on each level may be written and split. A node may be longer than
/// [`NODE_BYTES`] if its values are; the callers claim those besides.
pub(crate) const CHANGE_BYTES: usize = 16 * (NODE_BYTES + 64);

/// What changes to a tree need. The room for them was claimed, [`CHANGE_BYTES`] for each; what they can lack even so are
/// ids of nodes.
pub(crate) struct TreeWriter<'w> {
    pub(crate) heap: &'w Heap,
    pub(crate) writer: &'w mut HeapWriter,
    /// Sequence that the change will be published as.
    pub(crate) sequence: u64,
    /// Ids of nodes that were removed; to be forgotten when no reader needs them.
    pub(crate) removed: &'w mut Vec<u32>,
    /// Are its items counted ([`TreeWriter::counted`])?
    pub(crate) is_counted: bool,
}

impl TreeWriter<'_> {
    /// Of a tree whose items are counted. It must be so from its first item on.
    pub(crate) fn counted(&mut self) -> &mut Self {
        self.is_counted = true;
        self
    }

    fn count(&self, path: &[u32], item: Item<'_>, is_more: bool) {
        if self.is_counted && counts::does_count(item.1) {
            counts::count(self.heap, path, is_more);
        }
    }

    fn count_node(&self, id: u32, body: &[u8]) {
        if self.is_counted {
            counts::count_node(self.heap, id, body);
        }
    }

    /// What separates two neighbours.
    fn separator(&self, left: Item<'_>, right: Item<'_>) -> (u64, Vec<u8>) {
        let (key, payload) = separator(left, right);
        let mut payload = payload.to_vec();
        if self.is_counted {
            counts::border(&mut payload);
        }
        (key, payload)
    }

    /// Is an item there?
    pub(crate) fn has(&self, root: u32, item: Item<'_>) -> bool {
        let path = self.path(root, item);
        let node = Node::read(self.heap, *path.last().expect("a path has a leaf"), NEWEST);
        let at = node.seek(item);
        at < node.bytes.len() && node.entry_at(at).item() == item
    }

    /// Puts the other form of an item of a tree that is counted in its place: from now on it counts, or no longer does. False if it is not there.
    pub(crate) fn replace(&mut self, root: u32, item: Item<'_>, other: Item<'_>) -> bool {
        assert!(self.is_counted && item.1.len() == other.1.len(), "two forms of an item take the same room");
        let path = self.path(root, item);
        let leaf = *path.last().expect("a path has a leaf");
        let node = Node::read(self.heap, leaf, NEWEST);
        let at = node.seek(item);
        if at == node.bytes.len() || node.entry_at(at).item() != item {
            return false;
        }
        let mut out = Vec::with_capacity(node.bytes.len());
        out.extend_from_slice(&node.bytes[..at]);
        push_item(&mut out, other, None);
        out.extend_from_slice(&node.bytes[at + node.entry_at(at).raw.len()..]);
        let count = node.count();
        self.count(&path, item, false);
        self.count(&path, other, true);
        self.write(leaf, &mut out, count);
        true
    }

    /// Adds an item; false if it is there.
    pub(crate) fn insert(&mut self, root: u32, item: Item<'_>) -> Result<bool, HeapFull> {
        let path = self.path(root, item);
        let (&leaf, parents) = path.split_last().expect("a path has a leaf");
        let node = Node::read(self.heap, leaf, NEWEST);
        let at = node.seek(item);
        if at < node.bytes.len() && node.entry_at(at).item() == item {
            return Ok(false);
        }
        // The items around it are copied as they lie there, without being taken apart.
        let mut out = Vec::with_capacity(node.bytes.len() + item.1.len() + 12);
        out.extend_from_slice(&node.bytes[..at]);
        push_item(&mut out, item, None);
        out.extend_from_slice(&node.bytes[at..]);
        let count = node.count() + 1;
        // Before nodes are split: the counts of halves are made from those that are known.
        self.count(&path, item, true);
        if let Err(full) = self.store(root, leaf, parents, out, count) {
            self.count(&path, item, false);
            return Err(full);
        }
        Ok(true)
    }

    /// Takes an item away; false if it is not there.
    pub(crate) fn remove(&mut self, root: u32, item: Item<'_>) -> Result<bool, HeapFull> {
        let mut path = self.path(root, item);
        let leaf = *path.last().expect("a path has a leaf");
        let node = Node::read(self.heap, leaf, NEWEST);
        let at = node.seek(item);
        if at == node.bytes.len() || node.entry_at(at).item() != item {
            return Ok(false);
        }
        let mut out = Vec::with_capacity(node.bytes.len());
        out.extend_from_slice(&node.bytes[..at]);
        out.extend_from_slice(&node.bytes[at + node.entry_at(at).raw.len()..]);
        assert!(node.count() > 0, "a leaf counts the item that was found in it");
        let count = node.count() - 1;
        self.count(&path, item, false);
        let mut emptied = path.pop().expect("a path has a leaf");
        if count > 0 || emptied == root {
            self.write(emptied, &mut out, count);
            return Ok(true);
        }
        // An empty leaf goes, and so does each parent that led to nothing else. The root stays, as an empty leaf.
        while let Some(parent) = path.pop() {
            self.drop_node(emptied);
            let node = Node::read(self.heap, parent, NEWEST);
            let (mut out, mut count) = (node_bytes(node.level()), 0);
            for entry in node.entries().filter(|e| e.child != emptied) {
                // The first child takes all that is smaller, so its separator is the smallest item there can be.
                let item = if count == 0 { (0, &[][..]) } else { entry.item() };
                push_item(&mut out, item, Some(entry.child));
                count += 1;
            }
            assert_eq!(count + 1, node.count(), "a parent leads to each child once");
            if count > 0 {
                self.write(parent, &mut out, count);
                return Ok(true);
            }
            if parent == root {
                self.write(root, &mut node_bytes(0), 0);
                return Ok(true);
            }
            emptied = parent;
        }
        Ok(true)
    }

    /// Removes the whole tree, in one batch: for a value set that goes with its entry or attribute. It writes a removal
    /// of 18 bytes for each node, for which nothing is claimed: deletes always go through, and twice as much address
    /// space is reserved as memory may be used.
    pub(crate) fn destroy(&mut self, root: u32) {
        let node = Node::read(self.heap, root, NEWEST);
        if node.level() > 0 {
            for child in node.entries().map(|e| e.child).collect::<Vec<_>>() {
                self.destroy(child);
            }
        }
        self.drop_node(root);
    }

    /// Removes up to `nodes_max` nodes of a tree that nobody changes any more. `stack` has its root at first, then the nodes
    /// that lead to all that are left.
    pub(crate) fn destroy_some(&mut self, stack: &mut Vec<u32>, nodes_max: usize) {
        for _ in 0..nodes_max {
            let Some(id) = stack.pop() else { return };
            let node = Node::read(self.heap, id, NEWEST);
            if node.level() > 0 {
                stack.extend(node.entries().map(|entry| entry.child));
            }
            self.drop_node(id);
        }
    }

    /// Removes a node. Its id is free again when no reader needs it, for which the caller puts `removed` off.
    fn drop_node(&mut self, id: u32) {
        self.heap.put_removed_node(self.writer, id, self.sequence);
        self.removed.push(id);
    }

    /// The nodes from the root to the leaf in which an item is or would be.
    fn path(&self, root: u32, item: Item<'_>) -> Vec<u32> {
        let mut path = vec![root];
        let mut above: Option<u8> = None;
        loop {
            let node = Node::read(self.heap, path[path.len() - 1], NEWEST);
            let is_below = above.is_none_or(|above| node.level() + 1 == above);
            assert!(is_below, "a child is one level below its parent");
            above = Some(node.level());
            if node.level() == 0 {
                return path;
            }
            path.push(node.child_for(item).0.child);
        }
    }

    /// Writes a node's new content, splitting it and its parents where it is too long.
    fn store(
        &mut self,
        root: u32,
        id: u32,
        parents: &[u32],
        mut body: Vec<u8>,
        count: usize,
    ) -> Result<(), HeapFull> {
        let level = body[0];
        // A long value alone makes a node too long; halves need an item each, and halves of an inner node two, so that
        // each level has fewer nodes than the one below.
        if body.len() <= NODE_BYTES || count < if level > 0 { 4 } else { 2 } {
            self.write(id, &mut body, count);
            return Ok(());
        }
        let Halves { mut left, border: right_item, mut right, counts } = self.split(&body);
        assert!(counts.0 > 0 && counts.1 > 0, "both halves have items");
        assert_eq!(counts.0 + counts.1, count, "no item is lost between the halves");
        if id == root {
            // The root keeps its id, which records and indexes know the tree by: its content moves down one level.
            let left_id = self.write_new(&mut left, counts.0)?;
            let right_id = self.write_new(&mut right, counts.1)?;
            let mut top = node_bytes(level + 1);
            push_item(&mut top, (0, &[]), Some(left_id));
            push_item(&mut top, (right_item.0, &right_item.1), Some(right_id));
            self.write(root, &mut top, 2);
            return Ok(());
        }
        // The new node first: if there is no id for it, nothing was written yet.
        let right_id = self.write_new(&mut right, counts.1)?;
        self.write(id, &mut left, counts.0);
        self.count_node(id, &left);
        let (&parent, above) = parents.split_last().expect("only the root has no parent");
        let node = Node::read(self.heap, parent, NEWEST);
        let (mut out, mut count) = (node_bytes(node.level()), 0);
        for entry in node.entries() {
            out.extend_from_slice(entry.raw);
            count += 1;
            if entry.child == id {
                push_item(&mut out, (right_item.0, &right_item.1), Some(right_id));
                count += 1;
            }
        }
        assert_eq!(count, node.count() + 1, "a parent leads to each child once");
        self.store(root, parent, above, out, count)
    }

    /// Cuts a node's bytes into two, the first at least half. The last item always goes to the right, so that no half is
    /// empty when one item is longer than all others together.
    fn split(&self, body: &[u8]) -> Halves {
        let node = Node { bytes: body };
        let level = node.level();
        let (mut left, mut right, mut counts) = (node_bytes(level), node_bytes(level), (0, 0));
        let mut border = (0, Vec::new());
        let mut last: Item<'_> = (0, &[]);
        let entries: Vec<_> = node.entries().collect();
        for (at, entry) in entries.iter().enumerate() {
            let is_last = at + 1 == entries.len();
            if counts.1 == 0 && (counts.0 == 0 || left.len() < body.len() / 2) && !is_last {
                left.extend_from_slice(entry.raw);
                counts.0 += 1;
            } else {
                if counts.1 == 0 {
                    border = match level {
                        0 => self.separator(last, entry.item()),
                        _ => (entry.key, entry.payload.to_vec()),
                    };
                }
                // The first child of an inner node takes all that is smaller.
                let item = if level > 0 && counts.1 == 0 { (0, &[][..]) } else { entry.item() };
                push_item(&mut right, item, (level > 0).then_some(entry.child));
                counts.1 += 1;
            }
            last = entry.item();
        }
        Halves { left, border, right, counts }
    }

    fn write(&mut self, id: u32, body: &mut [u8], count: usize) {
        finish(body, count);
        self.heap.put(self.writer, id, NODE, self.sequence, body);
    }

    /// Writes a node under a new id: the only step of a change that can fail, since room was claimed and ids were not.
    fn write_new(&mut self, body: &mut [u8], count: usize) -> Result<u32, HeapFull> {
        let id = self.writer.node_ids.allocate()?;
        self.write(id, body, count);
        self.count_node(id, body);
        Ok(id)
    }
}

/// The two halves of a node that was too long.
struct Halves {
    left: Vec<u8>,
    /// Where the right half begins.
    border: (u64, Vec<u8>),
    right: Vec<u8>,
    counts: (usize, usize),
}

/// Where an iteration goes on.
#[derive(Clone, Copy)]
pub(crate) enum From<'a> {
    /// At the item, or where it would be.
    At(Item<'a>),
    /// Behind the item.
    After(Item<'a>),
}

/// What separates a leaf of which all was taken from the next one, in the direction of the iteration: at the same read point it goes on there, without a look at
/// the leaf again. `None` if it goes on by the last item that was taken.
pub(crate) type Border<'a> = Option<Item<'a>>;

impl From<'_> {
    /// The smallest item there can be.
    pub(crate) const START: From<'static> = From::At((0, &[]));
}

impl<'a> Tree<'a> {
    /// Hands the items of one leaf to `each`, from `from` on: the first leaf that has any. Returns false when there
    /// are none. Call again with the last item seen.
    pub(crate) fn next_leaf(self, from: From<'_>, mut each: impl FnMut(Item<'a>)) -> bool {
        let all = |item| {
            each(item);
            true
        };
        self.next_while(from, all).is_some()
    }

    /// As [`Tree::next_leaf`], until `each` wants no more of the leaf. `None` when there are no items.
    pub(crate) fn next_while(
        self,
        from: From<'_>,
        mut each: impl FnMut(Item<'a>) -> bool,
    ) -> Option<Border<'a>> {
        let (start, inclusive) = match from {
            From::At(item) => (item, true),
            From::After(item) => (item, false),
        };
        let mut descend_to: Option<Item<'a>> = None;
        // More than one turn is for an item that was the last of its leaf, or that is gone with all behind it there.
        loop {
            // The root of an index that was made later than the read point is not there yet: no items.
            let (leaf, next) = self.leaf_for(descend_to.unwrap_or(start))?;
            let mut any = false;
            for entry in leaf.entries_from(leaf.seek(start)) {
                if inclusive || entry.item() != start {
                    any = true;
                    if !each(entry.item()) {
                        return Some(None);
                    }
                }
            }
            if any {
                return Some(next);
            }
            descend_to = Some(next?);
        }
    }

    /// The leaf in which an item is or would be, and where the leaf behind it begins: the separator behind the way down that
    /// is lowest in the tree, since that of a higher level is behind more.
    fn leaf_for(self, item: Item<'_>) -> Option<(Node<'a>, Option<Item<'a>>)> {
        let mut node = Node::find(self.heap, self.root, self.sequence)?;
        let mut next = None;
        while node.level() > 0 {
            let (entry, following) = node.child_for(item);
            next = following.or(next);
            node = Node::read(self.heap, entry.child, self.sequence);
        }
        Some((node, next))
    }

    /// The first payload under this key for which `matches` says yes. In a value set the key is a hash, so there may be
    /// several values under it, and those may lie in several leaves.
    pub(crate) fn find(self, key: u64, mut matches: impl FnMut(&'a [u8]) -> bool) -> Option<&'a [u8]> {
        let mut descend_to: Item<'a> = (key, &[]);
        loop {
            let (leaf, next) = self.leaf_for(descend_to)?;
            for entry in leaf.entries_from(leaf.seek((key, &[]))) {
                if entry.key > key {
                    return None;
                }
                if matches(entry.payload) {
                    return Some(entry.payload);
                }
            }
            // Items of one key may go on in the next leaf.
            descend_to = next.filter(|item| item.0 <= key)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn all(heap: &Heap, root: u32, sequence: u64) -> Vec<(u64, Vec<u8>)> {
        let mut out: Vec<(u64, Vec<u8>)> = Vec::new();
        loop {
            let after = out.last().cloned();
            let from = after.as_ref().map_or(From::START, |(k, p)| From::After((*k, &p[..])));
            let more = Tree { heap, root, sequence }.next_leaf(from, |(k, p)| out.push((k, p.to_vec())));
            if !more {
                assert_eq!(all_by_borders(heap, root, sequence), out);
                return out;
            }
        }
    }

    /// The same, where each leaf begins at the border of the one before.
    fn all_by_borders(heap: &Heap, root: u32, sequence: u64) -> Vec<(u64, Vec<u8>)> {
        let (mut out, mut border): (Vec<(u64, Vec<u8>)>, Option<(u64, Vec<u8>)>) = (Vec::new(), None);
        loop {
            let last = out.last().cloned();
            let from = match (&border, &last) {
                (Some((key, payload)), _) => From::At((*key, &payload[..])),
                (None, Some((key, payload))) => From::After((*key, &payload[..])),
                (None, None) => From::START,
            };
            let come = Tree { heap, root, sequence }.next_while(from, |(k, p)| {
                out.push((k, p.to_vec()));
                !out.len().is_multiple_of(7)
            });
            match come {
                None => return out,
                Some(next) => border = next.map(|(k, p)| (k, p.to_vec())),
            }
        }
    }

    /// All items in descending order, from `bound` on.
    fn all_back(heap: &Heap, root: u32, sequence: u64, bound: Option<Item<'_>>) -> Vec<(u64, Vec<u8>)> {
        let (mut out, mut border): (Vec<(u64, Vec<u8>)>, Option<(u64, Vec<u8>)>) = (Vec::new(), None);
        loop {
            let last = border.take().or(out.last().cloned());
            let bound = last.as_ref().map(|(k, p)| (*k, &p[..])).or(bound);
            let tree = Tree { heap, root, sequence };
            let come = tree.previous_while(bound, |(k, p)| {
                out.push((k, p.to_vec()));
                // Whatever it takes of a leaf, it gets all.
                !out.len().is_multiple_of(7)
            });
            match come {
                None => return out,
                Some(next) => border = next.map(|(k, p)| (k, p.to_vec())),
            }
        }
    }

    /// Positions are those of a sorted list of the items that count.
    fn assert_positions(heap: &Heap, root: u32, sequence: u64, model: &BTreeSet<(u64, Vec<u8>)>) {
        let counts = Tree { heap, root, sequence }.counts();
        let model: BTreeSet<_> =
            model.iter().filter(|(_, payload)| counts::does_count(payload)).cloned().collect();
        assert_eq!(counts.len(), model.len() as u64);
        for (position, (key, payload)) in model.iter().enumerate() {
            assert_eq!(counts.nth(position as u64), Some((*key, &payload[..])));
            assert_eq!(counts.position((*key, payload)), Some(position as u64));
        }
        assert_eq!(counts.nth(model.len() as u64), None);
        for key in (0..=200).step_by(7).chain([u64::MAX]) {
            let below = model.range(..(key, Vec::new())).count() as u64;
            assert_eq!(counts.position((key, &[])), Some(below));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn agrees_with_a_set(steps in proptest::collection::vec((any::<bool>(), 0u64..200, 0usize..6), 0..3000)) {
            let (heap, mut writer) = Heap::create(512 << 20, 1 << 20, true).unwrap();
            let mut removed = vec![];
            let mut tree = TreeWriter { heap: &heap, writer: &mut writer, sequence: 1, removed: &mut removed, is_counted: true };
            let root = tree.build(std::iter::empty()).unwrap();
            let mut model = BTreeSet::new();
            let mut halfway = None;
            for (at, (add, key, extra)) in steps.iter().enumerate() {
                tree.sequence = at as u64 + 2;
                let payload = vec![*extra as u8; extra * extra * 20];
                let item = (*key, payload);
                if *add {
                    prop_assert_eq!(tree.insert(root, (item.0, &item.1)).unwrap(), model.insert(item));
                } else {
                    prop_assert_eq!(tree.remove(root, (item.0, &item.1)).unwrap(), model.remove(&item));
                }
                if at == steps.len() / 2 {
                    halfway = Some((tree.sequence, model.clone()));
                    assert_positions(&heap, root, tree.sequence, &model);
                }
            }
            let sequence = tree.sequence;
            assert_positions(&heap, root, sequence, &model);
            let descending = |model: &BTreeSet<(u64, Vec<u8>)>| model.iter().rev().cloned().collect::<Vec<_>>();
            prop_assert_eq!(all_back(&heap, root, sequence, None), descending(&model));
            let middle = (100, vec![2]);
            let lower: BTreeSet<_> = model.range(..middle.clone()).cloned().collect();
            prop_assert_eq!(all_back(&heap, root, sequence, Some((100, &[2]))), descending(&lower));
            if let Some((sequence, model)) = &halfway {
                prop_assert_eq!(all_back(&heap, root, *sequence, None), descending(model));
            }
            prop_assert_eq!(all(&heap, root, sequence), model.iter().cloned().collect::<Vec<_>>());
            if let Some((sequence, model)) = halfway {
                prop_assert_eq!(all(&heap, root, sequence), model.into_iter().collect::<Vec<_>>());
            }
            for key in 0..200 {
                prop_assert_eq!(Tree { heap: &heap, root, sequence }.find(key, |_| true).is_some(), model.iter().any(|(k, _)| *k == key));
            }
        }

        /// Items that come to count and no longer do stay where they are, and others count as before.
        #[test]
        fn items_count_or_not(steps in proptest::collection::vec((0u64..4, 0u32..60, 0usize..4, any::<bool>()), 0..2000), built in 0u32..500) {
            let (heap, mut writer) = Heap::create(512 << 20, 1 << 20, true).unwrap();
            let mut removed = vec![];
            let mut tree = TreeWriter { heap: &heap, writer: &mut writer, sequence: 1, removed: &mut removed, is_counted: true };
            let mut model: BTreeSet<(u64, Vec<u8>)> =
                (0..built).map(|id| (u64::from(id / 90), payload_of(id, id % 3 > 0).to_vec())).collect();
            let root = tree.build(model.iter().map(|(key, payload)| (*key, &payload[..]))).unwrap();
            for (at, (key, id, what, counts)) in steps.into_iter().enumerate() {
                tree.sequence = at as u64 + 2;
                let [this, other] = [counts, !counts].map(|counts| (key, payload_of(id, counts).to_vec()));
                let is_there = model.contains(&this);
                prop_assert_eq!(tree.has(root, (key, &this.1)), is_there);
                match what {
                    0 => prop_assert_eq!(tree.remove(root, (key, &this.1)).unwrap(), model.remove(&this)),
                    1 | 2 => {
                        prop_assert_eq!(tree.replace(root, (key, &this.1), (key, &other.1)), is_there);
                        if model.remove(&this) {
                            model.insert(other);
                        }
                    }
                    _ if !model.contains(&other) => {
                        prop_assert_eq!(tree.insert(root, (key, &this.1)).unwrap(), model.insert(this));
                    }
                    _ => {}
                }
            }
            let sequence = tree.sequence;
            assert_positions(&heap, root, sequence, &model);
            prop_assert_eq!(all(&heap, root, sequence), model.iter().cloned().collect::<Vec<_>>());
            let walked = Tree { heap: &heap, root, sequence }.walk(&mut |_| Ok(()));
            prop_assert_eq!(walked, Ok(()));
        }

        #[test]
        fn what_is_built_and_changed_is_sound(len in 0u64..9000, same in any::<bool>(), gone in 0u64..9000) {
            let (heap, mut writer) = Heap::create(512 << 20, 1 << 20, true).unwrap();
            let mut removed = vec![];
            let mut tree = TreeWriter { heap: &heap, writer: &mut writer, sequence: 1, removed: &mut removed, is_counted: true };
            // Keys that tell items apart, or one key whose payloads do.
            // All of them count.
            let payload = |n: u64| format!("cn=member {n:040},").into_bytes();
            let key = |n: u64| if same { 7 } else { n };
            let items: Vec<_> = (0..len).map(|n| (key(n), payload(n))).collect();
            let root = tree.build(items.iter().map(|(k, p)| (*k, &p[..]))).unwrap();
            let count = |sequence| {
                let mut items = 0;
                Tree { heap: &heap, root, sequence }.walk(&mut |visit| {
                    items += u64::from(matches!(visit, Visit::Item(_)));
                    Ok(())
                }).map(|()| items)
            };
            prop_assert_eq!(count(1), Ok(len));
            prop_assert_eq!(Tree { heap: &heap, root, sequence: 1 }.counts().len(), len);
            tree.sequence = 2;
            for n in 0..gone.min(len) {
                prop_assert!(tree.remove(root, (key(n), &payload(n))).unwrap());
            }
            prop_assert_eq!(count(2), Ok(len - gone.min(len)));
            prop_assert_eq!(Tree { heap: &heap, root, sequence: 2 }.counts().len(), len - gone.min(len));
        }

        #[test]
        fn building_is_inserting(items in proptest::collection::btree_set((any::<u64>(), proptest::collection::vec(any::<u8>(), 0..50)), 0..2000), same in any::<bool>()) {
            // Payloads of a key are of one length, and of two that only this bit tells apart there is one.
            let items: BTreeSet<_> = items.into_iter().map(|(key, mut payload)| {
                if same {
                    payload.resize(50, 0);
                }
                if let Some(octet) = payload.last_mut() {
                    *octet = *octet & !1 | (key & 1) as u8;
                }
                (if same { key & 1 } else { key }, payload)
            }).collect();
            let (heap, mut writer) = Heap::create(512 << 20, 1 << 20, true).unwrap();
            let mut removed = vec![];
            let mut tree = TreeWriter { heap: &heap, writer: &mut writer, sequence: 1, removed: &mut removed, is_counted: true };
            let root = tree.build(items.iter().map(|(k, p)| (*k, &p[..]))).unwrap();
            assert_positions(&heap, root, 1, &items);
            prop_assert_eq!(all(&heap, root, 1), items.into_iter().collect::<Vec<_>>());
            tree.destroy(root);
            prop_assert!(heap.read_node(root, 1).is_none());
        }
    }
}
