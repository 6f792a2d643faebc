//! Filters and searches of which it is known without an entry which entries they find: all, or all that have an attribute.

use super::cursor::Cursor;
use super::filter::{Compiled, Item, Node, Test};
use crate::shape::Kind;
use crate::shard::ReadPoint;
use model::{EntryId, TypeId};

/// The entries that a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// All entries.
    All,
    /// Those with a value of this type or of a subtype, with any options.
    With(TypeId),
}

impl Compiled {
    /// Is it true of such entries alone as have a value of this type or of a subtype?
    pub(crate) fn asks_for(&self, attribute_type: TypeId) -> bool {
        asks_for(&self.0, attribute_type)
    }

    /// The entries that it is true of, if these are known.
    pub(crate) fn whole(&self) -> Option<Whole> {
        whole(&self.0)
    }
}

/// The depth of a filter is bounded where it is decoded.
fn asks_for(node: &Node, attribute_type: TypeId) -> bool {
    match node {
        Node::False | Node::Undefined => true,
        Node::And(parts) => parts.iter().any(|part| asks_for(part, attribute_type)),
        Node::Or(parts) => parts.iter().all(|part| asks_for(part, attribute_type)),
        // What is worked out is not stored, and names of superiors have values that the entry has not.
        Node::Item(item) => {
            item.attribute_type == Some(attribute_type)
                && item.derived.is_none()
                && item.collected.is_none()
                && !matches!(item.test, Test::Matches { dn_attributes: true, .. })
        }
        Node::True | Node::Not(_) | Node::Kind(_) | Node::Member(_) | Node::Within(..) => false,
    }
}

fn whole(node: &Node) -> Option<Whole> {
    match node {
        Node::True => Some(Whole::All),
        Node::Item(Item {
            attribute_type,
            hidden: None,
            options,
            test: Test::Present,
            derived: None,
            collected: None,
        }) if options.is_none() => attribute_type.map(Whole::With),
        Node::And(parts) => parts.iter().try_fold(Whole::All, |all, part| match (all, whole(part)?) {
            (Whole::All, other) | (other, Whole::All) => Some(other),
            (one, other) => (one == other).then_some(one),
        }),
        _ => None,
    }
}

impl Cursor {
    /// Has each entry that it finds a value of this type or of a subtype?
    pub fn asks_for(&self, attribute_type: TypeId) -> bool {
        self.filter.asks_for(attribute_type)
    }
}

impl ReadPoint<'_> {
    /// How many subentries there are, if that is `most` at most and none of them has an attribute.
    pub fn subentries_without(self, attribute_type: TypeId, most: usize) -> Option<u64> {
        let mut ids = Vec::new();
        if let Some(set) = self.shard.kinds.of(Kind::Subentry) {
            set.push_from(0, most + 1, self, &mut ids);
        }
        let schema = &self.shard.schema;
        let mut subentries = ids.iter().filter_map(|id| self.entry(EntryId(*id)));
        let count = subentries.try_fold(0, |count, entry| {
            let mut types = entry.shape.slots.iter().map(|slot| slot.description.attribute_type);
            let has = types.any(|of| schema.is_subtype(of, attribute_type));
            (!has).then_some(count + u64::from(entry.shape.kind == Kind::Subentry))
        });
        count.filter(|_| ids.len() <= most)
    }
}
