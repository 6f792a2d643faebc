//! Virtual list view (ietf-ldapext-ldapv3-vlv-09): which part of its sorted list a search returns.
//!
//! All is arithmetic on numbers that the client has sent: nothing is allocated by them. The list has only entries that the requester may see, so
//! neither its length nor a position in it tells of others.
//!
//! A response has no contextID: a list is found again by the search itself. One that a client sends is none of this server.

use crate::faults::holes;
use env::planted;
use proto::control::virtual_list_view::{Target, ViewResponse, ViewResult, VirtualListView};
use std::ops::Range;

/// What a client asks for, owned: the search may be suspended.
pub(super) struct ListView {
    /// Entries before the target, and behind it. The list may have fewer.
    before: u32,
    after: u32,
    pub(super) target: ListTarget,
}

/// The entry around which the part lies.
pub(super) enum ListTarget {
    /// By an offset in a list of so many entries, as its client takes it.
    ByOffset(u32, u32),
    /// The first whose key is at least this.
    AtLeast(Vec<u8>),
}

impl ListView {
    /// What a request asks for. `component` makes the value of a target into the beginning of a key.
    ///
    /// # Errors
    /// The result that the response has.
    pub(super) fn new(
        view: &VirtualListView<'_>,
        component: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<ListView, ViewResult> {
        // Some clients send an empty one where they mean none.
        if view.context_id.is_some_and(|id| !id.is_empty()) {
            return Err(ViewResult::ProtocolError);
        }
        let target = match view.target {
            Target::ByOffset { offset, content_count } => {
                ListTarget::ByOffset(offset.unsigned_abs(), content_count.unsigned_abs())
            }
            Target::AtLeast(value) => {
                ListTarget::AtLeast(component(value).ok_or(ViewResult::InappropriateMatching)?)
            }
        };
        let (before, after) = (view.before_count.unsigned_abs(), view.after_count.unsigned_abs());
        if planted::is(holes::VIEW_RESERVED) {
            let entries = match target {
                ListTarget::ByOffset(_, content_count) => before.max(after).max(content_count),
                ListTarget::AtLeast(_) => before.max(after),
            };
            std::hint::black_box(Vec::<u8>::with_capacity(entries as usize));
        }
        Ok(ListView { before, after, target })
    }

    /// The part of a list around its target, which counts from 0 and may be behind the end.
    pub(super) fn part(&self, target: usize, len: usize) -> Range<usize> {
        let begin = target.saturating_sub(self.before as usize);
        let end = target.saturating_add(self.after as usize).saturating_add(1);
        begin.min(len)..end.min(len)
    }
}

/// Where the target of an offset is in a list, counted from 0. A list without entries has none, and then it is 0 too.
///
/// # Errors
/// When the offset is none of the list (section 6.2).
pub(super) fn by_offset((offset, content_count): (u32, u32), len: usize) -> Result<usize, ViewResult> {
    let last = len.saturating_sub(1);
    // Where the client knows no length, that of the server takes its place. The first offset is that of an empty list, too.
    let offset_max = if content_count == 0 { len.max(1) } else { content_count as usize };
    if offset == 0 || offset as usize > offset_max {
        return Err(ViewResult::OffsetRangeError);
    }
    // Section 5: the special cases come before the ratio.
    Ok(match (offset, content_count) {
        (offset, 0) => (offset as usize - 1).min(last),
        (offset, count) if offset == count => last,
        (1, _) => 0,
        (offset, count) => {
            // Wide enough for any of them.
            let (offset, count, len) = (u128::from(offset), u128::from(count), len as u128);
            // Rounded to the nearest.
            let position = (2 * len * offset + count) / (2 * count);
            usize::try_from(position).unwrap_or(usize::MAX).saturating_sub(1).min(last)
        }
    })
}

/// What a response says of a list: `target` counts from 0.
pub(super) fn response(target: usize, len: usize, is_by_value: bool) -> ViewResponse {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    // Section 5: without a target by value the position is behind the last entry.
    let position = if len == 0 && !is_by_value { 0 } else { target + 1 };
    ViewResponse {
        target_position: number(position),
        content_count: number(len),
        result: ViewResult::Success as u32,
    }
}

/// A response that has nothing but a reason.
pub(super) fn failure(result: ViewResult) -> ViewResponse {
    ViewResponse { target_position: 0, content_count: 0, result: result as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 5: Si = Sc * (Ci / Cc), rounded, and its special cases.
    #[test]
    fn offsets_are_ratios() {
        let at = |offset, count, len| by_offset((offset, count), len).map(|at| at + 1);
        assert_eq!(at(1, 0, 100), Ok(1));
        assert_eq!(at(57, 0, 100), Ok(57));
        assert_eq!(at(57, 100, 100), Ok(57));
        assert_eq!(at(53_424, 78_564, 78_564), Ok(53_424));
        assert_eq!(at(50, 100, 1000), Ok(500));
        assert_eq!(at(500, 1000, 100), Ok(50));
        assert_eq!(at(2, 3, 100), Ok(67), "rounded up");
        assert_eq!(at(1, 3, 100), Ok(1), "the first, not a third");
        assert_eq!(at(3, 3, 100), Ok(100));
        assert_eq!(at(1, 1, 100), Ok(100), "Ci = Cc is the last");
        assert_eq!(at(2, i32::MAX as u32, 100), Ok(1), "never before the first");
        assert_eq!(at(i32::MAX as u32 - 1, i32::MAX as u32, 100), Ok(100));
        for (offset, count, len) in
            [(0, 0, 100), (0, 100, 100), (101, 0, 100), (101, 100, 100), (101, 100, 1000), (2, 0, 0)]
        {
            assert_eq!(at(offset, count, len), Err(ViewResult::OffsetRangeError), "{offset} of {count}");
        }
        assert_eq!((at(1, 0, 0), at(7, 9, 0)), (Ok(1), Ok(1)));
        assert_eq!(response(0, 0, false).target_position, 0);
        assert_eq!(response(0, 0, true).target_position, 1);
    }

    #[test]
    fn test_l4_the_largest_numbers_are_a_part_of_the_list() {
        let view = |before, after| ListView { before, after, target: ListTarget::ByOffset(1, 0) };
        let max = i32::MAX as u32;
        assert_eq!(view(max, max).part(3, 10), 0..10);
        assert_eq!(view(max, 0).part(3, 10), 0..4);
        assert_eq!(view(0, max).part(3, 10), 3..10);
        assert_eq!(view(2, 1).part(3, 10), 1..5);
        assert_eq!(view(2, 1).part(10, 10), 8..10, "behind the end");
        assert_eq!(view(max, max).part(0, 0), 0..0);
    }
}
