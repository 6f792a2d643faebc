//! Sorted lists that a thread remembers: a client that turns pages of a list does not have it sorted for each of them.
//!
//! A list is found again by the same search of the same requester at the same state of the directory, and is forgotten with the first look
//! at another state. So it is never anything else than what sorting would make. It has the ids of entries and nothing of their contents; rights on
//! an entry are asked again when it is returned.

use crate::access::Requester;
use crate::client_memory::{ClientMemory, Kept};
use std::sync::Arc;

/// Lists that are remembered, and bytes of all of them.
const LISTS_MAX: usize = 4;
const BYTES_MAX: usize = 8 << 20;
/// The request of a search that is remembered has no more bytes.
const REQUEST_BYTES_MAX: usize = 4 << 10;

/// What a list is found by.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ListKey {
    /// Base, scope, filter and sort keys, and what else decides which entries are found.
    pub(crate) request: Vec<u8>,
    pub(crate) who: Requester,
    /// Commit sequence of the directory.
    pub(crate) sequence: u64,
}

/// A list that is remembered.
struct List {
    key: ListKey,
    /// Shared with the searches that return from it.
    ids: Arc<Vec<u32>>,
    _kept: Kept,
}

/// The lists of a thread, the one used last at the end.
#[derive(Default)]
pub(crate) struct RecentLists(Vec<List>);

impl RecentLists {
    /// The list of a search, if it is there. Lists of other states are forgotten.
    pub(crate) fn find(&mut self, key: &ListKey) -> Option<Arc<Vec<u32>>> {
        self.0.retain(|list| list.key.sequence == key.sequence);
        // Compared in full, not by a hash: a list of another search would show other entries.
        let at = self.0.iter().position(|list| list.key == *key)?;
        let list = self.0.remove(at);
        let ids = Arc::clone(&list.ids);
        self.0.push(list);
        Some(ids)
    }

    /// Remembers a list, if there is room for it: of those remembered, the ones used longest ago make room.
    pub(crate) fn put(&mut self, memory: &Arc<ClientMemory>, key: ListKey, ids: &Arc<Vec<u32>>) {
        let bytes = size_of_val(&ids[..]) + key.request.len();
        if bytes > BYTES_MAX || key.request.len() > REQUEST_BYTES_MAX {
            return;
        }
        // Another search may have made the same list meanwhile.
        self.0.retain(|list| list.key.sequence == key.sequence && list.key != key);
        let used = |lists: &[List]| -> usize { lists.iter().map(|list| size_of_val(&list.ids[..])).sum() };
        while self.0.len() >= LISTS_MAX || used(&self.0) + bytes > BYTES_MAX {
            self.0.remove(0);
        }
        // It is for nobody in particular.
        // Counted as kept for clients that have bound, for any of them may have a use for it.
        let mut kept = Kept::new(memory);
        if kept.try_set(bytes, true) {
            self.0.push(List { key, ids: Arc::clone(ids), _kept: kept });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_bounded_and_of_one_state() {
        let memory = ClientMemory::new(64 << 20);
        let mut lists = RecentLists::default();
        let key = |name: &str, sequence| ListKey {
            request: name.as_bytes().to_vec(),
            who: Requester::ROOT,
            sequence,
        };
        let ids: Arc<Vec<u32>> = Arc::new((0..10_000).collect());
        for name in ["a", "b", "c", "d"] {
            lists.put(&memory, key(name, 1), &ids);
        }
        assert!(lists.find(&key("a", 1)).is_some());
        lists.put(&memory, key("e", 1), &ids);
        assert!(lists.find(&key("a", 1)).is_some(), "it was used");
        assert!(lists.find(&key("b", 1)).is_none(), "it was the oldest");
        let other = ListKey { who: Requester::NOBODY, ..key("a", 1) };
        assert!(lists.find(&other).is_none(), "it is another's");
        let large: Arc<Vec<u32>> = Arc::new(vec![0; BYTES_MAX / 4 - 100]);
        lists.put(&memory, key("f", 1), &large);
        assert!(lists.find(&key("f", 1)).is_some() && lists.find(&key("a", 1)).is_none());
        assert!(lists.find(&key("f", 2)).is_none());
        assert_eq!(memory.bytes(), 0, "with another state all are forgotten");
        let small = ClientMemory::new(1);
        let mut other = Kept::new(&small);
        other.set(8 << 10, true);
        lists.put(&small, key("a", 2), &ids);
        assert!(lists.find(&key("a", 2)).is_none(), "there is no room");
    }
}
