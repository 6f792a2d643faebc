//! Which entries have a value: by the equality index where there is one, else by a look at every entry. Unlike a search it runs to its end
//! at once, for the one who asks has the writer's role, or looks at a read point that nobody waits for.

use super::evaluate::{Evaluator, Truth};
use super::filter::Compiled;
use crate::index::kind::IndexKind;
use crate::postings::Found;
use crate::record::EntryRef;
use crate::shard::ReadPoint;
use model::filter::Assertion;
use model::{Description, EntryId, Filter, TypeId};
use std::ops::ControlFlow;

/// Candidates taken at a time.
const SLICE: usize = 256;

/// An assertion that is asked of several entries: that they have a value, or any other.
pub struct Holding(Compiled);

impl Holding {
    /// The assertion that an entry has this value in an attribute of the type, or of a subtype, with any options.
    pub fn new(read_point: ReadPoint<'_>, attribute_type: TypeId, value: &[u8]) -> Holding {
        let schema = &read_point.shard.schema;
        let attribute = schema.attribute_type(attribute_type).name().as_bytes();
        let filter = Filter::Equality(Assertion { attribute, value });
        Holding(Compiled::of_update(&filter, read_point.shard, &|_| true))
    }

    /// As [`Holding::new`], of this attribute alone, with these options. It has no candidates.
    pub fn described(read_point: ReadPoint<'_>, description: Description, value: &[u8]) -> Holding {
        let attribute = read_point.shard.schema.describe(description);
        Holding::matching(read_point, &Filter::Equality(Assertion { attribute: attribute.as_bytes(), value }))
    }

    /// Any filter, as a logged update asserts one. It has no candidates.
    pub fn matching(read_point: ReadPoint<'_>, filter: &Filter<'_>) -> Holding {
        Holding(Compiled::of_update(filter, read_point.shard, &|_| true))
    }

    /// Is it true of this entry?
    pub fn is_true_of(
        &self,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> bool {
        evaluator.evaluate(&self.0, entry, read_point) == Truth::True
    }

    /// Hash of the normal form of the value, if it has one: entries with the same value have the same.
    pub fn hash(&self, read_point: ReadPoint<'_>) -> Option<u64> {
        self.0.as_equality().map(|(_, normal)| read_point.shard.value_hash(normal))
    }
}

impl ReadPoint<'_> {
    /// Is there an equality index on this very type that tells of every entry?
    pub fn has_equality_index(self, attribute_type: TypeId) -> bool {
        self.indexes().answering(attribute_type, IndexKind::Equality).is_some()
    }

    /// Gives entries that may have a value, all that have it among them, until it is enough.
    pub fn candidates_of(self, holding: &Holding, found: &mut dyn FnMut(EntryId) -> ControlFlow<()>) {
        // What is no value of the attribute no entry has.
        let Some((attribute_type, normal)) = holding.0.as_equality() else { return };
        let listed = self.equality_candidates(attribute_type, self.shard.value_hash(normal));
        if let Some(Found::Few(ids)) = listed {
            _ = ids.into_iter().try_for_each(|id| found(EntryId(id)));
            return;
        }
        let (mut from, mut ids) = (1, Vec::new());
        loop {
            ids.clear();
            match &listed {
                Some(listed) => listed.push_from(from, SLICE, self, &mut ids),
                None => {
                    ids.extend(from..self.shard.ids_end().max(from).min(from.saturating_add(SLICE as u32)))
                }
            }
            let Some(last) = ids.last() else { return };
            from = last.saturating_add(1);
            if ids.iter().try_for_each(|id| found(EntryId(*id))).is_break() {
                return;
            }
        }
    }
}
