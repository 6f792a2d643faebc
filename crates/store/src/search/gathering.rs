//! The members of large groups as candidates: their names are resolved a leaf at a time, so that other searches have their turn in between.
//!
//! A cursor yields entries by rising id, and a page goes on behind an id. So all ids are gathered before the first entry is looked at.

use super::members::Members;
use super::work::LOOKUP;
use crate::dn_cache::DnCache;
use crate::shard::ReadPoint;
use crate::values::SetPosition;
use roaring::RoaringBitmap;
use std::sync::Arc;

/// The ids of all members, as they are gathered: of a group of a million that takes longer than others may wait.
#[derive(Debug)]
pub(crate) struct Gathering {
    members: Arc<Members>,
    /// The set that is read, and how far.
    at: usize,
    position: SetPosition,
    found: RoaringBitmap,
}

impl Gathering {
    pub(super) fn new(members: &Arc<Members>) -> Gathering {
        let found = members.ids.iter().copied().collect();
        Gathering { members: Arc::clone(members), at: 0, position: SetPosition::default(), found }
    }

    /// How many there are at most.
    pub(super) fn len(&self) -> u64 {
        self.members.len()
    }

    /// Bytes of memory when all are found: two for an id at most, where they are many.
    pub(super) fn heap_bytes(&self) -> usize {
        2 * self.members.len() as usize + self.found.serialized_size()
    }

    /// Resolves names until `work` is used up, those of a leaf at least. The ids, when all are found.
    pub(super) fn go_on(
        &mut self,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
        work: &mut u64,
    ) -> Option<RoaringBitmap> {
        while let Some(of) = self.members.sets.get(self.at) {
            let found = &mut self.found;
            let more = read_point.set_values(&of.set, &mut self.position, |value| {
                *work = work.saturating_sub(LOOKUP);
                // A name that no entry has is no member, and one with a unique identifier is found by no name.
                if let Ok(id) = read_point.resolve(value, cache) {
                    found.insert(id.0);
                }
            });
            if !more {
                self.at += 1;
                self.position = SetPosition::default();
            }
            if *work == 0 && self.at < self.members.sets.len() {
                return None;
            }
        }
        Some(std::mem::take(&mut self.found))
    }
}
