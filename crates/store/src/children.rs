//! The immediate subordinates of an entry, a slice at a time.
//!
//! The ids come from postings whose key is the superior's id ([`crate::shard::Shard::child_tag`]), and each is verified on its
//! entry: it may have been added later, or deleted or moved before.

use crate::shard::ReadPoint;
use model::EntryId;

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
}
