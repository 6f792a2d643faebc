//! Suspended searches of names that a rule allows so many of: over all connections that are bound as the name. Only a search that
//! outlives its bundle is counted, and only where there is such a rule.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many there are, by name. A name has no other entry than one of a search in progress, so there are as many at most.
#[derive(Debug, Default)]
pub(crate) struct UserSearches(Mutex<BTreeMap<Vec<u8>, u32>>);

/// A search of a name. Another may take its place when this is dropped.
#[derive(Debug)]
pub(crate) struct UserPermit {
    all: Arc<UserSearches>,
    name: Vec<u8>,
}

impl UserSearches {
    /// One more search of a name; `None` if there are as many as may be.
    pub(crate) fn begin(self: &Arc<Self>, name: &[u8], searches_max: u32) -> Option<UserPermit> {
        let mut names = self.lock();
        let count = names.get(name).copied().unwrap_or(0);
        if count >= searches_max {
            return None;
        }
        names.insert(name.to_vec(), count + 1);
        Some(UserPermit { all: Arc::clone(self), name: name.to_vec() })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.lock().values().map(|count| u64::from(*count)).sum()
    }

    /// A thread that panicked left the counts whole: each is changed by one call.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, u32>> {
        // The map is whole after every statement, so a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UserPermit {
    fn drop(&mut self) {
        let mut names = self.all.lock();
        let count = names.get_mut(&self.name).expect("a search that goes on is counted");
        *count -= 1;
        if *count == 0 {
            names.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_searches_of_their_own() {
        let all = Arc::<UserSearches>::default();
        let two = [all.begin(b"cn=a", 2), all.begin(b"cn=a", 2)];
        assert!(two.iter().all(Option::is_some) && all.begin(b"cn=a", 2).is_none());
        assert!(all.begin(b"cn=b", 1).is_some());
        assert_eq!(all.count(), 2);
        drop(two);
        assert!(all.begin(b"cn=a", 1).is_some() && all.lock().is_empty());
    }
}
