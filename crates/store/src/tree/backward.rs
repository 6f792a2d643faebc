//! Items in descending order. Nodes have no links to their neighbours, so each leaf is found from the root, as in ascending order.

use super::Border;
use super::node::{Item, Node, Tree};
use smallvec::SmallVec;

/// Items of a leaf with short payloads, at most: so many places need no memory of their own.
const LEAF_ITEMS: usize = 96;

impl<'a> Tree<'a> {
    /// Hands the items of one leaf that are below `bound` to `each`, the greatest first, until that wants no more: the last leaf that has any.
    /// Without a bound: all items. `None` when there are none. Call again with the border, or with the last item seen.
    pub(crate) fn previous_while(
        self,
        bound: Option<Item<'_>>,
        mut each: impl FnMut(Item<'a>) -> bool,
    ) -> Option<Border<'a>> {
        let mut descend_to: Option<Item<'a>> = None;
        // More than one turn is for a leaf whose items below the bound are gone.
        loop {
            let (leaf, low) = self.leaf_below(descend_to.or(bound))?;
            let end = bound.map_or(leaf.bytes.len(), |bound| leaf.seek(bound));
            let below: SmallVec<[usize; LEAF_ITEMS]> = leaf.places().take_while(|at| *at < end).collect();
            for at in below.iter().rev() {
                if !each(leaf.entry_at(*at).item()) {
                    return Some(None);
                }
            }
            if !below.is_empty() {
                return Some(low);
            }
            descend_to = Some(low?);
        }
    }

    /// The last leaf that may have items below a bound, and where it begins: the separator on the way down that is lowest in the tree, since
    /// that of a higher level is before more. `None` for the first leaf.
    fn leaf_below(self, bound: Option<Item<'_>>) -> Option<(Node<'a>, Option<Item<'a>>)> {
        let mut node = Node::find(self.heap, self.root, self.sequence)?;
        let mut low = None;
        while node.level() > 0 {
            let (child, begins) = node.last_child_below(bound);
            low = begins.or(low);
            node = Node::read(self.heap, child, self.sequence);
        }
        Some((node, low))
    }
}

impl<'a> Node<'a> {
    /// The last child whose items may be below a bound, and its separator; that of the first child is that of its parent.
    fn last_child_below(self, bound: Option<Item<'_>>) -> (u32, Option<Item<'a>>) {
        if self.is_bare() {
            // The first item stands for all that is smaller, whatever it says.
            let is_before = |key| bound.is_none_or(|bound| (key, &[][..]) < bound);
            let number = self.last_bare(is_before);
            let entry = self.bare_at(number);
            return (entry.child, (number > 0).then(|| entry.item()));
        }
        let mut entries = self.entries();
        let first = entries.next().expect("an inner node has children");
        let mut found = (first.child, None);
        // A child has nothing below its separator, so one that begins at the bound has nothing below that.
        for entry in entries.take_while(|entry| bound.is_none_or(|bound| entry.item() < bound)) {
            found = (entry.child, Some(entry.item()));
        }
        found
    }
}
