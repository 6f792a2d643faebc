//! A walk over all nodes of a tree that trusts none of them: for trees that come from a file, before anything else
//! follows them, and for `Writer::check`. Everything that [`super::node::Node`] relies on is looked at: lengths, counts, levels,
//! order, and separators that bound what is below them.

use super::node::{Entry, Item, NODE_HEAD, Node, Tree};
use crate::length::checked_value;

/// What a walk comes by.
pub(crate) enum Visit<'a> {
    /// A node, before what is in it.
    Node(u32),
    Item(Item<'a>),
}

/// What is given each node and item.
type Visitor<'v, 'a> = &'v mut dyn FnMut(Visit<'a>) -> Result<(), &'static str>;

/// Levels that a tree can have: every inner node but the root has two children or more when it is made.
const LEVELS_MAX: u8 = 32;

impl<'a> Tree<'a> {
    /// Goes through a whole tree, items in their order, and looks at all that the other functions rely on. `visit` is
    /// given each node first and can refuse it, as it must when it comes again.
    ///
    /// # Errors
    /// What is wrong with the tree, or what `visit` says.
    pub(crate) fn walk(self, visit: Visitor<'_, 'a>) -> Result<(), &'static str> {
        self.walk_node(self.root, None, ((0, &[]), None), visit)
    }

    /// Goes through a node and what is below it, whose items must be at least `low` and less than `high`. Levels descend by
    /// one from the root's, so the recursion is no deeper than [`LEVELS_MAX`], whatever the bytes say.
    fn walk_node(
        self,
        id: u32,
        level: Option<u8>,
        (low, high): (Item<'a>, Option<Item<'a>>),
        visit: Visitor<'_, 'a>,
    ) -> Result<(), &'static str> {
        visit(Visit::Node(id))?;
        let object =
            self.heap.read_node(id, self.sequence).ok_or("a tree leads to a node that is not there")?;
        let (own_level, entries) = checked_node(object.payload).ok_or("a node is cut off")?;
        if own_level > LEVELS_MAX || level.is_some_and(|level| own_level != level) {
            return Err("a node is on another level than its parent says");
        }
        if entries.is_empty() && (own_level > 0 || level.is_some()) {
            return Err("a node is empty");
        }
        for (at, entry) in entries.iter().enumerate() {
            let item = entry.item();
            let before = if at > 0 { entries[at - 1].item() } else { low };
            // The first child of an inner node takes all that is smaller, so its separator is the smallest item there can
            // be. Version 0.1 built trees with another one there, which nothing looks at.
            let ascends = match (own_level, at) {
                (0, 0) => item >= low,
                (_, 0) => item == (0, &[][..]) || item >= low,
                _ => item > before && item >= low,
            };
            if !ascends || high.is_some_and(|high| item >= high) {
                return Err("the items of a tree are not in order");
            }
            if own_level == 0 {
                visit(Visit::Item(item))?;
                continue;
            }
            let from = if at == 0 { low } else { item };
            let to = entries.get(at + 1).map(Entry::item).or(high);
            self.walk_node(entry.child, Some(own_level - 1), (from, to), visit)?;
        }
        Ok(())
    }
}

/// Level and entries of a node whose bytes are not trusted.
fn checked_node(payload: &[u8]) -> Option<(u8, Vec<Entry<'_>>)> {
    let (level, count) = (*payload.first()?, u16::from_le_bytes([*payload.get(1)?, *payload.get(2)?]));
    let (node, mut at, mut entries) = (Node { bytes: payload }, NODE_HEAD, Vec::new());
    while at < payload.len() {
        let behind = checked_value(payload.get(at + 8..)?)?;
        behind.get(if level > 0 { 4 } else { 0 }..)?;
        // All of it is there.
        let entry = node.entry_at(at);
        at += entry.raw.len();
        entries.push(entry);
    }
    assert_eq!(at, payload.len(), "an entry ends where it was looked for");
    (entries.len() == usize::from(count)).then_some((level, entries))
}
