//! The memory that a search keeps while it is in progress.
//!
//! A search that is suspended counts it as memory of its client, which has a bound. Estimated from capacities, without walking through lists.

use super::cursor::{Candidates, Cursor};
use super::filter::{Compiled, Node, Normal, Test};
use super::plan::Source;
use crate::collective::Source as Collected;

impl Compiled {
    /// Bytes of memory beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        node(&self.0)
    }
}

fn node(of: &Node) -> usize {
    match of {
        Node::And(parts) | Node::Or(parts) => {
            parts.capacity() * size_of::<Node>() + parts.iter().map(node).sum::<usize>()
        }
        Node::Not(part) => size_of::<Node>() + node(part),
        Node::Item(item) => {
            test(&item.test)
                + item.collected.iter().flat_map(|of| of.iter()).map(Collected::heap_bytes).sum::<usize>()
        }
        Node::Member(membership) => membership.value.len() + membership.members.heap_bytes(),
        Node::True | Node::False | Node::Undefined | Node::Kind(_) | Node::Within(..) => 0,
    }
}

fn test(of: &Test) -> usize {
    match of {
        Test::Equal { normal, .. } | Test::Matches { normal, .. } => bytes(normal),
        Test::AtLeast { key, .. } | Test::AtMost { key, .. } => bytes(key),
        Test::Substrings { initial, any, last, .. } => {
            let all = initial.iter().chain(any).chain(last);
            all.map(bytes).sum::<usize>() + any.capacity() * size_of::<Normal>()
        }
        Test::Present => 0,
    }
}

/// Short ones lie within the node.
fn bytes(normal: &Normal) -> usize {
    if normal.spilled() { normal.capacity() } else { 0 }
}

impl Source {
    fn heap_bytes(&self) -> usize {
        match self {
            Source::Ids(ids) => ids.capacity() * size_of::<u32>(),
            Source::Bitmap(ids) => ids.serialized_size(),
            Source::Members(gathering) => gathering.heap_bytes(),
            // A live list is the index's own.
            Source::Live(_) | Source::All => 0,
        }
    }
}

impl Candidates {
    /// Bytes of memory beyond their own size.
    pub fn heap_bytes(&self) -> usize {
        self.source.heap_bytes()
    }
}

impl Cursor {
    /// Bytes of memory beyond its own size: filter and candidates.
    pub fn heap_bytes(&self) -> usize {
        self.filter.heap_bytes() + self.source.heap_bytes() + self.slice.capacity() * size_of::<u32>()
    }
}
