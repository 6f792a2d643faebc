//! Where in a sorted list to begin. Keys were dropped when it was merged: some twenty of them are made once more.

use super::super::page::Page;
use super::super::query::Query;
use super::keys::KeyMaker;
use crate::worker::Scratch;
use model::EntryId;

/// The place that is looked for.
#[derive(Clone, Copy)]
pub(super) enum Seek<'s> {
    /// The first entry whose key is not below this beginning of one.
    AtLeast(&'s [u8]),
    /// Behind the last entry of the page before.
    Behind(Option<&'s Page>),
}

/// Looks for where to begin between two places of the list.
///
/// # Errors
/// The places that it is between, if there is more to look at than work is left.
pub(super) fn find(
    maker: &mut KeyMaker,
    at: Seek<'_>,
    (ids, mut low, mut high): (&[u32], usize, usize),
    scratch: &mut Scratch,
    query: &Query<'_>,
    work: &mut u64,
) -> Result<usize, (usize, usize)> {
    while low < high {
        if *work == 0 {
            return Err((low, high));
        }
        // The place may be paused in the middle of a key, and comes to the same middle again.
        let middle = usize::midpoint(low, high);
        let id = EntryId(ids[middle]);
        let entry = query.read_point.entry(id).expect("the list is of this read point");
        let view = scratch.view(query.who, query.base.action(), &entry, query.read_point);
        let Some(key) = maker.key(query, scratch, (&entry, view), work) else {
            return Err((low, high));
        };
        let is_before = match at {
            Seek::AtLeast(component) => &key[..] < component,
            Seek::Behind(page) => page.is_some_and(|page| (&key, Some(id)) <= (&page.at.key, page.at.last)),
        };
        // The list is in the order of keys and ids, so one side or the other is done with.
        match is_before {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}
