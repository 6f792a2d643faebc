//! What holds after each publish, in constant time: counts that the writer keeps in different places agree with each other. What
//! changes seldom is checked where it changes, and what one statement makes true is not asked of the next.
//! What takes a walk over all entries is checked by `check.rs`, for tests and at a verification.
//!
//! A panic here poisons the writer's mutex after the batch was published: readers go on, no further batch is taken, and a
//! start builds the state anew from snapshot and log. That is better than a checkpoint of a state that is wrong.

use super::Writer;
use std::sync::atomic::Ordering;

/// Ids of entries are below this, and so is their number: a count that went below zero is far above it.
const ENTRIES_MAX: u64 = 1 << 31;

impl Writer<'_> {
    /// Panics if the state that was just published contradicts itself: whatever is made of it then would be wrong.
    pub(super) fn invariants(&self) {
        let (shard, state) = (self.shard, &*self.state);
        let names_changed = shard.names_changed.load(Ordering::Relaxed);
        let names_added = shard.names_added.load(Ordering::Relaxed);
        assert!(names_changed.max(names_added) <= self.sequence, "no name changes in a batch to come");
        let rules_changed = shard.access_rules_changed.load(Ordering::Relaxed);
        assert!(rules_changed <= self.sequence, "no access rule changes in a batch to come");
        let entries = shard.entries();
        assert!(entries < ENTRIES_MAX, "no more entries are deleted than were added");
        assert!(
            !shard.shapes.are_for_good() || entries < u64::from(shard.ids_end()),
            "each entry has an id that was given here, or is a copy"
        );
        state.heap.invariants();
        assert!(state.dead.are_counted(), "ids are forgotten after their entries were deleted");
        assert!(state.cleaned_at <= state.heap.appended, "the cleaner ran before now");
    }
}
