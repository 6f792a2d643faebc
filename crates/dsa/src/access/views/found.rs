//! What a class has found last: places of superiors, and views.
//!
//! It is looked at for each entry of each search, and written only when something else is found than before. Both tables are direct-mapped: a new
//! finding takes the place of the one in its slot, and nothing is ever searched. With four slots a search below one container, the container
//! itself and the requester's own entry do not take the place of each other, which is what nearly all loads consist of.
//!
//! Neither table is cleared when names or rules change. Places have a generation, which is compared with that of what the thread knows of
//! superiors, and ids of views are never given twice.

use super::super::class::Action;
use ::access::Operation;
use model::EntryId;

/// The rights of a class on some entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ViewId(pub(super) u64);

impl ViewId {
    pub(crate) const NONE: ViewId = ViewId(0);
    pub(crate) const ROOT: ViewId = ViewId(1);
    pub(super) const FIRST: u64 = 2;
}

/// Superiors, and views, that a class keeps: direct-mapped.
const KEPT: usize = 4;

/// The places of a superior's entries, as facts of a class.
#[derive(Clone, Copy, Default)]
struct Below {
    superior: u32,
    /// None of the places: it was never put.
    generation: u64,
    places: u64,
}

/// What a class has found last.
pub(super) struct Found {
    below: [Below; KEPT],
    /// Views by what they depend on.
    views: [(Action, u64, ViewId); KEPT],
}

impl Default for Found {
    fn default() -> Found {
        let action = Action::of(Operation::Bind);
        Found { below: Default::default(), views: [(action, 0, ViewId::NONE); KEPT] }
    }
}

impl Found {
    /// Which of the places are those of facts: the two of an own entry, and of two containers, mostly differ.
    #[inline]
    fn slot(facts: u64) -> usize {
        const TOP: u32 = u64::BITS - KEPT.trailing_zeros();
        (facts.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> TOP) as usize
    }

    /// The view by these facts, if it is known.
    #[inline]
    pub(super) fn view(&self, action: Action, facts: u64) -> ViewId {
        let (of, known, view) = self.views[Self::slot(facts)];
        if (of, known) == (action, facts) { view } else { ViewId::NONE }
    }

    pub(super) fn put_view(&mut self, action: Action, facts: u64, view: ViewId) {
        self.views[Self::slot(facts)] = (action, facts, view);
    }

    /// Views are gone. Places are as they were.
    pub(super) fn forget_views(&mut self) {
        self.views.iter_mut().for_each(|(.., view)| *view = ViewId::NONE);
    }

    /// The places of a superior's entries, and the generation in which they were that.
    #[inline]
    pub(super) fn places(&self, superior: EntryId) -> Option<(u64, u64)> {
        let below = &self.below[superior.0 as usize % KEPT];
        (below.superior == superior.0).then_some((below.generation, below.places))
    }

    /// `generation`: none if they are those of one entry and not of all.
    pub(super) fn put_places(&mut self, generation: Option<u64>, superior: EntryId, places: u64) {
        if let Some(generation) = generation {
            let superior = superior.0;
            self.below[superior as usize % KEPT] = Below { superior, generation, places };
        }
    }
}
