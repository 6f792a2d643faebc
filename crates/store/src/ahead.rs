//! Memory that a load is about to grow into, named ahead of time: the one that has a moment has the kernel hand it out, which
//! takes longer than all that the writer does with it.
//!
//! Heap, slots and tables fill their regions from the front. Each is kept ahead by as much as it has, up to a bound.
//!
//! The writer only names the pages; a thread of the load that waits anyway touches them, without the writer's role. A page
//! that is touched too late, or never, costs time or memory and nothing else.

use crate::shard::Writer;
use crate::sync::Prefault;
use env::memory::{HUGE_PAGE, Pages};

/// A region is named ahead by so many bytes at most.
const AHEAD_BYTES: usize = 8 << 20;
/// A region with no more bytes in use is left alone: small directories stay small.
const BYTES_MIN: usize = HUGE_PAGE;

/// How far each region was named.
#[derive(Default)]
pub(crate) struct Ahead {
    heap: usize,
    slots: usize,
    dn: usize,
    indexes: Vec<usize>,
}

impl Writer<'_> {
    /// Appends the pages that this writer will need soon and that were not named before.
    pub fn ahead(&mut self, due: &mut Vec<Pages>) {
        let (shard, view) = (self.shard, self.view());
        let state = &mut *self.state;
        let ahead = &mut state.ahead;
        let [heap, slots] = shard.heap.growing(&state.heap);
        name(heap, &mut ahead.heap, due);
        name(slots, &mut ahead.slots, due);
        name(shard.dn_table.growing(&state.dn), &mut ahead.dn, due);
        ahead.indexes.resize(state.indexes.len(), 0);
        for (number, (side, named)) in state.indexes.iter().zip(&mut ahead.indexes).enumerate() {
            let postings = view.indexes().get(number as u16).and_then(|index| index.postings());
            let side = side.as_ref().and_then(|side| side.postings.as_ref());
            name(postings.zip(side).and_then(|(postings, side)| postings.growing(side)), named, due);
        }
    }
}

/// Names the pages behind those in use that were not named before, in whole huge pages: the kernel hands out no less where it
/// can. The last page in use is left out, since the writer is in it.
fn name(growing: Prefault<'_>, named: &mut usize, due: &mut Vec<Pages>) {
    let Some((region, used)) = growing.filter(|(_, used)| *used > BYTES_MIN) else { return };
    assert!(used <= region.len(), "no more of a region is in use than is reserved");
    let end = (used + used.min(AHEAD_BYTES)).next_multiple_of(HUGE_PAGE).min(region.len());
    let begin = used.next_multiple_of(HUGE_PAGE).max(*named);
    assert!(end.is_multiple_of(HUGE_PAGE) && begin.is_multiple_of(HUGE_PAGE), "whole pages are named");
    due.extend((begin..end).step_by(HUGE_PAGE).map(|at| region.pages(at..at + HUGE_PAGE)));
    *named = end.max(*named);
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::memory::Region;

    #[test]
    fn a_region_is_kept_ahead_and_named_once() {
        let region = Region::reserve(64 << 20, true).unwrap();
        let (mut named, mut due) = (0, Vec::new());
        let mut at = |used: usize| {
            due.clear();
            name(Some((&region, used)), &mut named, &mut due);
            (due.len(), named >> 20)
        };
        assert_eq!(at(HUGE_PAGE), (0, 0));
        assert_eq!(at(2 * HUGE_PAGE), (2, 8));
        assert_eq!(at(2 * HUGE_PAGE), (0, 8));
        assert_eq!(at(10 << 20), (4, 18));
        assert_eq!(at((10 << 20) + 1), (1, 20));
        assert_eq!(at(62 << 20), (1, 64));
        assert_eq!(at(64 << 20), (0, 64));
    }
}
