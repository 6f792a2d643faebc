//! Entries in the order of the keys of an ordering index, a leaf of its tree at a time, and their positions in this order.
//!
//! A key has the first bytes of a value alone: entries whose keys are equal come together, and who wants an order among them makes it. An entry with
//! several values comes once for each key; only the least of them has a position.

use super::AttributeIndex;
use super::kind::IndexKind;
use crate::search::Cursor;
use crate::shard::ReadPoint;
use crate::tree::{Counts, From, Item, parts_of, payload_of};
use model::{EntryId, TypeId};
use schema::Rule;
use std::sync::Arc;

/// A walk over the keys of an index, at one read point. It holds no borrow, so it can wait between two leaves. An index that is dropped
/// meanwhile is kept by it.
pub struct InOrder {
    index: Arc<AttributeIndex>,
    /// From the greatest key down?
    is_reverse: bool,
    /// By the least of its keys alone?
    is_by_least: bool,
    left_out: LeftOut,
    at: At,
}

/// Entries that have no positions, and do not come.
/// They are few, and looked for by halving: once for each lookup, and once for each entry that comes.
#[derive(Default)]
struct LeftOut {
    /// In the order of the index.
    items: Vec<(u64, u32)>,
    /// The position of each among all entries of the index.
    positions: Vec<u64>,
    /// Ascending.
    ids: Vec<u32>,
}

/// Entries that can be left out, at most.
/// The position of each is looked up in the tree when a list begins: half a microsecond each.
const LEFT_OUT_MAX: usize = 128;

/// Where a walk goes on.
#[derive(Clone, Copy)]
enum At {
    /// Before all keys.
    Begin,
    /// Before those with this prefix.
    Prefix(u64),
    /// Behind a key.
    Behind(u64, u32),
    /// At what separates a leaf from the next: this prefix, and as many octets of a payload.
    Border(u64, [u8; 4], u8),
}

impl At {
    /// Where all of a leaf was taken. `None` of a border that is none of an index.
    fn border((prefix, payload): Item<'_>) -> Option<At> {
        let mut octets = [0; 4];
        octets.get_mut(..payload.len())?.copy_from_slice(payload);
        Some(At::Border(prefix, octets, payload.len() as u8))
    }
}

impl InOrder {
    /// Over the index on this type, if its keys are in the order of this rule.
    pub fn open(
        read_point: ReadPoint<'_>,
        (attribute_type, rule): (TypeId, Rule),
        is_reverse: bool,
    ) -> Option<InOrder> {
        let index = read_point.indexes().answering(attribute_type, IndexKind::Ordering)?;
        let own = read_point.shard.schema.attribute_type(attribute_type).order()?;
        // Normal forms of IA5 strings are those of other strings, but not all of these have one.
        let is_ia5 = matches!(own, Rule::CaseIgnoreIa5 | Rule::CaseExactIa5);
        let is_of_rule = own == rule || (own.compares_like(rule) && !is_ia5);
        is_of_rule.then(|| InOrder {
            index: Arc::clone(index),
            is_reverse,
            is_by_least: false,
            left_out: LeftOut::default(),
            at: At::Begin,
        })
    }

    /// Each entry comes once, by the least of its keys. That is known while the index has positions ([`InOrder::len`]).
    pub fn by_least(mut self) -> InOrder {
        self.is_by_least = true;
        self
    }

    /// Without those of these entries that are in the index. Positions are those among the others. `None` if there are many of them, or if the index is
    /// changed just now.
    pub fn without(mut self, read_point: ReadPoint<'_>, ids: &[u32]) -> Option<InOrder> {
        let mut items = Vec::new();
        for id in ids {
            let Some(entry) = read_point.entry(EntryId(*id)) else { continue };
            let first = self.index.prefixes(read_point, &entry)?.first().copied();
            items.extend(first.map(|prefix| (prefix, *id)));
            if items.len() > LEFT_OUT_MAX {
                return None;
            }
        }
        items.sort_unstable();
        let Some(counts) = self.counts(read_point) else { return Some(self) };
        let position = |(prefix, id): &(u64, u32)| counts.position((*prefix, &payload_of(*id, true)));
        let positions: Option<Vec<u64>> = items.iter().map(position).collect();
        let mut ids: Vec<u32> = items.iter().map(|(_, id)| *id).collect();
        ids.sort_unstable();
        self.left_out = LeftOut { items, positions: positions?, ids };
        Some(self)
    }

    /// Goes on with the first of the entries with this prefix of a key.
    pub fn seek(&mut self, prefix: u64) {
        self.at = At::Prefix(prefix);
    }

    /// Hands prefixes and ids to `each`, those of a leaf at most, until that does not take one: this one comes again. `false` if there are no more.
    pub fn next(&mut self, read_point: ReadPoint<'_>, mut each: impl FnMut(u64, u32) -> bool) -> bool {
        // Before the first entry has the attribute there is no tree.
        let Some(root) = self.index.tree_root() else { return false };
        let begin = self.at;
        let (at, is_by_least, without) = (&mut self.at, self.is_by_least, &self.left_out.ids);
        let take = |(prefix, payload): Item<'_>| {
            let (id, is_least) = parts_of(payload).expect("the payload is an id");
            let comes = (is_least || !is_by_least) && without.binary_search(&id).is_err();
            if comes && !each(prefix, id) {
                return false;
            }
            *at = At::Behind(prefix, id);
            true
        };
        let (tree, mut id) = (read_point.tree(root), [0; 4]);
        if let At::Behind(_, of) = begin {
            // Behind both forms of the item.
            id = payload_of(of, self.is_reverse);
        }
        let come = match (begin, self.is_reverse) {
            (At::Begin, false) => tree.next_while(From::START, take),
            (At::Prefix(prefix), false) => tree.next_while(From::At((prefix, &[])), take),
            (At::Behind(prefix, _), false) => tree.next_while(From::After((prefix, &id)), take),
            (At::Border(prefix, octets, len), false) => {
                tree.next_while(From::At((prefix, &octets[..usize::from(len)])), take)
            }
            (At::Begin, true) => tree.previous_while(None, take),
            (At::Prefix(prefix), true) => tree.previous_while(end_of(prefix), take),
            (At::Behind(prefix, _), true) => tree.previous_while(Some((prefix, &id)), take),
            (At::Border(prefix, octets, len), true) => {
                tree.previous_while(Some((prefix, &octets[..usize::from(len)])), take)
            }
        };
        // The leaf is not looked at again for what is behind it.
        if let Some(at) = come.flatten().and_then(At::border) {
            self.at = at;
        }
        come.is_some()
    }

    /// Has the index all entries that a cursor finds?
    pub fn has_all_of(&self, cursor: &Cursor) -> bool {
        self.index.has_all_values() && cursor.asks_for(self.index.name.attribute_type)
    }

    /// Entries in the index, as many as there are now; positions are below it. `None` if it has no positions: of an entry the least key is not known, or a
    /// value has none.
    pub fn len(&self, read_point: ReadPoint<'_>) -> Option<u64> {
        let all = || self.counts(read_point).map_or(0, Counts::len);
        self.index.has_positions().then(|| all().saturating_sub(self.left_out.items.len() as u64))
    }

    /// The position of the first entry with a prefix, or behind it: how many come before those. As of now. `None` if the index is changed just now.
    pub fn position(&self, read_point: ReadPoint<'_>, prefix: u64) -> Option<u64> {
        let Some(counts) = self.counts(read_point) else { return Some(0) };
        let left_out = &self.left_out.items;
        let (before, without) = match (self.is_reverse, end_of(prefix)) {
            (false, _) => {
                (counts.position((prefix, &[]))?, left_out.partition_point(|(other, _)| *other < prefix))
            }
            (true, None) => (0, 0),
            (true, Some(end)) => {
                let lower = left_out.partition_point(|(other, _)| *other <= prefix);
                (counts.len().saturating_sub(counts.position(end)?), left_out.len() - lower)
            }
        };
        Some(before.saturating_sub(without as u64))
    }

    /// The prefix of the entry at a position. `None` if there are not so many entries, or the index is changed just now.
    pub fn prefix_at(&self, read_point: ReadPoint<'_>, position: u64) -> Option<u64> {
        let counts = self.counts(read_point)?;
        let position = match self.is_reverse {
            false => position,
            true => self.len(read_point)?.checked_sub(position.checked_add(1)?)?,
        };
        // Those that are left out are passed over: as many as have no more than so many others before them.
        let (mut low, mut high) = (0, self.left_out.positions.len());
        while low < high {
            let middle = (low + high) / 2;
            let others = self.left_out.positions[middle].saturating_sub(middle as u64);
            if others <= position { low = middle + 1 } else { high = middle }
        }
        let position = position.checked_add(low as u64)?;
        counts.nth(position).map(|(prefix, _)| prefix)
    }

    fn counts<'a>(&self, read_point: ReadPoint<'a>) -> Option<Counts<'a>> {
        self.index.tree_root().map(|root| read_point.tree(root).counts())
    }
}

/// The first item behind those with a prefix, if there can be one.
fn end_of(prefix: u64) -> Option<Item<'static>> {
    prefix.checked_add(1).map(|next| (next, &[][..]))
}
