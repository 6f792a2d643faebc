//! A node of a tree as it lies in the heap: reading one, finding an item in it, and putting one together.

use crate::length::{push_value, split_value};
use crate::segment::Heap;

/// Level and count, before the items.
pub(super) const NODE_HEAD: usize = 3;
/// An item of an inner node without a payload: such items are found by halving.
const BARE_BYTES: usize = 13;

/// Where the writer reads: at the newest version of each node. Its own sequence would be wrong in a load, which writes
/// without versions, so with sequence 0, into trees that earlier batches may have made.
pub(super) const NEWEST: u64 = u64::MAX;

/// Key and payload.
pub(crate) type Item<'a> = (u64, &'a [u8]);

/// A tree at a read point: what looking at it takes.
#[derive(Clone, Copy)]
pub(crate) struct Tree<'a> {
    pub(crate) heap: &'a Heap,
    pub(crate) root: u32,
    pub(crate) sequence: u64,
}

/// An item of a node with what stands behind it. `child` is 0 in a leaf.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) key: u64,
    pub(super) payload: &'a [u8],
    pub(super) child: u32,
    /// The item's bytes as they lie in the node.
    pub(super) raw: &'a [u8],
}

impl<'a> Entry<'a> {
    pub(super) fn item(&self) -> Item<'a> {
        (self.key, self.payload)
    }
}

/// A node as it lies in the heap. Its bytes are trusted: this module wrote them, or [`super::Tree::walk`] looked at them when the
/// shard was restored. So offsets are followed without an error to return, and a wrong one ends in a panic of slicing.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Node<'a> {
    /// A node that another node of the same version leads to: it is there, since a node is dropped in the batch that takes
    /// it out of its parent, and readers of earlier batches still find it.
    pub(super) fn read(heap: &'a Heap, id: u32, sequence: u64) -> Node<'a> {
        Node::find(heap, id, sequence).expect("a node that is pointed to is there")
    }

    /// As [`Node::read`], of a root, which a reader may be too old to see.
    pub(super) fn find(heap: &'a Heap, id: u32, sequence: u64) -> Option<Node<'a>> {
        let object = heap.read_node(id, sequence)?;
        Some(Node { bytes: object.payload })
    }

    #[inline]
    pub(super) fn level(self) -> u8 {
        self.bytes[0]
    }

    pub(super) fn count(self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[1], self.bytes[2]]))
    }

    /// The items.
    fn body(self) -> &'a [u8] {
        &self.bytes[NODE_HEAD..]
    }

    #[inline]
    fn key_at(self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    /// The entry that begins at an offset into the node.
    #[inline]
    pub(super) fn entry_at(self, at: usize) -> Entry<'a> {
        let rest = &self.bytes[at..];
        let (payload, behind) = split_value(&rest[8..]);
        let (child, next) = behind.split_at(if self.level() > 0 { 4 } else { 0 });
        let child = child.try_into().map_or(0, u32::from_le_bytes);
        Entry { key: self.key_at(at), payload, child, raw: &rest[..rest.len() - next.len()] }
    }

    /// Offsets of all entries. Steps over lengths alone.
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        let mut next = NODE_HEAD;
        std::iter::from_fn(move || {
            let at = next;
            next += match *self.bytes.get(at + 8)? {
                short if short < 255 && self.level() == 0 => 9 + usize::from(short),
                _ => self.entry_at(at).raw.len(),
            };
            Some(at)
        })
    }

    pub(super) fn entries(self) -> impl Iterator<Item = Entry<'a>> + Clone {
        self.entries_from(NODE_HEAD)
    }

    pub(super) fn entries_from(self, mut at: usize) -> impl Iterator<Item = Entry<'a>> + Clone {
        std::iter::from_fn(move || {
            if at == self.bytes.len() {
                return None;
            }
            let entry = self.entry_at(at);
            at += entry.raw.len();
            Some(entry)
        })
    }

    /// Offset of the first entry of a leaf that is not below `item`, or of the node's end. Steps over keys and lengths
    /// alone.
    pub(super) fn seek(self, item: Item<'_>) -> usize {
        let mut at = NODE_HEAD;
        while let Some(head) = self.bytes.get(at..at + 9) {
            let key = u64::from_le_bytes(head[..8].try_into().expect("eight bytes"));
            if key > item.0 || (key == item.0 && self.entry_at(at).payload >= item.1) {
                break;
            }
            at += match head[8] {
                255 => self.entry_at(at).raw.len(),
                short => 9 + usize::from(short),
            };
        }
        at
    }

    /// The child under which `item` belongs, and where the next child begins.
    pub(super) fn child_for(self, item: Item<'_>) -> (Entry<'a>, Option<Item<'a>>) {
        // Separators of a set of hashes seldom have payloads, so its inner nodes have items of one length.
        if self.is_bare() {
            let at = self.last_bare(|key| key <= item.0);
            let next = (at + 1 < self.count()).then(|| self.bare_at(at + 1).item());
            return (self.bare_at(at), next);
        }
        // Separators with payloads differ in length, so they are passed one by one. The first item is below all others,
        // whatever it says: it stands for everything smaller.
        let mut entries = self.entries();
        let mut found = entries.next().expect("an inner node has children");
        for entry in entries {
            if entry.item() > item {
                return (found, Some(entry.item()));
            }
            found = entry;
        }
        (found, None)
    }
}

/// Inner nodes whose separators have no payloads: all of their items have one length, so these are found by halving.
impl<'a> Node<'a> {
    #[inline]
    pub(super) fn is_bare(self) -> bool {
        self.body().len() == self.count() * BARE_BYTES
    }

    #[inline]
    pub(super) fn bare_at(self, number: usize) -> Entry<'a> {
        self.entry_at(NODE_HEAD + number * BARE_BYTES)
    }

    /// The last item whose key `is_before` says yes to, as to those of all before it; the first one, if there is no such.
    #[inline]
    pub(super) fn last_bare(self, is_before: impl Fn(u64) -> bool) -> usize {
        let (mut at, mut end) = (0, self.count());
        while at + 1 < end {
            let middle = (at + end) / 2;
            if is_before(self.key_at(NODE_HEAD + middle * BARE_BYTES)) { at = middle } else { end = middle }
        }
        at
    }
}

/// Appends an item as it lies in a node; with a child to an inner one.
pub(super) fn push_item(out: &mut Vec<u8>, (key, payload): Item<'_>, child: Option<u32>) {
    out.extend_from_slice(&key.to_le_bytes());
    push_value(out, payload);
    if let Some(child) = child {
        out.extend_from_slice(&child.to_le_bytes());
    }
}

pub(super) fn node_bytes(level: u8) -> Vec<u8> {
    vec![level, 0, 0]
}

/// Notes the number of items, which is known once all are in the node.
pub(super) fn finish(node: &mut [u8], count: usize) {
    assert!(count <= usize::from(u16::MAX), "a node has no more items than its count can say");
    node[1..3].copy_from_slice(&(count as u16).to_le_bytes());
}

/// The shortest separator between two neighbours: without the payload where the key alone tells. It is greater than the
/// left one and not greater than the right one, which is all that a separator must be.
pub(super) fn separator<'a>(left: Item<'_>, right: Item<'a>) -> Item<'a> {
    if left.0 == right.0 { right } else { (right.0, &[]) }
}
