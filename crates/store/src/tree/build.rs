//! A tree of items that are there all at once and in order.

use super::{Item, NODE_BYTES, TreeWriter, node_bytes, push_item, separator};
use crate::segment::HeapFull;

impl TreeWriter<'_> {
    /// A new tree of items in ascending order. Returns its root, whose id stays the same for the tree's life.
    pub(crate) fn build<'i>(&mut self, items: impl Iterator<Item = Item<'i>>) -> Result<u32, HeapFull> {
        let root = self.heap.allocate_node(self.writer)?;
        let mut children: Vec<(u64, Vec<u8>, u32)> = Vec::new();
        let (mut node, mut count, mut first, mut last) = (node_bytes(0), 0, (0, vec![]), (0, vec![]));
        for item in items {
            if count > 0 && node.len() + item.1.len() + 12 > NODE_BYTES {
                children.push((first.0, first.1, self.write_new(&mut node, count)?));
                let (key, payload) = separator((last.0, &last.1), item);
                first = (key, payload.to_vec());
                (node, count) = (node_bytes(0), 0);
            }
            push_item(&mut node, item, None);
            count += 1;
            last = (item.0, item.1.to_vec());
        }
        if children.is_empty() {
            self.write(root, &mut node, count);
            return Ok(root);
        }
        children.push((first.0, first.1, self.write_new(&mut node, count)?));
        self.build_levels(root, children)
    }

    fn build_levels(&mut self, root: u32, mut children: Vec<(u64, Vec<u8>, u32)>) -> Result<u32, HeapFull> {
        let mut level = 1;
        loop {
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
                return Ok(root);
            }
            parents.push((first.0, first.1, self.write_new(&mut node, count)?));
            children = parents;
            level += 1;
        }
    }
}
