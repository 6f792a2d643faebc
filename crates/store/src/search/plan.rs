//! Where the candidates of a search come from: the most selective index that the filter allows, else the scope.
//!
//! ```text
//! estimate   walks the filter: how many candidates does the best index for each part leave at most?
//! compare    with what the scope alone leaves: children of the base, or all entries
//! gather     the ids of the chosen part; long lists are not gathered but read as the search goes on
//! ```
//! A source is a superset of what matches: the filter is evaluated on every candidate. So an estimate may be wrong and costs time only.

use super::filter::{Compiled, Item, Node, Test};
use super::gathering::Gathering;
use super::members::{Members, Membership};
use super::scopes::Scopes;
use crate::derived::Derived;
use crate::index::AttributeIndex;
use crate::index::kind::{Assertion, IndexKind, Part, Probe};
use crate::postings::Found;
use crate::recent_changes::Since;
use crate::shape::Kind;
use crate::shard::ReadPoint;
use crate::tree::{From, parts_of};
use model::{EntryId, Scope, TypeId};
use roaring::RoaringBitmap;
use std::sync::Arc;

/// Ids that a range of an ordering index may gather before the plan is given up for a scan.
/// They are kept for as long as the search goes on.
const RANGE_IDS_MAX: u64 = 4 << 20;
/// A subtree is walked down if it has at most one entry in so many; else all ids are looked at.
/// Walking jumps from entry to entry; looking at all ids goes through memory in order, at a fraction of the cost for each.
const WALK_SHARE: u64 = 4;

/// The source of candidates. All but `All` and `Live` are gathered when the search begins.
/// In order of ids, whatever it is: the answer's order is the same for every plan, and a page goes on behind an id.
pub(crate) enum Source {
    /// These ids: ascending, but of a list that has an order of its own.
    Ids(Vec<u32>),
    /// Many ids, gathered from several lists.
    Bitmap(RoaringBitmap),
    /// The children of the base, or all entries with a key, read as the search goes on.
    Live(LiveKey),
    /// Members of groups, whose ids are not gathered yet.
    Members(Box<Gathering>),
    /// Every id.
    All,
}

/// A list that may be long, and is read in slices. An index that is dropped meanwhile is kept by it.
/// A slice is found anew by its key each time, so the list may change in between. What was in it all the time is found.
#[derive(Clone)]
pub(crate) enum LiveKey {
    /// The children of an entry.
    Children(EntryId),
    /// Entries under a tag of an index.
    Tag(Arc<AttributeIndex>, u32),
    /// All entries that an index has.
    Ids(Arc<AttributeIndex>),
    /// Aliases, or referral objects.
    Kind(Kind),
}

/// How many candidates a part of a filter leaves, at most, and where they are.
/// The choice has all that gathering needs: nothing is looked up twice.
struct Estimate<'f, 'a> {
    len: u64,
    choice: Choice<'f, 'a>,
}

enum Choice<'f, 'a> {
    /// The entry with this UUID, in normal form.
    Uuid(TypeId, &'f [u8]),
    /// Members of groups.
    Members(&'f Arc<Members>),
    /// Entries that were changed lately.
    Changed(Since),
    /// What an index has.
    Index(&'a Arc<AttributeIndex>, Probe),
    /// The candidates of all of these; of none of them nothing can match.
    Any(Vec<Estimate<'f, 'a>>),
}

impl<'a> ReadPoint<'a> {
    /// Chooses where to look.
    /// No plan is kept: it is made from the sizes of lists as they are now, which costs a few hash lookups.
    pub(crate) fn plan(self, filter: &Compiled, scopes: &Scopes) -> Source {
        let Scopes { base, scope, .. } = *scopes;
        // One access for each kind of scope; of a subtree the number of its entries is not known, so all count.
        let by_scope = match scope {
            _ if !scopes.is_single() => self.shard.entries(),
            Scope::Base => return Source::Ids(vec![base.0]),
            Scope::One => self.child_candidates(base).len() as u64,
            Scope::Subtree | Scope::Subordinates => self.shard.entries(),
        };
        match self.estimate(&filter.0) {
            // Equal goes to the index: its ids are at hand, those of a scope must be walked.
            Some(best) if best.len <= by_scope => {
                self.gather(&best).unwrap_or_else(|| self.scope_source(scopes))
            }
            _ => self.scope_source(scopes),
        }
    }

    /// What a search without a useful index has left.
    fn scope_source(self, scopes: &Scopes) -> Source {
        let Scopes { base, scope, .. } = *scopes;
        if !scopes.is_single() {
            return Source::All;
        }
        if scope == Scope::One {
            return Source::Live(LiveKey::Children(base));
        }
        let limit = (self.shard.entries() / WALK_SHARE).max(1024);
        self.walk(base, limit).map_or(Source::All, |ids| Source::Ids(sorted(ids)))
    }

    /// The ids below and at `base`, unless there are more than `limit`.
    /// `None` when it is not worth it, after no more than `limit` steps.
    fn walk(self, base: EntryId, limit: u64) -> Option<Vec<u32>> {
        let mut ids = vec![base.0];
        let mut next = 0;
        while let Some(&id) = ids.get(next) {
            next += 1;
            let room = (limit as usize).checked_sub(ids.len())?;
            match self.child_candidates(EntryId(id)) {
                // The table may have a child that was moved away, so each is looked at.
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
    /// Of an `&` the best part is enough; an `|` needs one for every part, or it tells nothing. A negation is true of what no index has.
    fn estimate<'f>(self, node: &'f Node) -> Option<Estimate<'f, 'a>> {
        match node {
            Node::False | Node::Undefined => Some(Estimate { len: 0, choice: Choice::Any(Vec::new()) }),
            Node::True | Node::Not(_) | Node::Kind(_) | Node::Within(..) => None,
            Node::And(parts) => parts.iter().filter_map(|part| self.estimate(part)).min_by_key(|e| e.len),
            Node::Or(parts) => {
                let parts = parts.iter().map(|part| self.estimate(part)).collect::<Option<Vec<_>>>()?;
                Some(Estimate { len: parts.iter().map(|part| part.len).sum(), choice: Choice::Any(parts) })
            }
            Node::Item(item) => self.estimate_item(item),
            Node::Member(Membership { members, .. }) if members.any.is_some() => None,
            Node::Member(Membership { members, .. }) => {
                Some(Estimate { len: members.len(), choice: Choice::Members(members) })
            }
        }
    }

    /// Does an index tell where a node may be true?
    pub(super) fn is_answered(self, node: &Node) -> bool {
        self.estimate(node).is_some()
    }

    /// Where an item has the fewest candidates. What depends on the value has precedence over all entries that have the attribute: a range
    /// gathers no more of them, whatever was estimated.
    fn estimate_item<'f>(self, item: &'f Item) -> Option<Estimate<'f, 'a>> {
        if let (Some(Derived::EntryUuid), Test::Equal { normal, .. }) = (item.derived, &item.test) {
            return Some(Estimate { len: 1, choice: Choice::Uuid(item.attribute_type?, normal) });
        }
        if item.derived == Some(Derived::EntryUsn) {
            return self.estimate_changed(&item.test);
        }
        // Derived values are stored nowhere, and `:dn:` looks at superiors: the item may be true of entries that no index knows.
        // So it may be for what other entries have.
        if item.derived.is_some()
            || item.collected.is_some()
            || matches!(item.test, Test::Matches { dn_attributes: true, .. })
        {
            return None;
        }
        let (attribute_type, assertion) = (item.attribute_type?, item.test.assertion());
        let probes = IndexKind::ALL.into_iter().filter_map(|kind| {
            let index = self.indexes().answering(attribute_type, kind)?;
            Some((index, kind.probe(self.shard.keys(attribute_type), &assertion)?))
        });
        let estimates = probes.map(|(index, probe)| {
            let (len, is_all) = (index.candidates(self, &probe), matches!(probe, Probe::All));
            (is_all, Estimate { len, choice: Choice::Index(index, probe) })
        });
        estimates.min_by_key(|(is_all, estimate)| (*is_all, estimate.len)).map(|(_, estimate)| estimate)
    }

    /// The entries whose numbers of changes are late enough. Those that have gone, or were changed again, are looked at for nothing.
    fn estimate_changed<'f>(self, test: &'f Test) -> Option<Estimate<'f, 'a>> {
        let (rule, least) = match test {
            Test::AtLeast { rule, key } => (*rule, key),
            Test::Equal { rule: Some(rule), normal } => (*rule, normal),
            _ => return None,
        };
        // Numbers have the order of their normal forms, which is how the filter compares them.
        let mut form = Vec::new();
        let mut is_late = |number: u64| {
            form.clear();
            let is_number =
                rule.normalise_value(&self.shard.schema, number.to_string().as_bytes(), &mut form).is_ok();
            is_number && form[..] >= least[..]
        };
        let since = self.shard.stream.recent.since(&mut is_late)?;
        Some(Estimate { len: since.len, choice: Choice::Changed(since) })
    }

    /// `None` if there turns out to be too much of it: then the scope is looked through.
    fn gather(self, estimate: &Estimate<'_, '_>) -> Option<Source> {
        match &estimate.choice {
            Choice::Uuid(attribute_type, normal) => self.gather_uuid(*attribute_type, normal),
            Choice::Members(members) => Some(match members.only_ids() {
                Some(ids) => Source::Ids(ids.to_vec()),
                None => Source::Members(Box::new(Gathering::new(members))),
            }),
            Choice::Changed(since) => {
                let mut ids = Vec::new();
                self.shard.stream.recent.take(*since, &mut ids)?;
                Some(Source::Ids(sorted(ids)))
            }
            Choice::Index(index, probe) => self.gather_probe(index, probe),
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

    /// Lists of an `|` overlap, so they are put together as a set.
    fn add_to(self, union: &mut RoaringBitmap, source: Source) -> Option<()> {
        match source {
            Source::Ids(ids) => union.extend(ids),
            Source::Bitmap(ids) => *union |= ids,
            // They are read in slices, which many lists together are not.
            Source::Members(_) | Source::All => return None,
            Source::Live(key) => {
                let mut ids = Vec::new();
                self.live_slice(&key, 0, usize::MAX, &mut ids);
                union.extend(ids);
            }
        }
        Some(())
    }

    fn gather_probe(self, index: &Arc<AttributeIndex>, probe: &Probe) -> Option<Source> {
        match probe {
            Probe::Tags(tags) => {
                let postings = index.postings()?;
                let lists = tags.iter().map(|tag| (*tag, postings.find(*tag)));
                match lists.min_by_key(|(_, found)| found.len())? {
                    (_, Found::Few(ids)) => Some(Source::Ids(sorted(ids.to_vec()))),
                    (tag, Found::Many(_)) => Some(Source::Live(LiveKey::Tag(Arc::clone(index), tag))),
                }
            }
            Probe::All => Some(Source::Live(LiveKey::Ids(Arc::clone(index)))),
            Probe::Range(low, high) => self.range(index.tree_root(), *low, *high),
        }
    }

    /// UUIDs that the server made are numbers of entries in disguise and are turned back into ids without an index.
    fn gather_uuid(self, attribute_type: TypeId, normal: &[u8]) -> Option<Source> {
        let mut ids = Vec::new();
        if let Some((id, _)) = normal.try_into().ok().and_then(|uuid| self.shard.uuids.invert(uuid)) {
            ids.push(id.0);
        }
        // UUIDs that an import brought are found by the index on entryUUID, or by looking at every entry.
        match self.equality_candidates(attribute_type, self.shard.value_hash(normal)) {
            Some(found) => {
                found.push_from(0, usize::MAX, self, &mut ids);
                Some(Source::Ids(sorted(ids)))
            }
            None if self.shard.has_foreign_uuids() => None,
            None => Some(Source::Ids(ids)),
        }
    }

    /// An empty tree has no root yet.
    fn range(self, root: Option<u32>, low: u64, high: u64) -> Option<Source> {
        let Some(root) = root else { return Some(Source::Ids(Vec::new())) };
        let mut ids = RoaringBitmap::new();
        let mut last: Option<(u64, &[u8])> = None;
        // The first key beyond the bound ends it, in the middle of a leaf.
        let mut past = false;
        while !past {
            let from = last.map_or(From::At((low, &[])), From::After);
            // Leaf by leaf at the search's own read point: the tree has versions, so nothing is missed or met twice.
            let more = self.tree(root).next_leaf(from, |(key, id)| {
                past |= key > high;
                if key <= high {
                    ids.insert(parts_of(id).expect("the payload is an id").0);
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

    /// Appends up to `max` ids of a list that are at least `from`, ascending.
    /// An empty slice is the end of the list.
    pub(crate) fn live_slice(self, key: &LiveKey, from: u32, max: usize, out: &mut Vec<u32>) {
        let set = match key {
            LiveKey::Children(parent) => {
                return self.child_candidates(*parent).push_from(from, max, self, out);
            }
            LiveKey::Tag(index, tag) => {
                let found = index.postings().map(|postings| postings.find(*tag));
                return found.into_iter().for_each(|found| found.push_from(from, max, self, out));
            }
            LiveKey::Kind(kind) => self.shard.kinds.of(*kind),
            LiveKey::Ids(index) => index.ids(),
        };
        set.into_iter().for_each(|set| set.push_from(from, max, self, out));
    }
}

impl Test {
    /// What it asserts, for an index.
    pub(super) fn assertion(&self) -> Assertion<'_> {
        match self {
            Test::Present => Assertion::Present,
            Test::Equal { normal, .. } => Assertion::Equal(normal),
            Test::AtLeast { key, .. } => Assertion::AtLeast(key),
            Test::AtMost { key, .. } => Assertion::AtMost(key),
            Test::Matches { .. } => Assertion::Other,
            Test::Substrings { initial, any, last, .. } => {
                let part = |bytes, is_initial, is_final| Part { bytes, is_initial, is_final };
                let first = initial.iter().map(|bytes| part(&bytes[..], true, false));
                let between = any.iter().map(|bytes| part(&bytes[..], false, false));
                let end = last.iter().map(|bytes| part(&bytes[..], false, true));
                Assertion::Substrings(first.chain(between).chain(end).collect())
            }
        }
    }
}

fn sorted(mut ids: Vec<u32>) -> Vec<u32> {
    ids.sort_unstable();
    ids.dedup();
    ids
}
