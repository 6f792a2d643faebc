//! Numbers of items, of trees that are asked for positions: how many items there are at and below each node that count.
//!
//! ```text
//! payload               u32 in network order: twice the id of an entry, and 1 if the item does not count
//! count of a node       a word of its own beside the heap, by the node's id; no version of the node has it
//! position of an item   the counts of the children before it, on each level
//! ```
//! An item comes to count, or no longer does, where it stands: its length stays, nothing is between its two forms, and no separator tells them apart. So that
//! cannot fail for want of a node.
//!
//! In the nodes they would be written anew from the leaf to the root with every change. Beside them a change is a store for each level, and a split sets
//! the counts of the two halves. The writer alone writes them, so it loads and stores without an order; a reader that comes in between finds one item
//! more or fewer than there are.
//!
//! So counts have no versions. They go with the newest nodes, and a reader goes down by these, not by those of its read point: a number is true of a
//! tree in which it may not see all. Who reads the tree at a read point gets items, and no count can change which. When nothing is written, numbers are exact.

use super::node::{Item, NEWEST, NODE_HEAD, Node, Tree};
use crate::segment::Heap;

/// Ids are below this.
const IDS_END: u32 = 1 << 31;

/// The payload of an item.
///
/// # Panics
/// Of an id that no entry can have.
pub(crate) fn payload_of(id: u32, counts: bool) -> [u8; 4] {
    assert!(id < IDS_END, "an id leaves a bit to a payload");
    (id << 1 | u32::from(!counts)).to_be_bytes()
}

/// The id in a payload, and whether its item counts. `None` of bytes that are no payload.
#[inline]
pub(crate) fn parts_of(payload: &[u8]) -> Option<(u32, bool)> {
    let word = u32::from_be_bytes(payload.try_into().ok()?);
    Some((word >> 1, word & 1 == 0))
}

/// Does an item count?
#[inline]
pub(super) fn does_count(payload: &[u8]) -> bool {
    payload.last().is_none_or(|octet| octet & 1 == 0)
}

/// The payload of a separator, which is at or below both forms of the item behind it, and above what is in front of it: payloads of one key
/// are of one length, as ids are.
pub(super) fn border(payload: &mut [u8]) {
    if let Some(octet) = payload.last_mut() {
        *octet &= !1;
    }
}

/// Counts an item more or less at and below each of these nodes. Writer only.
pub(super) fn count(heap: &Heap, path: &[u32], is_more: bool) {
    for &id in path {
        let count = heap.node_count(id);
        heap.set_node_count(id, if is_more { count.wrapping_add(1) } else { count.wrapping_sub(1) });
    }
}

/// Counts what is at and below a node with this content. Those of its children are known. Writer only.
pub(super) fn count_node(heap: &Heap, id: u32, body: &[u8]) {
    let node = Node { bytes: body };
    let count = match node.level() {
        0 => node.entries().filter(|entry| does_count(entry.payload)).count() as u64,
        _ => node.entries().map(|entry| heap.node_count(entry.child)).sum(),
    };
    heap.set_node_count(id, count);
}

/// Numbers of items of a tree whose items are counted, as it is now.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a> {
    heap: &'a Heap,
    root: u32,
}

impl<'a> Tree<'a> {
    /// Of a tree that is counted. The tree tells that its reader has a read point: nodes that are replaced meanwhile stay.
    pub(crate) fn counts(self) -> Counts<'a> {
        Counts { heap: self.heap, root: self.root }
    }
}

impl<'a> Counts<'a> {
    /// Items that count.
    pub(crate) fn len(self) -> u64 {
        self.heap.node_count(self.root)
    }

    /// Items below this one that count. `None` if the tree is changed under the look.
    pub(crate) fn position(self, item: Item<'_>) -> Option<u64> {
        let (mut position, mut node) = (0u64, self.node(self.root)?);
        while node.level() > 0 {
            let child = node.child_for(item).0.child;
            let before = node.entries().take_while(|entry| entry.child != child);
            position = before
                .fold(position, |position, entry| position.saturating_add(self.heap.node_count(entry.child)));
            node = self.node(child)?;
        }
        let end = node.seek(item);
        let before = node.entries().scan(NODE_HEAD, |at, entry| {
            let begin = *at;
            *at += entry.raw.len();
            (begin < end).then_some(entry)
        });
        let before = before.filter(|entry| does_count(entry.payload));
        Some(position.saturating_add(before.count() as u64))
    }

    /// The item that counts with so many others below it. `None` if there are no more than that, or if the tree is changed under the look.
    pub(crate) fn nth(self, mut n: u64) -> Option<Item<'a>> {
        let mut node = self.node(self.root)?;
        while node.level() > 0 {
            let child = node.entries().map(|entry| entry.child).find(|child| {
                let count = self.heap.node_count(*child);
                let is_in = n < count;
                n -= if is_in { 0 } else { count };
                is_in
            });
            node = self.node(child?)?;
        }
        let mut counted = node.entries().filter(|entry| does_count(entry.payload));
        counted.nth(usize::try_from(n).ok()?).map(|entry| entry.item())
    }

    /// A child may be gone again when it is come to: the node that led to it is written after it.
    fn node(self, id: u32) -> Option<Node<'a>> {
        Node::find(self.heap, id, NEWEST)
    }
}
