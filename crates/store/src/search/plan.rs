//! Where the candidates of a search come from: the most selective index that the filter allows, else the scope.

use super::filter::{Compiled, Item, Node, Test};
use super::scopes::Scopes;
use crate::hash::tag;
use crate::index::AttributeIndex;
use crate::index::keys::{part_trigrams, prefix};
use crate::index::settings::IndexKind;
use crate::postings::{Found, LiveSet};
use crate::shape::Kind;
use crate::shard::ReadPoint;
use crate::tree::{self, From};
use model::{EntryId, Scope};
use roaring::RoaringBitmap;
use std::sync::Arc;

/// Ids that a range of an ordering index may gather before the plan is given up for a scan.
const RANGE_IDS_MAX: u64 = 4 << 20;
/// A subtree is walked down if it has at most one entry in so many; else all ids are looked at.
const WALK_SHARE: u64 = 4;

/// The source of candidates. All but `All` and long sets are gathered when the search begins.
pub(crate) enum Source {
    /// Nothing can match.
    Nothing,
    /// These ids, ascending.
    Ids(Vec<u32>),
    /// Many ids, gathered from several lists.
    Bitmap(RoaringBitmap),
    /// The children of the base, or all entries with a key, read as the search goes on.
    Live(LiveKey),
    /// Every id.
    All,
}

/// A long list that is read in slices. An index that is dropped meanwhile is kept by it.
#[derive(Clone)]
pub(crate) enum LiveKey {
    /// The children of an entry.
    Children(EntryId),
    /// Entries with an equality key, by its hash.
    Equality(Arc<AttributeIndex>, u64),
    /// Entries that have an attribute.
    Presence(Arc<AttributeIndex>),
    /// Aliases, or referral objects.
    Kind(Kind),
}

/// How many candidates a part of a filter leaves, at most.
struct Estimate<'f> {
    len: u64,
    item: Choice<'f>,
}

enum Choice<'f> {
    Nothing,
    Item(&'f Item),
    Any(Vec<Estimate<'f>>),
}

impl<'a> ReadPoint<'a> {
    /// Chooses where to look.
    pub(crate) fn plan(self, filter: &Compiled, scopes: &Scopes) -> Source {
        let Scopes { base, scope, .. } = *scopes;
        let by_scope = match scope {
            _ if !scopes.is_single() => self.shard.entries(),
            Scope::Base => return Source::Ids(vec![base.0]),
            Scope::One => self.child_candidates(base).len() as u64,
            Scope::Subtree | Scope::Subordinates => self.shard.entries(),
        };
        match self.estimate(&filter.0) {
            Some(best) if best.len <= by_scope => {
                self.gather(&best).unwrap_or_else(|| self.scope_source(scopes))
            }
            _ => self.scope_source(scopes),
        }
    }

    fn scope_source(self, scopes: &Scopes) -> Source {
        let Scopes { base, scope, .. } = *scopes;
        if !scopes.is_single() {
            return Source::All;
        }
        if scope == Scope::One {
            return match self.child_candidates(base) {
                Found::Few(ids) => Source::Ids(sorted(ids.to_vec())),
                Found::Many(_) => Source::Live(LiveKey::Children(base)),
            };
        }
        let limit = (self.shard.entries() / WALK_SHARE).max(1024);
        self.walk(base, limit).map_or(Source::All, |ids| Source::Ids(sorted(ids)))
    }

    /// The ids below and at `base`, unless there are more than `limit`.
    fn walk(self, base: EntryId, limit: u64) -> Option<Vec<u32>> {
        let mut ids = vec![base.0];
        let mut next = 0;
        while let Some(&id) = ids.get(next) {
            next += 1;
            let room = (limit as usize).checked_sub(ids.len())?;
            match self.child_candidates(EntryId(id)) {
                Found::Few(children) => ids.extend(children.iter().filter(|c| self.is_child(**c, id))),
                Found::Many(set) if set.ids.len() as usize > room => return None,
                Found::Many(set) => {
                    let mut children = Vec::new();
                    set.ids.push_from(0, usize::MAX, self, &mut children);
                    ids.extend(children.into_iter().filter(|c| self.is_child(*c, id)));
                }
            }
        }
        Some(ids)
    }

    fn is_child(self, id: u32, parent: u32) -> bool {
        self.entry(EntryId(id)).is_some_and(|entry| entry.parent().0 == parent)
    }

    /// The best index for a node, if one can be used: every entry that the node is true of is among its ids.
    fn estimate<'f>(self, node: &'f Node) -> Option<Estimate<'f>> {
        match node {
            Node::False | Node::Undefined => Some(Estimate { len: 0, item: Choice::Nothing }),
            Node::True | Node::Not(_) | Node::Kind(_) => None,
            Node::And(parts) => parts.iter().filter_map(|part| self.estimate(part)).min_by_key(|e| e.len),
            Node::Or(parts) => {
                let parts = parts.iter().map(|part| self.estimate(part)).collect::<Option<Vec<_>>>()?;
                Some(Estimate { len: parts.iter().map(|part| part.len).sum(), item: Choice::Any(parts) })
            }
            Node::Item(item) => {
                let len = self.item_len(item)?;
                Some(Estimate { len, item: Choice::Item(item) })
            }
        }
    }

    fn item_len(self, item: &Item) -> Option<u64> {
        if let (Some(crate::derived::Derived::EntryUuid), Test::Equal { .. }) = (item.derived, &item.test) {
            return Some(1);
        }
        let index = |kind| self.index_for(item, kind);
        let presence = || Some(u64::from(index(IndexKind::Presence)?.presence()?.len()));
        let best = match &item.test {
            Test::Present => presence(),
            Test::Equal { normal, .. } => {
                let postings = index(IndexKind::Equality).and_then(|index| index.postings());
                postings.map(|p| p.find(tag(self.shard.value_hash(normal))).len() as u64)
            }
            Test::Substrings { initial, any, last, .. } => {
                let postings = index(IndexKind::Substring).and_then(|index| index.postings());
                postings.and_then(|postings| {
                    let hashes = substring_hashes(self, initial.as_deref(), any, last.as_deref());
                    hashes.map(|hash| postings.find(tag(hash)).len() as u64).min()
                })
            }
            // A range is taken to leave a tenth, so that any equality has precedence over it.
            Test::AtLeast { .. } | Test::AtMost { .. } => {
                index(IndexKind::Ordering).map(|_| self.shard.entries() / 10)
            }
            Test::Matches { .. } => None,
        };
        best.or_else(presence)
    }

    /// The index of this kind of an item's attribute, unless the item may be true of entries that the index does not know:
    /// derived values are stored nowhere, and `:dn:` looks at superiors.
    fn index_for(self, item: &Item, kind: IndexKind) -> Option<&'a Arc<AttributeIndex>> {
        let looks_at_dn = matches!(item.test, Test::Matches { dn_attributes: true, .. });
        if item.derived.is_some() || looks_at_dn {
            return None;
        }
        self.indexes().answering(item.attribute_type?, kind)
    }

    fn gather(self, estimate: &Estimate<'_>) -> Option<Source> {
        match &estimate.item {
            Choice::Nothing => Some(Source::Nothing),
            Choice::Item(item) => self.gather_item(item),
            Choice::Any(parts) => {
                let mut union = RoaringBitmap::new();
                for part in parts {
                    let source = self.gather(part)?;
                    self.add_to(&mut union, source)?;
                }
                Some(Source::Bitmap(union))
            }
        }
    }

    fn add_to(self, union: &mut RoaringBitmap, source: Source) -> Option<()> {
        match source {
            Source::Nothing => {}
            Source::Ids(ids) => union.extend(ids),
            Source::Bitmap(ids) => *union |= ids,
            Source::All => return None,
            Source::Live(key) => {
                let mut ids = Vec::new();
                self.live_slice(&key, 0, usize::MAX, &mut ids);
                union.extend(ids);
            }
        }
        Some(())
    }

    fn gather_item(self, item: &Item) -> Option<Source> {
        let attribute_type = item.attribute_type?;
        if let (Some(crate::derived::Derived::EntryUuid), Test::Equal { normal, .. }) =
            (item.derived, &item.test)
        {
            return self.gather_uuid(attribute_type, normal);
        }
        let index = |kind| self.index_for(item, kind);
        let by_presence = || {
            let index = index(IndexKind::Presence)?;
            Some(Source::Live(LiveKey::Presence(Arc::clone(index))))
        };
        let best = match &item.test {
            Test::Equal { normal, .. } => {
                let hash = self.shard.value_hash(normal);
                index(IndexKind::Equality).and_then(|index| match index.postings()?.find(tag(hash)) {
                    Found::Few(ids) => Some(Source::Ids(sorted(ids.to_vec()))),
                    Found::Many(_) => Some(Source::Live(LiveKey::Equality(Arc::clone(index), hash))),
                })
            }
            Test::Substrings { initial, any, last, .. } => index(IndexKind::Substring).and_then(|index| {
                let postings = index.postings()?;
                let hashes = substring_hashes(self, initial.as_deref(), any, last.as_deref());
                let best = hashes.map(|hash| postings.find(tag(hash))).min_by_key(Found::len)?;
                let mut ids = Vec::new();
                push_found(self, &best, &mut ids);
                Some(Source::Ids(sorted(ids)))
            }),
            Test::AtLeast { key, .. } => index(IndexKind::Ordering)
                .and_then(|index| self.range(index.ordering_root(), prefix(key), u64::MAX)),
            Test::AtMost { key, .. } => {
                index(IndexKind::Ordering).and_then(|index| self.range(index.ordering_root(), 0, prefix(key)))
            }
            Test::Present | Test::Matches { .. } => None,
        };
        best.or_else(by_presence)
    }

    fn gather_uuid(self, attribute_type: model::TypeId, normal: &[u8]) -> Option<Source> {
        let mut ids = Vec::new();
        if let Some((id, _)) = normal.try_into().ok().and_then(|uuid| self.shard.uuids.invert(uuid)) {
            ids.push(id.0);
        }
        // UUIDs that an import brought are found by the index on entryUUID, or by looking at every entry.
        match self.equality_candidates(attribute_type, self.shard.value_hash(normal)) {
            Some(found) => {
                push_found(self, &found, &mut ids);
                Some(Source::Ids(sorted(ids)))
            }
            None if self.shard.has_foreign_uuids() => None,
            None => Some(Source::Ids(ids)),
        }
    }

    fn range(self, root: Option<u32>, low: u64, high: u64) -> Option<Source> {
        let Some(root) = root else { return Some(Source::Nothing) };
        let mut ids = RoaringBitmap::new();
        let mut last: Option<(u64, &[u8])> = None;
        let mut past = false;
        while !past {
            let from = last.map_or(From::At((low, &[])), From::After);
            let more = tree::next_leaf(&self.shard.heap, root, self.sequence, from, |(key, id)| {
                past |= key > high;
                if key <= high {
                    ids.insert(u32::from_be_bytes(id.try_into().expect("the payload is an id")));
                }
                last = Some((key, id));
            });
            if !more {
                break;
            }
            if ids.len() > RANGE_IDS_MAX {
                return None;
            }
        }
        Some(Source::Bitmap(ids))
    }

    /// Appends up to `max` ids of a long list that are at least `from`, ascending.
    pub(crate) fn live_slice(self, key: &LiveKey, from: u32, max: usize, out: &mut Vec<u32>) {
        let found = match key {
            LiveKey::Children(parent) => self.child_candidates(*parent),
            LiveKey::Equality(index, hash) => match index.postings() {
                Some(postings) => postings.find(tag(*hash)),
                None => return,
            },
            LiveKey::Kind(kind) => {
                if let Some(set) = self.shard.kinds.of(*kind) {
                    set.push_from(from, max, self, out);
                }
                return;
            }
            LiveKey::Presence(index) => {
                if let Some(set) = index.presence() {
                    set.push_from(from, max, self, out);
                }
                return;
            }
        };
        match found {
            Found::Many(LiveSet { ids, .. }) => ids.push_from(from, max, self, out),
            Found::Few(ids) => {
                out.extend(sorted(ids.to_vec()).into_iter().filter(|id| *id >= from).take(max))
            }
        }
    }
}

fn push_found(read_point: ReadPoint<'_>, found: &Found<'_>, out: &mut Vec<u32>) {
    match found {
        Found::Few(ids) => out.extend_from_slice(ids),
        Found::Many(set) => set.ids.push_from(0, usize::MAX, read_point, out),
    }
}

fn substring_hashes<'n>(
    read_point: ReadPoint<'_>,
    initial: Option<&'n [u8]>,
    any: &'n [super::filter::Normal],
    last: Option<&'n [u8]>,
) -> impl Iterator<Item = u64> {
    let mut hashes = Vec::new();
    hashes.extend(initial.map(|part| part_trigrams(read_point, part, true, false)).into_iter().flatten());
    hashes.extend(any.iter().flat_map(|part| part_trigrams(read_point, part, false, false)));
    hashes.extend(last.map(|part| part_trigrams(read_point, part, false, true)).into_iter().flatten());
    hashes.into_iter()
}

fn sorted(mut ids: Vec<u32>) -> Vec<u32> {
    ids.sort_unstable();
    ids.dedup();
    ids
}
