//! A tree of items that are there all at once and in order: a value set that an entry is stored with, or an ordering index
//! at the end of a load. Each node is written once, and full, where inserts would leave nodes half full and write each
//! of them many times.

use super::node::{Item, node_bytes, push_item};
use super::{NODE_BYTES, TreeWriter};
use crate::segment::HeapFull;

impl TreeWriter<'_> {
    /// A new tree of items in ascending order. Returns its root, whose id stays the same as long as the tree: so it is
    /// allocated first, though it is written last, when what it has to hold is known.
    pub(crate) fn build<'i>(&mut self, items: impl Iterator<Item = Item<'i>>) -> Result<u32, HeapFull> {
        let root = self.writer.node_ids.allocate()?;
        let mut children: Vec<(u64, Vec<u8>, u32)> = Vec::new();
        let (mut node, mut count, mut first, mut last) = (node_bytes(0), 0, (0, vec![]), (0, vec![]));
        for item in items {
            let is_next = (last.0, &last.1[..]) <= item;
            assert!(is_next, "the items of a tree that is built ascend");
            if count > 0 && node.len() + item.1.len() + 12 > NODE_BYTES {
                children.push((first.0, first.1, self.write_new(&mut node, count)?));
                // As short as it can be: separators fill the inner nodes, which every search passes.
                first = self.separator((last.0, &last.1), item);
                (node, count) = (node_bytes(0), 0);
            }
            push_item(&mut node, item, None);
            count += 1;
            last = (item.0, item.1.to_vec());
        }
        if children.is_empty() {
            self.write(root, &mut node, count);
            self.count_node(root, &node);
            return Ok(root);
        }
        children.push((first.0, first.1, self.write_new(&mut node, count)?));
        self.build_levels(root, children)
    }

    /// The levels above the leaves, from below: the nodes of one are the children of the next, until one node holds all.
    /// A node has two children at least before the next is begun, so each level has fewer nodes and the root comes.
    fn build_levels(&mut self, root: u32, mut children: Vec<(u64, Vec<u8>, u32)>) -> Result<u32, HeapFull> {
        let mut level = 1;
        loop {
            assert!(children.len() > 1, "a level with one node is the root's");
            let mut parents = Vec::new();
            let (mut node, mut count, mut first) = (node_bytes(level), 0, (0, vec![]));
            for (key, payload, child) in &children {
                if count > 1 && node.len() + payload.len() + 16 > NODE_BYTES {
                    parents.push((first.0, first.1, self.write_new(&mut node, count)?));
                    (node, count) = (node_bytes(level), 0);
                    first = (*key, payload.clone());
                }
                // The first child of a node takes all that is smaller.
                let item = if count == 0 { (0, &[][..]) } else { (*key, &payload[..]) };
                push_item(&mut node, item, Some(*child));
                count += 1;
            }
            if parents.is_empty() {
                self.write(root, &mut node, count);
                self.count_node(root, &node);
                return Ok(root);
            }
            parents.push((first.0, first.1, self.write_new(&mut node, count)?));
            assert!(parents.len() < children.len(), "each level has fewer nodes than the one below");
            children = parents;
            level += 1;
        }
    }
}
