//! The immediate subordinates of an entry, a slice at a time.
//!
//! The ids come from postings whose key is the superior's id ([`crate::shard::Shard::child_tag`]), and each is verified on its
//! entry: it may have been added later, or deleted or moved before.

use crate::shard::ReadPoint;
use model::EntryId;
use std::ops::ControlFlow;

/// Subordinates that are looked up at a time.
const SLICE: usize = 64;

impl ReadPoint<'_> {
    /// Puts the ids of the next immediate subordinates of an entry into `out`, ascending: those that are at least `from`,
    /// found among up to `max` candidates. Returns where to go on; `None` when there are no more. Id 0 is above the
    /// roots of all naming contexts.
    pub fn children(self, parent: EntryId, from: u32, max: usize, out: &mut Vec<u32>) -> Option<u32> {
        assert!(max > 0, "no slice is empty");
        out.clear();
        self.child_candidates(parent).push_from(from, max, self, out);
        let next = out.last().and_then(|last| last.checked_add(1)).filter(|_| out.len() >= max);
        assert!(next.is_none_or(|next| next > from), "a walk through the subordinates gets on");
        out.retain(|id| self.entry(EntryId(*id)).is_some_and(|entry| entry.parent() == parent));
        next
    }

    /// Gives the immediate subordinates of an entry, until it is enough.
    pub fn each_child(
        self,
        parent: EntryId,
        found: &mut dyn FnMut(EntryId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (mut from, mut ids) = (Some(0), Vec::new());
        while let Some(next) = from {
            from = self.children(parent, next, SLICE, &mut ids);
            ids.iter().try_for_each(|id| found(EntryId(*id)))?;
        }
        ControlFlow::Continue(())
    }
}
