//! What a sorted search does next. Which stage follows which is decided by the search itself.

use super::order::Order;
use std::sync::Arc;

/// What is done next. A stage owns what it works on, and gives it to the next one.
pub(super) enum Stage {
    /// Reads which entries an index has next.
    Read,
    /// Returns entries of an index as they are found, for they are found in order.
    Pass,
    /// Finds entries and makes their keys.
    Gather(Order),
    /// Puts them in order.
    Merge(Order),
    /// Takes their ids.
    Take(Order, Vec<u32>),
    /// Begins to place.
    Place(Arc<Vec<u32>>),
    /// Looks for a place between these two.
    Find(Arc<Vec<u32>>, usize, usize),
    /// Returns the entries between these two places.
    Return(Arc<Vec<u32>>, usize, usize),
    /// Entries are returned as they are found.
    Unsorted,
}

impl Stage {
    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        let of_ids = |ids: &Vec<u32>| size_of_val(&ids[..]);
        match self {
            Stage::Gather(order) | Stage::Merge(order) => order.bytes(),
            Stage::Take(order, ids) => order.bytes() + of_ids(ids),
            Stage::Place(ids) | Stage::Find(ids, ..) | Stage::Return(ids, ..) => of_ids(ids),
            Stage::Read | Stage::Pass | Stage::Unsorted => 0,
        }
    }
}
