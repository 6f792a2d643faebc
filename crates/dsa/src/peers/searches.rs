//! Suspended searches, each of which takes a reader's slot of the store: how many the clients of one address may have, and all together. Clients
//! that have not bound share a part, and some of it is kept for the root DN; the slots beyond are for threads, snapshots and index builds.
//!
//! All counts are atomic and taken without a lock. A permit gives its place back when it is dropped, so no way out of a search can
//! forget to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use store::READERS_MAX;

/// Searches in progress of all clients but the root DN.
const SEARCHES_MAX: u32 = 2048;
/// With those of the root DN.
const ROOT_SEARCHES_MAX: u32 = SEARCHES_MAX + 512;
/// Of the clients of one address.
const ADDRESS_SEARCHES_MAX: u32 = SEARCHES_MAX / 2;
/// Of all clients that have not bound.
const UNBOUND_SEARCHES_MAX: u32 = SEARCHES_MAX / 2;
/// Of the clients of one address that have not bound.
const UNBOUND_ADDRESS_SEARCHES_MAX: u32 = SEARCHES_MAX / 4;

/// IO threads, each of which has a slot.
const THREADS_MAX: u32 = 1024;

const _: () = assert!(ROOT_SEARCHES_MAX + THREADS_MAX + 256 <= READERS_MAX as u32);

/// Whose search it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// Has not bound.
    Unbound,
    User,
    Root,
}

/// Searches in progress, of one address or of all.
#[derive(Debug, Default)]
pub(super) struct Searches {
    all: AtomicU32,
    unbound: AtomicU32,
}

impl Searches {
    /// Counts one more, if there are fewer than the bounds.
    fn add(&self, all_max: u32, unbound_max: Option<u32>) -> bool {
        if !add_below(&self.all, all_max) {
            return false;
        }
        let is_added = unbound_max.is_none_or(|max| add_below(&self.unbound, max));
        if !is_added {
            self.all.fetch_sub(1, Ordering::Relaxed);
        }
        is_added
    }

    fn remove(&self, is_unbound: bool) {
        let all = self.all.fetch_sub(1, Ordering::Relaxed);
        let unbound = self.unbound.fetch_sub(u32::from(is_unbound), Ordering::Relaxed);
        assert!(all > 0 && unbound >= u32::from(is_unbound), "no more searches end than have begun");
    }
}

/// Counts one more, unless there are as many as there may be.
fn add_below(count: &AtomicU32, max: u32) -> bool {
    let more = |count: u32| (count < max).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// A suspended search. Another may take its place when this is dropped.
#[derive(Debug)]
pub(crate) struct SearchPermit {
    all: Arc<Searches>,
    of_address: Arc<Searches>,
    asker: Asker,
}

/// One more suspended search; `None` if there are too many.
/// The address first, then all: an address with too many of its own takes no place of the others.
pub(super) fn begin(all: &Arc<Searches>, of_address: &Arc<Searches>, asker: Asker) -> Option<SearchPermit> {
    let is_unbound = asker == Asker::Unbound;
    let unbound = |max: u32| is_unbound.then_some(max);
    let (all_max, of_address_max) = match asker {
        Asker::Root => (ROOT_SEARCHES_MAX, ROOT_SEARCHES_MAX),
        _ => (SEARCHES_MAX, ADDRESS_SEARCHES_MAX),
    };
    if !of_address.add(of_address_max, unbound(UNBOUND_ADDRESS_SEARCHES_MAX)) {
        return None;
    }
    if !all.add(all_max, unbound(UNBOUND_SEARCHES_MAX)) {
        of_address.remove(is_unbound);
        return None;
    }
    Some(SearchPermit { all: Arc::clone(all), of_address: Arc::clone(of_address), asker })
}

impl Drop for SearchPermit {
    fn drop(&mut self) {
        let is_unbound = self.asker == Asker::Unbound;
        self.of_address.remove(is_unbound);
        self.all.remove(is_unbound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_all_searches() {
        let all = Arc::new(Searches::default());
        let [one, two, three] = [(); 3].map(|()| Arc::new(Searches::default()));
        let searches = |of_address, asker| -> Vec<SearchPermit> {
            std::iter::from_fn(|| begin(&all, of_address, asker)).collect()
        };
        let unbound = [searches(&one, Asker::Unbound), searches(&two, Asker::Unbound)];
        assert_eq!([unbound[0].len(), unbound[1].len()], [512, 512]);
        assert!(begin(&all, &three, Asker::Unbound).is_none());
        // Users of the same address go on, and so do those of others.
        let users = [searches(&one, Asker::User), searches(&three, Asker::User)];
        assert_eq!([users[0].len(), users[1].len()], [512, 512]);
        assert!(begin(&all, &two, Asker::User).is_none());
        assert_eq!(searches(&two, Asker::Root).len(), 512);
        drop((unbound, users));
        assert!(begin(&all, &three, Asker::Unbound).is_some());
        assert_eq!((all.all.load(Ordering::Relaxed), all.unbound.load(Ordering::Relaxed)), (0, 0));
    }
}
