//! Delete: an entry without subordinates goes (RFC 4511 section 4.8).
//!
//! It needs no room under the memory limit, and nothing in it can be refused once it is known that the entry is a leaf: a
//! full directory can always be emptied. Readers of older batches still find the entry by its name, superior and index
//! keys; all of these are removed when the last such reader is gone, and then the record itself, so that nothing leads to
//! an id without an object.

use crate::deferred::Later;
use crate::record::{ValueSet, Values};
use crate::refused::Refused;
use crate::shard::Writer;
use crate::stream::EntryChangeKind;
use crate::values::SetPosition;
use model::{Description, EntryId};

impl Writer<'_> {
    /// Deletes the entry with this DN.
    pub fn delete(&mut self, dn: &[u8]) -> Result<EntryId, Refused> {
        let id = self.existing(dn)?;
        let (shard, view) = (self.shard, self.view());
        // The writer's own count: it knows of entries that this batch has added or deleted below this one.
        let children = view.subordinates(id);
        if children > 0 {
            return Err(Refused::NotAllowedOnNonLeaf { children });
        }
        let entry = view.entry(id).expect("it was just found");
        let before = self.before(&entry);
        let class_type = Description::plain(shard.schema.well_known().object_class);
        let none = std::iter::empty::<&[u8]>;
        self.index_change(id.0, class_type, entry.shape.class_values.iter().map(|v| &**v), none())?;
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            match values {
                Values::Inline(values) => self.index_change(id.0, slot.description, values, none())?,
                Values::Set(set) => self.delete_set(id.0, slot.description, &set)?,
            }
        }
        // While the record is there: the key of a root is found by its place in the DN hash.
        let mut key = Vec::new();
        view.key_of(&entry, &mut key);
        let parent = entry.parent().0;
        self.later(Later::Dn { tag: shard.dn_tag(parent, &key), id: id.0 });
        self.leave_superior(parent, id.0);
        self.names_change();
        self.leave_kind(id.0, entry.shape, None);
        // With a version also in a load, and the id last: removals are made in the order in which they are put off, so the id
        // is free only when nothing leads to it.
        let version = self.sequence;
        shard.heap.put_removed(&mut self.state.heap, id.0, version);
        self.settle_trees(id.0);
        self.mark_dead(id.0);
        self.count_entries(-1);
        if let Some(before) = before {
            self.state.noted.push_with(id, EntryChangeKind::Delete, before);
        }
        Ok(id)
    }

    /// The entry is no longer below `parent`. The count goes down at once, for the next command; the link stays for readers.
    pub(super) fn leave_superior(&mut self, parent: u32, id: u32) {
        self.shard.children.leave(self.shard.child_tag(parent));
        self.later(Later::Child { parent, id });
    }

    /// Drops a big set with all its index keys, the stale ones among them. The keys are made from the values, leaf by leaf;
    /// then the nodes go.
    pub(super) fn delete_set(
        &mut self,
        id: u32,
        description: Description,
        set: &ValueSet,
    ) -> Result<(), Refused> {
        let gone = ValueSet { count: 0, ..*set };
        self.shard.note_set_change(self.sequence, description.attribute_type, (set, gone), [].into_iter());
        let (view, indexes) = (self.view(), self.view().indexes());
        let (mut position, mut values) = (SetPosition::default(), Vec::new());
        while indexes.cover(description.attribute_type)
            && view.set_values(set, &mut position, |value| values.push(value))
        {
            for value in values.drain(..) {
                self.index_set_value(id, description, value, None, false)?;
            }
        }
        for &number in indexes.numbers_of(description.attribute_type) {
            if let Some(key) = indexes.at(number).name.kind.attribute_key() {
                self.drop_key(number, key, id);
            }
            self.drop_stale_keys(number, id);
        }
        self.with_tree(self.sequence, |tree| {
            tree.destroy(set.root);
            Ok(())
        })
    }
}
