//! Which index a search lacks: one that would leave fewer candidates than it has to look at.

use super::cursor::Cursor;
use super::filter::{Compiled, Item, Node, Test};
use super::plan::{LiveKey, Source};
use crate::index::kind::IndexKind;
use crate::shard::ReadPoint;
use model::TypeId;

/// What a search lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An index of this kind on this type would answer an item of the filter.
    Index(TypeId, IndexKind),
    /// An index, but none could answer the filter.
    Other,
}

impl Cursor {
    /// Entries that it looks at, at most, if it begins with the first. Of lists that change meanwhile, as they are now.
    pub fn candidates(&self, read_point: ReadPoint<'_>) -> u64 {
        let ids = match &self.source {
            Source::All => return read_point.shard.entries(),
            Source::Ids(ids) => ids.len() as u64,
            Source::Bitmap(ids) => ids.len(),
            Source::Members(gathering) => gathering.len(),
            Source::Live(LiveKey::Children(parent)) => read_point.child_candidates(*parent).len() as u64,
            Source::Live(LiveKey::Tag(index, tag)) => {
                index.postings().map_or(0, |postings| postings.find(*tag).len()) as u64
            }
            Source::Live(LiveKey::Ids(index)) => index.ids().map_or(0, |set| u64::from(set.len())),
            Source::Live(LiveKey::Kind(_)) => 0,
        };
        ids.min(read_point.shard.entries())
    }

    /// What would leave it fewer candidates; `None` if that is no index.
    /// It walks the filter, so it is asked of searches with many candidates only.
    pub fn wanted(&self, read_point: ReadPoint<'_>) -> Option<Wanted> {
        read_point.wanted(&self.filter)
    }
}

impl ReadPoint<'_> {
    /// A filter that is true of every entry lacks nothing: all that is looked at is returned.
    fn wanted(self, filter: &Compiled) -> Option<Wanted> {
        match self.lacks(&filter.0) {
            Some((attribute_type, kind)) => Some(Wanted::Index(attribute_type, kind)),
            None if filter.is_true() || self.is_answered(&filter.0) => None,
            None => Some(Wanted::Other),
        }
    }

    /// An index that a node lacks. Of an `&` one for any part would help, best for an equality, and least for what nearly all entries have; of
    /// an `|` only if all parts can have one.
    fn lacks(self, node: &Node) -> Option<(TypeId, IndexKind)> {
        match node {
            Node::Item(item) => self.lacks_for(item),
            Node::And(parts) => {
                let classes = self.shard.schema.well_known().object_class;
                let lacking = parts.iter().filter_map(|part| self.lacks(part));
                lacking.min_by_key(|(of, kind)| {
                    (*of == classes, *kind == IndexKind::Presence, *kind != IndexKind::Equality)
                })
            }
            Node::Or(parts) => {
                let lacking = parts
                    .iter()
                    .map(|part| self.lacks(part).map(Some).or(self.is_answered(part).then_some(None)));
                lacking.collect::<Option<Vec<_>>>()?.into_iter().flatten().next()
            }
            Node::True
            | Node::False
            | Node::Undefined
            | Node::Not(_)
            | Node::Kind(_)
            | Node::Member(_)
            | Node::Within(..) => None,
        }
    }

    /// What is made up is in no index, nor what other entries have, and neither are short parts of values.
    fn lacks_for(self, item: &Item) -> Option<(TypeId, IndexKind)> {
        let attribute_type =
            item.attribute_type.filter(|_| item.derived.is_none() && item.collected.is_none())?;
        let kind = match &item.test {
            Test::Present => IndexKind::Presence,
            Test::Equal { .. } => IndexKind::Equality,
            Test::Substrings { .. } => IndexKind::Substring,
            Test::AtLeast { .. } | Test::AtMost { .. } => IndexKind::Ordering,
            Test::Matches { .. } => return None,
        };
        let is_there = self.indexes().answering(attribute_type, kind).is_some();
        let definition = self.shard.schema.attribute_type(attribute_type);
        let can_answer = kind.missing_rule(definition).is_none()
            && kind.probe(self.shard.keys(attribute_type), &item.test.assertion()).is_some();
        (can_answer && !is_there).then_some((attribute_type, kind))
    }
}
